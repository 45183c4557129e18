"""How long a job still takes, as a range: other programs come and go, and steps differ."""

from math import ceil

SPREAD = 0.25  # of steps that are much alike
MIN_STEPS = 2  # before their pace counts


def describe_remaining(seconds: float, done: int, total: int) -> str:
    """`, 20 to 40 s left` after so many of the steps in so many seconds; "" before there is a pace, and at the end."""
    if done < MIN_STEPS or done >= total:
        return ""
    rest = seconds / done * (total - done)
    return f", {describe_range(rest * (1 - SPREAD), rest * (1 + SPREAD))} left"


def describe_range(low: float, high: float) -> str:
    """`20 to 40 s`, `1 to 3 min`, `about 5 s`: seconds as a range that a reader can hold in mind."""
    if high < 90:
        low, high = (5 * ceil(x / 5) for x in (low, high))
        return f"about {high} s" if low == high else f"{low} to {high} s"
    low, high = (ceil(x / 60) if x > high / 10 else 1 for x in (low, high))
    return f"about {high} min" if low == high else f"{low} to {high} min"
