import numpy as np
import pytest
from fake_models import FakeCascade

from app.adapt.label_noise import TooFewLabels, cross_validate, estimate_other_probability, extract_features
from as2core.cascade.schedule import DropSchedule
from as2core.types import Candidate


def trace_of(question, texts):
    candidates = [Candidate(str(i), t) for i, t in enumerate(texts)]
    return FakeCascade().trace(question, candidates, DropSchedule.constant(0.0, exits=5))


def test_the_features_of_a_candidate_are_its_logits_its_lead_and_two_scores():
    trace = trace_of("When was the tower finished?", ["The tower was finished.", "A tower.", "Bread."])
    said = extract_features(trace, np.array([-1.0, -2.0, -3.0]), np.array([0.9, 0.5, 0.1]))
    assert said.shape == (3, 5 + 1 + 2)
    assert said[:, 4] == pytest.approx([3.0, 0.0, -3.0])  # of "tower" and "finished" they share 2, 1 and none
    assert said[:, 5] == pytest.approx([3.0, -3.0, -6.0])  # ahead of the second, behind the first
    assert said[:, 6:].tolist() == [[-1.0, 0.9], [-2.0, 0.5], [-3.0, 0.1]]


def test_a_lone_candidate_is_level_with_nobody_and_the_generative_score_may_be_missing():
    said = extract_features(trace_of("Who?", ["Nobody."]), np.array([0.2]))
    assert said.shape == (1, 7)
    assert said[0, 5] == 0.0


def test_where_few_are_correct_the_first_quarter_holds_most_labels_turned_round_of_either_kind():
    draw = np.random.default_rng(0)
    questions = np.repeat(np.arange(150), 10)
    right = (np.arange(1500) % 10 == 0).astype(int)  # one of ten
    features = draw.normal(0, 1.0, (1500, 2)) + 1.5 * right[:, None]
    turned = np.zeros(1500, dtype=bool)
    for kind, n in ((1, 30), (0, 270)):
        turned[draw.choice(np.flatnonzero(right == kind), n, replace=False)] = True
    given = np.where(turned, 1 - right, right)
    doubt = estimate_other_probability(cross_validate(features, given, questions.tolist()), given)
    first = np.zeros(1500, dtype=bool)
    first[np.argsort(-doubt)[:375]] = True
    assert (first & turned).sum() / turned.sum() >= 0.6
    for kind in (0, 1):
        assert (first & turned & (given == kind)).sum() / (turned & (given == kind)).sum() >= 0.6


def test_where_one_question_has_all_the_correct_labels_there_is_too_little_to_learn_from():
    questions, given = [0] * 10 + [1, 2, 3, 4, 5] * 4, np.array([1] * 10 + [0] * 20)
    with pytest.raises(TooFewLabels, match="of one question"):
        cross_validate(np.random.default_rng(0).normal(size=(30, 2)), given, questions)
