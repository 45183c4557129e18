"""From a question to candidates: search by words and by meaning, fuse the ranks, open the best documents, and take
their sentences.

When there are more sentences than may be looked at, better-ranked documents go first, and in each the passages that
were hit, best first, before the rest. On the starter corpus (265 questions, 100 candidates) this keeps more of the
answering sentences than taking all hit passages first, by document or by rank. So that one long document cannot take
all the room, what it has beyond `AT_ONCE` sentences waits until the others had their turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.services.indexing import index_pending, request_vectors
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting, DamagedModel
from as2core.types import Hit, OnProgress
from db.models import Document
from db.repositories import corpora as rows

MAX_QUESTION = 20_000  # characters
AT_ONCE = 40  # sentences
ENOUGH = 0.9  # of the passages have a vector: among fewer, the nearest is whoever got one first
PASSAGE = 5  # sentences, as `as2core.retrieval.passages` makes them


class EmptyQuestion(As2Error):
    """There is nothing to look for."""


class EmptyCorpus(As2Error):
    """There is nothing to look in."""


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence up for ranking, its neighbours, and its place in the order of retrieval, from 1. `near`: its passage's
    place by meaning among those of the same documents, from 1; None where passages have no vectors yet."""

    sentence_id: int
    text: str
    title: str
    document_id: int
    position: int
    before: str
    after: str
    retrieval_rank: int
    near: int | None = None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Candidates in document order: documents by rank, sentences by place. `left_out` sentences found no room."""

    candidates: tuple[Found, ...]
    left_out: int
    seconds: float
    notes: tuple[str, ...]


class _Placed(Protocol):
    id: int
    document_id: int
    position: int


def checked(question: str) -> str:
    """The question as it is stored: one line, without characters no database takes. Raises As2Error."""
    text = " ".join(storable(question).split())
    if not text:
        raise EmptyQuestion("the question is empty: type one")
    if len(text) > MAX_QUESTION:
        raise BadSetting(f"the question has {len(text):,} characters: keep it under {MAX_QUESTION:,}")
    return text


def retrieve(
    wb: Workbench,
    corpus_id: int,
    question: str,
    *,
    documents: int,
    candidates: int,
    on_progress: OnProgress | None = None,
) -> Retrieved:
    """Raises EmptyCorpus, BadSetting."""
    if documents < 1 or candidates < 1:
        raise BadSetting(f"documents={documents}, candidates={candidates}: each must be at least 1")
    with wb.read() as s:
        if not rows.has_documents(s, corpus_id):
            raise EmptyCorpus("this corpus has no documents yet: add some on the Data page, or with `as2 ingest`")
    if index_pending(wb, corpus_id, on_progress):  # what a broken-off ingest stored, or an index that was deleted
        request_vectors(wb, corpus_id)
    started = time.perf_counter()
    vector, notes = _vector(wb, corpus_id, question)
    hits = _search(wb, corpus_id, question, vector, k=max(50, 5 * documents))
    best = list(dict.fromkeys(int(h.doc_id) for h in hits))[:documents]
    with wb.read() as s:
        sentences = rows.sentences_of(s, best)
        titles = {d: t.title for d in best if (t := s.get(Document, d)) is not None}
    chosen = choose(sentences, hits, best, candidates)
    near = _near(wb, corpus_id, vector, best)
    place = {d: i for i, d in enumerate(best)}
    beside = {(x.document_id, x.position): x.text for x in sentences}
    found = [
        Found(
            x.id,
            x.text,
            titles.get(x.document_id, ""),
            x.document_id,
            x.position,
            beside.get((x.document_id, x.position - 1), ""),
            beside.get((x.document_id, x.position + 1), ""),
            chosen[x.id],
            near.get((x.document_id, x.position)),
        )
        for x in sorted(sentences, key=lambda x: (place[x.document_id], x.position))
        if x.id in chosen
    ]
    return Retrieved(tuple(found), len(sentences) - len(found), time.perf_counter() - started, notes)


def choose(sentences: Sequence[_Placed], hits: Sequence[Hit], documents: Sequence[int], limit: int) -> dict[int, int]:
    """Which sentences are ranked when `limit` are allowed: sentence id -> place in the order of retrieval, from 1."""
    turn = {d: i for i, d in enumerate(documents)}
    hit_at = _covered(hits)

    def within(x: _Placed) -> tuple[int, int, int]:
        rank = hit_at.get((x.document_id, x.position))
        return (1, 0, x.position) if rank is None else (0, rank, x.position)

    given: dict[int, int] = {}
    ordered = []
    for x in sorted(sentences, key=lambda x: (turn[x.document_id], *within(x))):
        given[x.document_id] = given.get(x.document_id, 0) + 1
        ordered.append((given[x.document_id] > AT_ONCE, x.id))
    ordered.sort(key=lambda pair: pair[0])
    return {sentence_id: place for place, (_, sentence_id) in enumerate(ordered[:limit], 1)}


def _covered(hits: Sequence[Hit]) -> dict[tuple[int, int], int]:
    """The sentences in these passages, as (document, position), with the rank of the best passage each stands in."""
    at: dict[tuple[int, int], int] = {}
    for hit in hits:
        first = int(hit.passage_id.rsplit(":", 2)[1])
        for position in range(first, first + PASSAGE):
            at.setdefault((int(hit.doc_id), position), hit.rank)
    return at


def _vector(wb: Workbench, corpus_id: int, question: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The question's vector, None without enough to compare it with; and what the reader should know of that."""
    index = wb.index(corpus_id)
    if index.vectors() < ENOUGH * max(1, index.count()):
        return None, ()
    try:
        return wb.models.embedder().embed([question])[0], ()
    except DamagedModel as e:
        return None, (f"Search by meaning is off ({e}); these candidates were found by words alone.",)


def _search(wb: Workbench, corpus_id: int, question: str, vector: np.ndarray | None, k: int) -> list[Hit]:
    from as2core.retrieval.base import rrf

    index = wb.index(corpus_id)
    lists = [index.lexical(question, k)]
    if vector is not None:
        lists.append(index.dense(vector, k))
    return rrf(lists, k)


def _near(
    wb: Workbench, corpus_id: int, vector: np.ndarray | None, documents: Sequence[int]
) -> dict[tuple[int, int], int]:
    """Every sentence's place by meaning among these documents', as its passage has it."""
    if vector is None or not documents:
        return {}
    index = wb.index(corpus_id)
    return _covered(index.dense(vector, index.count(), [str(d) for d in documents]))
