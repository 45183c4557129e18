"""Scores of a cascade's last exit, by the int8 engine that the workbench uses; with a GPU by torch."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from as2core.rankers.cascade import CascadeRanker
from as2core.types import Question

BATCH_QUESTIONS = 25


def score_by_last_exit(ranker: CascadeRanker, questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """Question id -> scores `(n,)`. The ranker stays on the engine it is on."""
    ranker = copy.deepcopy(ranker)
    with tempfile.TemporaryDirectory() as folder:
        ranker.use("auto", folder=Path(folder))
        traces = []
        for start in range(0, len(questions), BATCH_QUESTIONS):
            batch = questions[start : start + BATCH_QUESTIONS]
            traces += ranker.trace_many([(q.text, q.candidates) for q in batch])
    return {q.qid: trace.scores() for q, trace in zip(questions, traces, strict=True)}
