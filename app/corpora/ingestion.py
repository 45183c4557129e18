"""Adding files to a corpus.

Documents are stored in batches of one transaction each and indexed right after (`app.corpora.indexing`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.corpora.corpora import get_corpus, lock_corpus
from app.corpora.documents import DocumentView, drop_suffix, is_whole_file
from app.corpora.indexing import index_pending, request_vectors
from app.corpora.language import is_english_text
from app.corpora.table_rows import keep_names
from app.corpora.unlike_documents import find_unlike
from app.workbench import audit, people
from app.workbench.workbench import DatabaseTrouble, Workbench
from as2core.data.documents import TABLES, ParseFile, clean_file_name, describe_fault, read_documents
from as2core.data.parser_process import ParserProcess
from as2core.data.sections import split_document
from as2core.errors import As2Error, UnreadableFile
from as2core.text import MAX_NAMES, MAX_SENTENCE_CHARS, lacks_sentence_ends, name_some
from as2core.types import Document, Heading, OnProgress, Progress, Sentence
from db.models import Corpus
from db.models import Document as DocumentRow
from db.repositories import corpora as rows

BATCH_DOCUMENTS, BATCH_CHARS = 400, 2_000_000
MIN_COMPARED_SENTENCES, MAX_COMPARED_SENTENCES = 4, 12  # of a document that may be another one's copy
MIN_SHARED = 0.6  # of them, that a copy has
ADD = "add documents"
NO_SENTENCE_ENDS = f"has no sentence ends: it was cut about every {MAX_SENTENCE_CHARS:,} characters"
NOT_ENGLISH = (
    "does not look English: it was divided into sentences by English rules, and the shipped models read English"
)
UNREAD_COLUMNS = "has columns that are not read: {}"
SAME_TEXT = "has the same text as {}, so answers from it appear twice"
SIMILAR_TEXT = (
    "has most of its sentences in common with {}, so answers from them appear twice. If it is a new version of that "
    "file, give it the same name and add it again, then delete this one"
)
UNLIKE = "another document of this name is there, without a sentence in common; it was kept"

NameRows: TypeAlias = Callable[[str, Iterator[Document]], Iterable[Document]]  # of a file

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IngestView:
    """What an ingest did: documents by outcome (one that had been deleted is added), `failed` as (file name, reason),
    and the totals. `job_id` is the background job that computes the vectors, None when all are there. `notes`: (name,
    what a reader would not expect) of documents that were added. `unread_files`: those of the failed ones of which
    nothing was read. `updates`: names of the first documents that were updated; `replacements`: of those whose stored
    text was another one; `updated_files`: the files of the others, each with the number of its documents. `sentences`:
    those that are new. `orphans`: labelled pairs whose sentence left its document. `leftovers`: documents that an
    earlier version of one of these tables brought, and this one does not have."""

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


def ingest(
    wb: Workbench,
    corpus_id: int,
    files: Iterable[tuple[str, bytes | Path]],
    on_progress: OnProgress | None = None,
    *,
    by: int | None = None,
    replaces_unlike: bool = True,
) -> IngestView:
    """Add files, as (name, content or path). A document with the same content is left alone; changed content replaces
    the document, and labels stay with the sentences that did not change; no file replaces a document that another file
    of this call added. Where a document has no sentence in common with the one of its name, it is refused unless
    `replaces_unlike`. Files, lines and documents that cannot be read are reported, whatever went wrong in them, and
    the others are added. Raises UnknownCorpus, NotAllowed for a viewer, or DatabaseTrouble."""
    started = time.monotonic()
    get_corpus(wb, corpus_id)
    with wb.read() as s:
        people.allow(s, by, ADD)
    tally, parser = _Tally(on_progress, replaces_unlike, by), ParserProcess()
    try:
        sources: dict[str, str] = {}
        for batch in _make_batches(_read(files, tally, parser.parse_file, partial(_name_rows, wb, corpus_id))):
            documents = _assign_ids(wb, corpus_id, batch, sources)
            tally.note_rows(documents)
            _store(wb, corpus_id, documents, tally)
            index_pending(wb, corpus_id)
            tally.report()
        wb.analyze()
    except (DatabaseTrouble, UnreadableFile) as e:  # such as a full disk; a file that cannot be read raises nothing
        remedy = f"{tally.documents:,} documents of this call are stored; adding the files again goes on from there"
        raise type(e)(f"{e} ({remedy})") from e
    finally:  # leaving the page ends this in `report`
        parser.close()
        job_id = _try_to_request_vectors(wb, corpus_id)
    return IngestView(
        added=tally.added,
        updated=tally.updated,
        unchanged=tally.unchanged,
        failed=tuple(tally.failed),
        documents=tally.documents,
        sentences=tally.sentences,
        seconds=time.monotonic() - started,
        job_id=job_id,
        notes=tuple(tally.notes),
        unread_files=tuple(dict.fromkeys(name for name, _ in tally.failed if name not in tally.readable_files)),
        updates=tuple(tally.updates[:MAX_NAMES]),
        replacements=tuple(tally.replacements),
        orphans=tally.orphans,
        leftovers=_find_leftovers(wb, corpus_id, tally),
        updated_files=tuple(tally.updated_files.items()),
    )


def _try_to_request_vectors(wb: Workbench, corpus_id: int) -> int | None:
    """Where it cannot be, as on a full disk, what happened before is to be reported; the next ingest asks again."""
    try:
        return request_vectors(wb, corpus_id)
    except As2Error as e:
        log.warning("vectors of corpus %d: %s", corpus_id, e)
        return None


class _Tally:
    """Counts of one ingest. `expected` estimates the number of documents from the lines of the files. `same_files`:
    those that have a document as it is stored. `by`: who adds, None for the program or the command line."""

    def __init__(self, on_progress: OnProgress | None, replaces_unlike: bool = True, by: int | None = None) -> None:
        self.by = by
        self.added = self.updated = self.unchanged = self.sentences = self.expected = self.twins = self.orphans = 0
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

    def add_failure(self, name: str, error: Exception) -> None:
        """A fault of the program, not of the file: reported beside the file, with its traceback in the log."""
        log.warning("reading %s", name, exc_info=error)
        self.failed.append((name, describe_fault(error)))

    def add_twin(self, name: str, twin: str, note: str = SAME_TEXT) -> None:
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
            if d.is_numbered or d.source.lower().endswith(TABLES):
                self.rows.setdefault(d.source, set()).add(d.id)

    def report(self) -> None:
        if self._on_progress:
            done = self.documents
            self._on_progress(Progress(done, max(done, self.expected), f"{done:,} documents, reading {self.file}"))


def _read(
    files: Iterable[tuple[str, bytes | Path]], tally: _Tally, parse: ParseFile, name_rows: NameRows
) -> Iterator[Document]:
    files = [(clean_file_name(name), source) for name, source in files]
    tally.expected = sum(_estimate_documents(name, source) for name, source in files)
    for name, source in files:
        tally.file = name

        def report(problem: object, name: str = name) -> None:
            tally.failed.append((name, str(problem)))

        try:
            data = source if isinstance(source, bytes) else source.read_bytes()
            documents = read_documents(name, data, on_problem=report, parse=parse)
            for document in name_rows(name, documents):
                tally.readable_files.add(name)
                tally.note_columns(document)
                yield document
        except UnreadableFile as e:
            report(str(e).removeprefix(f"{name}: "))
        except OSError as e:
            report(f"cannot be read ({e.strerror})")
        except Exception as e:
            tally.add_failure(name, e)


def _name_rows(wb: Workbench, corpus_id: int, file: str, documents: Iterator[Document]) -> Iterable[Document]:
    """The documents of a file; those of one whose rows have no ids by the names that they have here already."""
    first = next(documents, None)
    if first is None or not (first.is_numbered or file.lower().endswith(TABLES)):
        return documents if first is None else chain([first], documents)
    table = [first, *documents]
    with wb.read() as s:
        stored_rows = rows.list_names_of_file(s, corpus_id, file, f"{drop_suffix(file)}-")
    digests = [hash_content(d.title, d.text, d.headings) for d in table]
    others = {row.external_id for row in stored_rows if row.source != file}
    return keep_names(table, digests, [row for row in stored_rows if row.source == file], others)


def _find_leftovers(wb: Workbench, corpus_id: int, tally: _Tally) -> tuple[DocumentView, ...]:
    """Of a table that was refused, nothing is left over: what is stored is all of it."""
    refusals = {file for file, reason in tally.failed if reason.endswith(UNLIKE)}
    with wb.read() as s:
        return tuple(
            DocumentView(*row)
            for file, names in tally.rows.items()
            if file not in refusals
            for row in rows.list_documents_of_file(s, corpus_id, file)
            if row.external_id not in names
        )


def _estimate_documents(name: str, source: bytes | Path) -> int:
    if not name.lower().endswith((".jsonl", ".csv", ".tsv")):
        return 1
    try:
        return (source if isinstance(source, bytes) else source.read_bytes()).count(b"\n") or 1
    except OSError:
        return 1


def _make_batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """A document that comes twice begins a new batch, as a newer version of itself."""
    batch: dict[tuple[str, str], Document] = {}
    characters = 0
    for document in documents:
        key = document.source, document.id
        if key in batch or len(batch) >= BATCH_DOCUMENTS or characters > BATCH_CHARS:
            yield list(batch.values())
            batch, characters = {}, 0
        batch[key] = document
        characters += len(document.text)
    if batch:
        yield list(batch.values())


def _assign_ids(wb: Workbench, corpus_id: int, batch: Sequence[Document], sources: dict[str, str]) -> list[Document]:
    """The batch, with ids that differ from those of other files' documents: otherwise notes.txt would replace notes.md,
    and a table that numbers its rows from 1 another one. In case of a conflict the file's name becomes part of the id,
    now and whenever that file is added again. A known id without a conflict is that document, even if the file has
    another name now. `sources`: id -> file of this ingest; it is added to."""
    stems = [drop_suffix(d.source) for d in batch]
    longer_ids = [d.source if d.id == stem else f"{d.source}-{d.id}" for d, stem in zip(batch, stems, strict=True)]
    with wb.read() as s:
        older = rows.find_documents_by_name(s, corpus_id, [*(d.id for d in batch), *longer_ids])
    documents = []
    for d, stem, longer_id in zip(batch, stems, longer_ids, strict=True):
        source = sources.get(d.id) or (older[d.id].source if d.id in older else "") or d.source
        has_same_stem = d.id == stem == drop_suffix(source)
        if source != d.source and (d.id in sources or longer_id in older or has_same_stem):
            d = replace(d, id=longer_id)
        sources[d.id] = d.source
        documents.append(d)
    return documents


def _store(wb: Workbench, corpus_id: int, batch: Sequence[Document], tally: _Tally) -> None:
    digests = {d.id: hash_content(d.title, d.text, d.headings) for d in batch}
    with wb.read() as s:
        older = rows.find_documents_by_name(s, corpus_id, list(digests))
    changed = [d for d in batch if d.id not in older or older[d.id].digest != digests[d.id]]
    pieces = _split(changed, tally)  # before the transaction begins, to keep it short
    tally.same_files |= {d.source for d in batch if d.id in older and older[d.id].digest == digests[d.id]}
    stored_ids = {d.id: older[d.id].id for d in changed if d.id in older and d.id in pieces}
    _sort_out_unlike(wb, [d for d in changed if d.id in stored_ids], pieces, stored_ids, tally)
    with wb.write() as s:
        lock_corpus(s, corpus_id)
        older = rows.find_documents_by_name(s, corpus_id, list(digests))
        changes = _Changes.find([d for d in batch if d.id in pieces], older, digests)
        _add_documents(s, corpus_id, [(d, digests[d.id], pieces[d.id]) for d in changes.new], wb.clock(), tally)
        outcomes: list[tuple[int, int]] = []
        for d in changes.others:
            document = s.get_one(DocumentRow, older[d.id].id)
            outcomes.append(rows.replace_document(s, document, d, digests[d.id], pieces[d.id], wb.clock()))
        if changes.documents:
            rows.note_search_change(s, corpus_id, wb.clock())
        if changes.documents and tally.by is not None:
            audit.record(s, wb.clock(), tally.by, ADD, s.get_one(Corpus, corpus_id).name, changes.describe())
    tally.added += changes.added_count
    tally.updated += changes.updated_count
    updated = [d for d in changes.others if d.id not in changes.returns]
    tally.updates += map(_describe, updated)
    tally.updated_files.update(d.source or d.id for d in updated if _describe(d) not in tally.replacements)
    tally.unchanged += len(batch) - len(changed) + len(pieces) - len(changes.documents)
    tally.sentences += sum(len(pieces[d.id]) for d in changes.new) + sum(added for added, _ in outcomes)
    tally.orphans += sum(labels for _, labels in outcomes)


@dataclass(frozen=True, slots=True)
class _Changes:
    """What a batch changes: `new` documents, and `others` that have another content now. `returns`: ids of those among
    the others that were deleted and are added again."""

    new: tuple[Document, ...]
    others: tuple[Document, ...]
    returns: frozenset[str]

    @classmethod
    def find(cls, batch: Sequence[Document], older: Mapping[str, Row], digests: Mapping[str, str]) -> _Changes:
        """`older`: the documents here by id; `digests`: of the batch's."""
        others = tuple(d for d in batch if d.id in older and older[d.id].digest != digests[d.id])
        new = tuple(d for d in batch if d.id not in older)
        return cls(new, others, frozenset(d.id for d in others if not older[d.id].digest))

    @property
    def documents(self) -> tuple[Document, ...]:
        return (*self.new, *self.others)

    @property
    def added_count(self) -> int:
        return len(self.new) + len(self.returns)

    @property
    def updated_count(self) -> int:
        return len(self.others) - len(self.returns)

    def describe(self) -> str:
        names = name_some([_describe(d) for d in self.documents])
        return f"{self.added_count:,} new, {self.updated_count:,} changed: {names}"


def _add_documents(
    s: Session,
    corpus_id: int,
    documents: Sequence[tuple[Document, str, list[Sentence]]],
    now: datetime,
    tally: _Tally,
) -> None:
    """New ones, each with its digest and sentences; one with the text of an older document is noted."""
    ids = rows.add_documents(s, corpus_id, [(d, digest) for d, digest, _ in documents], now)
    rows.fill_documents(s, corpus_id, [(ids[d.id], d.id, sentences) for d, _, sentences in documents])
    for d, _, sentences in documents:
        if not is_whole_file(d.id, d.source) or not sentences:  # rows of a table repeat each other
            continue
        if twin := rows.find_older_twin(s, ids[d.id], sentences[0].text):
            tally.add_twin(_describe(d), twin.source or twin.external_id)
        elif like := _find_similar(s, ids[d.id], sentences):
            tally.add_twin(_describe(d), like, SIMILAR_TEXT)


def _find_similar(s: Session, document_id: int, sentences: Sequence[Sentence]) -> str:
    """The file of another document that has most of the sentences, by a sample of them; "" if there is none."""
    step = max(1, len(sentences) // MAX_COMPARED_SENTENCES)
    texts = {" ".join(sentence.text.split()) for sentence in sentences[::step][:MAX_COMPARED_SENTENCES]}
    if len(texts) < MIN_COMPARED_SENTENCES:
        return ""
    like = rows.find_likest_document(s, document_id, sorted(texts))
    return (like.source or like.external_id) if like and like.shared >= MIN_SHARED * len(texts) else ""


def _sort_out_unlike(
    wb: Workbench,
    changes: Sequence[Document],
    pieces: dict[str, list[Sentence]],
    stored_ids: Mapping[str, int],
    tally: _Tally,
) -> None:
    """Report the documents that would replace another one, and take them out of `pieces` unless they may."""
    suspects = [d for d in changes if d.source not in tally.same_files]
    if not suspects:
        return
    with wb.read() as s:
        unlike = find_unlike(s, suspects, pieces, stored_ids)
    tally.same_files |= {d.source for d in suspects} - {d.source for d in suspects if d.id in unlike}
    for document in (d for d in suspects if d.id in unlike):
        if tally.replaces_unlike:
            tally.replacements.append(_describe(document))
        else:
            reason = UNLIKE if is_whole_file(document.id, document.source) else f"{document.id}: {UNLIKE}"
            tally.failed.append((document.source or document.id, reason))
            del pieces[document.id]


def _describe(document: Document) -> str:
    """By its file, and by its id where the file may hold several."""
    if not document.source or is_whole_file(document.id, document.source):
        return document.source or document.id
    return f"{document.source}, {document.id}"


def _split(documents: Sequence[Document], tally: _Tally) -> dict[str, list[Sentence]]:
    """The sentences of each document, by its id; one that cannot be split is reported and left out."""
    pieces: dict[str, list[Sentence]] = {}
    for document in documents:
        name = _describe(document)
        try:
            pieces[document.id] = split_document(document)
        except Exception as e:
            tally.add_failure(name, e)
            continue
        if lacks_sentence_ends(pieces[document.id]):
            tally.notes.append((name, NO_SENTENCE_ENDS))
        if not is_english_text(document.text):
            tally.notes.append((name, NOT_ENGLISH))
    return pieces


def hash_content(title: str, text: str, headings: Sequence[Heading] = ()) -> str:
    """Without headings it is that of releases that knew none, so that what they stored is recognised."""
    parts = (title, text, json.dumps(headings)) if headings else (title, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
