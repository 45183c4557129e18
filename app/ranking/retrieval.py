"""From a question to candidates: search by words and by vectors, fuse the ranks, open the best documents, and take
their sentences.

When there are more sentences than the limit, better-ranked documents come first, and in each the sentences of passages
that were hit, best first, before the rest. On the starter corpus (265 questions, 100 candidates) this keeps more of the
answering sentences than taking all hit passages first, by document or by rank. So that one long document does not fill
the limit, its sentences beyond `MAX_FIRST_SENTENCES` come after those of the other documents.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.corpora.indexing import index_pending, request_vectors, use_index
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import As2Error, BadSetting, DamagedModel
from as2core.retrieval.index import DamagedIndex, PassageIndex
from as2core.retrieval.passages import PASSAGE_SENTENCES, find_first_sentence
from as2core.retrieval.ranks import fuse_ranks
from as2core.types import Hit, OnProgress
from db.repositories import documents as document_rows
from db.repositories import sentences as sentence_rows

MAX_QUESTION_CHARS = 20_000
MAX_FIRST_SENTENCES = 40
MIN_VECTOR_SHARE = 0.9  # of the passages: with fewer, the nearest is merely one of those that have a vector already
Place = tuple[int, int]  # of a sentence: document id, position


class EmptyQuestion(As2Error):
    """The question has no text."""


class EmptyCorpus(As2Error):
    """The corpus has no documents."""


@dataclass(frozen=True, slots=True)
class RetrievedSentence:
    """A candidate sentence between its neighbours. `retrieval_rank` is its rank in the order of retrieval, from 1.
    `vector_rank` is its passage's rank by vectors among those of the retrieved documents, from 1; None where passages
    have no vectors yet. `document_rank` is its document's rank in the search, from 1; 0 where it was not retrieved.
    `id` is the stored candidate's, None if it was not stored; `label` is what all annotators' labels come to. `heading`
    is that of its section."""

    sentence_id: int
    text: str
    title: str
    document_id: int
    position: int
    before: str
    after: str
    retrieval_rank: int
    vector_rank: int | None = None
    document_rank: int = 0
    id: int | None = None
    label: str | None = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Candidates in document order: documents by rank, sentences by position. `omitted_count`: sentences over the
    limit. `awaits_vectors`: it went by words alone, because too few passages had a vector."""

    candidates: tuple[RetrievedSentence, ...]
    omitted_count: int
    seconds: float
    notes: tuple[str, ...]
    awaits_vectors: bool = False


@dataclass(frozen=True, slots=True)
class MeaningState:
    """How many of the `total` passages have a vector. `needed`: so many that the search uses them."""

    done: int
    total: int

    @property
    def needed(self) -> int:
        return math.ceil(MIN_VECTOR_SHARE * max(1, self.total))

    @property
    def is_used(self) -> bool:
        return self.done >= self.needed

    @property
    def is_complete(self) -> bool:
        return self.done >= self.total


def normalise_question(question: str) -> str:
    """The question as it is stored: one line, no characters a database refuses. Raises EmptyQuestion, BadSetting."""
    text = " ".join(make_storable(question).split())
    check_question(text)
    return text


def check_question(text: str) -> None:
    """Raises EmptyQuestion for a question without a letter or digit, BadSetting for one that is too long."""
    if not text:
        raise EmptyQuestion("the question is empty: type one")
    if not any(c.isalnum() for c in text):
        raise EmptyQuestion(f"“{text[:20]}” has no letter or digit: type a question in words")
    if len(text) > MAX_QUESTION_CHARS:
        raise BadSetting(f"the question has {len(text):,} characters: the limit is {MAX_QUESTION_CHARS:,}")


def measure_meaning(wb: Workbench, corpus_id: int) -> MeaningState:
    """How far the vectors of the corpus are."""
    if not wb.has_index(corpus_id):
        return MeaningState(0, 0)
    try:
        return _measure(wb.index(corpus_id))
    except DamagedIndex:  # the next question builds it anew
        return MeaningState(0, 0)


def _measure(index: PassageIndex) -> MeaningState:
    return MeaningState(index.count_vectors(), index.count())


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
        if not document_rows.has_documents(s, corpus_id):
            raise EmptyCorpus("this corpus has no documents yet: add some on the Data page, or with `as2 ingest`")
    if index_pending(wb, corpus_id, on_progress):  # after an interrupted ingest, or if the index was deleted
        request_vectors(wb, corpus_id)
    started = time.perf_counter()
    result = use_index(wb, corpus_id, lambda index: _search(wb, index, question, documents), on_progress)
    sentences, omitted_count = _load_sentences(
        wb, result.document_ids, result.hits, _rank_sentences(result.nearest), candidates
    )
    return Retrieval(sentences, omitted_count, time.perf_counter() - started, result.notes, not result.is_by_meaning)


@dataclass(frozen=True, slots=True)
class _SearchResult:
    """What the index gives for a question. `nearest`: passages of these documents, by meaning."""

    hits: Sequence[Hit]
    document_ids: Sequence[int]
    nearest: Sequence[Hit]
    notes: tuple[str, ...]
    is_by_meaning: bool


def _search(wb: Workbench, index: PassageIndex, question: str, documents: int) -> _SearchResult:
    k = max(50, 5 * documents)
    is_ready = _measure(index).is_used
    vector, notes = _embed(wb, question) if is_ready else (None, ())
    by_words, by_vector = index.search_words(question, k), [] if vector is None else index.search_vectors(vector, k)
    hits = fuse_ranks([by_words, by_vector], k)
    document_ids = list(dict.fromkeys(int(h.doc_id) for h in hits))[:documents]
    nearest: list[Hit] = []
    if vector is not None and document_ids:
        nearest = index.search_vectors(vector, index.count(), [str(d) for d in document_ids])
    return _SearchResult(hits, document_ids, nearest, tuple(notes), is_ready)


def _load_sentences(
    wb: Workbench, document_ids: Sequence[int], hits: Sequence[Hit], vector_ranks: dict[Place, int], limit: int
) -> tuple[tuple[RetrievedSentence, ...], int]:
    """At most `limit` sentences of the documents, and how many more there are. Texts are read of those and their
    neighbours only: documents may be long."""
    with wb.read() as s:
        places = sentence_rows.list_places(s, document_ids)
        ranks = choose_sentences(places, hits, document_ids, limit)
        ids: dict[Place, int] = {(x.document_id, x.position): x.id for x in places}
        document_ranks = {d: rank for rank, d in enumerate(document_ids)}
        picks = sorted(
            (document_ranks[x.document_id], x.position, x.id, x.document_id) for x in places if x.id in ranks
        )
        around = {(d, at) for _, position, _, d in picks for at in (position - 1, position, position + 1)}
        texts = sentence_rows.load_texts(s, sorted(ids[place] for place in around if place in ids))
        titles = document_rows.load_titles(s, document_ids)
        headings = sentence_rows.load_headings(s, sorted(ranks))

    def text_at(document_id: int, position: int) -> str:
        return texts.get(ids.get((document_id, position), 0), "")

    result = tuple(
        RetrievedSentence(
            sentence_id,
            texts[sentence_id],
            titles.get(d, ""),
            d,
            position,
            before=text_at(d, position - 1),
            after=text_at(d, position + 1),
            retrieval_rank=ranks[sentence_id],
            vector_rank=vector_ranks.get((d, position)),
            document_rank=1 + document_rank,
            heading=headings.get(sentence_id, ""),
        )
        for document_rank, position, sentence_id, d in picks
        if sentence_id in texts  # it may have left its document at this moment
    )
    return result, len(places) - len(result)


class PlacedSentence(Protocol):
    """A sentence's row, or some of its columns."""

    @property
    def id(self) -> int: ...
    @property
    def document_id(self) -> int: ...
    @property
    def position(self) -> int: ...


def choose_sentences(
    sentences: Sequence[PlacedSentence], hits: Sequence[Hit], document_ids: Sequence[int], limit: int
) -> dict[int, int]:
    """Which sentences are ranked when `limit` are allowed: sentence id -> rank in the order of retrieval, from 1."""
    hit_ranks = _rank_sentences(hits)
    by_document: dict[int, list[PlacedSentence]] = {d: [] for d in document_ids}
    for x in sentences:
        by_document[x.document_id].append(x)

    def key(x: PlacedSentence) -> tuple[float, int]:
        return hit_ranks.get((x.document_id, x.position), float("inf")), x.position

    first: list[int] = []
    after_all: list[int] = []
    for those in by_document.values():
        best_first = [x.id for x in sorted(those, key=key)]
        first += best_first[:MAX_FIRST_SENTENCES]
        after_all += best_first[MAX_FIRST_SENTENCES:]
    return {sentence_id: rank for rank, sentence_id in enumerate((first + after_all)[:limit], 1)}


def _rank_sentences(hits: Sequence[Hit]) -> dict[Place, int]:
    """Every sentence in these passages -> the rank of the best passage that has it."""
    ranks: dict[Place, int] = {}
    for hit in hits:
        first = find_first_sentence(hit.passage_id)
        for position in range(first, first + PASSAGE_SENTENCES):
            ranks.setdefault((int(hit.doc_id), position), hit.rank)
    return ranks


def _embed(wb: Workbench, question: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The question's vector, None where its model is damaged; and notes for the reader."""
    try:
        return wb.models.embedder().embed_question(question), ()
    except DamagedModel as e:
        return None, (f"Search by meaning is off ({e}); these candidates were found by words alone.",)
