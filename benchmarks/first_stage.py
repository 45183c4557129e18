"""What the app's first stage keeps, and what that costs: starter questions asked of the whole starter corpus.

    python benchmarks/first_stage.py             prints the tables and writes them to docs/techniques/engine.md
    python benchmarks/first_stage.py --limit 10  a quick check; writes nothing

Every question retrieves 30 documents and all their sentences. Correct are those labelled so; a correct sentence of a
document that was not found counts as missed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_mean, order
from as2core.rankers.bm25 import BM25Ranker
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
CUTOFFS = (50, 100, 200)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions")
    limit = options.parse_args().limit
    with tempfile.TemporaryDirectory() as home:
        os.environ["AS2_HOME"] = home
        lines = report(limit)
    print("\n".join(lines))
    if limit is None:
        write_section(ROOT / "docs" / "techniques" / "engine.md", "first stage", "\n".join(lines))


def report(limit: int | None) -> list[str]:
    from app import bootstrap
    from app.corpora.indexing import reindex
    from app.exchange import starter
    from app.jobs.attempt import run_queued
    from app.ranking import retrieval, scoring
    from app.ranking.first_stage import FirstStageRanker, make_first_stage
    from app.versions import loading
    from app.worker import RUNNERS

    wb = bootstrap.open()
    try:
        corpus = starter.ensure_starter(wb)
        reindex(wb, corpus.id)
        run_queued(wb, RUNNERS)  # the passages' vectors
        version = loading.load_version(wb)
        version.ranker.use(wb.settings.engine, folder=wb.settings.graphs_dir)
        questions = [q for q in load_questions("starter-test").questions if q.positives][:limit]
        shares: dict[str, list[list[float]]] = {}
        scores: dict[str, dict[str, np.ndarray]] = {}
        seconds: dict[str, list[float]] = {}
        pools = []
        for q in questions:
            hits = retrieval.retrieve(wb, corpus.id, q.text, documents=30, candidates=1300).candidates
            candidates = scoring.as_candidates(hits)
            pools.append(pooled := with_labels(q, candidates, [f.text for f in hits]))
            good = np.flatnonzero([c.label == 1 for c in pooled.candidates[: len(hits)]])
            whole = scoring.rank(version, q.text, candidates)
            orders = {
                "first stage": FirstStageRanker(hits).score(q.text, candidates),
                "order of retrieval": -np.array([f.retrieval_rank for f in hits], float),
                "passage vectors": -np.array([f.vector_rank or len(hits) for f in hits], float),
                "BM25": BM25Ranker().score(q.text, candidates),
            }
            for name, s in orders.items():
                best = order(s)
                shares.setdefault(name, []).append(
                    [np.isin(good, best[:k]).sum() / q.positives for k in (*CUTOFFS, len(hits))]
                )
            for keep in (None, *CUTOFFS):
                started_at = time.perf_counter()
                cut = make_first_stage(hits, keep).cut(q.text, candidates) if keep else None
                elapsed = time.perf_counter() - started_at
                last = whole.trace.exits[-1].scores.copy()
                if cut is not None:
                    last[cut.dropped] = last.min() - 2 + cut.scores[cut.dropped]  # a first stage's scores are below 1
                name = "all" if keep is None else str(keep)
                missed = np.full(len(pooled.candidates) - len(hits), last.min() - 9, np.float32)
                scores.setdefault(name, {})[q.qid] = np.concatenate([last, missed])
                seconds.setdefault(name, []).append(elapsed)
        return table(len(questions), float(np.mean([len(q.candidates) for q in pools])), shares, pools, scores, seconds)
    finally:
        wb.close()


def with_labels(q: Question, candidates: Sequence[Candidate], texts: Sequence[str]) -> Question:
    """The question over what was found; correct sentences that were not found stand at the end."""
    correct = [c for c in q.candidates if c.label == 1]
    correct_texts = {c.text for c in correct}
    labelled = [replace(c, label=int(t in correct_texts)) for c, t in zip(candidates, texts, strict=True)]
    return replace(q, candidates=(*labelled, *(c for c in correct if c.text not in set(texts))))


def table(
    questions: int,
    size: float,
    shares: dict[str, list[list[float]]],
    pools: Sequence[Question],
    scores: dict[str, dict[str, np.ndarray]],
    seconds: dict[str, list[float]],
) -> list[str]:
    lines = [
        f"`python benchmarks/first_stage.py`: {questions} starter test questions, {size:,.0f} sentences each.",
        "",
        "The share of the correct sentences among the best candidates of each order:",
        "",
        f"| order | {' | '.join(f'best {k}' for k in CUTOFFS)} | all retrieved |",
        "|---|" + "---|" * (len(CUTOFFS) + 1),
    ]
    for name, rows in shares.items():
        lines.append(f"| {name} | {' | '.join(f'{x:.1%}' for x in np.mean(rows, axis=0))} |")
    lines += [
        "",
        "Results of the cascade on the candidates that the first stage passes on (without further drops):",
        "",
        "| read by the cascade | AP | P@1 | first stage, ms |",
        "|---|---|---|---|",
    ]
    for name, by_question in scores.items():
        m = measure_mean(pools, by_question, ("AP", "P@1"))
        own = "" if name == "all" else f"{1000 * float(np.median(seconds[name])):.0f}"
        lines.append(f"| {name} | {m['AP']:.3f} | {m['P@1']:.3f} | {own} |")
    return lines


if __name__ == "__main__":
    main()
