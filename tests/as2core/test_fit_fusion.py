"""Learned fusion weights against scikit-learn, and that a search never makes things worse."""

import numpy as np
import pytest

from as2core.errors import BadSetting, NotEnoughLabels
from as2core.metrics import measure_mean
from as2core.rankers.fusion import FusionRanker
from as2core.training.fusion import fit_fusion
from as2core.types import Candidate, Question

LABELS = {"a": (1, 0, 0, 0), "b": (0, 1, 0, 0), "c": (0, 0, 1, 0), "d": (1, 0, 0, 1), "e": (0, 1, 0, 0)}
QUESTIONS = [
    Question(qid, qid, tuple(Candidate(f"{qid}{i}", "text", y) for i, y in enumerate(labels)))
    for qid, labels in LABELS.items()
]


class Noisy:
    """Label times skill plus noise of its own."""

    def __init__(self, skill, seed):
        self.skill, self.seed, self.name = skill, seed, f"skill-{skill}"

    def score(self, question, candidates):
        noise = np.random.default_rng([self.seed, ord(question)]).normal(size=len(candidates))
        return (self.skill * np.array([c.label or 0 for c in candidates]) + noise).astype(np.float32)


RANKERS = [Noisy(1.0, 1), Noisy(0.0, 2), Noisy(0.6, 3)]


def ap(ranker):
    return measure_mean(QUESTIONS, {q.qid: ranker.score(q.text, q.candidates) for q in QUESTIONS}, ("AP",))["AP"]


def test_logistic_weights_are_scikit_learn_s():
    from sklearn.linear_model import LogisticRegression

    before = FusionRanker(RANKERS, method="zscore")
    fitted = fit_fusion(before, QUESTIONS, l2=0.01)
    x = np.concatenate([before.opinions(q.text, q.candidates) for q in QUESTIONS])
    y = np.array([c.label for q in QUESTIONS for c in q.candidates])
    w = np.array([0.5 / (q.positives if c.label else q.negatives) for q in QUESTIONS for c in q.candidates])
    theirs = LogisticRegression(C=1 / 0.01, tol=1e-10, max_iter=10000).fit(x, y, sample_weight=w / len(QUESTIONS))
    np.testing.assert_allclose(fitted.weights, theirs.coef_[0], atol=1e-3)
    assert before.weights.tolist() == [1, 1, 1]


def test_a_ranker_that_only_guesses_gets_little_weight():
    weights = fit_fusion(FusionRanker([Noisy(3.0, 1), Noisy(0.0, 2)], method="zscore"), QUESTIONS).weights
    assert weights[0] > 3 * abs(weights[1])


@pytest.mark.parametrize("method", ["zscore", "rrf"])
def test_a_search_ends_no_worse_than_it_began_and_no_single_step_is_better(method):
    before = FusionRanker(RANKERS, method=method)
    began = fit_fusion(before, QUESTIONS) if method == "zscore" else before
    found = fit_fusion(before, QUESTIONS, how="search")
    assert ap(found) >= ap(began) and found.method == method
    for i in range(3):
        for multiple in (0.0, 0.5, 2.0):
            weights = found.weights
            weights[i] *= multiple
            assert ap(FusionRanker(RANKERS, method=method, weights=weights)) <= ap(found) + 1e-6


def test_candidates_without_a_label_teach_nothing():
    unlabelled = [
        Question(q.qid, q.text, (*q.candidates, Candidate("x", "text"))) for q in QUESTIONS
    ]  # standardising sees them, so only the count of rows is the same
    weights = fit_fusion(FusionRanker(RANKERS, method="zscore"), unlabelled).weights
    assert np.isfinite(weights).all() and weights[0] > 0


def test_what_cannot_be_learned_from_is_refused():
    fused = FusionRanker(RANKERS, method="zscore")
    with pytest.raises(NotEnoughLabels, match="correct and an incorrect"):
        fit_fusion(fused, [Question("a", "a", (Candidate("1", "x", 1),))])
    with pytest.raises(BadSetting, match="logistic, search"):
        fit_fusion(fused, QUESTIONS, how="prayer")
    with pytest.raises(BadSetting, match="method=zscore"):
        fit_fusion(FusionRanker(RANKERS), QUESTIONS)
