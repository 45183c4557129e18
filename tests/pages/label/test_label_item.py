"""A candidate in front: what stands around it, its label, and what a viewer may."""

import re
from dataclasses import replace
from types import SimpleNamespace

import stored
from app_pages import markup, texts
from label_desk import FIRST, SECOND, front, label, open_label, opened_list, press, rows
from sqlalchemy import select

from app.labels import guidelines, leasing, rules
from app.labels.queues import QUEUES
from app.ui import url
from app.ui.label import shortcuts
from app.ui.label.desk import Trail
from db.models import Lease


def test_an_item_shows_why_question_and_candidate_marked_among_its_neighbours(wb):
    html = markup(open_label())
    assert "0.23 from the threshold of 0.50" in html
    assert "Who designed the Forth Bridge?" in html
    assert "<mark>The Forth Bridge was opened on 4 March 1890.</mark>" in html
    assert "Sir John Fowler designed it with Benjamin Baker." in html


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


def test_s_goes_on_from_a_list_which_is_all_of_its_question(wb):
    assert shortcuts.map_keys("one")["s"] == "skip" and shortcuts.map_keys("list")["s"] == "forward"
    printed = {key.does: key.printed for key in shortcuts.list_keys("list")}
    assert printed[shortcuts.BY_NAME["forward"].does] == ("→", "s")
    printed = {key.does: key.printed for key in shortcuts.list_keys("one")}
    assert printed[shortcuts.BY_NAME["forward"].does] == ("→",)


def test_where_nothing_was_shown_before_back_says_so(wb):
    at = press(open_label(), "forward")
    click = at.button(key="label_back").click()  # in place of the key: the button is off there
    desk = at.session_state["_label_desk"]
    at.session_state["_label_desk"] = replace(desk, trail=Trail(desk.trail.stops[1:], 0))  # as after a reload
    at = click.run()
    assert front(at) == SECOND and [t.value for t in at.toast] == ["No item was shown here before this one."]


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


def test_a_viewer_looks_and_cannot_label(wb):
    stored.set_role(wb, "viewer")
    at = open_label()
    assert "Viewers cannot label" in texts(at)
    assert all(at.button(key=f"label_{name}").disabled for name in ("correct", "incorrect", "unsure", "undo", "flag"))


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
