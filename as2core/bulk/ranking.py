"""Many questions, scored by a ranker on the workers of a Ray pool: the figures are those of `evaluation.evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from as2core.bulk.packed_ranker import PackedRanker, pack_ranker
from as2core.bulk.packing import is_bound_here
from as2core.bulk.pool import RayPool, open_pool
from as2core.errors import BadSetting
from as2core.evaluation.rankers import (
    BATCH_CANDIDATES,
    Evaluation,
    Tally,
    measure_tallies,
    prepare_ranker,
    score_questions,
    select_questions,
)
from as2core.lookup import list_versions
from as2core.metrics import MEASURES
from as2core.types import OnProgress, Progress, Question

CHUNKS_PER_CORE = 4  # at least, where there are so many questions: the last chunks then end at about the same time

Score = tuple[str, list[Tally]]  # the ranker's name, and a tally for each batch


@dataclass(frozen=True, slots=True)
class Scoring:
    """The work: the ranker scores questions."""

    ranker: PackedRanker

    def prepare(self, fetch: Callable[[Any], Any]) -> Callable[[Sequence[Question]], Score]:
        """Raises what loading the ranker raises."""
        ranker = self.ranker.load(fetch)
        prepare_ranker(ranker)
        return lambda questions: (ranker.name, score_questions(ranker, questions))

    def name_item(self, item: Question) -> str:
        return f"question {item.qid!r}"


def score_on_ray(
    spec: str, questions: Sequence[Question], address: str, on_progress: OnProgress | None = None
) -> dict[str, np.ndarray]:
    """The scores of each question by its id, `(n,)` each, in a pool of its own. Raises as `evaluate_on_pool` and
    `open_pool`."""
    with open_pool(address) as pool:
        return evaluate_on_pool(pool, spec, questions, setting="raw", on_progress=on_progress).scores


def evaluate_on_pool(
    pool: RayPool,
    spec: str,
    questions: Sequence[Question],
    *,
    setting: str = "clean",
    measures: Sequence[str] = MEASURES,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """What `evaluate` returns of the ranker of that spec; `seconds` is the time of all workers together.

    Raises what `load_ranker` and `evaluate` raise, BadSetting for a ranker that `must_stay_here`, and WorkFailed.
    """
    questions = select_questions(questions, setting)
    if must_stay_here(spec):
        raise BadSetting(f"{spec} reads a run or sends texts to an address: use it without Ray")
    work = Scoring(pack_ranker(spec, pool.store, pool.folder))
    progress = {"done": 0}

    def count(items: Sequence[Question]) -> None:
        progress["done"] += len(items)
        if on_progress:
            on_progress(Progress(progress["done"], len(questions), items[-1].text))

    if on_progress:
        on_progress(Progress(0, len(questions), questions[0].text))
    results: list[Score] = pool.map(work, divide(questions, pool.count_workers()), count)
    tallies = [tally for _, part in results for tally in part]
    return measure_tallies(results[0][0], questions, tallies, setting=setting, measures=measures)


def must_stay_here(spec: str) -> bool:
    """Whether it, or a part of it, is a run, which is read for all questions at once, or a reranker behind an address,
    whose key and limits belong to this machine. Raises BadSetting."""
    return is_bound_here(spec, list_versions())


def divide(questions: Sequence[Question], cores: int) -> list[list[Question]]:
    """Chunks in the order of the questions, of about BATCH_CANDIDATES candidates, less where some cores would have
    nothing to do."""
    total = sum(len(q.candidates) for q in questions)
    size = min(BATCH_CANDIDATES, total // (max(cores, 1) * CHUNKS_PER_CORE))
    chunks: list[list[Question]] = [[]]
    candidates = 0
    for q in questions:
        if chunks[-1] and candidates + len(q.candidates) > size:
            chunks.append([])
            candidates = 0
        chunks[-1].append(q)
        candidates += len(q.candidates)
    return chunks
