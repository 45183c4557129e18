"""Do few labels pay? Somebody reads lists from the top and labels until the answer is found; a retrain learns from it.

    python benchmarks/few_labels.py                        hours on two idle cores; writes docs/label-efficiency.md
    python benchmarks/few_labels.py --seeds 1 --labels 50  half an hour; writes nothing
    python benchmarks/few_labels.py --cache results.jsonl  goes on from what an earlier run measured

In each list the person labels at most three sentences from the top of the shipped cascade's ranking, up to the first
correct one, or else the first correct one below, if there is one. The recipes of `_recipes.py` learn from that; there
are no validation questions. WikiQA (train, with titles and without) is measured on questions outside the pool: all of
dev and 300 of train; MedQuAD on 150 questions about other topics (`_simulated.py` says how its lists are made); and
each model on `starter-test` too, which the shipped cascade must not forget.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from _recipes import RECIPES, retrain
from _scores import score_by_last_exit
from _simulated import medquad, wikiqa
from _texts import DATA, require_files

from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_each, order, paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "label-efficiency.md"
POOL, MORE_WIKIQA, MEDQUAD_DEV = 300, 300, 150  # questions
MAX_READ = 3  # sentences of a list
NAMES = {"wikiqa": "WikiQA, with titles", "wikiqa-bare": "WikiQA, without titles", "medquad": "MedQuAD"}
FROZEN = "starter"
Values = dict[str, float]  # question id -> AP


@dataclass(frozen=True, slots=True)
class Plan:
    labels: tuple[int, ...]
    recipes: tuple[str, ...]
    sets: tuple[str, ...]
    seeds: int


FULL = Plan((50, 200), ("now", "one-by-one"), tuple(NAMES), 2)


class Bench:
    """The sets and the shipped cascade; `known` is measured already: "set" before, "set labels seed recipe" after,
    each with "starter" in the place of the set that is measured on, too."""

    def __init__(self, cache: Path | None) -> None:
        self.cache = cache
        self._pool_scores: dict[str, dict[str, np.ndarray]] = {}
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
        titled = list(wiki.questions), [*wiki.dev, *others[:MORE_WIKIQA]]
        starter = [q for q in load_questions("starter-test").questions if q.positives]
        return {
            "wikiqa": titled,
            "wikiqa-bare": ([remove_titles(q) for q in titled[0]], [remove_titles(q) for q in titled[1]]),
            "medquad": (list(med.questions), list(med.dev)),
            FROZEN: ([], starter),
        }

    @cached_property
    def base(self) -> CascadeRanker:
        return get("cascade:drop_ratio=0,engine=torch")

    def measure_base(self, name: str) -> Values:
        return self.known.get(name) or self._store(name, self.base, name)

    def measure(self, name: str, labels: int, seed: int, recipe: str) -> tuple[Values, Values]:
        """AP on the set, and on the shipped test questions."""
        keys = f"{name} {labels} {seed} {recipe}", f"{FROZEN} after {name} {labels} {seed} {recipe}"
        if not all(key in self.known for key in keys):
            with tempfile.TemporaryDirectory() as folder:
                ranker = retrain(self.base, self.read(name, labels, seed), recipe, seed, Path(folder))
            for key, measured in zip(keys, (name, FROZEN), strict=True):
                self._store(key, ranker, measured)
        return self.known[keys[0]], self.known[keys[1]]

    def pool_scores(self, name: str) -> dict[str, np.ndarray]:
        if name not in self._pool_scores:
            self._pool_scores[name] = score_by_last_exit(self.base, self.sets[name][0])
        return self._pool_scores[name]

    def read(self, name: str, labels: int, seed: int) -> list[Question]:
        """The questions that were read, with the labels that were arguments."""
        pool = list(self.sets[name][0])
        random.Random(seed).shuffle(pool)
        questions: list[Question] = []
        count = 0
        for q in pool:
            if count >= labels:
                break
            places = choose_places(q, self.pool_scores(name)[q.qid])
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


def remove_titles(question: Question) -> Question:
    return replace(question, candidates=tuple(replace(c, title="") for c in question.candidates))


def choose_places(question: Question, scores: np.ndarray) -> set[int]:
    """The candidates that get a label."""
    places: set[int] = set()
    for i in order(scores)[:MAX_READ].tolist():
        places.add(i)
        if question.candidates[i].label == 1:
            return places
    correct = [i for i, c in enumerate(question.candidates) if c.label == 1]
    return places | set(correct[:1])


def make_table(bench: Bench, name: str, plan: Plan) -> list[str]:
    """Means over the seeds; differences are paired by question, with their 95 % intervals."""
    before, frozen = bench.measure_base(name), bench.measure_base(FROZEN)
    lines = [
        f"**{NAMES[name]}**: {len(before)} questions, AP {mean(before):.3f} before; starter-test {mean(frozen):.3f}.",
        "",
        "| labels | recipe | AP | against no retrain | starter-test, against no retrain |",
        "|---|---|---|---|---|",
    ]
    for labels in plan.labels:
        for recipe in plan.recipes:
            runs = [bench.measure(name, labels, seed, recipe) for seed in range(plan.seeds)]
            after, kept = (average(values) for values in zip(*runs, strict=True))
            lines.append(
                f"| {labels} | {recipe} | {mean(after):.3f} | {describe(after, before)} | {describe(kept, frozen)} |"
            )
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
    parser.add_argument("--labels", type=int, nargs="+", default=FULL.labels)
    parser.add_argument("--recipes", nargs="+", choices=tuple(RECIPES), default=FULL.recipes)
    parser.add_argument("--sets", nargs="+", choices=FULL.sets, default=FULL.sets)
    parser.add_argument("--seeds", type=int, default=FULL.seeds)
    parser.add_argument("--cache", type=Path, help="AP by question, one model a line: read first, then added to")
    parser.add_argument("--write", action="store_true", help="write docs/label-efficiency.md though it is a part")
    arguments = parser.parse_args()
    plan = Plan(tuple(arguments.labels), tuple(arguments.recipes), tuple(arguments.sets), arguments.seeds)
    bench = Bench(arguments.cache)
    tables = [line for name in plan.sets for line in make_table(bench, name, plan)]
    text = "\n".join([f"Printed and written by `{name_command(plan)}`. Seeds: {plan.seeds}.", "", *tables])
    print(text)
    if plan == FULL or arguments.write:
        write_section(PAGE, "few-labels", text)


def name_command(plan: Plan) -> str:
    """The command that prints the same."""
    parts = ["python benchmarks/few_labels.py"]
    for name in ("labels", "recipes", "sets"):
        if getattr(plan, name) != getattr(FULL, name):
            parts.append(f"--{name} {' '.join(map(str, getattr(plan, name)))}")
    parts += [f"--seeds {plan.seeds}"] if plan.seeds != FULL.seeds else []
    return " ".join(parts)


if __name__ == "__main__":
    main()
