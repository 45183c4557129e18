"""trec_eval's two files: qrels (`qid 0 docid rel`) and, as written here, runs (`qid Q0 docid rank score tag`), columns
divided by spaces. Runs are read by `as2core.data.runs`.

White space and "%" inside an id are written as %20, %25 and so on, to keep columns apart, and read back. Qrels hold
no texts: the questions read from them have ids and labels only, and unlabelled candidates are not written. They are
also read as other programs write them: a table with PyTerrier's or BEIR's columns, and JSON of ranx.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote

import numpy as np

from as2core.data import ranx_json
from as2core.data.beir import COLUMNS as BEIR_COLUMNS
from as2core.data.source import (
    Report,
    Row,
    group_rows,
    iterate_labels,
    parse_each,
    read_header,
    stream_fields,
    stream_rows,
)
from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.sources.content import Source
from as2core.sources.spreadsheet import DELIMITERS, find_header, restore_formula, split_header
from as2core.types import Question

TABLE_COLUMNS = ("qid", "docno", "label", "iteration")  # of PyTerrier's frames
_ESCAPES = {quote(c): c for c in map(chr, range(0x3001)) if c == "%" or c.isspace()}  # no white space comes later
_ESCAPED = re.compile("|".join(_ESCAPES))


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions without texts, in the order of their first line. A relevance above 0 is correct, 0 or less is not,
    unless the report's `min_correct` differs. Raises UnreadableFile for JSON that is no such object."""
    header = read_header(source)
    if header.lstrip().startswith("{") and not _is_trec_line(header):
        rows = _stream_json(source, report)
    elif columns := _find_columns(header):
        rows = _stream_table(source, report, *columns)
    else:
        rows = stream_fields(source, report, ("qid", "0", "docid", "rel"), partial(_parse, report), split=str.split)
    return group_rows(rows, report)


def _parse(report: Report, fields: Sequence[str]) -> Row:
    return unescape_id(fields[0]), "", report.rate(unescape_id(fields[2]), fields[3])


def _stream_json(source: Source, report: Report) -> Iterator[tuple[int, Row]]:
    labels = [(qid, docid, str(n)) for qid, row in ranx_json.read(source, "label").items() for docid, n in row.items()]
    report.lines = len(labels)
    yield from parse_each(enumerate(labels, 1), lambda row: (row[0], "", report.rate(*row[1:])), report, unit="label")


def _stream_table(source: Source, report: Report, delimiter: str, names: Sequence[str]) -> Iterator[tuple[int, Row]]:
    places = [names.index(name) for name in (BEIR_COLUMNS if "score" in names else TABLE_COLUMNS)[:3]]

    def parse(row: Sequence[str]) -> Row:
        if len(row) != len(names):
            raise ValueError(f"{len(row)} fields instead of {len(names)}")
        qid, docid, label = (restore_formula(row[place]) for place in places)
        if not qid or not docid:
            raise ValueError(f"the {'candidate' if qid else 'question'} has no id")
        return qid, "", report.rate(docid, label)

    rows = stream_rows(source, report, delimiter)
    next(rows, None)  # the header
    yield from parse_each(rows, parse, report)


def is_table(start: str) -> bool:
    """Whether a file that begins so is a table of qrels, as PyTerrier's and BEIR's. One of BEIR's columns may be a run,
    which has scores with a decimal point."""
    header = find_header(start)
    columns = _find_columns(header)
    if columns is None or "score" not in columns[1]:
        return columns is not None
    first = start.partition(header)[2].split("\n")[1:2]
    return not first or first[0].strip().strip('"').rpartition(columns[0])[2].strip('"').isdecimal()


def _find_columns(header: str) -> tuple[str, list[str]] | None:
    """What divides the columns of such a table, and their names; None for another first line."""
    for delimiter in DELIMITERS:
        names = [name.lower() for name in split_header(header.removeprefix("\ufeff"), delimiter)]
        if names == [*BEIR_COLUMNS] or (
            len(names) == len(set(names)) and {*TABLE_COLUMNS[:3]} <= set(names) <= {*TABLE_COLUMNS}
        ):
            return delimiter, names
    return None


def is_line(line: str) -> bool:
    """Whether it can be a line of qrels."""
    columns = line.split()
    return len(columns) == 4 and columns[3].lstrip("+-").isdecimal()


def _is_trec_line(line: str) -> bool:
    """Whether it is one as qrels are written, of a question whose id may begin like JSON."""
    return is_line(line) and line.split()[1] == "0"


def is_nearly_line(line: str) -> bool:
    """Whether it looks like a line of qrels that is none: a column is missing or too many, or the label is no whole
    number."""
    columns = line.split()
    return 3 <= len(columns) <= 5 and columns[1] in ("0", "Q0") and not is_line(line)


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
    """Whether a run cannot hold these scores (n,) as they are: as 32-bit numbers some are equal, or not finite."""
    exact = np.asarray(scores, dtype=np.float32)
    return len(np.unique(exact)) < len(exact) or not bool(np.isfinite(exact).all())


def escape_id(name: str) -> str:
    """An id as it stands in a column. Raises BadSetting for an empty one."""
    if not name:
        raise BadSetting("an id is empty: qrels and run files need one for each question and candidate")
    return re.sub(r"[%\s]", lambda m: quote(m[0]), name)


def unescape_id(name: str) -> str:
    """An id as it was before it was written into a column."""
    return _ESCAPED.sub(lambda m: _ESCAPES[m[0]], name)
