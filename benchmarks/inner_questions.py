"""What it brings that a question within a paragraph stands before the sentence that follows it (decision 104).

    python benchmarks/inner_questions.py             some minutes on two cores; writes docs/results.md
    python benchmarks/inner_questions.py --limit 10  a quick check; writes nothing

Questions of MedQuAD are asked of all its answers, whose titles are their topics. Many an answer begins by repeating its
question, "Is it inherited? It is not.", in one paragraph. The correct candidate is the sentence behind that question,
in other answers the first; all else counts as incorrect, and one that the search does not find as missed. Each
question's candidates are the first 100 sentences of the passages that a search by words finds. The shipped cascade
reads them, all at its last exit.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from _cells import describe, mean
from _texts import DATA, require_files
from _word_search import Pages, index_words, search_and_rank

from as2core.documents.sections import split_document
from as2core.experiments.base import table, write_section
from as2core.experiments.cells import describe_code
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.text import split_sentences
from as2core.types import Document, Sentence

FILE = "medquad/qa.jsonl"
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
CASCADE = "cascade:drop_ratio=0"
CANDIDATES, QUESTIONS, SEED = 100, 200, 17
APART, LEFT_OUT, BEFORE = "a sentence of its own", "left out", "before the sentence that follows"
MEASURES = ("RR", "P@1", "a question comes first")

Values = dict[str, dict[str, float]]  # by measure and the document that answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int)
    limit = parser.parse_args().limit
    require_files(FILE)
    asked, pages = read_answers()
    groups = group_answers(pages)
    rng = random.Random(SEED)
    drawn = {name: rng.sample(ids, limit or QUESTIONS) for name, ids in groups.items()}
    apart = {i: (d, [part for s in sentences for part in split_apart(d, s)]) for i, (d, sentences) in pages.items()}
    left_out = {i: (d, [s for s in sentences if not s.text.endswith("?")]) for i, (d, sentences) in apart.items()}
    ways = {APART: apart, LEFT_OUT: left_out, BEFORE: pages}
    cascade = get(CASCADE)
    results = {way: measure(cascade, own, asked, drawn) for way, own in ways.items()}
    rows = [make_row(group, way, results[way][group], results[APART][group]) for group in groups for way in ways]
    sizes = ", ".join(f'"{name}" is true of {len(ids):,}' for name, ids in groups.items())
    intro = (
        "Printed and written by `python benchmarks/inner_questions.py`, which says how. Of the code of "
        f"{describe_code()}. {limit or QUESTIONS} questions for each kind of answer; of {len(pages):,} answers "
        f"{sizes}. Differences from the first way, with their 95 % intervals over questions."
    )
    heads = (
        "the answer",
        "a question in it is",
        "RR",
        "difference",
        "P@1",
        "difference",
        "a bare question comes first",
    )
    text = table(f"## Questions within a paragraph\n\n{intro}", heads, rows)
    print(text, flush=True)
    if limit is None:
        write_section(RESULTS, "inner-questions", text)


def group_answers(pages: Pages) -> dict[str, list[str]]:
    """Their ids by the kind of answer."""
    groups: dict[str, list[str]] = {"begins with a question": [], "has no question": []}
    for i, (document, sentences) in pages.items():
        if next(split_apart(document, sentences[0])) != sentences[0]:
            groups["begins with a question"].append(i)
        elif "?" not in document.text:
            groups["has no question"].append(i)
    return groups


def read_answers() -> tuple[Mapping[str, str], Pages]:
    """The question that each answer answers, and the answers as documents, by id."""
    asked, pages = {}, {}
    for number, line in enumerate((DATA / FILE).read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)  # its own id stands on several lines
        document = Document(str(number), record["focus"], record["answer"])
        if sentences := split_document(document):
            asked[document.id], pages[document.id] = record["question"], (document, sentences)
    return asked, pages


def split_apart(document: Document, sentence: Sentence) -> Iterator[Sentence]:
    """A sentence as it was before a question of its paragraph was put in front of it. What fills a line stays."""
    text = document.text[sentence.start : sentence.end]
    parts = split_sentences(text)
    if "\n" in text or not parts[0].text.endswith("?"):
        yield sentence
        return
    for part in parts:
        yield replace(sentence, text=part.text, start=sentence.start + part.start, end=sentence.start + part.end)


def measure(
    ranker: Ranker, pages: Pages, asked: Mapping[str, str], drawn: Mapping[str, Sequence[str]]
) -> dict[str, Values]:
    """The measures of each group of questions."""
    results: dict[str, Values] = {}
    with index_words(pages) as index:
        for group, ids in drawn.items():
            values: Values = {m: {} for m in MEASURES}
            for i in ids:
                ranked = search_and_rank(pages, index, ranker, asked[i], CANDIDATES)
                correct = next((s for s in pages[i][1] if not s.text.endswith("?")), None)
                rank = next((n for n, (d, s) in enumerate(ranked, 1) if d.id == i and s == correct), None)
                values["RR"][i] = 1 / rank if rank else 0.0
                values["P@1"][i] = float(rank == 1)
                values["a question comes first"][i] = float(bool(ranked) and ranked[0][1].text.endswith("?"))
            results[group] = values
    return results


def make_row(group: str, way: str, values: Values, base: Values) -> tuple[str, ...]:
    cells = []
    for m in MEASURES[:2]:
        cells += [f"{mean(values[m]):.3f}", "" if values is base else describe(values[m], base[m])]
    return group, way, *cells, f"{mean(values[MEASURES[2]]):.1%}"


if __name__ == "__main__":
    main()
