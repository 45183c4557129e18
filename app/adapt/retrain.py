"""A retrain, in the worker: freeze the labels, train, evaluate on held-out questions, save the version.

Everything it needs is in the job's folder, so a run that was cancelled or killed resumes from its last checkpoint with
the same labels. The version's directory appears by one rename and is registered in the database afterwards, so that no
unfinished version is ever used.
"""

import contextlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace

from app.adapt import label_noise, training
from app.adapt import snapshot as snapshots
from app.adapt.cross_fitting import CrossFit, Fold, cross_fit, plan_folds
from app.adapt.measuring import Measuring, use_logits
from app.adapt.progress.reporter import Reporter
from app.adapt.progress.time_estimate import FOLDS, HELD_OUT, Work, plan_stages, weigh_judges
from app.adapt.report import BeforeAfter, ExcludedLabels, LabelCounts, QuestionChange, RetrainReport
from app.adapt.settings import CHECKING, COPIES, RetrainSettings
from app.adapt.snapshot import Snapshot
from app.corpora.corpora import name_corpus
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.versions import evaluations, loading, registry, startup
from app.versions.benchmarks import FROZEN, load_benchmarks, load_starter
from app.versions.directory import delete_unfinished
from app.versions.evaluations import Measurement, to_json
from app.workbench.models import import_libraries
from as2core.cascade.logit_cache import LogitCache
from as2core.errors import As2Error, Cancelled
from as2core.evaluation.rankers import Evaluation, compute_intervals
from as2core.evaluation.training_record import TRAINED_ON, VALIDATED_ON
from as2core.metrics import paired_test
from as2core.rankers.base import Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.versions import save_version
from as2core.system.files import replace_file
from as2core.types import Json, Progress, Question
from db.models import ModelVersion
from db.repositories import versions as rows

JUDGE_SHARE = 0.4  # of the work of both judges: the training of one


def run_retrain(job: JobRun) -> dict[str, Json]:
    """The background job; its result is a `RetrainReport`."""
    if job.corpus_id is None:
        raise As2Error("the corpus this retrain was for is deleted")
    report = _find_finished(job) or _run(job, job.corpus_id)
    return report.to_json()


def _run(job: JobRun, corpus_id: int) -> RetrainReport:
    with contextlib.closing(LogitCache(job.wb.settings.logits_file)) as logits:
        return _Retrain(job, corpus_id, logits).run()


class _Retrain:
    """One attempt at a retrain."""

    def __init__(self, job: JobRun, corpus_id: int, logits: LogitCache) -> None:
        self.job, self.wb, self.start = job, job.wb, job.seconds()
        self.settings = RetrainSettings.from_json(job.settings)
        self.corpus_id, self.workdir, self.logits = corpus_id, job.folder / "work", logits
        self.is_check_skipped = False
        job.progress(0.0, "loading the libraries")
        import_libraries()
        job.progress(0.0, "reading the labels")
        self.base = loading.find_base(self.wb, self.settings.base, self.settings.version_kind)
        self.snapshot = snapshots.freeze(
            self.wb, corpus_id, job.folder, self.settings, self.base.trained_on, self._report_freezing
        )
        self.benchmarks = load_benchmarks(self.wb)

    def run(self) -> RetrainReport:
        job, questions = self.job, self.snapshot.read(self.snapshot.parts.held_out)
        job.progress(0.0, f"loading {self.base.name}")
        ranker = self.base.load()
        self.reporter = Reporter(job, self._plan(ranker))
        self.measuring = Measuring(self.wb, self.reporter, self.logits, self.base, ranker)
        self.measuring.wait_for_engine(ranker)
        before = self.measuring.measure_base(questions)
        labels = self._filter_labels()
        result = self._train(ranker, labels)
        job.check()
        self.measuring.use_engine(result.ranker, "graphs")
        if not self.settings.is_fitted:
            on_progress = self.reporter.begin("calibration", "calibrating the probabilities")
            result = training.calibrate_result(result, self._calibration_questions, on_progress)
        after = self.measuring.measure_new(result.ranker, questions)
        cross_fit_result = self._cross_fit(ranker, self._plan_folds(labels.questions))
        benchmarks = self.measuring.evaluate_benchmarks(result.ranker, self.benchmarks)
        report = self._report(BeforeAfter(before, after), cross_fit_result, benchmarks, labels, result)
        self.reporter.begin("saving", "saving the version")
        report = self._save(report, result)
        evaluations.store_measurement(self.wb, report.version, questions, after, data=HELD_OUT)
        for data, sides in benchmarks.items():
            evaluations.store_evaluation(self.wb, report.version, self.benchmarks[data], sides.after, data=data)
        return report

    def _report_freezing(self, p: Progress) -> None:
        of = f"near-duplicates among {p.total:,} questions, yours and the shipped ones"
        self.job.progress(0.0, f"reading the labels, looking for {of}")
        self.job.check()

    def _plan(self, base: Ranker) -> dict[str, float]:
        """The weights of the stages, before anything is known of the run but its data."""
        spec, parts = self.base.spec, self.snapshot.parts
        measured_sets = [data for data, qs in self.benchmarks.items() if evaluations.has_evaluation(self.wb, spec, qs)]
        if evaluations.has_measurement(self.wb, spec, self.snapshot.read(parts.held_out)):
            measured_sets.append(HELD_OUT)
        work = Work(measured_sets=measured_sets, judge_questions=() if self._uses_all_labels else parts.train)
        if not self.settings.is_fitted:
            from as2core.training.weight_mean import count_mixed_shares

            settings = training.choose_train_settings(base, self.settings, parts.train)
            replay = self.snapshot.replay
            folds = self._plan_folds(parts.train) if self.settings.copies else ()
            is_mixed = settings.tuned_share is None
            work = replace(
                work,
                steps=self._count_steps(base, parts.train),
                evaluations=settings.epochs,
                mean_evaluations=count_mixed_shares(len(snapshots.sample_validation(parts.dev, 0))) if is_mixed else 0,
                hard_negatives=settings.hard_negatives,
                anchor_questions=replay if settings.anchor else (),
                anchors=self._count_anchors(base),
                calibration_questions=self._calibration_questions if isinstance(base, CascadeRanker) else (),
                copies=len(folds),
                copy_steps=sum(self._count_steps(base, fold.train) for fold in folds),
                judged_questions=[q for fold in folds for q in fold.judged_questions],
            )
        return plan_stages(parts, self.benchmarks, work)

    def _count_anchors(self, base: Ranker) -> int:
        from as2core.training.anchors import count_anchors

        settings = training.choose_train_settings(base, self.settings, self.snapshot.parts.train)
        return count_anchors(self.snapshot.replay) if settings.anchor else 0

    def _count_steps(self, base: Ranker, train: Sequence[Question]) -> int:
        settings = training.choose_train_settings(base, self.settings, train)
        return training.count_steps(settings, [*train, *(() if settings.anchor else self.snapshot.replay)])

    def _plan_folds(self, train: Sequence[Question]) -> tuple[Fold, ...]:
        """Those of the check by copies; none for a fit of a few numbers."""
        if self.settings.is_fitted:
            return ()
        vectors = snapshots.embed_questions(self.wb, [q.text for q in train], known_only=True)
        held_out, trained_on = self.snapshot.parts.held_out, set(self.base.trained_on)
        return plan_folds(train, held_out, trained_on=trained_on, vectors=vectors)

    @property
    def _validation_questions(self) -> Sequence[Question]:
        """Those that choose how far gradient descent goes."""
        if self.settings.is_fitted:
            return ()
        return snapshots.sample_validation(self.snapshot.parts.dev, self.settings.seed)

    @property
    def _calibration_questions(self) -> Sequence[Question]:
        """Completely labelled ones that no training sees: the person's, or else the shipped ones."""
        own = training.select_complete(self.snapshot.parts.dev)
        return self.snapshot.read(own) or load_starter(self.wb, "dev")

    @property
    def _uses_all_labels(self) -> bool:
        """A fit of a few numbers does: wrong labels hardly change it."""
        return self.snapshot.choice.doubtful or self.settings.is_fitted

    def _filter_labels(self) -> label_noise.FilteredLabels:
        """The labels to train on."""
        train = self.snapshot.parts.train
        if self._uses_all_labels or (judge := label_noise.load_judge(self.wb)) is None:
            return label_noise.FilteredLabels(train)
        self.measuring.wait_for_engine(judge)
        judges = _Judges(self, judge)
        with self.measuring.cache_logits(judge, "check", self.snapshot.read(train)):
            labels = label_noise.filter_labels(
                judge,
                train,
                seed=self.settings.seed,
                synonyms=self.snapshot.synonyms,
                train_judge=judges.train,
                on_progress=judges.report_scoring,
            )
        self.reporter.pace.finish_early("check")  # it ends as soon as few labels can be wrong
        if labels.excluded_labels:
            self.job.event(
                {"kind": "note", "message": f"{len(labels.excluded_labels):,} labels that look wrong are left out"}
            )
        return labels

    def _train(self, ranker: Ranker, labels: label_noise.FilteredLabels) -> training.TrainedRanker:
        self.reporter.begin("preparation", "preparing the training")
        control = self.reporter.control_training()
        on_progress = self.reporter.follow("training", "preparing the training questions")
        snapshot = self.snapshot.prepare_training(labels.questions)
        anchors = 0 if self.settings.is_fitted else self._count_anchors(ranker)
        with self.measuring.cache_logits(ranker, "preparation", snapshot.replay, anchors=anchors):
            return training.train(ranker, snapshot, self.settings, self.workdir, control, on_progress)

    def _cross_fit(self, ranker: Ranker, folds: Sequence[Fold]) -> CrossFit:
        """By copies of the base, trained as the version was; empty once somebody chooses to finish without them."""
        self.is_check_skipped = bool(folds) and not self.settings.copies  # in an earlier attempt
        if not folds or self.is_check_skipped:
            return CrossFit()
        self.job.event({"kind": COPIES, "message": "trained and measured; now checked on training questions, too"})
        try:
            return self._train_copies(ranker, folds)
        except Cancelled:
            self.job.check()  # raises where the whole retrain is to end
        self.is_check_skipped = True
        self.reporter.pace.finish_early(FOLDS)
        self.job.event({"kind": "note", "message": "finished without the check on training questions"})
        return CrossFit()

    def _is_ending_copies(self) -> bool:
        """Whether the copies are to end now."""
        return self.job.should_stop() or not queue.read_settings(self.wb, self.job.id).get("copies", True)

    def _train_copies(self, ranker: Ranker, folds: Sequence[Fold]) -> CrossFit:
        """Raises Cancelled."""

        def check(_: Progress) -> None:
            if self._is_ending_copies():
                raise Cancelled("cancelled")

        def measure_copy(fold: Fold, number: int) -> Evaluation:
            message = f"{CHECKING}, part {number + 1} of {len(folds)}"
            control = self.reporter.control_copy(FOLDS, number / len(folds), (number + 1) / len(folds), message)
            control = replace(control, should_stop=self._is_ending_copies)
            snapshot = self.snapshot.prepare_training(fold.train)
            folder = self.workdir / "folds" / str(number)
            with use_logits(ranker, self.logits):  # it has the logits of the shipped questions
                result = training.train(ranker, snapshot, self.settings, folder, control, check)
            copy = result.ranker
            return self.measuring.measure_copy(copy, self.snapshot.read(fold.judged_questions))

        def measure_base(questions: Sequence[Question]) -> Evaluation:
            return self.measuring.measure_base(self.snapshot.read(questions), f"base {FOLDS}").evaluation

        return cross_fit(folds, measure_base, measure_copy)

    def _report(
        self,
        held_out: BeforeAfter[Measurement],
        cross_fit_result: CrossFit,
        benchmarks: dict[str, BeforeAfter[Evaluation]],
        labels: label_noise.FilteredLabels,
        result: training.TrainedRanker,
    ) -> RetrainReport:
        """All but the version's name."""
        both = cross_fit_result.add_to(held_out.map(lambda m: m.evaluation))
        figures = {data: sides.map(lambda e: e.metrics) for data, sides in benchmarks.items()}
        before, after = both.before, both.after
        all_questions = (*self.snapshot.parts.held_out, *cross_fit_result.questions)
        questions = tuple(q for q in all_questions if q.qid in after.per_question["AP"])
        return RetrainReport(
            version="",
            base=self.base.name,
            kind=self.settings.kind,
            before=before.metrics,
            after=after.metrics,
            paired=paired_test(after.per_question["AP"], before.per_question["AP"]),
            intervals=both.map(lambda e: compute_intervals(e.per_question)),
            per_question=tuple(QuestionChange.build(q, before, after) for q in questions),
            baselines=self.measuring.measure_baselines(
                self.corpus_id, self.settings.version_kind, questions, self.snapshot.read(questions), both
            ),
            per_exit=held_out.map(lambda m: m.per_exit),
            reliability=held_out.map(lambda m: m.reliability),
            frozen=figures.pop(FROZEN, None),
            frozen_others=figures,
            labels=_count_labels(self.snapshot, self.settings.kind, len(cross_fit_result.questions)),
            left_out=ExcludedLabels.build(labels.rate or 0.0, labels.excluded_labels)
            if labels.excluded_labels
            else None,
            choice=self.snapshot.choice,
            replay=self.settings.replay,
            weights=result.weights,
            settings=result.settings,
            snapshot=self.snapshot.digest,
            seconds=round(self.job.seconds() - self.start + result.earlier_seconds, 1),
            training_seconds=round(result.seconds, 1),
            is_check_skipped=self.is_check_skipped,
        )

    def _save(self, report: RetrainReport, result: training.TrainedRanker) -> RetrainReport:
        """The report with the version's name. Its directory is named after the job, so that no other run writes
        there."""
        job, wb = self.job, self.wb
        stem = _slugify(name_corpus(wb, self.corpus_id))
        delete_unfinished(wb.settings.versions_dir, wb.clock().timestamp())
        path = registry.find_free_folder(wb, f"{stem}-job-{job.id}")
        for leftover in (path, *path.parent.glob(f".{path.name}.*")):  # of a run killed before it registered it
            shutil.rmtree(leftover, ignore_errors=True)
        trained_on = {*self.base.trained_on, *(q.text for q in self.snapshot.training_questions)}
        validated_on = {
            *loading.list_validated_on(wb, self.base.spec),
            *(q.text for q in self._validation_questions),
        }
        card = report.to_card() | {
            "note": self.settings.note,
            "job": job.id,
            "seed": result.settings.get("seed", 0),
            "calibration": to_json(result.calibration) if result.calibration else f"that of {self.base.name}",
            "stopped_early": result.stopped_early,
            "created": wb.clock().isoformat(timespec="seconds"),
            TRAINED_ON: sorted(trained_on),
            VALIDATED_ON: sorted(validated_on),
        }
        with replace_file(job.folder / "result.json") as part:  # a kill leaves no half of it
            part.write_text(json.dumps({"path": str(path), "result": report.to_json()}), encoding="utf-8")
        job.check()
        save_version(result.ranker, path, card)
        with wb.write() as s:
            name = registry.find_next_name(s, self.corpus_id, stem)
            row = s.get(ModelVersion, self.base.id) if self.base.id is not None else None
            parent = row.name if row else self.base.name  # it may have been renamed
            details = rows.VersionDetails(parent=parent, note=self.settings.note, metrics=report.to_metrics())
            is_rejected = self.settings.automatic and bool(report.change.objection)
            registry.add_candidate(s, wb, name, path, is_rejected=is_rejected, **details)
        shutil.rmtree(self.workdir, ignore_errors=True)
        return replace(report, version=name)


class _Judges:
    """Copies of the judge that find wrong labels, each trained on half of the training questions. They score on the
    engine, as the judge does."""

    def __init__(self, run: _Retrain, judge: CascadeRanker) -> None:
        self.run, self.judge, self.copies = run, judge, 0

    def train(self, half: Sequence[Question], number: int) -> CascadeRanker:
        run, message = self.run, f"checking the labels: half {number + 1} of 2"
        settings = training.choose_judge_settings(self.judge, run.settings.seed)
        steps = training.count_steps(settings, half)
        run.reporter.pace.plan("judges", weigh_judges(run.snapshot.parts.train, steps))
        start, end = JUDGE_SHARE * number, JUDGE_SHARE * (number + 1)
        control = run.reporter.control_copy("judges", start, end, message)
        folder = run.workdir / "judges" / str(number)
        copy = training.train_judge(self.judge, half, folder, seed=run.settings.seed, control=control)
        self.copies += 1
        copy.logits = None  # nobody asks it again
        run.measuring.use_engine(copy, "engine of a copy")
        return copy

    def report_scoring(self, p: Progress) -> None:
        """By the judge, then by both copies."""
        message, share = "looking for labels that look wrong", p.share
        stage = "judges" if self.copies else "check"
        share = 2 * JUDGE_SHARE + (1 - 2 * JUDGE_SHARE) * share if self.copies else share
        self.run.reporter.advance(stage, share, f"{message}, {p.done:,} of {p.total:,}")
        self.run.job.check()


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


def _count_labels(snapshot: Snapshot, kind: str, cross_fitted: int) -> LabelCounts:
    parts = snapshot.parts
    correct, incorrect = parts.train_labels
    return LabelCounts(
        questions=len(parts.train),
        correct=correct,
        incorrect=incorrect,
        presumed=snapshot.presumed_count,
        dev_questions=len(parts.dev),
        held_out_questions=len(parts.held_out),
        cross_fitted_questions=cross_fitted,
        replayed_questions=len(snapshot.replay),
        skipped_questions=sum(parts.one_sided) if kind == registry.CASCADE else 0,
        origins=dict(snapshot.origins),
        givers=dict(snapshot.givers),
    )


def _slugify(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "corpus"
