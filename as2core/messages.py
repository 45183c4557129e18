"""Parts of the messages that people read: counts, figures, lists of names, and a name they may have meant."""

import difflib
from collections.abc import Iterable, Sequence

MAX_NAMES = 10  # in a list of names
HYPHEN, MINUS = "-", "−"  # before a number: in terminals and files; on pages


def count(n: int, one: str, many: str = "") -> str:
    """`1,300 sentences`, `1 sentence`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def format_signed(value: float, digits: int = 3, minus: str = HYPHEN) -> str:
    """`+0.150`, `-0.020`; what rounds to 0 is `+0.000`, never `-0.000`."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", minus if float(text) else "+")


def join(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def name_some(names: Sequence[str], limit: int = MAX_NAMES) -> str:
    """As in "a.txt, b.txt and 3 more"."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest:,} more" if rest > 0 else "")


def format_p(p: float) -> str:
    """`0.013`, or `<0.001`: no p is 0."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def suggest_name(name: str, names: Iterable[str]) -> str:
    """`; did you mean starter-test?`, for an error; "" where none is like it."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""
