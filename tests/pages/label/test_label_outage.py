"""The label page while the database is away."""

import sqlite3

import pytest
import stored
from label_desk import BRIDGE, FIRST, SECOND, front, label, open_label, press

from app.adapt import advice, readiness
from app.labels import annotation
from app.ui import errors
from app.workbench.workbench import DatabaseOutage


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


def test_an_outage_is_not_remembered_as_too_few_labels(wb, me, outage, monkeypatch):
    check = readiness.check_readiness
    monkeypatch.setattr(advice, "MIN_QUESTIONS", 3)
    stored.set_split(wb, BRIDGE, "test")
    for pair, label_name in ((FIRST, "correct"), (SECOND, "incorrect"), ((1, 1), "correct"), ((2, 3), "correct")):
        label(wb, me, pair, label_name)
    monkeypatch.setattr(readiness, "check_readiness", lambda *a: (outage.set(), check(*a)))
    with pytest.raises(DatabaseOutage):
        readiness.measure_distance(wb, stored.TOWERS)
    outage.clear()
    monkeypatch.setattr(readiness, "check_readiness", check)
    assert readiness.measure_distance(wb, stored.TOWERS).is_enough
