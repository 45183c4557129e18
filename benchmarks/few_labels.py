"""Do few labels pay? Somebody reads lists from the top and labels until the answer is found; a retrain learns from it.

    python benchmarks/few_labels.py                        a day on two cores; writes docs/label-efficiency.md
    python benchmarks/few_labels.py --seeds 1 --labels 50  half an hour; writes nothing
    python benchmarks/few_labels.py --cache results.jsonl  goes on from what an earlier run measured
    python benchmarks/few_labels.py --ray auto --cache results.jsonl    on all cores of a cluster (docs/scale.md)
    python benchmarks/few_labels.py --stored               prints them from docs/results/label-efficiency.jsonl.gz

In each list the person labels at most three sentences from the top of the shipped cascade's ranking, up to the first
correct one, or else the first correct one below, if there is one. The recipes of `_recipes.py` learn from that; there
are no validation questions. WikiQA (train, with titles and without) is measured on questions outside the pool: all of
dev and 300 of train; MedQuAD on 150 questions about other topics (`_simulated.py` says how its lists are made); and
each model on `starter-test` too, which the shipped cascade must not forget.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from _cells import Cells, Values, add_cache_options, average, describe, mean
from _cells_on_ray import measure_on_ray
from _recipes import RECIPES, retrain
from _scores import score_by_last_exit
from _simulated import medquad, read_lists, wikiqa
from _texts import DATA, require_files

from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_each
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "label-efficiency.md"
POOL, MORE_WIKIQA, MEDQUAD_DEV = 300, 300, 150  # questions
NAMES = {"wikiqa": "WikiQA, with titles", "wikiqa-bare": "WikiQA, without titles", "medquad": "MedQuAD"}
FROZEN = "starter"


@dataclass(frozen=True, slots=True)
class Plan:
    labels: tuple[int, ...]
    recipes: tuple[str, ...]
    sets: tuple[str, ...]
    seeds: int


FULL = Plan((50, 200, 500), ("now", "strong-anchor", "one-by-one"), tuple(NAMES), 3)


class Bench:
    """The sets and the shipped cascade. `cells`: AP by question, "set" before and "set labels seed recipe" after, each
    with "starter" in the place of the set that is measured on, too."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._pool_scores: dict[str, dict[str, np.ndarray]] = {}

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
        return self.cells.get(name, lambda: self._measure(self.base, name))

    def measure_retrain(self, name: str, labels: int, seed: int, recipe: str) -> tuple[Values, Values]:
        """AP on the set, and on the shipped test questions."""
        key = f"{name} {labels} {seed} {recipe}"

        def measure() -> list[Values]:
            with tempfile.TemporaryDirectory() as folder:
                ranker = retrain(self.base, self.read(name, labels, seed), recipe, seed, Path(folder))
            return [self._measure(ranker, on) for on in (name, FROZEN)]

        here, there = self.cells.get_all([key, f"{FROZEN} after {key}"], measure)
        return here, there

    def pool_scores(self, name: str) -> dict[str, np.ndarray]:
        if name not in self._pool_scores:
            self._pool_scores[name] = score_by_last_exit(self.base, self.sets[name][0])
        return self._pool_scores[name]

    def read(self, name: str, labels: int, seed: int) -> list[Question]:
        """The questions that were read, with the labels that were arguments."""
        return read_lists(self.sets[name][0], self.pool_scores(name), labels, seed)

    def _measure(self, ranker: CascadeRanker, name: str) -> Values:
        dev = self.sets[name][1]
        return measure_each(dev, score_by_last_exit(ranker, dev), ("AP",))["AP"]


def remove_titles(question: Question) -> Question:
    return replace(question, candidates=tuple(replace(c, title="") for c in question.candidates))


def make_table(bench: Bench, name: str, plan: Plan) -> list[str]:
    """Means over the seeds; differences are paired by question, with their 95 % intervals."""
    before, frozen = bench.measure_base(name), bench.measure_base(FROZEN)
    lines = [
        f"**{NAMES[name]}**: {len(before)} questions, AP {mean(before):.3f} before; starter-test {mean(frozen):.3f}.",
        "",
        f"| labels | recipe | AP | against no retrain | against {plan.recipes[0]} | starter-test, against no retrain |",
        "|---|---|---|---|---|---|",
    ]
    for labels in plan.labels:
        first: Values = {}
        for recipe in plan.recipes:
            runs = [bench.measure_retrain(name, labels, seed, recipe) for seed in range(plan.seeds)]
            after, kept = (average(values) for values in zip(*runs, strict=True))
            against = describe(after, first) if first else ""
            first = first or after
            cells = f"{mean(after):.3f} | {describe(after, before)} | {against} | {describe(kept, frozen)}"
            lines.append(f"| {labels} | {recipe} | {cells} |")
    return [*lines, ""]


class Study:
    """The tables of all sets; the models are loaded once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._bench = Bench(Cells())

    def __call__(self, cells: Cells) -> Iterator[str]:
        """Line by line."""
        self._bench.cells = cells
        for name in self.plan.sets:
            yield from make_table(self._bench, name, self.plan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=FULL.labels)
    parser.add_argument("--recipes", nargs="+", choices=tuple(RECIPES), default=FULL.recipes)
    parser.add_argument("--sets", nargs="+", choices=FULL.sets, default=FULL.sets)
    parser.add_argument("--seeds", type=int, default=FULL.seeds)
    add_cache_options(parser)
    parser.add_argument(
        "--write", metavar="SECTION", help="write a section of docs/label-efficiency.md though it is a part"
    )
    arguments = parser.parse_args()
    plan = Plan(tuple(arguments.labels), tuple(arguments.recipes), tuple(arguments.sets), arguments.seeds)
    cells = Cells(arguments.cache)
    study = Study(plan)
    if arguments.ray:
        measure_on_ray(study, cells, arguments.ray)
    tables = list(study(cells))
    text = "\n".join([f"Printed and written by `{name_command(plan)}`. Seeds: {plan.seeds}.", "", *tables])
    print(text)
    if plan == FULL or arguments.write:
        write_section(PAGE, arguments.write or "few-labels", text)


def name_command(plan: Plan) -> str:
    """The command that prints the same."""
    parts = ["python benchmarks/few_labels.py"]
    for name in ("labels", "recipes", "sets"):
        if getattr(plan, name) != getattr(FULL, name):
            parts.append(f"--{name} {' '.join(map(str, getattr(plan, name)))}")
    parts += [f"--seeds {plan.seeds}"] if plan.seeds != FULL.seeds else []
    return " ".join(parts)


if __name__ == "__main__":
    import few_labels  # by its name, as the workers of Ray import it

    few_labels.main()
