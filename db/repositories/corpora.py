"""Corpora, their documents and their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, Row, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from as2core.types import Document as Content
from as2core.types import Sentence as Piece
from db.models import Candidate, Corpus, Document, LabelEvent, Question, Sentence, current_label, text_key

MAX_IDS_PER_STATEMENT = 10_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    sentences: int
    questions: int
    labels: int


def add_corpus(session: Session, name: str, now: datetime) -> Corpus:
    corpus = Corpus(name=name, created=now)
    session.add(corpus)
    session.flush()
    return corpus


def lock_corpus(session: Session, corpus_id: int) -> bool:
    """Lock the corpus for this transaction, so that two writers take turns; False if there is none."""
    return session.scalar(select(Corpus.id).where(Corpus.id == corpus_id).with_for_update()) is not None


def list_corpora(session: Session) -> list[Corpus]:
    """In the order they were created."""
    return list(session.scalars(select(Corpus).order_by(Corpus.id)))


def find_corpus(session: Session, name: str) -> Corpus | None:
    return session.scalar(select(Corpus).where(Corpus.name == name))


def remove_corpus(session: Session, corpus_id: int) -> None:
    """With everything in it, label events too: nothing else deletes those."""
    session.execute(delete(Corpus).where(Corpus.id == corpus_id))


def count_contents(session: Session, corpus_id: int) -> Counts:
    """`labels` are pairs of question and sentence that anyone labels at present."""
    documents, sentences = session.execute(
        select(func.count(), func.coalesce(func.sum(Document.sentences), 0)).where(_is_present(corpus_id))
    ).one()
    questions = select(func.count()).where(Question.corpus_id == corpus_id)
    pairs = (
        select(current_label.c.question_id, current_label.c.sentence_id)
        .join(Question, Question.id == current_label.c.question_id)
        .where(Question.corpus_id == corpus_id)
        .distinct()
    )
    labels = select(func.count()).select_from(pairs.subquery())
    return Counts(documents, int(sentences), session.scalar(questions) or 0, session.scalar(labels) or 0)


def has_documents(session: Session, corpus_id: int) -> bool:
    return bool(session.scalar(select(select(Document.id).where(_is_present(corpus_id)).exists())))


def _is_present(corpus_id: int) -> ColumnElement[bool]:
    """A deleted document keeps a row without sentences: if it is added again, it finds its labels by it."""
    return and_(Document.corpus_id == corpus_id, Document.sentences > 0)


def find_documents_by_name(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, Row]:
    """External id -> row (id, external_id, digest, source), of those that are stored."""
    columns = (Document.id, Document.external_id, Document.digest, Document.source)
    named = select(*columns).where(Document.corpus_id == corpus_id, Document.external_id.in_(external_ids))
    return {r.external_id: r for r in session.execute(named)}


def add_documents(
    session: Session, corpus_id: int, contents: Sequence[tuple[Content, str]], now: datetime
) -> dict[str, int]:
    """Store new (document, digest) pairs; returns external id -> id. `fill_documents` adds their sentences."""
    if not contents:
        return {}
    values = [
        {
            "corpus_id": corpus_id,
            "external_id": d.id,
            "title": d.title,
            "source": d.source,
            "text": d.text,
            "digest": digest,
            "sentences": 0,
            "indexed": False,
            "updated": now,
        }
        for d, digest in contents
    ]
    rows = session.execute(insert(Document).returning(Document.external_id, Document.id), values)
    return {r.external_id: r.id for r in rows}


def fill_documents(session: Session, corpus_id: int, filled: Sequence[tuple[int, str, Sequence[Piece]]]) -> None:
    """Add the sentences of new documents: (id, external id, sentences)."""
    _add_sentences(
        session,
        [
            _sentence_values(corpus_id, document_id, f"{external_id}-{i}", i, s)
            for document_id, external_id, pieces in filled
            for i, s in enumerate(pieces)
        ],
    )
    sizes = [{"id": document_id, "sentences": len(pieces)} for document_id, _, pieces in filled]
    if sizes:
        session.execute(update(Document), sizes)


def _add_sentences(session: Session, values: list[dict[str, object]]) -> None:
    if values:
        session.execute(insert(Sentence), values)


def _sentence_values(
    corpus_id: int, document_id: int, external_id: str, position: int, piece: Piece
) -> dict[str, object]:
    stored_as = {"corpus_id": corpus_id, "document_id": document_id, "external_id": external_id, "position": position}
    return {**stored_as, **asdict(piece), "text_key": text_key(piece.text), "retired": False}


def replace_document(
    session: Session, document: Document, content: Content, digest: str, pieces: Sequence[Piece], now: datetime
) -> None:
    """Store new content of a document. A sentence whose text is still there keeps its row, and so its labels; one that
    vanished is deleted, or retired if it has labels; a retired one whose text is there again is in use again."""
    stored = list(
        session.scalars(
            select(Sentence).where(Sentence.document_id == document.id).order_by(Sentence.retired, Sentence.position)
        )
    )
    unused: dict[str, list[Sentence]] = {}
    for row in reversed(stored):  # so that pop() gives those in use first, in their order
        unused.setdefault(row.text, []).append(row)
    names, number = {row.external_id for row in stored}, len(pieces)
    new: list[dict[str, object]] = []
    for position, piece in enumerate(pieces):
        if rows := unused.get(piece.text):
            row = rows.pop()
            row.position, row.paragraph, row.retired = position, piece.paragraph, False
            row.start, row.end = piece.start, piece.end
            continue
        name = f"{content.id}-{position}"
        while name in names:
            name, number = f"{content.id}-{number}", number + 1
        names.add(name)
        new.append(_sentence_values(document.corpus_id, document.id, name, position, piece))
    _retire_or_delete(session, {row.id: row for rows in unused.values() for row in rows if not row.retired})
    _add_sentences(session, new)
    document.title, document.source, document.text = content.title, content.source, content.text
    document.digest, document.sentences, document.indexed, document.updated = digest, len(pieces), False, now


def _retire_or_delete(session: Session, sentences: Mapping[int, Sentence]) -> None:
    """Sentences with labels are retired, the others deleted. `sentences` by id."""
    for ids in _batches(sorted(sentences)):
        locked = select(Sentence.id).where(Sentence.id.in_(ids)).order_by(Sentence.id).with_for_update()
        session.execute(locked).all()  # or a label given between the two next statements would go with its sentence
        events = select(LabelEvent.sentence_id).where(LabelEvent.sentence_id.in_(ids))
        labelled = set(session.scalars(events.distinct()))
        for i in labelled:
            sentences[i].retired = True
        session.flush()
        session.execute(delete(Sentence).where(Sentence.id.in_([i for i in ids if i not in labelled])))


def withdraw_document(session: Session, document: Document, now: datetime) -> None:
    """Empty a document: its row keeps the name and the title, and its labelled sentences, which are retired."""
    empty = Content(document.external_id, document.title, "", document.source)
    replace_document(session, document, empty, "", (), now)


def get_document(session: Session, document_id: int) -> Document | None:
    return session.get(Document, document_id)


def find_documents(session: Session, corpus_id: int, search: str, limit: int) -> list[Row]:
    """Rows (id, external_id, title, source, sentences), those whose title or name contains `search`, in order."""
    where: list[ColumnElement[bool]] = [_is_present(corpus_id)]
    if search:
        names = (Document.title, Document.external_id)
        where.append(or_(*(name.icontains(search, autoescape=True) for name in names)))
    columns = (Document.id, Document.external_id, Document.title, Document.source, Document.sentences)
    return list(session.execute(select(*columns).where(*where).order_by(Document.id).limit(limit)))


def list_sentences(session: Session, document_ids: Sequence[int]) -> list[Sentence]:
    """Those in use, by document id, then in their order."""
    in_use = select(Sentence).where(Sentence.retired.is_(False)).order_by(Sentence.document_id, Sentence.position)
    batches = _batches(sorted(document_ids))
    return [row for ids in batches for row in session.scalars(in_use.where(Sentence.document_id.in_(ids)))]


def get_sentence(session: Session, sentence_id: int) -> Sentence | None:
    return session.get(Sentence, sentence_id)


def lock_sentences(session: Session, sentence_ids: Sequence[int]) -> set[int]:
    """Ids of those that still exist; none of them can be deleted until this transaction ends."""
    existing = select(Sentence.id).where(Sentence.id.in_(sentence_ids)).order_by(Sentence.id)
    return set(session.scalars(existing.with_for_update(read=True, key_share=True)))


def find_neighbours(session: Session, document_id: int, position: int) -> tuple[str, str]:
    """The text before and after a sentence, by its place in its document."""
    rows = session.execute(
        select(Sentence.position, Sentence.text)
        .where(
            Sentence.document_id == document_id,
            Sentence.retired.is_(False),
            Sentence.position.between(position - 1, position + 1),
        )
        .order_by(Sentence.position)
    ).all()
    before = " ".join(r.text for r in rows if r.position < position)
    return before, " ".join(r.text for r in rows if r.position > position)


def list_unindexed(session: Session, corpus_id: int, limit: int) -> list[Row]:
    """Rows (id, title, digest) of documents whose present content is not in the index."""
    columns = select(Document.id, Document.title, Document.digest).where(_is_unindexed(corpus_id))
    return list(session.execute(columns.order_by(Document.id).limit(limit)))


def count_unindexed(session: Session, corpus_id: int) -> int:
    return session.scalar(select(func.count()).where(_is_unindexed(corpus_id))) or 0


def _is_unindexed(corpus_id: int) -> ColumnElement[bool]:
    return and_(Document.corpus_id == corpus_id, Document.indexed.is_(False))


def mark_indexed(session: Session, documents: Sequence[tuple[int, str]]) -> None:
    """`documents`: (id, digest) as indexed; a document changed since then stays unindexed."""
    if documents:
        session.connection().execute(
            update(Document)
            .where(Document.id == bindparam("document_id"), Document.digest == bindparam("indexed_digest"))
            .values(indexed=True),
            [{"document_id": i, "indexed_digest": digest} for i, digest in documents],
        )


def mark_all_unindexed(session: Session, corpus_id: int) -> None:
    session.execute(update(Document).where(Document.corpus_id == corpus_id).values(indexed=False))


def find_sentences(session: Session, corpus_id: int, external_ids: Sequence[str]) -> list[Sentence]:
    """By external id, retired ones too."""
    sentences = select(Sentence).where(Sentence.corpus_id == corpus_id)
    batches = _batches(external_ids)
    return [row for ids in batches for row in session.scalars(sentences.where(Sentence.external_id.in_(ids)))]


def find_sentences_by_text(session: Session, corpus_id: int, texts: Sequence[str]) -> list[Sentence]:
    """By text, white space aside; of equal texts those in use first."""
    sentences = select(Sentence).where(Sentence.corpus_id == corpus_id).order_by(Sentence.retired, Sentence.id)
    batches = _batches(list(dict.fromkeys(text_key(t) for t in texts)))
    return [row for keys in batches for row in session.scalars(sentences.where(Sentence.text_key.in_(keys)))]


def list_candidate_sentences(session: Session, question_ids: Sequence[int]) -> list[Row]:
    """Rows (question_id, imported_id, Sentence) of their candidates, in the order they were stored; `imported_id` is
    the id a candidate was imported under, None if it was not imported."""
    candidates = (
        select(Candidate.question_id, Candidate.external_id.label("imported_id"), Sentence)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
        .order_by(Candidate.id)
    )
    batches = _batches(question_ids)
    return [row for ids in batches for row in session.execute(candidates.where(Candidate.question_id.in_(ids)))]


def _batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """SQLite takes 32,766 parameters in a statement, PostgreSQL 65,535."""
    return (values[i : i + MAX_IDS_PER_STATEMENT] for i in range(0, len(values), MAX_IDS_PER_STATEMENT))
