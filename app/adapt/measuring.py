"""Measuring in a retrain: the base before, the new version after, and what both are compared with.

Nothing is measured twice. Evaluations are stored by version and questions. Where the questions changed, as the held-out
ones do with every label, the logits of those that were there before are read from the home's cache.

Thousands of pairs are read with the base before a first retrain trains, and none of them waits for the last label:
`run_measure` reads them in the background while people label (docs/decisions/0072).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from app.adapt import snapshot, training
from app.adapt.progress.reporter import Reporter
from app.adapt.progress.time_estimate import COMPLETE_WEIGHT, HELD_OUT, TORCH_CANDIDATE_WEIGHT
from app.adapt.report import SHIPPED, Baseline, BeforeAfter
from app.adapt.settings import RetrainSettings
from app.corpora.synonyms import read_synonyms
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.ranking.retrieval_order import measure_retrieval
from app.versions import evaluations
from app.versions.benchmarks import TITLES, load_benchmarks
from app.versions.evaluations import Measurement
from app.versions.loading import Base, find_base, load_ranker
from app.workbench.models import import_libraries
from app.workbench.workbench import Workbench
from as2core.cascade.logit_cache import LogitCache
from as2core.data.catalog import apply_setting
from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.rankers.base import Ranker
from as2core.rankers.cascade import CascadeRanker
from as2core.types import Json, OnProgress, Progress, Question
from db.repositories import versions as rows

INTERRUPTED = "interrupted"  # in the result of a job that is to be run again


@contextmanager
def use_logits(ranker: Ranker, logits: LogitCache) -> Iterator[None]:
    """Meanwhile, what a cascade reads completely is looked up and stored. Elsewhere its time may be measured, so it
    reads everything."""
    if not isinstance(ranker, CascadeRanker):
        yield
        return
    ranker.logits = logits
    try:
        yield
    finally:
        ranker.logits = None


@dataclass(frozen=True, slots=True, eq=False)
class Measuring:
    """`ranker` is the base's."""

    wb: Workbench
    reporter: Reporter
    logits: LogitCache
    base: Base
    ranker: Ranker

    def wait_for_engine(self, ranker: Ranker) -> None:
        """For a loaded ranker: its engine is prepared in the background."""
        settings, on_progress = self.wb.settings, self.reporter.begin("engine", "preparing the engine")
        evaluations.wait_for_engine(ranker, settings.engine, settings.graphs_dir, on_progress)

    def use_engine(self, ranker: Ranker, stage: str) -> None:
        """For a new one. Its graphs stay in the home: a version that is promoted answers with them."""
        settings, on_progress = self.wb.settings, self.reporter.begin(stage, "preparing the engine of the new version")
        evaluations.use_engine(ranker, settings.engine, settings.graphs_dir, on_progress)

    @contextmanager
    def cache_logits(
        self, ranker: Ranker, stage: str, questions: Sequence[Question], *, anchors: int = 0
    ) -> Iterator[None]:
        """As `use_logits`; what is there already of these questions weighs nothing in the stage's time. So many
        `anchors` of them are read by the weights, too."""
        if isinstance(ranker, CascadeRanker):
            pairs = [(q.text, text) for q in questions for text in ranker.list_texts(q.candidates)]
            unread = len(pairs) - self.logits.count(ranker.engine.identity, pairs)
            if anchors:
                anchors = max(0, anchors - self.logits.count(ranker.exact_engine().identity, pairs))
            self.reporter.pace.weigh(stage, COMPLETE_WEIGHT * unread + TORCH_CANDIDATE_WEIGHT * anchors)
        with use_logits(ranker, self.logits):
            yield

    def measure_base(self, questions: Sequence[Question], stage: str = f"base {HELD_OUT}") -> Measurement:
        on_progress = self._follow(self.base.name, HELD_OUT, stage)
        with self.cache_logits(self.ranker, stage, questions):
            return evaluations.load_or_measure(
                self.wb, self.base.spec, questions, data=HELD_OUT, ranker=self.ranker, on_progress=on_progress
            )

    def measure_copy(self, copy: Ranker, questions: Sequence[Question]) -> Evaluation:
        """A copy that judges training questions; its few pairs are not worth an engine's graphs."""
        return evaluations.measure(copy, questions, on_progress=lambda _: self.reporter.job.check()).evaluation

    def measure_new(self, new: Ranker, questions: Sequence[Question]) -> Measurement:
        stage = f"new {HELD_OUT}"
        with self.cache_logits(new, stage, questions):
            return evaluations.measure(new, questions, on_progress=self._follow("the new version", HELD_OUT, stage))

    def evaluate_benchmarks(
        self, new: Ranker, benchmarks: dict[str, list[Question]]
    ) -> dict[str, BeforeAfter[Evaluation]]:
        """On the frozen benchmarks, as the cascade answers: its exits' own AP is not needed there."""
        sides = {}
        for data, questions in benchmarks.items():
            on_progress = self._follow(self.base.name, data, f"base {data}")
            before = evaluations.load_or_evaluate(
                self.wb, self.base.spec, questions, data=data, ranker=self.ranker, on_progress=on_progress
            )
            on_progress = self._follow("the new version", data, f"new {data}")
            sides[data] = BeforeAfter(before, evaluate(new, questions, on_progress=on_progress))
        return sides

    def measure_baselines(
        self,
        corpus_id: int,
        kind: str,
        originals: Sequence[Question],
        questions: Sequence[Question],
        held_out: BeforeAfter[Evaluation],
    ) -> tuple[Baseline, ...]:
        """Of the questions as they were asked, by which retrieval stored its order, and as rankers read them."""

        def measure(name: str) -> Evaluation:
            ranker = load_ranker(self.wb, name)
            self.wait_for_engine(ranker)
            on_progress = self._follow("the shipped version", HELD_OUT, "shipped")
            with self.cache_logits(ranker, "shipped", questions):
                measurement = evaluations.load_or_measure(
                    self.wb, name, questions, data=HELD_OUT, ranker=ranker, on_progress=on_progress
                )
            return measurement.evaluation

        name, retrieval = measure_retrieval(self.wb, corpus_id, originals, evaluations.SETTING)
        shipped = measure_shipped(self.wb, kind, (self.base.name, held_out.before), measure)
        pairs = [(name, retrieval), *([(SHIPPED, shipped)] if shipped else [])]
        return tuple(Baseline.build(name, evaluation, held_out.after) for name, evaluation in pairs)

    def _follow(self, name: str, data: str, stage: str) -> OnProgress:
        questions = f"the benchmark {TITLES[data]}" if data in TITLES else "held-out questions"
        return self.reporter.follow(stage, f"measuring {name} on {questions}")


def measure_shipped(
    wb: Workbench, kind: str, before: tuple[str, Evaluation], measure: Callable[[str], Evaluation]
) -> Evaluation | None:
    """`before`: the base's name and its figures, which are those of the shipped version if it is the base. `measure`
    gives those of a version by its name. None where none of this kind is shipped."""
    with wb.read() as s:
        row = rows.find_shipped(s, kind)
        name = row.name if row else ""
    if not name:
        return None
    return before[1] if name == before[0] else measure(name)


class _RetrainWaits(Exception):
    """A retrain was started. One of this corpus measures what is missing itself, and two would read the same pairs;
    another one needs the machine."""


def run_measure(job: JobRun) -> dict[str, Json]:
    """The background job; its result says how many `questions` were read. It ends as soon as a retrain waits or
    runs; INTERRUPTED where that is another corpus's, which does not measure what is missing here."""
    if job.corpus_id is None:
        return {"questions": 0}
    ahead = _MeasuringAhead(job, job.corpus_id)
    try:
        with closing(LogitCache(job.wb.settings.logits_file)) as logits:
            ahead.run(logits)
    except _RetrainWaits:
        if not queue.list_active(job.wb, JobKind.RETRAIN, job.corpus_id):
            return {"questions": ahead.questions, INTERRUPTED: True}
    return {"questions": ahead.questions}


class _MeasuringAhead:
    def __init__(self, job: JobRun, corpus_id: int) -> None:
        self.job, self.wb, self.corpus_id = job, job.wb, corpus_id
        self.questions = 0  # that were read

    def run(self, logits: LogitCache) -> None:
        """Raises SteppedBack, Cancelled, _RetrainWaits."""
        self._make_room()
        import_libraries()
        base = find_base(self.wb, "active")
        settings = RetrainSettings()
        composition = snapshot.compose(
            self.wb, self.corpus_id, settings, trained_on=base.trained_on, on_progress=self._make_room
        )
        ranker = base.load()
        if not isinstance(ranker, CascadeRanker):
            return
        evaluations.wait_for_engine(ranker, self.wb.settings.engine, self.wb.settings.graphs_dir, self._make_room)
        held_out = read_synonyms(self.wb, self.corpus_id).expand_all(composition.parts.held_out)
        questions = [*apply_setting(held_out, evaluations.SETTING), *composition.replay]
        with use_logits(ranker, logits):
            for batch in evaluations.trace_in_batches(ranker, questions, self._report):
                self.questions += len(batch)
            training.read_anchors(ranker, composition.replay, settings, self._make_room)
        for data, questions in load_benchmarks(self.wb).items():
            evaluations.load_or_evaluate(
                self.wb, base.spec, questions, data=data, ranker=ranker, on_progress=self._report
            )

    def _report(self, p: Progress) -> None:
        self._make_room()
        message = f"reading questions for the next retrain, {p.done:,} of {p.total:,}"
        self.job.progress(p.share, message)

    def _make_room(self, _: Progress | None = None) -> None:
        self.job.step_back()
        if queue.list_active(self.wb, JobKind.RETRAIN):
            raise _RetrainWaits
