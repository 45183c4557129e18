import pytest

from app.labels import conflicts, label_list, prevalence, rules
from app.ui.label.desk import Desk, Display, Seat
from app.ui.label.list_desk import ListDesk
from app.workbench import people
from as2core.metrics import wilson_interval


def test_wilsons_interval_of_ten_in_fifty():
    # Wilson (1927), with z = 1.96: (0.2 + 0.0384) / 1.0768 = 0.2214, give or take 0.1089
    assert wilson_interval(10, 50) == pytest.approx((0.1124, 0.3304), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_only_what_was_drawn_at_random_makes_the_estimate(wb, towers, give_signs, ann):
    give_signs(ann, "++", queue="uncertain")
    give_signs(ann, "  -+", queue="uncertain", control=True)
    give_signs(ann, "    -?", queue="random")
    found = prevalence.estimate_prevalence(wb, towers.id)
    assert (found.fair.value, found.fair.n) == (pytest.approx(1 / 3), 3)
    assert (found.fair.low, found.fair.high) == pytest.approx(wilson_interval(1, 3))
    assert [(queue, e.value, e.n) for queue, e in found.by_queue] == [("uncertain", 1.0, 2)]


def test_a_label_changed_later_stays_where_it_was_dealt(wb, towers, give_signs, ann):
    give_signs(ann, "+", queue="dropped", control=True)
    give_signs(ann, "-", queue="own")
    found = prevalence.estimate_prevalence(wb, towers.id)
    assert (found.fair.value, found.fair.n, found.by_queue) == (0.0, 1, ())


def test_a_pair_counts_once_and_as_its_verdict_says(wb, towers, asked, give_signs, ann, bob):
    give_signs(ann, "+", queue="random")
    give_signs(bob, "-")
    assert prevalence.estimate_prevalence(wb, towers.id).fair.value == 1.0
    conflicts.adjudicate(
        wb,
        question_id=asked.question_id,
        sentence_id=asked.candidates[0].sentence_id,
        annotator_id=ann.id,
        label="incorrect",
    )
    found = prevalence.estimate_prevalence(wb, towers.id)
    assert (found.fair.value, found.fair.n) == (0.0, 1)


def test_labels_handed_over_stay_in_the_sample(wb, towers, give_signs):
    typed = people.sign_in(wb, "cy")
    give_signs(typed, "++", queue="uncertain")
    give_signs(typed, "  -", queue="uncertain", control=True)
    give_signs(typed, "   +", queue="random")
    give_signs(typed, "   -", queue="own")
    cy = people.sign_in_subject(wb, "https://id.example|3", "Cy Long")
    before = prevalence.estimate_prevalence(wb, towers.id).fair
    assert label_list.give_labels_to(wb, typed.id, cy.id, by=None).moved == 4
    assert prevalence.estimate_prevalence(wb, towers.id).fair == before
    assert (before.value, before.n) == (0.0, 2)


@pytest.mark.parametrize(("queue", "control"), [("random", 0), ("uncertain", 1)])
@pytest.mark.parametrize("blind", [0, 1])
def test_of_a_whole_list_the_pair_that_was_drawn_is_in_front_and_counts_alone(wb, scored, ann, queue, control, blind):
    rules.set_rules(wb, scored.id, by=ann.id, control=control, blind=blind)
    seat, seen = Seat(scored.id, ann.id, queue, "here"), Display(scores=True, guideline=0)
    alone = Desk.start(wb, seat)
    desk, ranks = ListDesk.start(wb, seat), []
    assert (desk.pair, desk.row) == (alone.pair, 0)
    while desk.item is not None:
        ranks.append(desk.item.rows[desk.row].rank)
        desk = desk.give(wb, "correct", seen)
        assert desk.row == 1
        desk, _ = desk.reject_rest(wb, seen)
        desk = desk.forward(wb)
    found = prevalence.estimate_prevalence(wb, scored.id)
    assert (found.fair.value, found.fair.n, found.by_queue) == (1.0, len(ranks), ())
    assert len(ranks) == 3
    assert ranks != [1, 1, 1]


def test_what_came_along_stays_out_of_the_sample_when_it_is_labelled_anew(wb, scored, ann):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    seat, seen = Seat(scored.id, ann.id, "random", "here"), Display(scores=True, guideline=0)
    desk = ListDesk.start(wb, seat)
    desk = desk.pick(1).give(wb, "correct", seen)
    along = (desk.item.question_id, desk.item.rows[1].sentence_id)
    for kind in (Desk, ListDesk):
        again = kind.start(wb, seat).open_pair(wb, along)
        assert again.item.assignment.arm == "blind"
        again.give(wb, "incorrect" if kind is Desk else "correct", seen)
        assert prevalence.estimate_prevalence(wb, scored.id).fair.n == 0
    back = ListDesk.start(wb, seat).forward(wb).back(wb)  # the one drawn, skipped
    back.give(wb, "incorrect", seen)
    assert prevalence.estimate_prevalence(wb, scored.id).fair.n == 1


def test_without_a_fair_sample_there_is_no_estimate(wb, towers, asked):
    found = prevalence.estimate_prevalence(wb, towers.id)
    assert (found.fair.value, found.fair.n, found.by_queue) == (None, 0, ())
