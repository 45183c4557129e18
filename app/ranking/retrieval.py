"""From a question to candidates: search by words and by vectors, fuse the ranks, open the best documents, and take
their sentences.

When there are more sentences than the limit, better-ranked documents come first, and in each the sentences of passages
that were hit, best first, before the rest. On the starter corpus (265 questions, 100 candidates) this keeps more of the
answering sentences than taking all hit passages first, by document or by rank. So that one long document does not fill
the limit, its sentences beyond `MAX_TURN_SENTENCES` come after those of the other documents.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from app.corpora.indexing import index_pending, request_vectors
from app.workbench.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting, DamagedModel
from as2core.retrieval.ranks import fuse_ranks
from as2core.retrieval.sqlite import SqliteIndex
from as2core.types import Hit, OnProgress
from db.models import Document, Sentence
from db.repositories import corpora as rows

MAX_QUESTION_CHARS = 20_000
MAX_TURN_SENTENCES = 40
MIN_VECTOR_SHARE = 0.9  # of the passages: with fewer, the nearest is merely one of those that have a vector already
PASSAGE_SENTENCES = 5  # as `as2core.retrieval.passages` makes them
Place = tuple[int, int]  # of a sentence: document id, position


class EmptyQuestion(As2Error):
    """The question has no text."""


class EmptyCorpus(As2Error):
    """The corpus has no documents."""


@dataclass(frozen=True, slots=True)
class RetrievedSentence:
    """A candidate sentence between its neighbours. `retrieval_rank` is its rank in the order of retrieval, from 1.
    `vector_rank` is its passage's rank by vectors among those of the retrieved documents, from 1; None where passages
    have no vectors yet. `id` is the stored candidate's, None if it was not stored; `label` is what all annotators'
    labels come to."""

    sentence_id: int
    text: str
    title: str
    document_id: int
    position: int
    before: str
    after: str
    retrieval_rank: int
    vector_rank: int | None = None
    id: int | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Candidates in document order: documents by rank, sentences by position. `left_out`: sentences over the limit."""

    candidates: tuple[RetrievedSentence, ...]
    left_out: int
    seconds: float
    notes: tuple[str, ...]


def normalise_question(question: str) -> str:
    """The question as it is stored: one line, no characters a database refuses. Raises EmptyQuestion, BadSetting."""
    text = " ".join(storable(question).split())
    if not text:
        raise EmptyQuestion("the question is empty: type one")
    if len(text) > MAX_QUESTION_CHARS:
        raise BadSetting(f"the question has {len(text):,} characters: the limit is {MAX_QUESTION_CHARS:,}")
    return text


def retrieve(
    wb: Workbench,
    corpus_id: int,
    question: str,
    *,
    documents: int,
    candidates: int,
    on_progress: OnProgress | None = None,
) -> Retrieval:
    """Raises EmptyCorpus, BadSetting."""
    if documents < 1 or candidates < 1:
        raise BadSetting(f"documents={documents}, candidates={candidates}: each must be at least 1")
    with wb.read() as s:
        if not rows.has_documents(s, corpus_id):
            raise EmptyCorpus("this corpus has no documents yet: add some on the Data page, or with `as2 ingest`")
    if index_pending(wb, corpus_id, on_progress):  # after an interrupted ingest, or if the index was deleted
        request_vectors(wb, corpus_id)
    started, index, k = time.perf_counter(), wb.index(corpus_id), max(50, 5 * documents)
    vector, notes = _embed(wb, index, question)
    by_words, by_vector = index.search_words(question, k), [] if vector is None else index.search_vectors(vector, k)
    hits = fuse_ranks([by_words, by_vector], k)
    document_ids = list(dict.fromkeys(int(h.doc_id) for h in hits))[:documents]
    nearest = []  # passages of these documents
    if vector is not None and document_ids:
        nearest = index.search_vectors(vector, index.count(), [str(d) for d in document_ids])
    found, left_out = _load_sentences(wb, document_ids, hits, _rank_sentences(nearest), candidates)
    return Retrieval(found, left_out, time.perf_counter() - started, notes)


def _load_sentences(
    wb: Workbench, document_ids: Sequence[int], hits: Sequence[Hit], vector_ranks: dict[Place, int], limit: int
) -> tuple[tuple[RetrievedSentence, ...], int]:
    """At most `limit` sentences of the documents, and how many more there are."""
    with wb.read() as s:
        sentences = rows.list_sentences(s, document_ids)
        titles = {d: row.title for d in document_ids if (row := s.get(Document, d)) is not None}
    ranks = choose_sentences(sentences, hits, document_ids, limit)
    turns = {d: turn for turn, d in enumerate(document_ids)}
    texts = {(x.document_id, x.position): x.text for x in sentences}
    result = tuple(
        RetrievedSentence(
            x.id,
            x.text,
            titles.get(x.document_id, ""),
            x.document_id,
            x.position,
            before=texts.get((x.document_id, x.position - 1), ""),
            after=texts.get((x.document_id, x.position + 1), ""),
            retrieval_rank=ranks[x.id],
            vector_rank=vector_ranks.get((x.document_id, x.position)),
        )
        for x in sorted(sentences, key=lambda x: (turns[x.document_id], x.position))
        if x.id in ranks
    )
    return result, len(sentences) - len(result)


def choose_sentences(
    sentences: Sequence[Sentence], hits: Sequence[Hit], document_ids: Sequence[int], limit: int
) -> dict[int, int]:
    """Which sentences are ranked when `limit` are allowed: sentence id -> rank in the order of retrieval, from 1."""
    turns = {d: turn for turn, d in enumerate(document_ids)}
    hit_ranks = _rank_sentences(hits)

    def key(x: Sentence) -> tuple[int, float, int]:
        return turns[x.document_id], hit_ranks.get((x.document_id, x.position), float("inf")), x.position

    counts: Counter[int] = Counter()
    ordered: tuple[list[int], list[int]] = [], []  # in their document's turn, and after all turns
    for x in sorted(sentences, key=key):
        counts[x.document_id] += 1
        ordered[counts[x.document_id] > MAX_TURN_SENTENCES].append(x.id)
    return {sentence_id: rank for rank, sentence_id in enumerate(islice(chain(*ordered), limit), 1)}


def _rank_sentences(hits: Sequence[Hit]) -> dict[Place, int]:
    """Every sentence in these passages -> the rank of the best passage that has it."""
    ranks: dict[Place, int] = {}
    for hit in hits:
        first = int(hit.passage_id.rsplit(":", 2)[1])
        for position in range(first, first + PASSAGE_SENTENCES):
            ranks.setdefault((int(hit.doc_id), position), hit.rank)
    return ranks


def _embed(wb: Workbench, index: SqliteIndex, question: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The question's vector, None where too few passages have one; and notes for the reader."""
    if index.count_vectors() < MIN_VECTOR_SHARE * max(1, index.count()):
        return None, ()
    try:
        return wb.models.embedder().embed([question])[0], ()
    except DamagedModel as e:
        return None, (f"Semantic search is off ({e}); these candidates were found by words alone.",)
