"""How many labels decide between two rankers, and how often the conclusion is wrong.

    python benchmarks/decide.py                 writes what docs/deciding.md shows; about an hour on two cores
    python benchmarks/decide.py --stored        prints and draws it again from docs/results/decide.jsonl
    python benchmarks/decide.py --pairs 1       some minutes; writes nothing
    python benchmarks/decide.py --cache FILE    goes on from the outcomes of an earlier run

A pair is two rankers and 120 questions drawn from a set whose labels are known; hidden, they answer what is asked.
Rankers are document order, BM25, Jaccard, word overlap, and made ones: the labels plus noise, weak or strong. Compared
are `as2 decide`, the same with questions drawn at random whose lists are read until their difference is known, and
labelling the whole lists of questions drawn at random, with the same interval asked after every question. A conclusion
is wrong if the wrong ranker wins, if one wins where both are equal, or if a difference above the tolerance is denied.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from _texts import DATA, require_files

from as2core.data.catalog import load_questions
from as2core.deciding.betting import Bets
from as2core.deciding.decision import EQUAL, OPEN, A, B, Decision, DecisionSettings
from as2core.deciding.differences import UNKNOWN, OrderPair, bound_difference
from as2core.experiments.base import write_section
from as2core.experiments.picture import BLUE, GREEN, GREY, ORANGE, Series, scatter
from as2core.rankers.catalog import get
from as2core.system.files import write_text
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deciding.md"
PICTURE, OUTCOMES = PAGE.with_name("deciding.svg"), PAGE.parent / "results" / "decide.jsonl"
SETS = ("WikiQA", "TREC-QA", "MedQuAD", "handbook")
QUICK = ("rr", "bm25", "jaccard", "wo")
QUESTIONS, ONE_LOOK = 120, 20  # questions of a pair; the draw after which the interval for one look is taken
MAX_CANDIDATES = 100
COLOURS = {"P@1": BLUE, "RR": ORANGE, "AP": GREEN}
NOISE = (0.35, 0.9)  # of the made rankers, beside labels of 0 and 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. `random_labels`: with questions drawn at random; `lists_*`: by whole lists at random. `universe`: the
    true difference in the set the questions are from. `forecast`: labels expected in all when half were given."""

    truth: float
    universe: float
    all_labels: int
    kind: str
    labels: int
    low: float
    high: float
    is_certain: bool
    forecast: int | None
    others: tuple[float, float] | None
    random_labels: int
    lists_kind: str
    lists_labels: int


@cache
def load_set(name: str) -> tuple[Question, ...]:
    if name == "MedQuAD":
        from _simulated import medquad

        return medquad(DATA / "medquad" / "qa.jsonl", 600, None).questions
    files = {"WikiQA": "wikiqa/train.jsonl", "TREC-QA": "trecqa/train-all.jsonl"}
    specs = [str(DATA / files[name])] if name in files else [f"handbook-{part}" for part in ("dev", "test")]
    questions = (q for spec in specs for q in load_questions(spec).questions)
    eligible = [q for q in questions if q.positives and 2 <= len(q.candidates) <= MAX_CANDIDATES]
    random.Random(0).shuffle(eligible)
    return tuple(eligible[:600])


@cache
def score(name: str, ranker: str) -> dict[str, np.ndarray]:
    """Of one of `QUICK`, or of `noise=SIGMA,SEED`."""
    questions = load_set(name)
    if ranker in QUICK:
        made = get(ranker)
        return {q.qid: made.score(q.text, q.candidates) for q in questions}
    sigma, seed = ranker.removeprefix("noise=").split(",")
    rng = np.random.default_rng(int(seed))
    return {q.qid: find_labels(q) + float(sigma) * rng.normal(size=len(q.candidates)) for q in questions}


def find_labels(question: Question) -> np.ndarray:
    return np.array([c.label == 1 for c in question.candidates], dtype=int)


def choose_rankers(rng: random.Random) -> tuple[str, str]:
    """A quick one and a made one, two made ones alike or unlike, or two quick ones."""

    def make() -> str:
        return f"noise={rng.uniform(*NOISE):.3f},{rng.randrange(10**6)}"

    kind = rng.randrange(4)
    if kind == 0:
        first, second = rng.sample(QUICK, 2)
    elif kind == 1:
        first, second = make(), rng.choice(QUICK)
    else:
        first, second = make(), make()
        if kind == 3:  # of one strength
            second = f"{first.split(',')[0]},{rng.randrange(10**6)}"
    return first, second


def run(name: str, pair: int, seed: int, measure: str) -> Outcome:
    rng = random.Random(f"{name} {pair}")
    a, b = (score(name, ranker) for ranker in choose_rankers(rng))
    universe = load_set(name)
    questions = rng.sample(universe, min(QUESTIONS, len(universe)))
    labels = {q.qid: find_labels(q) for q in universe}
    values = {
        q.qid: bound_difference(OrderPair.of_scores(q.qid, a[q.qid], b[q.qid], labels[q.qid]), measure)[0]
        for q in universe
    }
    hidden = [OrderPair.of_scores(q.qid, a[q.qid], b[q.qid], np.full(len(q.candidates), UNKNOWN)) for q in questions]
    settings = DecisionSettings(measure, seed=seed)
    unplanned = Decision.start(hidden, replace(settings, is_planned=False))
    while (item := unplanned.item) and unplanned.judge().outcome == OPEN:
        unplanned = unplanned.give(int(labels[item.qid][item.candidate]))
    decision = Decision.start(hidden, settings)
    forecasts: dict[int, int | None] = {}
    others = None
    while (item := decision.item) and (conclusion := decision.judge()).outcome == OPEN:
        forecasts[conclusion.labels] = conclusion.more
        decision = decision.give(int(labels[item.qid][item.candidate]))
        if len(decision.draws) == ONE_LOOK and others is None and (found := decision.estimate_for_others()):
            others = (found.low, found.high)
    end = decision.judge()
    half = forecasts.get(end.labels // 2)
    kind, count = label_lists(questions, values, settings)
    return Outcome(
        float(np.mean([values[q.qid] for q in questions])), float(np.mean([*values.values()])),
        sum(len(q.candidates) for q in questions), end.outcome, end.labels, end.low, end.high, end.is_certain,
        None if half is None else half + end.labels // 2, others, unplanned.labels, kind, count,
    )  # fmt: skip


def label_lists(questions: Sequence[Question], values: dict[str, float], settings: DecisionSettings) -> tuple[str, int]:
    """The conclusion and its labels, when whole lists of random questions are labelled."""
    rng = random.Random(settings.seed)
    order = rng.sample(list(questions), len(questions))
    n, tolerance = len(order), settings.tolerance
    bets = Bets.start(np.array([-tolerance, 0.0, tolerance]))
    total, count = 0.0, 0
    limit = np.log(2 / (1 - settings.level))
    for i, q in enumerate(order):
        left = n - i
        base = total / n
        count += len(q.candidates)
        total += values[q.qid]
        bets = bets.see(base + left * values[q.qid] / n, base - left / n, base + left / n)
        low, high = (total - (left - 1)) / n, (total + (left - 1)) / n
        if -tolerance <= low and high <= tolerance:
            return EQUAL, count
        if bets.log_above[1] >= limit or low > 0:
            return A, count
        if bets.log_below[1] >= limit or high < 0:
            return B, count
        if min(bets.log_above[0], bets.log_below[2]) >= limit:
            return EQUAL, count
    return (A if total > 0 else B), count


def is_wrong(kind: str, truth: float, tolerance: float) -> bool:
    if kind == EQUAL:
        return abs(truth) > tolerance + 1e-9
    return truth <= 1e-9 if kind == A else truth >= -1e-9


def summarise(outcomes: Sequence[Outcome]) -> list[str]:
    tolerance = DecisionSettings().tolerance
    labels, lists = (np.array([getattr(o, f) for o in outcomes]) for f in ("labels", "lists_labels"))
    everything = np.array([o.all_labels for o in outcomes])
    wrong = [is_wrong(o.kind, o.truth, tolerance) for o in outcomes]
    wrong_lists = [is_wrong(o.lists_kind, o.truth, tolerance) for o in outcomes]
    held = [o.low - 1e-9 <= o.truth <= o.high + 1e-9 for o in outcomes]
    looks = [o.others[0] <= o.universe <= o.others[1] for o in outcomes if o.others]
    ratios = [o.forecast / o.labels for o in outcomes if o.forecast]
    return [
        f"{len(outcomes):,}",
        f"{np.mean([o.kind == EQUAL for o in outcomes]):.0%}",
        f"{np.median(everything):,.0f}",
        f"{np.median(lists):,.0f}",
        f"{np.median([o.random_labels for o in outcomes]):,.0f}",
        f"{np.median(labels):,.0f}",
        f"{np.median(labels / lists):.0%} ({np.quantile(labels / lists, 0.9):.0%})",
        f"{np.mean(wrong):.1%}",
        f"{np.mean(wrong_lists):.1%}",
        f"{np.mean(held):.1%}",
        f"{np.mean(looks):.1%} of {len(looks)}" if looks else "",
        f"{np.median(ratios):.2f} ({np.quantile(ratios, 0.1):.2f} to {np.quantile(ratios, 0.9):.2f})" if ratios else "",
    ]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: `pairs` of rankers of each set, each with so many `seeds`."""

    sets: tuple[str, ...]
    pairs: int
    seeds: int


PLANS = {"P@1": Plan(SETS, 50, 3), "RR": Plan(SETS, 5, 3), "AP": Plan(SETS, 5, 3)}
HEADS = (
    "runs", "no difference", "labels there are", "lists at random", "questions at random", "`as2 decide`",
    "share (9 of 10 below)", "wrong", "wrong, lists", "interval holds", "one look holds", "forecast / needed",
)  # fmt: skip


def measure_all(plan: Plan, name: str, store: dict[str, Outcome], cache_file: Path | None) -> dict[str, list[Outcome]]:
    """The outcomes of a measure by set; what `store` lacks is measured, and added to it and to the file."""
    by_set: dict[str, list[Outcome]] = {}
    for of in plan.sets:
        for pair in range(plan.pairs):
            for seed in range(plan.seeds):
                key = f"{name} {of} {pair} {seed}"
                if key not in store:
                    store[key] = run(of, pair, seed, name)
                    if cache_file:
                        with cache_file.open("a", encoding="utf-8") as file:
                            file.write(dump(key, store[key]))
                by_set.setdefault(of, []).append(store[key])
    return by_set


def tabulate(name: str, by_set: dict[str, list[Outcome]]) -> Iterator[str]:
    """The table of a measure, one row a set and one for all."""
    yield f"| {name} | {' | '.join(HEADS)} |"
    yield "|---|" + "---|" * len(HEADS)
    for of, outcomes in [*by_set.items(), ("all", [o for each in by_set.values() for o in each])]:
        yield f"| {of} | {' | '.join(summarise(outcomes))} |"
    yield ""


def draw(measured: dict[str, dict[str, list[Outcome]]]) -> str:
    """Labels until the conclusion, a dot a run: by whole lists of questions drawn at random, and by `as2 decide`."""
    points = {
        name: [(o.lists_labels, o.labels) for outcomes in by_set.values() for o in outcomes if o.labels]
        for name, by_set in measured.items()
    }
    ends = [limit(x for dots in points.values() for dot in dots for x in dot) for limit in (min, max)]
    alike = Series("as many labels", [(x, x) for x in ends], GREY, size=0, line=True)
    return scatter(
        [alike, *(Series(name, dots, COLOURS[name], size=3) for name, dots in points.items())],
        title="Labels until the conclusion",
        x_title="labels, whole lists of questions drawn at random",
        y_title="labels, as2 decide",
        log=True,
    )


def dump(key: str, outcome: Outcome) -> str:
    return json.dumps({"key": key, **asdict(outcome)}) + "\n"


def read_cache(file: Path | None) -> dict[str, Outcome]:
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    return {r.pop("key"): Outcome(**r) for r in map(json.loads, lines)}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, help="of each set")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--sets", nargs="+", choices=SETS)
    parser.add_argument("--measures", nargs="+", choices=PLANS, default=list(PLANS))
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--cache", type=Path, help="outcomes, one a line: read first, then added to")
    source.add_argument("--stored", action="store_const", const=OUTCOMES, dest="cache", help="those of the page")
    options = parser.parse_args(argv)
    changes = {k: v for k in ("pairs", "seeds") if (v := getattr(options, k)) is not None}
    plans = {
        name: replace(PLANS[name], **changes, sets=tuple(options.sets or PLANS[name].sets)) for name in options.measures
    }
    if any(set(plan.sets) - {"handbook"} for plan in plans.values()) and options.cache != OUTCOMES:
        require_files("medquad/qa.jsonl", "wikiqa/train.jsonl", "trecqa/train-all.jsonl")
    store = read_cache(options.cache)
    measured = {name: measure_all(plan, name, store, options.cache) for name, plan in plans.items()}
    text = "\n".join(line for name, by_set in measured.items() for line in tabulate(name, by_set))
    print(text)
    if plans == PLANS:
        intro = (
            f"Printed, drawn and written by `python benchmarks/decide.py`: {QUESTIONS} questions a pair, at most.\n"
            "With `--stored` it takes the outcomes of [decide.jsonl](results/decide.jsonl). In the picture a dot is a\n"
            "run; below the line `as2 decide` takes fewer labels."
        )
        title = "Labels of as2 decide against those of whole lists at random"
        write_section(PAGE, "decide", f"{intro}\n\n![{title}]({PICTURE.name})\n\n{text}")
        write_text(draw(measured), PICTURE)
        write_text("".join(dump(key, outcome) for key, outcome in store.items()), OUTCOMES)


if __name__ == "__main__":
    main()
