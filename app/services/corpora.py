"""Corpora and the documents in them: making, filling, listing, and keeping the derived index in step.

Documents are stored in batches of one transaction each and indexed right after (`indexing`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sqlalchemy.orm import Session

from app.services import people
from app.services.indexing import index_pending, reindex, request_vectors
from app.services.views import CorpusView, DocumentView, IngestView, SentenceView
from app.services.workbench import Workbench
from as2core.errors import As2Error, UnreadableFile
from as2core.types import Document, OnProgress, Progress, Sentence
from db.models import Corpus
from db.repositories import corpora as rows

STARTER = "starter"
__all__ = [
    "corpus_named",
    "create_corpus",
    "delete_corpus",
    "document_sentences",
    "ensure_starter",
    "get_corpus",
    "hold_corpus",
    "ingest",
    "list_corpora",
    "list_documents",
    "reindex",
]

BATCH, BATCH_CHARACTERS = 400, 2_000_000
MAX_NAME = 80


class UnknownCorpus(As2Error):
    """No corpus of that number or name."""


# --- corpora ---------------------------------------------------------------------------------------------------------


def list_corpora(wb: Workbench) -> list[CorpusView]:
    """In the order they were made."""
    with wb.read() as s:
        found = [(c, rows.counts(s, c.id)) for c in rows.corpora(s)]
    return [_view(wb, c, n) for c, n in found]


def get_corpus(wb: Workbench, corpus_id: int) -> CorpusView:
    """Raises UnknownCorpus."""
    with wb.read() as s:
        found = s.get(Corpus, corpus_id)
        if found is None:
            raise UnknownCorpus(f"there is no corpus {corpus_id}: it was deleted, or belongs to another database")
        n = rows.counts(s, corpus_id)
    return _view(wb, found, n)


def corpus_named(wb: Workbench, name: str) -> CorpusView:
    """Raises UnknownCorpus listing those there are."""
    with wb.read() as s:
        found = rows.corpus_named(s, name)
        known = [c.name for c in rows.corpora(s)]
    if found is None:
        raise UnknownCorpus(f"no corpus {name!r}; known: {', '.join(known) or 'none'}")
    return get_corpus(wb, found.id)


def hold_corpus(s: Session, corpus_id: int) -> None:
    """For this transaction, so that two writers take turns. Raises UnknownCorpus."""
    if not rows.lock_corpus(s, corpus_id):
        raise UnknownCorpus("the corpus was deleted meanwhile")


def create_corpus(wb: Workbench, name: str, *, by: int | None = None) -> CorpusView:
    """Raises As2Error for a name that is empty, too long or taken, NotAllowed for a viewer."""
    name = " ".join(name.split())
    if not name:
        raise As2Error("a corpus needs a name: type one")
    if len(name) > MAX_NAME:
        raise As2Error(f"the name has {len(name)} characters: keep it under {MAX_NAME}")
    with wb.write() as s:
        people.allow(s, by)
        if rows.corpus_named(s, name) is not None:
            raise As2Error(f"there is a corpus {name!r} already: choose another name")
        corpus = rows.add_corpus(s, name, wb.clock())
    wb.forget_index(corpus.id)
    return get_corpus(wb, corpus.id)


def delete_corpus(wb: Workbench, corpus_id: int, *, by: int | None = None) -> None:
    """With its documents, questions and labels. The starter corpus stays away until it is asked for again. `by` None is
    whoever has the home. Raises UnknownCorpus, NotAllowed unless `by` is an admin."""
    view = get_corpus(wb, corpus_id)
    with wb.write(durable=True) as s:
        people.allow(s, by, people.ADMIN)
        rows.remove_corpus(s, corpus_id)
    wb.forget_index(corpus_id)
    if view.name == STARTER:
        _removed_mark(wb).touch()


def ensure_starter(wb: Workbench, on_progress: OnProgress | None = None, *, again: bool = False) -> CorpusView | None:
    """The shipped corpus with its labelled questions, brought in unless it is there as it is shipped.

    None if somebody deleted it, or the program came without; `again` brings a deleted one back.
    """
    from app.services import exchange

    folder = wb.settings.corpora_dir / STARTER
    files = sorted((folder / "articles").glob("*"))
    if again:
        _removed_mark(wb).unlink(missing_ok=True)
    if not files or _removed_mark(wb).exists():
        return None
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    with wb.write() as s:
        corpus = rows.corpus_named(s, STARTER) or rows.add_corpus(s, STARTER, wb.clock())
    if corpus.digest == digest.hexdigest():
        return get_corpus(wb, corpus.id)
    ingest(wb, corpus.id, [(f.name, f) for f in files], on_progress)
    for split in ("train", "dev", "test"):
        if on_progress:
            on_progress(Progress(0, 0, f"reading the {split} questions"))
        exchange.bring_starter_questions(wb, corpus.id, split)
    with wb.write() as s:
        s.get_one(Corpus, corpus.id).digest = digest.hexdigest()
    return get_corpus(wb, corpus.id)


def _removed_mark(wb: Workbench) -> Path:
    return wb.settings.home / "starter-removed"


def _view(wb: Workbench, corpus: Corpus, n: rows.Counts) -> CorpusView:
    done = total = 0
    if wb.has_index(corpus.id):
        index = wb.index(corpus.id)
        done, total = index.vectors(), index.count()
    return CorpusView(
        corpus.id, corpus.name, n.documents, n.sentences, n.questions, n.labels, done, total, corpus.created
    )


# --- documents -------------------------------------------------------------------------------------------------------


def list_documents(wb: Workbench, corpus_id: int, search: str = "", limit: int = 100) -> list[DocumentView]:
    """Those whose title or name contains `search`, in the order they came."""
    with wb.read() as s:
        return [DocumentView(*row) for row in rows.find_documents(s, corpus_id, search, limit)]


def document_sentences(wb: Workbench, document_id: int) -> list[SentenceView]:
    """In their order."""
    with wb.read() as s:
        return [SentenceView(x.id, x.text, x.position, x.paragraph) for x in rows.sentences_of(s, [document_id])]


def delete_document(wb: Workbench, document_id: int, *, by: int | None = None) -> None:
    """Take a document out of its corpus. Sentences that are labelled stay out of sight with their labels, which exports
    and retrains keep; they are back when the document comes again. `by` None is whoever has the home. Raises Gone, and
    NotAllowed for a viewer."""
    with wb.read() as s:
        corpus_id = getattr(rows.document(s, document_id), "corpus_id", None)
    if corpus_id is None:
        raise people.Gone("this document is no longer there; load the page anew")
    with wb.write(durable=True) as s:
        people.allow(s, by)
        hold_corpus(s, corpus_id)
        if (document := rows.document(s, document_id)) is not None:
            rows.take_out(s, document, wb.clock())
    index_pending(wb, corpus_id)


def ingest(
    wb: Workbench,
    corpus_id: int,
    files: Iterable[tuple[str, bytes | Path]],
    on_progress: OnProgress | None = None,
    *,
    by: int | None = None,
) -> IngestView:
    """Bring files in. What is there already with the same content is left alone; what changed replaces its document,
    and labels stay with the sentences that did not change; no file replaces what another of the call brought. A file or
    line that cannot be read is reported, the others go in. Raises UnknownCorpus, or NotAllowed for a viewer."""
    started = time.monotonic()
    get_corpus(wb, corpus_id)
    with wb.read() as s:
        people.allow(s, by)
    tally = _Tally(on_progress)
    try:
        brought: dict[str, str] = {}
        for batch in _batches(_read(files, tally)):
            _store(wb, corpus_id, _told_apart(wb, corpus_id, batch, brought), tally)
            index_pending(wb, corpus_id)
            tally.tell()
        wb.take_stock()
    finally:  # a reader who leaves the page ends this in `tell`
        job_id = request_vectors(wb, corpus_id)
    return IngestView(
        tally.added,
        tally.updated,
        tally.unchanged,
        tuple(tally.failed),
        tally.added + tally.updated + tally.unchanged,
        tally.sentences,
        time.monotonic() - started,
        job_id,
    )


class _Tally:
    """Counts of one ingest. `expected` guesses the number of documents from the lines of the files."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self.added = self.updated = self.unchanged = self.sentences = self.expected = 0
        self.failed: list[tuple[str, str]] = []
        self.at = ""
        self._on_progress = on_progress

    def tell(self) -> None:
        done = self.added + self.updated + self.unchanged
        if self._on_progress:
            self._on_progress(Progress(done, max(done, self.expected), f"{done:,} documents, at {self.at}"))


def _read(files: Iterable[tuple[str, bytes | Path]], tally: _Tally) -> Iterator[Document]:
    from as2core.data.documents import file_name, read_documents

    files = [(file_name(name), source) for name, source in files]
    tally.expected = sum(_guess(name, source) for name, source in files)
    for name, source in files:
        tally.at = name
        try:
            data = source if isinstance(source, bytes) else source.read_bytes()

            def report(problem, name: str = name) -> None:
                tally.failed.append((name, str(problem)))

            yield from read_documents(name, data, on_problem=report)
        except UnreadableFile as e:
            tally.failed.append((name, str(e).removeprefix(f"{name}: ")))
        except OSError as e:
            tally.failed.append((name, f"cannot be read ({e.strerror})"))


def _guess(name: str, source: bytes | Path) -> int:
    if not name.lower().endswith((".jsonl", ".csv", ".tsv")):
        return 1
    try:
        return (source if isinstance(source, bytes) else source.read_bytes()).count(b"\n") or 1
    except OSError:
        return 1


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Some hundreds at a time; a document that comes twice begins a new batch, as its own newer version."""
    batch: dict[tuple[str, str], Document] = {}
    characters = 0
    for document in documents:
        key = document.source, document.id
        if key in batch or len(batch) >= BATCH or characters > BATCH_CHARACTERS:
            yield list(batch.values())
            batch, characters = {}, 0
        batch[key] = document
        characters += len(document.text)
    if batch:
        yield list(batch.values())


def _told_apart(wb: Workbench, corpus_id: int, batch: list[Document], brought: dict[str, str]) -> list[Document]:
    """The batch, where no document has an id that another file brought: notes.txt would replace notes.md, and one table
    that counts its rows from 1 another. Such a one gets its file's name into its id, now and whenever the file comes
    again. Else an id that is known is the document, whatever the file is called now. `brought`: id -> file of this
    ingest, which grows."""
    longer = [d.source if _whole(d) else f"{d.source}-{d.id}" for d in batch]
    with wb.read() as s:
        known = rows.sources(s, corpus_id, [*(d.id for d in batch), *longer])
    apart = []
    for d, name in zip(batch, longer, strict=True):
        holder = brought.get(d.id) or known.get(d.id) or d.source
        twin = _whole(d) and _stem(holder) == d.id
        if holder != d.source and (d.id in brought or name in known or twin):
            d = replace(d, id=name)
        brought[d.id] = d.source
        apart.append(d)
    return apart


def _whole(document: Document) -> bool:
    """Whether it is all of its file, which is what it is called after."""
    return document.id == _stem(document.source)


def _stem(source: str) -> str:
    return PurePosixPath(source).with_suffix("").as_posix() if source else ""


def _store(wb: Workbench, corpus_id: int, batch: list[Document], tally: _Tally) -> None:
    from as2core.text import split_sentences

    digests = {d.id: content_digest(d.title, d.text) for d in batch}
    with wb.read() as s:
        known = rows.digests(s, corpus_id, list(digests))
    # sentences are found before the transaction begins: it shall be short
    pieces: dict[str, list[Sentence]] = {
        d.id: split_sentences(d.text) for d in batch if known.get(d.id, (0, ""))[1] != digests[d.id]
    }
    with wb.write() as s:
        hold_corpus(s, corpus_id)
        known = rows.digests(s, corpus_id, list(digests))
        fresh = [d for d in batch if d.id in pieces and d.id not in known]
        changed = [d for d in batch if d.id in pieces and known.get(d.id, (0, digests[d.id]))[1] != digests[d.id]]
        ids = rows.add_documents(s, corpus_id, [(d, digests[d.id]) for d in fresh], wb.clock())
        rows.fill_documents(s, corpus_id, [(ids[d.id], d.id, pieces[d.id]) for d in fresh])
        for d in changed:
            rows.replace_document(s, corpus_id, known[d.id][0], d, digests[d.id], pieces[d.id], wb.clock())
    tally.added += len(fresh)
    tally.updated += len(changed)
    tally.unchanged += len(batch) - len(fresh) - len(changed)
    tally.sentences += sum(len(pieces[d.id]) for d in (*fresh, *changed))


def content_digest(title: str, text: str) -> str:
    return hashlib.sha256(f"{title}\0{text}".encode()).hexdigest()
