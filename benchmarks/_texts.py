"""The labelled sets that benchmarks read: real texts, and the questions that rankers are judged by."""

from __future__ import annotations

import os
from pathlib import Path

from as2core.data.catalog import load_questions

DATA = Path(os.environ.get("AS2_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
JUDGES = {  # the name, and what loads it; "starter-test" is always there
    "starter-test": "starter-test",
    "WikiQA dev": str(DATA / "wikiqa" / "WikiQA-dev.tsv"),
    "TREC-QA dev": str(DATA / "trecqa" / "dev.jsonl"),
}
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


def require_files(*files: str) -> None:
    """End here, and say what to do, where one of the data sets' files is not at hand."""
    if missing := [str(DATA / f) for f in files if not (DATA / f).exists()]:
        raise SystemExit(f"not at hand: {', '.join(missing)}. AS2_BENCH_DATA names the folder of the data sets.")


def sentences(n: int) -> list[str]:
    """`n` different sentences of the sets at hand, of the small ones first; fewer where there are no more."""
    found: dict[str, None] = {}
    for file in sorted((DATA / f for f in SENTENCES if (DATA / f).exists()), key=lambda f: f.stat().st_size):
        if len(found) >= n:
            break
        found.update((c.text, None) for q in load_questions(str(file)).questions for c in q.candidates)
    return list(found)[:n]
