"""Waits for what another thread or process does."""

import time


def until(condition, what="what is waited for", *, seconds=60.0, pause=0.02):
    """What `condition()` gives, as soon as it is true; the test fails where it is not within so many seconds."""
    give_up = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < give_up, f"waited {seconds:.0f} s for {what}"
        time.sleep(pause)
    return value
