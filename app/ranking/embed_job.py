"""The background job `embed`: vectors for passages without one. Then those questions are ranked again that were ranked
before there were these passages and vectors.
"""

from __future__ import annotations

from app.corpora import indexing
from app.jobs.attempt import JobRun
from app.ranking.score_job import start_scoring
from app.versions.promotion import MAX_RESCORED_QUESTIONS
from as2core.types import Json, Progress
from db.repositories import questions as rows


def run_embed(job: JobRun) -> dict[str, Json]:
    """The background job. The second ranking is a job of its own."""
    if job.corpus_id is None:
        return {"passages": 0}

    def report(progress: Progress) -> None:
        job.progress(min(indexing.MAX_EMBEDDED_SHARE, progress.share), progress.stage)

    count = indexing.embed_passages(job, job.corpus_id, report)
    with job.wb.read() as s:
        outdated = rows.list_outdated_questions(s, job.corpus_id)[:MAX_RESCORED_QUESTIONS]
    if outdated:
        start_scoring(job.wb, job.corpus_id, len(outdated), questions=outdated)
    return {"passages": count}
