"""Hugging Face's Trainer over planned batches: it takes them in their order, divides each among the processes there
are, measures AP on dev questions instead of a loss, and tells what happens as events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from accelerate.utils import gather_object
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainerCallback

from as2core.errors import Cancelled
from as2core.metrics import measures
from as2core.training.batches import PlannedBatch
from as2core.training.learners import Learner
from as2core.training.rates import rate_schedule
from as2core.training.settings import TrainSettings
from as2core.types import Question

OnEvent = Callable[[dict], None]
TOGETHER = 8  # dev questions between two looks at whether to stop
CANCELLED = "training was cancelled; a later run with the same labels resumes from the last checkpoint"


class Batches(Dataset):
    """Planned batches as a data set of torch's."""

    def __init__(self, batches: Sequence[PlannedBatch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, i: int) -> PlannedBatch:
        return self.batches[i]


class Watch(TrainerCallback):
    """Turns the Trainer's steps into events and stops it when asked; `stopping` is true from then on. `worked` gives
    the seconds of this attempt, `earlier` are those of the attempts whose checkpoint it goes on from."""

    def __init__(
        self,
        emit: OnEvent,
        should_stop: Callable[[], bool] | None,
        steps: int,
        epochs: int,
        worked: Callable[[], float],
    ) -> None:
        self.emit, self._should_stop, self._steps, self._epochs = emit, should_stop, steps, epochs
        self._worked, self.earlier = worked, 0.0
        self._began: tuple[float, int] | None = None
        self.stopping = False

    def asked(self) -> bool:
        return bool(self._should_stop and self._should_stop())

    def epoch(self, step: int) -> float:
        return round(self._epochs * step / max(1, self._steps), 3)

    def on_train_begin(self, args, state, control, **_):
        self.earlier = next((said["seconds"] for said in reversed(state.log_history) if "seconds" in said), 0.0)
        self._began = (self._worked(), state.global_step)

    def on_step_end(self, args, state, control, **_):
        if self._should_stop and any(gather_object([self.asked()])):
            self.stopping = True
            control.should_training_stop = True
            control.should_evaluate = control.should_save = False

    def on_log(self, args, state, control, logs=None, **_):
        state.log_history[-1]["seconds"] = self.earlier + self._worked()  # a checkpoint keeps it
        if not logs or "loss" not in logs or self._began is None:
            return
        began, first = self._began
        pace = (self._worked() - began) / max(1, state.global_step - first)
        self.emit(
            {
                "kind": "step",
                "step": state.global_step,
                "steps": self._steps,
                "epoch": self.epoch(state.global_step),
                "loss": float(logs["loss"]),
                "seconds_left": round(pace * (self._steps - state.global_step), 1),
            }
        )


class PlannedTrainer(Trainer):
    """A Trainer whose data set is the run's batches, each of them one step."""

    def __init__(
        self,
        *,
        learner: Learner,
        settings: TrainSettings,
        watch: Watch,
        dev: Sequence[Question],
        train_dataset: Sequence[PlannedBatch],
        **kwargs,
    ) -> None:
        self._learner, self._settings, self._watch, self._dev = learner, settings, watch, dev
        super().__init__(
            train_dataset=Batches(train_dataset),
            eval_dataset=Batches([]) if dev else None,
            data_collator=self._mine,
            **kwargs,
        )

    def get_train_dataloader(self) -> DataLoader:
        """Every process goes through all batches and takes its own part of each."""
        return DataLoader(self.train_dataset, batch_size=1, shuffle=False, collate_fn=self.data_collator)

    def _mine(self, batches: list[PlannedBatch]) -> dict:
        """This process's part as tensors; a process left without questions computes one that counts for nothing."""
        whole = batches[0]
        mine = whole.share(self.args.process_index, self.args.world_size)
        return {
            **self._learner.collate(mine if mine.groups else whole.share(0, len(whole.groups))),
            "questions": len(mine.groups),
        }

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        if self.lr_scheduler is None:
            self.lr_scheduler = rate_schedule(self._settings, optimizer or self.optimizer, num_training_steps)
        return self.lr_scheduler

    def compute_loss(self, model, inputs, return_outputs=False, **_kwargs):
        questions = inputs.pop("questions")
        out = model(**inputs)
        loss = out["loss"]
        if self.args.world_size > 1:
            loss = self._of_the_whole(out.get("terms") or [(loss, questions)], questions > 0)
        return (loss, out) if return_outputs else loss

    def _of_the_whole(self, terms: list[tuple[torch.Tensor, int]], counts: bool) -> torch.Tensor:
        """Gradients are averaged over the processes; weighed so, their average is the gradient of the whole batch's
        means."""
        own = torch.tensor([float(n * counts) for _, n in terms], device=self.args.device)
        weights = own * self.args.world_size / self.accelerator.reduce(own, "sum")
        return sum(value * weight for (value, _), weight in zip(terms, weights, strict=True))

    def dev_ap(self) -> dict[str, float]:
        """AP on dev by exit. Raises Cancelled when asked to stop meanwhile."""
        if not self._dev:
            return {}
        self._learner.module.eval()
        own = self._dev[self.args.process_index :: self.args.world_size]
        scored: list[tuple[str, dict]] = []
        for start in range(0, len(own), TOGETHER):
            if self.args.world_size == 1 and self._watch.asked():
                raise Cancelled(CANCELLED)
            some = own[start : start + TOGETHER]
            with self.accelerator.autocast():
                scored += zip((q.qid for q in some), self._scores(some), strict=True)
        by_question = dict(gather_object(scored))
        return {
            e: measures(self._dev, {qid: s[e] for qid, s in by_question.items()}, ("AP",))["AP"]
            for e in self._learner.exits
        }

    def _scores(self, questions: Sequence[Question]) -> list[dict]:
        many = getattr(self._learner, "dev_scores_many", None)
        return many(questions) if many else [self._learner.dev_scores(q) for q in questions]

    def evaluate(self, *_args, **_kwargs) -> dict[str, float]:
        by_exit = self.dev_ap()
        step = self.state.global_step
        # steering, the mean over exits, the last counting double: early exits must not be bought with the final ranking
        values = list(by_exit.values())
        metrics = {"eval_ap": values[-1], "eval_steering": (sum(values) + values[-1]) / (len(values) + 1)}
        self._watch.emit(
            {
                "kind": "eval",
                "step": step,
                "steps": self.state.max_steps,
                "epoch": self._watch.epoch(step),
                "dev_ap": by_exit,
            }
        )
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def best(self) -> tuple[float, float]:
        """The last exit's dev AP at the best step, which may be before a resumption, and the steering value there;
        zeros without dev."""
        looks = [said for said in self.state.log_history if "eval_steering" in said]
        found = max(looks, key=lambda said: said["eval_steering"], default={})  # of equals the first, as Trainer
        return found.get("eval_ap", 0.0), found.get("eval_steering", 0.0)
