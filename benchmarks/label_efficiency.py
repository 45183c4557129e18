"""How much a label is worth: queues against chance, transfer against none, what wrong labels cost, what replay saves.

    python benchmarks/label_efficiency.py             one seed over a pool of 300 questions: an hour or two
    python benchmarks/label_efficiency.py --full      three seeds, 50 to 1,000 labels, all questions: some hours
    python benchmarks/label_efficiency.py --tiny      a minute, to see that it runs; writes nothing
    python benchmarks/label_efficiency.py --only wrong --seeds 3    one part alone: queues, questions, wrong or replay

Two sets, `--set` for one of them: WikiQA's train part, and MedQuAD, are the unlabelled pool, and their labels are the
person (`_simulated.py` says how). A queue decides which pairs that person is asked about; the shipped cascade learns
from the answers with a retrain's settings and is measured on questions nobody was asked about. Nothing steers the
training, since a dev set would be labels that nobody counted. The sets are read from AS2_BENCH_DATA, or from
../shared/data beside the repository. Writes docs/label-efficiency.md and its pictures.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from _simulated import Desk, Pool, medquad, wikiqa
from _texts import DATA, require_files

from app.adapt import label_noise
from app.adapt.settings import RetrainSettings
from app.adapt.training import choose_train_settings, train_judge
from as2core.data.catalog import load_questions
from as2core.data.source import write_text
from as2core.evaluation import evaluate
from as2core.experiments.base import write_section
from as2core.experiments.picture import BLUE, GREEN, GREY, INK, ORANGE, Series, scatter
from as2core.nn.backbone import DEFAULT_BACKBONE
from as2core.rankers.catalog import get
from as2core.training.anchors import strip_labels
from as2core.training.fine_tune import fine_tune
from as2core.training.noise import flip_labels
from as2core.training.settings import ADAPT
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "label-efficiency.md"
QUEUES = ("random", "uncertain", "disagree", "early", "dropped", "tops")
BARE = "random, no transfer"
COLOURS = {
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
REPLAYS = (0.0, 0.25, 0.5, 1.0)

OnMessage = Callable[[str], None]
PartResult = tuple[list[str], str | None]  # the lines of a part of the page, and its picture


@dataclass(frozen=True, slots=True)
class Plan:
    """`pool`: questions of the unlabelled pool, `dev`: to measure on, None for all. `questions`: budgets of whole
    questions with an answer, `whole`: how many the full set is at most. `replay`: whole questions beside the replay."""

    budgets: tuple[int, ...]
    questions: tuple[int, ...]
    whole: int | None
    seeds: int
    pool: int | None
    dev: int | None
    replay: int = 100


SMALL = Plan((50, 200, 500), (50, 200), 400, 1, 300, 120)
FULL = Plan((50, 100, 200, 500, 1000), (50, 100, 200), None, 3, None, None)
TINY = Plan((20, 40), (6,), 12, 1, 24, 12, 6)


class Bench:
    """One pool, the rankers, and what adapting to some of its labels brings."""

    def __init__(self, pool: Pool, everything: Pool, plan: Plan, say: OnMessage) -> None:
        """`pool` is asked about; `everything` are all questions, to label whole ones of."""
        self.pool, self.plan, self.say = pool, plan, say
        self._taught: dict[tuple, float] = {}
        self.able = [q for q in everything.questions if q.positives][: plan.whole]

    @cached_property
    def base(self):
        return get("cascade:drop_ratio=0,engine=torch")

    @cached_property
    def bare(self):
        torch.manual_seed(0)
        return get(f"cascade:backbone={DEFAULT_BACKBONE},drop_ratio=0,engine=torch")

    @cached_property
    def before(self) -> float:
        return self.ap(self.base)

    def ap(self, ranker, questions: Sequence[Question] | None = None) -> float:
        return evaluate(ranker, questions or self.pool.dev).metrics["AP"]

    def adapted(self, base, train: Sequence[Question], seed: int, *, doubtful: bool = False, **changes):
        """The base after a retrain on these labels, with the `doubtful` ones or without; the base itself where they are
        of one kind only."""
        if not doubtful:
            train = self.believed(train, seed).questions
        if not any(q.positives for q in train) or not any(q.negatives for q in train):
            return base
        with tempfile.TemporaryDirectory() as folder:
            count = sum(bool(q.positives or q.negatives) for q in train)
            settings = replace(choose_train_settings(base, RetrainSettings(seed=seed), count), **changes)
            return fine_tune(base, train, [], settings, workdir=Path(folder)).ranker

    def believed(self, train: Sequence[Question], seed: int) -> label_noise.FilteredLabels:
        with tempfile.TemporaryDirectory() as folder:

            def learnt(half: Sequence[Question], number: int):
                return train_judge(self.base, half, Path(folder) / str(number), seed=seed)

            return label_noise.filter_labels(self.base, train, seed=seed, train_judge=learnt)

    @cached_property
    def others(self):
        return get("generative"), get("bi-encoder")

    def signals(self, q: Question) -> np.ndarray:
        """What the list of doubted labels goes by."""
        generative, cosine = (ranker.score(q.text, q.candidates) for ranker in self.others)
        return label_noise.extract_features(self.base.trace(q.text, q.candidates), generative, cosine)

    def taught(self, n: int, seed: int, **changes) -> float:
        """AP after so many whole questions; the same asked again is not trained again."""
        key = (n, seed, *sorted(changes.items()))
        if key not in self._taught:
            self._taught[key] = self.ap(self.adapted(self.base, self.whole(n, seed), seed, **changes))
        return self._taught[key]

    def whole(self, n: int, seed: int) -> list[Question]:
        return random.Random(seed).sample(self.able, min(n, len(self.able)))


def by_labels(bench: Bench) -> PartResult:
    """AP by labels and queue, as a table and a picture."""
    plan, before = bench.plan, {BARE: bench.ap(bench.bare)}
    found: dict[str, dict[int, list[float]]] = {name: {b: [] for b in plan.budgets} for name in (*QUEUES, BARE)}
    known: dict = {}
    left_out = []
    for seed in range(plan.seeds):
        with Desk(bench.pool, seed=seed, known=known) as desk:
            for queue in QUEUES:
                for budget, train in zip(plan.budgets, desk.sitting(queue, plan.budgets), strict=True):
                    left_out.append(len(bench.believed(train, seed).left_out) / budget)
                    for name, base in ((queue, bench.base), *([(BARE, bench.bare)] if queue == "random" else [])):
                        found[name][budget].append(bench.ap(bench.adapted(base, train, seed)))
                        correct = sum(q.positives for q in train)
                        bench.say(f"{name}, {budget} labels ({correct} correct): AP {found[name][budget][-1]:.3f}")
    means = {name: {b: mean(values) for b, values in by.items()} for name, by in found.items()}
    heads = " | ".join(f"{b:,}" for b in plan.budgets)
    lines = [f"| queue | before | {heads} |", "|---|---|" + "---|" * len(plan.budgets)]
    for name, by in means.items():
        cells = " | ".join(f"{by[b]:.3f}" for b in plan.budgets)
        lines.append(f"| {name} | {before.get(name, bench.before):.3f} | {cells} |")
    picture = scatter(
        [Series(name, tuple(by.items()), COLOURS[name], line=True) for name, by in means.items()],
        title=f"AP on {bench.pool.name} by labels given (before: {bench.before:.3f})",
        x_title="labels",
        y_title="AP",
    )
    told = [
        _against_chance(means, bench.before, plan.budgets),
        f"All of these labels are right. At most {max(left_out):.1%} of them were excluded as probably wrong in any "
        "run.",
    ]
    return [*lines, "", *told, ""], picture


def _against_chance(means: dict[str, dict[int, float]], before: float, budgets: Sequence[int]) -> str:
    """How many labels the queues need for what chance reaches."""
    most = max(budgets, key=lambda b: means["random"][b])
    goal = means["random"][most]
    if goal <= before:
        return "Random selection gains nothing here, so the queues cannot be compared."
    labels_needed = {q: labels_for(goal, before, means[q]) for q in QUEUES if q != "random"}
    reached = {q: n for q, n in labels_needed.items() if n is not None}
    if not reached:
        return f"No queue reaches the AP of random selection with {most:,} labels ({goal:.3f})."
    said = ", ".join(f"`{q}` {n:,.0f}" for q, n in sorted(reached.items(), key=lambda x: x[1]))
    return f"Labels needed to reach the AP of {most:,} random labels ({goal:.3f}): {said}; the other queues need more."


def labels_for(goal: float, before: float, by: dict[int, float]) -> float | None:
    """The labels at which a curve first reaches the goal, in straight lines between budgets; None if it does not."""
    points = [(0, before), *sorted(by.items())]
    for (n, a), (m, b) in pairwise(points):
        if b >= goal:
            return n + (m - n) * (goal - a) / (b - a) if b > a else float(m)
    return None


def by_questions(bench: Bench) -> PartResult:
    """Whole questions labelled: what share of the full set's gain a few bring, and what the way of training does."""
    rows = []
    for n in sorted({*(n for n in bench.plan.questions if n < len(bench.able)), len(bench.able)}):
        seeds = range(1 if n == len(bench.able) else bench.plan.seeds)
        rows.append((n, mean(bench.taught(n, s) for s in seeds)))
        bench.say(f"{n} whole questions: AP {rows[-1][1]:.3f}")
    gain = rows[-1][1] - bench.before
    lines = ["| whole questions with an answer | AP | gain | share of the full set's gain |", "|---|---|---|---|"]
    for n, value in rows:
        share = f"{(value - bench.before) / gain:.0%}" if gain > 0 else ""
        lines.append(f"| {n:,} | {value:.3f} | {value - bench.before:+.3f} | {share} |")
    return [*lines, "", *by_training(bench)], None


def by_training(bench: Bench) -> list[str]:
    """The same labels learnt as a retrain does, and as the cascade's paper does: one exit drawn for every step."""
    n = min(max(bench.plan.questions), len(bench.able))
    lines = [f"| {n:,} whole questions | AP | gain |", "|---|---|---|"]
    for name, settings in (("all exits at every step", {}), ("one exit drawn per step", PAPER)):
        seeds = range(bench.plan.seeds)
        value = mean(bench.taught(n, s, **settings) for s in seeds)
        lines.append(f"| {name} | {value:.3f} | {value - bench.before:+.3f} |")
        bench.say(lines[-1])
    return [*lines, ""]


def wrong_labels(bench: Bench) -> PartResult:
    """A fifth of the labels turned round: what it costs, learnt as they are and as a retrain does, and how many the
    list of doubted labels finds."""
    costs, shares, found, n = [], [], [], min(max(bench.plan.questions), len(bench.able))
    for seed in range(bench.plan.seeds):
        clean = bench.whole(n, seed)
        noisy, _ = flip_labels(clean, WRONG_SHARE, seed=seed)
        given = np.array([c.label or 0 for q in noisy for c in q.candidates])
        flipped = given != np.array([c.label or 0 for q in clean for c in q.candidates])
        said = np.concatenate([bench.signals(q) for q in clean])
        questions = [i for i, q in enumerate(noisy) for _ in q.candidates]
        doubt = label_noise.probability_of_other(label_noise.cross_validate(said, given, questions, seed=seed), given)
        quarter = np.isin(np.arange(len(given)), np.argsort(-doubt, kind="stable")[: len(given) // 4])
        kinds = (flipped, flipped & (given == 1), flipped & (given == 0))
        found.append([float(quarter[kind].mean()) if kind.any() else 0.0 for kind in kinds])
        told, trusted = bench.believed(clean, seed), bench.believed(noisy, seed)
        right = {(q.qid, c.id): c.label for q in clean for c in q.candidates}
        hits = sum(right[q.qid, c.id] != c.label for q, c in trusted.left_out)
        out = len(trusted.left_out)
        shares.append((len(told.left_out) / len(given), out / len(given), hits / max(1, out)))
        ways = (noisy, trusted.questions)
        learnt = [bench.ap(bench.adapted(bench.base, labels, seed, doubtful=True)) for labels in ways]
        costs.append((bench.taught(n, seed), *learnt))
        bench.say(f"a fifth flipped: AP {costs[-1]}, left out {shares[-1]}, found {found[-1][0]:.0%}")
    right, believed, without = np.mean(costs, axis=0)
    out_clean, out_noisy, hits = np.mean(shares, axis=0)
    all_of_them, made_correct, made_incorrect = np.mean(found, axis=0)
    return [
        f"A fifth of the labels of {n:,} questions was flipped:",
        "",
        "| training labels | AP | |",
        "|---|---|---|",
        f"| the right labels | {right:.3f} | |",
        f"| all labels, a fifth wrong | {believed:.3f} | {(believed - right) / right:+.1%} |",
        f"| without those that look wrong, as in a retrain | {without:.3f} | {(without - right) / right:+.1%} |",
        "",
        f"{out_noisy:.0%} of the labels were excluded; {hits:.0%} of these were wrong. Without flipped labels, "
        f"{out_clean:.1%} were excluded. The quarter of the labels that the model doubts most contains "
        f"{all_of_them:.0%} of the flipped ones: {made_correct:.0%} of those wrongly marked correct, and "
        f"{made_incorrect:.0%} of the fewer wrongly marked incorrect.",
        "",
    ], None


def replay(bench: Bench) -> PartResult:
    """Adapting with a share of the shipped training questions as anchors: what it gains here and forgets there."""
    frozen = load_questions("starter-test").questions
    shipped = [q for q in load_questions("starter-train").questions if q.positives and q.negatives]
    lines = [
        f"| replay | shipped questions | AP on {bench.pool.name} | AP on the frozen benchmark |",
        "|---|---|---|---|",
        f"| before | | {bench.before:.3f} | {bench.ap(bench.base, frozen):.3f} |",
    ]
    for share in REPLAYS:
        here, there, count = [], [], round(share * len(shipped))
        for seed in range(bench.plan.seeds):
            own = bench.whole(bench.plan.replay, seed)
            mixed = [*own, *map(strip_labels, random.Random(seed).sample(shipped, count))]
            ranker = bench.adapted(bench.base, mixed, seed)
            here.append(bench.ap(ranker))
            there.append(bench.ap(ranker, frozen))
        lines.append(f"| {share:g} | {count} | {mean(here):.3f} | {mean(there):.3f} |")
        bench.say(lines[-1])
    return [*lines, ""], None


PARTS: dict[str, tuple[str, Callable[[Bench], PartResult]]] = {
    "queues": ("labels by queue", by_labels),
    "questions": ("whole questions", by_questions),
    "wrong": ("wrong labels", wrong_labels),
    "replay": ("replay", replay),
}


def pools(name: str, plan: Plan) -> tuple[Pool, Pool]:
    """(what is asked about, everything), over the same dev questions."""
    require_files("medquad/qa.jsonl" if name == "medquad" else "wikiqa")
    read = {"wikiqa": lambda n: wikiqa(DATA / "wikiqa", n, plan.dev),
            "medquad": lambda n: medquad(DATA / "medquad" / "qa.jsonl", n, plan.dev)}[name]  # fmt: skip
    everything = read(plan.whole and 4 * plan.whole)
    return replace(everything, questions=everything.questions[: plan.pool]), everything


def section(bench: Bench, part: str, command: str) -> PartResult:
    began = time.monotonic()
    title, made = PARTS[part]
    lines, picture = made(bench)
    head = [
        f"## {bench.pool.name}: {title}",
        "",
        f"Printed and written by `{command}`, in {(time.monotonic() - began) / 60:.1f} minutes. Seeds: "
        f"{bench.plan.seeds}; a pool of {len(bench.pool.questions):,} questions, {len(bench.pool.dev):,} for "
        "evaluation.",
        "",
    ]
    return [*head, *lines], picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true")
    how.add_argument("--tiny", action="store_true")
    parser.add_argument("--set", choices=("wikiqa", "medquad"))
    parser.add_argument("--only", choices=tuple(PARTS))
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--threads", type=int, help="of torch; all cores if not given")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    plan = FULL if given.full else TINY if given.tiny else SMALL
    plan = replace(plan, seeds=given.seeds or plan.seeds)
    flags = " --full" if given.full else ""
    flags += f" --seeds {given.seeds}" if given.seeds else ""
    for name in [given.set] if given.set else ["wikiqa", "medquad"]:
        bench = Bench(*pools(name, plan), plan, lambda text: print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True))
        bench.say(
            f"{bench.pool.name}: {len(bench.pool.questions)} questions to ask about, {len(bench.able)} whole ones with "
            f"an answer, {len(bench.pool.dev)} to measure on; AP {bench.before:.3f}"
        )
        for part in [given.only] if given.only else PARTS:
            command = f"python benchmarks/label_efficiency.py --set {name} --only {part}{flags}"
            lines, picture = section(bench, part, command)
            text, file = "\n".join(lines), PAGE.with_name(f"label-efficiency-{name}.svg")
            if picture is not None:
                text = text.replace("\n| ", f"\n![AP by labels given]({file.name})\n\n| ", 1)
            print(text)
            if not given.tiny:
                write_section(PAGE, f"{name}-{part}", text)
                if picture is not None:
                    write_text(picture, file)


if __name__ == "__main__":
    main()
