"""What Label tells the listener of keys, and what is read aloud. Keys are pressed in tests/e2e/test_label_keys.py."""

import json

import streamlit as st
from app_pages import markup, open_page
from label_desk import THIRD, label, open_label, opened_list, press
from sqlalchemy import delete

from app.ui import keys
from db.models import Lease


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
