"""The rows of a table that comes again, where the table gives them no ids.

Such a row is a document named after its file and the row's number, and a row that is inserted or removed moves the
numbers of all below it. So a row that is as before keeps its name, and with it its labels; of the others, one with a
title that only its answer changed below; then one whose number no other row took. The rest get new numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from sqlalchemy import Row

from as2core.types import Document


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
