"""The documents of a corpus: list, read, delete. `app.corpora.ingestion` adds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.corpora.corpora import lock_corpus
from app.corpora.document_identity import is_whole_file
from app.corpora.indexing import index_pending
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.documents.sections import SPLIT_RULES
from as2core.messages import count
from as2core.types import OnProgress, Progress
from db.models import Corpus
from db.models import Document as DocumentRow
from db.repositories import corpora as corpus_rows
from db.repositories import documents as document_rows
from db.repositories import sentences as sentence_rows


@dataclass(frozen=True, slots=True)
class DocumentView:
    id: int
    external_id: str
    title: str
    source: str
    sentences: int

    @property
    def is_whole_file(self) -> bool:
        """As `is_whole_file`."""
        return is_whole_file(self.external_id, self.source)


@dataclass(frozen=True, slots=True)
class SentenceView:
    id: int
    text: str
    position: int
    paragraph: int


@dataclass(frozen=True, slots=True)
class SentenceInDocument:
    """A sentence, and where it is: `title`, `source` and `external_id` are its document's, `start` and `end` are places
    in the document's text."""

    id: int
    text: str
    document_id: int
    position: int
    title: str
    source: str
    external_id: str
    start: int
    end: int
    heading: str


def list_documents(wb: Workbench, corpus_id: int, search: str = "", limit: int | None = 100) -> list[DocumentView]:
    """Those whose title, name or file contains `search`, oldest first."""
    with wb.read() as s:
        return [DocumentView(*row) for row in document_rows.find_documents(s, corpus_id, search, limit)]


def count_divided_before(wb: Workbench, corpus_id: int, *, without: str = "") -> int:
    """How many documents rules of an earlier release divided into sentences; not those with that source."""
    with wb.read() as s:
        return document_rows.count_divided_before(s, corpus_id, SPLIT_RULES, without=without)


def find_document(wb: Workbench, document_id: int) -> DocumentView | None:
    """None if it was deleted."""
    return next(iter(load_documents(wb, [document_id])), None)


def load_documents(wb: Workbench, document_ids: Sequence[int]) -> list[DocumentView]:
    """Those that were not deleted."""
    with wb.read() as s:
        return [DocumentView(*row) for row in document_rows.load_documents(s, document_ids)]


def find_document_by_name(wb: Workbench, corpus_id: int, external_id: str) -> DocumentView | None:
    with wb.read() as s:
        ids = [row.id for row in document_rows.find_documents_by_name(s, corpus_id, [external_id]).values()]
        return next((DocumentView(*row) for row in document_rows.load_documents(s, ids)), None)


def load_sentences(wb: Workbench, sentence_ids: Sequence[int]) -> list[SentenceInDocument]:
    """Those that are still in a document, by document, in their order."""
    with wb.read() as s:
        return [SentenceInDocument(*row) for row in sentence_rows.load_placed_sentences(s, sentence_ids)]


def list_sentences(wb: Workbench, document_id: int) -> list[SentenceView]:
    """In their order."""
    with wb.read() as s:
        return [
            SentenceView(x.id, x.text, x.position, x.paragraph) for x in sentence_rows.list_sentences(s, [document_id])
        ]


def count_labels(wb: Workbench, document_ids: Sequence[int]) -> int:
    """The pairs of a question and one of their sentences that carry a label."""
    with wb.read() as s:
        return document_rows.count_document_labels(s, document_ids)


def delete_document(wb: Workbench, document_id: int, *, by: int | None = None) -> None:
    """Delete a document from its corpus. Its labelled sentences are hidden, and exports and retrains still use their
    labels; they return when the document is added again. `by` None is the command line. Raises Gone, and NotAllowed for
    a viewer."""
    with wb.read() as s:
        document = s.get(DocumentRow, document_id)
    if document is None:
        raise people.Gone("this document no longer exists; reload the page")
    delete_documents(wb, document.corpus_id, [document_id], by=by)


def delete_documents(
    wb: Workbench,
    corpus_id: int,
    document_ids: Sequence[int],
    *,
    by: int | None = None,
    on_progress: OnProgress | None = None,
) -> None:
    """The same with each, but for those that are deleted already or of another corpus. Raises NotAllowed for a
    viewer."""
    for number, document_id in enumerate(document_ids, 1):
        with wb.write(durable=True) as s:
            people.allow(s, by, "delete a document")
            lock_corpus(s, corpus_id)
            row = s.get(DocumentRow, document_id)
            if row is not None and row.corpus_id == corpus_id:
                corpus = s.get_one(Corpus, corpus_id).name
                labels = document_rows.count_document_labels(s, [document_id])
                document_rows.withdraw_document(s, row, wb.clock())
                corpus_rows.note_search_change(s, corpus_id, wb.clock())
                detail = f"of {corpus}; {count(labels, 'labelled pair')} kept"
                audit.record(s, wb.clock(), by, "delete a document", row.external_id, detail)
        if on_progress:
            on_progress(Progress(number, len(document_ids), "deleting documents"))
    index_pending(wb, corpus_id)
