"""A retrain as the app does it and as it did before, without validation questions.

`one-by-one` is the recipe before decision 49: a loss for each candidate alone, labels of shipped questions among the
others, three quarters of the way from the base's weights. `strong-anchor` has the weight before decision 111, but the
anchors' number of decision 113, and those below it change one thing or two of that; none of them is clearly better
(decision 71). `no-dropout` takes a sixth less time and brings less (decision 67).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.adapt.label_selection import PRESUMED_COUNT, presume_incorrect
from app.adapt.settings import REPLAY, RetrainSettings
from app.adapt.training import choose_train_settings, list_training_questions
from as2core.data.catalog import load_questions
from as2core.rankers.cascade import CascadeRanker
from as2core.training.fine_tune import fine_tune
from as2core.types import Question

STRONG: dict = {"anchor": 1.0}
RECIPES: dict[str, dict] = {
    "now": {},
    "one-by-one": {"loss": None, "anchor": 0.0, "batch_questions": 8, "tuned_share": 0.75},
    "strong-anchor": STRONG,
    "no-dropout": {**STRONG, "dropout": 0.0},
    "pointwise": {**STRONG, "loss": None},
    "contrast": {"loss": None, "contrast": 0.5, "anchor": 0.3},
    "prior": {"loss": None, "match_prior": True, "anchor": 0.3},
    "longer": {**STRONG, "epochs": 14},
    "faster": {**STRONG, "learning_rate": 1e-4},
    "large-batches": {**STRONG, "batch_questions": 8, "learning_rate": 1.2e-4},
    "more-incorrect": {**STRONG, "negatives": 8},
    "title-dropout": {**STRONG, "title_dropout": 0.3},
}


def retrain(base: CascadeRanker, labelled: Sequence[Question], recipe: str, seed: int, folder: Path) -> CascadeRanker:
    """The base after it learnt from these labels, on the torch engine. `folder` gets the checkpoints."""
    train = [
        added for q in labelled if (added := presume_incorrect(q, PRESUMED_COUNT, seed)).positives or added.negatives
    ]
    return learn(base, train, folder, seed=seed, **RECIPES[recipe])


def learn(
    base: CascadeRanker,
    train: Sequence[Question],
    folder: Path,
    *,
    seed: int,
    replay: float = REPLAY,
    **changes: object,
) -> CascadeRanker:
    """As `retrain`, from what is presumed incorrect as well, beside a share of the shipped questions; `changes` of the
    settings that a retrain chooses."""
    shipped = [q for q in load_questions("starter-train").questions if q.positives and q.negatives]
    sample = random.Random(seed).sample(shipped, round(replay * len(shipped)))
    settings = replace(choose_train_settings(base, RetrainSettings(seed=seed), train), **changes)
    questions = list_training_questions(train, [replace(q, qid=f"replay {q.qid}") for q in sample], settings)
    return fine_tune(base, questions, [], settings, workdir=folder).ranker
