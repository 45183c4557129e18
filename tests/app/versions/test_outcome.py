from dataclasses import replace

import pytest

from app.versions.outcome import Change, Outcome, compare_with_parent, find_outcome
from as2core.metrics import PairedTest

PAIRED = PairedTest(difference=0.04, low=0.01, high=0.07, p=0.03, wins=12, losses=3, ties=20)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, Outcome.BETTER),
        ({"difference": -0.04, "wins": 3, "losses": 12}, Outcome.WORSE),
        ({"p": 0.2}, Outcome.UNCLEAR),
        ({"wins": 5, "losses": 0}, Outcome.UNCLEAR),  # too few changed, whatever p is
        ({"difference": 0.0, "wins": 0, "losses": 0, "p": 1.0}, Outcome.UNCLEAR),
    ],
)
def test_a_change_is_better_or_worse_only_if_it_is_significant(changes, outcome):
    assert find_outcome(replace(PAIRED, **changes)) is outcome


def test_a_version_is_compared_with_its_parent_by_ap_and_the_paired_test_if_there_is_one():
    metrics = {"AP": 0.75, "before AP": 0.7}
    assert compare_with_parent(metrics) == Change(0.7, 0.75, Outcome.UNCLEAR)
    assert compare_with_parent(metrics, PAIRED).outcome is Outcome.BETTER
    assert compare_with_parent({"AP": 0.75}) is None


def test_a_version_with_the_same_ap_is_neither_gain_nor_loss():
    change = compare_with_parent({"AP": 0.7, "before AP": 0.7})
    assert not change.is_gain and not change.is_loss
