"""Questions wait in line."""

import threading
import time

import pytest

from app.ranking import question_line
from app.ranking.question_line import Line

SECONDS = 20  # which nothing here takes


class Left(Exception):
    """The reader has gone."""


@pytest.fixture(autouse=True)
def quick_reports(monkeypatch):
    monkeypatch.setattr(question_line, "REPORT_SECONDS", 0.01)


def start(line, order, name, waits):
    """A thread that takes a turn; it is in the line when this returns."""
    go_on = threading.Event()

    def act():
        with line.take(lambda ahead: (order.append((name, ahead)), waits.set())):
            order.append(name)
            go_on.wait(SECONDS)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread, go_on


def wait_for(name, order):
    give_up = time.monotonic() + SECONDS
    while name not in order:
        assert time.monotonic() < give_up, f"{name} has had no turn"
        time.sleep(0.001)


def test_who_came_first_goes_first_as_many_at_a_time_as_the_limit():
    line, order, threads = Line(2), [], []
    for name in "abcd":
        waits = threading.Event()
        threads.append(start(line, order, name, waits))
        if name in "cd":
            assert waits.wait(SECONDS)
        else:
            wait_for(name, order)
    assert [x for x in order if isinstance(x, str)] == ["a", "b"]
    assert {("c", 1), ("d", 2)} <= set(order)
    for (thread, go_on), following in zip(threads, "cddd", strict=True):
        go_on.set()
        thread.join(SECONDS)
        wait_for(following, order)  # whose turn it is, before another's begins
    assert [x for x in order if isinstance(x, str)] == ["a", "b", "c", "d"]


def test_one_that_does_not_want_to_wait_any_more_leaves_the_line_to_the_next():
    line = Line(1)

    def leave(_ahead):
        raise Left

    with line.take():
        with pytest.raises(Left), line.take(leave):
            pass
        thread, go_on = start(line, order := [], "next", threading.Event())
    go_on.set()
    thread.join(SECONDS)
    assert order[-1] == "next"


def test_a_turn_ends_with_an_error_too():
    line = Line(1)
    with pytest.raises(Left), line.take():
        raise Left
    with line.take():
        pass
