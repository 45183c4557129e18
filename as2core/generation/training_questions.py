"""Generated questions as training data (Nogueira dos Santos et al., 2020, section 3.5): a question's own passage is its
correct candidate.

Where we differ: wrong candidates are drawn at random from the other passages, since a ranker's best other passages
often answer a generated question as well.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from as2core.data.source import digest_id
from as2core.generation.questions import Proposal
from as2core.generation.round_trip import normalise
from as2core.types import Candidate, Question

KIND = "generated"  # of the questions, by which they can be told from others


def make_training_questions(
    proposals: Sequence[Proposal], passages: Sequence[Candidate], *, negatives: int = 4, seed: int = 0
) -> list[Question]:
    """A labelled question for each proposal: its passage of `passages`, correct, and at most `negatives` others,
    incorrect, in their order. Copies of the passage are no such others."""
    rng = random.Random(seed)
    keys = [normalise(p.text) for p in passages]
    return [_make_question(p, passages, keys, negatives, rng) for p in proposals]


def _make_question(
    proposal: Proposal, passages: Sequence[Candidate], keys: Sequence[str], negatives: int, rng: random.Random
) -> Question:
    others = [i for i, key in enumerate(keys) if key and key != keys[proposal.source]]
    rows = sorted([proposal.source, *rng.sample(others, min(negatives, len(others)))])
    candidates = (replace(passages[i], label=int(i == proposal.source)) for i in rows)
    return Question(digest_id("g", proposal.text), proposal.text, tuple(candidates), kind=KIND)
