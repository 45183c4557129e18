"""Ratings as search teams keep them: a CSV `query,docid,rating`.

Texts are not in it, only the query's; a question's id is a digest of its text, so the same query always has the same
id. Unlabelled candidates are not written. What a spreadsheet would take for a formula has an apostrophe in front, which
reading takes away again (`as2core.data.spreadsheet`).
"""

from collections.abc import Iterable, Iterator

from as2core.data import source
from as2core.data.source import Report, Row, Source
from as2core.data.spreadsheet import defuse_formula, restore_formula
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

COLUMNS = ["query", "docid", "rating"]


def stream(file: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of their first row, without the candidates' texts. A rating above 0 is correct, an empty
    one is none: search teams list what a query found before all of it is rated."""
    rows = source.stream_rows(file, report)
    _, header = next(rows, (0, []))
    if [column.strip().lower() for column in header] != COLUMNS:
        forms = f"{','.join(COLUMNS)} or question,sentence,label"
        wrong = report[0] if report else f"the first line must be {forms}, not {','.join(header)}"
        raise UnreadableFile(f"{report.name}: {wrong}")
    yield from source.group_rows(source.parse_each(rows, _parse, report), report)


def _parse(row: list[str]) -> Row:
    if len(row) != len(COLUMNS):
        raise ValueError(f"{len(row)} fields instead of 3")
    query, docid, rating = restore_formula(row[0]), restore_formula(row[1]), row[2]
    if not query.strip() or not docid:
        raise ValueError("query or docid is empty")
    candidate = source.rated_candidate(docid, rating) if rating.strip() else Candidate(docid, "")
    return source.digest_id("q", query), query, candidate


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """The header, and a row for each labelled candidate."""
    yield source.format_rows([COLUMNS])
    for q, c in source.iterate_labels(questions):
        yield source.format_rows([[defuse_formula(q.text), defuse_formula(c.id), c.relevance]])
