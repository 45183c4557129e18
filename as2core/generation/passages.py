"""Passages from a question (Nogueira dos Santos et al., 2020, section 3.5): sampled from log P(passage | question).

A sampled passage reads like an answer and need not be true. It is training data, or shows what a model has learned;
never present one as an answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from as2core.errors import BadSetting
from as2core.generation.round_trip import add_if_new, normalise
from as2core.generation.sampling import Sampling, sample
from as2core.rankers.generative import GenerativeRanker


@dataclass(frozen=True, slots=True)
class GeneratedPassage:
    """A passage for the question at `source`, with the mean log-probability of its tokens."""

    text: str
    source: int
    log_p: float


def generate_passages(
    generator: GenerativeRanker, questions: Sequence[str], *, each: int = 1, settings: Sampling | None = None
) -> list[GeneratedPassage]:
    """At most `each` passages a question, the likeliest first. Raises BadSetting for a generator of questions."""
    if generator.direction != "answer":
        raise BadSetting("this generator was made for questions: take one with direction=answer")
    settings = settings or Sampling(max_tokens=64)
    passages: list[GeneratedPassage] = []
    for source, samples in enumerate(sample(generator.module, questions, 2 * each, settings)):
        keys = {normalise(questions[source])}
        new = [s for s in sorted(samples, key=lambda s: -s.log_p) if add_if_new(s.text, keys)]
        passages += [GeneratedPassage(s.text, source, s.log_p) for s in new[:each]]
    return passages
