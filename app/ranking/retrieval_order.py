"""The order in which retrieval gave a question's candidates: what any reranking is compared with."""

from collections.abc import Mapping, Sequence

import numpy as np

from app.workbench.workbench import Workbench
from as2core.evaluation import evaluate
from as2core.rankers.bm25 import BM25Ranker
from as2core.types import Candidate, Question
from db.repositories import questions as question_rows

RETRIEVAL, WORDS = "retrieval", "words"


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


def measure_retrieval(
    wb: Workbench, corpus_id: int, questions: Sequence[Question], setting: str
) -> tuple[str, dict[str, float]]:
    """RETRIEVAL, or WORDS where not all candidates were retrieved, and the means of that order. The questions are as
    they were asked, without synonyms."""
    with wb.read() as s:
        matches = question_rows.list_retrieval_ranks(s, corpus_id, [q.text for q in questions])
    ranker = RetrievalOrder({(row.question, row.text): row.retrieval_rank for row in matches})
    is_retrieved = all(ranker.knows(q.text, q.candidates) for q in questions)
    return RETRIEVAL if is_retrieved else WORDS, evaluate(ranker, questions, setting=setting).metrics
