"""What labels bring on the handbook corpus, whose words the shipped model cannot know.

    python benchmarks/handbook.py                     100 train questions, one seed: some minutes on two cores
    python benchmarks/handbook.py --questions 20 --seeds 3
    python benchmarks/handbook.py --hard-negatives 0 15     two ways to draw incorrect candidates, compared

The shipped cascade learns from some of `handbook-train` with a retrain's settings, without validation questions or
replay. It is measured before and after on `handbook-test`, whose documents no train question is about, and on the train
questions that it did not learn from, which are about the same documents. Prints P@1 and AP with the paired tests.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from app.adapt.settings import RetrainSettings
from app.adapt.training import choose_train_settings
from as2core.data.catalog import load_questions
from as2core.evaluation import Evaluation, evaluate
from as2core.metrics import paired_test
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune, override


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=100, help="whole labelled questions to learn from")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--hard-negatives", type=int, nargs="+", default=[0], help="draw from so many; 0: from all")
    arguments = parser.parse_args()
    train, test = (load_questions(f"handbook-{split}").questions for split in ("train", "test"))
    base = get("cascade")
    on_test = evaluate(base, test)
    for seed in range(arguments.seeds):
        sample = random.Random(seed).sample(train, min(arguments.questions, len(train)))
        learnt = {q.qid for q in sample}
        rest = [q for q in train if q.qid not in learnt]
        parts = {"other documents": (test, on_test), "the same documents": (rest, evaluate(base, rest))}
        befores = {name: {"before": before} for name, (_, before) in parts.items()}
        for hard in arguments.hard_negatives:
            with tempfile.TemporaryDirectory() as folder:
                settings = override(
                    choose_train_settings(base, RetrainSettings(seed=seed), len(sample)), hard_negatives=hard
                )
                ranker = fine_tune(base, sample, [], settings, workdir=Path(folder)).ranker
                ranker.use("auto", folder=Path(folder) / "graphs")
                for name, (questions, _) in parts.items():
                    title = f"{len(sample)} questions, seed {seed}, hard negatives {hard}; questions about {name}"
                    befores[name][f"hard negatives {hard}"] = _report(title, evaluate(ranker, questions), befores[name])


def _report(title: str, after: Evaluation, befores: Mapping[str, Evaluation]) -> Evaluation:
    """Print the figures, and the paired tests against all `befores`."""
    sys.stdout.write(f"{title} ({after.questions})\n")
    for measure in ("P@1", "AP"):
        sys.stdout.write(f"  {measure} {after.metrics[measure]:.3f}")
        for name, before in befores.items():
            test = paired_test(after.per_question[measure], before.per_question[measure])
            value, low, high = (f"{x:+.3f}" for x in (test.difference, test.low, test.high))
            sys.stdout.write(f"; {name} {before.metrics[measure]:.3f}: {value} ({low} to {high}, p = {test.p:.3f})")
        sys.stdout.write("\n")
    sys.stdout.flush()
    return after


if __name__ == "__main__":
    main()
