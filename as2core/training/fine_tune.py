"""One training call for every ranker: transfer and adapt are two of them (Garg et al., 2020).

The loop is Hugging Face's Trainer, which brings resumption, bf16 and several processes. The batches are planned
beforehand, so the Trainer sees one epoch of ready batches; dev AP is measured at even steps and the best state kept.
Under `accelerate launch` or `torchrun` each planned batch is divided among the processes, so their number changes the
time and nothing else.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import EarlyStoppingCallback, PrinterCallback, TrainingArguments

from as2core.data import jsonl
from as2core.errors import BadSetting, Cancelled
from as2core.rankers.passage_cache import fingerprint
from as2core.training.batches import plan
from as2core.training.learners import Teacher, learner_for
from as2core.training.loop import CANCELLED, OnEvent, PlannedTrainer, Watch
from as2core.training.noise import flip_labels
from as2core.training.settings import TrainSettings
from as2core.types import Question


@dataclass(frozen=True, slots=True)
class Trained:
    """`ranker` holds the best state seen on dev by `steering` (as2core.training.loop), the last state without dev;
    `best_dev_ap` is the AP of its last exit there. `history` is every event, in order. `seconds`: with those `earlier`,
    of the attempts whose checkpoint this one went on from."""

    ranker: object
    history: list[dict]
    best_dev_ap: float
    steering: float
    seconds: float
    earlier: float
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
    afresh: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Trained:
    """Train a copy of `base`; the base is left alone. A run with the same inputs resumes from `workdir`; what another
    run left there is an error, or deleted with `afresh`.

    `should_stop` is asked between steps and between dev questions; while it blocks, the run pauses. A `clock` (seconds)
    that stands still meanwhile keeps pauses out of the time taken and the time left.
    Raises NotEnoughLabels (nothing to learn from), Cancelled (`should_stop` turned true; checkpoints stay),
    BadSetting (the folder holds another run).
    """
    started = clock()
    ranker = copy.deepcopy(base)
    learner = learner_for(ranker, settings, teacher)
    device = next(learner.module.parameters()).device
    noisy, flipped = flip_labels(train, settings.noise, seed=settings.seed)
    batches = plan(
        noisy, settings, exits=len(learner.exits), needs=learner.needs, tokens=getattr(learner, "tokens", None)
    )
    if not ranker.trained and hasattr(learner, "begin"):
        learner.begin(noisy, should_stop)
    ranker.trained = True
    frozen = _frozen(ranker, settings)
    dev = [q for q in dev if q.positives]
    _claim(workdir, settings, base, train, dev, afresh)
    history: list[dict] = []
    steps = len(batches)
    args = _arguments(workdir, settings, steps, bool(dev))

    def emit(event: dict) -> None:
        history.append(event)
        if on_event and args.process_index == 0:
            on_event(event)

    watch = Watch(emit, should_stop, steps, settings.epochs, lambda: clock() - started)
    trainer = PlannedTrainer(
        learner=learner,
        settings=settings,
        watch=watch,
        dev=dev,
        model=learner.module,
        args=args,
        train_dataset=batches,
        callbacks=[watch, *([_Patience(settings.patience)] if dev else [])],
    )
    trainer.remove_callback(PrinterCallback)
    if settings.noise:
        emit({"kind": "noise", **asdict(flipped)})
    emit({"kind": "start", "steps": steps, "questions": len(train), "dev_ap": trainer.dev_ap()})
    with _still(frozen):
        trainer.train(resume_from_checkpoint=_last_checkpoint(workdir))
    if watch.stopping:
        raise Cancelled(CANCELLED)
    learner.module.to(device).eval()
    best, steering = trainer.best()
    end = trainer.state.global_step
    emit({"kind": "end", "step": end, "steps": steps, "best_dev_ap": best, "steering": steering})
    seconds = watch.earlier + clock() - started
    return Trained(ranker, history, best, steering, seconds, watch.earlier, end < steps)


class _Patience(EarlyStoppingCallback):
    """Early stopping that goes on counting where a resumed run stood; the Trainer's own would begin again at 0."""

    def on_train_begin(self, args, state, control, **kwargs) -> None:
        super().on_train_begin(args, state, control, **kwargs)
        looks = [said["step"] for said in state.log_history if "eval_steering" in said]
        self.early_stopping_patience_counter = sum(step > (state.best_global_step or 0) for step in looks)
        control.should_training_stop = self._at_its_end()

    def on_step_end(self, args, state, control, **_) -> None:
        if self._at_its_end():  # at the beginning, too: the Trainer takes a step all the same, which counts for nothing
            control.should_log = control.should_evaluate = control.should_save = False

    def _at_its_end(self) -> bool:
        return self.early_stopping_patience_counter >= self.early_stopping_patience


def _frozen(ranker, settings: TrainSettings) -> list[torch.nn.Parameter]:
    """What could learn and shall not."""
    backbone = getattr(ranker.module, "backbone", None)
    if backbone is None:
        if settings.frozen_layers:
            raise BadSetting("frozen_layers needs an encoder backbone; set it to 0 for this model")
        return []
    parts = [*backbone.blocks[: settings.frozen_layers], *([backbone.embeddings] if settings.freeze_embeddings else [])]
    return [p for part in parts for p in part.parameters() if p.requires_grad]


@contextmanager
def _still(parameters: Sequence[torch.nn.Parameter]) -> Iterator[None]:
    """They learn nothing within, and again afterwards."""
    for p in parameters:
        p.requires_grad = False
    try:
        yield
    finally:
        for p in parameters:
            p.requires_grad = True


def _claim(
    workdir: Path,
    settings: TrainSettings,
    base: Any,
    train: Sequence[Question],
    dev: Sequence[Question],
    afresh: bool,
) -> None:
    """Resuming another run's checkpoints would mix two runs without a word, so the folder remembers whose it is."""
    run = {"settings": asdict(settings), "train": _sum(train), "dev": _sum(dev), "base": _start(base)}
    marker = workdir / "run.json"
    if marker.exists():
        before = json.loads(marker.read_text())
        before["settings"] = asdict(TrainSettings()) | before["settings"]  # a setting that came later had its default
        if json.dumps(before, sort_keys=True) != json.dumps(run, sort_keys=True):
            if not afresh:
                raise BadSetting(f"{workdir} holds another run: choose an empty folder, or delete it to start afresh")
            shutil.rmtree(workdir)
    workdir.mkdir(parents=True, exist_ok=True)
    if int(os.environ.get("RANK", "0")) == 0:
        part = marker.with_suffix(".part")
        part.write_text(json.dumps(run))
        part.replace(marker)  # a kill leaves no half of it, which no later run could read


def _sum(questions: Sequence[Question]) -> str:
    return hashlib.sha256(jsonl.dumps(questions).encode("utf-8", "surrogatepass")).hexdigest()


def _start(base: Any) -> dict:
    """What a run starts from. The head of an untrained ranker is drawn anew whenever it is built: of its weights only
    those of the network below it count."""
    module = base.module
    if not base.trained:
        module = getattr(module, "backbone", getattr(module, "model", module))
    kind = {name: getattr(base, name) for name in ("exits", "pool", "direction") if hasattr(base, name)}
    return {**kind, "weights": fingerprint(module, getattr(base, "max_length", 0))}


def _last_checkpoint(workdir: Path) -> str | None:
    """The last checkpoint that was written to its end; the state file comes last. A kill can leave a part of one."""
    found = sorted(workdir.glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    for path in reversed(found):
        try:
            json.loads((path / "trainer_state.json").read_text())
        except (OSError, ValueError):
            shutil.rmtree(path, ignore_errors=True)
        else:
            return str(path)
    return None


def _arguments(workdir: Path, settings: TrainSettings, steps: int, has_dev: bool) -> TrainingArguments:
    every = max(1, math.ceil(steps / max(1, settings.epochs * settings.evals_per_epoch)))
    able = torch.cuda.is_bf16_supported() if torch.cuda.is_available() else torch.cpu._is_avx512_bf16_supported()
    when = "steps" if has_dev else "no"
    args = TrainingArguments(
        output_dir=str(workdir),
        num_train_epochs=1,
        per_device_train_batch_size=1,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        bf16=settings.bf16 and bool(able),
        use_cpu=not torch.cuda.is_available(),
        eval_strategy=when,
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        save_total_limit=2,  # the best and the last; with 1 the Trainer deletes the last when it ends, cancelled or not
        load_best_model_at_end=has_dev,
        metric_for_best_model="steering" if has_dev else None,
        greater_is_better=True,
        logging_steps=1,
        logging_strategy="steps",
        remove_unused_columns=False,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        log_level="error",
        ddp_backend="gloo" if "LOCAL_RANK" in os.environ and not torch.cuda.is_available() else None,
        ddp_find_unused_parameters=True,  # a batch trains one exit, and no layer above it
    )
    args._n_gpu = min(1, args.n_gpu)  # nn.DataParallel would scatter a batch's tensors and leave its lists whole
    return args


def smaller(settings: TrainSettings, **changes) -> TrainSettings:
    """The settings with some values changed; None leaves a value as it is."""
    return replace(settings, **{k: v for k, v in changes.items() if v is not None})
