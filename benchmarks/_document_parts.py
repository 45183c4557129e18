"""Questions over manuals, asked twice: of their sentences, and of those that a way of reading would not have made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from _cells import describe, mean
from _manuals import read_pages
from list_items import Values, measure

from as2core.experiments.base import table
from as2core.experiments.cells import describe_code
from as2core.rankers.base import Ranker
from as2core.types import Document, Sentence

Results = Mapping[str, Values]  # by way of reading, the one without first


def ask_without_and_with(
    split: Callable[[Document], list[Sentence]],
    names: tuple[str, str],
    ranker: Ranker,
    manuals: Mapping[str, Sequence[str]],
    questions: Sequence[Mapping[str, Any]],
) -> Results:
    """`split`: divides a document without the way of reading. `names`: of the two ways. `manuals`: their files."""
    whole = {manual: read_pages(files) for manual, files in manuals.items()}
    without = {m: {i: (document, split(document)) for i, (document, _) in p.items()} for m, p in whole.items()}
    return {name: measure(ranker, pages, questions) for name, pages in zip(names, (without, whole), strict=True)}


def select_questions(results: Results, numbers: Set[int]) -> Results:
    """Those with these places in the list that was asked."""
    ids = set(map(str, numbers))
    return {
        way: {name: {i: by_id[i] for i in by_id if i in ids} for name, by_id in values.items()}
        for way, values in results.items()
    }


def make_rows(name: str, results: Results) -> list[tuple[str, ...]]:
    """Of a table: questions, n, the way of reading, RR and P@1 with their differences from the first way."""
    base = next(iter(results.values()))
    rows = []
    for way, values in results.items():
        cells = []
        for m in ("RR", "P@1"):
            cells += [f"{mean(values[m]):.3f}", "" if values is base else describe(values[m], base[m])]
        rows.append((name, str(len(values["RR"])), way, *cells))
    return rows


def format_results(script: str, title: str, column: str, rows: Sequence[Sequence[str]]) -> str:
    """The section of a page, with rows of `make_rows`. `column`: above the ways of reading."""
    intro = (
        f"Printed and written by `python benchmarks/{script}.py`, which says how. Of the code of {describe_code()}. "
        "Differences with their 95 % intervals over questions."
    )
    return table(f"## {title}\n\n{intro}", ("questions", "n", column, "RR", "difference", "P@1", "difference"), rows)
