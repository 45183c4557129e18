"""Do few labels pay, and do presumed ones help? Somebody reads lists from the top and labels until the answer is found.

    python benchmarks/few_labels.py                        an hour on two idle cores; writes docs/label-efficiency.md
    python benchmarks/few_labels.py --seeds 1 --labels 50  some minutes; writes nothing
    python benchmarks/few_labels.py --cache results.jsonl  goes on from what an earlier run measured

In each list the person labels at most three sentences from the top of the shipped cascade's ranking, up to the first
correct one, or else the first correct one below, if there is one. A retrain then learns from these labels alone, or
counts ten unlabelled sentences of a question with a correct one as incorrect, in three passes or eight. There are no
validation questions and no replay. WikiQA (train, with titles) is measured on questions outside the pool: all of dev
and 300 of train; MedQuAD on 150 questions about other topics (`_simulated.py` says how its lists are made).
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from _scores import score_by_last_exit
from _simulated import medquad, wikiqa
from _texts import DATA, require_files

from app.adapt.label_selection import PRESUMED, add_presumed
from app.adapt.settings import RetrainSettings
from app.adapt.training import MAX_PASSES, choose_train_settings
from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_each, order, paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.training.settings import ADAPT
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "label-efficiency.md"
POOL, MORE_WIKIQA, MEDQUAD_DEV = 300, 300, 150  # questions
MAX_READ = 3  # sentences of a list
LABELS, SEEDS = (50, 200), 2
RECIPES = {
    "before": (0, ADAPT.epochs),
    "more passes": (0, MAX_PASSES),
    "presumed": (PRESUMED, ADAPT.epochs),
    "both, as now": (PRESUMED, MAX_PASSES),
}
NAMES = {"wikiqa": "WikiQA, with titles", "medquad": "MedQuAD"}
Values = dict[str, float]  # question id -> AP


class Bench:
    """The sets and the shipped cascade; `known` is measured already: "set" before, "set labels seed recipe" after."""

    def __init__(self, cache: Path | None) -> None:
        self.cache = cache
        lines = cache.read_text(encoding="utf-8").splitlines() if cache and cache.exists() else []
        self.known: dict[str, Values] = {r["key"]: r["ap"] for r in map(json.loads, lines)}

    @cached_property
    def sets(self) -> dict[str, tuple[list[Question], list[Question]]]:
        """The pool to label, and the questions to measure on."""
        require_files("medquad/qa.jsonl", "wikiqa")
        wiki = wikiqa(DATA / "wikiqa", POOL, None)
        med = medquad(DATA / "medquad" / "qa.jsonl", POOL, MEDQUAD_DEV)
        pool = {q.qid for q in wiki.questions}
        train = load_questions(str(DATA / "wikiqa" / "WikiQA-train.tsv")).questions
        others = apply_setting([q for q in train if q.candidates and q.qid not in pool], "clean")
        random.Random(1).shuffle(others)
        return {
            "wikiqa": (list(wiki.questions), [*wiki.dev, *others[:MORE_WIKIQA]]),
            "medquad": (list(med.questions), list(med.dev)),
        }

    @cached_property
    def base(self) -> CascadeRanker:
        return get("cascade:drop_ratio=0,engine=torch")

    @cached_property
    def pool_scores(self) -> dict[str, dict[str, np.ndarray]]:
        return {name: score_by_last_exit(self.base, pool) for name, (pool, _) in self.sets.items()}

    def measure_base(self, name: str) -> Values:
        return self.known.get(name) or self._store(name, self.base, name)

    def measure(self, name: str, labels: int, seed: int, recipe: str) -> Values:
        key = f"{name} {labels} {seed} {recipe}"
        if values := self.known.get(key):
            return values
        presumed, epochs = RECIPES[recipe]
        questions = [add_presumed(q, presumed, seed) for q in self.read(name, labels, seed)]
        train = [q for q in questions if q.positives or q.negatives]
        settings = choose_train_settings(self.base, RetrainSettings(seed=seed, epochs=epochs), len(train))
        with tempfile.TemporaryDirectory() as folder:
            ranker = fine_tune(self.base, train, [], settings, workdir=Path(folder)).ranker
        return self._store(key, ranker, name)

    def read(self, name: str, labels: int, seed: int) -> list[Question]:
        """The questions that were read, with the labels that were given."""
        pool = list(self.sets[name][0])
        random.Random(seed).shuffle(pool)
        questions: list[Question] = []
        count = 0
        for q in pool:
            if count >= labels:
                break
            places = choose_places(q, self.pool_scores[name][q.qid])
            count += len(places)
            candidates = (c if i in places else replace(c, label=None) for i, c in enumerate(q.candidates))
            questions.append(replace(q, candidates=tuple(candidates)))
        return questions

    def _store(self, key: str, ranker: CascadeRanker, name: str) -> Values:
        dev = self.sets[name][1]
        values = measure_each(dev, score_by_last_exit(ranker, dev), ("AP",))["AP"]
        self.known[key] = {qid: round(float(ap), 5) for qid, ap in values.items()}
        if self.cache:
            with self.cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "ap": self.known[key]}) + "\n")
        print(f"{key}: AP {np.mean(list(values.values())):.3f}", flush=True)
        return self.known[key]


def choose_places(question: Question, scores: np.ndarray) -> set[int]:
    """The candidates that get a label."""
    places: set[int] = set()
    for i in order(scores)[:MAX_READ].tolist():
        places.add(i)
        if question.candidates[i].label == 1:
            return places
    correct = [i for i, c in enumerate(question.candidates) if c.label == 1]
    return places | set(correct[:1])


def make_table(bench: Bench, name: str, budgets: Sequence[int], seeds: int) -> list[str]:
    """Means over the seeds; differences are paired by question, with their 95 % intervals."""
    before = bench.measure_base(name)
    runs = {
        (recipe, labels): average([bench.measure(name, labels, seed, recipe) for seed in range(seeds)])
        for labels in budgets
        for recipe in RECIPES
    }
    heads = "".join(f" {n} labels | against no retrain | against the recipe before |" for n in budgets)
    lines = [f"**{NAMES[name]}**: {len(before)} questions, AP {mean(before):.3f} before.", "", f"| recipe |{heads}"]
    lines.append("|---|" + "---|" * (3 * len(budgets)))
    for recipe in RECIPES:
        cells = [
            f"{mean(runs[recipe, n]):.3f} | {describe(runs[recipe, n], before)} | "
            + ("" if recipe == "before" else describe(runs[recipe, n], runs["before", n]))
            for n in budgets
        ]
        lines.append(f"| {recipe} | {' | '.join(cells)} |")
    return [*lines, ""]


def average(runs: Sequence[Values]) -> Values:
    return {qid: float(np.mean([run[qid] for run in runs])) for qid in runs[0]}


def mean(values: Values) -> float:
    return float(np.mean(list(values.values())))


def describe(values: Values, others: Values) -> str:
    test = paired_test(values, others)
    return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=list(LABELS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--cache", type=Path, help="AP by question, one model a line: read first, then added to")
    arguments = parser.parse_args()
    bench = Bench(arguments.cache)
    tables = [line for name in NAMES for line in make_table(bench, name, arguments.labels, arguments.seeds)]
    title = f"Printed and written by `python benchmarks/few_labels.py`. Seeds: {arguments.seeds}."
    text = "\n".join([title, "", *tables])
    print(text)
    if (tuple(arguments.labels), arguments.seeds) == (LABELS, SEEDS):
        write_section(PAGE, "few-labels", text)


if __name__ == "__main__":
    main()
