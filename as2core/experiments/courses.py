"""How dev AP goes over the epochs of a fine-tuning: what the training experiments are made of.

The target is WikiQA, as in the TandA paper: its train questions without all-negative ones, its clean dev questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from as2core.experiments.base import Options
from as2core.nn.backbone import Backbone, load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.training.fine_tune import Trained, fine_tune
from as2core.training.settings import TrainSettings
from as2core.types import OnProgress, Progress, Question

EVERY = 10_000  # more candidates than any question has
WHOLE = TrainSettings(max_tokens=2000, positives=EVERY, negatives=EVERY, patience=EVERY)  # as the paper: every pair


Course = list[dict[str, float]]  # AP by exit after every epoch


@dataclass(frozen=True, slots=True)
class Target:
    train: list[Question]
    dev: list[Question]


def wikiqa(options: Options, questions: int, *, seed: int = 0) -> Target:
    """A sample of so many train questions, and all dev ones. Raises UnknownData when they are not at hand."""
    train = options.questions("wikiqa-train", "no-all-neg")
    return Target(sample(train, questions, seed), options.questions("wikiqa-dev"))


def sample(questions: Sequence[Question], n: int, seed: int) -> list[Question]:
    return random.Random(seed).sample(list(questions), min(n, len(questions)))


def untuned(make: Callable[[Backbone], CascadeRanker], *, seed: int) -> CascadeRanker:
    """A ranker over the default encoder before any training."""
    torch.manual_seed(seed)  # the heads' first values
    return make(load_backbone())


@dataclass(slots=True)
class Runner:
    """Counts runs of fine-tuning, tells how far they are, and gives each its folder."""

    options: Options
    on_progress: OnProgress | None
    runs: int
    done: int = field(default=0)

    def train(
        self, what: str, base, train: Sequence[Question], dev: Sequence[Question], settings: TrainSettings
    ) -> tuple[Trained, Course]:
        """What `fine_tune` gives, and dev AP by exit after every epoch."""
        at = self.done

        def tell(event: dict) -> None:
            if self.on_progress:
                share = event.get("step", 0) / max(1, event.get("steps", 1))
                self.on_progress(Progress(round(100 * (at + share)), 100 * self.runs, what))

        settings = replace(settings, evals_per_epoch=1)
        trained = fine_tune(base, train, dev, settings, workdir=self.options.workdir / str(at), on_event=tell)
        self.done += 1
        return trained, [e["dev_ap"] for e in trained.history if e["kind"] == "eval"]


def final(course: Course) -> float:
    """The last exit's AP after the last epoch: no epoch is chosen by the questions it is reported on."""
    return list(course[-1].values())[-1]


def spread(values: Sequence[float]) -> str:
    """Mean, and the standard deviation where there are several seeds: `.713 ± .004`."""
    mean = f"{np.mean(values):.3f}".lstrip("0")
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.3f}".replace("± 0", "± ")
