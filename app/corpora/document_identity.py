"""Which document is which: the id that one of a file gets, the name that people read, and the digest of its content.

A document that is all of its file goes by the file's name without the suffix; one of several in a file, by an id of its
own. A digest tells whether a document that is added again has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from app.workbench.workbench import Workbench
from as2core.types import Document, Heading
from db.repositories import documents as rows


def resolve_ids(wb: Workbench, corpus_id: int, batch: Sequence[Document], sources: dict[str, str]) -> list[Document]:
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


def describe_document(document: Document) -> str:
    """By its file, and by its id where the file may hold several."""
    if not document.source or is_whole_file(document.id, document.source):
        return document.source or document.id
    return f"{document.source}, {document.id}"


def is_whole_file(external_id: str, source: str) -> bool:
    """Whether a document is all of its file, whose name it has then: without the suffix, or with it where another
    file's document has that name already."""
    return external_id in (source, drop_suffix(source))


def drop_suffix(source: str) -> str:
    return PurePosixPath(source).with_suffix("").as_posix() if source else ""


def hash_content(title: str, text: str, headings: Sequence[Heading] = ()) -> str:
    """Without headings it is that of releases that knew none, so that what they stored is recognised."""
    parts = (title, text, json.dumps(headings)) if headings else (title, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
