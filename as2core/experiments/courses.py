"""Fine-tuning runs and how dev AP goes over their epochs: what the training experiments are made of.

The target is WikiQA, as in the TandA paper: its train questions without all-negative ones, its clean dev questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import torch

from as2core.experiments.base import Options, Step
from as2core.nn.backbone import Backbone, load_backbone
from as2core.training.fine_tune import TrainingResult, fine_tune, override
from as2core.training.learners import R
from as2core.training.loop import RunControl
from as2core.training.settings import UNLIMITED, TrainSettings
from as2core.types import Progress, Question

# as the paper; more evaluations in vain than any run has
ALL_PAIRS = TrainSettings(max_tokens=2000, positives=UNLIMITED, negatives=UNLIMITED, patience=UNLIMITED)

Course = list[dict[str, float]]  # AP by exit, after every epoch


@dataclass(frozen=True, slots=True)
class Target:
    """Questions to learn from, and dev questions where there are evaluations."""

    train: list[Question]
    dev: list[Question] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Questions of the target to train on, and for how many epochs and seeds."""

    target: int
    epochs: int
    seeds: int


def wikiqa(options: Options, questions: int) -> Target:
    """A sample of the train questions, and all dev ones. Raises UnknownData when they are missing."""
    train = options.questions("wikiqa-train", "no-all-neg")
    return Target(sample(train, questions, seed=0), options.questions("wikiqa-dev"))


def sample(questions: Sequence[Question], n: int, seed: int) -> list[Question]:
    return random.Random(seed).sample(list(questions), min(n, len(questions)))


def untuned(make: Callable[[Backbone], R], *, seed: int) -> R:
    """A ranker over the default encoder before any training."""
    torch.manual_seed(seed)  # the heads' first values
    return make(load_backbone())


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs fine-tunings, each one `step` with a folder of its own."""

    options: Options
    step: Step
    numbers: count = field(default_factory=count)

    def train(self, what: str, base: R, target: Target, settings: TrainSettings, **values: object) -> TrainingResult[R]:
        """Fine-tune by `settings` with some of them changed."""
        report = self.step(what)
        control = RunControl(lambda event: report(Progress(event.get("step", 0), event.get("steps", 1))))
        workdir = self.options.workdir / str(next(self.numbers))
        settings = override(settings, **values)
        return fine_tune(base, target.train, target.dev, settings, workdir=workdir, control=control)

    def course(self, what: str, base: R, target: Target, settings: TrainSettings, **values: object) -> Course:
        """Dev AP by exit after every epoch of a fine-tuning on the target."""
        history = self.train(what, base, target, settings, **values).history
        return [e["dev_ap"] for e in history if e["kind"] == "eval"]


def last_exit(course: Course) -> list[float]:
    """The last exit's AP of each evaluation."""
    return [list(ap.values())[-1] for ap in course]


def spread(values: Sequence[float] | np.ndarray) -> str:
    """Mean, and the standard deviation where there are several seeds: `.713 ± .004`."""
    mean = f"{np.mean(values):.3f}".lstrip("0")
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.3f}".replace("± 0", "± ")
