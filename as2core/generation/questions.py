"""Questions from passages, without repeats, accepted only if a ranker finds the passage again: by rule, or sampled from
log P(question | passage) (Nogueira dos Santos et al., 2020, section 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from as2core.errors import BadSetting
from as2core.generation.round_trip import add_if_new, normalise, rank_of_source
from as2core.generation.rules import ask_by_rule, lowercase_words
from as2core.rankers.base import Ranker
from as2core.rankers.generative import GenerativeRanker
from as2core.types import Candidate, OnProgress, Progress

if TYPE_CHECKING:
    from as2core.generation.sampling import Sampling, TextSample

MIN_QUESTION_WORDS = 4  # of a sampled question; shorter ones ask nothing in particular
SAMPLES_PER_QUESTION = 4  # most samples are repeats, or lead to another passage
PASSAGES_PER_BATCH = 8


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question for the passage at `source`. `rank` is that passage's rank by the ranker (None: without a ranker),
    `log_p` the mean log-probability of the question's tokens (None: without a model)."""

    text: str
    source: int
    log_p: float | None
    rank: int | None = None


Drafts = list[tuple[str, float | None]]  # questions for one passage with their log_p, the best first
Writer = Callable[[Sequence[str], int], list[Drafts]]
"""Drafts questions for each passage: `each` of them, and more where some will be dropped."""


def rule_writer(texts: Iterable[str], scorer: GenerativeRanker | None = None) -> Writer:
    """Questions by rule (`rules.ask_by_rule`): the likeliest first by the `scorer`, in the rules' order without one.
    `texts` show how words are written in the corpus."""
    lowercase = lowercase_words(texts)

    def write(passages: Sequence[str], each: int) -> list[Drafts]:
        return [_score_drafts(scorer, ask_by_rule(p, lowercase), p) for p in passages]

    return write


def _score_drafts(scorer: GenerativeRanker | None, questions: list[str], passage: str) -> Drafts:
    if scorer is None:
        return [(q, None) for q in questions]
    log_p = {q: float(scorer.score(q, [Candidate("", passage)])[0]) for q in questions}
    return [(q, log_p[q]) for q in sorted(questions, key=lambda q: -log_p[q])]


def sampling_writer(generator: GenerativeRanker, settings: Sampling | None = None) -> Writer:
    """Questions sampled from the generator, the likeliest first. Raises BadSetting for one that generates answers."""
    from as2core.generation.sampling import sample  # torch, which questions by rule do without

    if generator.direction != "question":
        raise BadSetting("this generator was made for answers: take one with direction=question")

    def write(passages: Sequence[str], each: int) -> list[Drafts]:
        return [_to_drafts(s) for s in sample(generator.module, passages, each * SAMPLES_PER_QUESTION, settings)]

    return write


def _to_drafts(samples: Sequence[TextSample]) -> Drafts:
    texts = [(as_question(s.text), s.log_p) for s in sorted(samples, key=lambda s: -s.log_p)]
    return [(text, log_p) for text, log_p in texts if len(normalise(text).split()) >= MIN_QUESTION_WORDS]


def generate_questions(
    write: Writer,
    passages: Sequence[str],
    *,
    each: int = 1,
    ranker: Ranker | None = None,
    within: int = 1,
    existing: Sequence[str] = (),
    on_progress: OnProgress | None = None,
) -> list[Proposal]:
    """At most `each` questions a passage, the best first.

    With a `ranker` a question is accepted only if it ranks its passage among the first `within` of all `passages`.
    Questions like one in `existing`, like an earlier one, or like the passage itself are left out.
    """
    sources = [i for i, passage in enumerate(passages) if normalise(passage)]
    keys = {normalise(q) for q in existing}
    proposals: list[Proposal] = []
    for start in range(0, len(sources), PASSAGES_PER_BATCH):
        some = sources[start : start + PASSAGES_PER_BATCH]
        if on_progress:
            on_progress(Progress(start, len(sources), "proposing questions"))
        for source, drafts in zip(some, write([passages[i] for i in some], each), strict=True):
            found_again = (
                Proposal(text, source, log_p, rank)
                for text, log_p in drafts
                if normalise(text) != normalise(passages[source]) and add_if_new(text, keys)
                if (rank := None if ranker is None else rank_of_source(ranker, text, passages, source)) is None
                or rank <= within
            )
            proposals += islice(found_again, each)
    return proposals


def as_question(text: str) -> str:
    """The text up to its first question mark, ending in one."""
    return text.split("?")[0].rstrip(" .,;:!") + "?"
