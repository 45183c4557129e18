"""What the app's first stage keeps, and what that costs: questions asked of a whole corpus.

    python benchmarks/first_stage.py             prints the tables and writes them to docs/techniques/engine.md
    python benchmarks/first_stage.py --limit 10  a quick check; writes nothing

Every question retrieves 30 documents and all their sentences. Correct are those labelled so; a correct sentence of a
document that was not found counts as missed. The app stores no vectors of sentences: two orders tell what they would
bring.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_mean, order, to_ranks
from as2core.rankers.bm25 import BM25Ranker
from as2core.retrieval.ranks import RRF_CONSTANT
from as2core.types import Candidate, Question

if TYPE_CHECKING:
    from app.ranking.retrieval import RetrievedSentence
    from app.workbench.workbench import Workbench

ROOT = Path(__file__).resolve().parents[1]
CUTOFFS = (50, 100, 200)
CORPORA = ("starter", "handbook")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions")
    limit = options.parse_args().limit
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"AS2_HOME": home, "AS2_WORKER": "external"}
        text = "\n\n".join(report(limit))
    print(text)
    if limit is None:
        write_section(ROOT / "docs" / "techniques" / "engine.md", "first stage", text)


def report(limit: int | None) -> Iterator[str]:
    from app import bootstrap

    wb = bootstrap.open()
    try:
        for name in CORPORA:
            yield tabulate(measure(wb, name, limit), name)
    finally:
        wb.close()


@dataclass
class Measured:
    """Of each question: its list (`pools`), by order the share of its correct sentences among the best of each of
    CUTOFFS and among all, and by what the cascade reads the scores and the first stage's seconds."""

    pools: list[Question] = field(default_factory=list)
    shares: dict[str, list[list[float]]] = field(default_factory=dict)
    scores: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add_order(self, name: str, scores: np.ndarray, correct: np.ndarray, positives: int) -> None:
        best = order(scores)
        kept = [np.isin(correct, best[:k]).sum() / positives for k in (*CUTOFFS, len(best))]
        self.shares.setdefault(name, []).append(kept)


def measure(wb: Workbench, name: str, limit: int | None) -> Measured:
    from app.corpora.indexing import reindex
    from app.exchange import starter
    from app.jobs.attempt import run_queued
    from app.ranking import retrieval, scoring
    from app.ranking.first_stage import make_first_stage
    from app.versions import loading
    from app.worker import RUNNERS

    corpus = {"starter": starter.ensure_starter, "handbook": starter.ensure_handbook}[name](wb)
    reindex(wb, corpus.id)
    run_queued(wb, RUNNERS)  # the passages' vectors
    version = loading.load_version(wb)
    version.ranker.use(wb.settings.engine, folder=wb.settings.graphs_dir)
    measured, vectors = Measured(), {}
    for q in [q for q in load_questions(f"{name}-test").questions if q.positives][:limit]:
        hits = retrieval.retrieve(wb, corpus.id, q.text, documents=30, candidates=1300).candidates
        candidates = scoring.as_candidates(hits)
        measured.pools.append(pooled := with_labels(q, candidates, [f.text for f in hits]))
        correct = np.flatnonzero([c.label == 1 for c in pooled.candidates[: len(hits)]])
        for order_name, scores in score_orders(wb, q.text, hits, candidates, vectors).items():
            measured.add_order(order_name, scores, correct, q.positives)
        whole = scoring.rank(version, q.text, candidates).trace.exits[-1].scores
        for keep in (None, *CUTOFFS):
            started_at = time.perf_counter()
            cut = make_first_stage(hits, keep).cut(q.text, candidates) if keep else None
            elapsed = time.perf_counter() - started_at
            last = whole.copy()
            if cut is not None:
                last[cut.dropped] = last.min() - 2 + cut.scores[cut.dropped]  # a first stage's scores are below 1
            kept = "all" if keep is None else str(keep)
            missed = np.full(len(pooled.candidates) - len(hits), last.min() - 9, np.float32)
            measured.scores.setdefault(kept, {})[q.qid] = np.concatenate([last, missed])
            measured.seconds.setdefault(kept, []).append(elapsed)
    return measured


def score_orders(
    wb: Workbench,
    question: str,
    hits: Sequence[RetrievedSentence],
    candidates: Sequence[Candidate],
    vectors: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Each order's scores of these sentences. `vectors`: sentence -> its vector, filled here."""
    from app.ranking.first_stage import FirstStageRanker

    embedder = wb.models.embedder()
    missing = [t for t in dict.fromkeys(c.titled_text for c in candidates) if t not in vectors]
    if missing:
        vectors |= zip(missing, embedder.embed(missing), strict=True)
    cosines = np.array([vectors[c.titled_text] for c in candidates]) @ embedder.embed_question(question)
    fused = FirstStageRanker(hits).score(question, candidates)
    return {
        "first stage": fused,
        "order of retrieval": -np.array([f.retrieval_rank for f in hits], float),
        "passage vectors": -np.array([f.vector_rank or len(hits) for f in hits], float),
        "BM25": BM25Ranker().score(question, candidates),
        "sentence vectors": cosines,
        "first stage and sentence vectors": fused + 1 / (RRF_CONSTANT + to_ranks(cosines)),
    }


def with_labels(q: Question, candidates: Sequence[Candidate], texts: Sequence[str]) -> Question:
    """The question over what was found; correct sentences that were not found stand at the end."""
    correct = [c for c in q.candidates if c.label == 1]
    correct_texts = {c.text for c in correct}
    labelled = [replace(c, label=int(t in correct_texts)) for c, t in zip(candidates, texts, strict=True)]
    return replace(q, candidates=(*labelled, *(c for c in correct if c.text not in set(texts))))


def tabulate(measured: Measured, name: str) -> str:
    size = np.mean([len(q.candidates) for q in measured.pools])
    lines = [
        f"`python benchmarks/first_stage.py`: {len(measured.pools)} {name} test questions, {size:,.0f} sentences each.",
        "",
        "The share of the correct sentences among the best candidates of each order:",
        "",
        f"| order | {' | '.join(f'best {k}' for k in CUTOFFS)} | all retrieved |",
        "|---|" + "---|" * (len(CUTOFFS) + 1),
    ]
    for order_name, rows in measured.shares.items():
        lines.append(f"| {order_name} | {' | '.join(f'{x:.1%}' for x in np.mean(rows, axis=0))} |")
    lines += [
        "",
        "Results of the cascade on the candidates that the first stage passes on (without further drops):",
        "",
        "| read by the cascade | AP | P@1 | first stage, ms |",
        "|---|---|---|---|",
    ]
    for kept, by_question in measured.scores.items():
        m = measure_mean(measured.pools, by_question, ("AP", "P@1"))
        own = "" if kept == "all" else f"{1000 * float(np.median(measured.seconds[kept])):.0f}"
        lines.append(f"| {kept} | {m['AP']:.3f} | {m['P@1']:.3f} | {own} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
