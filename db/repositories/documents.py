"""Documents: stored, found, changed, and marked as searched."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Row,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from as2core.types import Document as Content
from as2core.types import Sentence as Piece
from db.models import CurrentLabel, Document, LabelEvent, Sentence, text_key
from db.repositories.statements import split_batches

MAX_PLACES = 20  # of a sentence that are looked at: one in more documents stands around their text


def count_document_labels(session: Session, document_ids: Sequence[int]) -> int:
    """The pairs of a question and one of the documents' sentences in use that anyone labels at present."""
    in_use = select(Sentence.id).where(Sentence.retired.is_(False))
    sentences = (in_use.where(Sentence.document_id.in_(some)) for some in split_batches(document_ids))
    return sum(_count_pairs(session, CurrentLabel.sentence_id.in_(ids)) for ids in sentences)


def _count_pairs(session: Session, which: ColumnElement[bool]) -> int:
    """Of a question and a sentence, with such labels."""
    pairs = select(CurrentLabel.question_id, CurrentLabel.sentence_id).where(which).distinct()
    return session.scalar(select(func.count()).select_from(pairs.subquery())) or 0


def has_documents(session: Session, corpus_id: int) -> bool:
    return bool(session.scalar(select(select(Document.id).where(is_present([corpus_id])).exists())))


def is_present(corpus_ids: Sequence[int] | BindParameter) -> ColumnElement[bool]:
    """A document of these corpora. A deleted one keeps a row without sentences: if it is added again, it finds its
    labels by it."""
    return and_(Document.corpus_id.in_(corpus_ids), Document.sentences > 0)


def find_documents_by_name(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, Row]:
    """External id -> row (id, external_id, digest, source, sentences, split_rules), of those that are stored."""
    content = (Document.digest, Document.source, Document.sentences, Document.split_rules)
    columns = (Document.id, Document.external_id, *content)
    documents = select(*columns).where(Document.corpus_id == corpus_id)
    batches = split_batches(external_ids)
    rows = (r for ids in batches for r in session.execute(documents.where(Document.external_id.in_(ids))))
    return {r.external_id: r for r in rows}


def list_names_of_file(session: Session, corpus_id: int, source: str, prefix: str) -> list[Row]:
    """Rows (external_id, title, digest, source) of a file's documents, deleted ones too, and of other documents whose
    names begin with `prefix`, in order."""
    columns = (Document.external_id, Document.title, Document.digest, Document.source)
    which = or_(Document.source == source, Document.external_id.startswith(prefix, autoescape=True))
    of_file = select(*columns).where(Document.corpus_id == corpus_id, which)
    return list(session.execute(of_file.order_by(Document.id)))


def list_documents_of_file(session: Session, corpus_id: int, source: str) -> list[Row]:
    """Rows as `find_documents` gives them."""
    columns = (Document.id, Document.external_id, Document.title, Document.source, Document.sentences)
    of_file = select(*columns).where(is_present([corpus_id]), Document.source == source)
    return list(session.execute(of_file.order_by(Document.id)))


def find_older_twin(session: Session, document_id: int, first_sentence: str) -> Row | None:
    """The row (external_id, source) of a document that was there before this one, with the same text."""
    own = session.get_one(Document, document_id)
    query = select(Document.external_id, Document.source).join(Sentence, Sentence.document_id == Document.id).where(
        Sentence.corpus_id == own.corpus_id, Sentence.text_key == text_key(first_sentence), Sentence.position == 0,
        Sentence.retired.is_(False), Document.text == own.text, Document.id < document_id,
    )  # fmt: skip
    return session.execute(query.limit(1)).first()


def find_likest_document(session: Session, document_id: int, texts: Sequence[str]) -> Row | None:
    """The row (external_id, source, shared) of the older document here that has the most of these texts; of a text
    that stands in many documents, MAX_PLACES of them are looked at."""
    own = session.get_one(Document, document_id)
    in_use = select(Sentence.document_id, Sentence.text_key).where(
        Sentence.corpus_id == own.corpus_id, Sentence.retired.is_(False)
    )
    places = (in_use.where(Sentence.text_key == text_key(text)).limit(MAX_PLACES).subquery() for text in texts)
    matches = union_all(*map(select, places)).subquery()
    shared = func.count(func.distinct(matches.c.text_key)).label("shared")
    columns = (Document.external_id, Document.source, shared)
    query = select(*columns).join(matches, matches.c.document_id == Document.id).where(Document.id < document_id)
    most = query.group_by(Document.id, Document.external_id, Document.source).order_by(shared.desc(), Document.id)
    return session.execute(most.limit(1)).first()


def add_documents(
    session: Session, corpus_id: int, contents: Sequence[tuple[Content, str]], now: datetime
) -> dict[str, int]:
    """Store new (document, digest) pairs; returns external id -> id. `fill_documents` adds their sentences."""
    columns = {"corpus_id": corpus_id, "sentences": 0, "updated": now}
    rows = [
        Document(external_id=d.id, title=d.title, source=d.source, text=d.text, digest=digest, **columns)
        for d, digest in contents
    ]
    session.add_all(rows)
    session.flush()
    return {row.external_id: row.id for row in rows}


def fill_documents(session: Session, corpus_id: int, filled: Sequence[tuple[int, str, Sequence[Piece]]]) -> None:
    """Add the sentences of new documents: (id, external id, sentences)."""
    new = [
        _sentence_values(corpus_id, document_id, f"{external_id}-{i}", i, s)
        for document_id, external_id, pieces in filled
        for i, s in enumerate(pieces)
    ]
    _add_sentences(session, new)
    sizes = [{"id": document_id, "sentences": len(pieces)} for document_id, _, pieces in filled]
    if sizes:
        session.execute(update(Document), sizes)


def note_split_rules(session: Session, document_ids: Sequence[int], split_rules: int) -> None:
    """Their sentences are those that these rules give."""
    for ids in split_batches(document_ids):
        session.execute(update(Document).where(Document.id.in_(ids)).values(split_rules=split_rules))


def count_divided_before(session: Session, corpus_id: int, split_rules: int, *, without: str) -> int:
    """Documents that rules before these divided into sentences, but for those with that source."""
    documents = select(func.count()).select_from(Document).where(is_present([corpus_id]), Document.source != without)
    return session.scalar(documents.where(Document.split_rules < split_rules)) or 0


def _add_sentences(session: Session, values: list[dict[str, object]]) -> None:
    if values:
        session.execute(insert(Sentence), values)


def _sentence_values(
    corpus_id: int, document_id: int, external_id: str, position: int, piece: Piece
) -> dict[str, object]:
    stored_as = {"corpus_id": corpus_id, "document_id": document_id, "external_id": external_id, "position": position}
    return {**stored_as, **asdict(piece)}


def replace_document(
    session: Session,
    document: Document,
    content: Content,
    digest: str,
    pieces: Sequence[Piece],
    now: datetime,
    find_earlier: Callable[[str, Container[str]], str | None] = lambda text, among: None,
) -> tuple[int, int]:
    """Store new content of a document. A sentence whose text is still there, white space aside, keeps its row, and so
    its labels, as does one of which another text was made: `find_earlier` tells which of some texts that was. One that
    vanished is deleted, or retired if it has labels; a retired one whose text is there again is in use again. Returns
    how many sentences are new, and how many labelled pairs have a sentence that vanished; if the document was deleted
    and is back, one that is not there again."""
    of_it = select(Sentence).where(Sentence.document_id == document.id)
    stored_rows = session.scalars(of_it.order_by(Sentence.retired, Sentence.position)).all()
    matches = _match_rows(stored_rows, pieces, find_earlier)
    names, number = {row.external_id for row in stored_rows}, len(pieces)
    new: list[dict[str, object]] = []
    for position, piece in enumerate(pieces):
        if row := matches.get(position):
            row.text, row.text_key = piece.text, text_key(piece.text)
            row.position, row.paragraph, row.retired = position, piece.paragraph, False
            row.start, row.end, row.heading = piece.start, piece.end, piece.heading
            continue
        name = f"{content.id}-{position}"
        while name in names:
            name, number = f"{content.id}-{number}", number + 1
        names.add(name)
        new.append(_sentence_values(document.corpus_id, document.id, name, position, piece))
    used_ids = {row.id for row in matches.values()}
    rest = {row.id: row for row in stored_rows if row.id not in used_ids}
    deleted_ids = [] if document.digest else [*rest]  # of a document that was deleted all were retired with it
    retired = _retire_or_delete(session, {i: row for i, row in rest.items() if not row.retired}) or deleted_ids
    _add_sentences(session, new)
    document.title, document.source, document.text = content.title, content.source, content.text
    document.digest, document.sentences, document.indexed, document.updated = digest, len(pieces), False, now
    return len(new), sum(_count_pairs(session, CurrentLabel.sentence_id.in_(ids)) for ids in split_batches(retired))


def _match_rows(
    stored_rows: Sequence[Sentence],
    pieces: Sequence[Piece],
    find_earlier: Callable[[str, Container[str]], str | None],
) -> dict[int, Sentence]:
    """Place of a piece -> the stored sentence that it is. `stored_rows`: those in use first, in their order. Where a
    text that others were made of is there more or less often than these, it is unclear which is which: none is."""
    unused: dict[str, list[Sentence]] = {}
    for row in reversed(stored_rows):  # so that pop() gives those in use first, in their order
        unused.setdefault(" ".join(row.text.split()), []).append(row)
    texts = [" ".join(piece.text.split()) for piece in pieces]
    matches = {i: unused[text].pop() for i, text in enumerate(texts) if unused.get(text)}
    rest = {text for text, rows in unused.items() if rows}
    places_by_text: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        if rest and i not in matches and (earlier := find_earlier(text, rest)):
            places_by_text.setdefault(earlier, []).append(i)
    for text, places in places_by_text.items():
        in_use = [row for row in unused[text] if not row.retired]
        if len(places) == len(in_use or unused[text]):
            matches |= {i: unused[text].pop() for i in places}
    return matches


def _retire_or_delete(session: Session, sentences: Mapping[int, Sentence]) -> list[int]:
    """Sentences with labels are retired, the others deleted. `sentences` by id; returns the ids of the retired."""
    retired: list[int] = []
    for ids in split_batches(sorted(sentences)):
        locked = select(Sentence.id).where(Sentence.id.in_(ids)).order_by(Sentence.id).with_for_update()
        session.execute(locked).all()  # or a label given between the two next statements would go with its sentence
        events = select(LabelEvent.sentence_id).where(LabelEvent.sentence_id.in_(ids))
        with_label = set(session.scalars(events.distinct()))
        for i in with_label:
            sentences[i].retired = True
        session.flush()
        session.execute(delete(Sentence).where(Sentence.id.in_([i for i in ids if i not in with_label])))
        retired += with_label
    return retired


def withdraw_document(session: Session, document: Document, now: datetime) -> None:
    """Empty a document: its row keeps the name and the title, and its labelled sentences, which are retired."""
    empty = Content(document.external_id, document.title, "", document.source)
    replace_document(session, document, empty, "", (), now)


def find_documents(session: Session, corpus_id: int, search: str, limit: int | None) -> list[Row]:
    """Rows (id, external_id, title, source, sentences), those whose title, name or file contains `search`, in
    order."""
    columns = (Document.id, Document.external_id, Document.title, Document.source, Document.sentences)
    documents = select(*columns).where(is_present([corpus_id])).order_by(Document.id).limit(limit)
    if search:
        names = (Document.title, Document.external_id, Document.source)
        documents = documents.where(or_(*(name.icontains(search, autoescape=True) for name in names)))
    return list(session.execute(documents))


def load_documents(session: Session, document_ids: Sequence[int]) -> list[Row]:
    """Rows as `find_documents` gives them, of those that were not deleted."""
    columns = (Document.id, Document.external_id, Document.title, Document.source, Document.sentences)
    present = select(*columns).where(Document.sentences > 0)
    return [row for ids in split_batches(document_ids) for row in session.execute(present.where(Document.id.in_(ids)))]


def load_titles(session: Session, document_ids: Sequence[int]) -> dict[int, str]:
    """By document id."""
    titles = select(Document.id, Document.title).where(Document.id.in_(document_ids))
    return {row.id: row.title for row in session.execute(titles)}


def list_unindexed(session: Session, corpus_id: int, limit: int) -> list[Row]:
    """Rows (id, title, digest) of documents whose present content is not in the index."""
    unindexed = select(Document.id, Document.title, Document.digest).filter_by(corpus_id=corpus_id, indexed=False)
    return list(session.execute(unindexed.order_by(Document.id).limit(limit)))


def count_unindexed(session: Session, corpus_id: int) -> int:
    unindexed = select(func.count()).select_from(Document).filter_by(corpus_id=corpus_id, indexed=False)
    return session.scalar(unindexed) or 0


def count_sentences_by_document(session: Session, corpus_id: int) -> list[int]:
    """One number a document."""
    return list(session.scalars(select(Document.sentences).filter_by(corpus_id=corpus_id)))


def mark_indexed(session: Session, documents: Sequence[tuple[int, str]]) -> int:
    """`documents`: (id, digest) as indexed. One that changed since then is unindexed, also where another process has
    indexed the change: it was replaced by what is in the index now. Returns how many of them are unindexed."""
    if not documents:
        return 0
    is_same = Document.digest == bindparam("indexed_digest")
    values = [{"document_id": i, "indexed_digest": digest} for i, digest in documents]
    of_it = update(Document).where(Document.id == bindparam("document_id"))
    session.connection().execute(of_it.values(indexed=is_same), values)
    changed = select(func.count()).where(Document.id.in_([i for i, _ in documents]), ~Document.indexed)
    return session.scalar(changed) or 0


def mark_all_unindexed(session: Session, corpus_id: int) -> None:
    session.execute(update(Document).where(Document.corpus_id == corpus_id).values(indexed=False))
