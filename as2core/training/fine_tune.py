"""One training call for every ranker: transfer and adapt are two of them (Garg et al., 2020).

The loop is Hugging Face's Trainer, which brings resumption, bf16 and several processes. The batches are planned
beforehand, so the Trainer sees one epoch of ready batches. Dev AP is measured at even steps, and the best state is the
result. Under `accelerate launch` or `torchrun` each planned batch is divided among the processes, so their number
changes the time and nothing else.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, cast

import numpy as np
import torch
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerControl, TrainerState, TrainingArguments

from as2core.data.asnq import apply_asnq_negatives
from as2core.data.lazy_questions import digest_questions
from as2core.errors import BadSetting, Cancelled
from as2core.metrics import average
from as2core.nn.backbone import Backbone
from as2core.nn.precision import has_bfloat16
from as2core.rankers.base import HasWeights
from as2core.rankers.passage_cache import fingerprint
from as2core.system.files import write_text
from as2core.training.dropout import FastDropout
from as2core.training.hard_negatives import keep_highest_negatives
from as2core.training.learners import Learner, R, Teacher, learner_for
from as2core.training.loop import (
    CANCELLED,
    SELECTION,
    PlannedTrainer,
    RunControl,
    Watch,
    diverged,
    list_selection_scores,
)
from as2core.training.noise import FlipCounts, flip_labels
from as2core.training.plan import BatchPlan, plan_batches
from as2core.training.settings import TrainSettings
from as2core.training.weight_mean import (
    DEFAULT_SHARE,
    MIXED_SHARES,
    SHARES,
    choose_share,
    copy_state,
    count_mixed_shares,
    load_mean,
)
from as2core.types import Progress, Question

MAX_LOGGED_STEPS = 20_000  # of longer runs the losses of some steps are averaged: a history is in memory
# events that tell how far something is that takes no step; they are not in the history
SCORING = "scoring"  # hard negatives and anchors are looked for, before the first step
MIXING = "mixing"  # means with the base's weights are scored, after the last one: `done` of `total` of them


@dataclass(frozen=True, slots=True)
class TrainingResult(Generic[R]):
    """`ranker` holds the best state on dev by `selection_score` (as2core.training.loop), the last state without dev;
    `best_dev_ap` is the AP of its last exit there. `history` is every event, in order. `seconds` include the
    `earlier_seconds` of the attempts whose checkpoint this one resumed from. `stopped_early`: by patience.
    `tuned_share`: how far the weights are from the base's (0) to the trained ones (1), whose dev AP is reported."""

    ranker: R
    history: list[dict]
    best_dev_ap: float
    selection_score: float
    seconds: float
    earlier_seconds: float
    stopped_early: bool
    tuned_share: float = 1.0


def fine_tune(
    base: R,
    train: Sequence[Question],
    dev: Sequence[Question],
    settings: TrainSettings,
    *,
    workdir: Path,
    teacher: Teacher | None = None,
    control: RunControl | None = None,
    restart: bool = False,
) -> TrainingResult[R]:
    """Train a copy of `base`; the base is left alone. Training questions without any label are anchors where
    `settings.anchor` is set, else not used. A run with the same inputs resumes from `workdir`. Another run's files
    there are an error, or deleted with `restart`.

    Raises NotEnoughLabels (nothing to learn from), Cancelled (`control.should_stop` turned true; checkpoints stay),
    BadSetting (the folder holds another run; the training diverged).
    """
    control = control or RunControl()
    started = control.clock()
    ranker = copy.deepcopy(base)
    learner = learner_for(ranker, settings, teacher)
    device = _move_to_gpu(learner)
    noisy, flips = _flip(train, settings) if settings.noise else (train, None)
    batches = _plan(base, learner, noisy, replace(settings, negatives_from=()) if flips else settings, control)
    _prepare(learner, noisy, batches, control)
    frozen = _frozen_parameters(ranker, settings)
    dev = [q for q in dev if q.positives]
    _claim_workdir(workdir, describe_run(settings, base, train, dev), restart)
    args = _arguments(workdir, settings, len(batches), bool(dev))
    watch = Watch(control if args.process_index == 0 else replace(control, on_event=None), started)
    trainer = PlannedTrainer(learner, batches, dev, watch, args)
    trainer.remove_callback(PrinterCallback)
    if dev:
        trainer.add_callback(_Patience(settings.patience))
    if flips:
        watch.emit("noise", **asdict(flips))
    at_start = trainer.dev_ap_each()
    count = _count_questions(noisy, batches, settings, base)
    watch.emit("start", steps=len(batches), questions=count, dev_ap=average(at_start))
    frozen.requires_grad_(False)
    try:
        with _set_dropout(learner, settings.dropout), FastDropout():
            trainer.train(resume_from_checkpoint=_last_checkpoint(workdir))
    finally:
        frozen.requires_grad_(True)
    if watch.stopping:
        raise Cancelled(CANCELLED)
    trainer.accelerator.wait_for_everyone()  # the best state is read from `workdir`, which the first may then delete
    learner.to(device).eval()
    best, score = trainer.best()
    _refuse_diverged(ranker, trainer.state.global_step)
    share = _mix_with_base(trainer, ranker, base, settings.tuned_share, at_start) if base.is_trained else 1.0
    if share != 1:
        watch.emit("mean", tuned_share=share)
    end = trainer.state.global_step
    watch.emit("end", step=end, steps=len(batches), best_dev_ap=best, selection_score=score)
    early = end < len(batches)
    return TrainingResult(ranker, watch.history, best, score, watch.seconds, watch.earlier_seconds, early, share)


def _move_to_gpu(learner: Learner) -> torch.device:
    """As the Trainer does later, where there is one: what comes before the first step takes long on the CPU. Returns
    where the learner was."""
    device = next(learner.parameters()).device
    if torch.cuda.is_available():
        learner.to(f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
    return device


def _flip(train: Sequence[Question], settings: TrainSettings) -> tuple[Sequence[Question], FlipCounts]:
    """The questions with noise, among the grades that are trained on alone: a flipped candidate keeps the grade that it
    had, by which it would be taken or left out wrongly afterwards."""
    if settings.negatives_from:
        train = _select_grades(train, settings.negatives_from)
    return flip_labels(train, settings.noise, seed=settings.seed)


def _plan(
    base: HasWeights, learner: Learner, questions: Sequence[Question], settings: TrainSettings, control: RunControl
) -> BatchPlan:
    """The batches, with hard negatives and anchors found by a ranker that can rank before its first step."""
    on_progress = partial(_report_scoring, control)
    if settings.hard_negatives and base.is_trained:
        if settings.negatives_from:  # else the hardest may all be of the grades that the plan leaves out
            questions = _select_grades(questions, settings.negatives_from)
        questions = keep_highest_negatives(base, questions, settings.hard_negatives, on_progress)
    batches = plan_batches(
        questions, settings, exits=len(learner.exits), needs=learner.needs, count_tokens=learner.count_tokens
    )
    if settings.anchor and base.is_trained:
        batches = learner.add_anchors(batches, base, questions, on_progress)
    return batches


def _select_grades(questions: Sequence[Question], grades: tuple[int, ...]) -> Sequence[Question]:
    """The questions with incorrect candidates of these grades alone, and those without a label, which are anchors."""
    anchors = [q for q in questions if not q.has_labels]
    return [*apply_asnq_negatives(questions, grades), *anchors] if anchors else apply_asnq_negatives(questions, grades)


def _count_questions(train: Sequence[Question], batches: BatchPlan, settings: TrainSettings, base: HasWeights) -> int:
    """Those that the loss learns from, and the anchors."""
    has_anchors = settings.anchor and base.is_trained
    return batches.question_count + (sum(not q.has_labels for q in train) if has_anchors else 0)


def _prepare(learner: Learner, questions: Sequence[Question], batches: BatchPlan, control: RunControl) -> None:
    """Put an untrained ranker's heads, or a trained one's loss, on the level of the labels."""
    if not learner.ranker.is_trained:
        learner.prepare(questions, control.should_stop)
    elif learner.settings.match_prior:
        learner.match_prior(batches, control.should_stop)
    learner.ranker.is_trained = True


def _mix_with_base(
    trainer: PlannedTrainer,
    ranker: HasWeights,
    base: HasWeights,
    share: float | None,
    at_start: Mapping[str, Mapping[str, float]],
) -> float:
    """Set the ranker to a mean of the base's weights and its own; returns the share of its own. `at_start`: the base's
    AP on each dev question, by exit."""
    if share == 1:
        return 1.0
    before, after = base.module.state_dict(), copy_state(ranker.module)

    def measure(share: float) -> np.ndarray:
        if share == 0:
            by_exit = at_start
        elif share == 1:
            by_exit = trainer.best_dev_ap_each()
        else:
            trainer.report(MIXING, MIXED_SHARES.index(share), count_mixed_shares(trainer.dev_count))
            load_mean(ranker.module, before, after, share)
            by_exit = trainer.dev_ap_each()
        return np.array([*by_exit[trainer.last_exit].values()])

    if share is None:
        is_measured = count_mixed_shares(trainer.dev_count) > 0
        # the trained weights first, while the ranker has them
        share = choose_share({s: measure(s) for s in sorted(SHARES, reverse=True)}) if is_measured else DEFAULT_SHARE
    load_mean(ranker.module, before, after, share)
    return share


def _report_scoring(control: RunControl, p: Progress) -> None:
    if control.is_stop_requested:
        raise Cancelled(CANCELLED)
    control.report(SCORING, p.done, p.total)


class _Patience(EarlyStoppingCallback):
    """Early stopping that goes on counting where a resumed run stopped; the Trainer's own would begin again at 0."""

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        super().on_train_begin(args, state, control, **kwargs)
        steps = [entry["step"] for entry, _ in list_selection_scores(state)]
        self.early_stopping_patience_counter = sum(step > (state.best_global_step or 0) for step in steps)
        control.should_training_stop = self._is_exhausted

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        if self._is_exhausted:  # also at the start: the Trainer still takes one step, which must have no effect
            control.should_log = control.should_evaluate = control.should_save = False

    @property
    def _is_exhausted(self) -> bool:
        return self.early_stopping_patience_counter >= self.early_stopping_patience


def _refuse_diverged(ranker: HasWeights, step: int) -> None:
    """Raises BadSetting where a weight is no number."""
    if not all(p.isfinite().all() for p in ranker.module.parameters()):
        raise diverged(step)


def _frozen_parameters(ranker: HasWeights, settings: TrainSettings) -> torch.nn.ParameterList:
    """The parameters that could learn and that the settings freeze."""
    backbone, parts = ranker.encoder, []
    if isinstance(backbone, Backbone):
        if settings.frozen_layers > len(backbone.blocks):
            raise BadSetting(f"frozen_layers={settings.frozen_layers}: the encoder has {len(backbone.blocks)} layers")
        parts = [*backbone.blocks[: settings.frozen_layers]]
        if settings.freeze_embeddings:
            parts.append(backbone.embeddings)
    elif settings.frozen_layers:
        raise BadSetting("frozen_layers needs an encoder backbone; set it to 0 for this model")
    return torch.nn.ParameterList(p for part in parts for p in part.parameters() if p.requires_grad)


@contextlib.contextmanager
def _set_dropout(module: torch.nn.Module, probability: float | None) -> Iterator[None]:
    """Meanwhile all its dropout has this probability."""
    layers = [m for m in module.modules() if isinstance(m, torch.nn.Dropout)] if probability is not None else []
    own = [layer.p for layer in layers]
    try:
        for layer in layers:
            layer.p = cast(float, probability)
        yield
    finally:
        for layer, before in zip(layers, own, strict=True):
            layer.p = before


def _claim_workdir(workdir: Path, run: dict, restart: bool) -> None:
    """Record the run in its folder: resuming another run's checkpoints would silently mix two runs."""
    marker = workdir / "run.json"
    if marker.exists():
        before = json.loads(marker.read_text())
        before["settings"] = asdict(TrainSettings()) | before["settings"]  # a setting added later had its default
        if json.dumps(before, sort_keys=True) != json.dumps(run, sort_keys=True):
            if not restart:
                raise BadSetting(f"{workdir} holds another run: choose an empty folder, or delete it to start afresh")
            shutil.rmtree(workdir)
    workdir.mkdir(parents=True, exist_ok=True)
    if is_first_process():
        write_text(json.dumps(run), marker)  # in one step: a killed run leaves no half-written file


def is_first_process() -> bool:
    """Whether this process is the one of those of `torchrun` or `accelerate launch` that writes and reports."""
    return int(os.environ.get("RANK", "0")) == 0


def describe_run(settings: TrainSettings, base: HasWeights, train: Sequence[Question], dev: Sequence[Question]) -> dict:
    """What makes two runs the same. The head of an untrained ranker is drawn anew whenever it is built, so only the
    weights of the network below it count."""
    module = base.module if base.is_trained or base.encoder is None else base.encoder
    config = base.config()["settings"]
    kind = {name: config[name] for name in ("exits", "pool", "direction") if name in config}
    kind |= {name: True for name in ("segments",) if config.get(name)}  # settings that runs before them did not have
    return {
        "settings": asdict(settings),
        "train": digest_questions(train),
        "dev": digest_questions(dev),
        "base": {**kind, "weights": fingerprint(module, config.get("max_length", 0))},
    }


def _last_checkpoint(workdir: Path) -> str | None:
    """The last complete checkpoint. A killed run can leave a part of one, without the state file, which comes last."""
    by_step = sorted(workdir.glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    for path in reversed(by_step):
        try:
            json.loads((path / "trainer_state.json").read_text())
            return str(path)
        except (OSError, ValueError):
            shutil.rmtree(path, ignore_errors=True)
    return None


def _arguments(workdir: Path, settings: TrainSettings, steps: int, has_dev: bool) -> TrainingArguments:
    interval = max(1, math.ceil(steps / max(1, settings.epochs * settings.evals_per_epoch)))
    args = TrainingArguments(
        output_dir=str(workdir),
        num_train_epochs=1,
        per_device_train_batch_size=1,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        bf16=settings.bf16 and has_bfloat16("cuda" if torch.cuda.is_available() else "cpu"),
        use_cpu=not torch.cuda.is_available(),
        eval_strategy="steps" if has_dev else "no",
        eval_steps=interval,
        save_steps=interval,
        save_total_limit=2,  # the best and the last; with 1 the Trainer deletes the last when it ends, cancelled or not
        load_best_model_at_end=has_dev,
        metric_for_best_model=SELECTION if has_dev else None,
        logging_steps=math.ceil(steps / MAX_LOGGED_STEPS),
        logging_nan_inf_filter=False,  # which would hide that a training diverges
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


def override(settings: TrainSettings, **changes: object) -> TrainSettings:
    """The settings with some values changed; None leaves a value as it is."""
    return TrainSettings(**asdict(settings) | {k: v for k, v in changes.items() if v is not None})
