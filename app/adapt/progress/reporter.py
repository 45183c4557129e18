"""What a retrain reports to its job while it runs: the stage, how far it is, and how long everything still takes.

Every stage reports at its start. What scores reports between batches, and training at every step, so nothing goes on
for long without a word, and a pause or a cancellation is seen at each of these moments.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from app.adapt.progress.time_estimate import Pace, TrainingWatch
from app.jobs.attempt import JobRun
from app.jobs.remaining import describe_range
from as2core.types import OnProgress, Progress

if TYPE_CHECKING:
    from as2core.training.loop import RunControl


class Reporter:
    """`weights`: stage -> weight (app.adapt.progress.time_estimate)."""

    def __init__(self, job: JobRun, weights: Mapping[str, float]) -> None:
        self.job, self.pace = job, Pace(weights, job.seconds)

    def advance(self, stage: str, share: float, message: str) -> None:
        """Report how far a stage is, and how long the retrain still takes."""
        self.pace.advance(stage, share)
        remaining = self.pace.remaining
        left = f", {describe_range(*remaining)} left" if remaining else ""
        self.job.progress(self.pace.share, message + left)

    def begin(self, stage: str, message: str) -> OnProgress:
        """Begin a stage. What it returns reports how far the stage is, waits while the job is paused, and ends it when
        it is cancelled."""
        self.advance(stage, 0.0, message)
        return self.follow(stage, message)

    def follow(self, stage: str, message: str) -> OnProgress:
        """`begin`, without a report at the start."""

        def report(p: Progress) -> None:
            self.advance(stage, p.share, f"{message}, {p.done:,} of {p.total:,}")
            self.job.check()

        return report

    def control_copy(self, stage: str, start: float, end: float, message: str) -> "RunControl":
        """For the training of a copy, which is the part of the stage from `start` to `end`."""
        from as2core.training.loop import RunControl

        def report(event: dict) -> None:
            step, steps = event.get("step", 0), event.get("steps", 0)
            if steps:
                self.advance(stage, start + (end - start) * step / steps, f"{message}, step {step} of {steps}")
            elif "total" in event:
                self.advance(stage, start, f"{message}, {event['done']:,} of {event['total']:,} questions read")

        return RunControl(report, self.job.should_stop, self.job.seconds)

    def control_training(self) -> "RunControl":
        """For the training itself: its events become the job's."""
        from as2core.training.fine_tune import MIXING, SCORING
        from as2core.training.loop import RunControl

        watch = TrainingWatch(self.pace)
        follow = {SCORING: watch.follow_scoring, MIXING: watch.follow_mixing}

        def report(event: dict) -> None:
            if event["kind"] in follow:
                self.advance(*follow[event["kind"]](Progress(event["done"], event["total"])))
                return
            self.job.event(event)
            self.advance(*watch.follow(event))

        def report_dev(p: Progress) -> None:
            self.advance(*watch.follow_dev(p))

        return RunControl(report, self.job.should_stop, self.job.seconds, report_dev)
