"""trec_eval's two files: qrels (`qid 0 docid rel`) and, as written here, runs (`qid Q0 docid rank score tag`), columns
divided by spaces. Runs are read by `as2core.data.runs`.

White space and "%" inside an id are written as %20, %25 and so on, to keep columns apart, and read back. Qrels hold
no texts: the questions read from them have ids and labels only, and unlabelled candidates are not written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

import numpy as np

from as2core.data.source import Report, Row, Source, group_rows, iterate_labels, stream_fields
from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.types import Question

BEIR_COLUMNS = ["query-id", "corpus-id", "score"]
TABLE_COLUMNS = ("qid", "docno", "label", "iteration")  # of PyTerrier's frames
_ESCAPES = {quote(c): c for c in map(chr, range(0x3001)) if c == "%" or c.isspace()}  # no white space comes later
_ESCAPED = re.compile("|".join(_ESCAPES))


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions without texts, in the order of their first line. A relevance above 0 is correct, 0 or less is not,
    unless the report's `min_correct` differs."""

    def parse(fields: list[str]) -> Row:
        return unescape_id(fields[0]), "", report.rate(unescape_id(fields[2]), fields[3])

    return group_rows(stream_fields(source, report, ("qid", "0", "docid", "rel"), parse, split=str.split), report)


def is_table(header: str) -> bool:
    """Whether the first line names the columns of a table of qrels, as PyTerrier's and BEIR's, and no others."""
    names = [name.strip().strip('"').lower() for name in re.split("[,;\t]", header)]
    return names == BEIR_COLUMNS or (
        len(names) == len(set(names)) and {"qid", "docno", "label"} <= set(names) <= {*TABLE_COLUMNS}
    )


def is_line(line: str) -> bool:
    """Whether it can be a line of qrels."""
    columns = line.split()
    return len(columns) == 4 and columns[3].lstrip("+-").isdecimal()


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
