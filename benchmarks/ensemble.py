"""Does the shipped cascade rank better once it has learnt from the mean of its own scores, the generative ranker's and
the backbone's?

    python benchmarks/ensemble.py --out DIR          an hour a variant and seed, two idle cores; writes docs/results.md
    python benchmarks/ensemble.py --out DIR --variants ensemble --seeds 1
    python benchmarks/ensemble.py --out DIR --tiny   a few questions, to see that it runs; writes nothing

`DIR` keeps the data's vectors, each trained cascade and what every question got, so that a run goes on where it was
stopped. A row is a variant, or the mean of its weights and the shipped ones. It is judged without dropping, against the
shipped cascade on the same questions, which no shipped model has learnt from. Weights to ship are chosen by the first
four sets; the last three are those of `quality.py`. Part of the rows is printed alone: only all of them are written.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np
from _texts import DATA, JUDGES, require_files
from scipy.special import expit

from as2core.cascade.tune import trace_all
from as2core.data.catalog import apply_setting, load_questions
from as2core.data.source import write_text
from as2core.experiments.base import table, write_section
from as2core.experiments.cells import describe_code
from as2core.metrics import measure_each, paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import MODELS_DIR, load_version
from as2core.rankers.versions import save_version
from as2core.robustness import robustness
from as2core.training.calibrate import FOLDS, measure_threshold
from as2core.training.ensemble import EnsembleStage, distill_ensemble
from as2core.training.loop import RunControl
from as2core.training.recipe_data import FILES, Material, gather
from as2core.training.recipes import RECIPES
from as2core.training.weight_mean import load_mean
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
SHIPPED = MODELS_DIR / "cascade"
CHOOSING = {  # a name, what loads it, and the most questions, and candidates of each
    "WikiQA train": (str(DATA / "wikiqa" / "WikiQA-train.tsv"), 900, 40),
    "TREC-QA train-all": (str(DATA / "trecqa" / "train-all.jsonl"), 300, 30),
    "starter-dev": ("starter-dev", 100, 100),
    "handbook-train": ("handbook-train", 200, 60),
}
EXITS = (4, 6)
SHARES = (0.5, 1.0)  # of the trained weights in the mean with the shipped ones
SEEDS = 2
STAGE = EnsembleStage(
    settings=replace(RECIPES["default"].cascade, learning_rate=2e-5, contrast=0.5, negatives=6, dropout=0.0),
    squad_questions=1500,
    other_questions=2000,
    own_questions=3500,
)
VARIANTS = {
    "ensemble": ("the mean of all three", STAGE),
    "fast": ("the mean of all three, at 5e-5", replace(STAGE, settings=replace(STAGE.settings, learning_rate=5e-5))),
    "labels": ("no teacher", replace(STAGE, settings=replace(STAGE.settings, distill=0.0))),
    "pair": ("the cascade and the generative ranker", replace(STAGE, weights=(1.0, 1.0, 0.0))),
    "clean": ("the mean of all three, questions as they are", replace(STAGE, unanswerable=0.0, careless=0.0)),
}
Values = dict[str, float]  # question id -> AP


@dataclass(frozen=True, slots=True)
class Measurement:
    """`ap`: by set and exit, `answerable`: by set, the balanced accuracy of telling questions from themselves without
    their answers, `robust`: by change, the share of starter-dev that keeps its first candidate."""

    ap: Mapping[str, Mapping[str, Values]]
    answerable: Mapping[str, float]
    robust: Mapping[str, float]


class Bench:
    def __init__(self, out: Path, limit: int | None) -> None:
        self.out, self._limit = out, limit
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

    def train(self, variant: str, seed: int) -> Path:
        """The folder of the trained cascade."""
        path = self.out / f"{variant}-{seed}"
        if not path.is_dir():
            stage = VARIANTS[variant][1]
            if self._limit:
                few = min(self._limit, 20)
                stage = replace(stage, squad_questions=few, other_questions=few, own_questions=few)
            start, generative = load_cascade(SHIPPED), load_version(MODELS_DIR / "generative")  # on torch
            work, control = self.out / f"{variant}-{seed}.work", RunControl(print_step)
            result, sample = distill_ensemble(
                start, generative, self.material, stage, seed=seed, workdir=work, control=control
            )
            save_version(result.ranker, path, {"questions": len(sample.questions), "minutes": result.seconds / 60})
        return path

    def measure(self, ranker: CascadeRanker, name: str) -> Measurement:
        file = self.out / f"{name}.json"
        if file.exists():
            return Measurement(**json.loads(file.read_text(encoding="utf-8")))
        ranker.use("auto", folder=self.out / "graphs" / name)
        ap, answerable = {}, {}
        for set_name, questions in self.sets.items():
            run = trace_all(ranker, questions)
            exits = {str(e): ranker.exits.index(e) for e in EXITS}
            scores = {e: {q.qid: t.exits[i].scores for q, t in run} for e, i in exits.items()}
            ap[set_name] = {e: measure_each(questions, s, ("AP",))["AP"] for e, s in scores.items()}
            answerable[set_name] = tell_answerable(questions, scores[str(EXITS[-1])])
        measurement = Measurement(ap, answerable, robustness(ranker, self.sets["starter-dev"]))
        write_text(json.dumps(asdict(measurement)), file)
        print(name, {s: round(mean(by_exit[str(EXITS[-1])].values()), 3) for s, by_exit in ap.items()}, flush=True)
        return measurement


def load_cascade(path: Path) -> CascadeRanker:
    ranker = load_version(path)
    assert isinstance(ranker, CascadeRanker)
    return ranker


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


def make_rows(bench: Bench, variants: Sequence[str], seeds: int) -> Iterator[tuple[str, ...]]:
    base = bench.measure(load_cascade(SHIPPED), "shipped")
    yield "as shipped", "", "", *describe(base, base)
    for variant in variants:
        for seed in range(seeds):
            path = bench.train(variant, seed)
            start, end = (load_cascade(p).module.state_dict() for p in (SHIPPED, path))
            for share in SHARES:
                ranker = load_cascade(path)
                load_mean(ranker.module, start, end, share)
                own = bench.measure(ranker, f"{variant}-{seed}-{share:g}")
                yield VARIANTS[variant][0], str(seed), f"{share:g}", *describe(own, base)


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
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS), default=tuple(VARIANTS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    require_files(*FILES.values(), "wikiqa/WikiQA-train.tsv", "trecqa/train-all.jsonl")
    bench = Bench(options.out, 8 if options.tiny else None)
    behind = f"exit {EXITS[0]} behind the last, at most"
    last = (behind, "answer or none, WikiQA train", "first stays: typo, no question mark")
    heads = ("teacher", "seed", "share", *bench.sets, *last)
    rows = [*make_rows(bench, options.variants, options.seeds)]
    text = table(f"## The cascade, taught by an ensemble\n\nOf the code of {describe_code()}.", heads, rows)
    print(text)
    if not options.tiny and tuple(options.variants) == tuple(VARIANTS) and options.seeds == SEEDS:
        write_section(PAGE, "ensemble", text)


if __name__ == "__main__":
    main()
