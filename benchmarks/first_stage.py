"""What the app's first stage keeps, and what that costs: questions asked of a whole corpus.

    python benchmarks/first_stage.py             prints the tables and writes them to docs/techniques/engine.md
    python benchmarks/first_stage.py --limit 10  a quick check; writes nothing

Every question retrieves 30 documents and all their sentences. Correct are those labelled so; a correct sentence of a
document that was not found counts as missed. The app stores no vectors of sentences: two orders tell what they would
bring.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from _corpora import ENSURE, open_shipped, retrieve_sentences, with_labels

from app.ranking.document_prior import weigh_documents
from app.ranking.first_stage import FirstStageRanker, make_first_stage
from app.ranking.retrieval import RetrievedSentence
from app.ranking.scoring import as_candidates, rank
from app.versions import loading
from app.versions.loading import LoadedVersion
from app.workbench.workbench import Workbench
from as2core.data.catalog import load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_mean, order, to_ranks
from as2core.rankers.bm25 import BM25Ranker
from as2core.retrieval.ranks import RRF_CONSTANT
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
CUTOFFS = (50, 100, 200)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit", type=int, help="questions")
    limit = options.parse_args().limit
    text = "\n\n".join(tabulate(measure(name, limit), name) for name in ENSURE)
    print(text)
    if limit is None:
        write_section(ROOT / "docs" / "techniques" / "engine.md", "first stage", text)


@dataclass
class Measurements:
    """Of each question: its list (`pools`), by order the share of its correct sentences among the best of each of
    CUTOFFS and among all, and by what the cascade reads the scores and the first stage's seconds."""

    pools: list[Question] = field(default_factory=list)
    shares: dict[str, list[list[float]]] = field(default_factory=dict)
    scores: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add_order(self, name: str, scores: np.ndarray, correct: np.ndarray, positives: int) -> None:
        best = order(scores)
        shares = [np.isin(correct, best[:k]).sum() / positives for k in (*CUTOFFS, len(best))]
        self.shares.setdefault(name, []).append(shares)


def measure(name: str, limit: int | None) -> Measurements:
    questions = [q for q in load_questions(f"{name}-test").questions if q.positives][:limit]
    with open_shipped(name) as (wb, corpus):
        version = loading.load_version(wb)
        version.ranker.use(wb.settings.engine, folder=wb.settings.graphs_dir)
        result, vectors = Measurements(), {}
        for q in questions:
            measure_question(wb, version, q, retrieve_sentences(wb, corpus, q.text), result, vectors)
        return result


def measure_question(
    wb: Workbench,
    version: LoadedVersion,
    q: Question,
    hits: Sequence[RetrievedSentence],
    result: Measurements,
    vectors: dict[str, np.ndarray],
) -> None:
    """Adds to `result` and `vectors`."""
    candidates = as_candidates(hits)
    result.pools.append(pooled := with_labels(q, candidates, [f.text for f in hits]))
    correct = np.flatnonzero([c.label == 1 for c in pooled.candidates[: len(hits)]])
    for name, scores in score_orders(wb, q.text, hits, candidates, vectors).items():
        result.add_order(name, scores, correct, q.positives)
    whole = rank(version, q.text, candidates, prior=weigh_documents(hits)).trace.exits[-1].scores
    for keep in (None, *CUTOFFS):
        started_at = time.perf_counter()
        cut = make_first_stage(hits, keep).cut(q.text, candidates) if keep else None
        elapsed = time.perf_counter() - started_at
        last = whole.copy()
        if cut is not None:
            last[cut.dropped] = last.min() - 2 + cut.scores[cut.dropped]  # a first stage's scores are below 1
        name = "all" if keep is None else str(keep)
        missing = np.full(len(pooled.candidates) - len(hits), last.min() - 9, np.float32)
        result.scores.setdefault(name, {})[q.qid] = np.concatenate([last, missing])
        result.seconds.setdefault(name, []).append(elapsed)


def score_orders(
    wb: Workbench,
    question: str,
    hits: Sequence[RetrievedSentence],
    candidates: Sequence[Candidate],
    vectors: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Each order's scores of these sentences. `vectors`: sentence -> its vector, filled here."""
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


def tabulate(result: Measurements, corpus: str) -> str:
    size = np.mean([len(q.candidates) for q in result.pools])
    lines = [
        f"`python benchmarks/first_stage.py`: {len(result.pools)} {corpus} test questions, {size:,.0f} sentences each.",
        "",
        "The share of the correct sentences among the best candidates of each order:",
        "",
        f"| order | {' | '.join(f'best {k}' for k in CUTOFFS)} | all retrieved |",
        "|---|" + "---|" * (len(CUTOFFS) + 1),
    ]
    for way, rows in result.shares.items():
        lines.append(f"| {way} | {' | '.join(f'{x:.1%}' for x in np.mean(rows, axis=0))} |")
    lines += [
        "",
        "Results of the cascade on the candidates that the first stage passes on (without further drops):",
        "",
        "| read by the cascade | AP | P@1 | first stage, ms |",
        "|---|---|---|---|",
    ]
    for name, by_question in result.scores.items():
        m = measure_mean(result.pools, by_question, ("AP", "P@1"))
        own = "" if name == "all" else f"{1000 * float(np.median(result.seconds[name])):.0f}"
        lines.append(f"| {name} | {m['AP']:.3f} | {m['P@1']:.3f} | {own} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
