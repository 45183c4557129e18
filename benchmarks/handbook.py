"""What labels bring on the handbook corpus, whose words the shipped model cannot know.

    python benchmarks/handbook.py                     100 train questions, one seed: some minutes on two cores
    python benchmarks/handbook.py --questions 20 --seeds 3

The shipped cascade learns from some of `handbook-train` with a retrain's settings, without validation questions or
replay, and chooses an answer to each of `handbook-test` before and after. Prints P@1 and AP with the paired test.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from app.adapt.settings import RetrainSettings
from app.adapt.training import choose_train_settings
from as2core.data.catalog import load_questions
from as2core.evaluation import evaluate
from as2core.metrics import paired_test
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune, override


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=100, help="whole labelled questions to learn from")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--hard-negatives", type=int, help="draw from so many incorrect candidates; 0: from all")
    arguments = parser.parse_args()
    train, test = (load_questions(f"handbook-{split}").questions for split in ("train", "test"))
    base = get("cascade")
    before = evaluate(base, test)
    _print("before", before.metrics)
    for seed in range(arguments.seeds):
        sample = random.Random(seed).sample(train, min(arguments.questions, len(train)))
        with tempfile.TemporaryDirectory() as folder:
            settings = override(
                choose_train_settings(base, RetrainSettings(seed=seed)), hard_negatives=arguments.hard_negatives
            )
            ranker = fine_tune(base, sample, [], settings, workdir=Path(folder)).ranker
            ranker.use("auto", folder=Path(folder) / "graphs")
            after = evaluate(ranker, test)
        _print(f"{len(sample)} questions, seed {seed}", after.metrics)
        for measure in ("P@1", "AP"):
            sys.stdout.write(f"  {measure}: {paired_test(after.per_question[measure], before.per_question[measure])}\n")


def _print(name: str, metrics: dict[str, float]) -> None:
    sys.stdout.write(f"{name}: P@1 {metrics['P@1']:.3f}, AP {metrics['AP']:.3f}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
