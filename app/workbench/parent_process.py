"""A process that is of no use without the one that started it ends with it, however that one ended: also where it was
killed and could tell nobody. Otherwise a server goes on at the port that the next one wants."""

import os
import signal
import threading
import time

PARENT = "AS2_PARENT"  # a variable of the environment: the process to end with
CHECK_SECONDS = 1.0
STOP_SECONDS = 20.0  # in which to end in order


def name_parent() -> dict[str, str]:
    """The environment of a process that is to end with this one."""
    return {PARENT: str(os.getpid())}


def end_with_parent() -> None:
    """Watch over the parent in a thread, if it asked for that; without effect on Windows."""
    parent = os.environ.pop(PARENT, "")  # it is not that of the processes started here
    if parent.isdigit():
        threading.Thread(target=_watch, args=(int(parent),), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os._exit(1)
