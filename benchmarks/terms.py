"""What it brings that a sentence said of a term is read behind the term (decision 109).

    apt-get install python3.11-doc sqlite3-doc postgresql-doc-15 git-doc nodejs-doc debian-handbook debian-faq
    python benchmarks/terms.py          prints the table and writes it to docs/results.md; some minutes
    python benchmarks/terms.py --tiny   a few questions, to see that it runs; writes nothing

The packages are those of Debian 12. The questions in terms.json were written for sentences drawn at random, as somebody
would type them who does not know the manual: for further sentences of definitions in web pages' lists of terms (of
Python, SQLite, PostgreSQL and Git), for further sentences of lists' items that begin with a term, and for sentences
below headings that are names of a program's parts (both of Node.js). Sentences that answer nothing, such as "See also
...", were passed over. Correct is the sentence that was drawn. The questions of section_headings.py and table_rows.py,
most of them about other sentences, say what becomes of these. Candidates and ranker are those of list_items.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest.mock import patch

from _document_parts import ask_without_and_with, format_results, make_rows, select_questions
from list_items import CASCADE, read_record

from as2core.documents import sections
from as2core.experiments.base import write_section
from as2core.rankers.catalog import get
from as2core.types import Document, Sentence

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.md"
KINDS = {"definition": "of definitions", "item": "of items", "heading": "below programs' names"}
OTHERS = {"drawn at random": "section_headings.json", "of rows of tables": "table_rows.json"}
WAYS = ("by themselves", "behind the term")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    cascade, record = get(CASCADE), read_record("terms.json")
    questions = record["questions"][:: 40 if tiny else 1]
    results = ask_without_and_with(_split_without_terms, WAYS, cascade, record["manuals"], questions)
    rows: list[tuple[str, ...]] = []
    for kind, name in KINDS.items():
        rows += make_rows(name, select_questions(results, {i for i, q in enumerate(questions) if q["of"] == kind}))
    for name, file in OTHERS.items():
        other = read_record(file)
        other_questions = other["questions"][: 5 if tiny else None]
        rows += make_rows(
            name, ask_without_and_with(_split_without_terms, WAYS, cascade, other["manuals"], other_questions)
        )
    text = format_results("terms", "Sentences about a term", "sentences are read", rows)
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "terms", text)


def _split_without_terms(document: Document) -> list[Sentence]:
    with patch.object(sections._Splitter, "_name_terms", lambda self, s: s):
        return sections.split_document(document)


if __name__ == "__main__":
    main()
