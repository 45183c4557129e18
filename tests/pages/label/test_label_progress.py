"""How many labels there are, and how many a retrain needs."""

import re

import stored
import streamlit as st
from app_pages import markup, open_page, texts
from label_desk import BRIDGE, FIRST, SECOND, label, open_label, press

from app.adapt import advice, readiness
from app.labels import annotation, progress, rules


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
    assert "Labelled pairs in this corpus" in texts(at)  # of three labels
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
    assert "A retrain needs a correct label on 3 more questions." in texts(at)
    label(wb, me, SECOND, "incorrect")
    assert "A retrain needs a correct label on 3 more questions." in texts(open_label({"queue": "random"}))
    stored.set_split(wb, BRIDGE, "test")  # no retrain learns from it, and something is measured on it
    note = "a correct label on 3 more questions. (1 labelled question is held out or for validation.)"
    assert note in texts(open_label({"queue": "random"}))
    label(wb, me, (1, 1))
    label(wb, me, (2, 3))
    assert "A retrain needs a correct label on 1 more question." in texts(open_label({"queue": "random"}))
    assert open_page("adapt").button(key="adapt_start").disabled
    monkeypatch.setattr(advice, "MIN_QUESTIONS", 3)  # one to measure on, and two correct ones
    at = open_label({"queue": "random"})
    assert "Enough for a first retrain:" in texts(at)
    assert "adapt" in [p.proto.page for p in at.get("page_link")]
    st.cache_data.clear()
    assert not open_page("adapt").button(key="adapt_start").disabled


def test_held_out_questions_that_lack_a_label_are_one_click_away(wb, me, monkeypatch):
    monkeypatch.setattr(readiness, "measure_distance", lambda *a: readiness.Distance(4, 0, incomplete_ids=(2, 3)))
    at = open_label({"queue": "random"})
    assert "To compare before and after, 2 held-out questions need labels of both kinds:" in texts(at)
    [link] = [p.proto for p in at.get("page_link") if p.proto.label == "Label them"]
    assert link.page == "label" and "only=2.3" in link.query_string


def test_what_a_retrain_can_start_with_is_checked_only_where_the_counts_allow_it(wb, me, monkeypatch):
    checks, check = [], readiness.check_readiness
    monkeypatch.setattr(readiness, "check_readiness", lambda *a: checks.append(1) or check(*a))
    monkeypatch.setattr(advice, "MIN_QUESTIONS", 3)
    stored.set_split(wb, BRIDGE, "test")
    for pair, label_name in ((FIRST, "correct"), (SECOND, "incorrect"), ((1, 1), "correct"), ((2, 3), "correct")):
        assert not readiness.measure_distance(wb, stored.TOWERS).is_enough and not checks
        label(wb, me, pair, label_name)
    for _ in range(2):
        assert readiness.measure_distance(wb, stored.TOWERS).is_enough and len(checks) == 1
    label(wb, me, (1, 4), "incorrect")
    assert readiness.measure_distance(wb, stored.TOWERS).is_enough and len(checks) == 1  # one more does no harm
    annotation.withdraw(wb, question_id=1, sentence_id=1, annotator_id=me.id)
    assert not readiness.measure_distance(wb, stored.TOWERS).is_enough
