"""Does the shipped cascade rank better once it has learnt from the mean of itself, the generative ranker and the
backbone?

    python benchmarks/ensemble.py --out DIR          an hour a variant and seed, two idle cores; writes docs/results.md
    python benchmarks/ensemble.py --out DIR --variants ensemble --seeds 1
    python benchmarks/ensemble.py --out DIR --tiny   a few questions, to see that it runs; writes nothing

`DIR` keeps the data's vectors, each trained cascade and what every question got, so that a run goes on where it was
stopped. A row is a variant, or the mean of its weights and the shipped ones. It is judged on questions that no shipped
model has learnt from, without dropping, and against the shipped cascade on the same questions. Shipped weights are
chosen by the sets that are not in docs/results.md's other tables: WikiQA train, TREC-QA train and starter-dev.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np
from _texts import DATA, JUDGES, require_files

from as2core.cascade.tune import trace_all
from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import table, write_section
from as2core.experiments.cells import describe_code
from as2core.metrics import measure_each, paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import MODELS_DIR, load_version
from as2core.rankers.versions import save_version
from as2core.robustness import robustness
from as2core.training.ensemble import EnsembleStage, distill_ensemble
from as2core.training.loop import RunControl
from as2core.training.recipe_data import FILES, Material, gather
from as2core.training.recipe_run import mean_of_weights
from as2core.training.recipes import RECIPES
from as2core.types import Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results.md"
CHOOSING = {  # a name, what loads it, and the most questions and candidates of each
    "WikiQA train": (str(DATA / "wikiqa" / "WikiQA-train.tsv"), 900, 40),
    "TREC-QA train": (str(DATA / "trecqa" / "train-all.jsonl"), 300, 30),
    "starter-dev": ("starter-dev", 100, 100),
    "handbook-train": ("handbook-train", 200, 60),
}
EXITS = (4, 6)
SHARES = (0.5, 1.0)  # of the trained weights in the mean with the shipped ones
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
    "clean": ("all three; questions as they are, each with its answer", replace(STAGE, unanswerable=0.0, careless=0.0)),
}
Values = dict[str, float]  # question id -> AP


@dataclass(frozen=True, slots=True)
class Measured:
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
            kept = [i for i, c in enumerate(q.candidates) if c.label == 1]
            others = [i for i, c in enumerate(q.candidates) if c.label != 1]
            kept += rng.sample(others, min(len(others), max(0, candidates - len(kept))))
            yield replace(q, candidates=tuple(q.candidates[i] for i in sorted(kept)))

    @cached_property
    def material(self) -> Material:
        return gather(self._recipe, DATA, self.out)

    @cached_property
    def shipped(self) -> CascadeRanker:
        return load_cascade(MODELS_DIR / "cascade")

    def train(self, variant: str, seed: int) -> Path:
        """The folder of the trained cascade."""
        path = self.out / f"{variant}-{seed}"
        if not path.is_dir():
            stage = VARIANTS[variant][1]
            if self._limit:
                few = min(self._limit, 20)
                stage = replace(stage, squad_questions=few, other_questions=few, own_questions=few)
            generative, work = load_version(MODELS_DIR / "generative"), self.out / f"{variant}-{seed}.work"
            result, sample = distill_ensemble(
                self.shipped, generative, self.material, stage, seed=seed, workdir=work, control=RunControl(print_step)
            )
            save_version(result.ranker, path, {"questions": len(sample.questions), "minutes": result.seconds / 60})
        return path

    def measure(self, ranker: CascadeRanker, name: str) -> Measured:
        file = self.out / f"{name}.json"
        if file.exists():
            return Measured(**json.loads(file.read_text(encoding="utf-8")))
        ranker.use("auto", folder=self.out / "graphs" / name)
        ap, answerable = {}, {}
        for set_name, questions in self.sets.items():
            run = trace_all(ranker, questions)
            exits = {str(e): ranker.exits.index(e) for e in EXITS}
            scores = {e: {q.qid: t.exits[i].scores for q, t in run} for e, i in exits.items()}
            ap[set_name] = {e: measure_each(questions, s, ("AP",))["AP"] for e, s in scores.items()}
            answerable[set_name] = tell_answerable(questions, scores[str(EXITS[-1])])
        measured = Measured(ap, answerable, robustness(ranker, self.sets["starter-dev"]))
        file.write_text(json.dumps({k: getattr(measured, k) for k in Measured.__slots__}), encoding="utf-8")
        print(name, {s: round(mean(by_exit[str(EXITS[-1])].values()), 3) for s, by_exit in ap.items()}, flush=True)
        return measured


def load_cascade(path: Path) -> CascadeRanker:
    ranker = load_version(path)
    assert isinstance(ranker, CascadeRanker)
    return ranker


def print_step(event: dict) -> None:
    if event["kind"] == "step" and event["step"] % 50 == 0:
        print(f"{event['step']} of {event['steps']} steps, {event['seconds_left'] / 60:.0f} minutes left", flush=True)


def tell_answerable(questions: Sequence[Question], scores: Mapping[str, np.ndarray]) -> float:
    """Balanced accuracy of a threshold on the best logit: whole questions against the same without their correct
    candidates, each half by the threshold that is best for the other."""
    with_answer, without = [], []
    for q in questions:
        is_correct = np.array([c.label == 1 for c in q.candidates])
        if not is_correct.all():
            with_answer.append(scores[q.qid].max())
            without.append(scores[q.qid][~is_correct].max())
    best = np.array([with_answer, without])  # (2, questions)
    halves = best[:, ::2], best[:, 1::2]

    def accuracy(threshold: float, half: np.ndarray) -> float:
        return float(((half[0] >= threshold).mean() + (half[1] < threshold).mean()) / 2)

    thresholds = [max(np.unique(half), key=lambda t, half=half: accuracy(t, half)) for half in halves]
    return mean(accuracy(t, half) for t, half in zip(thresholds, reversed(halves), strict=True))


def make_rows(bench: Bench, variants: Sequence[str], seeds: int) -> Iterator[tuple[str, ...]]:
    base = bench.measure(bench.shipped, "shipped")
    yield "as shipped", "", "", *describe(base, base)
    for variant in variants:
        for seed in range(seeds):
            trained = load_cascade(bench.train(variant, seed))
            for share in SHARES:
                ranker = trained if share == 1 else mean_of_weights([trained, bench.shipped])
                measured = bench.measure(ranker, f"{variant}-{seed}-{share:g}")
                yield VARIANTS[variant][0], str(seed), f"{share:g}", *describe(measured, base)


def describe(measured: Measured, base: Measured) -> Iterator[str]:
    """Each set's AP at the last exit and how far it is from the base's, then the rest of a row."""
    last = str(EXITS[-1])
    for name, by_exit in measured.ap.items():
        text = f"{mean(by_exit[last].values()):.3f}"
        if measured is not base:
            test = paired_test(by_exit[last], base.ap[name][last])
            text += f", {test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f})"
        yield text
    behind = [mean(by_exit[last].values()) - mean(by_exit[str(EXITS[0])].values()) for by_exit in measured.ap.values()]
    yield f"{max(behind):.3f}"
    yield f"{measured.answerable['WikiQA train']:.3f}"
    yield f"{measured.robust['typo']:.2f}, {measured.robust['no question mark']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS), default=tuple(VARIANTS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    require_files(*FILES.values(), "wikiqa/WikiQA-train.tsv", "trecqa/train-all.jsonl")
    bench = Bench(options.out, 8 if options.tiny else None)
    heads = ("taught by", "seed", "share", *bench.sets, f"exit {EXITS[0]}, most behind", "answerable", "typo, no mark")
    rows = [*make_rows(bench, options.variants, options.seeds)]
    text = table(f"## The cascade, taught by an ensemble ({describe_code()})", heads, rows)
    print(text)
    if not options.tiny:
        write_section(PAGE, "ensemble", text)


if __name__ == "__main__":
    main()
