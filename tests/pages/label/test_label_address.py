"""What the address of Label opens, and who comes back to it."""

from dataclasses import replace

import pytest
import stored
from app_pages import markup, open_page
from label_desk import BRIDGE, front, leave, open_label, press

from app.ask import stored_questions
from app.labels import leasing, rules
from app.labels.seats import Seat


def test_a_reload_opens_the_list_that_was_left_also_where_its_queue_offers_it_no_more(wb):
    at = open_page("label")
    question = front(at)[0]
    assert at.query_params["question"] == str(question)
    at = press(at, "incorrect")
    again = open_page("label", {"question": str(question)})
    assert front(again)[0] == question
    assert again.session_state["_label_desk"].rows[0].label == "incorrect"
    again = press(again, "forward")  # moving on changes the address
    assert front(again)[0] != question
    assert again.query_params["question"] == str(front(again)[0])
    at = at.selectbox(key="label_queue").set_value("tops").run()  # another queue begins with its own first
    assert at.query_params["question"] == str(front(at)[0])
    assert "question" not in at.segmented_control(key="label_mode").set_value("one").run().query_params


@pytest.mark.parametrize("address", ["999999", "x", "-1", "3.4"])
def test_an_address_without_a_question_of_the_queues_opens_the_queue(wb, address):
    assert front(open_page("label", {"question": address}))[0] in (1, 2, BRIDGE)


def test_only_a_question_that_the_queue_may_offer_is_opened_again(wb, me):
    seat = Seat(stored.TOWERS, me.id, "tops")
    assert leasing.reopen_question(wb, seat, BRIDGE).question_id == BRIDGE
    assert leasing.reopen_question(wb, replace(seat, questions=(1,)), BRIDGE) is None
    assert leasing.reopen_question(wb, replace(seat, corpus_id=stored.WORKS), BRIDGE) is None
    stored_questions.set_queued(wb, [BRIDGE], queued=False, by=me.id)
    assert leasing.reopen_question(wb, seat, BRIDGE) is None


def test_an_address_does_not_choose_what_chance_chooses(wb, me):
    seat = Seat(stored.TOWERS, me.id, "random")
    assert leasing.reopen_question(wb, seat, BRIDGE) is None
    rules.set_rules(wb, stored.TOWERS, by=me.id, control=1.0)
    item = leasing.find_next_question(wb, replace(seat, queue="uncertain"))
    assert item.assignment.control
    assert leasing.reopen_question(wb, replace(seat, queue="uncertain"), item.question_id) is None
    assert leasing.find_next_question(wb, replace(seat, queue="uncertain")).assignment == item.assignment


def test_questions_that_a_link_names_and_that_are_labelled_are_told_from_those_not_ranked(wb, ann):
    leave(wb, ann)
    at = open_label({"queue": "tops", "only": str(BRIDGE)})
    assert "Nothing to label in these questions" in markup(at) and "not ranked yet" not in markup(at)
    assert "label_rank_these" not in [b.key for b in at.button]
