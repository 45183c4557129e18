"""The background job `score`: questions that the active version has not ranked over the corpus as it is now are ranked,
so that the queues have candidates to offer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.corpora import indexing
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.jobs.remaining import describe_remaining
from app.ranking import scoring
from app.versions import loading, registry
from app.versions.loading import LoadedVersion
from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.retrieval.index import DamagedIndex
from as2core.types import Json
from db.models import Question
from db.repositories import candidates as candidate_rows
from db.repositories import questions as rows
from db.repositories import versions as version_rows

MAX_JOB_QUESTIONS = 40


def start_scoring(
    wb: Workbench,
    corpus_id: int,
    limit: int = MAX_JOB_QUESTIONS,
    *,
    questions: Sequence[int] | None = None,
    by: int | None = None,
    once: bool = False,
) -> JobView:
    """Rank questions that the active version has not ranked, in the background: those of the corpus's queues, which
    this fills, or these, at most `limit`. `by`: who starts it; `once`: as in `queue.enqueue`. A job that runs does not
    see what was added since."""
    settings = {"limit": limit, **({} if questions is None else {"questions": list(questions)})}
    return queue.enqueue(wb, JobKind.SCORE, settings, corpus_id=corpus_id, by=by, once=once)


def has_unranked(wb: Workbench, corpus_id: int) -> bool:
    """Whether the active version has not ranked some question of the queues."""
    version = registry.get_active(wb)
    with wb.read() as s:
        return bool(rows.list_unranked_questions(s, corpus_id, version.id, 1))


def run_score(job: JobRun) -> dict[str, Json]:
    """The background job. Each ranked question is stored at once, so an interrupted run continues where it stopped."""
    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None:
        return {"questions": 0}
    job.progress(0, "loading the ranker")
    model = loading.load_version(wb)
    try:
        indexing.embed_few_passages(job, corpus_id)
    except (DamagedIndex, DamagedModel) as e:  # the first search builds the index anew
        job.event({"kind": "note", "message": f"without search by meaning: {e}"})
    try:
        generative = loading.load_version(wb, kind=registry.GENERATIVE)
    except DamagedModel as e:
        generative = None
        job.event({"kind": "note", "message": f"without generative scores: {e}"})
    is_again = job.settings.get("again")
    if is_again:
        _restore_cuts(job, corpus_id, model)
    questions = _list_questions(job, corpus_id, model.id)
    began, total, ranked_count = job.seconds(), len(questions), 0
    for done, question in enumerate(questions):
        job.step_back()
        if registry.get_active(wb).id != model.id:
            if is_again:
                break  # another version is in use by now, and has a job of its own
            model = loading.load_version(wb)
        if not is_again and not _is_unranked(wb, corpus_id, model.id, question.id):
            continue  # somebody has opened its list meanwhile, or begun to label it
        left = describe_remaining(job.seconds() - began, done, total)
        job.progress(done / total, f"{done} of {total} questions ranked{left}")
        result = scoring.rank_question(wb, corpus_id, question.text, model)
        run_id, candidates = scoring.store_ranking(wb, question.id, model, result, by="job")
        if generative is not None and candidates:
            scoring.score_generative(wb, generative, run_id, result.expanded_question, candidates, result.trace.entered)
        ranked_count += 1
    wb.analyze()
    return {"questions": ranked_count}


def _list_questions(job: JobRun, corpus_id: int, version_id: int) -> list[Question]:
    """Those to rank: with "again" some of the open ones, or all that another version ranked."""
    limit, only = int(job.settings.get("limit", MAX_JOB_QUESTIONS)), job.settings.get("questions")
    with job.wb.read() as s:
        if job.settings.get("again"):
            if only:
                return [q for q in version_rows.list_open_questions(s, corpus_id) if q.id in only]
            return version_rows.list_ranked_by_others(s, version_id, corpus_id)[:limit]
        if only is not None and not only:
            return []
        return rows.list_unranked_questions(s, corpus_id, version_id, limit, only=only or ())


def _is_unranked(wb: Workbench, corpus_id: int, version_id: int, question_id: int) -> bool:
    with wb.read() as s:
        return bool(rows.list_unranked_questions(s, corpus_id, version_id, 1, only=(question_id,)))


def _restore_cuts(job: JobRun, corpus_id: int, model: LoadedVersion) -> None:
    """The nearest cuts of a version that is active again, from the stored scores."""
    wb, ranker = job.wb, scoring.as_cascade(model)
    with wb.read() as s:
        question_ids = rows.list_questions_without_cuts(s, corpus_id, model.id)
    for question_id in question_ids:
        job.check()
        with wb.write() as s:
            by_exit = candidate_rows.load_scores_by_exit(s, question_id, model.id)
            ids = list(by_exit.get(ranker.exits[-1], ()))
            if ids and all(by_exit.get(layer, {}).keys() == set(ids) for layer in ranker.exits):
                scores = [
                    (layer, np.array([by_exit[layer][i] for i in ids], dtype=np.float32)) for layer in ranker.exits
                ]
                cuts = scoring.find_nearest_cuts(scoring.trace_from_scores(scores), ranker.schedule)
                candidate_rows.put_cuts(s, {ids[position]: cut for position, cut in cuts.items()})
