"""What a manual's headings bring: as candidates, before the first sentence of their section, or before each.

    apt-get install debian-faq git-doc postgresql-doc-15 debian-handbook   # of Debian 12
    python benchmarks/section_headings.py          prints the table and writes it to docs/results.md; 6 minutes
    python benchmarks/section_headings.py --tiny   a few questions, to see that it runs; writes nothing

The 140 questions in section_headings.json were written for sentences drawn at random, 35 for each manual, as somebody
would type them who does not know it. The four best sentences by each of four ways to read headings were judged without
their scores; a sentence is named by a digest of its text. All others count as incorrect. Each question's candidates are
the first 100 sentences of the passages that a search by words finds. "Another heading" is one of the manuals, drawn
at random: what it brings is not owed to the heading. Headings themselves are never correct. The manuals are read from
AS2_BENCH_MANUALS, or /usr/share/doc.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import numpy as np
from _cells import describe
from _manuals import digest_parts, read_pages, strip_heading
from _word_search import Pages, index_words, search

from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.experiments.base import write_section
from as2core.experiments.cells import describe_code
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.types import Candidate, Document, Question, Sentence

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
CASCADE = "cascade:drop_ratio=0"
CANDIDATES = 100
NOW = "before the first sentence"
TIMED_QUESTIONS, REPEATS = 20, 5

Headings = Mapping[tuple[str, str], str]  # by question and candidate's id


class Reading:
    """The mean of a ranker's scores over what may stand before a sentence, each text scored once."""

    name = "cascade"
    _scores: ClassVar[dict[tuple[str, str], float]] = {}

    def __init__(self, ranker: Ranker, *choices: Headings) -> None:
        self._ranker, self._choices = ranker, choices

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return np.mean([self._score(question, prepend(question, candidates, x)) for x in self._choices], axis=0)

    def _score(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        new = [c for c in candidates if (question, c.titled_text) not in self._scores]
        for c, score in zip(new, self._ranker.score(question, new), strict=True):
            self._scores[question, c.titled_text] = float(score)
        return [self._scores[question, c.titled_text] for c in candidates]


def prepend(question: str, candidates: Sequence[Candidate], headings: Headings) -> list[Candidate]:
    """The heading between the title and the sentence, where there is one."""
    names = [headings.get((question, c.id)) for c in candidates]
    return [replace(c, text=f"{name}: {c.text}") if name else c for name, c in zip(names, candidates, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    record = json.loads(Path(__file__).with_suffix(".json").read_text())
    questions: dict[str, list[Question]] = {}
    apart: dict[str, list[Question]] = {}
    headings: dict[tuple[str, str], str] = {}
    for name, files in record["manuals"].items():
        own = [q for q in record["questions"] if q["manual"] == name][: 3 if tiny else None]
        pages = read_pages(files)
        questions[name] = find_candidates(pages, own, headings)
        apart[name] = find_candidates({i: (d, list(set_apart(d, s))) for i, (d, s) in pages.items()}, own, {})
    every_question = [q for qs in questions.values() for q in qs]
    names = sorted(set(headings.values()))
    others = {place: random.Random(f"{place[0]} {name}").choice(names) for place, name in headings.items()}
    ways: dict[str, tuple[Headings, ...]] = {
        NOW: ({},),
        "before each sentence": (headings,),
        "another before each": (others,),
        "mean of the first two": ({}, headings),
    }
    cascade = get(CASCADE)
    results = {w: {n: evaluate(Reading(cascade, *x), qs) for n, qs in questions.items()} for w, x in ways.items()}
    results["candidates of their own"] = {n: evaluate(cascade, qs) for n, qs in apart.items()}
    lines = [
        "## Headings of sections",
        "",
        "Printed and written by `python benchmarks/section_headings.py`, which says how. Of the code of "
        f"{describe_code()}. AP by manual of those of {len(every_question)} questions that have a correct candidate; "
        "differences from the first row, over all, with their 95 % intervals over questions.",
        "",
        f"| headings | {' | '.join(questions)} | all | AP, difference | P@1, difference |",
        "|---" * (len(questions) + 4) + "|",
        *(make_row(way, by_manual, results[NOW]) for way, by_manual in results.items()),
        "",
        describe_time(cascade, every_question, headings, 1 if tiny else REPEATS),
        "",
    ]
    text = "\n".join(lines)
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "section-headings", text)


def set_apart(document: Document, sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    """Each heading as a sentence of its own."""
    for s in sentences:
        rest = strip_heading(document, s)
        if rest != s.text:
            yield replace(s, text=s.text.removesuffix(rest).rstrip(": "))
        yield replace(s, text=rest)


def find_candidates(
    pages: Pages, records: Sequence[Mapping[str, Any]], headings: dict[tuple[str, str], str]
) -> list[Question]:
    """The questions; the headings of their candidates are added to `headings`."""
    questions = []
    with index_words(pages) as index:
        for number, record in enumerate(records):
            sentences = search(pages, index, record["question"], CANDIDATES)
            candidates = tuple(
                Candidate(str(n), s.text, int(not digest_parts(d, s).isdisjoint(record["correct"])), d.title)
                for n, (d, s) in enumerate(sentences)
            )
            questions.append(Question(f"{record['manual']}-{number}", record["question"], candidates))
            headings |= {
                (record["question"], str(n)): s.heading
                for n, (d, s) in enumerate(sentences)
                if s.heading and strip_heading(d, s) == s.text
            }
    return questions


def make_row(way: str, by_manual: Mapping[str, Evaluation], base: Mapping[str, Evaluation]) -> str:
    def differ(measure: str) -> str:
        values, others = join(by_manual, measure), join(base, measure)
        both = sorted(values.keys() & others.keys())
        return describe(*({qid: x[qid] for qid in both} for x in (values, others)))

    means = [e.metrics["AP"] for e in by_manual.values()]
    means.append(float(np.mean(list(join(by_manual, "AP").values()))))
    differences = ["", ""] if by_manual is base else [differ("AP"), differ("P@1")]
    return f"| {' | '.join([way, *(f'{x:.3f}' for x in means), *differences])} |"


def join(by_manual: Mapping[str, Evaluation], measure: str) -> dict[str, float]:
    """Its value of each question of all manuals."""
    return {qid: value for e in by_manual.values() for qid, value in e.per_question[measure].items()}


def describe_time(ranker: Ranker, questions: Sequence[Question], headings: Headings, repeats: int) -> str:
    ratios = []
    for q in questions[:: max(1, len(questions) // TIMED_QUESTIONS)] * repeats:
        seconds = []
        for candidates in (q.candidates, prepend(q.text, q.candidates, headings)):
            started = time.perf_counter()
            ranker.score(q.text, candidates)
            seconds.append(time.perf_counter() - started)
        ratios.append(seconds[1] / seconds[0])
    return (
        f"Headings before each sentence make a question take {median(ratios):.2f} times as long "
        f"(median of {len(ratios)} interleaved pairs)."
    )


if __name__ == "__main__":
    main()
