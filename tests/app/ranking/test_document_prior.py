"""What the rank of a sentence's document adds to its logits on Ask."""

import numpy as np
import pytest
from fake_models import FakeCascade

from app.ask import asking, pair
from app.ranking import scoring
from app.ranking.document_prior import weigh_documents
from app.ranking.retrieval import RetrievedSentence
from as2core.cascade.schedule import DropSchedule

QUESTION = "Which tower or bridge was designed by Fowler?"


def test_the_odds_fall_with_the_square_root_of_the_rank_and_not_for_a_sentence_that_was_not_retrieved():
    sentences = [RetrievedSentence(i, "", "", 1, 1, "", "", 1, document_rank=rank) for i, rank in enumerate((1, 4, 0))]
    assert np.exp(weigh_documents(sentences)).tolist() == pytest.approx([1, 1 / 2, 1])


def test_every_exit_of_an_answer_has_the_rank_of_the_document_in_it(wb, towers):
    asked = asking.ask(wb, towers.id, QUESTION)
    ranks = [c.document_rank for c in asked.candidates]
    assert ranks == sorted(ranks) and {*ranks} == {*range(1, 1 + len({c.document_id for c in asked.candidates}))}
    assert len({*ranks}) > 1
    alone = FakeCascade().trace(QUESTION, scoring.as_candidates(asked.candidates), DropSchedule.constant(0.0, exits=5))
    for a, b in zip(alone.exits, asked.trace.exits, strict=True):
        assert b.scores == pytest.approx(a.scores - np.log(ranks) / 2, abs=1e-5)


def test_a_second_ranker_beside_it_reads_the_same_ranks(wb, towers):
    asked = asking.ask(wb, towers.id, QUESTION, limits=scoring.RankLimits.from_settings(wb.settings, first_keep=6))
    side = pair.rank_side(wb, asked, "cascade")
    own = {
        c.sentence_id: score for c, score in zip(side.view.candidates, side.view.trace.exits[-1].scores, strict=True)
    }
    entered = asked.trace.entered
    assert [own[asked.candidates[i].sentence_id] for i in entered] == pytest.approx(asked.trace.exits[-1].scores)
