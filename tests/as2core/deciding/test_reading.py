"""A list that is read in part gives an unbiased value within its limits, and costs fewer labels."""

import numpy as np
import pytest

from as2core.deciding.decision import OPEN, A, B, Decision, DecisionSettings
from as2core.deciding.differences import UNKNOWN, OrderPair, bound_difference
from as2core.deciding.draws import Draw
from as2core.deciding.reading import Reading, predict_change
from as2core.metrics import bound_mean

DRAW = Draw(place=0, probability=0.5, prediction=0.1, base=0.0, pool=3, questions=4, low=-9, high=9)
CHANGE, CLOSING = (-0.2, 0.6), (0.3, 0.3)  # bounds of the difference: after two labels, and at the end
# (prediction after the label, size expected of the next, bounds of the difference), label by label
STEPS = [(-0.4, 0.2, (-0.9, 0.7)), (0.5, 0.05, CHANGE), (-0.1, 0.02, CHANGE), (0.4, 0.3, CHANGE), (0.3, 0.0, CLOSING)]


def read(steps, slack):
    """(probability, value) of every place where the reading may end."""
    reading, chance = Reading.start(DRAW, -1 - slack, 1 + slack, 0.4), 1.0
    for prediction, size, bounds in steps[:-1]:
        reading = reading.see(prediction)
        weight = reading.plan_weight(size, *bounds)
        going_on = reading.weight / weight
        yield chance * (1 - going_on), reading.value
        chance *= going_on
        reading = Reading(**{f: getattr(reading, f) for f in reading.__slots__} | {"weight": weight})
        assert reading.probability == pytest.approx(DRAW.probability * chance)
    yield chance, reading.see(steps[-1][0]).value


@pytest.mark.parametrize("slack", [0.0, 0.5, 3.0])
def test_the_value_is_unbiased_wherever_it_may_end_and_within_its_limits(slack):
    ends = list(read(STEPS, slack))
    assert sum(chance for chance, _ in ends) == pytest.approx(1)
    assert sum(chance * value for chance, value in ends) == pytest.approx(STEPS[-1][0])
    assert len({value for chance, value in ends if chance > 0}) > 2  # it does end early
    assert all(-1 - slack - 1e-9 <= value <= 1 + slack + 1e-9 for _, value in ends)


def test_what_the_next_label_weighs_worked_by_hand():
    # a first label was expected to change .4, the next .1: four times the weight, if the limits allow it
    reading = Reading.start(DRAW, -1.0, 1.0, 0.4).see(0.3)
    assert reading.value == 0.3
    assert reading.plan_weight(0.1, 0.2, 0.4) == pytest.approx(4)
    assert reading.plan_weight(0.1, 0.2, 0.8) == pytest.approx(0.7 / 0.5)  # .3 + 1.4 * (.8 - .3) is 1
    assert reading.plan_weight(0.1, -0.7, 0.4) == pytest.approx(1.3)  # .3 + 1.3 * (-.7 - .3) is -1
    assert reading.plan_weight(0.8, 0.2, 0.4) == 1.0  # no label less than the one before


def test_what_a_label_is_expected_to_change_worked_by_hand():
    # A ranks 0 first, B ranks 1: correct, 0 makes A minus B 0 or 1 as 1 is correct or not, else -1 or 0
    pair = OrderPair("q", np.array([0, 1]), np.array([1, 0]), np.full(2, UNKNOWN))
    cases = np.array([[False, True], [True, False]])
    prediction, size = predict_change(pair, 0, cases, 0.2, "P@1")
    assert prediction == pytest.approx(0.2 * 0.5 + 0.8 * -0.5)
    assert size == pytest.approx(np.hypot((0.2 * 0.8) ** 0.5, 0.1))  # and a tenth of the 1 that it could change


def make(questions, size, seed, strength=(1.2, 1.2)):
    """Unlabelled questions with one to three correct candidates, which rankers of some strength order; their labels."""
    rng = np.random.default_rng(seed)
    pairs, labels = [], {}
    for i in range(questions):
        correct = np.isin(np.arange(size), rng.choice(size, rng.integers(1, 4), replace=False)).astype(int)
        scores = [s * correct + rng.normal(size=size) for s in strength]
        pairs.append(OrderPair.of_scores(f"q{i}", *scores, np.full(size, UNKNOWN)))
        labels[f"q{i}"] = correct
    return pairs, labels


def run(pairs, labels, settings):
    decision = Decision.start(pairs, settings)
    while (item := decision.item) and decision.judge().outcome == OPEN:
        decision = decision.give(int(labels[item.qid][item.candidate]))
    return decision


@pytest.mark.parametrize("measure", ["RR", pytest.param("AP", marks=pytest.mark.slow)])
def test_a_part_of_long_lists_decides(measure):
    pairs, labels = make(60, 20, 1, strength=(1.8, 0.8))
    part, whole = (run(pairs, labels, DecisionSettings(measure, is_planned=planned)) for planned in (True, False))
    assert part.judge().outcome == whole.judge().outcome == A
    assert part.labels < 0.75 * whole.labels
    assert not part.judge().is_certain
    for draw, value in part.draws:
        assert draw.low - 1e-9 <= draw.estimate(value) <= draw.high + 1e-9
    truth = [bound_difference(OrderPair(p.qid, p.order_a, p.order_b, labels[p.qid]), measure)[0] for p in pairs]
    assert part.judge().low <= np.mean(truth) <= part.judge().high


@pytest.mark.parametrize("measure", ["RR", "AP"])
def test_a_question_may_be_drawn_again_and_all_labels_give_the_truth(measure):
    pairs, labels = make(8, 6, 2)
    decision = Decision.start(pairs, DecisionSettings(measure))
    while (item := decision.item) is not None:
        decision = decision.give(int(labels[item.qid][item.candidate]))
    places = [draw.place for draw, _ in decision.draws]
    assert len(places) > len(set(places))
    truth = [bound_difference(OrderPair(p.qid, p.order_a, p.order_b, labels[p.qid]), measure)[0] for p in pairs]
    assert decision.judge().estimate == pytest.approx(np.mean(truth))


@pytest.mark.parametrize("measure", ["RR", pytest.param("AP", marks=pytest.mark.slow)])
def test_asked_after_every_label_the_interval_holds_as_often_as_it_says(measure):
    """Every question stands twice, with the orders exchanged: neither ranker is better, so each conclusion that one is
    would be wrong."""
    wrong, runs = 0, 40
    for seed in range(runs):
        pairs, labels = make(5, 4, seed)
        swapped = [OrderPair(f"{p.qid} again", p.order_b, p.order_a, p.labels) for p in pairs]
        labels |= {f"{qid} again": values for qid, values in labels.items()}
        settings = DecisionSettings(measure, level=0.8, tolerance=0.0, seed=seed)
        wrong += run([*pairs, *swapped], labels, settings).judge().outcome in (A, B)
    assert wrong / runs <= 0.2 + 2 * (0.2 * 0.8 / runs) ** 0.5


@pytest.mark.parametrize("measure", ["P@1", "RR"])
def test_other_questions_are_estimated_as_these_and_once_all_are_known_by_their_mean(measure):
    pairs, labels = make(12, 6, seed=4)
    decision = Decision.start(pairs, DecisionSettings(measure=measure, tolerance=0.0))
    looks = 0
    while item := decision.item:
        decision = decision.give(int(labels[item.qid][item.candidate]))
        if others := decision.estimate_for_others():
            assert others.mean == pytest.approx(np.clip(decision.estimate(), -1, 1))
            assert -1 <= others.low <= others.mean <= others.high <= 1
            looks += 1
    known = [pair.with_label(slice(None), labels[pair.qid]) for pair in pairs]
    differences = [bound_difference(pair, measure)[0] for pair in known]
    others = decision.estimate_for_others()
    assert looks > 5 and others.mean == pytest.approx(np.mean(differences))
    assert (others.low, others.high) == bound_mean(decision.bounds[:, 0], limits=(-1, 1))
    assert decision.bounds[:, 0] == pytest.approx(differences)
