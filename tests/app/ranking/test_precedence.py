"""Answers go before what completes others."""

import threading

import pytest

from app.ranking.precedence import Precedence


def test_who_waits_goes_on_when_the_last_answer_is_made():
    answers, passes = Precedence(), threading.Event()
    waiting = threading.Thread(target=lambda: (answers.wait(60.0), passes.set()))
    with answers.hold():
        with answers.hold():
            waiting.start()
        assert not passes.is_set()
    assert passes.wait(60.0)
    waiting.join()


def test_nobody_waits_when_no_answer_is_made_and_none_for_ever():
    answers = Precedence()
    assert answers.wait(3600.0)
    with answers.hold():
        assert not answers.wait(0.0)


def test_an_answer_that_fails_holds_nobody_up():
    answers = Precedence()
    with pytest.raises(ValueError, match="no answer"), answers.hold():
        raise ValueError("no answer")
    assert answers.wait(3600.0)
