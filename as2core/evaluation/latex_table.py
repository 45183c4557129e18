"""An evaluation as a table for LaTeX, in the form of publications: a row a ranker, the best mean of a measure in bold,
and beside a mean the letters of the rankers that it is clearly better than. It needs the package booktabs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice, product
from itertools import count as count_up
from string import ascii_lowercase

from as2core.evaluation.gate import UNRANKED
from as2core.evaluation.html_report import ReportContents, find_corrected_p, list_measures
from as2core.evaluation.rankers import MAX_P, is_clear
from as2core.evaluation.training_record import merge_overlaps
from as2core.messages import count
from as2core.metrics import PairedTest

_WORDS = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {c: rf"\text{word}{{}}" for c, word in _WORDS.items()})


def write_latex(contents: ReportContents) -> str:
    """The table, after the facts and notes as comments. Every name is escaped."""
    import pandas as pd

    rankers = contents.rankers
    measures = list_measures(rankers)
    letters = dict(zip([r["ranker"] for r in rankers], _list_letters(len(rankers)), strict=True))
    columns: dict[str, list[str]] = {"": [*letters.values()], "ranker": [escape_latex(name) for name in letters]}
    for measure in measures:
        better = _find_better(contents, measure)
        best = max(_format(r[measure]) for r in rankers)
        columns[escape_latex(measure)] = [
            _format_cell(_format(r[measure]), best, [letters[b] for b in letters if (r["ranker"], b) in better])
            for r in rankers
        ]
    if contents.unranked:
        last = ["", UNRANKED, *(_format(contents.unranked[m]) for m in measures)]
        for column, cell in zip(columns.values(), last, strict=True):
            column.append(cell)
    table = pd.DataFrame(columns).style.hide(axis="index")
    body = table.to_latex(
        hrules=True,
        column_format="ll" + "l" * len(measures),
        caption=_write_caption(contents),
        position="tb",
        position_float="centering",
    )
    facts = [f"{name}: {value}" for name, value in contents.facts]
    comments = [contents.title, *facts, *merge_overlaps(contents.notes), r"needs \usepackage{booktabs}"]
    return "".join(f"% {' '.join(text.split())}\n" for text in comments) + body


def escape_latex(text: str) -> str:
    """The text as LaTeX prints it."""
    return text.translate(_SPECIAL)


def _list_letters(number: int) -> list[str]:
    """a to z, then aa, ab and so on."""
    names = ("".join(letters) for length in count_up(1) for letters in product(ascii_lowercase, repeat=length))
    return [*islice(names, number)]


def _find_better(contents: ReportContents, measure: str) -> set[tuple[str, str]]:
    """The pairs of which the first is clearly better than the second."""
    better = set()
    for (a, b), by_measure in contents.tests.items():
        test, p = PairedTest.from_record(by_measure[measure]), find_corrected_p(by_measure[measure])
        if is_clear(test, p):
            better.add((a, b) if test.difference > 0 else (b, a))
    return better


def _format(value: float) -> str:
    return f"{value:.3f}"


def _format_cell(value: str, best: str, worse: Sequence[str]) -> str:
    """`worse`: the letters of the rankers that this one is clearly better than."""
    superscript = f"$^{{{','.join(worse)}}}$" if worse else ""
    return (rf"\textbf{{{value}}}" if value == best else value) + superscript


def _write_caption(contents: ReportContents) -> str:
    """What the figures are of, and what bold and letters mean."""
    caption = f"{escape_latex(contents.title)}{_describe_count(contents)}. The highest mean of each measure is in bold."
    if contents.unranked:
        order = dict(contents.facts).get(UNRANKED, "the order in the data")
        caption += f" Without reranking: {escape_latex(order)}."
    if not contents.tests:
        return caption
    letters = (
        r"Letters: clearly better than that ranker, by a 95\,\% bootstrap interval of the difference without 0 and "
        f"$p < {MAX_P}$ in a two-sided randomisation test over the questions, corrected by Holm's method."
    )
    return f"{caption} {letters}{_describe_pairs(contents)}"


def _describe_count(contents: ReportContents) -> str:
    """Of how many questions the means are, where the rankers' records say it."""
    first = contents.rankers[0]
    number = first.get("questions_with_labels", first.get("questions"))
    return "" if number is None else f": means of {count(number, 'question')}"


def _describe_pairs(contents: ReportContents) -> str:
    """Which pairs were tested, where not all were."""
    names = [r["ranker"] for r in contents.rankers]
    if len(contents.tests) == len([*combinations(names, 2)]):
        return ""
    if all(names[0] in pair for pair in contents.tests):
        return f" Tested is {escape_latex(names[0])} against each other ranker."
    return " Not all pairs were tested."
