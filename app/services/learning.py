"""How each kind of ranker learns from a snapshot: by gradient descent, by fitting a fusion's weights, or by setting the
probabilities and the no-answer threshold alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.services.snapshots import Snapshot, steering
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.types import OnProgress, Question

if TYPE_CHECKING:
    from as2core.training.settings import TrainSettings

CALIBRATION, FUSION = "calibration", "fusion"
QUICK_RATE = 6e-5
NEGATIVES_AT_LEAST = 20  # of a question whose labels are taken for complete when calibrating


@dataclass(frozen=True, slots=True)
class Learnt:
    """`settings`: what the run was told. `calibration`: what was fitted, None where the base's stays. `seconds`: with
    those `earlier`, of attempts before."""

    ranker: Any
    settings: dict[str, Any]
    seconds: float
    stopped_early: bool = False
    calibration: dict[str, Any] | None = None
    weights: dict[str, float] | None = None
    earlier: float = 0.0


def learn(
    kind: str,
    base: Any,
    snapshot: Snapshot,
    told: Mapping[str, Any],
    workdir: Path,
    *,
    on_event: Callable[[dict[str, Any]], None],
    on_progress: OnProgress,
    should_stop: Callable[[], bool],
    clock: Callable[[], float],
) -> Learnt:
    """A trained copy; the base is left alone. `clock` gives seconds and stands still while the run is held. Raises
    NotEnoughLabels, BadSetting, Cancelled."""
    if kind == CALIBRATION:
        return _calibrate_alone(base, snapshot, clock)
    if kind == FUSION:
        return _weigh(base, snapshot, on_progress, clock)
    return _fine_tune(base, snapshot, told, workdir, on_event, should_stop, clock)


def settings_for(base, told: Mapping[str, Any]) -> TrainSettings:
    """How the ranker is trained: as its kind suggests, but for what was told. Labels are few here and steps with them,
    so a cascade and a generative ranker learn at twice the rate, and in a cascade every step trains all exits."""
    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.generative import GenerativeRanker
    from as2core.training.fine_tune import smaller
    from as2core.training.learners import suggested

    own: dict[str, Any] = {}
    if isinstance(base, (CascadeRanker, GenerativeRanker)):
        own["learning_rate"] = QUICK_RATE
    if isinstance(base, CascadeRanker):
        own["exit_draw"] = "all"
    changes = {k: told.get(k) for k in ("epochs", "learning_rate", "seed")}
    return smaller(smaller(suggested(base), **own), **changes)


def taught(
    base: Any,
    questions: Sequence[Question],
    workdir: Path,
    *,
    seed: int,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Any:
    """A copy of the base that learnt from these questions as a retrain does, with nothing to steer it. Raises
    NotEnoughLabels, Cancelled."""
    from as2core.training.fine_tune import fine_tune

    settings = settings_for(base, {"seed": seed})
    return fine_tune(
        base, questions, [], settings, workdir=workdir, on_event=on_event, should_stop=should_stop, afresh=True
    ).ranker


def _fine_tune(base, snapshot, told, workdir, on_event, should_stop, clock) -> Learnt:
    from as2core.training.fine_tune import fine_tune

    settings = settings_for(base, told)
    trained = fine_tune(
        base,
        snapshot.learnt,
        steering(snapshot.parts.dev, settings.seed),
        settings,
        workdir=workdir,
        on_event=on_event,
        should_stop=should_stop,
        afresh=True,  # the folder is the job's own: another run there is this one before an update changed a default
        clock=clock,
    )
    calibration = None
    if hasattr(trained.ranker, "calibration") and (complete := fit_for_calibration(snapshot.parts.dev)):
        from as2core.training.calibrate import calibrate

        calibration = calibrate(trained.ranker, complete)
    return Learnt(
        trained.ranker, asdict(settings), trained.seconds, trained.stopped, calibration, earlier=trained.earlier
    )


def _weigh(base, snapshot: Snapshot, on_progress: OnProgress, clock: Callable[[], float]) -> Learnt:
    from as2core.training.fusion import fit_fusion

    began = clock()
    how = "logistic" if base.method == "zscore" else "search"
    known = [*snapshot.parts.train, *snapshot.parts.dev]
    ranker = fit_fusion(base, known, how=how, on_progress=on_progress)
    weights = {spec: float(w) for spec, w in zip(ranker.specs, ranker.weights, strict=True)}
    return Learnt(ranker, {"how": how, "seed": 0}, clock() - began, weights=weights)


def _calibrate_alone(base, snapshot: Snapshot, clock: Callable[[], float]) -> Learnt:
    """Weights stay; probabilities and the threshold are set on questions whose labels look complete, else on all."""
    from as2core.training.calibrate import calibrate

    if not hasattr(base, "calibration"):
        raise BadSetting(f"{base.name} gives no probabilities to calibrate: choose a cascade or a cross-encoder")
    began = clock()
    known = [*snapshot.parts.train, *snapshot.parts.dev]
    if not any(q.positives for q in known) or not any(q.negatives for q in known):
        raise NotEnoughLabels("probabilities need labels of both kinds: label correct and incorrect sentences")
    complete = fit_for_calibration(known)
    ranker = copy.deepcopy(base)
    report = calibrate(ranker, complete or known)
    report["complete"] = bool(complete)
    return Learnt(ranker, {"seed": 0}, clock() - began, calibration=report)


def fit_for_calibration(questions: Sequence[Question]) -> list[Question]:
    """Those whose labels look complete, if some have an answer and some have none; else []."""
    complete = [q for q in questions if q.negatives >= NEGATIVES_AT_LEAST]
    both = any(q.positives for q in complete) and not all(q.positives for q in complete)
    return complete if both else []
