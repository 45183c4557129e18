"""What it brings to read a sentence a second time after the one before it, and what it costs.

    python benchmarks/previous_sentence.py          prints the table and writes it to docs/results.md; 15 minutes
    python benchmarks/previous_sentence.py --tiny   a few questions, to see that it runs; writes nothing

A score is (1 - w) s + w t, where s is the shipped cascade's of the sentence and t that of the sentence behind the one
before it in its document, as a title stands before a sentence. Nothing is trained. The weight w is chosen on WikiQA's
train questions, by AP; the other sets had no say in it. To tell the effect of the sentence before from that of reading
twice, any sentence of the set is put in its place, too. The sets are read from AS2_BENCH_DATA, or from ../shared/data
beside the repository.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
from _texts import DATA, require_files

from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.experiments.base import write_section
from as2core.experiments.cells import describe_code
from as2core.metrics import paired_test
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import get
from as2core.types import Candidate, Question

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"
CASCADE = "cascade:drop_ratio=0"
CHOOSES = "WikiQA train"
SETS = {
    CHOOSES: "wikiqa/WikiQA-train.tsv",
    "WikiQA dev": "wikiqa/WikiQA-dev.tsv",
    "starter-dev": "starter-dev",
    "starter-test": "starter-test",
    "handbook-train": "handbook-train",
    "handbook-test": "handbook-test",
}
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
MAX_WORDS = 60  # of the sentence before, the last ones: a sentence has to fit behind them
TIMED_QUESTIONS, REPEATS = 20, 5


class Lookup:
    """The scores of a ranker, each computed once."""

    name = "cascade"

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._scores: dict[tuple[str, str], float] = {}

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        new = [c for c in candidates if (question, c.titled_text) not in self._scores]
        for c, score in zip(new, self._ranker.score(question, new), strict=True):
            self._scores[question, c.titled_text] = float(score)
        return np.array([self._scores[question, c.titled_text] for c in candidates], np.float32)


class TwoReadings:
    """`texts`: what may stand in the place of the sentence before; none: that sentence."""

    name = "two readings"

    def __init__(self, ranker: Ranker, weight: float, texts: Sequence[str] = ()) -> None:
        self._ranker, self._weight, self._texts = ranker, weight, texts

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        once = self._ranker.score(question, candidates)
        if not self._weight:
            return once
        again = self._ranker.score(question, self._prepend(candidates))
        return (1 - self._weight) * once + self._weight * again

    def _prepend(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The first of each document stays as it is; the title tells the documents apart."""
        draws = random.Random(candidates[0].id)
        longer = [candidates[0]]
        for previous, c in pairwise(candidates):
            if c.title and c.title == previous.title:
                words = (draws.choice(self._texts) if self._texts else previous.text).split()[-MAX_WORDS:]
                c = replace(c, text=f"{' '.join(words)}: {c.text}")
            longer.append(c)
        return longer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    require_files(*(file for file in SETS.values() if "/" in file))
    sets = {name: read(file)[: 4 if tiny else None] for name, file in SETS.items()}
    lookup = Lookup(get(CASCADE))
    weight = max(WEIGHTS[1:], key=lambda w: evaluate(TwoReadings(lookup, w), sets[CHOOSES]).metrics["AP"])
    heads = ["set", "questions", *(f"AP, w = {w:g}" for w in WEIGHTS), f"AP, difference at w = {weight:g}"]
    heads += ["P@1, difference", "AP, difference with any sentence"]
    lines = [
        "## Each sentence read a second time, after the one before it",
        "",
        "Printed and written by `python benchmarks/previous_sentence.py`, which says how. Of the code of "
        f"{describe_code()}. w is the weight of the second reading, {weight:g} the best of {CHOOSES}. Differences are "
        "from one reading, with their 95 % intervals over questions.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
        *(make_row(name, questions, lookup, weight) for name, questions in sets.items()),
        "",
        describe_time(sets["starter-test"], 1 if tiny else REPEATS),
        "",
    ]
    text = "\n".join(lines)
    print(text, flush=True)
    if not tiny:
        write_section(RESULTS, "previous-sentence", text)


def read(file: str) -> list[Question]:
    return apply_setting(load_questions(str(DATA / file) if "/" in file else file).questions, "clean")


def make_row(name: str, questions: Sequence[Question], lookup: Lookup, weight: float) -> str:
    by_weight = {w: evaluate(TwoReadings(lookup, w), questions) for w in WEIGHTS}
    other = evaluate(TwoReadings(lookup, weight, [c.text for q in questions for c in q.candidates]), questions)

    def differ(measure: str, changed: Evaluation) -> str:
        test = paired_test(changed.per_question[measure], by_weight[0.0].per_question[measure])
        return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"

    best = by_weight[weight]
    cells = [name, f"{len(questions):,}", *(f"{e.metrics['AP']:.3f}" for e in by_weight.values())]
    return f"| {' | '.join([*cells, differ('AP', best), differ('P@1', best), differ('AP', other)])} |"


def describe_time(questions: Sequence[Question], repeats: int) -> str:
    cascade = get(CASCADE)
    both = TwoReadings(cascade, 0.5)
    ratios = []
    for q in questions[:TIMED_QUESTIONS] * repeats:
        once = time_run(lambda q=q: cascade.score(q.text, q.candidates))
        ratios.append(time_run(lambda q=q: both.score(q.text, q.candidates)) / once)
    return (
        f"Both readings of a question of starter-test take {median(ratios):.1f} times as long as one "
        f"(median of {len(ratios)} interleaved pairs)."
    )


def time_run(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
