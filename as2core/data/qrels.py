"""trec_eval's two files: qrels (`qid 0 docid rel`) and runs (`qid Q0 docid rank score tag`), columns divided by spaces.

White space and "%" inside an id are written as %20, %25 and so on, to keep columns apart, and read back. Qrels hold
no texts: the questions read from them have ids and labels only, and unlabelled candidates are not written.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

import numpy as np

from as2core.data.source import Report, Row, Source, group_rows, iterate_labels, name_source, stream_fields
from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.types import Question

_ESCAPES = {quote(c): c for c in map(chr, range(0x3001)) if c == "%" or c.isspace()}  # no white space comes later
_ESCAPED = re.compile("|".join(_ESCAPES))


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions without texts, in the order of their first line. A relevance above 0 is correct, 0 or less is not,
    unless the report's `min_correct` differs."""

    def parse(fields: list[str]) -> Row:
        return unescape_id(fields[0]), "", report.rate(unescape_id(fields[2]), fields[3])

    return group_rows(stream_fields(source, report, ("qid", "0", "docid", "rel"), parse, split=str.split), report)


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """A line for each labelled candidate."""
    for q, c in iterate_labels(questions):
        yield f"{escape_id(q.qid)} 0 {escape_id(c.id)} {c.relevance}\n"


def run_to_lines(questions: Iterable[Question], scores: Mapping[str, np.ndarray], *, tag: str) -> Iterator[str]:
    """A run of these scores (`{qid: (n,)}`). trec_eval sorts by score and breaks ties by document id; so where a
    question's scores tie (as 32-bit numbers, which it reads), they are replaced by falling whole numbers in our order.
    Raises BadSetting unless there is a score for each candidate and an id to write."""
    for q in questions:
        exact = np.asarray(scores[q.qid], dtype=np.float32)
        if len(exact) != len(q.candidates):
            raise BadSetting(f"question {q.qid!r}: {len(exact)} scores for {len(q.candidates)} candidates")
        values = exact.astype(np.float64)
        if has_ties(exact):
            values[order(exact)] = np.arange(len(exact), 0, -1)
        for rank, i in enumerate(order(values), 1):
            docid = escape_id(q.candidates[i].id)
            yield f"{escape_id(q.qid)} Q0 {docid} {rank} {float(values[i])!r} {escape_id(tag)}\n"


def has_ties(scores: np.ndarray) -> bool:
    """Whether a run cannot hold these scores as they are: as 32-bit numbers some are equal, or not finite."""
    exact = np.asarray(scores, dtype=np.float32)
    return len(np.unique(exact)) < len(exact) or not bool(np.isfinite(exact).all())


def read_run_and_ties(source: Source, questions: Sequence[Question]) -> tuple[dict[str, np.ndarray], int]:
    """The scores of a run for these questions, `{qid: float32 (n,)}`, and how many of their candidates share their
    score with another. NaN for candidates that it does not have. Equal scores are told apart by the rank column, then
    by the order of the lines. Raises UnreadableFile for a malformed line and for a document that a question has twice,
    and BadSetting for a question that it has no candidate of."""
    run = _read_places(source)
    ids = {q.qid: {c.id for c in q.candidates} for q in questions}
    gaps = [qid for qid, own in ids.items() if own and own.isdisjoint(run.get(qid, {}))]
    if gaps:
        name, share = name_source(source), f"{len(gaps):,} of {len(questions):,} questions"
        raise BadSetting(
            f"{name} ranks no candidate of question {gaps[0]!r} ({share} are like that): give a run of these questions"
        )
    scores, ties = {}, 0
    for q in questions:
        row = run.get(q.qid, {})  # empty for a question without candidates
        values = _separate_ties(row)
        scores[q.qid] = np.array([values.get(c.id, np.nan) for c in q.candidates], dtype=np.float32)
        counts = Counter(float(np.float32(row[c.id][0])) for c in q.candidates if c.id in row)
        ties += sum(n for n in counts.values() if n > 1)
    return scores, ties


def read_run_scores(source: Source) -> dict[str, dict[str, float]]:
    """A run as it is, `{qid: {docid: score}}`. Raises UnreadableFile for a malformed line and for a document that a
    question has twice."""
    return {qid: {docid: score for docid, (score, _) in row.items()} for qid, row in _read_places(source).items()}


def _read_places(source: Source) -> dict[str, dict[str, tuple[float, float]]]:
    """`{qid: {docid: (score, rank)}}`."""
    report = Report(source, strict=True)
    columns = ("qid", "Q0", "docid", "rank", "score", "tag")
    run: dict[str, dict[str, tuple[float, float]]] = {}
    for line, (qid, docid, place) in stream_fields(source, report, columns, _parse_run, split=str.split):
        row = run.setdefault(qid, {})
        if docid in row:
            report.add(line, f"document {docid!r} appears twice for question {qid!r}")
        row[docid] = place
    return run


def _separate_ties(row: Mapping[str, tuple[float, float]]) -> dict[str, np.float32]:
    """The scores of a question's `{docid: (score, rank)}`: as they are, but a score that is not below the one before it
    in the order becomes the next 32-bit number below that."""
    scores: dict[str, np.float32] = {}
    last = np.float32(np.inf)
    for docid, (score, _) in sorted(row.items(), key=lambda item: (-np.float32(item[1][0]), item[1][1])):
        last = min(np.float32(score), np.nextafter(last, np.float32(-np.inf)))
        scores[docid] = last
    return scores


def _parse_run(fields: list[str]) -> tuple[str, str, tuple[float, float]]:
    try:
        score = float(fields[4])
    except ValueError:
        raise ValueError(f"the score {fields[4]!r} is not a number") from None
    if not math.isfinite(score):
        raise ValueError(f"the score {fields[4]} is not a finite number")
    rank = float(fields[3]) if fields[3].isdecimal() else math.inf  # trec_eval does not read this column
    return unescape_id(fields[0]), unescape_id(fields[2]), (score, rank)


def escape_id(name: str) -> str:
    """An id as it stands in a column. Raises BadSetting for an empty one."""
    if not name:
        raise BadSetting("an id is empty: qrels and run files need one for each question and candidate")
    return re.sub(r"[%\s]", lambda m: quote(m[0]), name)


def unescape_id(name: str) -> str:
    """An id as it was before it was written into a column."""
    return _ESCAPED.sub(lambda m: _ESCAPES[m[0]], name)
