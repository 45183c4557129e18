"""How long a job still takes, as a range: other programs come and go, and steps differ."""

import re
from math import ceil

SPREAD = 0.25  # of steps that are much alike
MIN_STEPS = 2  # before their pace counts
MAX_MINUTES = 120  # in minutes; more are hours
_REMAINING = re.compile(r", (?:about |\d+ to )\d+ (?:s|min|h) left$")


def describe_remaining(seconds: float, done: int, total: int) -> str:
    """`, 20 to 40 s left` after so many of the steps in so many seconds; "" before there is a pace, and at the end."""
    if done < MIN_STEPS or done >= total:
        return ""
    rest = seconds / done * (total - done)
    return f", {describe_range(rest * (1 - SPREAD), rest * (1 + SPREAD))} left"


def describe_range(low: float, high: float) -> str:
    """`20 to 40 s`, `1 to 3 min`, `about 5 s`, `4 to 6 h`: seconds as a range that a reader can hold in mind."""
    if high < 90:
        low, high = (5 * ceil(x / 5) for x in (low, high))
        return f"about {high} s" if low == high else f"{low} to {high} s"
    unit, size = ("min", 60) if high < MAX_MINUTES * 60 else ("h", 3600)
    low, high = (ceil(x / size) if x > high / 10 else 1 for x in (low, high))
    return f"about {high} {unit}" if low == high else f"{low} to {high} {unit}"


def find_remaining(message: str) -> str:
    """What `describe_remaining` wrote at the end of a job's message, or ""."""
    match = _REMAINING.search(message)
    return match[0] if match else ""
