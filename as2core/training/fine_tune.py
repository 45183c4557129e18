"""One training loop for every ranker: transfer and adapt are two calls of `fine_tune` (Garg et al., 2020).

The loop is Hugging Face's Trainer, which brings resumption, bf16 and several processes. The batches are planned
beforehand, so the Trainer sees one epoch of ready batches; dev AP is measured at even steps and the best state kept.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import EarlyStoppingCallback, PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from as2core.errors import BadSetting, Cancelled
from as2core.metrics import measures
from as2core.training.batches import PlannedBatch, plan
from as2core.training.learners import Learner, Teacher, learner_for
from as2core.training.settings import TrainSettings
from as2core.types import Question

OnEvent = Callable[[dict], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """`ranker` holds the best state seen on dev; `history` is every event, in order."""

    ranker: object
    history: list[dict]
    best_dev_ap: float
    seconds: float
    stopped: bool  # early, by patience


def fine_tune(
    base: object,
    train: Sequence[Question],
    dev: Sequence[Question],
    settings: TrainSettings,
    *,
    workdir: Path,
    teacher: Teacher | None = None,
    on_event: OnEvent | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Train a copy of `base`; the base is left alone. A run with the same inputs resumes from `workdir`.

    Raises NotEnoughLabels (nothing to learn from), Cancelled (`should_stop` turned true; checkpoints stay),
    BadSetting (the folder holds another run).
    """
    started = time.monotonic()
    ranker = copy.deepcopy(base)
    learner = learner_for(ranker, settings, teacher)
    batches = plan(train, settings, exits=len(learner.exits), needs=learner.needs)
    _freeze(ranker, settings)
    workdir.mkdir(parents=True, exist_ok=True)
    _claim(workdir, settings, train)
    history: list[dict] = []

    def emit(event: dict) -> None:
        history.append(event)
        if on_event:
            on_event(event)

    steps = len(batches)
    every = max(1, math.ceil(steps / max(1, settings.epochs * settings.evals_per_epoch)))
    dev = [q for q in dev if q.positives]
    watch = _Watch(emit, should_stop, steps, settings.epochs)
    trainer = _PlannedTrainer(
        learner=learner,
        dev=dev,
        emit=emit,
        model=learner.module,
        args=_arguments(workdir, settings, every, bool(dev)),
        train_dataset=_Batches(batches),
        data_collator=lambda items: learner.collate(items[0]),
        callbacks=[watch, *([EarlyStoppingCallback(settings.patience)] if dev else [])],
    )
    trainer.remove_callback(PrinterCallback)
    emit({"kind": "start", "steps": steps, "questions": len(train), "dev_ap": trainer.dev_ap()})
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(workdir)))
    if should_stop and should_stop():
        raise Cancelled("training was cancelled; a later run with the same labels resumes from the last checkpoint")
    learner.module.cpu().eval()
    best = trainer.state.best_metric or 0.0
    emit({"kind": "end", "step": trainer.state.global_step, "steps": steps, "best_dev_ap": best})
    return Trained(ranker, history, best, time.monotonic() - started, trainer.state.global_step < steps)


def _freeze(ranker, settings: TrainSettings) -> None:
    backbone = getattr(ranker.module, "backbone", None)
    if backbone is None:
        if settings.frozen_layers:
            raise BadSetting("frozen_layers needs an encoder backbone; set it to 0 for this model")
        return
    for p in backbone.embeddings.parameters():
        p.requires_grad = not settings.freeze_embeddings
    for block in backbone.blocks[: settings.frozen_layers]:
        block.requires_grad_(False)


def _claim(workdir: Path, settings: TrainSettings, train: Sequence[Question]) -> None:
    """Resuming another run's checkpoints would mix two runs without a word, so the folder remembers whose it is."""
    run = {"settings": asdict(settings), "questions": [[q.qid, q.positives, q.negatives] for q in train]}
    marker = workdir / "run.json"
    if marker.exists() and json.loads(marker.read_text()) != json.loads(json.dumps(run)):
        raise BadSetting(f"{workdir} holds another run: choose an empty folder, or delete it to start afresh")
    marker.write_text(json.dumps(run))


def _arguments(workdir: Path, settings: TrainSettings, every: int, has_dev: bool) -> TrainingArguments:
    bf16 = torch.cuda.is_bf16_supported() if torch.cuda.is_available() else torch.cpu._is_avx512_bf16_supported()
    when = "steps" if has_dev else "no"
    return TrainingArguments(
        output_dir=str(workdir),
        num_train_epochs=1,
        per_device_train_batch_size=1,
        learning_rate=settings.learning_rate,
        warmup_steps=settings.warmup,
        lr_scheduler_type="linear",
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        bf16=bool(bf16),
        use_cpu=not torch.cuda.is_available(),
        eval_strategy=when,
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=1,
        load_best_model_at_end=has_dev,
        metric_for_best_model="ap" if has_dev else None,
        greater_is_better=True,
        logging_steps=1,
        logging_strategy="steps",
        remove_unused_columns=False,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        log_level="error",
    )


class _Batches(Dataset):
    def __init__(self, batches: list[PlannedBatch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, i: int) -> PlannedBatch:
        return self.batches[i]


class _PlannedTrainer(Trainer):
    """Takes the batches in their order, and measures AP on dev questions instead of a loss."""

    def __init__(self, *, learner: Learner, dev: list[Question], emit: OnEvent, **kwargs) -> None:
        self._learner, self._dev, self._emit = learner, dev, emit
        super().__init__(eval_dataset=_Batches([]) if dev else None, **kwargs)

    def _get_train_sampler(self, *_args) -> SequentialSampler:
        return SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False, **_kwargs):
        out = model(**inputs)
        return (out["loss"], out) if return_outputs else out["loss"]

    def dev_ap(self) -> dict[str, float]:
        """AP on dev by exit."""
        if not self._dev:
            return {}
        self._learner.module.eval()
        by_question = {q.qid: self._learner.dev_scores(q) for q in self._dev}
        return {
            e: measures(self._dev, {qid: s[e] for qid, s in by_question.items()}, ("AP",))["AP"]
            for e in self._learner.exits
        }

    def evaluate(self, *_args, **_kwargs) -> dict[str, float]:
        by_exit = self.dev_ap()
        step = self.state.global_step
        self._emit({"kind": "eval", "step": step, "steps": self.state.max_steps, "dev_ap": by_exit})
        # the mean over exits, the last counting double: early exits must not be bought with the final ranking
        values = list(by_exit.values())
        metrics = {"eval_ap": (sum(values) + values[-1]) / (len(values) + 1)}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


class _Watch(TrainerCallback):
    """Turns the Trainer's steps into events and stops it when asked."""

    def __init__(self, emit: OnEvent, should_stop: Callable[[], bool] | None, steps: int, epochs: int) -> None:
        self._emit, self._should_stop, self._steps, self._epochs = emit, should_stop, steps, epochs
        self._began: tuple[float, int] | None = None
        self._stopping = False

    def on_train_begin(self, args, state, control, **_):
        self._began = (time.monotonic(), state.global_step)

    def on_step_end(self, args, state, control, **_):
        if self._should_stop and self._should_stop():
            self._stopping = True
            control.should_training_stop = True
            control.should_evaluate = control.should_save = False

    def on_log(self, args, state, control, logs=None, **_):
        if not logs or "loss" not in logs or self._began is None:
            return
        began, first = self._began
        pace = (time.monotonic() - began) / max(1, state.global_step - first)
        self._emit(
            {
                "kind": "step",
                "step": state.global_step,
                "steps": self._steps,
                "epoch": round(self._epochs * state.global_step / max(1, self._steps), 3),
                "loss": float(logs["loss"]),
                "seconds_left": round(pace * (self._steps - state.global_step), 1),
            }
        )


def smaller(settings: TrainSettings, **changes) -> TrainSettings:
    """The settings with some values changed; None leaves a value as it is."""
    return replace(settings, **{k: v for k, v in changes.items() if v is not None})
