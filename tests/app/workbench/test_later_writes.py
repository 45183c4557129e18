import threading

import pytest

from app.workbench.later_writes import LaterWrites

FOREVER = 3600.0


def test_a_write_is_made_by_itself_and_in_its_turn():
    later, calls, done = LaterWrites(delay=0.0), [], threading.Event()
    later.add(1, lambda: calls.append("one"))
    later.add(2, lambda: calls.append("two"))
    later.add(3, done.set)
    assert done.wait(10)
    assert calls == ["one", "two"]


def test_who_needs_a_write_makes_it_at_once_and_nobody_makes_it_again():
    later, calls = LaterWrites(delay=FOREVER), []
    later.add(1, lambda: calls.append("one"))
    later.add(2, lambda: calls.append("two"))
    later.finish(2)
    assert calls == ["two"]
    later.finish(2)
    later.finish()
    later.finish()
    assert calls == ["two", "one"]


def test_who_needs_a_write_waits_while_another_thread_is_at_it():
    later, calls = LaterWrites(delay=0.0), []
    begun, may_end = threading.Event(), threading.Event()

    def act():
        begun.set()
        assert may_end.wait(10)
        calls.append("written")

    later.add(1, act)
    assert begun.wait(10)
    waiting = threading.Thread(target=later.finish, args=(1,))
    waiting.start()
    assert calls == []
    may_end.set()
    waiting.join(10)
    assert calls == ["written"]


def test_a_write_that_fails_is_logged_and_those_after_it_are_made(caplog):
    later, done = LaterWrites(delay=0.0), threading.Event()

    def fail():
        raise OSError("the disk is full")

    later.add(1, fail)
    later.add(2, done.set)
    assert done.wait(10)
    later.finish()
    assert "the disk is full" in caplog.text


@pytest.mark.parametrize("key", [7, None])
def test_finishing_what_is_not_there_leaves_what_comes_after(key):
    later, calls = LaterWrites(delay=3600.0), []
    later.finish(key)
    later.add(7, lambda: calls.append("written"))
    assert calls == []
    later.finish(key)
    assert calls == ["written"]


def test_closing_makes_what_is_due_and_ends_the_thread_and_a_later_write_starts_another():
    later, calls, done = LaterWrites(delay=FOREVER), [], threading.Event()
    before = set(threading.enumerate())
    later.add(1, lambda: calls.append("one"))
    [thread] = set(threading.enumerate()) - before
    later.close()
    thread.join(10)
    assert calls == ["one"] and not thread.is_alive()
    later.delay = 0.0
    later.add(2, done.set)
    assert done.wait(10)
    later.close()
