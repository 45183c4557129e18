"""Passages from a question (Nogueira dos Santos et al., 2020, section 3.5): sampled from log P(passage | question).

What comes out reads like an answer and need not be true: it is for training data and for looking at a model, never an
answer to show to anyone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from as2core.errors import BadSetting
from as2core.generation.round_trip import is_new, normal
from as2core.generation.sampling import Sampling, sample
from as2core.rankers.generative import GenerativeRanker


@dataclass(frozen=True, slots=True)
class Written:
    """A passage for the question at `source`, with the mean log-probability of its tokens."""

    text: str
    source: int
    log_p: float


def passages_from(
    generator: GenerativeRanker, questions: Sequence[str], *, each: int = 1, settings: Sampling | None = None
) -> list[Written]:
    """At most `each` different passages a question, the likeliest first. Raises BadSetting for a model that generates
    questions."""
    if generator.direction != "answer":
        raise BadSetting("this generator was made for questions: take one with direction=answer")
    settings = settings or Sampling(max_tokens=64)
    out: list[Written] = []
    for source, drawn in enumerate(sample(generator.module, questions, 2 * each, settings)):
        seen = {normal(questions[source])}
        new = [s for s in sorted(drawn, key=lambda s: -s.log_p) if is_new(s.text, seen)]
        out += [Written(s.text, source, s.log_p) for s in new[:each]]
    return out
