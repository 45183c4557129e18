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
from dataclasses import replace
from pathlib import Path

from _document_parts import ask_without_and_with, format_results, make_rows, select_questions
from list_items import CASCADE, read_record

from as2core.documents.sections import split_document
from as2core.experiments.base import write_section
from as2core.rankers.catalog import get
from as2core.types import Document, Sentence

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.md"
SETS = {"there before": (1,), "written afterwards": (2,), "all": (1, 2)}
WAYS = ("as any other line", "whole, behind what is above")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    record = read_record("table_rows.json")
    questions = record["questions"][: 5 if tiny else None]
    results = ask_without_and_with(_split_without_rows, WAYS, get(CASCADE), record["manuals"], questions)
    rows: list[tuple[str, ...]] = []
    for name, sets in SETS.items():
        numbers = {i for i, q in enumerate(questions) if q["set"] in sets}
        rows += make_rows(name, select_questions(results, numbers)) if numbers else []
    text = format_results("table_rows", "Rows of tables", "rows are read", rows)
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "table-rows", text)


def _split_without_rows(document: Document) -> list[Sentence]:
    return split_document(replace(document, rows=()))


if __name__ == "__main__":
    main()
