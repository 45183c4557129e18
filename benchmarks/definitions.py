"""What it brings that each sentence of a definition is read behind its term (decision 109).

    apt-get install python3.11-doc sqlite3-doc postgresql-doc-15 git-doc debian-handbook debian-faq   # of Debian 12
    python benchmarks/definitions.py          prints the table and writes it to docs/results.md; some minutes
    python benchmarks/definitions.py --tiny   a few questions, to see that it runs; writes nothing

The 199 questions in definitions.json were written for further sentences of definitions, drawn at random from pages with
lists of terms of four manuals, as somebody would type them who does not know the manual; sentences that answer nothing,
such as "See also ...", were left out. Correct is each sentence that answers. The questions of section_headings.py
and table_rows.py, most of them about other sentences, say what becomes of these. Candidates and ranker
are those of list_items.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from _document_parts import ask_without_and_with, make_rows
from list_items import CASCADE, read_record

from as2core.experiments.base import table, write_section
from as2core.experiments.cells import describe_code
from as2core.rankers.catalog import get

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.md"
RECORDS = {
    "of definitions": "definitions.json",
    "of rows": "table_rows.json",
    "drawn at random": "section_headings.json",
}
WAYS = ("by themselves", "behind the term")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    cascade = get(CASCADE)
    rows: list[tuple[str, ...]] = []
    for name, file in RECORDS.items():
        results = ask_without_and_with("definitions", WAYS, cascade, read_record(file), 5 if tiny else None)
        rows += make_rows(name, results)
    intro = (
        f"Printed and written by `python benchmarks/definitions.py`, which says how. Of the code of {describe_code()}. "
        "Differences with their 95 % intervals over questions."
    )
    text = table(
        f"## Definitions\n\n{intro}",
        ("questions", "n", "further sentences are read", "RR", "difference", "P@1", "difference"),
        rows,
    )
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "definitions", text)


if __name__ == "__main__":
    main()
