"""Questions from passages (Nogueira dos Santos et al., 2020, section 3.5): sampled from log P(question | passage),
without repeats, and kept only when a ranker finds the passage again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from as2core.errors import BadSetting
from as2core.generation.round_trip import is_new, normal, place_of
from as2core.generation.sampling import BATCH, Sampled, Sampling, sample
from as2core.rankers.base import Ranker
from as2core.rankers.generative import GenerativeRanker
from as2core.types import OnProgress, Progress

MIN_WORDS = 4  # shorter ones ask nothing in particular
DRAWS = 4  # samples for each question wanted: most are repeats, or lead elsewhere


@dataclass(frozen=True, slots=True)
class Proposed:
    """A question for the passage at `source`. `rank` is the ranker's place for that passage (None: not asked),
    `log_p` the mean log-probability of the question's tokens."""

    text: str
    source: int
    log_p: float
    rank: int | None = None


def questions_from(
    generator: GenerativeRanker,
    passages: Sequence[str],
    *,
    sources: Sequence[int] | None = None,
    each: int = 1,
    ranker: Ranker | None = None,
    within: int = 1,
    known: Sequence[str] = (),
    settings: Sampling | None = None,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[Proposed]:
    """At most `each` questions a passage, the likeliest first; `sources` are the passages asked about (all of them).

    With a `ranker` a question counts only if its passage is `within` the first so many of all `passages`. Questions
    like one in `known`, like an earlier one, or like the passage itself are left out. Raises BadSetting for a model
    that generates answers.
    """
    if generator.direction != "question":
        raise BadSetting("this generator was made for answers: take one with direction=question")
    sources = [i for i in (range(len(passages)) if sources is None else sources) if normal(passages[i])]
    seen = {normal(q) for q in known}
    found: list[Proposed] = []
    together = max(1, BATCH // (each * DRAWS))
    for start in range(0, len(sources), together):
        some = sources[start : start + together]
        if should_stop and should_stop():
            break
        if on_progress:
            on_progress(Progress(start, len(sources), "proposing questions"))
        drawn = sample(generator.module, [passages[i] for i in some], each * DRAWS, settings)
        for source, samples in zip(some, drawn, strict=True):
            good = (
                Proposed(text, source, s.log_p, rank)
                for text, s in _readable(samples, passages[source], seen)
                if (rank := None if ranker is None else place_of(ranker, text, passages, source)) is None
                or rank <= within
            )
            found += islice(good, each)
    return found


def _readable(samples: Sequence[Sampled], passage: str, seen: set[str]) -> Iterator[tuple[str, Sampled]]:
    """The likeliest first: long enough, not the passage itself, like none seen before."""
    for s in sorted(samples, key=lambda s: -s.log_p):
        text = asked(s.text)
        if len(normal(text).split()) >= MIN_WORDS and normal(text) != normal(passage) and is_new(text, seen):
            yield text, s


def asked(text: str) -> str:
    """The text as a question: what stands up to the first question mark, and one at the end."""
    return text.split("?")[0].rstrip(" .,;:!") + "?"
