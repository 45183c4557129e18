"""The search index, derived from the documents: bringing it up to them, building it anew, vectors in the background.

A document knows whether the index has it as it is now, so whatever a kill leaves undone is done by the next call.
"""

from __future__ import annotations

from app import jobs
from app.running import Running
from app.services.workbench import Workbench
from as2core.types import OnProgress, Progress
from db.repositories import corpora as rows

BATCH = 400  # documents
EMBED_BATCH = 64  # passages


def index_pending(wb: Workbench, corpus_id: int, on_progress: OnProgress | None = None) -> int:
    """Bring the index up to the documents; returns how many it took in. Quick when there is nothing to do."""
    from as2core.retrieval.passages import passages

    if not wb.has_index(corpus_id):
        with wb.write() as s:
            rows.forget_index(s, corpus_id)
    with wb.read() as s:
        left = rows.unindexed_count(s, corpus_id)
    taken = 0
    while taken < left:
        with wb.read() as s:
            documents = rows.unindexed(s, corpus_id, BATCH)
            sentences: dict[int, list[str]] = {d.id: [] for d in documents}
            for row in rows.sentences_of(s, list(sentences)):
                sentences[row.document_id].append(row.text)
        if not documents:
            break
        made = [(str(d.id), passages(str(d.id), sentences[d.id], title=d.title)) for d in documents]
        wb.index(corpus_id).upsert_docs(made)
        with wb.write() as s:
            rows.mark_indexed(s, [(d.id, d.digest) for d in documents])
        taken += len(documents)
        if on_progress:
            on_progress(Progress(taken, left, "building the search index"))
    return taken


def reindex(wb: Workbench, corpus_id: int, on_progress: OnProgress | None = None) -> int:
    """Throw the index away and build it anew from the documents; vectors follow in the background."""
    wb.forget_index(corpus_id)
    taken = index_pending(wb, corpus_id, on_progress)
    request_vectors(wb, corpus_id)
    return taken


def request_vectors(wb: Workbench, corpus_id: int) -> int | None:
    """See that passages without a vector get one in the background, whoever brought them in; returns the job that will
    do it, None if there are no such passages."""
    from db.repositories import jobs as job_rows

    if not wb.has_index(corpus_id) or not wb.index(corpus_id).pending(1):
        return None
    with wb.read() as s:
        waiting = [j.id for j in job_rows.active_jobs(s, "embed", corpus_id) if j.state == "queued"]
    return waiting[0] if waiting else jobs.enqueue(wb, "embed", {}, corpus_id=corpus_id).id


def run_embed(job: Running) -> dict:
    """The background job: vectors for the passages without one, batch by batch; a new run goes on where one ended."""
    from as2core.retrieval.sqlite import SqliteIndex

    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None or not wb.has_index(corpus_id):
        return {"passages": 0}
    embedder, made = None, 0
    # a handle of its own: another process may put a new file in the place of this one
    index = SqliteIndex(wb.settings.index_file(corpus_id))
    try:
        while batch := index.pending(EMBED_BATCH):
            job.step_back()
            embedder = embedder or wb.models.embedder()
            vectors = embedder.embed([p.text for p in batch])
            index.set_vectors({p.id: v for p, v in zip(batch, vectors, strict=True)})
            made += len(batch)
            done, total = index.vectors(), index.count()
            job.progress(done / max(1, total), f"{done:,} of {total:,} passages have vectors")
    finally:
        index.close()
    return {"passages": made}
