"""What adding files did: counted while it goes on, and as its caller gets it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.corpora.documents import DocumentView
from app.corpora.table_rows import is_row
from app.corpora.unlike_documents import UNLIKE
from as2core.documents.reading import TABLES, describe_fault
from as2core.messages import MAX_NAMES
from as2core.types import Document, OnProgress, Progress

UNREAD_COLUMNS = "has columns that are not read: {}"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IngestView:
    """What an ingest did: documents by outcome (one that had been deleted is added), `failed` as (file name, reason),
    and the totals. `job_id` is the background job that computes the vectors, None when all are there. `notes`: (name,
    what a reader would not expect) of documents that were added. `unread_files`: those of the failed ones of which
    nothing was read. `updates`: names of the first documents that were updated; `replacements`: of those whose stored
    text was another one; `updated_files`: the files of the others, each with the number of its documents. `sentences`:
    those that are new. `orphans`: labelled pairs whose sentence left its document. `leftovers`: documents that an
    earlier version of one of these tables brought, and this one does not have. `read_files`: how many files were read,
    wholly or in part."""

    added: int
    updated: int
    unchanged: int
    failed: tuple[tuple[str, str], ...]
    documents: int
    sentences: int
    seconds: float
    job_id: int | None
    notes: tuple[tuple[str, str], ...] = ()
    unread_files: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    replacements: tuple[str, ...] = ()
    orphans: int = 0
    leftovers: tuple[DocumentView, ...] = ()
    updated_files: tuple[tuple[str, int], ...] = ()
    read_files: int = 0

    @property
    def notes_by_text(self) -> dict[str, list[str]]:
        """Each note with the names that have it."""
        names: dict[str, list[str]] = {}
        for name, note in self.notes:
            names.setdefault(note, []).append(name)
        return names

    @property
    def updated_names(self) -> list[str]:
        """The files of `updated_files` in words: `faq.csv (2 documents)`."""
        return [name if n == 1 else f"{name} ({n:,} documents)" for name, n in self.updated_files]

    @property
    def partly_read_files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f for f, _ in self.failed if f not in self.unread_files))


class IngestTally:
    """Counts of one ingest. `expected` estimates the number of documents from the lines of the files. `same_files`:
    those that have a document as it is stored. `pending`: documents that are read and not stored. `by`: who adds, None
    for the program or the command line."""

    def __init__(self, on_progress: OnProgress | None, replaces_unlike: bool = True, by: int | None = None) -> None:
        self.by = by
        self.added = self.updated = self.unchanged = self.sentences = self.expected = self.twins = self.orphans = 0
        self.pending = 0
        self.failed: list[tuple[str, str]] = []
        self.notes: list[tuple[str, str]] = []
        self.updates: list[str] = []
        self.updated_files: Counter[str] = Counter()
        self.replacements: list[str] = []
        self.same_files: set[str] = set()
        self.rows: dict[str, set[str]] = {}  # names of a table's documents, by the file
        self.replaces_unlike = replaces_unlike
        self.readable_files: set[str] = set()
        self.file = ""
        self._on_progress = on_progress
        self._columns: dict[str, set[str]] = {}  # that were noted, by the file

    @property
    def documents(self) -> int:
        return self.added + self.updated + self.unchanged

    def count_documents(self, added: int, updated: int, unchanged: int) -> None:
        self.added += added
        self.updated += updated
        self.unchanged += unchanged
        self.pending = 0

    def add_failure(self, name: str, error: Exception) -> None:
        """A fault of the program, not of the file: reported beside the file, with its traceback in the log."""
        log.warning("reading %s", name, exc_info=error)
        self.failed.append((name, describe_fault(error)))

    def add_twin(self, name: str, twin: str, note: str) -> None:
        """Once most files of a folder are there already, not each is named with its twin."""
        self.twins += 1
        self.notes.append((name, note.format(twin if self.twins <= MAX_NAMES else "another document")))

    def note_columns(self, document: Document) -> None:
        """Those of its table that are not read, each once."""
        if not document.source.lower().endswith(TABLES):
            return
        noted = self._columns.setdefault(document.source, set())
        if names := [name for name in document.meta if name and name not in noted]:
            noted.update(names)
            self.notes.append((document.source, UNREAD_COLUMNS.format(", ".join(names))))

    def note_rows(self, documents: Sequence[Document]) -> None:
        for d in documents:
            if is_row(d):
                self.rows.setdefault(d.source, set()).add(d.id)

    def report(self) -> None:
        if self._on_progress:
            done = self.documents + self.pending
            self._on_progress(Progress(done, max(done, self.expected), f"{done:,} documents, reading {self.file}"))

    def list_read_tables(self) -> dict[str, set[str]]:
        """The file of each table with the names of its documents; not one that was refused, since what is stored under
        its name is another table."""
        refusals = {file for file, reason in self.failed if reason.endswith(UNLIKE)}
        return {file: names for file, names in self.rows.items() if file not in refusals}

    def make_view(self, seconds: float, job_id: int | None, leftovers: tuple[DocumentView, ...]) -> IngestView:
        return IngestView(
            added=self.added,
            updated=self.updated,
            unchanged=self.unchanged,
            failed=tuple(self.failed),
            documents=self.documents,
            sentences=self.sentences,
            seconds=seconds,
            job_id=job_id,
            notes=tuple(self.notes),
            unread_files=tuple(dict.fromkeys(name for name, _ in self.failed if name not in self.readable_files)),
            updates=tuple(self.updates[:MAX_NAMES]),
            replacements=tuple(self.replacements),
            orphans=self.orphans,
            leftovers=leftovers,
            updated_files=tuple(self.updated_files.items()),
            read_files=len(self.readable_files),
        )
