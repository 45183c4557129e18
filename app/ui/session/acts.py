"""Acts that no click cuts off, and that begin one after the other in a session.

A click ends the run of the page before it: at what that run next says to the browser or asks of the session, and not
before the run of the click has begun beside it. The second of two quick clicks would do an act again while the first is
at it, or end the first between what is stored and what the page has to know of it.

    with finish():
        job = start(...)
        url.put(job=job.id)
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

_locks: WeakValueDictionary[tuple[str, str], "_Lock"] = WeakValueDictionary()  # by session and act, while one has it
_locks_lock = threading.Lock()


class _Lock:
    """Of a thread, which may take it again."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


@contextmanager
def finish(name: str = "") -> Iterator[None]:
    """No click ends what is done in it, nor does anything of this name begin in the session meanwhile. Without a name:
    short acts, such as a callback's. `st.rerun` has no effect in it."""
    context = get_script_run_ctx()
    if context is None:
        yield
        return
    with _locks_lock:
        lock = _locks.setdefault((context.session_id, name), _Lock())
    with lock.lock, _ignore_requests(context.script_requests):
        yield


def await_end(name: str) -> None:
    """Of what a run that this one overtook has begun."""
    with finish(name):
        pass


@contextmanager
def _ignore_requests(requests: ScriptRequests | None) -> Iterator[None]:
    """They count once it is over. Streamlit has no public way."""
    if requests is None or "on_scriptrunner_yield" in vars(requests):
        yield
        return
    requests.on_scriptrunner_yield = lambda: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        del requests.on_scriptrunner_yield
