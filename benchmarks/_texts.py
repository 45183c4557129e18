"""The labelled sets that benchmarks draw real texts from, beside the starter corpus."""

from __future__ import annotations

import os
from pathlib import Path

from as2core.data.catalog import load_questions

DATA = Path(os.environ.get("AS2_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SENTENCES = (
    "squad/train-v1.1.json.gz",
    "trecqa/train-all.jsonl",
    "trecqa/dev.jsonl",
    "wikiqa/WikiQA-train.tsv",
    "wikiqa/WikiQA-dev.tsv",
    "selqa/test.jsonl",
    "selqa/dev.jsonl",
    "qed/dev.jsonl",
)


def sentences(n: int) -> list[str]:
    """`n` different sentences of the sets at hand, of the small ones first; fewer where there are no more."""
    found: dict[str, None] = {}
    for file in sorted((DATA / f for f in SENTENCES if (DATA / f).exists()), key=lambda f: f.stat().st_size):
        if len(found) >= n:
            break
        found.update((c.text, None) for q in load_questions(str(file)).questions for c in q.candidates)
    return list(found)[:n]
