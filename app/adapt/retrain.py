"""A retrain, in the worker: freeze the labels, train, evaluate on held-out questions, save the version.

Everything it needs is in the job's folder, so a run that was cancelled or killed resumes from its last checkpoint with
the same labels. The version's directory appears by one rename and is registered in the database afterwards, so that no
unfinished version is ever used.
"""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from app.adapt import baselines, label_noise, training
from app.adapt import snapshot as snapshots
from app.adapt.pace import HELD_OUT, Pace, TrainingWatch, Work, describe_range, plan_stages
from app.adapt.report import Baseline, BeforeAfter, LabelCounts, LeftOut, Metrics, QuestionChange, RetrainReport
from app.adapt.settings import RetrainSettings
from app.adapt.snapshot import Snapshot
from app.corpora.corpora import get_corpus
from app.jobs.attempt import JobRun
from app.versions import evaluations, loading, registry, startup
from app.versions.benchmarks import FROZEN, TITLES, load_benchmarks
from app.versions.evaluations import Measurement, to_json
from as2core.errors import As2Error
from as2core.evaluation import compute_intervals, paired_test
from as2core.rankers.base import Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.versions import save_version
from as2core.types import Json, OnProgress, Progress, Question
from db.models import ModelVersion
from db.repositories import versions as rows


def run_retrain(job: JobRun) -> dict[str, Json]:
    """The background job; its result is a `RetrainReport`."""
    if job.corpus_id is None:
        raise As2Error("the corpus this retrain was for is deleted")
    report = _find_finished(job) or _Retrain(job, job.corpus_id).run()
    return report.to_json()


class _Retrain:
    """One attempt at a retrain."""

    def __init__(self, job: JobRun, corpus_id: int) -> None:
        self.job, self.wb, self.start = job, job.wb, job.seconds()
        self.settings = RetrainSettings.from_json(job.settings)
        self.corpus_id, self.workdir = corpus_id, job.folder / "work"
        job.progress(0.0, "freezing the labels")
        self.base = loading.find_base(self.wb, self.settings.base, self.settings.version_kind)
        self.snapshot = snapshots.freeze(
            self.wb, corpus_id, job.folder, self.settings, self.base.trained_on, self._report_freezing
        )
        self.benchmarks = load_benchmarks(self.wb)

    def run(self) -> RetrainReport:
        job, questions = self.job, self.snapshot.parts.held_out
        job.progress(0.0, f"loading {self.base.name}")
        ranker = self.base.load()
        self.pace = Pace(self._plan(ranker), job.seconds)
        self._use_engine(ranker, None, "engine")
        before = self._measure_base(ranker, questions, HELD_OUT)
        labels = self._filter_labels()
        result = self._train(ranker, labels)
        job.check()
        self._use_engine(result.ranker, self.workdir / "graphs", "graphs")
        if not self.settings.is_fitted:
            on_progress = self._report_progress("calibration", "calibrating the probabilities")
            result = training.calibrate_result(result, self.snapshot.parts.dev, on_progress)
        after = self._measure_new(result.ranker, questions, HELD_OUT)
        benchmarks = self._measure_benchmarks(ranker, result.ranker)
        self._advance("saving", 0.0, "saving the version")
        report = self._report(BeforeAfter(before, after), benchmarks, labels, result)
        report = self._save(report, result)
        evaluations.store_measurement(self.wb, report.version, questions, after, data=HELD_OUT)
        for data, sides in benchmarks.items():
            evaluations.store_measurement(self.wb, report.version, self.benchmarks[data], sides.after, data=data)
        return report

    def _report_freezing(self, p: Progress) -> None:
        self.job.progress(0.0, f"freezing the labels, {p.done:,} of {p.total:,} questions compared")
        self.job.check()

    def _plan(self, base: Ranker) -> dict[str, float]:
        """The weights of the stages, before anything is known of the run but its data."""
        parts, steps, epochs, negatives = self.snapshot.parts, 0, 0, 0
        if not self.settings.is_fitted:
            settings = training.choose_train_settings(base, self.settings)
            epochs, negatives = settings.epochs, settings.hard_negatives
            steps = epochs * ceil(len(self.snapshot.training_questions) / settings.batch_questions)
        data = {HELD_OUT: parts.held_out, **self.benchmarks}
        spec = self.base.spec
        measured = [name for name, questions in data.items() if evaluations.has_measurement(self.wb, spec, questions)]
        work = Work(steps, epochs, negatives, measured)
        return plan_stages(parts, self.benchmarks, work)

    def _advance(self, stage: str, share: float, message: str) -> None:
        """Report how far a stage is, and how long the retrain still takes."""
        self.pace.advance(stage, share)
        remaining = self.pace.remaining
        left = f", {describe_range(*remaining)} left" if remaining else ""
        self.job.progress(self.pace.share, message + left)

    def _report_progress(self, stage: str, message: str) -> OnProgress:
        """For a stage. It also waits while the job is paused, and ends it when it is cancelled."""

        def report(p: Progress) -> None:
            self._advance(stage, p.done / max(1, p.total), f"{message}, {p.done:,} of {p.total:,}")
            self.job.check()

        return report

    def _use_engine(self, ranker: Ranker, folder: Path | None, stage: str) -> None:
        message = "preparing the engine"
        self._advance(stage, 0.0, message)
        evaluations.use_engine(ranker, self.wb.settings.engine, folder, self._report_progress(stage, message))

    def _measure_base(self, ranker: Ranker, questions: Sequence[Question], data: str) -> Measurement:
        spec, on_progress = self.base.spec, self._report_measuring(self.base.name, data, f"base {data}")
        return evaluations.load_or_measure(self.wb, spec, questions, data=data, ranker=ranker, on_progress=on_progress)

    def _measure_new(self, ranker: Ranker, questions: Sequence[Question], data: str) -> Measurement:
        on_progress = self._report_measuring("the new version", data, f"new {data}")
        return evaluations.measure(ranker, questions, on_progress=on_progress)

    def _report_measuring(self, name: str, data: str, stage: str) -> OnProgress:
        return self._report_progress(stage, f"measuring {name} on {TITLES.get(data, 'held-out questions')}")

    def _measure_benchmarks(self, base: Ranker, new: Ranker) -> dict[str, BeforeAfter[Measurement]]:
        """On the frozen benchmarks that are available."""
        return {
            data: BeforeAfter(self._measure_base(base, questions, data), self._measure_new(new, questions, data))
            for data, questions in self.benchmarks.items()
        }

    def _control_judge(self, message: str) -> "training.RunControl":
        """For the training of a judge, which the plan does not know of."""
        from as2core.training.loop import RunControl

        def report(event: dict) -> None:
            if steps := event.get("steps"):
                self._advance("judges", 0.0, f"{message}, step {event.get('step', 0)} of {steps}")

        return RunControl(report, self.job.should_stop, self.job.seconds)

    def _control_training(self) -> "training.RunControl":
        """For the training itself: its events become the job's."""
        from as2core.training.fine_tune import SCORING
        from as2core.training.loop import RunControl

        watch = TrainingWatch(self.pace)

        def report(event: dict) -> None:
            if event["kind"] == SCORING:
                self._advance(*watch.follow_scoring(Progress(event["done"], event["total"])))
                return
            self.job.event(event)
            self._advance(*watch.follow(event))

        def report_dev(p: Progress) -> None:
            self._advance(*watch.follow_dev(p))

        return RunControl(report, self.job.should_stop, self.job.seconds, report_dev)

    def _filter_labels(self) -> label_noise.FilteredLabels:
        """The labels to train on. A fit of a few numbers uses all: wrong labels hardly change it."""
        train, seed = self.snapshot.parts.train, self.settings.seed
        uses_all = self.snapshot.choice.doubtful or self.settings.is_fitted
        if uses_all or (judge := label_noise.load_judge(self.wb)) is None:
            return label_noise.FilteredLabels(train)

        def train_judge(half: Sequence[Question], number: int) -> CascadeRanker:
            message = f"training on half of the labels to check the others, {number + 1} of 2"
            control, folder = self._control_judge(message), self.workdir / "judges" / str(number)
            return training.train_judge(judge, half, folder, seed=seed, control=control)

        on_progress = self._report_progress("check", "looking for labels that look wrong")
        labels = label_noise.filter_labels(judge, train, seed=seed, train_judge=train_judge, on_progress=on_progress)
        if labels.left_out:
            self.job.event({"kind": "note", "message": f"{len(labels.left_out):,} labels that look wrong are left out"})
        return labels

    def _train(self, ranker: Ranker, labels: label_noise.FilteredLabels) -> training.TrainedRanker:
        self._advance("negatives", 0.0, "preparing the training")
        control = self._control_training()
        on_progress = self._report_progress("training", "scoring the training questions")
        snapshot = replace(self.snapshot, parts=replace(self.snapshot.parts, train=labels.questions))
        return training.train(ranker, snapshot, self.settings, self.workdir, control, on_progress)

    def _measure_baselines(self, questions: Sequence[Question], before: Metrics) -> tuple[Baseline, ...]:
        kind, base = self.settings.version_kind, (self.base.name, before)
        on_progress = self._report_measuring("the shipped version", HELD_OUT, "shipped")
        shipped = baselines.measure_shipped(self.wb, kind, questions, base, data=HELD_OUT, on_progress=on_progress)
        retrieval = baselines.measure_retrieval(self.wb, self.corpus_id, questions)
        return (retrieval, shipped) if shipped else (retrieval,)

    def _report(
        self,
        held_out: BeforeAfter[Measurement],
        benchmarks: dict[str, BeforeAfter[Measurement]],
        labels: label_noise.FilteredLabels,
        result: training.TrainedRanker,
    ) -> RetrainReport:
        """All but the version's name."""
        evaluations = held_out.map(lambda m: m.evaluation)
        figures = {data: sides.map(lambda m: m.evaluation.metrics) for data, sides in benchmarks.items()}
        before, after = evaluations.before, evaluations.after
        questions = [q for q in self.snapshot.parts.held_out if q.qid in after.per_question["AP"]]
        return RetrainReport(
            version="",
            base=self.base.name,
            kind=self.settings.kind,
            before=before.metrics,
            after=after.metrics,
            paired=paired_test(after.per_question["AP"], before.per_question["AP"]),
            intervals=evaluations.map(lambda e: compute_intervals(e.per_question)),
            per_question=tuple(QuestionChange.build(q, before, after) for q in questions),
            baselines=self._measure_baselines(questions, before.metrics),
            per_exit=held_out.map(lambda m: m.per_exit),
            reliability=held_out.map(lambda m: m.reliability),
            frozen=figures.pop(FROZEN, None),
            frozen_others=figures,
            labels=_count_labels(self.snapshot),
            left_out=LeftOut.build(labels.rate or 0.0, labels.left_out) if labels.left_out else None,
            choice=self.snapshot.choice,
            replay=self.settings.replay,
            weights=result.weights,
            settings=result.settings,
            snapshot=self.snapshot.digest,
            seconds=round(self.job.seconds() - self.start + result.earlier_seconds, 1),
            training_seconds=round(result.seconds, 1),
        )

    def _save(self, report: RetrainReport, result: training.TrainedRanker) -> RetrainReport:
        """The report with the version's name: the corpus's and the job's number, or with a number behind it where
        another version has that name."""
        job, wb = self.job, self.wb
        stem = f"{_slugify(get_corpus(wb, self.corpus_id).name)}-{job.id}"
        path = registry.find_free_folder(wb, stem, wb.settings.versions_dir)
        for leftover in (path, *path.parent.glob(f".{path.name}.*")):  # of a run killed before it registered it
            shutil.rmtree(leftover, ignore_errors=True)
        trained_on = {*self.base.trained_on, *(q.text for q in self.snapshot.training_questions)}
        card = report.to_card() | {
            "note": self.settings.note,
            "job": job.id,
            "seed": result.settings.get("seed", 0),
            "calibration": to_json(result.calibration) if result.calibration else f"that of {self.base.name}",
            "stopped_early": result.stopped_early,
            "created": wb.clock().isoformat(timespec="seconds"),
            "trained_on": sorted(trained_on),
        }
        part_file = job.folder / "result.part"
        part_file.write_text(json.dumps({"path": str(path), "result": report.to_json()}), encoding="utf-8")
        part_file.replace(job.folder / "result.json")  # a kill leaves no half of it
        job.check()
        save_version(result.ranker, path, card)
        with wb.write() as s:
            name = registry.find_free_name(s, stem)
            row = s.get(ModelVersion, self.base.id) if self.base.id is not None else None
            parent = row.name if row else self.base.name  # it may have been renamed
            details = rows.VersionDetails(parent=parent, note=self.settings.note, metrics=report.to_metrics())
            is_rejected = self.settings.automatic and bool(report.change.objection)
            registry.add_candidate(s, wb, name, path, rejected=is_rejected, **details)
        shutil.rmtree(self.workdir, ignore_errors=True)
        return replace(report, version=name)


def _find_finished(job: JobRun) -> RetrainReport | None:
    """The report of an earlier attempt that was killed after it had registered its version. The version is found by its
    directory, since it may have been renamed."""
    file = job.folder / "result.json"
    if not file.exists():
        return None
    record = json.loads(file.read_text(encoding="utf-8"))
    with job.wb.read() as s:
        row = rows.find_version(s, path=startup.find_in_home(job.wb, record["path"]))
    return RetrainReport.from_json({**record["result"], "version": row.name}) if row is not None else None


def _count_labels(snapshot: Snapshot) -> LabelCounts:
    parts = snapshot.parts
    correct, incorrect = parts.train_labels
    return LabelCounts(
        questions=len(parts.train),
        correct=correct,
        incorrect=incorrect,
        dev_questions=len(parts.dev),
        held_out_questions=len(parts.held_out),
        replayed_questions=len(snapshot.replay),
        origins=dict(snapshot.origins),
        givers=dict(snapshot.givers),
    )


def _slugify(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "corpus"
