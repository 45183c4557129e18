"""The search index, derived from the documents: updating it, rebuilding it, and vectors in the background.

Every document stores whether its present content is indexed, so the next call completes an interrupted one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.jobs.remaining import describe_remaining
from app.workbench.workbench import Workbench
from as2core.errors import UnreadableFile
from as2core.retrieval.index import DamagedIndex, PassageIndex
from as2core.retrieval.passages import count_passages, split_passages
from as2core.retrieval.vector_file import VectorFile
from as2core.types import OnProgress, Passage, Progress
from db.repositories import corpora as corpus_rows
from db.repositories import documents as document_rows
from db.repositories import jobs as job_rows
from db.repositories import sentences as sentence_rows

BATCH_DOCUMENTS = 400
BATCH_PASSAGES = 64
READ_PASSAGES = 16 * BATCH_PASSAGES  # at a time
OPTIMIZE_PASSAGES = 6400  # between two looks at whether the vectors need a new order
ORDER_SECONDS = 60.0  # between two such looks of a process that is asked questions
MAX_FEW_PASSAGES = 2_000  # of a corpus that a job which ranks waits for: some 10 s
MAX_SHIPPED_PASSAGES = 10_000  # of a corpus that are looked up in the shipped files

EMBEDDER = "bi-encoder"  # in the catalog: that of `Workbench.models`
MAX_EMBEDDED_SHARE = 0.99  # of the background job; the rest is the order

Batches: TypeAlias = Iterator[Sequence[Passage]]
EmbeddedBatch: TypeAlias = tuple[Sequence[Passage], np.ndarray]  # the vectors: float32 (n, width)
T = TypeVar("T")

log = logging.getLogger(__name__)


def index_pending(wb: Workbench, corpus_id: int, on_progress: OnProgress | None = None) -> int:
    """Index the documents whose present content is not indexed; returns how many. Quick when there are none. An index
    that is damaged is built anew."""
    try:
        return _index_pending(wb, corpus_id, on_progress)
    except DamagedIndex as e:
        _discard(wb, corpus_id, e)
        return _index_pending(wb, corpus_id, on_progress)


def use_index(
    wb: Workbench, corpus_id: int, use: Callable[[PassageIndex], T], on_progress: OnProgress | None = None
) -> T:
    """What `use` makes of the corpus's index; one that is damaged is built anew from the documents first, its vectors
    in the background. The job is also asked for, at times, if many vectors are in no order that is searched quickly."""
    try:
        result = use(wb.index(corpus_id))
        _request_order(wb, corpus_id)
        return result
    except DamagedIndex as e:
        _discard(wb, corpus_id, e)
    index_pending(wb, corpus_id, on_progress)
    request_vectors(wb, corpus_id)
    return use(wb.index(corpus_id))


def _request_order(wb: Workbench, corpus_id: int) -> None:
    """Where the file of clusters is damaged or gone, every question would wait for the whole comparison."""
    if wb.mark_if_due(f"checked order {corpus_id}", ORDER_SECONDS) and not wb.index(corpus_id).is_optimized():
        request_vectors(wb, corpus_id)


def _discard(wb: Workbench, corpus_id: int, error: DamagedIndex) -> None:
    log.warning("the search index of corpus %d is damaged and built anew: %s", corpus_id, error)
    wb.forget_index(corpus_id)


def _index_pending(wb: Workbench, corpus_id: int, on_progress: OnProgress | None) -> int:
    if not wb.has_index(corpus_id):
        with wb.write() as s:
            document_rows.mark_all_unindexed(s, corpus_id)
    with wb.read() as s:
        total = document_rows.count_unindexed(s, corpus_id)
    indexed = 0
    while indexed < total:
        with wb.read() as s:
            documents = document_rows.list_unindexed(s, corpus_id, BATCH_DOCUMENTS)
            sentences: dict[int, list[str]] = {d.id: [] for d in documents}
            for row in sentence_rows.list_sentences(s, list(sentences)):
                sentences[row.document_id].append(row.text)
        if not documents:
            break
        split = [(str(d.id), split_passages(str(d.id), sentences[d.id], title=d.title)) for d in documents]
        wb.index(corpus_id).upsert_docs(split)
        with wb.write() as s:
            changed = document_rows.mark_indexed(s, [(d.id, d.digest) for d in documents])
        indexed += len(documents) - changed  # these come again at once: their older text is in the index now
        if on_progress:
            on_progress(Progress(indexed, total, "building the search index"))
    return indexed


def find_gap(wb: Workbench, corpus_id: int) -> str:
    """What an index lacks of documents that are noted as indexed: it is older than the database where one of them was
    copied from elsewhere. "" if nothing."""
    with wb.read() as s:
        if document_rows.count_unindexed(s, corpus_id):
            return ""
        expected = sum(map(count_passages, document_rows.count_sentences_by_document(s, corpus_id)))
    count = wb.index(corpus_id).count()
    return f"it has {count:,} of {expected:,} passages: some documents are not found" if count < expected else ""


def reindex(wb: Workbench, corpus_id: int, on_progress: OnProgress | None = None) -> int:
    """Delete the index and rebuild it from the documents; the vectors are computed in the background."""
    wb.forget_index(corpus_id)
    indexed = index_pending(wb, corpus_id, on_progress)
    request_vectors(wb, corpus_id)
    return indexed


def request_vectors(wb: Workbench, corpus_id: int) -> int | None:
    """Take the vectors that come with the program, and queue a background job for the other passages without one, and
    for the order of many vectors, unless one is queued; returns its id, or None if there is nothing to do."""
    if not wb.has_index(corpus_id):
        return None
    try:
        add_shipped_vectors(wb, corpus_id)
        if not _has_work(wb.index(corpus_id)):
            return None
    except DamagedIndex as e:
        _discard(wb, corpus_id, e)
        index_pending(wb, corpus_id)
    with wb.read() as s:
        job_ids = [j.id for j in job_rows.list_active_jobs(s, JobKind.EMBED, corpus_id) if j.state == "queued"]
    return job_ids[0] if job_ids else queue.enqueue(wb, JobKind.EMBED, {}, corpus_id=corpus_id).id


def _has_work(index: PassageIndex) -> bool:
    return bool(index.list_pending(1)) or not index.is_optimized()


def add_shipped_vectors(wb: Workbench, corpus_id: int) -> int:
    """Give passages the vectors that a shipped corpus brings along; returns how many. A file made by other weights than
    the embedder's is passed over, and so is a damaged one: the background job does its work."""
    index = wb.index(corpus_id)
    pending = index.list_pending(MAX_SHIPPED_PASSAGES)
    if not pending:
        return 0
    vectors: dict[str, np.ndarray] = {}
    for path in sorted(wb.settings.corpora_dir.glob("*/vectors.npz")):
        try:
            file = VectorFile.load(path)
        except UnreadableFile as e:
            log.warning("%s", e)
            continue
        if file.weights == wb.models.embedder_weights():
            vectors |= {p.id: v for p in pending if (v := file.get(p.text)) is not None}
    if vectors:
        index.set_vectors(vectors)
        _note_vectors(wb, corpus_id)
    return len(vectors)


def _note_vectors(wb: Workbench, corpus_id: int) -> None:
    with wb.write() as s:
        corpus_rows.note_search_change(s, corpus_id, wb.clock())


def embed_passages(job: JobRun, corpus_id: int, report: OnProgress) -> int:
    """In a background job: vectors for the passages without one, in batches, and their order where they are many; how
    many were embedded. A new run continues an interrupted one. Raises DamagedIndex, and DamagedModel (the embedder)."""
    wb = job.wb
    if not wb.has_index(corpus_id):
        return 0

    def embed(batches: Batches) -> Iterator[EmbeddedBatch]:
        embedder = None
        for batch in batches:
            job.step_back()
            embedder = embedder or wb.models.embedder()
            yield batch, embedder.embed([p.text for p in batch])

    # opened separately: another process may replace the file
    with closing(wb.indexes.open(corpus_id)) as index:
        count = store_vectors(index, embed, report)
    if count:
        _note_vectors(wb, corpus_id)
    return count


def embed_few_passages(job: JobRun, corpus_id: int) -> None:
    """The same where it takes seconds, for a job that ranks: without vectors a search goes by words alone."""
    if job.wb.has_index(corpus_id) and len(job.wb.index(corpus_id).list_pending(MAX_FEW_PASSAGES)) < MAX_FEW_PASSAGES:
        embed_passages(job, corpus_id, lambda progress: job.progress(0, progress.stage))


def embed_on_ray(wb: Workbench, corpus_id: int, address: str, on_progress: OnProgress) -> int:
    """The same at once and on all cores of a Ray (`as2core.bulk.pool` has the addresses), in place of the background
    job, which goes on if this is interrupted; returns how many passages were embedded. Raises BadSetting where there is
    no Ray, and WorkFailed."""
    from as2core.bulk.embedding import embed_on_pool
    from as2core.bulk.pool import open_pool

    add_shipped_vectors(wb, corpus_id)
    if not _has_work(wb.index(corpus_id)):
        return 0
    with open_pool(address) as pool:
        for job in queue.list_active(wb, JobKind.EMBED, corpus_id):
            queue.cancel(wb, job.id)
        try:
            with closing(wb.indexes.open(corpus_id)) as index:
                return store_vectors(index, partial(embed_on_pool, pool, EMBEDDER), on_progress)
        finally:
            _note_vectors(wb, corpus_id)
            request_vectors(wb, corpus_id)


def store_vectors(
    index: PassageIndex, embed: Callable[[Batches], Iterator[EmbeddedBatch]], on_progress: OnProgress
) -> int:
    """Vectors for the passages without one, and their order where they are many; returns how many were embedded.
    `embed` gives each batch with its vectors, in any order, and may take several before it gives the first."""
    awaited: set[str] = set()
    before, total = index.count_vectors(), index.count()
    count = ordered = 0
    started = time.monotonic()
    for batch, vectors in embed(_list_batches(index, awaited)):
        index.set_vectors({p.id: v for p, v in zip(batch, vectors, strict=True)})
        awaited.difference_update(p.id for p in batch)
        count += len(batch)
        total = max(total, before + count)  # documents may be added meanwhile
        remaining = describe_remaining(time.monotonic() - started, count, total - before)
        stage = f"{before + count:,} of {total:,} passages have vectors{remaining}"
        on_progress(Progress(before + count, total, stage))
        if count - ordered >= OPTIMIZE_PASSAGES:
            ordered = count
            if not index.is_optimized():
                index.optimize()
    if not index.is_optimized():
        total = index.count()
        on_progress(Progress(total, total, f"{total:,} passages are put in order for the search"))
        index.optimize()
    return count


def _list_batches(index: PassageIndex, awaited: set[str]) -> Batches:
    """Passages without a vector, oldest first, until there are none but those `awaited`, to which each is added."""
    while rows := [p for p in index.list_pending(len(awaited) + READ_PASSAGES) if p.id not in awaited][:READ_PASSAGES]:
        for start in range(0, len(rows), BATCH_PASSAGES):
            batch = rows[start : start + BATCH_PASSAGES]
            awaited.update(p.id for p in batch)
            yield batch
