"""A retrain as the app does it and as it did before, without validation questions.

`one-by-one` is the recipe before decision 49: a loss for each candidate alone, labels of shipped questions among the
others, three quarters of the way from the base's weights. `no-dropout` takes a sixth less time and brings less
(decision 67).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.adapt.label_selection import PRESUMED, add_presumed
from app.adapt.settings import REPLAY, RetrainSettings
from app.adapt.training import choose_train_settings, list_training_questions
from as2core.data.catalog import load_questions
from as2core.rankers.cascade import CascadeRanker
from as2core.training.fine_tune import fine_tune
from as2core.types import Question

RECIPES: dict[str, dict] = {
    "now": {},
    "no-dropout": {"dropout": 0.0},
    "one-by-one": {"loss": None, "anchor": 0.0, "batch_questions": 8, "tuned_share": 0.75},
}


def retrain(base: CascadeRanker, labelled: Sequence[Question], recipe: str, seed: int, folder: Path) -> CascadeRanker:
    """The base after it learnt from these labels, on the torch engine. `folder` gets the checkpoints."""
    train = [added for q in labelled if (added := add_presumed(q, PRESUMED, seed)).positives or added.negatives]
    shipped = [q for q in load_questions("starter-train").questions if q.positives and q.negatives]
    replay = random.Random(seed).sample(shipped, round(REPLAY * len(shipped)))
    settings = replace(choose_train_settings(base, RetrainSettings(seed=seed), len(train)), **RECIPES[recipe])
    questions = list_training_questions(train, [replace(q, qid=f"replay {q.qid}") for q in replay], settings)
    return fine_tune(base, questions, [], settings, workdir=folder).ranker
