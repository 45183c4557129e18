"""Questions asked twice: over documents as they are read, and without what is known of one of their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from _cells import describe, mean
from _manuals import read_pages
from _word_search import Pages
from list_items import Values, measure

from as2core.data.sections import split_document
from as2core.rankers.base import Ranker

Results = Mapping[str, Values]  # by way of reading, the one without first


def ask_without_and_with(
    field: str, names: tuple[str, str], ranker: Ranker, record: Mapping[str, Any], limit: int | None = None
) -> Results:
    """The first `limit` questions of a record, over its manuals. `field`: of Document, empty in the first way."""
    whole = {manual: read_pages(files) for manual, files in record["manuals"].items()}
    ways = {names[0]: {manual: _empty(pages, field) for manual, pages in whole.items()}, names[1]: whole}
    return {name: measure(ranker, manuals, record["questions"][:limit]) for name, manuals in ways.items()}


def _empty(pages: Pages, field: str) -> Pages:
    documents = {i: replace(document, **{field: ()}) for i, (document, _) in pages.items()}
    return {i: (document, split_document(document)) for i, document in documents.items()}


def select_questions(results: Results, ids: Set[str]) -> Results:
    return {
        way: {name: {i: by_id[i] for i in by_id if i in ids} for name, by_id in values.items()}
        for way, values in results.items()
    }


def make_rows(name: str, results: Results) -> Sequence[tuple[str, ...]]:
    """Of a table: questions, n, the way of reading, RR and P@1 with their differences from the first way."""
    base = next(iter(results.values()))
    rows = []
    for way, values in results.items():
        cells = []
        for m in ("RR", "P@1"):
            cells += [f"{mean(values[m]):.3f}", "" if values is base else describe(values[m], base[m])]
        rows.append((name, str(len(values["RR"])), way, *cells))
    return rows
