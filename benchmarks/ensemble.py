"""What the last stage of the recipe brings: the cascade learns from the mean of its own scores, the generative ranker's
and the backbone's.

    python benchmarks/ensemble.py --start DIR --out DIR          writes docs/results.md; hours a training on two cores
    python benchmarks/ensemble.py --start DIR --out DIR --variants slow --seeds 1
    python benchmarks/ensemble.py --start DIR --out DIR --tiny   a few questions, to see that it runs; writes nothing

`--start` is a cascade that has not been through this stage. `--out` keeps the data's vectors, each trained cascade and
what every question got, so that a run goes on where it was stopped. A row is a training, or the mean of the weights of
several, compared with the start on the same questions, which neither has learnt from; nothing is dropped. What to ship
is chosen by the first four sets; the last three are those of `quality.py`. Part of the rows is printed alone: only all
of them are written.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np
from _texts import DATA, JUDGES, require_files
from scipy.special import expit

from as2core.cascade.tune import trace_all
from as2core.data.catalog import apply_setting, load_questions
from as2core.evaluation.robustness import measure_robustness
from as2core.experiments.base import table, write_section
from as2core.metrics import measure_each, paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import MODELS_DIR, load_version
from as2core.rankers.versions import save_version
from as2core.system.files import write_text
from as2core.training.calibrate import FOLDS, measure_threshold
from as2core.training.ensemble import distill_ensemble
from as2core.training.loop import RunControl
from as2core.training.recipe_data import FILES, Material, gather
from as2core.training.recipe_run import load_cascade, mean_of_weights
from as2core.training.recipes import ENSEMBLE, RECIPES, EnsembleStage
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
CHOOSING = {  # a name, what loads it, and the most questions, and candidates of each
    "WikiQA train": (str(DATA / "wikiqa" / "WikiQA-train.tsv"), 900, 40),
    "TREC-QA train-all": (str(DATA / "trecqa" / "train-all.jsonl"), 300, 30),
    "starter-dev": ("starter-dev", 100, 100),
    "handbook-train": ("handbook-train", 200, 60),
}
EXITS = (4, 6)
SLOW, FAST = ENSEMBLE.learning_rates


@dataclass(frozen=True, slots=True)
class Variant:
    what: str
    learning_rate: float
    seeds: int
    stage: EnsembleStage = ENSEMBLE


VARIANTS = {
    "slow": Variant("all three teach, rate 5e-5", SLOW, 3),
    "fast": Variant("all three teach, rate 1e-4", FAST, 3),
    "pair": Variant("without the backbone's cosines, rate 1e-4", FAST, 1, replace(ENSEMBLE, weights=(1.0, 1.0, 0.0))),
    "careless": Variant(
        "more careless questions and more without an answer, rate 1e-4",
        FAST,
        1,
        replace(ENSEMBLE, unanswerable=0.35, careless=0.4),
    ),
}
SHIPPED = ("slow", "fast")
SEEDS = max(v.seeds for v in VARIANTS.values())
HEAD = (
    "Printed and written by `python benchmarks/ensemble.py --start DIR --out DIR`. AP without dropping, and its "
    "difference from the start with the 95 % interval over questions. What is shipped was chosen by the first four "
    "sets."
)
Values = dict[str, float]  # question id -> AP


@dataclass(frozen=True, slots=True)
class Measurement:
    """`ap`: by set and exit, `answerable`: by set, the balanced accuracy of telling questions from themselves without
    their answers, `robust`: by change, the share of starter-dev that keeps its first candidate."""

    ap: Mapping[str, Mapping[str, Values]]
    answerable: Mapping[str, float]
    robust: Mapping[str, float]


class Bench:
    def __init__(self, start: Path, out: Path, limit: int | None) -> None:
        self.start, self.out, self._limit = start, out, limit
        self._recipe = replace(RECIPES["tiny" if limit else "default"].each_variant()[-1], reworded=limit or 9501)

    @cached_property
    def sets(self) -> dict[str, list[Question]]:
        judges = {name: (where, 1000, 10_000) for name, where in JUDGES.items()}
        return {name: [*self._read(*wanted)] for name, wanted in {**CHOOSING, **judges}.items()}

    def _read(self, where: str, most: int, candidates: int) -> Iterator[Question]:
        rng = random.Random(0)
        questions = apply_setting(load_questions(where).questions, "clean")
        for q in rng.sample(questions, min(self._limit or most, len(questions))):
            rows = [i for i, c in enumerate(q.candidates) if c.label == 1]
            others = [i for i, c in enumerate(q.candidates) if c.label != 1]
            rows += rng.sample(others, min(len(others), max(0, candidates - len(rows))))
            yield replace(q, candidates=tuple(q.candidates[i] for i in sorted(rows)))

    @cached_property
    def material(self) -> Material:
        return gather(self._recipe, DATA, self.out)

    def train(self, name: str, seed: int) -> Path:
        """The folder of the trained cascade."""
        path, variant = self.out / f"{name}-{seed}", VARIANTS[name]
        if not path.is_dir():
            stage = variant.stage
            if self._limit:
                few = min(self._limit, 20)
                stage = replace(stage, squad_questions=few, other_questions=few, own_questions=few)
            result, sample = distill_ensemble(
                load_cascade(self.start),
                load_version(MODELS_DIR / "generative"),
                self.material,
                stage,
                learning_rate=variant.learning_rate,
                seed=seed,
                workdir=self.out / f"{name}-{seed}.work",
                control=RunControl(print_step),
            )
            save_version(result.ranker, path, {"questions": len(sample.questions), "minutes": result.seconds / 60})
        return path

    def measure_mean(self, name: str, trainings: Sequence[tuple[str, int]]) -> Measurement:
        """The mean of the trained weights."""
        return self.measure(name, lambda: mean_of_weights([load_cascade(self.train(*t)) for t in trainings]))

    def measure(self, name: str, load: Callable[[], CascadeRanker]) -> Measurement:
        """What is measured already needs no weights."""
        file = self.out / f"{name}.json"
        if file.exists():
            return Measurement(**json.loads(file.read_text(encoding="utf-8")))
        ranker = load()
        ranker.use("auto", folder=self.out / "graphs" / name)
        ap, answerable = {}, {}
        for set_name, questions in self.sets.items():
            run = trace_all(ranker, questions)
            exits = {str(e): ranker.exits.index(e) for e in EXITS}
            scores = {e: {q.qid: t.exits[i].scores for q, t in run} for e, i in exits.items()}
            ap[set_name] = {e: measure_each(questions, s, ("AP",))["AP"] for e, s in scores.items()}
            answerable[set_name] = tell_answerable(questions, scores[str(EXITS[-1])])
        measurement = Measurement(ap, answerable, measure_robustness(ranker, self.sets["starter-dev"]))
        write_text(json.dumps(asdict(measurement)), file)
        print(name, {s: round(mean(by_exit[str(EXITS[-1])].values()), 3) for s, by_exit in ap.items()}, flush=True)
        return measurement


def print_step(event: dict) -> None:
    if event["kind"] == "step" and event["step"] % 50 == 0:
        print(f"{event['step']} of {event['steps']} steps, {event['seconds_left'] / 60:.0f} minutes left", flush=True)


def tell_answerable(questions: Sequence[Question], scores: Mapping[str, np.ndarray]) -> float:
    """Balanced accuracy of a threshold on the best score: whole questions against the same without their correct
    candidates."""
    best: list[tuple[float, float]] = []  # with them, and without
    for q in questions:
        is_correct = np.array([c.label == 1 for c in q.candidates])
        if not is_correct.all():
            best.append((scores[q.qid].max(), scores[q.qid][~is_correct].max()))
    numbers = np.arange(2 * len(best))
    return measure_threshold(expit(np.array(best).ravel()), numbers % 2 == 0, numbers // 2 % FOLDS)


def make_rows(bench: Bench, names: Sequence[str], seeds: int) -> Iterator[tuple[str, ...]]:
    base = bench.measure("start", lambda: load_cascade(bench.start))
    yield "the start", "", *describe(base, base)
    trainings = {name: [(name, seed) for seed in range(min(seeds, VARIANTS[name].seeds))] for name in names}
    for name, own in trainings.items():
        for training in own:
            row = bench.measure_mean(f"{name}-{training[1]}-alone", [training])
            yield VARIANTS[name].what, str(training[1]), *describe(row, base)
        if len(own) > 1:
            yield VARIANTS[name].what, "mean", *describe(bench.measure_mean(f"{name}-mean", own), base)
    if set(SHIPPED) <= set(names):
        every = [training for name in SHIPPED for training in trainings[name]]
        shipped = bench.measure_mean("shipped-mean", every)
        yield "both rates, as shipped", "mean", *describe(shipped, base)


def describe(own: Measurement, base: Measurement) -> Iterator[str]:
    """Each set's AP at the last exit and how far it is from the base's, then the rest of a row."""
    last = str(EXITS[-1])
    for name, by_exit in own.ap.items():
        text = f"{mean(by_exit[last].values()):.3f}"
        if own is not base:
            test = paired_test(by_exit[last], base.ap[name][last])
            text += f", {test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"
        yield text
    behind = [mean(by_exit[last].values()) - mean(by_exit[str(EXITS[0])].values()) for by_exit in own.ap.values()]
    yield f"{max(behind):.3f}"
    yield f"{own.answerable['WikiQA train']:.3f}"
    yield f"{own.robust['typo']:.2f}, {own.robust['no question mark']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS), default=tuple(VARIANTS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    require_files(*FILES.values(), "wikiqa/WikiQA-train.tsv", "trecqa/train-all.jsonl")
    bench = Bench(options.start, options.out, 8 if options.tiny else None)
    behind = f"exit {EXITS[0]} behind the last, at most"
    last = (behind, "answer or none, WikiQA train", "first stays: typo, no question mark")
    heads = ("training", "seed", *bench.sets, *last)
    rows = [*make_rows(bench, options.variants, options.seeds)]
    text = table(f"## What learning from an ensemble brings the cascade\n\n{HEAD}", heads, rows)
    print(text)
    if not options.tiny and tuple(options.variants) == tuple(VARIANTS) and options.seeds == SEEDS:
        write_section(PAGE, "ensemble", text)


if __name__ == "__main__":
    main()
