"""Numbers between 0 and 1: probabilities where the ranker has them, and the order in any case."""

from __future__ import annotations

import numpy as np
import pytest

from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape
from as2core.metrics import order
from as2core.rankers.cascade import CascadeRanker
from as2core.relevance import score_relevance, separate, to_relevance
from as2core.types import Candidate

SHAPE = EncoderShape(hidden=32, inner=64, layers=4)
QUERY = "when was the tower finished"
WORDS = "tower bridge river iron steel built finished year city long high".split()


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64)))


def record(layer, alive, scores, dropped):
    return ExitRecord(layer, np.array(alive), np.array(scores, np.float32), np.array(dropped, int), 0.0, 0, 0)


@pytest.fixture
def cascade(backbone):
    return CascadeRanker(backbone, exits=(2, 4), calibration=[(1.0, 0.0), (2.0, -1.0)], keep=1)


def relevance_of(cascade, monkeypatch, exits, first=None):
    n = len((first or exits[0]).alive)
    schedule = DropSchedule.constant(0.5, exits=2)
    trace = CascadeTrace(np.full(n, 7), tuple(exits), schedule, SHAPE, first=first)
    monkeypatch.setattr(type(cascade), "trace_many", lambda self, queries, schedule=None: [trace])
    return score_relevance(cascade, [(QUERY, [Candidate(str(i), "x") for i in range(n)])])[0]


def test_survivors_have_the_last_exits_probability_and_the_dropped_their_own(cascade, monkeypatch):
    exits = [record(2, [0, 1, 2, 3], [-3.0, 2.0, 1.0, -4.0], [0, 3]), record(4, [1, 2], [3.0, 1.0], [])]
    relevance = relevance_of(cascade, monkeypatch, exits)
    np.testing.assert_allclose(relevance.values[[1, 2]], sigmoid([2 * 3.0 - 1, 2 * 1.0 - 1]))
    np.testing.assert_allclose(relevance.values[[0, 3]], sigmoid([-3.0, -4.0]))  # below the survivors already
    assert relevance.tokens == 28


def test_dropped_ones_more_probable_than_a_survivor_are_scaled_below_it_together(cascade, monkeypatch):
    exits = [record(2, [0, 1, 2, 3], [1.0, 2.0, 1.5, 0.0], [0, 3]), record(4, [1, 2], [3.0, -3.0], [])]
    values = relevance_of(cascade, monkeypatch, exits).values
    least = sigmoid(2 * -3.0 - 1)
    assert values[2] == pytest.approx(least) and values[0] < least and values[0] == pytest.approx(least)
    assert values[3] / values[0] == pytest.approx(sigmoid(0.0) / sigmoid(1.0))


def test_what_a_first_stage_left_out_is_below_all_others_in_its_order(cascade, monkeypatch):
    first = record(0, [0, 1, 2, 3], [9.0, 30.0, 2.0, 5.0], [2, 3])
    exits = [record(2, [0, 1], [1.0, 2.0], [0]), record(4, [1], [-4.0], [])]
    values = relevance_of(cascade, monkeypatch, exits, first).values
    assert order(values).tolist() == [1, 0, 3, 2] and values.min() > 0


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.6])
def test_the_order_is_the_rankers_whatever_it_drops(tiny, ratio):
    from as2core.rankers.catalog import get

    ranker = get(f"cascade:backbone={tiny()},drop_ratio={ratio},keep=1")
    ranker.calibration, ranker.is_calibrated = ((1.0, 0.5), (2.0, 0.0), (0.5, 1.0), (1.0, 0.0), (3.0, 1.0)), True
    rng = np.random.default_rng(0)
    texts = [Candidate(str(i), " ".join(rng.choice(WORDS, 6))) for i in range(30)]
    [relevance] = score_relevance(ranker, [(QUERY, texts)])
    assert order(relevance.values).tolist() == order(relevance.scores).tolist()
    assert relevance.values.min() > 0 and relevance.values.max() < 1


def test_without_dropping_a_document_has_one_score_in_any_company(tiny):
    from as2core.rankers.catalog import get

    ranker = get(f"cascade:backbone={tiny()},drop_ratio=0")
    ranker.calibration, ranker.is_calibrated = ((1.0, 0.0),) * 5, True
    rng = np.random.default_rng(1)
    texts = [Candidate(str(i), " ".join(rng.choice(WORDS, rng.integers(1, 30)))) for i in range(40)]
    together = score_relevance(ranker, [(QUERY, texts)])[0].values
    alone = [r.values[0] for r in score_relevance(ranker, [(QUERY, [text]) for text in texts[:6]])]
    np.testing.assert_allclose(together[:6], alone, atol=1e-6)


def test_no_two_scores_become_one_number_nor_0_or_1():
    scores = np.array([1e30, 5e29, 100.0, 90.0, 90.0, -1e30], np.float32)
    for values in (to_relevance(scores), separate(sigmoid(scores), scores)):
        assert values.min() > 0 and values.max() < 1 and values[3] == values[4]
        assert np.all(np.diff(values[[0, 1, 2, 3, 5]]) < 0)
