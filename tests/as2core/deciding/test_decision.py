"""A decision from its labels to its conclusion, and that its error rate holds though it is asked after every label."""

from dataclasses import replace

import numpy as np
import pytest

from as2core.deciding.betting import Bets
from as2core.deciding.decision import EQUAL, OPEN, A, B, Decision, DecisionSettings, Item
from as2core.deciding.differences import UNKNOWN, OrderPair
from as2core.errors import BadSetting

LIST = 6


def make(questions, right_a, right_b, seed=0, size=LIST):
    """Unlabelled questions with one answer each, which A ranks first with one probability and B with another; and the
    answers' positions."""
    rng = np.random.default_rng(seed)
    pairs, answers = [], {}
    for i in range(questions):
        answer = int(rng.integers(size))
        orders = []
        for right in (right_a, right_b):
            others = rng.permutation([j for j in range(size) if j != answer])
            place = 0 if rng.random() < right else int(rng.integers(1, size))
            orders.append(np.insert(others, place, answer))
        pairs.append(OrderPair(f"q{i}", *orders, np.full(size, UNKNOWN)))
        answers[f"q{i}"] = answer
    return pairs, answers


def label(decision, answers):
    item = decision.item
    return decision.give(int(answers[item.qid] == item.candidate))


def run(decision, answers, until=OPEN):
    while decision.item and decision.judge().outcome == until:
        decision = label(decision, answers)
    return decision


def true_difference(pairs, answers):
    first = [[p.order_a[0] == answers[p.qid], p.order_b[0] == answers[p.qid]] for p in pairs]
    return float(np.subtract(*np.mean(first, axis=0)))


def test_a_clear_difference_is_found_with_few_labels():
    pairs, answers = make(200, 0.9, 0.3)
    conclusion = run(Decision.start(pairs, DecisionSettings()), answers).judge()
    assert (conclusion.outcome, conclusion.is_certain) == (A, False)
    assert conclusion.confidence >= 0.95 and conclusion.low >= 0
    assert conclusion.labels < 50  # of 1,200, of which 300 could matter
    swapped = [OrderPair(p.qid, p.order_b, p.order_a, p.labels) for p in pairs]
    assert run(Decision.start(swapped, DecisionSettings()), answers).judge().outcome == B


def test_rankers_that_do_not_differ_are_told_so_before_everything_is_labelled():
    pairs, answers = make(300, 0.95, 0.95, seed=3)
    decision = Decision.start(pairs, DecisionSettings(tolerance=0.05))
    everything = decision.judge().most
    conclusion = run(decision, answers).judge()
    assert conclusion.outcome == EQUAL
    assert -0.06 <= conclusion.low <= conclusion.high <= 0.06
    assert conclusion.labels < everything


@pytest.mark.parametrize("measure", ["P@1", "RR", "AP"])
def test_with_every_label_the_estimate_is_the_truth(measure):
    from as2core.deciding.differences import bound_difference

    pairs, answers = make(12, 0.6, 0.5, seed=5)
    decision = Decision.start(pairs, DecisionSettings(measure=measure))
    while decision.item:
        decision = label(decision, answers)
    labelled = [OrderPair(p.qid, p.order_a, p.order_b, np.eye(LIST, dtype=int)[answers[p.qid]]) for p in pairs]
    truth = np.mean([bound_difference(p, measure)[0] for p in labelled])
    conclusion = decision.judge()
    assert (conclusion.estimate, conclusion.low, conclusion.high) == pytest.approx((truth,) * 3, abs=1e-9)
    assert conclusion.is_certain and conclusion.known_questions == 12 and conclusion.most == 0
    with pytest.raises(BadSetting, match="nothing to label"):
        decision.give(1)


def test_alike_rankers_need_no_label():
    pairs, _ = make(5, 0.5, 0.5)
    same = [OrderPair(p.qid, p.order_a, p.order_a, p.labels) for p in pairs]
    conclusion = Decision.start(same, DecisionSettings()).judge()
    assert (conclusion.outcome, conclusion.is_certain, conclusion.labels, conclusion.most) == (EQUAL, True, 0, 0)


def test_a_decision_is_replayed_from_its_labels_and_their_probabilities():
    pairs, answers = make(60, 0.7, 0.4, seed=2)
    decision = start = Decision.start(pairs, DecisionSettings(seed=4))
    given = []
    for _ in range(30):
        given.append((decision.item, int(answers[decision.item.qid] == decision.item.candidate)))
        decision = decision.give(given[-1][1])
    again = start
    for item, value in given:
        again = again.give_to(item, value)
    assert again.judge() == decision.judge() and again.item == decision.item


def test_labels_of_another_course_are_known_and_no_bet_is_made_on_them():
    pairs, answers = make(60, 0.7, 0.4, seed=2)
    decision = Decision.start(pairs, DecisionSettings(seed=4))
    other = Decision.start(pairs, DecisionSettings(seed=5))  # as a later program might, it draws others
    for _ in range(30):
        item, value = decision.item, int(answers[decision.item.qid] == decision.item.candidate)
        decision, other = decision.give(value), other.give_to(item, value)
    assert len(decision.draws) > 5
    assert (other.is_known == decision.is_known).all() and other.labels == 30
    assert len(other.draws) < 3  # by chance the same question, with the same probability
    other = run(other, answers)
    for draw, value in other.draws:
        assert draw.low - 1e-9 <= draw.estimate(value) <= draw.high + 1e-9
    assert other.judge().low <= true_difference(pairs, answers) <= other.judge().high


def test_a_label_with_another_probability_than_today_s_is_known_and_no_bet_is_made_on_it():
    pairs, answers = make(20, 0.7, 0.4, seed=2)
    start = decision = Decision.start(pairs, DecisionSettings())
    qid, place = start.item.qid, start.current.place
    while not decision.is_known[place]:
        candidate = int(decision.pairs[place].missing[0])
        item = Item(qid, candidate, start.item.probability * 0.9)
        decision = decision.give_to(item, int(answers[qid] == candidate))
    assert decision.draws == () and (decision.bets.above == 0).all()
    assert decision.current.place != place and decision.labels > 0
    same = start.give_to(replace(start.item, probability=start.item.probability * (1 + 1e-12)), 1)
    assert same.current.place == place and same.learned_labels == 0  # as another machine rounds


def list_level_populations():
    """Seed, pairs and answers of populations in which neither ranker is better."""
    made = ((seed, *make(20, 0.85, 0.85, seed=seed, size=4)) for seed in range(90))
    return [population for population in made if true_difference(*population[1:]) == 0]


def test_a_course_whose_plan_has_changed_is_wrong_no_more_often_than_it_says():
    """Labels of a course that drew at random are taken up by one that plans: where neither ranker is better, a
    conclusion that one is would be wrong."""
    wrong = runs = 0
    for seed, pairs, answers in list_level_populations():
        runs += 1
        earlier = Decision.start(pairs, DecisionSettings(level=0.8, tolerance=0.0, seed=seed, is_planned=False))
        decision = Decision.start(pairs, DecisionSettings(level=0.8, tolerance=0.0, seed=seed))
        for _ in range(6):
            if earlier.item:
                item, value = earlier.item, int(answers[earlier.item.qid] == earlier.item.candidate)
                earlier, decision = earlier.give(value), decision.give_to(item, value)
        wrong += run(decision, answers).judge().outcome in (A, B)
    assert runs >= 15 and wrong <= 0.2 * runs


def test_labels_from_elsewhere_count_as_known():
    pairs, answers = make(30, 0.7, 0.4, seed=2)
    decision = Decision.start(pairs, DecisionSettings())
    for p in pairs[:10]:
        for candidate in range(LIST):
            decision = decision.learn_of(p.qid, candidate, int(answers[p.qid] == candidate))
    assert decision.judge().labels == 0
    assert decision.is_known[:10].all()
    decision = run(decision, answers, until=OPEN)
    assert decision.judge().low - 0.02 <= true_difference(pairs, answers) <= decision.judge().high + 0.02


def test_a_forecast_comes_after_some_questions_and_asks_for_no_more_than_there_is():
    pairs, answers = make(200, 0.6, 0.45, seed=9)
    decision = Decision.start(pairs, DecisionSettings())
    assert decision.judge().more is None
    while len(decision.draws) < 10:
        decision = label(decision, answers)
    conclusion = decision.judge()
    assert 1 <= conclusion.more <= conclusion.most


def test_a_forecast_worked_by_hand():
    pairs, answers = make(200, 0.6, 0.45, seed=9)
    decision = Decision.start(pairs, DecisionSettings())
    while len(decision.draws) < 10:
        decision = label(decision, answers)
    ones = np.ones_like(decision.bets.above)
    decision = replace(decision, bets=Bets(decision.bets.means, ones, -ones / 2))
    # the log for A grew by .1 a draw, the one for B fell: from 1 to log(2 / .05) it takes ten times the difference
    more_draws = 10 * (np.log(40) - 1)
    assert decision.judge().more == round(more_draws * decision.labels / 10)


def test_predictions_are_made_anew_whenever_a_quarter_more_draws_are_finished():
    pairs, answers = make(200, 0.6, 0.45, seed=9)
    decision = start = Decision.start(pairs, DecisionSettings())
    looks = {0}
    while len(decision.draws) < 11:
        decision = label(decision, answers)
        looks.add(decision.learned_from)
    assert looks == {0, 1, 3, 5, 8, 11}  # one more than 1.25 times the last: 1, 2.25, 4.75, 7.25, 11
    assert (decision.probabilities != start.probabilities).any()


@pytest.mark.parametrize(("labels", "outcome"), [([1, 0], A), ([0, 1], B)])
def test_a_difference_that_no_label_can_change_any_more_is_certain(labels, outcome):
    pair = OrderPair("q", np.array([0, 1]), np.array([1, 0]), np.array(labels))
    conclusion = Decision.start([pair], DecisionSettings()).judge()
    assert (conclusion.outcome, conclusion.is_certain, conclusion.confidence) == (outcome, True, 1.0)


def test_a_tolerance_between_two_steps_of_the_means_can_be_decided_by():
    pairs, answers = make(40, 0.95, 0.2, seed=1)
    decision = Decision.start(pairs, DecisionSettings(tolerance=0.0125))
    assert run(decision, answers).judge().outcome == A


@pytest.mark.parametrize(("probability", "value"), [(0.6, 1), (0.4, 0)])
def test_a_supposed_label_is_the_likelier_one(probability, value):
    pairs, _ = make(5, 0.5, 0.5)
    probabilities = {p.qid: np.full(LIST, probability) for p in pairs}
    decision = Decision.start(pairs, DecisionSettings(), probabilities)
    place, candidate = decision.current.place, decision.item.candidate
    assert decision.suppose().pairs[place].labels[candidate] == value


def test_after_a_label_from_elsewhere_the_next_question_is_drawn_by_another_number():
    """By the same number a question beside the last one would be drawn from the rest, again and again."""
    pairs, _ = make(60, 0.5, 0.5)
    steps = []
    for seed in range(8):
        decision = Decision.start(pairs, DecisionSettings(seed=seed, is_planned=False))
        place, qid = decision.current.place, decision.item.qid
        while decision.current.place == place:
            decision = decision.learn_of(qid, int(decision.pairs[place].missing[0]), 0)
        steps.append(abs(decision.current.place - place))
    assert sum(step > 1 for step in steps) > 4


def test_the_gamblers_fortune_worked_by_hand():
    # the estimate may lie in [-1, 1] and is .5: who stakes f of what could be lost below 0 has 1 + f/2
    bets = Bets.start(np.array([-1.0, 0.0, 1.0])).see(0.5, -1.0, 1.0)
    stakes = np.array([0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.95])
    assert bets.log_above[1] == pytest.approx(np.log(np.mean(1 + stakes / 2)))
    assert bets.log_below[1] == pytest.approx(np.log(np.mean(1 - stakes / 2)))
    assert bets.log_above[0] == np.inf  # a mean of -1 cannot give more than -1


def test_an_interval_holds_the_means_that_neither_gambler_excludes_and_one_step_more():
    # at .95 a mean is excluded by a fortune of 40, half of the error for each side
    fortunes = np.log([50.0, 45.0, 30.0, 10.0, 1.0])
    bets = Bets(np.array([-0.2, -0.1, 0.0, 0.1, 0.2]), np.tile(fortunes, (12, 1)), np.zeros((12, 5)))
    assert bets.interval(0.95) == (-0.1, 0.2)
    mirrored = Bets(bets.means, bets.below, np.tile(fortunes[::-1], (12, 1)))
    assert mirrored.interval(0.95) == (-0.2, 0.1)


def test_asked_after_every_label_the_interval_holds_as_often_as_it_says():
    """Of populations in which neither is better a conclusion that one is would be wrong, whenever it is asked."""
    wrong = runs = 0
    for seed, pairs, answers in list_level_populations():
        runs += 1
        decision = Decision.start(pairs, DecisionSettings(level=0.8, tolerance=0.0, seed=seed))
        decision = run(decision, answers)
        wrong += decision.judge().outcome in (A, B)
    assert runs >= 15
    assert wrong / runs <= 0.2 + 2 * (0.2 * 0.8 / runs) ** 0.5


def test_the_fortunes_of_a_fair_game_seldom_grow_twentyfold():
    """Ville's bound, at each of 200 draws in 3,000 games with estimates of mean 0, which are seldom far above it."""
    rng = np.random.default_rng(0)
    games = Bets.start(np.zeros(3000))  # as if they were the same mean so many times
    ever = np.zeros(3000, dtype=bool)
    for _ in range(200):
        games = games.see(rng.choice([-0.2, 1.0], 3000, p=[5 / 6, 1 / 6]), -0.2, 1.0)
        ever |= np.maximum(games.log_above, games.log_below) >= np.log(40)
    assert 0 < ever.mean() <= 0.05


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"measure": "nDCG"}, "no measure 'nDCG'"), ({"level": 1.0}, "level 1"), ({"tolerance": -0.1}, "tolerance -0.1")],
)
def test_a_setting_that_cannot_be_is_refused(settings, message):
    with pytest.raises(BadSetting, match=message):
        DecisionSettings(**settings)


def test_no_question_and_one_twice_are_refused():
    pairs, _ = make(1, 0.5, 0.5)
    with pytest.raises(BadSetting, match="no question"):
        Decision.start([], DecisionSettings())
    with pytest.raises(BadSetting, match="the same id"):
        Decision.start([*pairs, *pairs], DecisionSettings())
