"""Which queue Label opens, what comes next in it, and its end."""

import re

import pytest
import stored
from app_pages import markup, open_page, texts
from label_desk import BRIDGE, FIRST, SECOND, front, label, leave, open_label, press, score_jobs

from app.corpora import documents
from app.labels import leasing, rules
from app.labels.seats import Seat
from app.ui.label.list_desk import ListDesk


def test_label_opens_with_the_whole_list_of_a_question_without_a_label(wb, ann):
    label(wb, ann, FIRST)
    at = open_page("label")
    desk = at.session_state["_label_desk"]
    assert isinstance(desk, ListDesk)
    assert desk.seat.queue == "unlabelled"
    assert desk.item.question_id != BRIDGE
    assert at.session_state["label_mode"] == "list"
    assert "Read each list until you find the answer" in texts(at)
    assert "Read each list" not in texts(open_page("label", {"mode": "one"}))


def test_who_labels_without_a_name_is_asked_for_one_where_several_are_to_label_a_pair(wb, me):
    assert not open_label().warning
    rules.set_rules(wb, stored.TOWERS, by=me.id, overlap=2)
    at = open_label()
    assert [w.value for w in at.warning] == [
        "Type your name in the sidebar first: all who label without one count as one person."
    ]
    assert not at.text_input(key="as2_name").set_value("ann").run().warning


def test_label_opens_as_it_was_left_unless_its_address_names_a_place(wb):
    at = open_label({"queue": "random"})
    at = at.switch_page("../pages/data.py").run()
    at.query_params.clear()
    at = at.switch_page("../pages/label.py").run()
    assert at.session_state["_label_desk"].seat.queue == "random"
    assert (at.query_params["queue"], at.query_params["mode"]) == ("random", "one")
    at = at.switch_page("../pages/data.py").run()
    at.query_params.clear()
    at.query_params["only"] = str(BRIDGE)
    at = at.switch_page("../pages/label.py").run()
    assert at.session_state["_label_desk"].seat.queue == "unlabelled"


def test_a_finished_queue_says_so_and_what_to_do_next(wb, ann):
    leave(wb, ann, FIRST)
    stored.put_job(wb, "score", "done", result={"questions": 0})
    at = press(open_label(), "correct")
    assert "This queue is finished" in markup(at)
    keys = [b.key for b in at.button if b.key.startswith("label_")]
    assert keys == ["label_undo", "label_back", "label_act_undo"]
    assert not any(b.disabled for b in at.button)
    assert at.toggle(key="label_keys").value is True  # it counts for all pages, so it is here without an item, too
    at = press(at, "back")
    assert front(at) == FIRST


@pytest.mark.parametrize("mode", ["one", "list"])
def test_where_every_question_has_a_label_those_with_incorrect_ones_only_are_one_press_away(wb, ann, mode):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        is_bridge = item.question_id == BRIDGE
        label(wb, ann, (item.question_id, item.sentence_id), "incorrect" if is_bridge else "correct")
    stored.put_job(wb, "score", "done", result={"questions": 0})
    at = open_page("label", {"queue": "unlabelled", "mode": mode})
    assert "Nothing is left: every question is labelled" in markup(at)
    assert "1 question has incorrect labels only." in markup(at)
    at = at.button(key="label_incorrect_only").click().run()
    assert at.selectbox(key="label_queue").value == "tops"
    desk = at.session_state["_label_desk"]
    assert isinstance(desk, ListDesk) and desk.seat.questions == (BRIDGE,)
    assert desk.item.question_id == BRIDGE
    assert not at.warning
    press(at, "rest")
    assert "incorrect labels only" not in markup(open_page("label"))  # all of it has been read


def test_where_correct_labels_alone_keep_a_retrain_from_starting_incorrect_ones_are_one_press_away(wb, ann):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    stored.put_job(wb, "score", "done", result={"questions": 0})
    at = open_page("label", {"queue": "unlabelled", "mode": "list"})
    assert "correct labels only, and a first retrain needs some with an incorrect one, too." in markup(at)
    at = at.button(key="label_correct_only").click().run()
    desk = at.session_state["_label_desk"]
    assert isinstance(desk, ListDesk) and desk.item.question_id in desk.seat.questions
    assert [row.is_open for row in desk.item.rows] == [False, *[True] * 5]  # ann labelled the first


def test_a_finished_queue_mentions_no_incorrect_labels_where_a_sentence_is_correct(wb, ann):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    label(wb, ann, SECOND, "incorrect")
    at = open_page("label")
    assert "incorrect labels only" not in markup(at) and "Tops" not in " ".join(b.label for b in at.button)


def test_after_an_incorrect_sentence_the_next_of_its_question_comes_until_one_is_correct(wb, ann):
    at = open_label({"queue": "unlabelled"})
    question, first = front(at)
    left = read_left(at)
    at = press(at, "incorrect")
    second = front(at)[1]
    assert front(at)[0] == question and second != first
    assert read_left(at) == left - 1
    assert front(press(at, "undo")) == (question, first) and read_left(at) == left
    at = press(at, "incorrect")
    assert front(at) == (question, second)
    assert front(open_label({"queue": "unlabelled"})) != (question, second)  # another window, another sentence
    at = press(at, "forward")  # it is skipped, its question is not
    assert front(at)[0] == question and front(at)[1] not in (first, second)
    at = press(at, "correct")
    assert front(at)[0] != question and read_left(at) == left - 1
    other = front(at)[0]
    at = press(press(at, "incorrect"), "skip")
    assert front(at) is None or front(at)[0] not in (question, other)


def test_a_second_person_s_first_list_comes_when_the_rules_ask_for_two(wb, me, ann):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    at = open_page("label")
    assert "This queue is finished" in markup(at)
    rules.set_rules(wb, stored.TOWERS, by=me.id, overlap=2)
    at = at.run()
    assert at.session_state["_label_desk"].item is not None and "This queue is finished" not in markup(at)
    assert score_jobs(wb) == []
    assert "ann: correct" not in markup(at)  # before one's own label is in
    assert "ann: correct" in markup(press(at, "unsure")) and "ann: correct" not in markup(press(at, "undo"))


def read_left(at):
    """How many questions are left, as the page says."""
    return int(re.search(r"as2-left.*?<b>([\d,]+)</b>", markup(at), re.DOTALL)[1])


def test_the_page_stays_with_its_queue_where_no_question_is_without_a_label(wb, ann):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    for corpus in ("Towers", "Works"):
        at = open_page("label", {"corpus": corpus})
        assert at.selectbox(key="label_queue").value == "unlabelled"
        assert not at.multiselect  # the rankers to pool are for evaluations
        assert [b.key for b in at.button if b.disabled] == []


@pytest.mark.parametrize("job", [{}, {"state": "done", "result": {"questions": 3}}])
def test_where_every_question_is_ranked_no_more_can_be_whatever_the_last_job_did(wb, ann, job):
    leave(wb, ann)
    if job:
        stored.put_job(wb, "score", **job)
    at = open_label()
    assert "Every question is ranked." in markup(at) and "This queue is finished" in markup(at)
    assert "label_rank_more" not in [b.key for b in at.button]


@pytest.mark.parametrize("mode", ["one", "list"])
def test_an_end_of_a_queue_says_that_the_rest_is_in_front_of_others(wb, ann, mode):
    leave(wb, ann, FIRST)
    first = open_label({"mode": mode, "queue": "tops"})
    assert first.session_state["_label_desk"].item is not None
    html = markup(open_label({"mode": mode, "queue": "tops"}))
    assert "Nothing in this queue is free now" in html and "1 sentence is open at another desk" in html
    assert "finished</h2>" not in html


def test_a_list_that_was_labelled_and_left_is_not_called_skipped(wb, ann):
    at = open_label({"mode": "list", "queue": "tops"})
    at = press(press(at, "correct"), "forward")
    while at.session_state["_label_desk"].item is not None:
        at = press(at, "forward")
    assert "You skipped 2 items" in markup(at)


def test_where_the_last_document_was_deleted_the_page_says_that_there_is_none(wb):
    for document in documents.list_documents(wb, stored.TOWERS):
        documents.delete_document(wb, document.id)
    assert "The corpus has no documents" in markup(open_label())


def test_skipped_items_come_back_after_the_end(wb, ann):
    leave(wb, ann, FIRST)
    stored.put_job(wb, "score", "done", result={"questions": 0})
    at = press(open_label(), "forward")
    assert "You skipped 1 item" in markup(at)
    assert front(press(at, "forward")) == FIRST


@pytest.mark.parametrize("mode", ["one", "list"])
def test_skipped_items_stay_away_while_the_queue_fills(wb, ann, mode):
    leave(wb, ann, FIRST)
    stored.put_job(wb, "score")
    at = press(open_label({"mode": mode}), "forward")
    assert "Filling the queues" in markup(at)
    assert front(press(at, "forward")) == FIRST


def test_the_queue_is_in_the_address(wb):
    at = open_label({"queue": "random"})
    assert at.selectbox(key="label_queue").value == "random"
    assert "A random sample" in texts(at)


def test_the_menu_says_what_each_queue_holds(wb):
    options = open_label().selectbox(key="label_queue").options
    assert "Tops: the highest ranked that still need a label" in options
    assert all(": " in option for option in options)
