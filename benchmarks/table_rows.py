"""What it brings that a row of a table is one sentence, read behind what names its table (decision 108).

    apt-get install python3.11-doc sqlite3-doc postgresql-doc-15 debian-handbook   # of Debian 12
    python benchmarks/table_rows.py          prints the table and writes it to docs/results.md; some minutes
    python benchmarks/table_rows.py --tiny   a few questions, to see that it runs; writes nothing

The 166 questions in table_rows.json were written for rows drawn at random from tables of four manuals, as somebody
would type them who does not know the manual. The first 82 were there when the way of reading was chosen, the others
were written afterwards. Correct is a row that answers, or each sentence of it that does. Candidates and ranker are
those of list_items.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Set
from dataclasses import replace
from pathlib import Path

from _cells import describe, mean
from _manuals import read_pages
from _word_search import Pages
from list_items import CASCADE, Values, measure, read_record

from as2core.data.sections import split_document
from as2core.experiments.base import table, write_section
from as2core.experiments.cells import describe_code
from as2core.rankers.catalog import get

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.md"
SETS = {"there before": (1,), "written afterwards": (2,), "all": (1, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    record, cascade = read_record("table_rows.json"), get(CASCADE)
    whole = {manual: read_pages(files) for manual, files in record["manuals"].items()}
    ways = {
        "as any other line": {manual: _ignore_rows(pages) for manual, pages in whole.items()},
        "whole, behind what is above": whole,
    }
    questions = record["questions"][: 5 if tiny else None]
    results = {way: measure(cascade, pages, questions) for way, pages in ways.items()}
    rows = []
    for name, numbers in SETS.items():
        ids = {str(i) for i, q in enumerate(questions) if q["set"] in numbers}
        of_set = {way: _select(values, ids) for way, values in results.items()}
        rows += [_make_row(name, way, values, of_set) for way, values in of_set.items() if ids]
    intro = (
        f"Printed and written by `python benchmarks/table_rows.py`, which says how. Of the code of {describe_code()}. "
        "Differences with their 95 % intervals over questions."
    )
    text = table(
        f"## Rows of tables\n\n{intro}",
        ("questions", "n", "rows are read", "RR", "difference", "P@1", "difference"),
        rows,
    )
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "table-rows", text)


def _ignore_rows(pages: Pages) -> Pages:
    documents = {i: replace(document, rows=()) for i, (document, _) in pages.items()}
    return {i: (document, split_document(document)) for i, document in documents.items()}


def _select(values: Values, ids: Set[str]) -> Values:
    return {name: {i: by_id[i] for i in by_id if i in ids} for name, by_id in values.items()}


def _make_row(name: str, way: str, values: Values, results: Mapping[str, Values]) -> tuple[str, ...]:
    base = next(iter(results.values()))
    cells = []
    for m in ("RR", "P@1"):
        cells += [f"{mean(values[m]):.3f}", "" if values is base else describe(values[m], base[m])]
    return name, str(len(values["RR"])), way, *cells


if __name__ == "__main__":
    main()
