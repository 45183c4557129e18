"""Before a retrain: what it will measure of its base is measured in the background as soon as somebody labels.

A retrain on a new corpus reads thousands of pairs with its base before it trains: the held-out questions, the shipped
ones it is held to, the frozen benchmarks. None of it waits for the last label. The logits go to the home's cache, and
the evaluations to the database, where the retrain finds them.
"""

import contextlib
import time

from sqlalchemy.orm import Session

from app.adapt import snapshot
from app.adapt.measuring import use_logits
from app.adapt.settings import RetrainSettings
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.ranking.synonyms import read_synonyms
from app.versions import evaluations, loading, registry
from app.versions.benchmarks import load_benchmarks
from app.workbench.models import import_libraries
from app.workbench.workbench import Workbench
from as2core.cascade.logit_cache import LogitCache
from as2core.data.catalog import apply_setting
from as2core.rankers.cascade import CascadeRanker
from as2core.types import Json, Progress
from db.repositories import corpora as corpus_rows
from db.repositories import jobs as job_rows
from db.repositories import labels as label_rows

MIN_LABELS = 5  # by people: whoever gives so many may want a retrain
CHECK_SECONDS = 10.0


class _RetrainWaits(Exception):
    """A retrain was started: it measures what is missing itself, and two would read the same pairs."""


def start_due(wb: Workbench) -> list[queue.JobView]:
    """Queue the preparation of each corpus that people label and that was not prepared for the active version. Cheap,
    and at most every ten seconds. For the worker."""
    if time.monotonic() - wb.marks.get("prepared", -CHECK_SECONDS) < CHECK_SECONDS:
        return []
    wb.marks["prepared"] = time.monotonic()
    version = registry.get_active(wb).id
    with wb.read() as s:
        due = [
            c.id
            for c in corpus_rows.list_corpora(s)
            if not _is_prepared(s, c.id, version)
            and label_rows.count_new_labels(s, c.id, None) >= MIN_LABELS
            and not job_rows.list_active_jobs(s, "retrain", c.id)
        ]
    return [queue.enqueue(wb, "prepare", {"version": version}, corpus_id=corpus_id) for corpus_id in due]


def _is_prepared(session: Session, corpus_id: int, version: int) -> bool:
    """Whether the corpus's last preparation was for this version, however it ended."""
    last = job_rows.find_newest_job(session, "prepare", corpus_id)
    return last is not None and last.settings.get("version") == version


def run_prepare(job: JobRun) -> dict[str, Json]:
    """The background job; its result says how many `questions` were read. It ends as soon as a retrain waits or
    runs."""
    if job.corpus_id is None:
        return {"questions": 0}
    preparation = _Preparation(job, job.corpus_id)
    with contextlib.suppress(_RetrainWaits), contextlib.closing(LogitCache(job.wb.settings.logits_file)) as logits:
        preparation.run(logits)
    return {"questions": preparation.questions}


class _Preparation:
    def __init__(self, job: JobRun, corpus_id: int) -> None:
        self.job, self.wb, self.corpus_id = job, job.wb, corpus_id
        self.questions = 0  # that were read

    def run(self, logits: LogitCache) -> None:
        """Raises SteppedBack, Cancelled, _RetrainWaits."""
        self._make_room()
        import_libraries()
        base = loading.find_base(self.wb, "active")
        composition = snapshot.compose(
            self.wb, self.corpus_id, RetrainSettings(), trained_on=base.trained_on, on_progress=self._make_room
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
        for data, questions in load_benchmarks(self.wb).items():
            evaluations.load_or_evaluate(
                self.wb, base.spec, questions, data=data, ranker=ranker, on_progress=self._report
            )

    def _report(self, p: Progress) -> None:
        self._make_room()
        self.job.progress(p.done / max(1, p.total), f"reading questions for the next retrain, {p.done:,} of {p.total:,}")

    def _make_room(self, _: Progress | None = None) -> None:
        self.job.step_back()
        if queue.list_active(self.wb, "retrain"):
            raise _RetrainWaits
