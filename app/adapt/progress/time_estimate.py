"""How far a retrain is, and how long it still takes: over all its stages, measuring and building graphs as well as
training.

Every stage has a weight, the seconds it takes on two idle cores. What a weighted second takes on this machine, now, is
measured stage by stage. The remaining time is a range, from the fastest to the slowest pace so far: other programs come
and go. It is for all epochs: training may stop early.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.adapt.snapshot import sample_validation
from app.adapt.splitting import Split
from as2core.types import Progress, Question

HELD_OUT, FOLDS = "held-out", "folds"  # beside the names of the benchmarks
MIN_WEIGHT = 2.0  # weighted seconds of a stage before its pace counts
SPREAD = 0.15  # the range is at least so much below and above the pace that was measured
# Weights, in seconds of two idle cores: only their ratios count. `python benchmarks/workbench.py --only retrain` prints
# the seconds of the stages.
ENGINE_WEIGHT, SAVING_WEIGHT = 1.5, 0.5
COMPLETE_WEIGHT = 0.0014  # a candidate that passes all exits, in int8
CANDIDATE_WEIGHT = 0.001  # one under the drop ratio
TORCH_CANDIDATE_WEIGHT = 0.0028  # one scored by the weights in training
STEP_WEIGHT = 0.35


@dataclass(slots=True)
class _Stage:
    weight: float
    share: float = 0.0
    seconds: float = 0.0
    start: float = 0.0  # its share when this attempt took it up

    @property
    def done(self) -> float:
        return self.weight * self.share

    @property
    def pace(self) -> float | None:
        """Seconds for a weighted second, in this attempt; None before there is enough of it."""
        advance = self.weight * (self.share - self.start)
        return self.seconds / advance if advance >= MIN_WEIGHT and self.seconds else None


class Pace:
    """`weights`: stage -> weight, in their order. `clock`: seconds, which stands still while the job is paused."""

    def __init__(self, weights: Mapping[str, float], clock: Callable[[], float]) -> None:
        self._stages = {name: _Stage(weight) for name, weight in weights.items()}
        self._clock, self._time, self._current = clock, clock(), ""
        self._max_share = 0.0

    def plan(self, stage: str, weight: float) -> None:
        """One more stage, known of only now: it comes next. Planned again, it stays as it is."""
        _ = self.share  # must not fall
        if stage not in self._stages:
            names = [*self._stages]
            after = names.index(self._current) + 1 if self._current in names else len(names)
            own = {stage: _Stage(weight)}
            before = {name: self._stages[name] for name in names[:after]}
            self._stages = before | own | {name: self._stages[name] for name in names[after:]}

    def weigh(self, stage: str, weight: float) -> None:
        """A planned stage's weight is another one, as is known before it begins."""
        _ = self.share
        if stage in self._stages and not self._stages[stage].share:
            self._stages[stage].weight = min(self._stages[stage].weight, weight)

    def advance(self, stage: str, share: float) -> None:
        """The stage is this far, from 0 to 1; those before it are over. A stage that was not planned takes no part."""
        now, seconds = self._clock(), self._clock() - self._time
        self._time = now
        if self._current in self._stages:
            self._stages[self._current].seconds += seconds
        self._current = stage
        if stage not in self._stages:
            return
        for name, other in self._stages.items():
            if name == stage:
                break
            other.share = 1.0
        own = self._stages[stage]
        own.share = max(own.share, min(1.0, share))

    def resume(self, stage: str, share: float) -> None:
        """An earlier attempt came this far with it."""
        self._stages[stage].share = self._stages[stage].start = share

    def finish_early(self, stage: str) -> None:
        """The stage needs no more than what is done of it."""
        self._stages[stage].weight *= self._stages[stage].share
        self._stages[stage].share = 1.0

    @property
    def share(self) -> float:
        """It stays where it is while a stage is added."""
        total = sum(s.weight for s in self._stages.values())
        self._max_share = max(self._max_share, sum(s.done for s in self._stages.values()) / total if total else 0.0)
        return self._max_share

    @property
    def remaining(self) -> tuple[float, float] | None:
        """Seconds, from and to; None before any pace was measured."""
        paces = {name: s.pace for name, s in self._stages.items() if s.pace is not None}
        if not paces:
            return None
        left = {name: s.weight - s.done for name, s in self._stages.items()}
        current = left.pop(self._current, 0.0) if self._current in paces else 0.0
        own, others = paces.get(self._current, 0.0) * current, sum(left.values())
        low, high = own + min(paces.values()) * others, own + max(paces.values()) * others
        return low * (1 - SPREAD), high * (1 + SPREAD)


@dataclass(frozen=True, slots=True)
class Work:
    """`steps` of the training, `evaluations` on the validation questions while it runs, `mean_evaluations` there of
    means with the base's weights. `hard_negatives`: more incorrect candidates than that are ranked first (0: none are).
    The base scores `anchor_questions` to keep its scores there, and `anchors` of their candidates once more, by the
    weights. `judge_questions` are scored to find labels that look wrong, `calibration_questions` to calibrate. `copies`
    are trained as the version is, for `copy_steps` in all, to judge the `judged_questions`. `measured_sets`: data that
    the base was measured on before."""

    steps: int = 0
    evaluations: int = 0
    mean_evaluations: int = 0
    hard_negatives: int = 0
    anchor_questions: Sequence[Question] = ()
    anchors: int = 0
    judge_questions: Sequence[Question] = ()
    calibration_questions: Sequence[Question] = ()
    copies: int = 0
    copy_steps: int = 0
    judged_questions: Sequence[Question] = ()
    measured_sets: Collection[str] = ()


def plan_stages(parts: Split, benchmarks: Mapping[str, Sequence[Question]], work: Work) -> dict[str, float]:
    """Stage -> weight, in their order."""
    held_out = COMPLETE_WEIGHT * count_candidates(parts.held_out)
    frozen = {name: CANDIDATE_WEIGHT * count_candidates(questions) for name, questions in benchmarks.items()}
    validation = TORCH_CANDIDATE_WEIGHT * count_candidates(sample_validation(parts.dev, 0)) if work.steps else 0.0
    long = [q for q in parts.train if work.hard_negatives and q.negatives > work.hard_negatives]
    stages = {
        "engine": ENGINE_WEIGHT,
        f"base {HELD_OUT}": 0.0 if HELD_OUT in work.measured_sets else held_out,
        "check": COMPLETE_WEIGHT * count_candidates(work.judge_questions),
        "preparation": CANDIDATE_WEIGHT * count_candidates(long)
        + COMPLETE_WEIGHT * count_candidates(work.anchor_questions)
        + TORCH_CANDIDATE_WEIGHT * work.anchors,
        "validation": validation,
        "training": STEP_WEIGHT * work.steps + validation * work.evaluations,
        "mean": validation * work.mean_evaluations,
        "graphs": ENGINE_WEIGHT,
        "calibration": COMPLETE_WEIGHT * count_candidates(work.calibration_questions),
        f"new {HELD_OUT}": held_out,
        f"base {FOLDS}": COMPLETE_WEIGHT * count_candidates(work.judged_questions),
        FOLDS: work.copies * validation * (1 + work.evaluations + work.mean_evaluations)
        + STEP_WEIGHT * work.copy_steps
        + TORCH_CANDIDATE_WEIGHT * count_candidates(work.judged_questions),
    }
    for name, weight in frozen.items():
        stages |= {f"base {name}": 0.0 if name in work.measured_sets else weight, f"new {name}": weight}
    return stages | {"saving": SAVING_WEIGHT}


def weigh_judges(questions: Sequence[Question], steps: int) -> float:
    """Two copies of the judge, each trained for so many steps, that score half of the questions each."""
    return 2 * (STEP_WEIGHT * steps + ENGINE_WEIGHT) + COMPLETE_WEIGHT * count_candidates(questions)


class TrainingWatch:
    """From a training run's events to the stage, its share and what to say of it."""

    def __init__(self, pace: Pace) -> None:
        self._pace, self._is_training, self._last = pace, False, (0, 0)  # step of steps
        self._mixing: Progress | None = None  # means that were scored

    def follow_scoring(self, p: Progress) -> tuple[str, float, str]:
        """Before the training starts: what the base scores."""
        message = f"preparing the training questions, {p.done:,} of {p.total:,}"
        return ("preparation", p.share, message)

    def follow_mixing(self, p: Progress) -> tuple[str, float, str]:
        """After the last step: which mean with the base's weights is the best."""
        if self._mixing is None:
            self._pace.finish_early("training")
        self._mixing = p
        return ("mean", p.share, "choosing how much of what was learnt to take over")

    def follow_dev(self, p: Progress) -> tuple[str, float, str]:
        """An evaluation is a stage of its own before the first step, and a part of the training or of choosing a mean
        afterwards."""
        message = f"scoring the validation questions, {p.done:,} of {p.total:,}"
        if self._mixing:
            mean = self._mixing.done + p.share
            return ("mean", mean / max(1, self._mixing.total), message)
        return ("training", self._share, message) if self._is_training else ("validation", p.share, message)

    def follow(self, event: Mapping[str, object]) -> tuple[str, float, str]:
        kind, step, steps = event.get("kind"), int(str(event.get("step", 0))), int(str(event.get("steps", 0)))
        if steps:
            if kind == "step" and not self._last[0] and step > 1:
                self._pace.resume("training", (step - 1) / steps)
            self._is_training, self._last = True, (max(step, self._last[0]), steps)
        if kind == "end":
            if self._mixing is None:
                self._pace.finish_early("training")
            return ("graphs", 0.0, "preparing the engine")
        return ("training", self._share, f"training, step {self._last[0]:,} of {self._last[1]:,}")

    @property
    def _share(self) -> float:
        step, steps = self._last
        return step / steps if steps else 0.0


def count_candidates(questions: Iterable[Question]) -> int:
    return sum(len(q.candidates) for q in questions)
