"""Adding files to a corpus.

The files are read one after the other. Their documents are stored in batches of one transaction each
(`app.corpora.batch_storage`), and indexed right after (`app.corpora.indexing`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from math import inf
from pathlib import Path

from app.corpora.batch_storage import ADD, store_batch
from app.corpora.corpora import get_corpus
from app.corpora.document_identity import resolve_ids
from app.corpora.indexing import index_pending, request_vectors
from app.corpora.ingest_report import IngestTally, IngestView
from app.corpora.table_rows import find_leftovers, name_rows
from app.workbench import people
from app.workbench.workbench import DatabaseTrouble, Workbench
from as2core.documents.reading import ParseFile, clean_file_name, read_documents
from as2core.errors import As2Error, UnreadableFile
from as2core.parser_process import ParserProcess
from as2core.types import Document, OnProgress

BATCH_DOCUMENTS, BATCH_CHARS = 400, 2_000_000
MAX_SLOW_SECONDS = 300  # that the files of one upload may take longer to parse than is usual

log = logging.getLogger(__name__)


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
    the others are added. Of an upload, which is `by` somebody, no file is parsed any more after some minutes of slow
    ones. Raises UnknownCorpus, NotAllowed for a viewer, or DatabaseTrouble."""
    started = time.monotonic()
    get_corpus(wb, corpus_id)
    with wb.read() as s:
        people.allow(s, by, ADD)
    tally = IngestTally(on_progress, replaces_unlike, by)
    parser = ParserProcess(max_slow_seconds=inf if by is None else MAX_SLOW_SECONDS, on_wait=tally.report)
    try:
        sources: dict[str, str] = {}
        for batch in _make_batches(_read(wb, corpus_id, files, tally, parser.parse_file)):
            documents = resolve_ids(wb, corpus_id, batch, sources)
            tally.note_rows(documents)
            store_batch(wb, corpus_id, documents, tally)
            index_pending(wb, corpus_id)
            tally.report()
        wb.analyze()
    except (DatabaseTrouble, UnreadableFile) as e:  # such as a full disk; a file that cannot be read raises nothing
        remedy = f"{tally.documents:,} documents of this call are stored; adding the files again goes on from there"
        raise type(e)(f"{e} ({remedy})") from e
    finally:  # leaving the page ends this in `report`
        parser.close()
        job_id = _try_to_request_vectors(wb, corpus_id)
    leftovers = find_leftovers(wb, corpus_id, tally.list_read_tables())
    return tally.make_view(time.monotonic() - started, job_id, leftovers)


def _try_to_request_vectors(wb: Workbench, corpus_id: int) -> int | None:
    """Where it cannot be, as on a full disk, what happened before is to be reported; the next ingest asks again."""
    try:
        return request_vectors(wb, corpus_id)
    except As2Error as e:
        log.warning("vectors of corpus %d: %s", corpus_id, e)
        return None


def _read(
    wb: Workbench, corpus_id: int, files: Iterable[tuple[str, bytes | Path]], tally: IngestTally, parse: ParseFile
) -> Iterator[Document]:
    files = [(clean_file_name(name), source) for name, source in files]
    tally.expected = sum(_estimate_documents(name, source) for name, source in files)
    for name, source in files:
        tally.file = name
        tally.report()

        def report(problem: object, name: str = name) -> None:
            tally.failed.append((name, str(problem)))

        def note(text: str, name: str = name) -> None:
            tally.notes.append((name, text))

        try:
            data = source if isinstance(source, bytes) else source.read_bytes()
            documents = read_documents(name, data, on_problem=report, on_note=note, parse=parse)
            for document in name_rows(wb, corpus_id, name, documents):
                tally.readable_files.add(name)
                tally.note_columns(document)
                tally.pending += 1
                yield document
        except UnreadableFile as e:
            report(str(e).removeprefix(f"{name}: "))
        except OSError as e:
            report(f"cannot be read ({e.strerror})")
        except Exception as e:
            tally.add_failure(name, e)


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
