"""How each kind of ranker is trained on a snapshot: by gradient descent, by fitting a fusion's weights, or by setting
the probabilities and the no-answer threshold only.
"""

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from app.adapt.settings import CALIBRATION, FUSION, RetrainSettings
from app.adapt.snapshot import Snapshot, sample_validation
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.rankers.base import HasWeights, Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.fusion import FusionRanker
from as2core.rankers.generative import GenerativeRanker
from as2core.training.fusion import fit_fusion
from as2core.training.settings import TrainSettings
from as2core.types import Json, OnProgress, Question

if TYPE_CHECKING:
    from as2core.training.loop import RunControl

FAST_RATE = 6e-5
MAX_PASSES, MAX_STEPS = 8, 150  # of few questions, more passes: as many as make these steps, or the ranker's own
BATCH_QUESTIONS, ANCHOR_WEIGHT = 4, 0.3  # docs/decisions/0111
MIN_NEGATIVES = 20  # a question with fewer is not taken for completely labelled when calibrating


@dataclass(frozen=True, slots=True)
class TrainedRanker:
    """`settings`: of the run. `calibration`: the report of the fit, None where the base's stays. `weights`: a fusion's.
    `seconds`: of all attempts, `earlier_seconds` of those before this one."""

    ranker: HasWeights
    settings: dict[str, object]
    seconds: float
    earlier_seconds: float = 0.0
    stopped_early: bool = False
    calibration: dict[str, Json] | None = None
    weights: dict[str, float] | None = None


def train(
    base: Ranker,
    snapshot: Snapshot,
    settings: RetrainSettings,
    workdir: Path,
    control: "RunControl",
    on_progress: OnProgress,
) -> TrainedRanker:
    """A trained copy of the base, which stays as it is. Raises NotEnoughLabels, BadSetting, Cancelled."""
    if settings.kind == CALIBRATION:
        return _calibrate(base, snapshot, control, on_progress)
    if settings.kind == FUSION and isinstance(base, FusionRanker):
        return _fit_weights(base, snapshot, control, on_progress)
    return _fine_tune(base, snapshot, settings, workdir, control)


def choose_train_settings(base: Ranker, settings: RetrainSettings, train: Sequence[Question]) -> TrainSettings:
    """Those of the ranker's kind, but for what was set. There are few labels and therefore few steps, so a cascade and
    a generative ranker are trained at twice the rate. A cascade passes more often over few questions to learn from, and
    every step trains all exits. The loss compares the candidates of a question, which leaves the level of the logits
    to the anchors; a loss for each candidate alone would pull it away from them (docs/decisions/0049). Where validation
    questions ask for it, the weights go only half of the way from the base's, or stay as they were."""
    from as2core.training.fine_tune import override
    from as2core.training.learners import suggest_settings

    is_cascade = isinstance(base, CascadeRanker)
    rate = FAST_RATE if is_cascade or isinstance(base, GenerativeRanker) else None
    defaults = override(suggest_settings(base), learning_rate=rate)
    if is_cascade:
        defaults = replace(
            defaults,
            batch_questions=BATCH_QUESTIONS,
            loss="listwise",
            anchor=ANCHOR_WEIGHT,
            exit_draw="all",
            tuned_share=None,
        )
        passes = ceil(MAX_STEPS * BATCH_QUESTIONS / max(1, count_useful(defaults, train)))
        defaults = replace(defaults, epochs=max(defaults.epochs, min(MAX_PASSES, passes)))
    return override(defaults, epochs=settings.epochs, learning_rate=settings.learning_rate, seed=settings.seed)


def count_useful(settings: TrainSettings, questions: Sequence[Question]) -> int:
    """Of labelled questions those that a training learns from: a loss that compares candidates needs labels of both
    kinds."""
    from as2core.training.learners.base import NEEDS_PAIR

    return sum(q.has_both_labels for q in questions) if settings.loss in NEEDS_PAIR else len(questions)


def count_steps(settings: TrainSettings, questions: Sequence[Question]) -> int:
    return settings.epochs * ceil(count_useful(settings, questions) / settings.batch_questions)


def list_training_questions(
    questions: Sequence[Question], replay: Sequence[Question], settings: TrainSettings
) -> list[Question]:
    """The labelled questions, and the shipped ones to remember: without their labels where these are anchors."""
    from as2core.training.anchors import strip_labels

    return [*questions, *(strip_labels(q) if settings.anchor else q for q in replay)]


def read_anchors(
    base: CascadeRanker, replay: Sequence[Question], settings: RetrainSettings, on_progress: OnProgress
) -> None:
    """What a retrain with these settings reads of its anchors, into the base's cache of logits."""
    from as2core.training.anchors import choose_anchors

    train_settings = choose_train_settings(base, settings, ())
    anchors = list_training_questions((), replay, train_settings)
    choose_anchors(base, anchors, seed=train_settings.seed, on_progress=on_progress)


def choose_judge_settings(base: CascadeRanker, seed: int) -> TrainSettings:
    """A retrain's rate and exits with the loss of each candidate alone, as the estimate of wrong labels was
    measured."""
    from as2core.training.learners import suggest_settings

    return replace(suggest_settings(base), learning_rate=FAST_RATE, exit_draw="all", seed=seed)


def train_judge(
    base: CascadeRanker, questions: Sequence[Question], workdir: Path, *, seed: int, control: "RunControl | None" = None
) -> CascadeRanker:
    """A copy of the base, trained on these questions without validation questions. Raises NotEnoughLabels,
    Cancelled."""
    from as2core.training.fine_tune import fine_tune

    settings = choose_judge_settings(base, seed)
    return fine_tune(base, questions, [], settings, workdir=workdir, control=control, restart=True).ranker


def _fine_tune(
    base: Ranker,
    snapshot: Snapshot,
    settings: RetrainSettings,
    workdir: Path,
    control: "RunControl",
) -> TrainedRanker:
    from as2core.training.fine_tune import fine_tune
    from as2core.training.learners import require_weights

    train_settings = choose_train_settings(base, settings, snapshot.parts.train)
    result = fine_tune(
        require_weights(base),
        list_training_questions(snapshot.parts.train, snapshot.replay, train_settings),
        sample_validation(snapshot.parts.dev, settings.seed),
        train_settings,
        workdir=workdir,
        control=control,
        restart=True,  # the folder is the job's own: another run there is this one before an update changed a default
    )
    times = result.seconds, result.earlier_seconds
    as_run = asdict(replace(train_settings, tuned_share=result.tuned_share))
    return TrainedRanker(result.ranker, as_run, *times, result.stopped_early)


def calibrate_result(result: TrainedRanker, questions: Sequence[Question], on_progress: OnProgress) -> TrainedRanker:
    """Calibrate what gradient descent trained, on the engine it runs on, which scores several times as fast as the
    weights in training; as it is for a ranker without probabilities, or without `questions`."""
    from as2core.training.calibrate import calibrate

    if not questions or not isinstance(result.ranker, CascadeRanker):
        return result
    return replace(result, calibration=calibrate(result.ranker, questions, on_progress))


def _fit_weights(
    base: FusionRanker, snapshot: Snapshot, control: "RunControl", on_progress: OnProgress
) -> TrainedRanker:
    start = control.clock()
    how = "logistic" if base.method == "zscore" else "search"
    ranker = fit_fusion(base, [*snapshot.parts.train, *snapshot.parts.dev], how=how, on_progress=on_progress)
    weights = {spec: float(w) for spec, w in zip(ranker.specs, ranker.weights, strict=True)}
    return TrainedRanker(ranker, {"how": how, "seed": 0}, control.clock() - start, weights=weights)


def _calibrate(base: Ranker, snapshot: Snapshot, control: "RunControl", on_progress: OnProgress) -> TrainedRanker:
    """The weights stay. Probabilities and the threshold are set on completely labelled questions, else on all."""
    from as2core.training.calibrate import calibrate

    if not isinstance(base, CascadeRanker):
        raise BadSetting(f"{base.name} gives no probabilities to calibrate: choose a cascade or a cross-encoder")
    start = control.clock()
    questions = [*snapshot.parts.train, *snapshot.parts.dev]
    if not any(q.positives for q in questions) or not any(q.negatives for q in questions):
        raise NotEnoughLabels("probabilities need labels of both kinds: label correct and incorrect sentences")
    complete = select_complete(questions)
    ranker = copy.deepcopy(base)
    report = {**calibrate(ranker, complete or questions, on_progress), "complete": bool(complete)}
    return TrainedRanker(ranker, {"seed": 0}, control.clock() - start, calibration=report)


def select_complete(questions: Sequence[Question]) -> list[Question]:
    """Those whose labels look complete, if some of them have an answer and some have none; else []."""
    complete = [q for q in questions if q.negatives >= MIN_NEGATIVES]
    both = any(q.positives for q in complete) and not all(q.positives for q in complete)
    return complete if both else []
