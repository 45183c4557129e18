"""Ratings as search teams keep them: a CSV `query,docid,rating`.

Texts are not in it, only the query's; a question's id is a digest of its text, so the same query always has the same
id. Candidates nobody judged are not written.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from hashlib import blake2s
from pathlib import Path

from as2core.data.source import RELEVANCE, Report, Source, by_relevance, collect, name_of, read_text, write_text
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

COLUMNS = ["query", "docid", "rating"]


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions whose candidates have ids and labels, but no texts. A rating above 0 is correct."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same, in the order of their first row. Raises UnreadableFile."""
    rows = csv.reader(io.StringIO(read_text(source), newline=""))
    header = next(rows, [])
    if [column.strip().lower() for column in header] != COLUMNS:
        raise UnreadableFile(f"{name_of(source)}: the first line must be {','.join(COLUMNS)}, not {','.join(header)}")
    found: dict[str, dict[str, Candidate]] = {}
    row = header
    while row is not None:
        number, report.lines = rows.line_num + 1, rows.line_num
        try:
            row = next(rows, None)
        except csv.Error as error:
            report.add(number, str(error))
            continue
        if not row:
            continue
        if len(row) != 3 or not row[0].strip() or not row[1]:
            report.add(number, f"{len(row)} fields instead of 3" if len(row) != 3 else "query or docid is empty")
        elif not RELEVANCE.fullmatch(row[2].strip()):
            report.add(number, f"rating {row[2]!r} is not a whole number of at most nine digits")
        elif row[1] in found.setdefault(row[0], {}):
            report.add(number, f"document {row[1]!r} stands twice for query {row[0]!r}")
        else:
            found[row[0]][row[1]] = Candidate(row[1], "", **by_relevance(int(row[2])))
    for query, candidates in found.items():
        yield report.took(Question(qid_of(query), query, tuple(candidates.values())))


def qid_of(query: str) -> str:
    """The id of a question known by its text only."""
    return "q-" + blake2s(query.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def write(questions: Iterable[Question], path: str | Path) -> None:
    """The judged candidates, one a row."""
    write_text(dumps(questions), path)


def dumps(questions: Iterable[Question]) -> str:
    """What `write` writes."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    quoting = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for q in questions:
        for c in q.candidates:
            if c.label is not None:  # the csv module leaves a lone carriage return unquoted
                (quoting if "\r" in q.text + c.id else writer).writerow([q.text, c.id, c.relevance])
    return out.getvalue()
