"""How many cores there are to compute on."""

import os

LIMIT = "AS2_CORES"  # in a process that shares the machine with others of its kind


def count_cores() -> int:
    """The cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get(LIMIT, "")
    return min(cores, max(1, int(limit))) if limit.isdecimal() else cores
