"""Corpora, their documents and their sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from as2core.types import Document as Content
from as2core.types import Sentence as Piece
from db.models import Candidate, Corpus, Document, LabelEvent, Question, Sentence, current_label, text_key

MOST_NAMED = 10_000  # in one statement


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
    """Hold the corpus for this transaction, so that two writers take turns; False if it is not there."""
    return session.scalar(select(Corpus.id).where(Corpus.id == corpus_id).with_for_update()) is not None


def corpora(session: Session) -> list[Corpus]:
    """In the order they were made."""
    return list(session.scalars(select(Corpus).order_by(Corpus.id)))


def corpus_named(session: Session, name: str) -> Corpus | None:
    return session.scalar(select(Corpus).where(Corpus.name == name))


def remove_corpus(session: Session, corpus_id: int) -> None:
    """With everything in it. Label events go too: the one way they ever do."""
    session.execute(delete(Corpus).where(Corpus.id == corpus_id))


def counts(session: Session, corpus_id: int) -> Counts:
    """`labels` are pairs of question and sentence that anyone labels at present."""
    documents, sentences = session.execute(
        select(func.count(), func.coalesce(func.sum(Document.sentences), 0)).where(_is_there(corpus_id))
    ).one()
    questions = session.scalar(select(func.count()).where(Question.corpus_id == corpus_id))
    pairs = (
        select(current_label.c.question_id, current_label.c.sentence_id)
        .join(Question, Question.id == current_label.c.question_id)
        .where(Question.corpus_id == corpus_id)
        .distinct()
        .subquery()
    )
    return Counts(
        documents, int(sentences), questions or 0, session.scalar(select(func.count()).select_from(pairs)) or 0
    )


def has_documents(session: Session, corpus_id: int) -> bool:
    return bool(session.scalar(select(select(Document.id).where(_is_there(corpus_id)).exists())))


def _is_there(corpus_id: int) -> ColumnElement[bool]:
    """Of a document that was taken out a row without sentences stays: if it comes again, it finds its labels by it."""
    return and_(Document.corpus_id == corpus_id, Document.sentences > 0)


def digests(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Of those that are stored: external id -> (id, digest of the content)."""
    rows = session.execute(
        select(Document.external_id, Document.id, Document.digest).where(
            Document.corpus_id == corpus_id, Document.external_id.in_(external_ids)
        )
    )
    return {r.external_id: (r.id, r.digest) for r in rows}


def sources(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, str]:
    """Of those that are stored: external id -> the file it came from."""
    rows = session.execute(
        select(Document.external_id, Document.source).where(
            Document.corpus_id == corpus_id, Document.external_id.in_(external_ids)
        )
    )
    return {r.external_id: r.source for r in rows}


def add_documents(
    session: Session, corpus_id: int, contents: Sequence[tuple[Content, str]], now: datetime
) -> dict[str, int]:
    """Store (document, digest) pairs that are new; returns external id -> id. Sentences come by `add_sentences`."""
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


def add_sentences(session: Session, corpus_id: int, document_id: int, rows: Iterable[tuple[str, int, Piece]]) -> None:
    """Store (external id, position, sentence)."""
    values = [_sentence(corpus_id, document_id, name, position, s) for name, position, s in rows]
    if values:
        session.execute(insert(Sentence), values)


def fill_documents(session: Session, corpus_id: int, filled: Sequence[tuple[int, str, Sequence[Piece]]]) -> None:
    """Give new documents (id, external id, sentences) their sentences in bulk."""
    values = [
        _sentence(corpus_id, document_id, f"{external_id}-{i}", i, s)
        for document_id, external_id, pieces in filled
        for i, s in enumerate(pieces)
    ]
    if values:
        session.execute(insert(Sentence), values)
    sizes = [{"id": document_id, "sentences": len(pieces)} for document_id, _, pieces in filled]
    if sizes:
        session.execute(update(Document), sizes)


def _sentence(corpus_id: int, document_id: int, external_id: str, position: int, s: Piece) -> dict:
    return {
        "corpus_id": corpus_id,
        "document_id": document_id,
        "external_id": external_id,
        "position": position,
        "paragraph": s.paragraph,
        "start": s.start,
        "end": s.end,
        "text": s.text,
        "text_key": text_key(s.text),
        "retired": False,
    }


def replace_document(
    session: Session,
    corpus_id: int,
    document_id: int,
    content: Content,
    digest: str,
    pieces: Sequence[Piece],
    now: datetime,
) -> None:
    """New content for a document. A sentence whose text is still there keeps its row, and so its labels; one that
    vanished is deleted, or retired if someone labelled it; a retired one whose text is back comes back."""
    old = list(
        session.scalars(
            select(Sentence).where(Sentence.document_id == document_id).order_by(Sentence.retired, Sentence.position)
        )
    )
    waiting: dict[str, list[Sentence]] = {}
    for row in reversed(old):  # so that pop() gives those in use first, in their order
        waiting.setdefault(row.text, []).append(row)
    taken, number = {row.external_id for row in old}, len(pieces)
    fresh: list[tuple[str, int, Piece]] = []
    for position, piece in enumerate(pieces):
        if rows := waiting.get(piece.text):
            row = rows.pop()
            row.position, row.paragraph, row.retired = position, piece.paragraph, False
            row.start, row.end = piece.start, piece.end
            continue
        name = f"{content.id}-{position}"
        while name in taken:
            name, number = f"{content.id}-{number}", number + 1
        taken.add(name)
        fresh.append((name, position, piece))
    gone = {row.id: row for rows in waiting.values() for row in rows if not row.retired}
    for ids in _parts(sorted(gone)):
        held = select(Sentence.id).where(Sentence.id.in_(ids)).order_by(Sentence.id).with_for_update()
        session.execute(held).all()  # or a label that comes after the next look would go with its sentence
        events = select(LabelEvent.sentence_id).where(LabelEvent.sentence_id.in_(ids))
        labelled = set(session.scalars(events.distinct()))
        for i in labelled:
            gone[i].retired = True
        session.flush()
        session.execute(delete(Sentence).where(Sentence.id.in_([i for i in ids if i not in labelled])))
    add_sentences(session, corpus_id, document_id, fresh)
    session.execute(
        update(Document)
        .where(Document.id == document_id)
        .values(
            title=content.title,
            source=content.source,
            text=content.text,
            digest=digest,
            sentences=len(pieces),
            indexed=False,
            updated=now,
        )
    )


def take_out(session: Session, document: Document, now: datetime) -> None:
    """Leave nothing of a document but the sentences that are labelled, retired, and what it was called."""
    nothing = Content(document.external_id, document.title, "", document.source)
    replace_document(session, document.corpus_id, document.id, nothing, "", (), now)


def document(session: Session, document_id: int) -> Document | None:
    return session.get(Document, document_id)


def find_documents(session: Session, corpus_id: int, search: str, limit: int) -> list[Row]:
    """Rows (id, external_id, title, source, sentences), those whose title or name contains `search`, in order."""
    where: list[ColumnElement[bool]] = [_is_there(corpus_id)]
    if search:
        where.append(
            or_(
                Document.title.icontains(search, autoescape=True),
                Document.external_id.icontains(search, autoescape=True),
            )
        )
    columns = (Document.id, Document.external_id, Document.title, Document.source, Document.sentences)
    return list(session.execute(select(*columns).where(*where).order_by(Document.id).limit(limit)))


def sentences_of(session: Session, document_ids: Sequence[int]) -> list[Sentence]:
    """Those in use, by document id, then in their order."""
    of = select(Sentence).where(Sentence.retired.is_(False)).order_by(Sentence.document_id, Sentence.position)
    parts = _parts(sorted(document_ids))
    return [row for ids in parts for row in session.scalars(of.where(Sentence.document_id.in_(ids)))]


def sentence(session: Session, sentence_id: int) -> Sentence | None:
    return session.get(Sentence, sentence_id)


def hold_sentences(session: Session, sentence_ids: Sequence[int]) -> set[int]:
    """Those that are still there; they stay until this transaction ends."""
    held = select(Sentence.id).where(Sentence.id.in_(sentence_ids)).order_by(Sentence.id)
    return set(session.scalars(held.with_for_update(read=True, key_share=True)))


def neighbours(session: Session, document_id: int, position: int) -> tuple[str, str]:
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


def unindexed(session: Session, corpus_id: int, limit: int) -> list[Row]:
    """Rows (id, title, digest) of documents the index does not have as they are now."""
    return list(
        session.execute(
            select(Document.id, Document.title, Document.digest)
            .where(Document.corpus_id == corpus_id, Document.indexed.is_(False))
            .order_by(Document.id)
            .limit(limit)
        )
    )


def unindexed_count(session: Session, corpus_id: int) -> int:
    where = (Document.corpus_id == corpus_id, Document.indexed.is_(False))
    return session.scalar(select(func.count()).where(*where)) or 0


def mark_indexed(session: Session, documents: Sequence[tuple[int, str]]) -> None:
    """(id, digest) of what the index took in; a document changed since then stays marked as not indexed."""
    table = Document.__table__
    if documents:
        session.connection().execute(
            update(table)
            .where(table.c.id == bindparam("of"), table.c.digest == bindparam("taken"))
            .values(indexed=True),
            [{"of": i, "taken": digest} for i, digest in documents],
        )


def forget_index(session: Session, corpus_id: int) -> None:
    """Every document is to be indexed anew."""
    session.execute(update(Document).where(Document.corpus_id == corpus_id).values(indexed=False))


def sentences_named(session: Session, corpus_id: int, external_ids: Sequence[str]) -> list[Sentence]:
    """By external id, retired ones too."""
    of = select(Sentence).where(Sentence.corpus_id == corpus_id)
    return [row for ids in _parts(external_ids) for row in session.scalars(of.where(Sentence.external_id.in_(ids)))]


def sentences_reading(session: Session, corpus_id: int, texts: Sequence[str]) -> list[Sentence]:
    """By text, white space aside; of those that read the same, the ones in use first."""
    of = select(Sentence).where(Sentence.corpus_id == corpus_id).order_by(Sentence.retired, Sentence.id)
    parts = _parts(list(dict.fromkeys(text_key(t) for t in texts)))
    return [row for keys in parts for row in session.scalars(of.where(Sentence.text_key.in_(keys)))]


def candidates_of(session: Session, question_ids: Sequence[int]) -> list[Row]:
    """Rows (question_id, given, Sentence) of their candidates, in the order they came; `given` is the id a candidate
    was imported under, None where it was not."""
    found = (
        select(Candidate.question_id, Candidate.external_id.label("given"), Sentence)
        .join(Sentence, Sentence.id == Candidate.sentence_id)
        .order_by(Candidate.id)
    )
    return [row for ids in _parts(question_ids) for row in session.execute(found.where(Candidate.question_id.in_(ids)))]


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """As many at a time as a statement may name: SQLite takes 32,766, PostgreSQL 65,535."""
    return (values[i : i + MOST_NAMED] for i in range(0, len(values), MOST_NAMED))
