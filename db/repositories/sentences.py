"""Sentences of documents, in use and retired."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from db.models import CurrentLabel, Document, Sentence, text_key
from db.repositories.statements import split_batches


def load_placed_sentences(session: Session, sentence_ids: Sequence[int]) -> list[Row]:
    """Rows (id, text, document_id, position, title, source, external_id, start, end, heading) of those in use, the
    document's external id, by document id, then in their order."""
    place = (Sentence.document_id, Sentence.position, Document.title, Document.source, Document.external_id)
    columns = (Sentence.id, Sentence.text, *place, Sentence.start, Sentence.end, Sentence.heading)
    in_use = select(*columns).join(Document, Document.id == Sentence.document_id).where(Sentence.retired.is_(False))
    rows = [row for ids in split_batches(sentence_ids) for row in session.execute(in_use.where(Sentence.id.in_(ids)))]
    return sorted(rows, key=lambda row: (row.document_id, row.position))


def list_sentences(session: Session, document_ids: Sequence[int]) -> list[Sentence]:
    """Those in use, by document id, then in their order."""
    in_use = select(Sentence).where(Sentence.retired.is_(False)).order_by(Sentence.document_id, Sentence.position)
    batches = split_batches(sorted(document_ids))
    return [row for ids in batches for row in session.scalars(in_use.where(Sentence.document_id.in_(ids)))]


def list_places(session: Session, document_ids: Sequence[int]) -> list[Row]:
    """Rows (id, document_id, position) of the sentences in use, by document id, then in their order."""
    columns = select(Sentence.id, Sentence.document_id, Sentence.position)
    in_use = columns.where(Sentence.retired.is_(False)).order_by(Sentence.document_id, Sentence.position)
    batches = split_batches(sorted(document_ids))
    return [row for ids in batches for row in session.execute(in_use.where(Sentence.document_id.in_(ids)))]


def load_texts(session: Session, sentence_ids: Sequence[int]) -> dict[int, str]:
    """By sentence id."""
    texts = select(Sentence.id, Sentence.text)
    return {i: t for ids in split_batches(sentence_ids) for i, t in session.execute(texts.where(Sentence.id.in_(ids)))}


def load_headings(session: Session, sentence_ids: Sequence[int]) -> dict[int, str]:
    """By sentence id, of those that stand below one."""
    headings = select(Sentence.id, Sentence.heading).where(Sentence.heading != "")
    batches = split_batches(sentence_ids)
    return {i: h for ids in batches for i, h in session.execute(headings.where(Sentence.id.in_(ids)))}


def lock_sentences(session: Session, sentence_ids: Sequence[int]) -> set[int]:
    """Ids of those that still exist; none of them can be deleted until this transaction ends."""
    query = select(Sentence.id).where(Sentence.id.in_(sentence_ids)).order_by(Sentence.id)
    return set(session.scalars(query.with_for_update(read=True, key_share=True)))


def list_sentences_near(session: Session, sentence: Sentence, distance: int) -> list[Sentence]:
    """Those in use in its document, at most so many places from its own, in their order."""
    place = sentence.position
    near = select(Sentence).where(
        Sentence.document_id == sentence.document_id,
        Sentence.retired.is_(False),
        Sentence.position.between(place - distance, place + distance),
    )
    return list(session.scalars(near.order_by(Sentence.position)))


def list_retired_sentences(session: Session, document_ids: Collection[int]) -> list[Sentence]:
    """Those that left these documents and carry a label."""
    has_label = select(CurrentLabel.id).where(CurrentLabel.sentence_id == Sentence.id).exists()
    retired = select(Sentence).where(Sentence.retired, has_label).order_by(Sentence.id)
    batches = split_batches(sorted(document_ids))
    return [row for ids in batches for row in session.scalars(retired.where(Sentence.document_id.in_(ids)))]


def list_sentences_of_texts(session: Session, corpus_id: int, texts: Collection[str]) -> list[Sentence]:
    """Those in use with one of these texts, white space aside, the oldest first."""
    in_use = select(Sentence).where(Sentence.corpus_id == corpus_id, Sentence.retired.is_(False)).order_by(Sentence.id)
    words = {" ".join(text.split()) for text in texts}
    batches = split_batches(sorted(map(text_key, words)))
    matches = (row for keys in batches for row in session.scalars(in_use.where(Sentence.text_key.in_(keys))))
    return [row for row in matches if " ".join(row.text.split()) in words]


def find_neighbours(session: Session, document_id: int, position: int) -> tuple[str, str]:
    """The text before and after a sentence, by its place in its document."""
    in_use = select(Sentence.position, Sentence.text).where(Sentence.document_id == document_id, ~Sentence.retired)
    around = session.execute(in_use.where(Sentence.position.in_((position - 1, position + 1))))
    texts = {r.position: r.text for r in around}
    return texts.get(position - 1, ""), texts.get(position + 1, "")


def find_sentences(session: Session, corpus_id: int, external_ids: Sequence[str]) -> list[Sentence]:
    """By external id, retired ones too."""
    sentences = select(Sentence).where(Sentence.corpus_id == corpus_id)
    batches = split_batches(external_ids)
    return [row for ids in batches for row in session.scalars(sentences.where(Sentence.external_id.in_(ids)))]


def find_sentences_by_text(session: Session, corpus_id: int, texts: Sequence[str]) -> list[Sentence]:
    """By text, white space aside; of equal texts those in use first."""
    sentences = select(Sentence).where(Sentence.corpus_id == corpus_id).order_by(Sentence.retired, Sentence.id)
    batches = split_batches(map(text_key, texts))
    return [row for keys in batches for row in session.scalars(sentences.where(Sentence.text_key.in_(keys)))]


def list_texts_of_documents(session: Session, corpus_id: int, *, without: str) -> Iterable[Row]:
    """Rows (id, text) of the sentences in use, but for those of documents with that source."""
    texts = select(Sentence.id, Sentence.text).join(Document, Document.id == Sentence.document_id)
    in_use = texts.where(Sentence.corpus_id == corpus_id, Sentence.retired.is_(False), Document.source != without)
    return session.execute(in_use)


def load_sentences(session: Session, sentence_ids: Sequence[int]) -> list[Sentence]:
    batches = split_batches(sentence_ids)
    return [row for ids in batches for row in session.scalars(select(Sentence).where(Sentence.id.in_(ids)))]
