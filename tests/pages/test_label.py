"""The label page and its desk. Keys are pressed in tests/e2e/test_label_keys.py."""

import json
import re
import sqlite3
from dataclasses import replace
from types import SimpleNamespace

import pytest
import stored
import streamlit as st
from app_pages import button, find_place, markup, open_page, texts
from sqlalchemy import delete, select

from app.adapt import advice, readiness
from app.ask import asking, stored_questions
from app.corpora import corpora, documents, ingestion
from app.exchange import starter
from app.exchange.starter import UNFINISHED
from app.labels import annotation, consensus, flags, guidelines, leasing, progress, rules
from app.labels.leasing import Seat
from app.labels.queues import QUEUES
from app.ui import errors, keys, url
from app.ui.label import list_desk, shortcuts
from app.ui.label.list_desk import ListDesk
from app.ui.landing import shipped
from app.versions import registry
from app.workbench.settings import Settings
from app.workbench.workbench import DatabaseOutage
from db.models import Corpus, Lease, Question, Sentence
from db.repositories import labels as label_rows
from db.repositories import people as people_rows
from db.repositories import questions, reviews

BRIDGE, OPENED, DESIGNED, TRAINS, STEEL = 3, 7, 8, 10, 9  # a question, and its candidates in the order of their ranks
FIRST, SECOND, THIRD = (BRIDGE, OPENED), (BRIDGE, DESIGNED), (BRIDGE, TRAINS)  # what the cascade is least sure of


def open_label(query=()):
    return open_page("label", {"mode": "one", "queue": "uncertain", **dict(query)})


def press(at, name):
    return at.button(key=f"label_{name}").click().run()


def front(at):
    """The pair on the desk."""
    return at.session_state["_label_desk"].pair


def leave(wb, ann, *pairs):
    """Only these are left for others: ann labels the rest."""
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "random"), skips=pairs):
        label(wb, ann, (item.question_id, item.sentence_id))


def label(wb, who, pair, label="correct"):
    annotation.give_label(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=who.id, label=label)


def test_an_item_shows_why_question_and_candidate_marked_among_its_neighbours(wb):
    html = markup(open_label())
    assert "0.23 from the threshold of 0.50" in html
    assert "Who designed the Forth Bridge?" in html
    assert "<mark>The Forth Bridge was opened on 4 March 1890.</mark>" in html
    assert "Sir John Fowler designed it with Benjamin Baker." in html


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


def test_an_outage_is_shown_once_without_the_database_s_address_and_tried_again(wb, outage):
    at = open_label({"queue": "random"})
    pair = front(at)
    outage.set()
    at = press(at, "correct")
    assert [e.value for e in at.error] == ["The database is unavailable at the moment. Nothing was recorded."]
    at = at.button(key="as2_try_again").click().run()
    assert [e.value for e in at.error] == ["The database is unavailable at the moment"]
    outage.clear()
    at = at.button(key="as2_try_again").click().run()
    assert not at.error and not any(b.key == "as2_try_again" for b in at.button)
    assert (front(at), at.query_params["queue"], at.query_params["mode"]) == (pair, "random", "one")
    at = press(at, "correct")
    assert not at.error and front(at) != pair


def test_who_labels_without_a_name_is_asked_for_one_where_several_are_to_label_a_pair(wb, me):
    assert not open_label().warning
    rules.set_rules(wb, stored.TOWERS, by=me.id, overlap=2)
    at = open_label()
    assert [w.value for w in at.warning] == [
        "Type your name in the sidebar first: all who label without one count as one person."
    ]
    assert not at.text_input(key="as2_name").set_value("ann").run().warning


@pytest.mark.parametrize("act", ["correct", "undo"])
def test_an_outage_after_an_act_is_stored_is_not_told_as_its_loss(wb, outage, monkeypatch, act):
    at = open_label({"queue": "random"})
    pair = front(at)
    if act == "undo":
        at = press(at, "correct")
    name = "undo_last" if act == "undo" else "give_label"
    store = getattr(annotation, name)

    def store_in_time(*args, **more):
        done = store(*args, **more)
        outage.set()
        return done

    monkeypatch.setattr(annotation, name, store_in_time)
    at = press(at, act)
    assert [e.value for e in at.error] == ["The database is unavailable at the moment"]
    monkeypatch.setattr(annotation, name, store)
    outage.clear()
    at = at.button(key="as2_try_again").click().run()
    assert not at.error and front(at) not in (None, pair)
    assert [e.label for e in stored.label_events(wb)] == ["correct", "withdrawn"][: 1 + (act == "undo")]


def test_an_act_that_an_outage_cuts_off_while_it_is_committed_is_told_as_uncertain(wb, monkeypatch):
    at = open_label({"queue": "random"})

    def cut_off(connection):
        raise sqlite3.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(wb.database._durable.dialect, "do_commit", cut_off)
    at = press(at, "correct")
    [error] = at.error
    assert error.value == f"The database is unavailable at the moment. {errors.MAYBE_RECORDED}"


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


def test_foreign_text_is_shown_as_text(wb):
    at = open_label({"queue": "tops"})
    while front(at) != (2, 3):
        at = press(at, "forward")
    assert "What did it cost: $5 or $9?" in markup(at)
    assert "&lt;img src=x onerror=" in markup(at)
    assert "<img src=x" not in markup(at)


def test_a_label_is_stored_with_what_was_shown_and_the_next_item_comes(wb):
    at = press(open_label(), "correct")
    [event] = stored.label_events(wb)
    assert (event.question_id, event.sentence_id, event.label) == (*FIRST, "correct")
    assert (event.shown_version, event.shown_rank, event.scores_visible, event.queue) == (
        "cascade",
        1,
        True,
        "uncertain",
    )
    assert front(at) == SECOND and "<mark>Sir John Fowler designed it" in markup(at)


def test_every_label_has_its_button(wb):
    at = open_label()
    for name in ("correct", "incorrect", "unsure"):
        at = press(at, name)
    assert [e.label for e in stored.label_events(wb)] == ["correct", "incorrect", "unsure"]


def test_hidden_scores_are_remembered_as_hidden(wb):
    at = open_label()
    assert "own probability 0.73" in markup(at)
    at = at.toggle(key="label_scores").set_value(False).run()
    assert "cascade rank" not in markup(at)
    assert "Why this one" not in markup(at)  # it would repeat the line above the item
    assert QUEUES["uncertain"].description in texts(at)
    press(at, "incorrect")
    assert stored.label_events(wb)[0].scores_visible is False


def test_a_link_hides_the_scores_and_back_and_forward_switch_them(wb, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(url, "time", SimpleNamespace(monotonic=lambda: clock.now))
    at = open_label({"scores": "off"})
    assert at.toggle(key="label_scores").value is False
    at = at.toggle(key="label_scores").set_value(True).run()
    assert "scores" not in at.query_params and "cascade rank" in markup(at)
    clock.now += 10
    at.query_params["scores"] = "off"
    assert at.run().toggle(key="label_scores").value is False
    assert "cascade rank" not in markup(at)
    clock.now += 10
    del at.query_params["scores"]
    assert at.run().toggle(key="label_scores").value is True


def test_a_probability_is_shown_only_where_the_queue_goes_by_it(wb):
    for mode in ("one", "list"):
        html = markup(open_label({"mode": mode, "queue": "tops"}))
        assert "cascade rank 1" in html
        assert not re.search("probability|score 0", html)
        assert "own probability 0." in markup(open_label({"mode": mode}))


def test_a_row_of_a_list_says_why_without_numbers_where_scores_are_hidden(wb):
    at = open_label({"mode": "list", "queue": "tops"})
    assert "<b>Why this candidate:</b> Ranked 1 of 4, the highest that still needs a label." in markup(at)
    at = at.toggle(key="label_scores").set_value(False).run()
    assert "Why this candidate" not in markup(at)
    assert "Ranked 1" not in markup(at)
    assert "Why this candidate" not in markup(open_label({"mode": "list", "queue": "unlabelled"}))


def test_undo_takes_the_label_back_and_shows_its_item_again(wb):
    at = press(press(open_label(), "correct"), "undo")
    given, taken_back = stored.label_events(wb)
    assert taken_back.undoes == given.id
    assert stored.labels(wb) == {}
    assert front(at) == FIRST


def test_the_newest_act_has_an_undo_of_its_own(wb):
    at = press(open_label(), "correct")
    at.button(key="label_act_undo").click().run()
    assert stored.labels(wb) == {}


def test_undo_says_what_it_took_back(wb):
    at = press(press(open_label(), "incorrect"), "undo")
    assert [t.value for t in at.toast] == ["Took back: incorrect, “The Forth Bridge was opened on 4 March 1890.”."]
    assert [t.value for t in press(at, "undo").toast] == ["You have nothing to undo."]


@pytest.mark.parametrize("mode", ["one", "list"])
def test_undo_after_a_removal_brings_the_question_back_and_leaves_the_labels_before_it(wb, mode):
    at = press(press(open_label({"mode": mode}), "incorrect"), "remove")
    assert "Removed from the queue" in markup(at)  # first of the last actions, which Undo takes back
    at = press(at, "undo")
    assert [t.value for t in at.toast] == ["Took back: removed from the queue, “Who designed the Forth Bridge?”."]
    assert stored_questions.is_queued(wb, BRIDGE) and front(at)[0] == BRIDGE
    assert stored.labels(wb) == {FIRST: "incorrect"}
    press(at, "undo")
    assert stored.labels(wb) == {}


def test_undo_after_a_skip_brings_the_question_back_and_leaves_the_label_before_it(wb):
    at = press(press(open_label(), "incorrect"), "skip")
    assert front(at)[0] != BRIDGE
    at = press(at, "undo")
    assert [t.value for t in at.toast] == ["Took back: skipped question, “Who designed the Forth Bridge?”."]
    assert front(at) == SECOND and at.session_state["_label_desk"].question_skips == ()
    assert stored.labels(wb) == {FIRST: "incorrect"}
    press(at, "undo")
    assert stored.labels(wb) == {}


def test_undo_takes_a_flag_and_the_labels_after_it_back_in_their_order(wb, ann):
    at = press(open_label(), "flag")
    button(at, "Flag").click().run()
    at = press(press(at.run(), "correct"), "undo")
    assert stored.labels(wb) == {} and leasing.open_item(wb, *FIRST, ann.id).flags == (("me", ""),)
    at = press(at, "undo")
    assert leasing.open_item(wb, *FIRST, ann.id).flags == ()
    assert [t.value for t in at.toast] == ["Took back: flagged, “The Forth Bridge was opened on 4 March 1890.”."]
    assert front(at) == FIRST


def test_a_removal_is_not_undone_in_another_corpus(wb):
    at = press(open_label(), "remove")
    at.query_params["corpus"] = "Works"
    at = at.run()
    assert "label_undo" not in [b.key for b in at.button]
    at.query_params["corpus"] = "Towers"
    press(at.run(), "undo")
    assert stored_questions.is_queued(wb, BRIDGE)


def test_skip_passes_over_an_item_and_back_returns_to_it(wb):
    at = press(open_label(), "forward")
    assert stored.label_events(wb) == []
    assert front(at) == SECOND
    at = press(at, "back")
    assert front(at) == FIRST
    press(at, "unsure")
    assert stored.labels(wb) == {FIRST: "unsure"}


def test_an_item_that_went_on_to_somebody_else_is_shown_closed(wb, ann):
    at = press(open_label(), "forward")
    leasing.open_item(wb, *FIRST, ann.id)
    at = press(at, "back")
    assert "Someone else is labelling this item" in texts(at)
    assert all(at.button(key=f"label_{name}").disabled for name in ("correct", "incorrect", "unsure"))
    assert not at.button(key="label_forward").disabled
    at = press(at, "forward")
    assert not at.button(key="label_correct").disabled


def test_the_keys_of_the_labels_sleep_while_an_item_is_closed():
    assert set(shortcuts.map_keys("one", ("correct", "incorrect", "unsure")).values()) == {
        "undo",
        "back",
        "forward",
        "skip",
        "remove",
        "flag",
        "help",
    }


def test_an_earlier_act_can_be_opened_and_its_label_changed(wb):
    at = press(press(open_label(), "correct"), "correct")
    at = at.button(key="label_act_open_1").click().run()
    assert "Your label:" in markup(at) and "<bdi>" in markup(at)  # of the acts: it may be written from right to left
    press(at, "incorrect")
    assert stored.labels(wb) == {FIRST: "incorrect", SECOND: "correct"}


def test_an_action_for_an_item_no_longer_shown_is_refused(wb):
    at = open_label()
    stale = at.button(key="label_correct").click()  # clicked, but before the run the item changes under it
    desk = at.session_state["_label_desk"]
    at.session_state["_label_desk"] = desk.next_turn()
    at = stale.run()
    assert stored.label_events(wb) == []
    assert any("no longer shown" in t.value for t in at.toast)


def test_a_label_that_cannot_be_stored_is_not_listed(wb):
    at = open_label()
    stored.set_role(wb, "viewer")
    at = press(at, "correct")
    assert "me is a viewer, and this takes an annotator: ask an admin" in texts(at)
    assert 'data-testid="as2-act"' not in markup(at)
    assert front(at) == FIRST
    assert at.session_state["_label_desk"].turn == 1  # a new showing: the listener takes the same key again


def test_who_goes_to_another_queue_gives_back_what_was_in_front(wb):
    def list_leases():
        with wb.read() as s:
            return {((row.question_id, row.sentence_id), row.queue) for row in s.scalars(select(Lease))}

    at = press(open_label(), "correct")
    assert list_leases() == {(SECOND, "uncertain")}
    at = at.selectbox(key="label_queue").set_value("tops").run()
    assert list_leases() == {(front(at), "tops")}


def test_two_sessions_of_one_name_get_different_items(wb):
    assert (front(open_label()), front(open_label())) == (FIRST, SECOND)


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


def add_unranked(wb, text="Who painted it?"):
    """A question in the queues that no model has ranked."""
    with wb.write() as s:
        questions.add_question(s, stored.TOWERS, text, external_id="new", origin="listed", now=wb.clock())


def score_jobs(wb):
    return [j.state for j in stored.jobs(wb) if j.kind == "score"]


def test_an_empty_queue_is_filled_by_a_job_that_a_button_starts_and_no_visit(wb, ann):
    leave(wb, ann)
    add_unranked(wb)
    at = open_label()
    assert score_jobs(wb) == []
    at = at.button(key="label_rank_more").click().run()
    assert score_jobs(wb) == ["queued"]
    assert "Filling the queues" in markup(at)


@pytest.mark.parametrize("mode", ["one", "list"])
def test_the_first_queue_ranks_a_question_when_its_turn_comes_and_starts_no_job(wb, ann, mode):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    add_unranked(wb, "When was the bridge opened?")
    at = open_page("label", {"mode": mode})
    assert "When was the bridge opened?" in markup(at)
    assert "<small>Questions left in this queue</small><b>1</b>" in markup(at)
    assert score_jobs(wb) == []
    label(wb, ann, front(at))
    assert "This queue is finished" in markup(open_page("label", {"mode": mode}))


def test_a_list_that_nobody_began_is_ranked_again_when_it_is_opened_after_the_documents_changed(wb, ann, clock):
    at = open_page("label")
    clock.advance(minutes=1)
    ingestion.ingest(wb, stored.TOWERS, [("lift.txt", b"The lift of the tower and of the bridge was new. It is red.")])
    before = at.session_state["_label_desk"].showing
    at.run()
    assert "lift" in {r.title for r in at.session_state["_label_desk"].rows}
    assert at.session_state["_label_desk"].showing != before
    assert any("ranked again" in toast.value for toast in at.toast)
    press(at, "correct")
    clock.advance(minutes=1)
    ingestion.ingest(wb, stored.TOWERS, [("gate.txt", b"The gate of the tower and of the bridge is old.")])
    at.run()
    assert "gate" not in {r.title for r in at.session_state["_label_desk"].rows}


def test_a_question_in_front_alone_is_ranked_again_too(wb, ann, clock):
    at = open_page("label", {"mode": "one"})
    clock.advance(minutes=1)
    ingestion.ingest(wb, stored.TOWERS, [("lift.txt", b"The lift of the tower and of the bridge was new. It is red.")])
    assert any("ranked again" in toast.value for toast in at.run().toast)
    assert not at.run().toast
    before = at.session_state["_label_desk"].item.question_id
    press(at, "skip")
    assert at.session_state["_label_desk"].item.question_id != before  # it was ranked again, too
    assert not at.toast


def test_a_list_stays_in_front_as_it_was_where_it_cannot_be_ranked_again(wb, ann, clock):
    at = open_page("label")
    before = at.session_state["_label_desk"].rows
    clock.advance(minutes=1)
    for document in documents.list_documents(wb, stored.TOWERS):
        documents.delete_document(wb, document.id, by=ann.id)
    at.run()
    assert not at.error and not at.exception and at.session_state["_label_desk"].rows == before


def test_a_list_whose_run_was_interrupted_while_it_was_ranked_is_opened_again_in_the_next(wb, ann):
    at = open_page("label")
    before = at.session_state["_label_desk"]
    at.session_state["_label_renewed"] = before.item.question_id
    assert any("ranked again" in toast.value for toast in at.run().toast)
    assert at.session_state["_label_desk"].showing != before.showing
    assert not at.run().toast


def test_a_question_that_has_a_label_is_not_ranked_to_be_labelled(wb, ann):
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    add_unranked(wb)
    with wb.read() as s:
        [new] = questions.list_unranked_questions(s, stored.TOWERS, registry.get_active(wb).id, 2)
    label(wb, ann, (new.id, STEEL))
    assert "This queue is finished" in markup(open_page("label"))
    with wb.read() as s:
        assert len(questions.list_unranked_questions(s, stored.TOWERS, registry.get_active(wb).id, 2)) == 1


def test_ranking_is_cancelled_where_it_was_started(wb, ann):
    leave(wb, ann)
    add_unranked(wb)
    at = open_label().button(key="label_rank_more").click().run()
    at = at.button(key="label_rank_cancel").click().run()
    assert score_jobs(wb) == ["cancelled"]
    assert "Ranking was cancelled. What is ranked already stays." in markup(at)
    assert at.button(key="label_rank_more").label == "Rank more questions"


def test_ranking_that_goes_on_beside_an_item_shows_how_far_it_is_and_is_cancelled_there(wb):
    stored.put_job(wb, "score", progress=0.3, message="12 of 40 questions ranked, 20 to 35 s left")
    at = open_label()
    assert front(at) == FIRST
    assert "12 of 40 questions ranked, 20 to 35 s left" in [p.proto.text for p in at.get("progress")]
    at = at.button(key="label_rank_cancel").click().run()
    assert stored.jobs(wb)[-1].cancelling
    assert at.button(key="label_rank_cancel").disabled
    assert front(at) == FIRST


def test_a_viewer_cancels_only_the_ranking_that_they_started(wb, ann):
    stored.set_role(wb, "viewer")
    leave(wb, ann)
    add_unranked(wb)
    stored.put_job(wb, "score", "queued")
    assert open_label().button(key="label_rank_cancel").disabled
    stored.change_job(wb, stored.jobs(wb)[-1].id, state="done", result={"questions": 40})
    at = open_label().button(key="label_rank_more").click().run()
    assert not at.button(key="label_rank_cancel").disabled


def test_more_questions_can_be_ranked_when_a_queue_runs_out(wb, ann):
    leave(wb, ann)
    add_unranked(wb)
    stored.put_job(wb, "score", "done", result={"questions": 40})
    open_label().button(key="label_rank_more").click().run()
    assert score_jobs(wb) == ["done", "queued"]


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
    assert "Nothing in this queue is free now" in html and "1 item is open at another desk" in html
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


@pytest.mark.parametrize(("result", "again", "offered"), [(0, False, False), (0, True, True), (7, False, True)])
def test_more_can_be_ranked_unless_a_job_found_nothing_unranked(wb, ann, result, again, offered):
    leave(wb, ann)
    if offered:
        add_unranked(wb)
    settings = {"again": True} if again else {}
    stored.put_job(wb, "score", "done", result={"questions": result}, settings=settings)
    at = open_label()
    assert ("label_rank_more" in [b.key for b in at.button]) is offered


def test_what_a_job_has_ranked_comes_to_the_desk_that_waits_for_it(wb, ann):
    leave(wb, ann)
    stored.put_job(wb, "score")
    at = open_label()
    assert front(at) is None
    question = asking.ask(wb, stored.TOWERS, "When was the bridge opened?").question_id
    stored_questions.set_queued(wb, [question], queued=True, by=ann.id)
    assert front(at.run())[0] == question


def test_the_queue_is_in_the_address(wb):
    at = open_label({"queue": "random"})
    assert at.selectbox(key="label_queue").value == "random"
    assert "A random sample" in texts(at)


def test_progress_counts_what_was_stored(wb):
    at = press(press(open_label(), "correct"), "incorrect")
    assert "1 correct, 1 incorrect, 0 unsure" in texts(at)


def test_a_pair_that_people_disagree_on_is_counted_wherever_labels_are(wb, me, ann):
    rules.set_rules(wb, stored.TOWERS, by=me.id, overlap=2)
    label(wb, me, FIRST, "correct")
    label(wb, me, SECOND, "incorrect")
    label(wb, ann, FIRST, "incorrect")
    at = open_label()
    assert "By everyone: 0 correct, 1 incorrect, 0 unsure, 1 disputed, on 1 question." in texts(at)
    assert "<small>Everyone’s</small><b>2</b>" in markup(at)
    assert "<small>Labelled pairs</small><b>2</b>" in markup(open_page("adapt"))


def test_what_is_left_in_the_queue_stands_apart_from_the_labels_of_the_corpus(wb, ann):
    label(wb, ann, FIRST)
    label(wb, ann, SECOND)
    press(open_label(), "unsure")
    for queue in ("uncertain", "flagged"):
        html = markup(open_label({"queue": queue}))
        [left] = re.findall('data-testid="as2-left">(.*?)</div>', html)
        [labels] = re.findall('data-testid="as2-progress">(.*?)</div>', html)
        assert "<small>Candidates left in this queue</small>" in left
        assert ("<b>0</b>" in left) is (queue == "flagged")
        assert re.findall("<b>(.*?)</b>", labels) == ["1", "1", "3"]


def test_the_menu_says_what_each_queue_holds(wb):
    options = open_label().selectbox(key="label_queue").options
    assert "Tops: the highest ranked that still need a label" in options
    assert all(": " in option for option in options)


def read_head(at):
    """What stands above the rows of a list."""
    [head] = re.findall('data-testid="as2-list-head".*?</div>', markup(at))
    return head


def rows(at):
    return markup(at).count('data-testid="as2-candidate"')


def read_rows(at):
    return re.findall('<div class="as2-candidate.*?</div>.*?</div>', markup(at))


def opened_list(**query):
    return open_label({"mode": "list", **query})


def test_the_whole_list_of_a_question_stands_with_a_button_a_label(wb):
    at = opened_list()
    assert '<h2 class="asked" dir="auto">Who designed the Forth Bridge?' in markup(at)
    assert markup(at).count('<div dir="auto">') == rows(at)
    assert "0 of 4 candidates labelled by you</p>" in markup(at)
    assert rows(at) == 4
    at = at.button(key="label_row_2_incorrect").click().run()
    assert stored.labels(wb) == {(BRIDGE, TRAINS): "incorrect"}
    press(at, "correct")  # the row after it is in front now
    assert stored.labels(wb)[BRIDGE, STEEL] == "correct"


def test_words_typed_bring_the_next_row_that_has_them_to_the_front(wb):
    at = opened_list()
    [field] = [f for f in at.text_input if f.label == "Find in this list"]
    at = field.input("BRIDGE fort").run()
    assert [t.value for t in at.toast] == ["1 candidate with “BRIDGE fort”."]
    assert front(at) == (BRIDGE, OPENED)
    at = at.text_input(key=field.key).input("steel").run()
    assert front(at) == (BRIDGE, STEEL)
    at = press(at, "find")  # there is no other
    assert front(at) == (BRIDGE, STEEL)
    at = at.text_input(key=field.key).input("zebra").run()
    assert [t.value for t in at.toast] == ["0 candidates with “zebra”."]
    assert front(at) == (BRIDGE, STEEL)
    assert stored.labels(wb) == {}


def test_the_rest_are_incorrect_in_one_act_and_come_back_in_one(wb):
    at = press(opened_list(), "correct")
    assert at.button(key="label_rest").label == "The rest are incorrect (3) `i`"  # also those that are not on the page
    at = press(at, "rest")
    assert stored.labels(wb) == {FIRST: "correct"} | {(BRIDGE, s): "incorrect" for s in (DESIGNED, TRAINS, STEEL)}
    assert "and 2 more" in markup(at)
    assert at.button(key="label_rest").disabled
    at = press(at, "undo")
    assert stored.labels(wb) == {FIRST: "correct"}
    press(at, "undo")
    assert stored.labels(wb) == {}


def test_rows_that_were_not_on_the_page_are_labelled_with_the_rest_only_after_a_question(wb, monkeypatch):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 2)
    monkeypatch.setattr(list_desk, "ROWS_BEFORE", 1)
    at = press(press(opened_list(), "correct"), "rest")
    asks = "Also the 2 candidates not shown yet? Press i again for all 3."
    assert [t.value for t in at.toast] == [asks]
    assert asks in read_head(at) and stored.labels(wb) == {FIRST: "correct"}
    assert find_place(at, "as2-list-head") < find_place(at, "label_row_0_correct")
    at = press(at, "up")  # any other key cancels
    assert asks not in read_head(at)
    at = press(at, "rest")
    assert asks in read_head(at) and stored.labels(wb) == {FIRST: "correct"}
    at = press(at, "rest")
    assert len(stored.labels(wb)) == 4 and asks not in read_head(at)
    assert "All that you can label here is labelled. Press → for the next." in read_head(at)


@pytest.mark.parametrize("over", ["click", "time"])
def test_the_question_about_rows_not_shown_is_over_after_a_click_or_some_seconds(wb, clock, monkeypatch, over):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 2)
    at = press(opened_list(), "rest")
    assert "Press i again" in read_head(at)
    if over == "time":
        clock.advance(seconds=11)
        at = at.run()
    else:  # what the listener sends for it
        desk = at.session_state["_label_desk"]
        at.session_state["_label_desk"] = replace(desk, turn=desk.turn + 1)
        at = at.run()
    assert "Press i again" not in read_head(at)
    at = press(at, "rest")
    assert stored.labels(wb) == {} and "Press i again" in read_head(at)


def test_a_list_that_was_read_to_its_end_gets_the_rest_at_once(wb, monkeypatch):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 2)
    monkeypatch.setattr(list_desk, "ROWS_BEFORE", 1)
    at = opened_list()
    for _ in range(3):
        at = press(at, "down")
    press(press(at, "up"), "rest")
    assert list(stored.labels(wb).values()) == ["incorrect"] * 4


def test_the_rest_of_a_list_with_nothing_left_is_said_to_be_nothing(wb):
    at = opened_list()
    sent = at.button(key="label_rest").click()  # its key is heard when the button is disabled, too
    desk = at.session_state["_label_desk"]
    labelled = tuple(replace(r, label="correct") for r in desk.item.rows)
    at.session_state["_label_desk"] = replace(desk, item=replace(desk.item, rows=labelled))
    at = sent.run()
    assert [t.value for t in at.toast] == ["No candidate was left to label."]
    assert stored.label_events(wb) == []


def test_undoing_the_rest_returns_to_the_row_one_was_at(wb):
    at = press(press(press(opened_list(), "down"), "down"), "rest")
    press(press(at, "undo"), "correct")
    assert stored.labels(wb) == {(BRIDGE, TRAINS): "correct"}


def test_undoing_the_rest_from_a_row_that_was_not_in_it_goes_to_the_first_that_was(wb):
    at = press(press(opened_list(), "correct"), "up")
    at = press(press(at, "rest"), "undo")
    press(at, "unsure")
    assert stored.labels(wb) == {FIRST: "correct", SECOND: "unsure"}


def test_a_click_on_a_row_of_a_list_no_longer_shown_is_refused(wb):
    at = opened_list()
    stale = at.button(key="label_row_2_correct").click()  # clicked while the next question was on its way
    desk = at.session_state["_label_desk"]
    at.session_state["_label_desk"] = replace(desk, item=replace(desk.item, question_id=2, token="the next"))
    at = stale.run()
    assert stored.label_events(wb) == []
    assert any("no longer shown" in t.value for t in at.toast)


def test_the_row_a_review_asks_about_is_in_front_and_says_why(wb, ann):
    note = "is <1890> enough?"
    flags.add_flag(wb, question_id=BRIDGE, sentence_id=DESIGNED, annotator_id=ann.id, note=note)
    at = opened_list(queue="flagged")
    assert markup(at).count("Flagged by ann: is &lt;1890&gt; enough?") == 1
    press(at, "correct")
    assert stored.labels(wb) == {SECOND: "correct"}


def test_rows_that_others_look_at_are_closed(wb, ann):
    leasing.open_item(wb, BRIDGE, TRAINS, ann.id)
    at = opened_list()
    assert at.button(key="label_row_2_correct").disabled
    assert "labelled by you. 1 grey one is closed: others are at work there.</p>" in markup(at)
    press(at, "rest")
    assert stored.labels(wb).keys() == {FIRST, SECOND, (BRIDGE, STEEL)}


def test_a_row_that_somebody_has_in_front_is_not_said_to_be_labelled_by_the_import_it_came_with(wb, ann):
    with wb.write() as s:
        outside = people_rows.ensure_annotator(s, "starter", wb.clock(), is_imported=True)
        label_rows.add_event(s, BRIDGE, DESIGNED, outside.id, "incorrect", wb.clock())
    leasing.open_item(wb, *SECOND, ann.id)
    assert "1 grey one is closed: others are at work there." in markup(opened_list())


def test_rows_with_enough_labels_say_whose_they_are(wb, ann):
    label(wb, ann, FIRST)
    label(wb, ann, SECOND, "incorrect")
    at = open_page("label", {"mode": "list", "queue": "tops", "question": str(BRIDGE)})
    assert "2 grey ones are closed: labelled by ann.</p>" in markup(at)


def test_a_list_with_more_candidates_than_were_ranked_says_so(wb, me):
    annotation.give_label(wb, question_id=BRIDGE, sentence_id=1, annotator_id=me.id, label="incorrect")
    extent = "5 candidates, 1 of them without a rank: they came with labels or a file; 1 labelled by you</p>"
    assert extent in markup(opened_list(queue="tops"))


def test_only_where_a_retrain_learns_from_the_labels_the_page_says_what_helps_it(wb):
    advice = "Read each list until you find the answer"
    at = opened_list(queue="uncertain")
    assert advice in texts(at)
    at = at.selectbox(key="label_queue").set_value("tops").run()  # for evaluations
    assert advice not in texts(at)
    at.selectbox(key="label_queue").set_value("unlabelled").run()
    stored.set_split(wb, BRIDGE, "test")
    at = open_page("label", {"mode": "list", "queue": "uncertain", "question": str(BRIDGE)})
    assert "Held out or for validation: a retrain" in markup(at) and advice not in texts(at)


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


@pytest.mark.parametrize(("name", "source"), [("starter", "shipped with the corpus"), ("import", "imported")])
def test_a_label_from_outside_is_shown_in_its_list_and_a_person_corrects_it(wb, name, source):
    with wb.write() as s:
        outside = people_rows.ensure_annotator(s, name, wb.clock(), is_imported=True)
        label_rows.add_event(s, BRIDGE, DESIGNED, outside.id, "incorrect", wb.clock())
    at = opened_list()
    assert markup(at).count(f"{source}: incorrect") == 1 and "closed: labelled by" not in markup(at)
    at = press(at, "incorrect")
    assert front(at) == (BRIDGE, TRAINS)  # no queue offers it, and nobody steps on it unawares
    at = press(at, "rest")
    assert stored.labels(wb).keys() == {FIRST, THIRD, (BRIDGE, STEEL)}
    at.button(key="label_row_1_correct").click().run()
    assert stored.labels(wb)[SECOND] == "correct"
    assert consensus.read_labels(wb, BRIDGE)[DESIGNED] == "correct"


def test_a_flagged_row_has_a_mark_until_the_flag_is_cleared(wb, ann):
    at = opened_list(queue="uncertain")
    assert not any("flagged" in row for row in read_rows(at))
    flags.add_flag(wb, question_id=SECOND[0], sentence_id=SECOND[1], annotator_id=ann.id, note="?")
    marked = [row for row in read_rows(at.run()) if "⚑ flagged" in row]
    assert len(marked) == 1 and "Sir John Fowler designed it" in marked[0]
    with wb.write() as s:
        reviews.clear_flags(s, SECOND, wb.clock())
    assert not any("flagged" in row for row in read_rows(at.run()))


def test_undo_in_a_list_leaves_the_reason_on_its_row(wb):
    at = opened_list(queue="uncertain")
    before = read_rows(at)
    assert any("Why this candidate" in row for row in before)
    at = press(press(at, "incorrect"), "undo")
    assert read_rows(at) == before


@pytest.mark.parametrize("mode", ["one", "list"])
def test_a_long_question_is_cut_with_a_way_to_all_of_it(wb, mode):
    with wb.write() as s:
        s.get_one(Question, BRIDGE).text = "Who designed it, " + "and why, " * 100 + "in the end?"
    at = open_label({"mode": mode})
    [whole] = [e for e in at.expander if e.label == "The whole question"]
    assert "in the end?" in whole.get("html")[0].proto.body
    assert markup(at).count("in the end?") == 1 and "…</h2>" in markup(at)
    short = open_label({"mode": mode, "queue": "tops", "only": "2"})
    assert "…</h2>" not in markup(short) and "The whole question" not in [e.label for e in short.expander]


def test_the_next_list_is_a_button_above_the_rows(wb):
    at = opened_list(queue="uncertain")
    question = at.session_state["_label_desk"].item.question_id
    keys = [b.key for b in at.button]
    assert keys.index("label_undo") < keys.index("label_forward") < keys.index("label_row_0_correct")
    assert at.button(key="label_forward").label == "Next `→`"
    assert press(at, "forward").session_state["_label_desk"].item.question_id != question


def test_up_and_down_move_through_the_list_and_label_nothing(wb):
    at = press(press(opened_list(), "down"), "down")
    at = press(at, "up")
    press(at, "unsure")
    assert stored.labels(wb) == {SECOND: "unsure"}


def test_a_list_says_how_many_ranked_candidates_left_the_corpus(wb):
    with wb.write() as s:
        s.delete(s.get_one(Sentence, STEEL))
    html = markup(opened_list())
    assert "0 of 3 candidates labelled by you. Of the 4 that were ranked, 1 left the corpus since." in html


def test_a_list_does_not_repeat_its_queue_s_description_as_a_reason(wb):
    at = opened_list()
    assert QUEUES["uncertain"].description in texts(at)
    assert "Why this one" not in markup(at)
    assert "<b>Why this candidate:</b> Its own probability" in markup(at)


def test_the_next_question_comes_and_back_returns(wb):
    at = press(opened_list(), "forward")
    assert front(at)[0] != BRIDGE and "Who designed the Forth Bridge?" not in markup(at)
    at = press(at, "back")
    assert "Who designed the Forth Bridge?" in markup(at)


def test_a_blind_item_hides_its_scores_and_says_so_with_the_label(wb, me):
    rules.set_rules(wb, stored.TOWERS, by=me.id, control=1.0, blind=1.0)
    at = open_label()
    assert "probability" not in markup(at)
    press(at, "correct")
    [event] = stored.label_events(wb)
    assert (event.scores_visible, event.arm, event.control) == (False, "blind", True)
    assert event.model_says is not None


def test_somebody_who_hides_the_scores_takes_no_part_in_the_meter(wb, me):
    rules.set_rules(wb, stored.TOWERS, by=me.id, control=1.0, blind=0.0)
    press(open_label(), "correct")
    press(open_label({"scores": "off"}), "correct")
    assert [e.arm for e in stored.label_events(wb)] == ["shown", ""]


def test_a_flag_is_stored_with_its_note(wb, ann):
    at = press(open_label(), "flag")
    at.text_input(key="label_flag_note").set_value("is a year enough?")
    button(at, "Flag").click().run()
    assert leasing.open_item(wb, *FIRST, ann.id).flags == (("me", "is a year enough?"),)


def test_a_flag_brings_a_question_that_was_taken_out_of_the_queues_back_into_them(wb, me, ann):
    stored_questions.set_queued(wb, [BRIDGE], queued=False, by=me.id)
    at = press(open_label({"only": str(BRIDGE)}), "flag")
    at = button(at, "Flag").click().run()
    told = "Flagged. It is now in the queue Flagged. Its question is in the label queues again."
    assert [t.value for t in at.toast] == [told]
    item = leasing.find_next_item(
        wb, Seat(stored.TOWERS, me.id, "flagged", holder=at.session_state["_label_desk"].seat.holder)
    )
    assert item is not None and (item.question_id, item.sentence_id) == FIRST
    press(at, "undo")
    assert not stored_questions.is_queued(wb, BRIDGE)


def flag_the_first(at):
    return button(press(at, "flag"), "Flag").click().run().run()


def test_a_review_says_that_what_is_left_is_open_at_another_desk(wb):
    at = flag_the_first(open_label())
    theirs = open_label({"queue": "flagged"})
    assert "1 item is open at another desk" in markup(theirs) and "Nothing is flagged" not in markup(theirs)
    press(at, "forward")
    assert front(theirs.run()) == FIRST  # it was given back
    assert "You skipped 1 item. Press → to see them again." in markup(press(theirs, "forward"))


@pytest.mark.parametrize("mode", ["one", "list"])
def test_who_flags_the_last_item_and_moves_on_leaves_it_to_others(wb, ann, mode):
    leave(wb, ann, FIRST)
    at = flag_the_first(open_label({"mode": mode}))
    assert front(press(at, "forward")) is None
    assert front(open_label({"queue": "flagged"})) == FIRST


def test_a_viewer_looks_and_cannot_label(wb):
    stored.set_role(wb, "viewer")
    at = open_label()
    assert "Viewers cannot label" in texts(at)
    assert all(at.button(key=f"label_{name}").disabled for name in ("correct", "incorrect", "unsure", "undo", "flag"))


def test_a_viewer_cannot_undo_what_they_did_before_they_were_one(wb):
    at = press(open_label(), "correct")
    stored.set_role(wb, "viewer")
    assert at.run().button(key="label_act_undo").disabled


def test_a_viewer_looks_through_a_list_and_cannot_click_in_it(wb):
    stored.set_role(wb, "viewer")
    at = press(opened_list(), "down")
    assert rows(at) == 4
    assert all(at.button(key=f"label_row_{i}_{name}").disabled for i in range(4) for name in ("correct", "unsure"))


def test_when_enough_others_labelled_an_item_the_next_comes_with_a_word(wb, ann):
    at = open_label()
    label(wb, ann, FIRST, "incorrect")
    at = press(at, "correct")
    assert front(at) == SECOND
    assert stored.labels(wb) == {}
    assert any("Others labelled this pair" in t.value for t in at.toast)


def test_an_undo_that_cannot_be_is_told_in_a_toast(wb, me, ann):
    label(wb, me, FIRST)
    annotation.withdraw(wb, question_id=FIRST[0], sentence_id=FIRST[1], annotator_id=me.id)
    label(wb, ann, FIRST, "incorrect")
    at = press(open_label(), "undo")
    [told] = [t.value for t in at.toast]
    assert "stays withdrawn" in told
    assert not at.error
    press(at, "correct")
    assert stored.labels(wb) == {SECOND: "correct"}


def test_guidelines_stand_beside_the_item_and_a_label_keeps_their_version(wb, me):
    guidelines.write_guidelines(wb, stored.TOWERS, "- Dates count.", by=me.id)
    at = open_label()
    assert "- Dates count." in texts(at)
    press(at, "correct")
    assert stored.label_events(wb)[0].guideline == 1


def test_guidelines_that_changed_while_one_labels_are_told_once(wb, me):
    at = open_label().run()
    assert not at.toast and "Default version. Each label is stored" in texts(at)
    guidelines.write_guidelines(wb, stored.TOWERS, "- Dates count.", by=me.id)
    at = press(at, "correct")
    assert [t.value for t in at.toast] == ["The guidelines have changed. They are beside the sentence."]
    assert "Version 1, by me. Each label is stored" in texts(at)
    assert not press(at, "correct").toast


def test_progress_counts_towards_the_target_and_says_the_pace_of_the_sitting(wb, me, clock, monkeypatch):
    rules.set_rules(wb, stored.TOWERS, by=me.id, target=123)
    at = open_label()
    for _ in range(3):
        at = press(at, "correct")
        clock.advance(seconds=5)
    assert "labels a minute" not in texts(at.run())  # three say nothing
    monkeypatch.setattr(progress, "MIN_PACE_LABELS", 3)
    at = at.run()
    assert "12 labels a minute." in texts(at)
    clock.advance(seconds=60)
    assert "12 labels a minute." in texts(at.run())  # who pauses is not slow
    assert "to go" not in texts(at)  # a forecast in hours frightens
    assert [bar.proto.text for bar in at.get("progress")] == ["3 of 123 pairs wanted, 120 to go"]


def test_a_queue_of_what_is_labelled_already_has_no_bar(wb, me):
    rules.set_rules(wb, stored.TOWERS, by=me.id, target=820)
    assert len(open_label({"queue": "tops"}).get("progress")) == 1
    at = open_label({"queue": "flagged"})
    assert not at.get("progress")
    assert "wanted" not in texts(at)


def test_the_panel_says_how_many_questions_a_retrain_needs_and_leads_to_it_when_there_are_enough(wb, me, monkeypatch):
    label(wb, me, FIRST)
    at = open_label({"queue": "random"})
    assert not at.get("progress")  # a share of what is left moves with the queue
    assert "Questions with a correct and an incorrect label: 0 of 4 needed for a retrain" in texts(at)
    label(wb, me, SECOND, "incorrect")
    assert "label: 1 of 4 needed for a retrain" in texts(open_label({"queue": "random"}))
    stored.set_split(wb, BRIDGE, "test")  # no retrain learns from it
    note = "0 of 3 needed for a retrain (1 question is held out or for validation)"
    assert note in texts(open_label({"queue": "random"}))
    label(wb, me, (1, 1))
    label(wb, me, (2, 3))
    assert open_page("adapt").button(key="adapt_start").disabled
    monkeypatch.setattr(advice, "MIN_QUESTIONS", 3)  # one to measure on, and two correct ones
    at = open_label({"queue": "random"})
    assert "Enough for a first retrain:" in texts(at)
    assert "adapt" in [p.proto.page for p in at.get("page_link")]
    st.cache_data.clear()
    assert not open_page("adapt").button(key="adapt_start").disabled


def test_what_a_retrain_can_start_with_is_checked_only_where_the_counts_allow_it(wb, me, monkeypatch):
    checks, check = [], readiness.check_readiness
    monkeypatch.setattr(readiness, "check_readiness", lambda *a: checks.append(1) or check(*a))
    monkeypatch.setattr(advice, "MIN_QUESTIONS", 3)
    stored.set_split(wb, BRIDGE, "test")
    for pair, label_name in ((FIRST, "correct"), (SECOND, "incorrect"), ((1, 1), "correct"), ((2, 3), "correct")):
        assert not readiness.count_labels(wb, stored.TOWERS).is_enough and not checks
        label(wb, me, pair, label_name)
    for _ in range(2):
        assert readiness.count_labels(wb, stored.TOWERS).is_enough and len(checks) == 1
    label(wb, me, (1, 4), "incorrect")
    assert readiness.count_labels(wb, stored.TOWERS).is_enough and len(checks) == 1  # one more does no harm
    annotation.withdraw(wb, question_id=1, sentence_id=1, annotator_id=me.id)
    assert not readiness.count_labels(wb, stored.TOWERS).is_enough


def test_an_outage_is_not_remembered_as_too_few_labels(wb, me, outage, monkeypatch):
    check = readiness.check_readiness
    monkeypatch.setattr(advice, "MIN_QUESTIONS", 3)
    stored.set_split(wb, BRIDGE, "test")
    for pair, label_name in ((FIRST, "correct"), (SECOND, "incorrect"), ((1, 1), "correct"), ((2, 3), "correct")):
        label(wb, me, pair, label_name)
    monkeypatch.setattr(readiness, "check_readiness", lambda *a: (outage.set(), check(*a)))
    with pytest.raises(DatabaseOutage):
        readiness.count_labels(wb, stored.TOWERS)
    outage.clear()
    monkeypatch.setattr(readiness, "check_readiness", check)
    assert readiness.count_labels(wb, stored.TOWERS).is_enough


def test_the_keys_sleep_from_the_press_that_opens_a_dialog(wb, monkeypatch):
    maps = []
    at = open_label()
    monkeypatch.setattr(keys, "listen_to_keys", lambda *, key, data, on_key_change: maps.append(data["map"]))
    at = at.run()
    press(at, "flag")
    assert [m.get("a") for m in maps] == ["correct", None]


def test_keys_that_write_a_character_can_be_turned_off_and_the_browser_remembers_it(wb, monkeypatch):
    def read_sent(at, name):
        """What a component of the page was given."""
        sent = (json.loads(c.proto.json) for c in at.get("bidi_component") if c.proto.component_name == name)
        return next(sent)

    at = open_label()
    assert {"a", " ", "?", "backspace", "arrowleft"} <= read_sent(at, "as2_keys")["map"].keys()
    at = at.toggle(key="label_keys").set_value(False).run()
    assert read_sent(at, "as2_keys")["map"].keys() == {"backspace", "ctrl+z", "arrowleft", "arrowright"}
    assert read_sent(at, "as2_keys")["silent"] is True
    assert ["as2_keys", "off"] in [cookie[:2] for cookie in read_sent(at, "as2_kept")["cookies"]]
    assert (at.button(key="label_correct").label, at.button(key="label_back").label) == ("Correct", "Back `←`")
    assert "<b>Undo</b>" in (shown := markup(press(at, "help"))) and "<b>Correct</b>" not in shown
    monkeypatch.setattr(type(st.context), "cookies", {"as2_keys": "off"})
    assert open_page("ask").session_state["_as2_keys"] is False
    at = open_label()
    assert at.toggle(key="label_keys").value is False
    at = at.toggle(key="label_keys").set_value(True).run()
    assert "a" in read_sent(at, "as2_keys")["map"] and at.button(key="label_correct").label == "Correct `a`"


def test_a_label_and_what_is_in_front_then_are_said_and_the_question_where_it_is_another(wb, monkeypatch):
    said = []
    at = opened_list()
    monkeypatch.setattr(keys, "listen_to_keys", lambda *, key, data, on_key_change: said.append(data["say"]))
    at = press(press(press(at, "incorrect"), "up"), "forward")
    assert said[0].startswith("Incorrect. Candidate 2 of ")
    assert ", labelled incorrect: " in said[1] and said[1].startswith("Candidate 1 of ")
    assert said[2].startswith("Question: ")


def test_a_label_is_said_once_though_another_queue_is_opened_then(wb, monkeypatch):
    said = []
    at = press(opened_list(), "incorrect")
    monkeypatch.setattr(keys, "listen_to_keys", lambda *, key, data, on_key_change: said.append(data["say"]))
    at.run().selectbox(key="label_queue").set_value("tops").run()
    assert said[0].startswith("Incorrect. Candidate 2") and not said[1].startswith("Incorrect.")


def test_the_page_counts_the_labels_after_which_a_key_typed_ahead_could_be_for_another_row(wb, ann, monkeypatch):
    breaks = []
    at = opened_list()
    monkeypatch.setattr(keys, "listen_to_keys", lambda *, key, data, on_key_change: breaks.append(data["breaks"]))
    at = press(press(at, "incorrect"), "incorrect")
    assert breaks == [0, 0]
    with wb.write() as s:  # another lets go of the row and labels it
        s.execute(delete(Lease))
    label(wb, ann, THIRD)
    at = press(at, "incorrect")  # refused, and the row after it is in front
    at = press(at, "incorrect")  # the last row stays in front
    assert breaks == [0, 0, 1, 2]


@pytest.mark.parametrize("sentences", [True, False])
def test_a_corpus_nobody_has_asked_offers_proposed_questions_first(wb, sentences):
    if not sentences:
        corpora.create_corpus(wb, "Empty")
    at = open_label({"corpus": "Works" if sentences else "Empty"})
    links = {p.label: f"{p.page}?{p.query_string}" for p in (e.proto for e in at.get("page_link"))}
    assert ("accept questions proposed from the sentences" in markup(at)) == sentences
    assert links.get("Add documents") == (None if sentences else "data?view=corpora")
    assert links.get("Propose questions") == ("data?view=proposals" if sentences else None)


def test_a_question_is_skipped_with_all_its_pairs_in_every_queue_of_the_session(wb):
    at = press(open_label(), "skip")
    assert front(at)[0] != BRIDGE
    for queue in ("random", "tops"):
        at = at.selectbox(key="label_queue").set_value(queue).run()
        met = set()
        while front(at):
            met.add(front(at)[0])
            at = press(at, "forward")
        assert met == {1, 2}
    assert "You skipped" in markup(at)
    at = press(at, "forward")  # from the end all come again
    assert front(at)
    assert stored.label_events(wb) == []


def test_a_question_is_removed_from_the_queue_for_everyone(wb, ann):
    at = press(open_label(), "remove")
    assert front(at)[0] != BRIDGE
    assert "Removed from the queue" in at.toast[0].value
    assert not stored_questions.is_queued(wb, BRIDGE)
    met, skips = set(), []
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "random"), skips):
        met.add(item.question_id)
        skips.append((item.question_id, item.sentence_id))
    assert met == {1, 2}


def test_a_question_is_removed_from_its_list_too(wb):
    at = press(open_label({"mode": "list"}), "remove")
    assert front(at)[0] != BRIDGE
    assert not stored_questions.is_queued(wb, BRIDGE)
    assert "label_skip" not in [b.key for b in at.button]  # here Skip skips questions


def test_a_viewer_skips_questions_and_removes_none(wb):
    stored.set_role(wb, "viewer")
    at = open_label()
    assert at.button(key="label_remove").disabled
    assert not at.button(key="label_skip").disabled


def test_where_nothing_is_queued_one_press_adds_what_was_asked(wb, me):
    stored_questions.set_queued(wb, [1, 2, 3], queued=False, by=me.id)
    at = open_label()
    assert "Add the 3 questions asked on Ask, type or paste your own" in markup(at)
    links = {p.label: f"{p.page}?{p.query_string}" for p in (e.proto for e in at.get("page_link"))}
    assert links["Add other questions"] == "data?view=questions"
    assert "data?view=labels" not in links.values()  # an import takes no questions without sentences
    at = at.button(key="label_add_asked").click().run()
    assert "3 questions were added to the queue" in at.toast[0].value
    assert front(at)[0] == BRIDGE and stored_questions.is_queued(wb, BRIDGE)


def test_where_all_that_is_queued_is_labelled_one_press_adds_what_was_asked(wb, me, ann):
    stored_questions.set_queued(wb, [1], queued=False, by=me.id)
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    at = open_page("label")
    assert "This queue is finished" in markup(at)
    at = at.button(key="label_add_asked").click().run()
    assert "1 question was added to the queue" in at.toast[0].value
    assert front(at)[0] == 1


def test_questions_that_a_link_names_and_no_model_has_ranked_are_ranked_by_a_click(wb):
    with wb.write() as s:
        added = questions.add_question(
            s, stored.TOWERS, "Who paid for it?", external_id="new", origin="imported", now=wb.clock()
        )
        question_id = added.id
    at = open_label({"queue": "tops", "only": str(question_id)})
    assert "1 of them is not ranked yet. Rank them to see their candidates here." in markup(at)
    at = at.button(key="label_rank_these").click().run()
    [job] = [j for j in stored.jobs(wb) if j.kind == "score"]
    assert job.settings["questions"] == [question_id]
    assert "Filling the queues" in markup(at)


def test_a_shipped_corpus_that_is_still_being_read_says_so(wb, tmp_path, monkeypatch):
    (tmp_path / corpora.HANDBOOK / "articles").mkdir(parents=True)
    monkeypatch.setattr(Settings, "shipped_dir", lambda self, name: tmp_path / name)
    made = corpora.create_corpus(wb, corpora.HANDBOOK)
    with wb.write() as s:
        s.get_one(Corpus, made.id).digest = UNFINISHED
    at = open_label({"corpus": corpora.HANDBOOK})
    assert "The corpus is being read" in markup(at) and "Nothing to label yet" not in markup(at)
    with wb.write() as s:
        s.get_one(Corpus, made.id).digest = "read"
    assert "Nothing to label yet" in markup(at.run())


def test_a_shipped_corpus_that_cannot_be_read_says_why_and_what_to_do(wb, tmp_path, monkeypatch):
    folder = tmp_path / corpora.HANDBOOK
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "valve.md").write_text("# Valve\n\nIt opens.", encoding="utf-8")
    (folder / "train.jsonl").write_text("{", encoding="utf-8")
    monkeypatch.setattr(Settings, "shipped_dir", lambda self, name: tmp_path / name)
    shipped.read_handbook(wb, shipped.get_failures())
    at = open_label({"corpus": corpora.HANDBOOK})
    assert "The corpus handbook could not be read: train.jsonl: line 1: not JSON" in markup(at)
    assert "load it on Data, under Corpora" in markup(at) and "being read" not in markup(at)
    (folder / "train.jsonl").unlink()
    starter.bring_back(wb, corpora.HANDBOOK)
    assert "could not be read" not in markup(at.run())


def test_questions_that_a_link_names_and_that_are_labelled_are_told_from_those_not_ranked(wb, ann):
    leave(wb, ann)
    at = open_label({"queue": "tops", "only": str(BRIDGE)})
    assert "Nothing to label in these questions" in markup(at) and "not ranked yet" not in markup(at)
    assert "label_rank_these" not in [b.key for b in at.button]
