"""JSON `{question's id: {candidate's id: number}}`, as ranx writes runs and qrels alike: scores with a decimal point,
labels as whole numbers."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from as2core.data.source import read_json
from as2core.sources.content import Source
from as2core.types import Json

LABELS = range(-2, 5)  # whole numbers that may be labels; those of TREC have -2 for junk
MAX_SHOWN_CHARS = 60  # of what cannot be read
_KEY = r'"(?:\\.|[^"\\])*"\s*:\s*'
# questions without candidates may come first
_START = re.compile(rf"\{{\s*(?:{_KEY}\{{\s*\}}\s*,\s*)*{_KEY}\{{\s*{_KEY}-?\d")
# a string, which may break off at the end, the end of an object, or a number
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+(?:"|\\?\Z)|(?P<end>\})|(?P<number>-?\d[\d.eE+-]*)', re.DOTALL)


def begins(start: str) -> bool:
    """Whether it is the beginning of such a file, a run or qrels."""
    return bool(_START.match(start))


def begins_with_labels(start: str) -> bool:
    """Whether it is the beginning of qrels, by the numbers in it."""
    if not begins(start):
        return False
    rows: list[list[str]] = [[]]
    for token in _TOKEN.finditer(start):
        if token["end"]:
            rows.append([])
        elif token["number"] and token.end() < len(start):  # the last one may break off
            rows[-1].append(token["number"])
    are_whole = all(re.fullmatch(r"-?\d{1,2}", number) for row in rows for number in row)
    return are_whole and are_labels([*map(int, row)] for row in rows)


def are_labels(rows: Iterable[Sequence[Json]]) -> bool:
    """Whether all values of these questions are whole numbers of LABELS, the same for several candidates."""
    lists = [*rows]
    are_small = all(isinstance(v, int) and v in LABELS for values in lists for v in values)
    return are_small and (any(len({*v}) < len(v) for v in lists) or {v for values in lists for v in values} == {1})


def read(source: Source, what: str) -> dict[str, dict[str, int | float]]:
    """The finite numbers. Raises UnreadableFile, in which a number is `what`, a score or a label."""
    kind = f"JSON of {{question: {{candidate: {what}}}}}"
    return read_json(source, partial(_parse, what), kind, make_object=_make_object)


def _make_object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Raises ValueError for a key that comes twice, of which Python would keep the last."""
    if repeats := [key for key, n in Counter(key for key, _ in pairs).items() if n > 1]:
        raise ValueError(f"{repeats[0]!r} appears twice in one object")
    return dict(pairs)


def _parse(what: str, content: Mapping[str, Json]) -> dict[str, dict[str, int | float]]:
    """Raises ValueError, with the question and the candidate."""
    rows: dict[str, dict[str, int | float]] = {}
    for qid, row in content.items():
        if not isinstance(row, dict):
            raise ValueError(f"question {qid!r} has {cut(json.dumps(row))} instead of its candidates")
        rows[qid] = {}
        for docid, number in row.items():
            if isinstance(number, bool) or not isinstance(number, int | float) or not _is_finite(number):
                reason = f"the {what} {cut(json.dumps(number))} is not a number"
                raise ValueError(f"question {qid!r}, candidate {docid!r}: {reason}")
            rows[qid][docid] = number
    return rows


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # of a whole number beyond every float
        return False


def cut(text: str) -> str:
    """At most its first MAX_SHOWN_CHARS, for a message."""
    text = text.strip()
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]} …"
