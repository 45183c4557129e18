"""The label page and its desk, with services in memory. Keys are pressed in tests/e2e/test_label_keys.py."""

import sys
from dataclasses import replace

import fake_work
import pytest

from app.components import label_keys
from app.services.label_views import Rules
from as2core.errors import As2Error

FIRST, SECOND = (1, 100), (2, 100)


def press(at, name):
    return at.button(key=f"label_{name}").click().run()


def test_an_item_shows_why_question_and_candidate_marked_among_its_neighbours(work):
    html = fake_work.markup(fake_work.page("label"))
    assert "least sure" in html
    assert "When was the tower finished?" in html
    assert "<mark>The tower was finished on 31 March 1889, after two years of work.</mark>" in html
    assert "It was built as the gate of the World&#x27;s Fair." in html


def test_foreign_text_is_shown_as_text(work):
    work.pairs = [(1, 102)]
    html = fake_work.markup(fake_work.page("label"))
    assert "&lt;img src=x onerror=" in html
    assert "<img src=x" not in html


def test_a_label_is_stored_with_what_was_shown_and_the_next_item_comes(work):
    at = press(fake_work.page("label"), "correct")
    question, sentence, _, label, shown = work.events[0]
    assert (question, sentence, label) == (*FIRST, "correct")
    assert (shown.version, shown.rank, shown.scores_visible, shown.queue) == ("cascade", 3, True, "uncertain")
    assert "What did it cost: $5 or $9?" in fake_work.markup(at)


def test_every_label_has_its_button(work):
    at = fake_work.page("label")
    for name in ("correct", "incorrect", "unsure"):
        at = press(at, name)
    assert [e[3] for e in work.events] == ["correct", "incorrect", "unsure"]


def test_hidden_scores_are_remembered_as_hidden(work):
    at = fake_work.page("label")
    assert "probability 0.52" in fake_work.markup(at)
    at = at.toggle(key="label_scores").set_value(False).run()
    assert "cascade rank" not in fake_work.markup(at)
    assert "<b>Why this one:</b> the cascade is least sure of it</span>" in fake_work.markup(at)
    press(at, "incorrect")
    assert work.events[0][4].scores_visible is False


def test_a_row_of_a_list_says_why_without_numbers_where_scores_are_hidden(work):
    at = fake_work.page("label", {"mode": "list", "queue": "tops"})
    assert "<b>Asked for:</b> Ranked 1 of 6." in fake_work.markup(at)
    at = at.toggle(key="label_scores").set_value(False).run()
    assert "<b>Asked for:</b> The first.<" in fake_work.markup(at)


def test_undo_takes_the_label_back_and_shows_its_item_again(work):
    at = press(press(fake_work.page("label"), "correct"), "undo")
    assert work.undone == [FIRST]
    assert work.labels == {}
    assert "When was the tower finished?" in fake_work.markup(at)


def test_the_newest_act_has_an_undo_of_its_own(work):
    at = press(fake_work.page("label"), "correct")
    at.button(key="label_act_undo").click().run()
    assert work.undone == [FIRST]


def test_skip_passes_over_an_item_and_back_returns_to_it(work):
    at = press(fake_work.page("label"), "forward")
    assert work.events == []
    assert "What did it cost" in fake_work.markup(at)
    at = press(at, "back")
    assert "When was the tower finished?" in fake_work.markup(at)
    press(at, "unsure")
    assert work.labels == {FIRST: "unsure"}


def test_an_item_that_went_on_to_somebody_else_is_shown_closed(work):
    at = press(fake_work.page("label"), "forward")
    work.leases[FIRST] = "somebody else"
    at = press(at, "back")
    assert "Somebody else is judging this just now" in fake_work.texts(at)
    assert all(at.button(key=f"label_{name}").disabled for name in ("correct", "incorrect", "unsure"))
    assert not at.button(key="label_forward").disabled
    at = press(at, "forward")
    assert not at.button(key="label_correct").disabled


def test_the_keys_of_the_labels_sleep_while_an_item_is_closed():
    assert set(label_keys.keymap("one", ("correct", "incorrect", "unsure")).values()) == {
        "undo",
        "back",
        "forward",
        "flag",
        "help",
    }


def test_an_earlier_act_can_be_opened_and_its_label_changed(work):
    at = press(press(fake_work.page("label"), "correct"), "correct")
    at = at.button(key="label_act_open_1").click().run()
    assert "is what you said" in fake_work.markup(at)
    press(at, "incorrect")
    assert work.labels == {FIRST: "incorrect", SECOND: "correct"}


def test_an_action_for_an_item_no_longer_shown_is_refused(work):
    at = fake_work.page("label")
    stale = at.button(key="label_correct").click()  # clicked, but before the run the item changes under it
    desk = at.session_state["_label_desk"]
    at.session_state["_label_desk"] = desk.next_turn()
    at = stale.run()
    assert work.events == []
    assert any("no longer shown" in t.value for t in at.toast)


def test_a_label_that_cannot_be_stored_is_not_listed(work, monkeypatch):
    def refuse(wb, **_):
        raise As2Error("the disk is full: free some space and label again")

    at = fake_work.page("label")
    monkeypatch.setattr(sys.modules["app.services.labelling"], "give_label", refuse)
    at = press(at, "correct")
    assert "the disk is full: free some space and label again" in fake_work.texts(at).replace("\\", "")
    assert 'data-testid="as2-act"' not in fake_work.markup(at)
    assert "When was the tower finished?" in fake_work.markup(at)
    assert at.session_state["_label_desk"].turn == 1  # a new showing: the listener takes the same key again


def test_who_goes_to_another_queue_gives_back_what_was_in_front(work):
    at = press(fake_work.page("label"), "correct")
    assert work.left == []
    at.selectbox(key="label_queue").set_value("tops").run()
    assert work.left == ["uncertain"]


def test_two_sessions_of_one_name_get_different_items(work):
    one, two = fake_work.page("label"), fake_work.page("label")
    assert "When was the tower finished?" in fake_work.markup(one)
    assert "What did it cost: $5 or $9?" in fake_work.markup(two)


def test_a_finished_queue_says_so_and_what_to_do_next(work):
    work.pairs = [FIRST]
    work.jobs[1] = fake_work.a_job(1, kind="score", state="done", result={"questions": 0})
    at = press(fake_work.page("label"), "correct")
    assert "This queue is finished" in fake_work.markup(at)
    assert at.button(key="label_correct").disabled
    at = press(at, "back")
    assert "When was the tower finished?" in fake_work.markup(at)


def test_an_empty_queue_is_filled_by_a_job_without_being_asked(work):
    work.pairs = []
    at = fake_work.page("label")
    assert work.jobs[10].kind == "score"
    assert "Filling the queues" in fake_work.markup(at)


def test_more_questions_can_be_ranked_when_a_queue_runs_out(work):
    work.pairs = []
    work.jobs[1] = fake_work.a_job(1, kind="score", state="done", result={"questions": 40})
    fake_work.page("label").button(key="label_rank_more").click().run()
    assert [j.state for j in work.jobs.values()] == ["done", "queued"]


def test_skipped_items_come_back_after_the_end(work):
    work.pairs = [FIRST]
    work.jobs[1] = fake_work.a_job(1, kind="score", state="done", result={"questions": 0})
    at = press(fake_work.page("label"), "forward")
    assert "You passed over 1 item" in fake_work.markup(at)
    at = press(at, "forward")
    assert "When was the tower finished?" in fake_work.markup(at)


@pytest.mark.parametrize("mode", ["one", "list"])
def test_skipped_items_stay_away_while_the_queue_fills(work, mode):
    work.pairs = [FIRST]
    work.jobs[1] = fake_work.a_job(1, kind="score", state="running")
    at = press(fake_work.page("label", {"mode": mode}), "forward")
    assert "Filling the queues" in fake_work.markup(at)
    assert "When was the tower finished?" in fake_work.markup(press(at, "forward"))


@pytest.mark.parametrize(("result", "again", "offered"), [(0, False, False), (0, True, True), (7, False, True)])
def test_more_can_be_ranked_unless_a_job_found_nothing_unranked(work, result, again, offered):
    work.pairs = []
    settings = {"again": True} if again else {}
    work.jobs[1] = fake_work.a_job(1, kind="score", state="done", result={"questions": result}, settings=settings)
    at = fake_work.page("label")
    assert ("label_rank_more" in [b.key for b in at.button]) is offered


def test_the_queue_is_in_the_address(work):
    at = fake_work.page("label", {"queue": "random"})
    assert at.selectbox(key="label_queue").value == "random"
    assert "A random share" in fake_work.texts(at)


def test_progress_counts_what_was_stored(work):
    at = press(press(fake_work.page("label"), "correct"), "incorrect")
    assert "1 correct, 1 incorrect, 0 unsure" in fake_work.texts(at)


def rows(at):
    return fake_work.markup(at).count('data-testid="as2-row"')


def test_the_whole_list_of_a_question_stands_with_a_button_a_label(work):
    at = fake_work.page("label", {"mode": "list"})
    assert "When was the tower finished?" in fake_work.markup(at)
    assert rows(at) == 6
    at = at.button(key="label_row_2_incorrect").click().run()
    assert work.labels == {(1, 102): "incorrect"}
    at = press(at, "correct")  # the row after it is in front now
    assert work.labels[1, 103] == "correct"


def test_the_rest_are_incorrect_in_one_act_and_come_back_in_one(work):
    at = press(fake_work.page("label", {"mode": "list"}), "correct")
    at = press(at, "rest")
    assert [work.labels[1, s] for s in range(100, 106)] == ["correct"] + ["incorrect"] * 5
    assert "and 4 more" in fake_work.markup(at)
    assert at.button(key="label_rest").disabled
    at = press(at, "undo")
    assert work.labels == {(1, 100): "correct"}
    press(at, "undo")
    assert work.labels == {}


def test_the_rest_of_a_list_with_nothing_left_is_said_to_be_nothing(work):
    at = fake_work.page("label", {"mode": "list"})
    sent = at.button(key="label_rest").click()  # its key is heard when the button is disabled, too
    desk = at.session_state["_label_desk"]
    rows = tuple(replace(r, label="correct") for r in desk.item.rows)
    at.session_state["_label_desk"] = replace(desk, item=replace(desk.item, rows=rows))
    at = sent.run()
    assert [t.value for t in at.toast] == ["No row was left to label."]
    assert work.events == []


def test_undoing_the_rest_returns_to_the_row_one_was_at(work):
    at = fake_work.page("label", {"mode": "list"})
    at = press(press(press(at, "down"), "down"), "rest")
    press(press(at, "undo"), "correct")
    assert work.labels == {(1, 102): "correct"}


def test_undoing_the_rest_from_a_row_that_was_not_in_it_goes_to_the_first_that_was(work):
    at = press(press(fake_work.page("label", {"mode": "list"}), "correct"), "up")
    at = press(press(at, "rest"), "undo")
    press(at, "unsure")
    assert work.labels == {(1, 100): "correct", (1, 101): "unsure"}


def test_a_click_on_a_row_of_a_list_no_longer_shown_is_refused(work):
    at = fake_work.page("label", {"mode": "list"})
    stale = at.button(key="label_row_2_correct").click()  # clicked while the next question was on its way
    desk = at.session_state["_label_desk"]
    at.session_state["_label_desk"] = replace(desk, item=replace(desk.item, question_id=2, token="the next"))
    at = stale.run()
    assert work.events == []
    assert any("no longer shown" in t.value for t in at.toast)


def test_the_row_a_review_asks_about_is_in_front_and_says_why(work):
    at = fake_work.page("label", {"mode": "list", "queue": "flagged"})
    assert fake_work.markup(at).count("Flagged by bob: is &lt;1889&gt; enough?") == 1
    press(at, "correct")
    assert work.labels == {(1, 101): "correct"}


def test_rows_that_others_look_at_are_closed(work):
    work.leases[1, 102] = "somebody else"
    at = fake_work.page("label", {"mode": "list"})
    assert at.button(key="label_row_2_correct").disabled
    assert "1 more row is with others" in fake_work.texts(at)
    press(at, "rest")
    assert (1, 102) not in work.labels


def test_up_and_down_move_through_the_list_and_label_nothing(work):
    at = press(press(fake_work.page("label", {"mode": "list"}), "down"), "down")
    at = press(at, "up")
    press(at, "unsure")
    assert work.labels == {(1, 101): "unsure"}


def test_the_next_question_comes_and_back_returns(work):
    at = press(fake_work.page("label", {"mode": "list"}), "forward")
    assert "What did it cost" in fake_work.markup(at)
    at = press(at, "back")
    assert "When was the tower finished?" in fake_work.markup(at)


def test_a_blind_item_hides_its_scores_and_says_so_with_the_label(work):
    work.arm = "blind"
    at = fake_work.page("label")
    assert "probability 0.52" not in fake_work.markup(at)
    press(at, "correct")
    shown = work.events[0][4]
    assert (shown.scores_visible, shown.arm, shown.control, shown.model_says) == (False, "blind", True, True)


def test_somebody_who_hides_the_scores_takes_no_part_in_the_meter(work):
    work.arm = "shown"
    at = fake_work.page("label", {"scores": "off"})
    press(at, "correct")
    assert work.events[0][4].arm == ""


def test_a_flag_is_stored_with_its_note(work):
    at = press(fake_work.page("label"), "flag")
    at.text_input(key="label_flag_note").set_value("is a year enough?")
    [send] = [b for b in at.button if b.label == "Flag it"]
    send.click().run()
    assert work.flags == [(1, 100, "is a year enough?")]


def test_a_viewer_looks_and_cannot_label(work):
    work.role = "viewer"
    at = fake_work.page("label")
    assert "You may look, not label" in fake_work.texts(at)
    assert all(at.button(key=f"label_{name}").disabled for name in ("correct", "incorrect", "unsure", "undo", "flag"))


def test_a_viewer_cannot_undo_what_they_did_before_they_were_one(work):
    at = press(fake_work.page("label"), "correct")
    work.role = "viewer"
    assert at.run().button(key="label_act_undo").disabled


def test_a_viewer_looks_through_a_list_and_cannot_click_in_it(work):
    work.role = "viewer"
    at = press(fake_work.page("label", {"mode": "list"}), "down")
    assert rows(at) == 6
    assert all(at.button(key=f"label_row_{i}_{name}").disabled for i in range(6) for name in ("correct", "unsure"))


def test_when_enough_others_labelled_an_item_the_next_comes_with_a_word(work, monkeypatch):
    at = fake_work.page("label")
    labelling = sys.modules["app.services.labelling"]

    def full(wb, **_):
        raise labelling.Enough("others labelled this one")

    monkeypatch.setattr(labelling, "give_label", full)
    at = press(at, "correct")
    assert "What did it cost" in fake_work.markup(at)
    assert any("others labelled this one" in t.value for t in at.toast)


def test_an_undo_that_cannot_be_is_told_in_a_toast(work, monkeypatch):
    at = fake_work.page("label")
    labelling = sys.modules["app.services.labelling"]

    def stays(*_):
        raise labelling.CannotUndo("it stays withdrawn")

    monkeypatch.setattr(labelling, "undo_last", stays)
    at = press(at, "undo")
    assert [t.value for t in at.toast] == ["it stays withdrawn"]
    assert not at.error
    press(at, "correct")
    assert work.labels == {FIRST: "correct"}


def test_guidelines_stand_beside_the_item_and_a_label_keeps_their_version(work):
    work.guidelines.append("- Dates count.")
    at = fake_work.page("label")
    assert "- Dates count." in fake_work.texts(at)
    press(at, "correct")
    assert work.events[0][4].guideline == 1


def test_progress_counts_towards_the_target_at_the_pace_of_the_sitting(work):
    work.rules = Rules(target=820)
    at = fake_work.page("label")
    assert "12.0 labels a minute; at this pace 10 min for the rest" in fake_work.texts(at)
    work.rules = Rules(target=701)
    assert "at this pace less than a minute for the rest" in fake_work.texts(fake_work.page("label"))


@pytest.mark.parametrize("target", [None, 820])
def test_a_queue_of_what_is_labelled_already_has_no_bar(work, target):
    work.rules = Rules(target=target)
    assert len(fake_work.page("label", {"queue": "tops"}).get("progress")) == 1
    at = fake_work.page("label", {"queue": "flagged"})
    assert not at.get("progress")
    assert "judged by" not in fake_work.texts(at)
    assert "wanted" not in fake_work.texts(at)


def test_the_keys_sleep_from_the_press_that_opens_a_dialog(work, monkeypatch):
    maps = []
    at = fake_work.page("label")
    listener = sys.modules["app.components.keys"]
    monkeypatch.setattr(listener, "keys", lambda *, key, data, on_key_change: maps.append(data["map"]))
    at = at.run()
    press(at, "flag")
    assert [m.get("a") for m in maps] == ["correct", None]
