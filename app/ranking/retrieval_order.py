"""The order in which retrieval gave a question's candidates: what any reranking is compared with."""

from collections.abc import Mapping, Sequence

import numpy as np

from app.workbench.workbench import Workbench
from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.rankers.bm25 import BM25Ranker
from as2core.types import Candidate, Question
from db.repositories import candidates as candidate_rows

RETRIEVAL, WORDS = "retrieval", "words"


class RetrievalOrder:
    """Candidates by the rank that retrieval gave them, of questions that it `knows`. `ranks`: (question, sentence) ->
    rank from 1."""

    name = "retrieval"

    def __init__(self, ranks: Mapping[tuple[str, str], int]) -> None:
        self._ranks = ranks

    def knows(self, question: str, candidates: Sequence[Candidate]) -> bool:
        return all((question, c.text) in self._ranks for c in candidates)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return -np.array([self._ranks[question, c.text] for c in candidates], dtype=np.float32)


def measure_retrieval(
    wb: Workbench, corpus_id: int, questions: Sequence[Question], setting: str
) -> tuple[str, Evaluation]:
    """RETRIEVAL and how good that order is; or WORDS and how good that of BM25 is, the search by words, where not all
    candidates were retrieved, as those of imported lists. The questions are as they were asked, without synonyms."""
    with wb.read() as s:
        matches = candidate_rows.list_retrieval_ranks(s, corpus_id, [q.text for q in questions])
    retrieval = RetrievalOrder({(row.question, row.text): row.retrieval_rank for row in matches})
    is_retrieved = all(retrieval.knows(q.text, q.candidates) for q in questions)
    name, ranker = (RETRIEVAL, retrieval) if is_retrieved else (WORDS, BM25Ranker())
    return name, evaluate(ranker, questions, setting=setting)
