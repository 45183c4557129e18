"""Acts that no click cuts off, and of which the second of two clicks begins none."""

import threading
from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

from app.ui.session import acts


@pytest.fixture
def requests(monkeypatch):
    """Those of this session's run."""
    requests = ScriptRequests()
    context = SimpleNamespace(session_id="session", script_requests=requests)
    monkeypatch.setattr(acts, "get_script_run_ctx", lambda: context)
    return requests


def test_a_click_ends_the_run_only_when_the_act_is_over(requests):
    with acts.finish():
        requests.request_stop()
        with acts.finish("within"):
            assert requests.on_scriptrunner_yield() is None
        assert requests.on_scriptrunner_yield() is None
    assert requests.on_scriptrunner_yield().type is ScriptRequestType.STOP


def test_a_rerun_that_was_asked_for_meanwhile_follows_also_after_an_error(requests):
    with pytest.raises(ZeroDivisionError), acts.finish():
        requests.request_rerun(RerunData(query_string="q=1"))
        assert requests.on_scriptrunner_yield() is None
        raise ZeroDivisionError
    assert requests.on_scriptrunner_yield().rerun_data.query_string == "q=1"


def test_of_two_acts_of_a_name_the_second_begins_when_the_first_is_over(requests):
    steps, has_begun, may_end = [], threading.Event(), threading.Event()

    def run_first():
        with acts.finish("import"):
            has_begun.set()
            may_end.wait(10)
            steps.append("first")

    def run_second():
        acts.await_end("import")
        steps.append("second")

    threads = [threading.Thread(target=run) for run in (run_first, run_second)]
    threads[0].start()
    assert has_begun.wait(10)
    with acts.finish("another"):  # which is not waited for
        threads[1].start()
    assert steps == []
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert steps == ["first", "second"]
