"""Which queue, and what whole questions, wrong labels and replay do to a retrain: AP by labels given.

    python benchmarks/label_efficiency.py             three seeds, 50 to 500 labels: a day on two cores
    python benchmarks/label_efficiency.py --tiny      half an hour, to see that it runs; writes nothing
    python benchmarks/label_efficiency.py --only wrong --seeds 1    one part alone: queues, questions, wrong or replay
    python benchmarks/label_efficiency.py --cache results.jsonl     goes on from what an earlier run measured
    python benchmarks/label_efficiency.py --ray auto --cache results.jsonl    on all cores of a cluster (docs/scale.md)
    python benchmarks/label_efficiency.py --stored    prints the tables from docs/results/label-efficiency.jsonl.gz

Two sets, `--set` for one of them: WikiQA's train part, and MedQuAD, are the unlabelled pool, and their labels are the
person (`_simulated.py` says how). A queue decides which pairs that person is asked about; or whole lists are read until
the answer is found, in any order or those first whose two best candidates are closest. The shipped cascade learns from
the answers as in a retrain before decision 111 (`strong-anchor` of `_recipes.py`) and is measured on questions nobody
was asked about: WikiQA's dev part and 300 questions of its train part outside the pool, and 300 of MedQuAD about other
topics. There are no validation questions, since these would be labels that nobody counted. The sets are read from
AS2_BENCH_DATA, or from ../shared/data beside the repository. Writes docs/label-efficiency.md and its pictures.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import torch
from _cells import Cells, Values, add_cache_options, average, describe, mean
from _cells_on_ray import measure_on_ray
from _recipes import STRONG, learn
from _scores import score_by_last_exit
from _simulated import Desk, Pool, medquad, read_lists, wikiqa
from _texts import DATA, require_files

from app.adapt import label_noise
from app.adapt.label_selection import PRESUMED_COUNT, presume_incorrect
from app.adapt.settings import REPLAY
from app.adapt.training import train_judge
from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import write_section
from as2core.experiments.picture import BLUE, GREEN, GREY, INK, ORANGE, Series, scatter
from as2core.metrics import measure_each
from as2core.nn.backbone import DEFAULT_BACKBONE
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.system.files import write_text
from as2core.training.noise import flip_labels
from as2core.training.settings import ADAPT
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "label-efficiency.md"
LISTS, CLOSEST = "lists", "lists, closest"  # read from the top until the answer is found
QUEUES = (LISTS, CLOSEST, "random", "uncertain", "disagree", "early", "dropped", "tops")
BARE = "random, no transfer"
COLOURS = {
    LISTS: "#c0392b",
    CLOSEST: "#d98880",
    "random": GREY,
    "uncertain": BLUE,
    "disagree": GREEN,
    "early": "#8a63c4",
    "dropped": "#b3577a",
    "tops": INK,
    BARE: ORANGE,
}
WRONG_SHARE = 0.2
PAPER = {"exit_draw": ADAPT.exit_draw, "learning_rate": ADAPT.learning_rate}
REPLAYS = tuple(sorted({0.0, REPLAY, 0.5, 1.0}))

PartResult = tuple[list[str], str | None]  # the lines of a part of the page, and its picture


@dataclass(frozen=True, slots=True)
class Plan:
    """`pool`: questions of the unlabelled pool, `dev`: those of each set to measure on at most, `more`: questions of
    WikiQA's train part beside its dev part. `questions`: budgets of whole questions with an answer, `whole`: how many
    the full set is at most. `replay`: whole questions beside the replay."""

    budgets: tuple[int, ...]
    questions: tuple[int, ...]
    whole: int
    seeds: int
    pool: int
    dev: int
    more: int
    replay: int = 100


FULL = Plan((50, 200, 500), (50, 200), 800, 3, 600, 300, 300)
TINY = Plan((20, 40), (6,), 12, 1, 24, 12, 6, 6)


class Bench:
    """One pool, the rankers, and what adapting to some of its labels brings. `cells`: AP by question of each ranker."""

    def __init__(self, pool: Pool, everything: Pool, plan: Plan, cells: Cells) -> None:
        """`pool` is asked about; `everything` are all questions, to label whole ones of."""
        self.pool, self.plan, self.cells = pool, plan, cells
        self.able = [q for q in everything.questions if q.positives][: plan.whole]
        self._desks: dict[int, Desk] = {}
        self._labelled: dict[tuple[str, int], list[list[Question]]] = {}
        self._known_scores: dict = {}
        self._open = contextlib.ExitStack()

    def close(self) -> None:
        self._open.close()

    @cached_property
    def base(self) -> CascadeRanker:
        return get("cascade:drop_ratio=0,engine=torch")

    @cached_property
    def bare(self) -> CascadeRanker:
        torch.manual_seed(0)
        return get(f"cascade:backbone={DEFAULT_BACKBONE},drop_ratio=0,engine=torch")

    @property
    def before(self) -> Values:
        return self.measure("before", lambda: self.base)

    def measure(
        self, what: str, build: Callable[[], CascadeRanker], questions: Sequence[Question] | None = None
    ) -> Values:
        """AP by question, of `questions` in place of the pool's."""
        return self.cells.get(f"{self.pool.name}: {what}", lambda: _measure_ap(build(), questions or self.pool.dev))

    def list_labelled(self, queue: str, seed: int) -> list[list[Question]]:
        """What there is to learn from after each budget."""
        if (queue, seed) not in self._labelled:
            is_list = queue in (LISTS, CLOSEST)
            self._labelled[queue, seed] = self._read_lists(queue, seed) if is_list else self._ask(queue, seed)
        return self._labelled[queue, seed]

    def _ask(self, queue: str, seed: int) -> list[list[Question]]:
        if seed not in self._desks:
            desk = Desk(self.pool, seed=seed, known=self._known_scores)
            self._desks[seed] = self._open.enter_context(desk)
        return list(self._desks[seed].sitting(queue, self.plan.budgets))

    def _read_lists(self, queue: str, seed: int) -> list[list[Question]]:
        def read(labels: int) -> list[Question]:
            lists = read_lists(self.pool.questions, self._pool_scores, labels, seed, closest=queue == CLOSEST)
            return [added for q in lists if (added := presume_incorrect(q, PRESUMED_COUNT, seed)).candidates]

        return [read(budget) for budget in self.plan.budgets]

    @cached_property
    def _pool_scores(self) -> dict[str, np.ndarray]:
        return score_by_last_exit(self.base, self.pool.questions)

    def adapt(self, base, train: Sequence[Question], seed: int, *, doubtful: bool = False, **changes):
        """The base after a retrain on these labels, with the `doubtful` ones or without; the base itself where they are
        of one kind only."""
        if not doubtful:
            train = self.filter(train, seed).questions
        if not any(q.positives for q in train) or not any(q.negatives for q in train):
            return base
        with tempfile.TemporaryDirectory() as folder:
            return learn(base, train, Path(folder), seed=seed, **STRONG, **changes)

    def filter(self, train: Sequence[Question], seed: int) -> label_noise.FilteredLabels:
        with tempfile.TemporaryDirectory() as folder:

            def learnt(half: Sequence[Question], number: int):
                return train_judge(self.base, half, Path(folder) / str(number), seed=seed)

            return label_noise.filter_labels(self.base, train, seed=seed, train_judge=learnt)

    def measure_whole(self, n: int, seed: int, **changes) -> Values:
        """After so many whole questions."""
        what = ", ".join([f"{n} whole questions", *(f"{k}={v}" for k, v in sorted(changes.items())), f"seed {seed}"])
        return self.measure(what, lambda: self.adapt(self.base, self.whole(n, seed), seed, **changes))

    def whole(self, n: int, seed: int) -> list[Question]:
        return random.Random(seed).sample(self.able, min(n, len(self.able)))


def _measure_ap(ranker: CascadeRanker, questions: Sequence[Question]) -> Values:
    return measure_each(questions, score_by_last_exit(ranker, questions), ("AP",))["AP"]


def by_labels(bench: Bench) -> PartResult:
    """AP by labels and queue, as a table and a picture."""
    plan, bare = bench.plan, bench.measure("no transfer", lambda: bench.bare)
    found: dict[str, dict[int, Values]] = {}
    for name in (*QUEUES, BARE):
        runs = [_run_queue(bench, name, seed) for seed in range(plan.seeds)]
        found[name] = {b: average([run[b] for run in runs]) for b in plan.budgets}
    heads, rule = " | ".join(f"{b:,} labels" for b in plan.budgets), "---|" * len(plan.budgets)
    lines = [f"AP before: {mean(bench.before):.3f}; of the encoder without transfer {mean(bare):.3f}.", ""]
    lines += [f"| queue | {heads} |", f"|---|{rule}"]
    for name, by in found.items():
        start = bare if name == BARE else bench.before
        cells = " | ".join(f"{mean(by[b]):.3f}, {describe(by[b], start)}" for b in plan.budgets)
        lines.append(f"| {name} | {cells} |")
    lines += ["", f"`{LISTS}`, as Label opens, against each of the others:", ""]
    lines += [f"| against | {heads} |", f"|---|{rule}"]
    for name in (q for q in QUEUES if q != LISTS):
        cells = " | ".join(describe(found[LISTS][b], found[name][b]) for b in plan.budgets)
        lines.append(f"| {name} | {cells} |")
    means = {name: {b: mean(values) for b, values in by.items()} for name, by in found.items()}
    picture = scatter(
        [Series(name, tuple(by.items()), COLOURS[name], line=True) for name, by in means.items()],
        title=f"AP on {bench.pool.name} by labels given (before: {mean(bench.before):.3f})",
        x_title="labels",
        y_title="AP",
    )
    return [*lines, "", _compare_with_random(means, mean(bench.before), plan.budgets), ""], picture


def _run_queue(bench: Bench, name: str, seed: int) -> dict[int, Values]:
    """By budget. "No transfer" learns from what was drawn at random."""
    queue = "random" if name == BARE else name

    def adapt(place: int) -> CascadeRanker:
        return bench.adapt(bench.bare if name == BARE else bench.base, bench.list_labelled(queue, seed)[place], seed)

    return {
        budget: bench.measure(f"{name}, {budget} labels, seed {seed}", lambda place=place: adapt(place))
        for place, budget in enumerate(bench.plan.budgets)
    }


def _compare_with_random(means: dict[str, dict[int, float]], before: float, budgets: Sequence[int]) -> str:
    """How many labels the queues need for what random selection reaches."""
    most = max(budgets, key=lambda b: means["random"][b])
    goal = means["random"][most]
    if goal <= before:
        return "Random selection gains nothing here, so the queues cannot be compared."
    labels_needed = {q: labels_for(goal, before, means[q]) for q in QUEUES if q != "random"}
    reached = {q: n for q, n in labels_needed.items() if n is not None}
    if not reached:
        return f"No queue reaches the AP of random selection with {most:,} labels ({goal:.3f})."
    needed = ", ".join(f"`{q}` {n:,.0f}" for q, n in sorted(reached.items(), key=lambda x: x[1]))
    return (
        f"Labels needed to reach the AP of {most:,} random labels ({goal:.3f}): {needed}; the other queues need more."
    )


def labels_for(goal: float, before: float, by: dict[int, float]) -> float | None:
    """The labels at which a curve first reaches the goal, in straight lines between budgets; None if it does not."""
    points = [(0, before), *sorted(by.items())]
    for (n, a), (m, b) in pairwise(points):
        if b >= goal:
            return n + (m - n) * (goal - a) / (b - a) if b > a else float(m)
    return None


def by_questions(bench: Bench) -> PartResult:
    """Whole questions labelled: what share of the full set's gain a few bring, and what the way of training does."""
    everything, start = len(bench.able), mean(bench.before)
    rows = []
    for n in sorted({*(n for n in bench.plan.questions if n < everything), everything}):
        runs = [bench.measure_whole(n, seed) for seed in range(1 if n == everything else bench.plan.seeds)]
        rows.append((n, average(runs)))
    gain = mean(rows[-1][1]) - start
    lines = ["| whole questions with an answer | AP | gain | share of the full set's gain |", "|---|---|---|---|"]
    for n, values in rows:
        share = f"{(mean(values) - start) / gain:.0%}" if gain > 0 else ""
        lines.append(f"| {n:,} | {mean(values):.3f} | {describe(values, bench.before)} | {share} |")
    return [*lines, "", *_compare_training(bench)], None


def _compare_training(bench: Bench) -> list[str]:
    """The same labels learnt as a retrain does, and as the cascade's paper does: one exit drawn for every step."""
    n = min(max(bench.plan.questions), len(bench.able))
    lines = [f"| {n:,} whole questions | AP | gain |", "|---|---|---|"]
    for name, settings in (("all exits at every step", {}), ("one exit drawn per step", PAPER)):
        values = average([bench.measure_whole(n, seed, **settings) for seed in range(bench.plan.seeds)])
        lines.append(f"| {name} | {mean(values):.3f} | {describe(values, bench.before)} |")
    return [*lines, ""]


def wrong_labels(bench: Bench) -> PartResult:
    """A fifth of the labels turned round: what it costs, learnt as they are and as a retrain does."""
    n, seeds = min(max(bench.plan.questions), len(bench.able)), range(bench.plan.seeds)
    right = average([bench.measure_whole(n, seed) for seed in seeds])
    flipped = {seed: flip_labels(bench.whole(n, seed), WRONG_SHARE, seed=seed)[0] for seed in seeds}

    def measure(labels: str, doubtful: bool) -> Values:
        def adapt(seed: int) -> CascadeRanker:
            return bench.adapt(bench.base, flipped[seed], seed, doubtful=doubtful)

        what = f"{n} whole questions, a fifth wrong, {labels}"
        return average([bench.measure(f"{what}, seed {s}", lambda s=s: adapt(s)) for s in seeds])

    lines = [f"A fifth of the labels of {n:,} questions was flipped:", ""]
    lines += ["| training labels | AP | against the right labels | |", "|---|---|---|---|"]
    lines += [f"| the right labels | {mean(right):.3f} | | |"]
    for labels, doubtful in (("all labels", True), ("without those that look wrong, as in a retrain", False)):
        values = measure(labels, doubtful)
        share = mean(values) / mean(right) - 1
        lines.append(f"| {labels} | {mean(values):.3f} | {describe(values, right)} | {share:+.1%} |")
    counts = average([_count_left_out(bench, n, flipped[seed], seed) for seed in seeds])
    return [
        *lines,
        "",
        f"{counts['share']:.0%} of the labels were excluded; {counts['hits']:.0%} of these were wrong. Without flipped "
        f"labels, {counts['share when right']:.1%} were excluded.",
        "",
    ], None


def _count_left_out(bench: Bench, n: int, noisy: Sequence[Question], seed: int) -> Values:
    """The share of the labels that a retrain leaves out, the share of these that are wrong, and the share that is left
    out where all are right."""

    def count() -> Values:
        clean = bench.whole(n, seed)
        right = {(q.qid, c.id): c.label for q in clean for c in q.candidates}
        excluded = bench.filter(noisy, seed).excluded_labels
        hits = sum(right[q.qid, c.id] != c.label for q, c in excluded)
        return {
            "share": len(excluded) / len(right),
            "hits": hits / max(1, len(excluded)),
            "share when right": len(bench.filter(clean, seed).excluded_labels) / len(right),
        }

    return bench.cells.get(f"{bench.pool.name}: left out of {n} whole questions, seed {seed}", count)


def replay(bench: Bench) -> PartResult:
    """Adapting with a share of the shipped training questions as anchors: what it gains here and forgets there."""
    frozen = [q for q in load_questions("starter-test").questions if q.positives]
    start = bench.measure("before, starter-test", lambda: bench.base, frozen)
    lines = [
        f"AP before: {mean(bench.before):.3f} on {bench.pool.name}, {mean(start):.3f} on starter-test.",
        "",
        f"| replay | AP on {bench.pool.name} | gain | AP on starter-test | gain |",
        "|---|---|---|---|---|",
    ]
    n = bench.plan.replay
    for share in REPLAYS:
        here, there = [], []
        for seed in range(bench.plan.seeds):
            key = f"{bench.pool.name}: {n} whole questions, replay={share:g}, seed {seed}"
            measure = partial(_measure_beside, bench, share, seed, frozen)
            pair = bench.cells.get_all([f"{key}, starter-test", key], measure)
            there.append(pair[0])
            here.append(pair[1])
        both = (average(here), bench.before), (average(there), start)
        cells = " | ".join(f"{mean(values):.3f} | {describe(values, before)}" for values, before in both)
        lines.append(f"| {share:g} | {cells} |")
    return [*lines, ""], None


def _measure_beside(bench: Bench, share: float, seed: int, frozen: Sequence[Question]) -> list[Values]:
    """Learnt with this share of the shipped questions as anchors: AP on `frozen`, and on the pool's questions."""
    ranker = bench.adapt(bench.base, bench.whole(bench.plan.replay, seed), seed, replay=share)
    return [_measure_ap(ranker, questions) for questions in (frozen, bench.pool.dev)]


PARTS: dict[str, tuple[str, Callable[[Bench], PartResult]]] = {
    "queues": ("labels by queue", by_labels),
    "questions": ("whole questions", by_questions),
    "wrong": ("wrong labels", wrong_labels),
    "replay": ("replay", replay),
}


def pools(name: str, plan: Plan) -> tuple[Pool, Pool]:
    """(what is asked about, everything), over the same questions to measure on."""
    require_files("medquad/qa.jsonl" if name == "medquad" else "wikiqa")
    if name == "medquad":
        everything = medquad(DATA / "medquad" / "qa.jsonl", 4 * plan.whole, plan.dev)
        return replace(everything, questions=everything.questions[: plan.pool]), everything
    train = wikiqa(DATA / "wikiqa", None, plan.dev)
    questions = random.Random(0).sample(train.questions, len(train.questions))
    others = random.Random(1).sample(apply_setting(questions, "clean"), plan.more)
    measured = {q.qid for q in others}
    left = tuple(q for q in questions if q.qid not in measured)
    everything = replace(train, questions=left, dev=(*train.dev, *others))
    return replace(everything, questions=left[: plan.pool]), everything


def section(bench: Bench, part: str, command: str) -> PartResult:
    title, write = PARTS[part]
    lines, picture = write(bench)
    pool, able = len(bench.pool.questions), len(bench.able)
    source = f"{able:,} questions with an answer" if part == "questions" else f"a pool of {pool:,} questions"
    head = [
        f"## {bench.pool.name}: {title}",
        "",
        f"Printed and written by `{command}`. Seeds: {bench.plan.seeds}; {source}, {len(bench.pool.dev):,} to measure "
        "on.",
        "",
    ]
    return [*head, *lines], picture


class Study:
    """All parts that were asked for; the pools are made, and the models loaded, once. Use it with `with`."""

    def __init__(self, sets: Sequence[str], parts: Sequence[str], plan: Plan, flags: str) -> None:
        self.sets, self.parts, self.plan, self.flags = sets, parts, plan, flags
        self._benches: dict[str, Bench] = {}

    def __call__(self, cells: Cells) -> Iterator[tuple[str, PartResult]]:
        """With the name of its section, each as it is done."""
        for name in self.sets:
            if name not in self._benches:
                self._benches[name] = Bench(*pools(name, self.plan), self.plan, cells)
            bench = self._benches[name]
            bench.cells = cells
            for part in self.parts:
                command = f"python benchmarks/label_efficiency.py --set {name} --only {part}{self.flags}"
                yield f"{name}-{part}", section(bench, part, command)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for bench in self._benches.values():
            bench.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--set", choices=("wikiqa", "medquad"))
    parser.add_argument("--only", choices=tuple(PARTS))
    parser.add_argument("--seeds", type=int)
    add_cache_options(parser)
    arguments = parser.parse_args()
    plan = TINY if arguments.tiny else FULL
    plan = replace(plan, seeds=arguments.seeds or plan.seeds)
    flags = f" --seeds {arguments.seeds}" if arguments.seeds else ""
    sets = [arguments.set] if arguments.set else ["wikiqa", "medquad"]
    parts = [arguments.only] if arguments.only else list(PARTS)
    cells = Cells(arguments.cache)
    with Study(sets, parts, plan, flags) as study:
        if arguments.ray:
            measure_on_ray(study, cells, arguments.ray)
        for name, (lines, picture) in study(cells):
            text, file = "\n".join(lines), PAGE.with_name(f"label-efficiency-{name.split('-')[0]}.svg")
            if picture is not None:
                text = text.replace("\n| ", f"\n![AP by labels given]({file.name})\n\n| ", 1)
            print(text)
            if not arguments.tiny:
                write_section(PAGE, name, text)
                if picture is not None:
                    write_text(picture, file)


if __name__ == "__main__":
    import label_efficiency  # by its name, as the workers of Ray import it

    label_efficiency.main()
