import pytest

from app.services import agreement, labelling, shares
from app.services.shares import wilson
from app.services.views import Shown


@pytest.fixture
def give(wb, asked):
    """give(annotator, first, "+-?", queue=...) labels candidates from the first on, a sign each."""

    def act(who, first, signs, **shown):
        for candidate, sign in zip(asked.candidates[first:], signs, strict=False):
            labelling.give_label(
                wb,
                question_id=asked.question_id,
                sentence_id=candidate.sentence_id,
                annotator_id=who.id,
                label={"+": "correct", "-": "incorrect", "?": "unsure"}[sign],
                shown=Shown(**shown),
            )

    return act


def test_wilsons_interval_of_ten_in_fifty():
    # Wilson (1927), with z = 1.96: (0.2 + 0.0384) / 1.0768 = 0.2214, give or take 0.1089
    assert wilson(10, 50) == pytest.approx((0.1124, 0.3304), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_only_what_was_drawn_at_random_makes_the_estimate(wb, towers, give, ann):
    give(ann, 0, "++", queue="uncertain")
    give(ann, 2, "-+", queue="uncertain", control=True)
    give(ann, 4, "-?", queue="random")
    found = shares.shares(wb, towers.id)
    assert (found.fair.value, found.fair.n) == (pytest.approx(1 / 3), 3)
    assert (found.fair.low, found.fair.high) == pytest.approx(wilson(1, 3))
    assert [(queue, e.value, e.n) for queue, e in found.chosen] == [("uncertain", 1.0, 2)]


def test_a_label_changed_later_stays_where_it_was_dealt(wb, towers, give, ann):
    give(ann, 0, "+", queue="dropped", control=True)
    give(ann, 0, "-", queue="own")
    found = shares.shares(wb, towers.id)
    assert (found.fair.value, found.fair.n, found.chosen) == (0.0, 1, ())


def test_a_pair_counts_once_and_as_its_verdict_says(wb, towers, asked, give, ann, bob):
    give(ann, 0, "+", queue="random")
    labelling.give_label(
        wb,
        question_id=asked.question_id,
        sentence_id=asked.candidates[0].sentence_id,
        annotator_id=bob.id,
        label="incorrect",
    )
    assert shares.shares(wb, towers.id).fair.value == 1.0
    agreement.settle(
        wb,
        question_id=asked.question_id,
        sentence_id=asked.candidates[0].sentence_id,
        annotator_id=ann.id,
        label="incorrect",
    )
    found = shares.shares(wb, towers.id)
    assert (found.fair.value, found.fair.n) == (0.0, 1)


def test_without_a_fair_sample_there_is_no_estimate(wb, towers, asked):
    found = shares.shares(wb, towers.id)
    assert (found.fair.value, found.fair.n, found.chosen) == (None, 0, ())
