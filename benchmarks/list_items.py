"""What it brings that a list, or what else a colon announces, is read behind the words before it (decision 104).

    apt-get install debian-faq git-doc postgresql-doc-15 debian-handbook   # of Debian 12
    python benchmarks/list_items.py          prints the table and writes it to docs/results.md; some minutes
    python benchmarks/list_items.py --tiny   a few questions, to see that it runs; writes nothing

The 62 questions in list_items.json were written for lists and other things behind a colon, drawn at random from four
manuals, as somebody would type them who does not know the manual. Correct is each item that answers, or each sentence
that has one; the words before the colon alone are not. The 140 questions of section_headings.py, written for sentences
drawn at random, say what becomes of others. Each question's candidates are the first 100 sentences of the passages that
a search by words finds; a correct one that is not among them counts as missed. The shipped cascade reads them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from _cells import describe, mean
from _manuals import digest_parts, read_pages
from _word_search import Pages, index_words, search_and_rank

from as2core.documents import sections
from as2core.experiments.base import table, write_section
from as2core.experiments.cells import describe_code
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results.md"
CASCADE = "cascade:drop_ratio=0"
CANDIDATES = 100
QUESTIONS = {"behind a colon": "list_items.json", "drawn at random": "section_headings.json"}
WAYS: Mapping[str, Mapping[str, Any]] = {  # what is replaced in as2core.documents.sections
    "by themselves": {"LEAD_IN_END": "\0", "begins_item": lambda text, s: False},
    "behind the words before them": {"LEAD_IN_END": sections.LEAD_IN_END},
}

Values = dict[str, dict[str, float]]  # by measure and question


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    manuals = read_record("section_headings.json")["manuals"]
    questions = {name: read_record(file)["questions"][: 5 if tiny else None] for name, file in QUESTIONS.items()}
    cascade = get(CASCADE)
    results: dict[str, dict[str, Values]] = {}
    for way, replacements in WAYS.items():
        with patch.multiple(sections, **replacements):
            pages = {manual: read_pages(files) for manual, files in manuals.items()}
        results[way] = {name: measure(cascade, pages, asked) for name, asked in questions.items()}
    rows = [make_row(name, way, own[name], results) for name in questions for way, own in results.items()]
    intro = (
        f"Printed and written by `python benchmarks/list_items.py`, which says how. Of the code of {describe_code()}. "
        "Differences with their 95 % intervals over questions."
    )
    heads = ("questions", "n", "items are read", "RR", "difference", "P@1", "difference", "nothing but a lead-in first")
    text = table(f"## Lists, and what else a colon announces\n\n{intro}", heads, rows)
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "list-items", text)


def read_record(file: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((HERE / file).read_text(encoding="utf-8"))
    return record


def measure(ranker: Ranker, pages: Mapping[str, Pages], asked: Sequence[Mapping[str, Any]]) -> Values:
    values: Values = {"RR": {}, "P@1": {}, "lead-in": {}}
    for manual, own in pages.items():
        with index_words(own) as index:
            for number, record in enumerate(asked):
                if record["manual"] != manual:
                    continue
                ranked = search_and_rank(own, index, ranker, record["question"], CANDIDATES)
                correct = set(record["correct"])
                rank = next((n for n, place in enumerate(ranked, 1) if correct & digest_parts(*place)), None)
                values["RR"][str(number)] = 1 / rank if rank else 0.0
                values["P@1"][str(number)] = float(rank == 1)
                values["lead-in"][str(number)] = float(bool(ranked) and ranked[0][1].text.endswith(":"))
    return values


def make_row(name: str, way: str, values: Values, results: Mapping[str, Mapping[str, Values]]) -> tuple[str, ...]:
    base = results[next(iter(WAYS))][name]
    cells = []
    for m in ("RR", "P@1"):
        cells += [f"{mean(values[m]):.3f}", "" if values is base else describe(values[m], base[m])]
    return name, str(len(values["RR"])), way, *cells, f"{mean(values['lead-in']):.0%}"


if __name__ == "__main__":
    main()
