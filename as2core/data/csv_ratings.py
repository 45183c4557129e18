"""Ratings as search teams keep them: a CSV `query,docid,rating`.

Texts are not in it, only the query's; a question's id is a digest of its text, so the same query always has the same
id. Candidates nobody judged are not written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2s
from pathlib import Path

from as2core.data.source import (
    RELEVANCE,
    Report,
    Source,
    by_relevance,
    collect,
    name_of,
    rows_text,
    stream_rows,
    write_text,
)
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

COLUMNS = ["query", "docid", "rating"]


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions whose candidates have ids and labels, but no texts. A rating above 0 is correct."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same, in the order of their first row. Raises UnreadableFile."""
    rows = stream_rows(source, report)
    _, header = next(rows, (0, []))
    if [column.strip().lower() for column in header] != COLUMNS:
        wrong = report[0] if report else f"the first line must be {','.join(COLUMNS)}, not {','.join(header)}"
        raise UnreadableFile(f"{name_of(source)}: {wrong}")
    found: dict[str, dict[str, Candidate]] = {}
    for number, row in rows:
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
    judged = ([q.text, c.id, c.relevance] for q in questions for c in q.candidates if c.label is not None)
    return rows_text([COLUMNS, *judged])
