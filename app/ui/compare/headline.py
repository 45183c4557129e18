"""The headline of a comparison: the best ranker by the chosen metric, and which others are clearly worse."""

from collections.abc import Sequence

from app.compare.comparison import ComparisonView
from app.compare.pairs import PairedResult
from app.compare.sweeps import parse_ratio
from as2core.evaluation.rankers import is_clear
from as2core.messages import count, join

MAX_TIE = 1e-9  # between two means that are the same
MEANING = (
    "Clearly: the 95 % interval of the difference leaves out 0, and p, corrected for all pairs, is below 0.05. "
    "Otherwise the difference could be chance."
)


def describe_headline(view: ComparisonView, metric: str) -> str:
    """A sentence about the rankers chosen, about those of a sweep if there are no others; "" without a test."""
    pairs = choose_pairs(view.list_distinct_pairs(metric))
    if not pairs:
        return ""
    names = {name for p in pairs for name in (p.a, p.b)}
    means = {r.ranker: r.figures[metric].value for r in view.distinct_results if r.ranker in names}
    ranking = sorted(means, key=lambda name: -means[name])
    best = [name for name in ranking if means[ranking[0]] - means[name] < MAX_TIE]
    rest = ranking[len(best) :]
    clear = [_find_sides(p) for p in pairs if is_clear(p.test, p.holm)]
    worse = [name for name in rest if all((leader, name) in clear for leader in best)]
    questions = f"{'this' if view.questions == 1 else 'these'} {count(view.questions, 'question')}"
    if not rest:
        text = f"{join(best)} have the same {metric} on {questions}"
    elif worse == rest and len(best) == 1:
        text = f"{best[0]} is clearly better than {join(rest)} on {questions} ({metric})"
    else:
        others = [name for name in rest if name not in worse]
        parts = [f"{join(best)} {'has' if len(best) == 1 else 'have'} the highest {metric} on {questions}"]
        parts += [f"{_join_with_verb(others)} not clearly worse"] if others else []
        parts += [f"{_join_with_verb(worse)} clearly worse"] if worse else [_describe_first(clear)]
        text = "; ".join(filter(None, parts))
    return f"{text}{_describe_training(view, ranking)}."


def choose_pairs(pairs: Sequence[PairedResult]) -> Sequence[PairedResult]:
    """Those of the rankers chosen; those of a sweep if there are no others."""
    return [p for p in pairs if not any(map(parse_ratio, (p.a, p.b)))] or pairs


def _find_sides(pair: PairedResult) -> tuple[str, str]:
    """The better ranker first."""
    return (pair.a, pair.b) if pair.test.difference > 0 else (pair.b, pair.a)


def _join_with_verb(names: Sequence[str]) -> str:
    return f"{join(names)} {'is' if len(names) == 1 else 'are'}"


def _describe_first(clear: Sequence[tuple[str, str]]) -> str:
    """Of the clear differences; "" if there is none."""
    return f"{clear[0][0]} is clearly better than {clear[0][1]}" if clear else ""


def _describe_training(view: ComparisonView, names: Sequence[str]) -> str:
    """`, but a was trained on all of them`; "" where none was."""
    rankers_by_number: dict[int, list[str]] = {}
    for name in names:
        if number := view.trained_on.get(name):
            rankers_by_number.setdefault(number, []).append(name)
    parts = [
        f"{join(rankers)} {'was' if len(rankers) == 1 else 'were'} trained on "
        + ("all of them" if number >= view.questions else f"{number:,} of them")
        for number, rankers in rankers_by_number.items()
    ]
    return f", but {join(parts)}" if parts else ""
