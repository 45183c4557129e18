"""Hugging Face's Trainer over planned batches: it takes them in their order, divides each among the processes, measures
AP on dev questions instead of a loss, and reports what happens as events.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import cast

import numpy as np
import torch
from accelerate.utils import gather_object
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from as2core.errors import BadSetting, Cancelled
from as2core.metrics import average, measure_each
from as2core.training.batches import PlannedBatch
from as2core.training.learners import Learner
from as2core.training.learners.base import Term
from as2core.training.rates import rate_schedule
from as2core.types import OnProgress, Progress, Question

OnEvent = Callable[[dict], None]
DEV_QUESTIONS_PER_BATCH = 2  # `on_dev` and `should_stop` are called between batches
STEPS_PER_COMPARISON = 50  # of several processes' clocks
SELECTION, OLD_SELECTION = "selection_score", "steering"  # in the log of a checkpoint; the second until November 2026
CANCELLED = "training was cancelled; a later run with the same labels resumes from the last checkpoint"


def list_selection_scores(state: TrainerState) -> list[tuple[dict, float]]:
    """The evaluations in a run's log, each with the score that the state is selected by."""
    names = (f"eval_{SELECTION}", f"eval_{OLD_SELECTION}")
    return [(entry, entry[name]) for entry in state.log_history for name in names if name in entry]


@dataclass(frozen=True, slots=True)
class RunControl:
    """How a run is watched and stopped. `on_event` gets every event, `on_dev` how far an evaluation on the dev
    questions is. `should_stop` is called between steps and between dev questions; while it blocks, the run pauses. A
    `clock` (seconds) that stands still meanwhile keeps pauses out of the time taken and the time left.
    `checkpoint_seconds`: a checkpoint is written when the last one is so old, also within an epoch."""

    on_event: OnEvent | None = None
    should_stop: Callable[[], bool] | None = None
    clock: Callable[[], float] = time.monotonic
    on_dev: OnProgress | None = None
    checkpoint_seconds: float = 600

    @property
    def is_stop_requested(self) -> bool:
        return bool(self.should_stop and self.should_stop())

    def report(self, kind: str, done: int, total: int) -> None:
        """An event that the history does not have."""
        if self.on_event:
            self.on_event({"kind": kind, "done": done, "total": total})


class Watch(TrainerCallback):
    """Keeps a run's events and its time, and stops the Trainer when requested; `stopping` is true from then on.
    `started` is this attempt's clock, `earlier_seconds` are those of the attempts whose checkpoint it resumes from."""

    def __init__(self, control: RunControl, started: float) -> None:
        self.control, self._started, self.earlier_seconds = control, started, 0.0
        self.history: list[dict] = []
        self.stopping = False

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + self.control.clock() - self._started

    def emit(self, kind: str, **values: object) -> None:
        self.history.append({"kind": kind, **values})
        if self.control.on_event:
            self.control.on_event(self.history[-1])

    def estimate_remaining_seconds(self, state: TrainerState) -> float:
        seconds, step = self._begin
        pace = (self.seconds - seconds) / max(1, state.global_step - step)
        return round(pace * (state.max_steps - state.global_step), 1)

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, *_: object, **__: object) -> None:
        past = (entry["seconds"] for entry in reversed(state.log_history) if "seconds" in entry)
        self.earlier_seconds = next(past, 0.0)
        self._begin = self.seconds, state.global_step
        self._saved_at = self.control.clock()

    def on_save(self, *_: object, **__: object) -> None:
        self._saved_at = self.control.clock()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        if self.control.should_stop and any(gather_object([self.control.is_stop_requested])):
            self.stopping = True
            control.should_training_stop = True
            control.should_evaluate = control.should_save = False
        elif self._is_checkpoint_due(args, state):
            control.should_save = True

    def _is_checkpoint_due(self, args: TrainingArguments, state: TrainerState) -> bool:
        """By the clock of the first process; several compare theirs now and then only, since they have to wait."""
        is_due = self.control.clock() - self._saved_at >= self.control.checkpoint_seconds
        if args.world_size == 1:
            return is_due
        return state.global_step % STEPS_PER_COMPARISON == 0 and bool(gather_object([is_due])[0])


def diverged(step: int) -> BadSetting:
    return BadSetting(f"the training diverged: by step {step} its loss or scores are no numbers; lower learning_rate")


class PlannedTrainer(Trainer):
    """A Trainer whose data set is the run's batches, each of them one step."""

    optimizer: Optimizer

    def __init__(
        self,
        learner: Learner,
        batches: Sequence[PlannedBatch],
        dev: Sequence[Question],
        watch: Watch,
        args: TrainingArguments,
    ) -> None:
        self._learner, self._watch, self._dev = learner, watch, dev
        self._dev_ap_at: dict[int, dict[str, dict[str, float]]] = {}  # at the best step and the last, of this attempt
        self._batches = cast(Dataset, batches)  # DataLoader and Trainer take any sequence
        super().__init__(
            learner,
            args,
            callbacks=[watch],
            train_dataset=self._batches,
            eval_dataset=cast(Dataset, []) if dev else None,
            data_collator=self._collate_share,
        )

    def get_train_dataloader(self) -> DataLoader:
        """Every process goes through all batches and takes its own part of each."""
        return DataLoader(self._batches, batch_size=1, shuffle=False, collate_fn=self.data_collator)

    def _collate_share(self, batches: list[PlannedBatch]) -> dict:
        """This process's part as tensors; a process without questions computes one that has no weight."""
        whole = batches[0]
        share = whole.share(self.args.process_index, self.args.world_size)
        return {
            **self._learner.collate(share if share.groups else whole.share(0, len(whole.groups))),
            "questions": len(share.groups),
        }

    def create_scheduler(self, num_training_steps: int, optimizer: Optimizer | None = None) -> LambdaLR:
        if self.lr_scheduler is None:
            self.lr_scheduler = rate_schedule(self._learner.settings, optimizer or self.optimizer, num_training_steps)
        return self.lr_scheduler

    def compute_loss(self, model: torch.nn.Module, inputs: dict, *_: object, **__: object) -> torch.Tensor:
        counts = inputs.pop("questions") > 0
        terms: list[Term] = model(**inputs)
        if self.args.world_size > 1:
            return self._weight_terms(terms, counts)
        return torch.as_tensor(sum(value for value, _ in terms))

    def _weight_terms(self, terms: list[Term], counts: bool) -> torch.Tensor:
        """The terms weighted so that the mean of the processes' gradients is the gradient of the whole batch's loss."""
        own = torch.tensor([float(n * counts) for _, n in terms], device=self.args.device)
        whole = self.accelerator.reduce(own, "sum").clamp(min=1)  # of a term that counts nothing anywhere
        weights = own * self.args.world_size / whole
        if self._learner.settings.reduction == "sum":  # of sums each counts as it is
            weights = (own > 0) * float(self.args.world_size)
        return torch.stack([value * weight for (value, _), weight in zip(terms, weights, strict=True)]).sum()

    def report(self, kind: str, done: int, total: int) -> None:
        self._watch.control.report(kind, done, total)

    @property
    def dev_count(self) -> int:
        return len(self._dev)

    @property
    def last_exit(self) -> str:
        return self._learner.exits[-1]

    def dev_ap_each(self) -> dict[str, dict[str, float]]:
        """Each dev question's AP by exit. Raises Cancelled when a stop is requested meanwhile."""
        if not self._dev:
            return {}
        self._learner.eval()
        own = self._dev[self.args.process_index :: self.args.world_size]
        scores: list[tuple[str, dict]] = []
        for start in range(0, len(own), DEV_QUESTIONS_PER_BATCH):
            if self.args.world_size == 1 and self._watch.control.is_stop_requested:
                raise Cancelled(CANCELLED)
            if self._watch.control.on_dev:
                self._watch.control.on_dev(Progress(start, len(own)))
            some = own[start : start + DEV_QUESTIONS_PER_BATCH]
            with self.accelerator.autocast():
                scores += zip((q.qid for q in some), self._learner.dev_scores(some), strict=True)
        by_question = dict(gather_object(scores))
        if not all(np.isfinite(s).all() for by_exit in by_question.values() for s in by_exit.values()):
            raise diverged(self.state.global_step)
        return {
            e: measure_each(self._dev, {qid: s[e] for qid, s in by_question.items()}, ("AP",))["AP"]
            for e in self._learner.exits
        }

    def best_dev_ap_each(self) -> dict[str, dict[str, float]]:
        """Of the best state, which the learner has after the training; measured again if an earlier attempt did."""
        return self._dev_ap_at.get(self.state.best_global_step or -1) or self.dev_ap_each()

    def evaluate(self, *_args: object, **_kwargs: object) -> dict[str, float]:
        each = self.dev_ap_each()
        best = self.state.best_global_step
        self._dev_ap_at = {step: ap for step, ap in self._dev_ap_at.items() if step == best}
        self._dev_ap_at[self.state.global_step] = each
        by_exit = average(each)
        # the state is selected by the mean over exits, the last counting double, so that early exits do not improve at
        # the cost of the final ranking
        values = list(by_exit.values())
        metrics = {"eval_ap": values[-1], f"eval_{SELECTION}": (sum(values) + values[-1]) / (len(values) + 1)}
        self._emit("eval", dev_ap=by_exit)
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        super().log(logs, start_time)
        self.state.log_history[-1]["seconds"] = self._watch.seconds  # stored in the checkpoint
        if "loss" in logs:
            if not math.isfinite(logs["loss"]):
                raise diverged(self.state.global_step)
            self._emit(
                "step", loss=float(logs["loss"]), seconds_left=self._watch.estimate_remaining_seconds(self.state)
            )

    def _emit(self, kind: str, **values: object) -> None:
        step, steps = self.state.global_step, self.state.max_steps
        epoch = round(self._learner.settings.epochs * step / steps, 3)
        self._watch.emit(kind, step=step, steps=steps, epoch=epoch, **values)

    def best(self) -> tuple[float, float]:
        """The last exit's dev AP at the best step, which may be of an earlier attempt, and the value the state was
        selected by; zeros without dev."""
        scores = list_selection_scores(self.state)
        best, score = max(scores, key=itemgetter(1), default=({}, 0.0))  # of equals the first, as Trainer
        return best.get("eval_ap", 0.0), score
