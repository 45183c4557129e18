"""What labels bring on the handbook corpus, whose words the shipped model cannot know, and what they make it forget.

    python benchmarks/handbook.py                     100 train questions, one seed: some minutes on two cores
    python benchmarks/handbook.py --questions 20 --seeds 3
    python benchmarks/handbook.py --recipes now one-by-one     two recipes, compared

Of some of `handbook-train` one correct sentence each is labelled, as on the tour, and the shipped cascade learns from
them with a retrain's settings, without validation questions. It is measured before and after on `handbook-test`, whose
documents no train question is about, on the train questions that it did not learn from, which are about the same
documents, and on `starter-test`, which it knew. Prints P@1 and AP with the paired tests.

Recipes: `now`; `one-by-one` is the one before (a loss for each candidate alone, labels of shipped questions mixed in,
three quarters of the way from the base's weights).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.adapt.label_selection import PRESUMED, add_presumed
from app.adapt.settings import REPLAY, RetrainSettings
from app.adapt.training import choose_train_settings, list_training_questions
from as2core.data.catalog import load_questions
from as2core.evaluation import Evaluation, evaluate
from as2core.metrics import paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.types import Question

RECIPES: dict[str, dict] = {
    "now": {},
    "one-by-one": {"loss": None, "anchor": 0.0, "batch_questions": 8, "tuned_share": 0.75},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=100, help="train questions with one label each")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--recipes", nargs="+", choices=[*RECIPES], default=["now"])
    arguments = parser.parse_args()
    train, test, frozen = (
        load_questions(name).questions for name in ("handbook-train", "handbook-test", "starter-test")
    )
    train = [q for q in train if q.positives]
    base = get("cascade")
    assert isinstance(base, CascadeRanker)
    whole = {"other documents": test, "starter-test": [q for q in frozen if q.positives]}
    before = {name: evaluate(base, questions) for name, questions in whole.items()}
    for seed in range(arguments.seeds):
        sample = random.Random(seed).sample(train, min(arguments.questions, len(train)))
        ids = {q.qid for q in sample}
        parts = {**whole, "the same documents": [q for q in train if q.qid not in ids]}
        before["the same documents"] = evaluate(base, parts["the same documents"])
        for recipe in arguments.recipes:
            with tempfile.TemporaryDirectory() as folder:
                ranker = retrain(base, sample, recipe, seed, Path(folder))
                for name, questions in parts.items():
                    title = f"{recipe}, {len(sample)} questions, seed {seed}; {name}"
                    report(title, before[name], evaluate(ranker, questions))


def retrain(base: CascadeRanker, sample: Sequence[Question], recipe: str, seed: int, folder: Path) -> CascadeRanker:
    """The base after it learnt from one label of each question."""
    train = [add_presumed(keep_one_label(q), PRESUMED, seed) for q in sample]
    shipped = [q for q in load_questions("starter-train").questions if q.positives and q.negatives]
    replay = random.Random(seed).sample(shipped, round(REPLAY * len(shipped)))
    settings = replace(choose_train_settings(base, RetrainSettings(seed=seed), len(train)), **RECIPES[recipe])
    questions = list_training_questions(train, [replace(q, qid=f"replay {q.qid}") for q in replay], settings)
    ranker = fine_tune(base, questions, [], settings, workdir=folder).ranker
    ranker.use("auto", folder=folder / "graphs")
    return ranker


def keep_one_label(q: Question) -> Question:
    """With its first correct sentence labelled, and nothing else."""
    first = next(i for i, c in enumerate(q.candidates) if c.label == 1)
    return replace(q, candidates=tuple(c if i == first else replace(c, label=None) for i, c in enumerate(q.candidates)))


def report(title: str, before: Evaluation, after: Evaluation) -> None:
    """Print the figures with the paired tests."""
    sys.stdout.write(f"{title} ({after.questions})\n")
    for measure in ("P@1", "AP"):
        test = paired_test(after.per_question[measure], before.per_question[measure])
        value, low, high = (f"{x:+.3f}" for x in (test.difference, test.low, test.high))
        sys.stdout.write(f"  {measure} {before.metrics[measure]:.3f} -> {after.metrics[measure]:.3f}: ")
        sys.stdout.write(f"{value} ({low} to {high}, p = {test.p:.3f})\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
