"""Every ranker on the starter test questions, and on WikiQA dev and TREC-QA dev where they are at hand.

    python benchmarks/quality.py            prints the tables and writes them to docs/results.md
    python benchmarks/quality.py --limit 20 a quick look; writes nothing

Each row is what `as2 eval RANKER DATA --setting clean` gives; the interval is a 95 % bootstrap over questions, and the
last column a paired randomisation test of AP against the bi-encoder. Where sentences have titles, some rankers are
told without them too. WikiQA and TREC-QA are read from
AS2_BENCH_DATA, or from ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _texts import JUDGES

from as2core.cascade.trace import CascadeTrace
from as2core.data.catalog import load_questions
from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.experiments.base import write_section
from as2core.experiments.cells import describe_code
from as2core.metrics import bootstrap, paired_test
from as2core.rankers.base import KeepsTrace, Ranker
from as2core.rankers.catalog import get
from as2core.rankers.fusion import PAIR, FusionRanker
from as2core.types import Candidate

ROOT = Path(__file__).resolve().parents[1]
RANKERS = (
    "rr",
    "wo-rr",
    "bm25",
    "bi-encoder",
    "generative",
    "cascade:drop_ratio=0",
    "cascade:drop_ratio=0.3",
)
FUSED = (  # and their weights
    (("cascade:drop_ratio=0", "generative"), PAIR),
    (("cascade:drop_ratio=0", "generative"), (1.0, 1.0)),
    (("cascade:drop_ratio=0", "generative", "bi-encoder"), (1.0, 1.0, 1.0)),
)
UNTITLED = ("bi-encoder", "generative", "cascade:drop_ratio=0")  # told once more for sentences without their titles
AGAINST = "bi-encoder"


class MemoisedRanker:
    """A ranker that scores a question once, since the fusions ask again."""

    def __init__(self, spec: str, ranker: Ranker) -> None:
        self.name, self._ranker = spec, ranker
        self._scores: dict[str, np.ndarray] = {}

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        key = _key(question, candidates)
        if key not in self._scores:
            self._scores[key] = self._ranker.score(question, candidates)
        return self._scores[key]


class MemoisedCascade(MemoisedRanker, KeepsTrace):
    """The same of a ranker that keeps a trace, where the evaluation finds the cost."""

    def trace(self, question: str, candidates: Sequence[Candidate]) -> CascadeTrace:
        trace = self._ranker.trace(question, candidates)
        self._scores[_key(question, candidates)] = trace.scores()
        return trace


def memoise(spec: str) -> MemoisedRanker:
    ranker = get(spec)
    return (MemoisedCascade if isinstance(ranker, KeepsTrace) else MemoisedRanker)(spec, ranker)


def _key(question: str, candidates: Sequence[Candidate]) -> str:
    return "\n".join([question, *(c.id for c in candidates)])


def table(data: str, evaluations: dict[str, Evaluation]) -> list[str]:
    """One set's results as markdown."""
    base = evaluations[AGAINST].per_question["AP"]
    reference = evaluations[AGAINST]
    lines = [
        f"## {data}: {reference.questions} questions (clean), {sum(map(len, reference.scores.values())):,} candidates",
        "",
        f"| ranker | AP | RR | P@1 | nDCG@10 | relative cost | AP difference from {AGAINST} |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, e in evaluations.items():
        low, high = bootstrap(e.per_question["AP"].values())
        m, cost = e.metrics, "" if e.relative_cost is None else f"{e.relative_cost:.2f}"
        against = ""
        if name != AGAINST:
            p = paired_test(e.per_question["AP"], base)
            against = f"{p.difference:+.3f} (p {'< 0.001' if p.p < 0.001 else f'= {p.p:.3f}'})"
        lines.append(
            f"| {_ranker(name)} | {m['AP']:.3f} ({low:.3f} to {high:.3f}) | {m['RR']:.3f} | {m['P@1']:.3f} "
            f"| {m['nDCG@10']:.3f} | {cost} | {against} |"
        )
    return [*lines, ""]


def _ranker(name: str) -> str:
    spec, comma, how = name.partition(", ")
    return f"`{spec}`{comma}{how}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions a set")
    limit = options.parse_args().limit
    rankers: dict[str, Ranker] = {name: memoise(name) for name in RANKERS}
    for names, weights in FUSED:
        weights_text = f",weights={'/'.join(f'{w:g}' for w in weights)}" if len(set(weights)) > 1 else ""
        spec = f"fusion:method=zscore{weights_text},rankers={'+'.join(names)}"
        rankers[spec] = FusionRanker([rankers[n] for n in names], method="zscore", weights=weights, name=spec)
    intro = f"Printed and written by `python benchmarks/quality.py`. Of the code of {describe_code()}."
    text = [f"{intro} Intervals are 95 % bootstraps.", ""]
    missing = [label for label, spec in JUDGES.items() if spec != label and not Path(spec).exists()]
    for label, spec in JUDGES.items():
        if label in missing:
            print(f"{label}: not available ({spec}), skipped")
            continue
        questions = load_questions(spec).questions[:limit]
        evaluations = {name: evaluate(r, questions) for name, r in rankers.items()}
        if any(c.title for q in questions for c in q.candidates):
            bare = [q.drop_titles() for q in questions]
            evaluations |= {f"{name}, without titles": evaluate(get(name), bare) for name in UNTITLED}
        part = table(label, evaluations)
        print("\n".join(part), flush=True)
        text += part
    if missing:
        print("not written: docs/results.md needs all sets")
    elif limit is None:
        write_section(ROOT / "docs" / "results.md", "quality", "\n".join(text))


if __name__ == "__main__":
    main()
