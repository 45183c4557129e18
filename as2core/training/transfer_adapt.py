"""TandA (Garg et al., 2020): transfer a pre-trained encoder to answer sentence selection on a large general set, then
adapt it to the target's questions, each step with its own rate and epochs, both stopped early by the target's dev AP.

Its two controls: `fine_tune` on the target alone, and `merged`, one run over both sets. Noisy target labels are the
adapt step's `noise` setting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from as2core.training.fine_tune import Trained, fine_tune
from as2core.training.learners import Teacher
from as2core.training.loop import OnEvent
from as2core.training.settings import ADAPT, TRANSFER, TrainSettings
from as2core.types import Question


@dataclass(frozen=True, slots=True)
class TransferredAdapted:
    """Both steps' results; `ranker` is the adapted one."""

    transferred: Trained
    adapted: Trained

    @property
    def ranker(self) -> object:
        return self.adapted.ranker


def transfer_adapt(
    base: object,
    general: Sequence[Question],
    target: Sequence[Question],
    dev: Sequence[Question],
    *,
    workdir: Path,
    transfer: TrainSettings = TRANSFER,
    adapt: TrainSettings = ADAPT,
    teacher: Teacher | None = None,
    on_event: OnEvent | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> TransferredAdapted:
    """Fine-tune `base` on `general`, the result on `target`; `dev` is the target's. Resumes from `workdir`.

    `teacher` is for the transfer step. Every event says its "stage", transfer or adapt. Raises what `fine_tune` does.
    """

    def staged(stage: str) -> OnEvent:
        return lambda event: on_event({**event, "stage": stage}) if on_event else None

    transferred = fine_tune(
        base,
        general,
        dev,
        transfer,
        workdir=workdir / "transfer",
        teacher=teacher,
        on_event=staged("transfer"),
        should_stop=should_stop,
    )
    adapted = fine_tune(
        transferred.ranker,
        target,
        dev,
        adapt,
        workdir=workdir / "adapt",
        on_event=staged("adapt"),
        should_stop=should_stop,
    )
    return TransferredAdapted(transferred, adapted)


def merged(
    base: object,
    general: Sequence[Question],
    target: Sequence[Question],
    dev: Sequence[Question],
    settings: TrainSettings,
    *,
    workdir: Path,
    on_event: OnEvent | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """The control of one run over both sets, shuffled together (section 5.3)."""
    return fine_tune(
        base, [*general, *target], dev, settings, workdir=workdir, on_event=on_event, should_stop=should_stop
    )
