"""What a conclusion comes to, in words: the same in the terminal and on the page."""

from __future__ import annotations

from as2core.deciding.decision import EQUAL, OPEN, A, B, Conclusion, DecisionSettings
from as2core.deciding.powered import PoweredMean
from as2core.messages import HYPHEN, count, format_signed

MIN_DRAWS = 10  # before the estimate of an open decision is told


def describe_conclusion(conclusion: Conclusion, a: str, b: str, settings: DecisionSettings) -> str:
    """`cascade is better on these 122 questions, 97 %.`"""
    v = conclusion
    name = (a if v.estimate > 0 else b) if v.outcome == OPEN else a if v.outcome == A else b
    sure = "whatever the missing labels are" if v.is_certain else f"{_percent(v.confidence)} %"
    if v.outcome == EQUAL:
        return f"No difference above {settings.tolerance:g} with these questions, {sure}."
    if v.outcome != OPEN:
        questions = "this question" if v.questions == 1 else f"these {v.questions:,} questions"
        return f"{name} is better on {questions}, {sure}."
    limit = f"at most {_count(v.most, 'more ')}"
    rest = f"about {_count(v.more, 'more ')}, at most {v.most:,}" if v.more and v.more < v.most else limit
    ahead = f"{name} is ahead, {_percent(v.confidence)} %" if v.confidence >= 0.5 else "Not decided yet"
    return f"{ahead}: {rest}."


def describe_evidence(conclusion: Conclusion, a: str, b: str, settings: DecisionSettings, minus: str = HYPHEN) -> str:
    """`P@1 of cascade minus bm25: +0.150 (+0.01 to +0.26, 95 % at any look) over 122 questions, 17 of them settled; 34
    labels given.` The first draws say so little that only the interval is told."""
    v = conclusion
    number = "all" if v.known_questions == v.questions else f"{v.known_questions:,}"
    low, high = _bound(v.low, v.outcome == A, "above", minus), _bound(v.high, v.outcome == B, "below", minus)
    sure = f"{settings.level * 100:g} % at any look"
    if number == "all":
        value = format_signed(v.estimate, minus=minus)
    elif v.outcome == OPEN and v.draws < MIN_DRAWS:
        value = f"between {low} and {high} ({sure})"
    else:
        value = f"{format_signed(v.estimate, minus=minus)} ({low} to {high}, {sure})"
    questions = count(v.questions, "question")
    return (
        f"{settings.measure} of {a} minus {b}: {value} over {questions}, {number} of them settled; "
        f"{_count(v.labels)} given."
    )


def describe_others(others: PoweredMean | None, minus: str = HYPHEN) -> str:
    """`On other questions like these: +0.150 (-0.02 to +0.31, if you look once).`; "" without an estimate."""
    if others is None:
        return ""
    interval = f"{format_signed(others.low, 2, minus)} to {format_signed(others.high, 2, minus)}"
    return f"On other questions like these: {format_signed(others.mean, minus=minus)} ({interval}, if you look once)."


def _bound(value: float, is_zero_excluded: bool, side: str, minus: str) -> str:
    """An interval is rounded outwards, to 0 perhaps, though the conclusion excludes it."""
    return f"{side} 0" if is_zero_excluded and abs(value) < 0.005 else format_signed(value, 2, minus)


def _count(labels: int, more: str = "") -> str:
    return f"{labels:,} {more}label{'' if labels == 1 else 's'}"


def _percent(confidence: float) -> int:
    """Rounded down: 94.9 % is not 95 %."""
    return int(confidence * 100 + 1e-9)
