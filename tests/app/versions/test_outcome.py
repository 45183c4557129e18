from dataclasses import asdict, replace

import pytest

from app.adapt.report import BeforeAfter
from app.ui.adapt.card.figures import describe_forgetting
from app.ui.wording import describe_test
from app.versions.outcome import MAX_FORGOTTEN_POINTS, Change, compare_with_parent, find_change, is_forgetting
from as2core.evaluation.rankers import MAX_P, Outcome, find_outcome, is_clear
from as2core.metrics import PairedTest

PAIRED = PairedTest(difference=0.04, low=0.01, high=0.07, p=0.03, wins=12, losses=3, ties=20)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.BETTER),
        ({"difference": -0.04, "low": -0.07, "high": -0.01, "wins": 3, "losses": 12}, Outcome.WORSE),
        ({"low": -0.001}, Outcome.UNCLEAR),
        ({"difference": -0.04, "low": -0.08, "high": 0.0}, Outcome.UNCLEAR),
        ({"wins": 5, "losses": 0}, Outcome.UNCLEAR),  # too few changed, whatever the interval is
        ({"difference": 0.0, "low": 0.0, "high": 0.0, "wins": 0, "losses": 0, "p": 1.0}, Outcome.UNCLEAR),
    ],
)
def test_the_interval_decides_if_enough_questions_changed(changes, outcome):
    assert find_outcome(replace(PAIRED, **changes)) is outcome


@pytest.mark.parametrize(("changes", "few"), [((0, 0), True), ((5, 0), True), ((2, 3), True), ((3, 3), False)])
def test_six_questions_have_to_change_wherever_that_is_asked(changes, few):
    test = PairedTest(0.1, 0.05, 0.15, 0.03, *changes, 4)
    assert (test.changes, test.questions, test.has_few_changes) == (sum(changes), sum(changes) + 4, few)
    assert is_clear(test) is (not few)
    assert ("oo few questions changed" in describe_test(test)) is (sum(changes) > 0 and few)


def test_a_difference_is_clear_if_its_interval_is_and_among_several_pairs_holm_s_p_too():
    assert is_clear(PAIRED) and is_clear(PAIRED, holm=0.049) and not is_clear(PAIRED, holm=MAX_P)
    assert not is_clear(replace(PAIRED, low=0.0), holm=0.001)


def test_a_version_is_compared_with_its_parent_by_what_is_stored():
    metrics = {"AP": 0.75, "before AP": 0.7}
    assert compare_with_parent(metrics) == Change(0.7, 0.75, Outcome.UNCLEAR)
    assert compare_with_parent(metrics | {"paired": asdict(PAIRED)}).headline == "Better on 35 questions"
    assert compare_with_parent(metrics).headline == "No clear difference"  # on how many is not known
    assert compare_with_parent(metrics | {"paired": {"p": "?"}}).outcome is Outcome.UNCLEAR
    assert compare_with_parent({"AP": 0.75}) is None


@pytest.mark.parametrize(("after", "points"), [(0.7801, None), (0.77, 3.0)])
def test_more_than_two_losses_on_a_frozen_benchmark_speak_against_a_version(after, points):
    change = find_change(0.7, 0.8, PAIRED, {"starter-test": (0.8, after), "wikiqa-dev": (0.7, 0.72)})
    why = f"AP fell by {points} points on the frozen benchmark Starter test" if points else ""
    assert change.objection == why
    assert not is_forgetting(MAX_FORGOTTEN_POINTS) and is_forgetting(MAX_FORGOTTEN_POINTS + 1e-9)


@pytest.mark.parametrize(("after", "forgets"), [(0.81, False), (0.786, False), (0.7801, False), (0.7799, True)])
def test_the_card_calls_forgotten_what_speaks_against_the_version(after, forgets):
    text = describe_forgetting({"starter-test": BeforeAfter({"AP": 0.8}, {"AP": after})})
    assert ("**forgotten**" in text) is forgets is bool(find_change(0.7, 0.8, None, {"x": (0.8, after)}).objection)
    assert ("nothing of note was forgotten (a fall by up to 0.02 does not count)" in text) is not forgets


def test_what_was_forgotten_is_weighed_against_a_gain_only_where_there_is_one():
    forgotten = {"starter-test": BeforeAfter({"AP": 0.8}, {"AP": 0.7})}
    ends = {outcome: describe_forgetting(forgotten, outcome).partition("**forgotten**")[2] for outcome in Outcome}
    assert ends == {
        Outcome.BETTER: "; weigh that against the gain.",
        Outcome.UNCLEAR: ", and no clear gain makes up for it.",
        Outcome.WORSE: ", too.",
    }
    same = {"starter-test": BeforeAfter({"AP": 0.81}, {"AP": 0.81})}
    assert "AP stayed at 0.810 (Starter test): nothing of note was forgotten" in describe_forgetting(same)


def test_a_worse_version_is_objected_to_with_its_figures():
    worse = replace(PAIRED, difference=-0.05, low=-0.09, high=-0.01)
    assert find_change(0.75, 0.7, worse, {}).objection == "worse on 35 questions (AP 0.750 → 0.700)"


@pytest.mark.parametrize(
    ("changes", "after", "is_gain"),
    [({}, 0.8, True), ({"low": -0.001}, 0.8, False), ({}, 0.77, False)],  # clear; unclear; clear, but it forgot
)
def test_a_clear_gain_is_better_and_has_forgotten_nothing(changes, after, is_gain):
    change = find_change(0.7, 0.8, replace(PAIRED, **changes), {"starter-test": (0.8, after)})
    assert change.is_clear_gain == is_gain


def test_the_stored_benchmarks_are_read_as_the_card_has_them():
    record = {"AP": 0.75, "before AP": 0.7, "frozen": {"before": {"AP": 0.8}, "after": {"AP": 0.7}}}
    others = {"wikiqa-dev": {"before": {"AP": 0.7}, "after": {"AP": 0.6}}, "odd": {"before": {}, "after": None}}
    change = compare_with_parent(record | {"frozen_others": others})
    assert dict(change.losses) == pytest.approx({"Starter test": 10, "WikiQA dev": 10})
    assert not compare_with_parent(record | {"frozen": {}}).losses
