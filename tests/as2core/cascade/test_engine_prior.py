"""A prior beside the text: added to every logit, so that drops, order and exact scores go by the sum."""

from __future__ import annotations

import numpy as np
import pytest

from as2core.cascade.engine import run_cascade
from as2core.cascade.prior import with_prior
from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.first_stage import FirstStage
from as2core.rankers.jaccard import JaccardRanker
from as2core.types import Candidate

QUERY = "when was the tower finished"
CANDIDATES = [Candidate(str(i), f"the {word} was finished") for i, word in enumerate("tower bridge river city".split())]
PRIOR = np.array([0.0, 50.0, -1.0, 100.0])
COMPLETE = DropSchedule.constant(0.0, exits=5)


@pytest.fixture
def cascade(backbone):
    return CascadeRanker(backbone)


def test_every_exit_has_the_sum_and_drops_by_it(cascade):
    before, after = cascade.trace(QUERY, CANDIDATES, COMPLETE), cascade.trace(QUERY, CANDIDATES, COMPLETE, prior=PRIOR)
    for a, b in zip(before.exits, after.exits, strict=True):
        np.testing.assert_allclose(b.scores, a.scores + PRIOR, atol=1e-4)
    assert after.lengths.tolist() == before.lengths.tolist() and after.flops == before.flops
    run = cascade.trace(QUERY, CANDIDATES, DropSchedule.constant(0.5, exits=5, keep=1), prior=PRIOR)
    assert run.exits[0].dropped.tolist() == [0, 2] and run.ranking()[0] == 3


def test_the_answer_that_comes_first_goes_by_the_sum_too(cascade):
    runs = []
    whole = cascade.trace_completely(
        QUERY, CANDIDATES, DropSchedule.constant(0.5, exits=5, keep=1), runs.append, prior=PRIOR
    )
    assert [run.ranking()[0] for run in runs] == [3] == [whole.ranking()[0]]
    expected = cascade.trace(QUERY, CANDIDATES, COMPLETE, prior=PRIOR)
    np.testing.assert_allclose(whole.exits[-1].scores, expected.exits[-1].scores, atol=1e-4)


def test_who_a_first_stage_drops_takes_the_prior_along(cascade):
    cascade.first = FirstStage(JaccardRanker(), 2)
    alone = cascade.trace(QUERY, CANDIDATES, COMPLETE)
    trace = cascade.trace(QUERY, CANDIDATES, COMPLETE, prior=PRIOR)
    entered = trace.entered.tolist()
    assert entered == alone.entered.tolist() and len(entered) == 2
    np.testing.assert_allclose(trace.exits[-1].scores, alone.exits[-1].scores + PRIOR[entered], atol=1e-4)


def test_a_prior_is_needed_for_each_candidate(cascade):
    with pytest.raises(BadSetting, match="3 priors for 4 candidates; give one for each"):
        cascade.trace(QUERY, CANDIDATES, prior=PRIOR[:3])


def test_near_the_best_is_who_is_near_by_the_sum(cascade):
    class Rough:
        """An engine in whose logits the first candidate leads, and that tells which of them it scored again."""

        def __init__(self, engine):
            self.name, self.error, self.identity, self.again = "rough", 1.0, "", []
            self.exits, self.shape, self.engine = engine.exits, engine.shape, engine

        def start(self, questions, texts, *, keeps_states=False):
            run = self.engine.start(questions, texts, keeps_states=keeps_states)
            advance = run.advance

            def advance_rough(members, first, last):
                logits, seconds = advance(members, first, last)
                return np.zeros_like(logits) + np.array([9.0, 0.0, 0.0, 0.0])[members], seconds

            def score_again(members):
                self.again.extend(members.tolist())
                return np.zeros(len(members), np.float32)

            run.advance, run.exact = advance_rough, score_again
            return run

    engine = Rough(cascade.engine)
    queries = [(QUERY, [c.text for c in CANDIDATES])]
    [trace] = run_cascade(with_prior(engine, np.array([0.0, 20.0, 20.5, 0.0])), queries, COMPLETE)
    assert sorted(engine.again) == [1, 2] and trace.ranking()[0] == 2
    assert with_prior(engine, None) is engine
