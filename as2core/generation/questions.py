"""Questions from passages, without repeats, kept only when a ranker finds the passage again: by rule, or sampled from
log P(question | passage) (Nogueira dos Santos et al., 2020, section 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from as2core.errors import BadSetting
from as2core.generation.round_trip import is_new, normal, place_of
from as2core.generation.rules import by_rule, small_words
from as2core.generation.sampling import Sampled, Sampling, sample
from as2core.rankers.base import Ranker
from as2core.rankers.generative import GenerativeRanker
from as2core.types import Candidate, OnProgress, Progress

MIN_WORDS = 4  # of a sample; shorter ones ask nothing in particular
DRAWS = 4  # samples for each question wanted: most are repeats, or lead elsewhere
TOGETHER = 8  # passages written for at a time


@dataclass(frozen=True, slots=True)
class Proposed:
    """A question for the passage at `source`. `rank` is the ranker's place for that passage (None: not asked),
    `log_p` the mean log-probability of the question's tokens (None: no model was asked)."""

    text: str
    source: int
    log_p: float | None
    rank: int | None = None


Written = list[tuple[str, float | None]]  # questions for one passage with their log_p, the best first


class Writer(Protocol):
    """Writes for passages, so many wanted for each, and more where some will be dropped."""

    def __call__(self, passages: Sequence[str], each: int) -> list[Written]: ...


def ruled(texts: Iterable[str], judge: GenerativeRanker | None = None) -> Writer:
    """By rule (`rules.by_rule`): the likeliest first by the `judge`, in the rules' own order without one. `texts` show
    how words are written around the passages."""
    small = small_words(texts)

    def write(passages: Sequence[str], each: int) -> list[Written]:
        return [_judged(judge, by_rule(p, small), p) for p in passages]

    return write


def _judged(judge: GenerativeRanker | None, questions: list[str], passage: str) -> Written:
    if judge is None:
        return [(q, None) for q in questions]
    said = [(q, float(judge.score(q, [Candidate("", passage)])[0])) for q in questions]
    return sorted(said, key=lambda x: -x[1])


def sampled(generator: GenerativeRanker, settings: Sampling | None = None) -> Writer:
    """Drawn from the generator, the likeliest first. Raises BadSetting for a model that generates answers."""
    if generator.direction != "question":
        raise BadSetting("this generator was made for answers: take one with direction=question")

    def write(passages: Sequence[str], each: int) -> list[Written]:
        return [_readable(some) for some in sample(generator.module, passages, each * DRAWS, settings)]

    return write


def _readable(samples: Sequence[Sampled]) -> Written:
    texts = [(asked(s.text), s.log_p) for s in sorted(samples, key=lambda s: -s.log_p)]
    return [(text, log_p) for text, log_p in texts if len(normal(text).split()) >= MIN_WORDS]


def questions_from(
    write: Writer,
    passages: Sequence[str],
    *,
    sources: Sequence[int] | None = None,
    each: int = 1,
    ranker: Ranker | None = None,
    within: int = 1,
    known: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[Proposed]:
    """At most `each` questions a passage, the best first; `sources` are the passages asked about (all of them).

    With a `ranker` a question counts only if its passage is `within` the first so many of all `passages`. Questions
    like one in `known`, like an earlier one, or like the passage itself are left out.
    """
    sources = [i for i in (range(len(passages)) if sources is None else sources) if normal(passages[i])]
    seen = {normal(q) for q in known}
    found: list[Proposed] = []
    for start in range(0, len(sources), TOGETHER):
        some = sources[start : start + TOGETHER]
        if should_stop and should_stop():
            break
        if on_progress:
            on_progress(Progress(start, len(sources), "proposing questions"))
        for source, written in zip(some, write([passages[i] for i in some], each), strict=True):
            good = (
                Proposed(text, source, log_p, rank)
                for text, log_p in written
                if normal(text) != normal(passages[source]) and is_new(text, seen)
                if (rank := None if ranker is None else place_of(ranker, text, passages, source)) is None
                or rank <= within
            )
            found += islice(good, each)
    return found


def asked(text: str) -> str:
    """The text as a question: what stands up to the first question mark, and one at the end."""
    return text.split("?")[0].rstrip(" .,;:!") + "?"
