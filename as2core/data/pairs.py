"""Training files for sentence-transformers: labelled pairs for a cross-encoder, triplets for an embedder, as JSONL.

`datasets.load_dataset("json", data_files=...)` reads them with the column names its losses expect.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from as2core.types import Question


def dumps_pairs(questions: Iterable[Question]) -> str:
    """`{"sentence1": question, "sentence2": sentence, "label": 1 or 0}` for every judged candidate."""
    return _lines(
        {"sentence1": q.text, "sentence2": c.text, "label": c.label}
        for q in questions
        for c in q.candidates
        if c.label is not None
    )


def dumps_triplets(questions: Iterable[Question]) -> str:
    """`{"anchor": question, "positive": sentence, "negative": sentence}`, each correct one with each incorrect one."""
    return _lines(
        {"anchor": q.text, "positive": good.text, "negative": bad.text}
        for q in questions
        for good in q.candidates
        for bad in q.candidates
        if good.label == 1 and bad.label == 0
    )


def _lines(records: Iterable[dict]) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
