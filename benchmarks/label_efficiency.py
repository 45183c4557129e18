"""How much a label is worth: queues against chance, transfer against none, and what wrong labels cost.

    python benchmarks/label_efficiency.py           one seed, three budgets: about ten minutes on two idle cores
    python benchmarks/label_efficiency.py --full    50 to 1,000 labels, three seeds, all questions: for a GPU
    python benchmarks/label_efficiency.py --tiny    seconds, to see that it runs; writes nothing

WikiQA's train part is the unlabelled pool, and its labels are the person. A queue decides which pairs of question and
sentence that person is asked about; the shipped cascade learns from the answers, as a retrain does, and is measured on
WikiQA dev (clean). Nothing steers the training, since a dev set would be labels that nobody counted. WikiQA is read
from AS2_BENCH_DATA, or from ../shared/data beside the repository. Writes docs/label-efficiency.md and its picture.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import numpy as np
import torch

from app.services.doubts import cross_validated
from as2core.cascade.schedule import DropSchedule
from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation import evaluate
from as2core.experiments.picture import BLUE, GREEN, GREY, ORANGE, Series, scatter
from as2core.metrics import order
from as2core.nn.backbone import DEFAULT_BACKBONE
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune, smaller
from as2core.training.noise import flip_labels
from as2core.training.settings import ADAPT
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("AS2_BENCH_DATA", ROOT.parent / "shared" / "data")) / "wikiqa"
QUEUES = ("random", "uncertain", "disagree")
COLOURS = {"random": GREY, "uncertain": BLUE, "disagree": GREEN, "random, no transfer": ORANGE}
A_QUESTION = 3  # pairs of one question that an adaptive queue offers at most: no near-duplicates in a row
CONTROL = 0.1  # the random share in an adaptive queue, as in the workbench

Pair = tuple[int, int]  # positions of a question in the pool and of a candidate in it


@dataclass(frozen=True, slots=True)
class Plan:
    """`pool`: questions of the unlabelled pool, None for all. `questions`: budgets of whole questions."""

    budgets: tuple[int, ...]
    questions: tuple[int, ...]
    seeds: int
    pool: int | None
    dev: int | None = None
    everything: bool = True


SMALL = Plan((50, 200, 500), (100,), 1, 300, everything=False)
FULL = Plan((50, 100, 200, 500, 1000), (50, 100, 200), 3, None)
TINY = Plan((20, 40), (6,), 1, 24, dev=12, everything=False)


@dataclass(frozen=True, slots=True)
class Said:
    """What the models say of every pair of the pool: `exits` (n, exits) logits, `generative` and `cosine` (n,)."""

    pairs: tuple[Pair, ...]
    labels: np.ndarray
    exits: np.ndarray
    probability: np.ndarray
    generative: np.ndarray
    cosine: np.ndarray


def ask_models(pool: Sequence[Question], cascade, generative, bi_encoder) -> Said:
    complete = DropSchedule.constant(0.0, exits=len(cascade.exits))
    pairs, labels, exits, said, cosine = [], [], [], [], []
    for i, q in enumerate(pool):
        trace = cascade.trace(q.text, q.candidates, complete)
        exits.append(np.stack([e.scores for e in trace.exits], axis=1))
        said.append(generative.score(q.text, q.candidates))
        cosine.append(bi_encoder.score(q.text, q.candidates))
        pairs += [(i, j) for j in range(len(q.candidates))]
        labels += [c.label or 0 for c in q.candidates]
    logits = np.concatenate(exits)
    return Said(
        tuple(pairs),
        np.array(labels),
        logits,
        np.asarray(cascade.probability(logits[:, -1])),
        np.concatenate(said),
        np.concatenate(cosine),
    )


def queue(name: str, said: Said, seed: int, threshold: float) -> list[Pair]:
    """The pairs in the order in which they are asked; adaptive queues hold a random share and spread over questions."""
    rng = random.Random(seed)
    chance = rng.sample(range(len(said.pairs)), len(said.pairs))
    if name == "random":
        return [said.pairs[i] for i in chance]
    if name == "uncertain":
        ranked = np.argsort(np.abs(said.probability - threshold), kind="stable")
    else:
        ranked = np.argsort(-np.abs(_ranks(said, said.exits[:, -1]) - _ranks(said, said.generative)), kind="stable")
    taken: dict[int, int] = {}
    first, later = [], []
    for i in ranked.tolist():
        question = said.pairs[i][0]
        taken[question] = taken.get(question, 0) + 1
        (first if taken[question] <= A_QUESTION else later).append(i)
    asked: dict[int, None] = {}
    adaptive, control = iter([*first, *later]), iter(chance)
    while len(asked) < len(said.pairs):
        source = control if rng.random() < CONTROL else adaptive
        nxt = next((i for i in source if i not in asked), None)
        if nxt is None:
            break
        asked[nxt] = None
    return [said.pairs[i] for i in asked]


def _ranks(said: Said, scores: np.ndarray) -> np.ndarray:
    """Each pair's rank within its question, as a share of the list."""
    out, questions = np.zeros(len(scores)), np.array([q for q, _ in said.pairs])
    for q in np.unique(questions):
        where = np.flatnonzero(questions == q)
        out[where[order(scores[where])]] = np.arange(len(where)) / max(1, len(where) - 1)
    return out


def labelled(pool: Sequence[Question], pairs: Sequence[Pair]) -> list[Question]:
    """The pool's questions with the asked candidates alone."""
    asked: dict[int, set[int]] = {}
    for i, j in pairs:
        asked.setdefault(i, set()).add(j)
    return [
        replace(pool[i], candidates=tuple(c for j, c in enumerate(pool[i].candidates) if j in some))
        for i, some in sorted(asked.items())
    ]


def adapted(base, train: Sequence[Question], seed: int):
    """The base after a retrain on these labels; the base itself where they are of one kind only."""
    if not any(q.positives for q in train) or not any(q.negatives for q in train):
        return base
    with tempfile.TemporaryDirectory() as folder:
        return fine_tune(base, train, [], smaller(ADAPT, seed=seed), workdir=Path(folder)).ranker


def run(plan: Plan, say: Callable[[str], None]) -> tuple[list[str], str]:
    """The tables in Markdown, and the picture."""
    dev = apply_setting(load_questions(str(DATA / "WikiQA-dev.tsv")).questions, "clean")[: plan.dev]
    everything = [q for q in load_questions(str(DATA / "WikiQA-train.tsv")).questions if q.candidates]
    pool = random.Random(0).sample(everything, plan.pool) if plan.pool else everything
    base, bare = get("cascade:drop_ratio=0"), get(f"cascade:backbone={DEFAULT_BACKBONE},drop_ratio=0")

    def ap(ranker) -> float:
        return evaluate(ranker, dev).metrics["AP"]

    began = time.monotonic()
    said = ask_models(pool, base, get("generative"), get("bi-encoder"))
    start = {"shipped": ap(base), "no transfer": ap(bare)}
    say(f"pool: {len(pool)} questions, {len(said.pairs):,} pairs; before: {start}")
    found: dict[str, dict[int, float]] = {}
    for name in (*QUEUES, "random, no transfer"):
        of = name.partition(",")[0]
        for budget in plan.budgets:
            values = []
            for seed in range(plan.seeds):
                train = labelled(pool, queue(of, said, seed, base.threshold)[:budget])
                values.append(ap(adapted(bare if name != of else base, train, seed)))
            found.setdefault(name, {})[budget] = mean(values)
            say(f"{time.monotonic() - began:6.0f} s  {name}, {budget} labels: AP {found[name][budget]:.3f}")
    lines = _by_labels(plan, found, start)
    lines += _by_questions(plan, pool, base, start["shipped"], ap, say)
    lines += _wrong_labels(plan, pool, said, base, ap, say)
    picture = scatter(
        [Series(name, tuple((b, v) for b, v in by.items()), COLOURS[name], line=True) for name, by in found.items()],
        title=f"AP on WikiQA dev by labels given (before: {start['shipped']:.3f})",
        x_title="labels",
        y_title="AP",
    )
    return lines, picture


def _by_labels(plan: Plan, found: dict[str, dict[int, float]], start: dict[str, float]) -> list[str]:
    heads = " | ".join(f"{b:,}" for b in plan.budgets)
    lines = [f"| queue | before | {heads} |", "|---|---|" + "---|" * len(plan.budgets)]
    for name, by in found.items():
        before = start["no transfer" if "no transfer" in name else "shipped"]
        lines.append(f"| {name} | {before:.3f} | " + " | ".join(f"{by[b]:.3f}" for b in plan.budgets) + " |")
    return [*lines, ""]


def _by_questions(plan: Plan, pool, base, before: float, ap, say) -> list[str]:
    """Whole questions labelled: what share of the full set's gain a few bring."""
    able = [q for q in pool if q.positives]
    sizes = [*(n for n in plan.questions if n <= len(able)), *([len(able)] if plan.everything else [])]
    rows = []
    for n in sizes:
        values = [ap(adapted(base, random.Random(seed).sample(able, n), seed)) for seed in range(plan.seeds)]
        rows.append((n, mean(values)))
        say(f"{n} whole questions: AP {rows[-1][1]:.3f}")
    gain = rows[-1][1] - before if rows else 0.0
    lines = ["| whole questions with an answer | AP | gain | of the largest gain |", "|---|---|---|---|"]
    for n, value in rows:
        share = f"{(value - before) / gain:.0%}" if gain > 0 else ""
        lines.append(f"| {n:,} | {value:.3f} | {value - before:+.3f} | {share} |")
    return [*lines, ""]


def _wrong_labels(plan: Plan, pool, said: Said, base, ap, say) -> list[str]:
    """A fifth of the labels turned round: what it costs, and how many the list of doubted labels finds."""
    able = [i for i, q in enumerate(pool) if q.positives]
    able = able if plan.everything else able[: max(plan.questions)]
    clean = [pool[i] for i in able]
    where = [n for n, (i, _) in enumerate(said.pairs) if i in set(able)]
    costs, shares = [], []
    for seed in range(plan.seeds):
        noisy, _ = flip_labels(clean, 0.2, seed=seed)
        given = np.array([c.label or 0 for q in noisy for c in q.candidates])
        flipped = given != said.labels[where]
        features = np.column_stack([said.exits[where], said.cosine[where]])
        questions = [said.pairs[n][0] for n in where]
        p = cross_validated(features, given, questions, seed=seed)
        doubt = 1 - p[np.arange(len(given)), given]
        quarter = np.argsort(-doubt, kind="stable")[: len(given) // 4]
        shares.append(float(flipped[quarter].sum() / max(1, flipped.sum())))
        costs.append((ap(adapted(base, clean, seed)), ap(adapted(base, noisy, seed))))
        say(f"a fifth flipped: AP {costs[-1][0]:.3f} -> {costs[-1][1]:.3f}, found {shares[-1]:.0%}")
    right, wrong = mean(a for a, _ in costs), mean(b for _, b in costs)
    return [
        f"A fifth of the labels of {len(clean):,} questions turned round: AP {right:.3f} becomes {wrong:.3f} "
        f"({(wrong - right) / right:+.1%}). The first quarter of the labels, the most doubted first, holds "
        f"{mean(shares):.0%} of those turned round.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true")
    how.add_argument("--tiny", action="store_true")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--threads", type=int, help="of torch; all cores if not given")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    plan = FULL if given.full else TINY if given.tiny else SMALL
    plan = replace(plan, seeds=given.seeds or plan.seeds)
    began = time.monotonic()
    lines, picture = run(plan, lambda text: print(text, flush=True))
    print("\n".join(lines))
    if given.tiny:
        return
    command = "python benchmarks/label_efficiency.py" + (" --full" if given.full else "")
    size = f"{plan.pool:,} questions of" if plan.pool else "all of"
    head = [
        "# What a label is worth",
        "",
        f"Printed and written by `{command}`, in {(time.monotonic() - began) / 60:.1f} minutes.",
        "",
        f"The pool is {size} WikiQA's train part, and its labels are the person who is asked; AP is on WikiQA dev",
        f"(clean), the mean of {plan.seeds} {'seed' if plan.seeds == 1 else 'seeds'}. A queue says which pairs are",
        "asked; `uncertain` takes those nearest the threshold, `disagree` those that the cascade and the generative",
        f"ranker place most differently, at most {A_QUESTION} a question first, a tenth drawn by chance. `no transfer`",
        "is the same encoder without what the shipped cascade learnt.",
        "",
        "![AP by labels given](label-efficiency.svg)",
        "",
    ]
    (ROOT / "docs" / "label-efficiency.svg").write_text(picture)
    (ROOT / "docs" / "label-efficiency.md").write_text("\n".join([*head, *lines]).rstrip() + "\n")


if __name__ == "__main__":
    main()
