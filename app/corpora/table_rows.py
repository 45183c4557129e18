"""The rows of a table that comes again, where the table gives them no ids.

Such a row is a document named after its file and the row's number, and a row that is inserted or removed moves the
numbers of all below it. So a row that is as before keeps its name, and with it its labels; of the others, one with a
title that only its answer changed below; then one whose number no other row took. The rest get new numbers. What is
stored of the table and no longer in it is left over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from sqlalchemy import Row

from app.corpora.document_identity import drop_suffix, hash_content
from app.corpora.documents import DocumentView
from app.workbench.workbench import Workbench
from as2core.documents.reading import TABLES
from as2core.types import Document
from db.repositories import documents as rows


def keep_names(
    documents: Sequence[Document], digests: Sequence[str], old_rows: Sequence[Row], others: Collection[str]
) -> list[Document]:
    """The documents of a table, those without ids of their own by the names under which they are stored. `digests`: of
    the documents; `old_rows`: rows (external_id, title, digest) of that file's documents here, in order; `others`:
    names of other files' documents, which a new row does not get."""
    numbered = [i for i, d in enumerate(documents) if d.is_numbered]
    own_ids = {d.id for d in documents if not d.is_numbered}
    free = {row.external_id: row for row in old_rows if row.external_id not in own_ids}
    names: dict[int, str] = {}
    _match(names, free, {i: digests[i] for i in numbered}, {n: row.digest for n, row in free.items()}, documents)
    _match(names, free, {i: documents[i].title for i in numbered}, {n: row.title for n, row in free.items()}, documents)
    used_names = own_ids | {row.external_id for row in old_rows if row.external_id not in free}
    for i in numbered:
        if i not in names and documents[i].id not in used_names:
            names[i] = documents[i].id
    used_names |= {*free, *names.values(), *others}
    numbers = count(len(documents) + 2)  # behind those of the file
    for i in numbered:
        if i not in names:
            stem = documents[i].id.rpartition("-")[0]
            names[i] = next(name for n in numbers if (name := f"{stem}-{n}") not in used_names)
    return [replace(d, id=names[i]) if i in names else d for i, d in enumerate(documents)]


def _match(
    names: dict[int, str],
    free: dict[str, Row],
    keys: Mapping[int, str],
    old_keys: Mapping[str, str],
    documents: Sequence[Document],
) -> None:
    """Give the documents without a name that of a free row with the same key: their own, else the first. Changes
    `names` and `free`."""
    rest = {i: key for i, key in keys.items() if key and i not in names}
    for i, key in rest.items():
        if old_keys.get(documents[i].id) == key and documents[i].id in free:
            names[i] = documents[i].id
            del free[documents[i].id]
    by_key: dict[str, list[str]] = defaultdict(list)
    for name in reversed(free):
        by_key[old_keys[name]].append(name)
    for i, key in rest.items():
        if i not in names and by_key.get(key):
            names[i] = by_key[key].pop()
            del free[names[i]]


def name_rows(wb: Workbench, corpus_id: int, file: str, documents: Iterator[Document]) -> Iterable[Document]:
    """The documents of a file; the rows of a table by the names that they have here already."""
    first = next(documents, None)
    if first is None or not is_row(first):
        return documents if first is None else chain([first], documents)
    table = [first, *documents]
    with wb.read() as s:
        stored_rows = rows.list_names_of_file(s, corpus_id, file, f"{drop_suffix(file)}-")
    digests = [hash_content(d.title, d.text, d.headings) for d in table]
    others = {row.external_id for row in stored_rows if row.source != file}
    return keep_names(table, digests, [row for row in stored_rows if row.source == file], others)


def find_leftovers(wb: Workbench, corpus_id: int, tables: Mapping[str, Collection[str]]) -> tuple[DocumentView, ...]:
    """What an earlier version of one of the tables brought, and this one does not have. `tables`: file -> names of its
    documents now."""
    with wb.read() as s:
        return tuple(
            DocumentView(*row)
            for file, names in tables.items()
            for row in rows.list_documents_of_file(s, corpus_id, file)
            if row.external_id not in names
        )


def is_row(document: Document) -> bool:
    return document.is_numbered or document.source.lower().endswith(TABLES)
