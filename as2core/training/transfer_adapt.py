"""TandA (Garg et al., 2020): transfer a pre-trained encoder to answer sentence selection on a large general set, then
adapt it to the target's questions, each step with its own rate and epochs, both stopped early by the target's dev AP.

Its two controls are `fine_tune` on the target alone, and on both sets at once (section 5.3). Noisy target labels are
the adapt step's `noise` setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from as2core.training.fine_tune import TrainingResult, fine_tune
from as2core.training.learners import R
from as2core.training.loop import RunControl
from as2core.training.settings import ADAPT, TRANSFER, TrainSettings
from as2core.types import Question


def transfer_adapt(
    base: R,
    general: Sequence[Question],
    target: Sequence[Question],
    dev: Sequence[Question],
    *,
    workdir: Path,
    transfer: TrainSettings = TRANSFER,
    adapt: TrainSettings = ADAPT,
    control: RunControl | None = None,
) -> tuple[TrainingResult[R], TrainingResult[R]]:
    """Fine-tune `base` on `general`, the result on `target`; the results of both steps. `dev` is the target's. Resumes
    from `workdir`.

    Every event has its "stage", transfer or adapt. Raises what `fine_tune` does.
    """
    run = control or RunControl()

    def stage(name: str) -> RunControl:
        on_event = run.on_event
        return replace(run, on_event=on_event and (lambda event: on_event({**event, "stage": name})))

    first = fine_tune(base, general, dev, transfer, workdir=workdir / "transfer", control=stage("transfer"))
    second = fine_tune(first.ranker, target, dev, adapt, workdir=workdir / "adapt", control=stage("adapt"))
    return first, second
