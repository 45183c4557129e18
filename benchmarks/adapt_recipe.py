"""Does a change of the retrain's recipe pay? The recipe without the changes, and each of them, on the same labels.

    python benchmarks/adapt_recipe.py                          all; prints the table, writes docs/label-efficiency.md
    python benchmarks/adapt_recipe.py --quick                  a few questions, to see that it runs; writes nothing
    python benchmarks/adapt_recipe.py --only "r200 contrast"   cells by set, labels or variant; writes nothing
    python benchmarks/adapt_recipe.py --cache results.jsonl    goes on from what an earlier run measured

Labels are pairs drawn at random (r50: 50 of them) or whole lists of questions, with and without an answer (l40: 40).
WikiQA is read with titles and without, alike on both sides; MedQuAD's openings have none (`_simulated.py` says how both
are made). A row's model is trained once; the shares are means of its weights and the base's (WiSE-FT). All are measured
by the last exit, with the int8 engine that the workbench uses; differences are paired by question, over the seeds'
means. The sets are read from AS2_BENCH_DATA, or from ../shared/data beside the repository. On a machine that does other
things as well, OMP_NUM_THREADS=1 is several times as fast: threads that wait for each other take processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _scores import score_by_last_exit
from _simulated import medquad, wikiqa
from _texts import DATA, require_files

from app.adapt.settings import RetrainSettings
from app.adapt.training import choose_train_settings
from as2core.experiments.base import write_section
from as2core.metrics import measure_each, paired_test
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.training.fine_tune import fine_tune
from as2core.training.settings import ADAPT
from as2core.training.weight_mean import copy_state, load_mean
from as2core.types import Candidate, Question

PAGE = Path(__file__).resolve().parents[1] / "docs" / "label-efficiency.md"
POOL, WIKIQA_DEV, MEDQUAD_DEV = 300, 120, 70  # questions
OLD = {
    "epochs": ADAPT.epochs,
    "batch_questions": ADAPT.batch_questions,
    "loss": None,
    "anchor": 0.0,
    "hard_negatives": 0,
    "tuned_share": 1.0,
    "contrast": 0.0,
    "match_prior": False,
    "distill": 0.0,
    "unlabelled": 0,
    "title_dropout": 0.0,
}
SOFT = {"distill": 1.0, "temperature": 1.0}
VARIANTS: dict[str, dict] = {
    "old": {},
    "prior": {"match_prior": True},
    "prior, rate 1e-4": {"match_prior": True, "learning_rate": 1e-4},
    "prior, contrast": {"match_prior": True, "contrast": 1.0},
    "prior, soft targets": {"match_prior": True, **SOFT, "unlabelled": 3},
}
COMMAND = "Printed and written by `python benchmarks/adapt_recipe.py`."
DRAWS = {"r50": "50 pairs", "r200": "200 pairs", "l40": "40 lists"}
NAMES = {"wikiqa": "WikiQA, titles", "bare": "WikiQA, no titles", "medquad": "MedQuAD"}


class Key(NamedTuple):
    """What one measurement is of; before training all but `data` are empty."""

    data: str
    draw: str = ""
    seed: int = 0
    variant: str = ""
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One model: trained on the labels `draw` of a seed (r: pairs, l: lists), and the shares it is measured at."""

    data: str
    draw: str
    seed: int
    variant: str
    shares: tuple[float, ...] = (0.5, 1.0)

    def __str__(self) -> str:
        return f"{self.data} {self.draw} {self.variant}"

    def key(self, share: float) -> Key:
        return Key(self.data, self.draw, self.seed, self.variant, share)


BOTH, THREE, WHOLE = ("old", "prior"), (0.5, 0.75, 1.0), (1.0,)
PLAN = (  # set, labels, seeds, recipes, shares: what an hour allowed
    ("wikiqa", "r50", (0,), BOTH, THREE),
    ("wikiqa", "r200", (0, 1), ("old",), THREE),
    ("wikiqa", "r200", (0, 1), ("prior",), (0.5, 1.0)),
    ("wikiqa", "r200", (0,), ("prior, rate 1e-4",), WHOLE),
    ("wikiqa", "l40", (0,), BOTH, THREE),
    ("wikiqa", "l40", (1,), BOTH, WHOLE),
    ("wikiqa", "l40", (0,), ("prior, contrast",), WHOLE),
    ("medquad", "r50", (0,), BOTH, THREE),
    ("medquad", "r200", (0,), BOTH, THREE),
    ("medquad", "r200", (1,), BOTH, WHOLE),
    ("medquad", "r200", (0,), ("prior, rate 1e-4",), WHOLE),
    ("medquad", "l40", (0,), BOTH, (0.75, 1.0)),
    ("bare", "r200", (0,), BOTH, WHOLE),
)


def plan(*, is_quick: bool = False) -> list[Cell]:
    if is_quick:
        return [Cell("medquad", draw, 0, v, (1.0,)) for draw in ("r20", "l4") for v in VARIANTS]
    return [
        Cell(data, draw, seed, variant, shares)
        for data, draw, seeds, variants, shares in PLAN
        for variant in variants
        for seed in seeds
    ]


class Bench:
    """The sets, the shipped cascade, and each question's AP by what was trained; `known` is measured already."""

    def __init__(self, known: Mapping[Key, dict[str, float]], file: Path | None, *, is_quick: bool = False) -> None:
        self.known, self._file = dict(known), file
        self._sizes = (40, 6, 6) if is_quick else (POOL, WIKIQA_DEV, MEDQUAD_DEV)
        self._teacher_scores: dict[tuple[str, str], float] = {}

    @cached_property
    def sets(self) -> dict[str, tuple[list[Question], list[Question]]]:
        """The pool to label, and the questions to measure on."""
        require_files("medquad/qa.jsonl", "wikiqa")
        pool, own_dev, med_dev = self._sizes
        wiki, med = wikiqa(DATA / "wikiqa", pool, own_dev), medquad(DATA / "medquad" / "qa.jsonl", pool, med_dev)
        without = [[q.drop_titles() for q in part] for part in (wiki.questions, wiki.dev)]
        return {
            "wikiqa": (list(wiki.questions), list(wiki.dev)),
            "bare": (without[0], without[1]),
            "medquad": (list(med.questions), list(med.dev)),
        }

    @cached_property
    def base(self) -> CascadeRanker:
        return get("cascade:drop_ratio=0,engine=torch")

    def teach(self, question: str, readings: Sequence[str]) -> np.ndarray:
        """The base's own scores `(n,)`."""
        missing = [text for text in readings if (question, text) not in self._teacher_scores]
        if missing:
            scores = self.base.score(question, [Candidate(str(i), text) for i, text in enumerate(missing)])
            self._teacher_scores |= {(question, t): float(x) for t, x in zip(missing, scores, strict=True)}
        return np.array([self._teacher_scores[question, text] for text in readings], dtype=np.float32)

    def measure(self, cell: Cell, say: Callable[[str], None]) -> None:
        """Train the cell's model, and measure what is not known yet."""
        before = Key(cell.data)
        if before not in self.known:
            self._keep(before, self._ap(self.base, cell.data), {})
        missing = [share for share in cell.shares if cell.key(share) not in self.known]
        if not missing:
            return
        started = time.process_time()
        tuned = self._train(cell)
        seconds, after = time.process_time() - started, copy_state(tuned.module)
        for share in missing:
            load_mean(tuned.module, self.base.module.state_dict(), after, share)
            values = self._ap(tuned, cell.data)
            self._keep(cell.key(share), values, {"seconds": round(seconds, 1)})
            say(f"{cell}, seed {cell.seed}, share {share:g}: AP {np.mean(list(values.values())):.3f}")

    def _train(self, cell: Cell) -> CascadeRanker:
        changes = VARIANTS[cell.variant]
        train = draw_labels(self.sets[cell.data][0], cell.draw, cell.seed)
        if not changes.get("unlabelled"):
            train = [replace(q, candidates=tuple(c for c in q.candidates if c.label is not None)) for q in train]
        settings = replace(
            choose_train_settings(self.base, RetrainSettings(seed=cell.seed), len(train)), **OLD | changes
        )
        teacher = self.teach if settings.distill else None
        with tempfile.TemporaryDirectory() as folder:
            return fine_tune(self.base, train, [], settings, workdir=Path(folder), teacher=teacher).ranker

    def _ap(self, ranker: CascadeRanker, data: str) -> dict[str, float]:
        dev = self.sets[data][1]
        values = measure_each(dev, score_by_last_exit(ranker, dev), ("AP",))["AP"]
        return {qid: round(ap, 5) for qid, ap in values.items()}

    def _keep(self, key: Key, values: dict[str, float], more: dict) -> None:
        self.known[key] = values
        if self._file:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**key._asdict(), "ap": values, **more}) + "\n")


def draw_labels(pool: Sequence[Question], draw: str, seed: int) -> list[Question]:
    """The questions with the labels that were given; of pairs drawn at random the next draw with both labels."""
    size = int(draw[1:])
    if draw[0] == "l":
        return random.Random(seed).sample(pool, min(size, len(pool)))
    while True:
        rng = random.Random(seed)
        pairs = [(i, j) for i, q in enumerate(pool) for j in range(len(q.candidates))]
        given = set(rng.sample(pairs, min(size, len(pairs))))
        drawn = [keep_labels(q, {j for i, j in given if i == n}) for n, q in enumerate(pool)]
        questions = [q for q in drawn if q.positives or q.negatives]
        rng.shuffle(questions)
        if any(q.positives for q in questions) and any(q.negatives for q in questions):
            return questions
        seed += 100


def keep_labels(question: Question, places: set[int]) -> Question:
    candidates = (c if i in places else replace(c, label=None) for i, c in enumerate(question.candidates))
    return replace(question, candidates=tuple(candidates))


def table(bench: Bench, data: str) -> list[str]:
    """A row for each variant and share: the mean AP over the seeds for each draw, and the difference to the old recipe,
    paired by question, over all draws and seeds that both have."""
    mine = [key[1:] for key in bench.known if key.data == data and key.draw]
    draws = sorted({draw for draw, *_ in mine}, key=lambda d: (d[0] == "l", int(d[1:])))
    before = np.mean([*bench.known[Key(data)].values()])
    lines = [
        f"**{NAMES[data]}**, {before:.3f} before:",
        "",
        f"| recipe | share | {' | '.join(DRAWS.get(d, d) for d in draws)} | difference to the old recipe | models |",
        "|---|---|" + "---|" * (len(draws) + 2),
    ]
    for variant in VARIANTS:
        for share in sorted({s for _, _, v, s in mine if v == variant}, reverse=True):
            cells = [(d, seed) for d, seed, v, s in mine if (v, s) == (variant, share)]
            aps = {
                d: [np.mean([*_values(bench, data, d, s, variant, share)]) for e, s in cells if e == d] for d in draws
            }
            shown = " | ".join(f"{np.mean(values):.3f}" if values else "" for values in aps.values())
            lines.append(f"| {variant} | {share:g} | {shown} | {_difference(bench, data, cells, variant, share)} |")
    return [*lines, ""]


def _values(bench: Bench, data: str, draw: str, seed: int, variant: str, share: float) -> list[float]:
    return [*bench.known[Key(data, draw, seed, variant, share)].values()]


def _difference(bench: Bench, data: str, cells: Sequence[tuple[str, int]], variant: str, share: float) -> str:
    """Two cells of the table: the difference with its interval, and how many models it is over."""
    both = [(d, seed) for d, seed in cells if Key(data, d, seed, "old", 1.0) in bench.known]
    if not both or (variant, share) == ("old", 1.0):
        return f"| {len(cells)}"
    sides: list[dict[str, float]] = []
    for v, s in ((variant, share), ("old", 1.0)):
        runs = [bench.known[Key(data, d, seed, v, s)] for d, seed in both]
        sides.append({qid: float(np.mean([run[qid] for run in runs])) for qid in runs[0]})
    test = paired_test(*sides)
    return f"{test.difference:+.3f} [{test.low:+.3f}, {test.high:+.3f}] | {len(both)}"


def read_known(file: Path | None) -> dict[Key, dict[str, float]]:
    if file is None or not file.exists():
        return {}
    records = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {Key(*(record[name] for name in Key._fields)): record["ap"] for record in records}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="words that a cell's set, labels and variant have")
    parser.add_argument("--cache", type=Path, help="results by question, one model a line: read first, then added to")
    given = parser.parse_args()
    bench = Bench(read_known(given.cache), given.cache, is_quick=given.quick)
    cells = [c for c in plan(is_quick=given.quick) if all(word in str(c) for word in (given.only or "").split())]
    for cell in cells:
        bench.measure(cell, lambda text: print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True))
    data = [name for name in NAMES if any(c.data == name for c in cells)]
    text = "\n".join([COMMAND, "", *(line for name in data for line in table(bench, name))])
    print(text)
    if not given.quick and not given.only:
        write_section(PAGE, "adapt-recipe", text)


if __name__ == "__main__":
    main()
