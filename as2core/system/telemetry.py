"""ONNX Runtime's telemetry, off: no request of ours leaves the machine.

Release 1.31 collects events from its import on (a device id, the processor, every model load), keeps them in the user's
cache folder and sends them to a host of Microsoft. Its function `disable_telemetry_events` stops neither the queue nor
the look-up of that host, because both begin with the import. The variable, set before, stops both.
"""

import os
from contextlib import suppress
from pathlib import Path

VARIABLE = "ORT_DISABLE_TELEMETRY"
_FOLDER = Path("Microsoft", "DeveloperTools", ".onnxruntime")  # in the user's cache folder
_FILES = ("onnxruntime.db", "onnxruntime.db-wal", "onnxruntime.db-shm", "deviceid", "deviceid.lock")


def disable_telemetry() -> None:
    """For this process and those it starts; before onnxruntime is imported."""
    os.environ[VARIABLE] = "1"


def remove_queue() -> None:
    """Delete the events and the device id that earlier releases left behind; folders that are empty then, too."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    with suppress(OSError, RuntimeError):  # there is no home, or it cannot be written
        folder = Path(cache).expanduser() / _FOLDER
        if folder.is_dir():
            for name in _FILES:
                (folder / name).unlink(missing_ok=True)
            for empty in (folder, *folder.parents[:2]):
                empty.rmdir()
