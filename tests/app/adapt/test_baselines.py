"""What before and after are compared with: the order of retrieval, and the shipped version."""

import pytest

from app.adapt import measuring
from app.ask import asking
from app.ranking.retrieval_order import RetrievalOrder, measure_retrieval
from as2core.evaluation.rankers import evaluate
from as2core.rankers.bm25 import BM25Ranker
from as2core.types import Candidate, Question

TEXTS = ("The tower was finished in 1889.", "Rain falls.", "The tower has three lifts.")
CANDIDATES = tuple(Candidate(str(i), text, int(i == 0)) for i, text in enumerate(TEXTS))
QUESTION = Question("q", "When was the tower finished?", CANDIDATES)


def test_candidates_follow_their_retrieval_rank():
    ranks = {(QUESTION.text, text): rank for text, rank in zip(TEXTS, (3, 1, 2), strict=True)}
    assert RetrievalOrder(ranks).score(QUESTION.text, CANDIDATES).argsort()[::-1].tolist() == [1, 2, 0]
    assert RetrievalOrder(ranks).knows(QUESTION.text, CANDIDATES)
    del ranks[QUESTION.text, TEXTS[1]]
    assert not RetrievalOrder(ranks).knows(QUESTION.text, CANDIDATES)


def test_the_stored_ranks_of_a_question_asked_here_are_its_baseline(wb, towers):
    asked = asking.ask(wb, towers.id, QUESTION.text)
    wb.later.finish()
    in_order = sorted(asked.candidates, key=lambda c: c.retrieval_rank)
    third = in_order[2].sentence_id
    labelled = tuple(Candidate(str(c.sentence_id), c.text, int(c.sentence_id == third)) for c in asked.candidates)
    name, order = measure_retrieval(wb, towers.id, [Question("q", QUESTION.text, labelled)], "raw")
    assert (name, order.metrics["RR"]) == ("retrieval", pytest.approx(1 / 3))


def test_an_imported_list_has_all_questions_go_by_words(wb, towers):
    asked = asking.ask(wb, towers.id, "Who keeps the bread?")
    wb.later.finish()
    last = asked.candidates[-1].sentence_id
    labelled = tuple(Candidate(str(c.sentence_id), c.text, int(c.sentence_id == last)) for c in asked.candidates)
    both = [QUESTION, Question("asked", "Who keeps the bread?", labelled)]
    name, order = measure_retrieval(wb, towers.id, both, "raw")
    assert (name, order.metrics) == ("words", evaluate(BM25Ranker(), both, setting="raw").metrics)


def test_the_shipped_version_is_measured_unless_it_is_the_base_or_none_is_shipped(wb):
    base, shipped = (evaluate(BM25Ranker(), [QUESTION], setting="raw") for _ in range(2))
    measure = {"cascade": shipped}.__getitem__
    assert measuring.measure_shipped(wb, "cascade", ("cascade", base), measure) is base
    assert measuring.measure_shipped(wb, "cascade", ("towers-1", base), measure) is shipped
    assert measuring.measure_shipped(wb, "cosinet", ("mine", base), measure) is None
