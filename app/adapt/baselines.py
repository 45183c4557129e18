"""What before and after are to be compared with: the candidates as retrieval ordered them, without any reranking, and
the shipped version. Both on the same held-out questions, and both at next to no cost.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from app.adapt.report import Baseline, Metrics
from app.versions import evaluations
from app.workbench.workbench import Workbench
from as2core.evaluation import evaluate
from as2core.rankers.bm25 import BM25Ranker
from as2core.types import Candidate, Question
from db.repositories import questions as question_rows
from db.repositories import versions as rows

RETRIEVAL, WORDS, SHIPPED = "retrieval", "words", "shipped"


class RetrievalOrder:
    """Candidates by the rank that retrieval gave them. Where one of a question's was not retrieved, as in an imported
    list, all of them by BM25, the search by words. `ranks`: (question, sentence) -> rank from 1."""

    name = "retrieval"

    def __init__(self, ranks: Mapping[tuple[str, str], int]) -> None:
        self._ranks = ranks

    def knows(self, question: str, candidates: Sequence[Candidate]) -> bool:
        return all((question, c.text) in self._ranks for c in candidates)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        if not self.knows(question, candidates):
            return BM25Ranker().score(question, candidates)
        return -np.array([self._ranks[question, c.text] for c in candidates], dtype=np.float32)


def measure_retrieval(wb: Workbench, corpus_id: int, questions: Sequence[Question]) -> Baseline:
    with wb.read() as s:
        matches = question_rows.list_retrieval_ranks(s, corpus_id, [q.text for q in questions])
    ranker = RetrievalOrder({(row.question, row.text): row.retrieval_rank for row in matches})
    is_retrieved = all(ranker.knows(q.text, q.candidates) for q in questions)
    metrics = evaluate(ranker, questions, setting=evaluations.SETTING).metrics
    return Baseline(RETRIEVAL if is_retrieved else WORDS, metrics)


def measure_shipped(
    wb: Workbench, kind: str, before: tuple[str, Metrics], measure: Callable[[str], Metrics]
) -> Baseline | None:
    """`before`: the base's name and its figures, which are those of the shipped version if it is the base. `measure`
    gives those of a version by its name. None where none of this kind is shipped."""
    with wb.read() as s:
        row = rows.find_shipped(s, kind)
        name = row.name if row else ""
    if not name:
        return None
    return Baseline(SHIPPED, before[1] if name == before[0] else measure(name))
