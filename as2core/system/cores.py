"""How many cores there are to compute on."""

import os

from as2core.errors import BadSetting

LIMIT = "AS2_CORES"  # in a process that shares the machine with others of its kind


def count_cores() -> int:
    """The cores this process may use. Raises BadSetting for a limit that is no number above 0."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get(LIMIT, "")
    if limit and not (limit.isdecimal() and int(limit)):
        raise BadSetting(f"{LIMIT} is {limit!r}: give a number of cores, 1 or more")
    return min(cores, int(limit)) if limit else cores
