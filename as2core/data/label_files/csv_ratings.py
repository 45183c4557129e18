"""Ratings as search teams keep them: a CSV `query,docid,rating`, and the CSVs of Quepid.

Texts are not in it, only the query's; a question's id is a digest of its text, so the same query always has the same
id. Unlabelled candidates are not written. What a spreadsheet would take for a formula has an apostrophe in front, which
reading takes away again (`as2core.sources.spreadsheet`).

Quepid (https://quepid-docs.dev.o19s.com) exports a case with these three columns, or with more as `Query Text`, `Doc
ID`, `Title`, `Rating`; a query that has no rating stands alone in its row. It exports a book of judgements with a
column for each judge instead of the rating: those are the judges' labels, by name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from as2core.data import source
from as2core.data.label_files.rows import count_votes, sign_label
from as2core.data.source import Report, Row
from as2core.errors import UnreadableFile
from as2core.sources.content import Source
from as2core.sources.spreadsheet import DELIMITERS, defuse_formula, restore_formula, split_header
from as2core.types import Candidate, Question

COLUMNS = ["query", "docid", "rating"]
NAMES = {"query": ("query", "query text"), "docid": ("docid", "doc id", "doc_id"), "rating": ("rating",)}
# columns that are nobody's
NO_JUDGES = {"score", "rank", "position", "grade", "label", "relevance", "title", "text", "id", "qid", "clicks"}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each column of a file is. `judges`: the name of each who has a column; then there is no rating."""

    count: int
    places: Mapping[str, int]
    judges: Mapping[str, int]


def find_columns(header: Sequence[str]) -> Columns | None:
    """None where one that is needed is missing."""
    names = [name.strip().lower() for name in header]
    places = {c: names.index(name) for c in COLUMNS for name in NAMES[c] if name in names}
    if all(c in places for c in COLUMNS):
        return Columns(len(header), places, {})
    judges = {restore_formula(name).strip(): i for i, name in enumerate(header) if i > 1 and name.strip()}
    is_book = names[:2] == COLUMNS[:2] and judges and NO_JUDGES.isdisjoint(names)
    return Columns(len(header), places, judges) if is_book else None


def find_delimiter(header: str) -> str | None:
    """What divides the columns of this first line; None if one that is needed is missing."""
    lines = ((delimiter, split_header(header, delimiter)) for delimiter in DELIMITERS)
    return next((delimiter for delimiter, names in lines if find_columns(names)), None)


def describe_header(line: str) -> str:
    """What is wrong with the first line of a table that names neither these columns nor those of labels."""
    delimiter = max(DELIMITERS, key=line.count)
    names = [name or "(empty)" for name in split_header(line.removeprefix("\ufeff"), delimiter)]
    return f"the first line must be {','.join(COLUMNS)} or question,sentence,label, not {delimiter.join(names)}"


def stream(file: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of their first row, without the candidates' texts. A rating above 0 is correct, unless the
    report's `min_correct` differs; an empty one is none: search teams list what a query found before all of it is
    rated."""
    rows = source.stream_rows(file, report, find_delimiter(source.read_header(file)) or DELIMITERS[0])
    _, header = next(rows, (0, []))
    columns = find_columns(header)
    if columns is None:
        wrong = report[0] if report else describe_header(source.read_header(file))
        raise UnreadableFile(f"{report.name}: {wrong}")
    documents = _drop_lone_queries(rows, columns, report)
    yield from source.group_rows(source.parse_each(documents, partial(_parse, report, columns), report), report)


def _drop_lone_queries(
    rows: Iterable[tuple[int, list[str]]], columns: Columns, report: Report
) -> Iterator[tuple[int, list[str]]]:
    needed = {i for c, i in columns.places.items() if c != "query"} | {*columns.judges.values()}
    for number, row in rows:
        others = [cell for i in needed for cell in row[i : i + 1]]
        if len(row) in (1, columns.count) and not any(cell.strip() for cell in others):
            report.omissions["a query without a document"] += 1
        else:
            yield number, row


def _parse(report: Report, columns: Columns, row: list[str]) -> Row:
    if len(row) != columns.count:
        raise ValueError(f"{len(row)} fields instead of {columns.count}")
    query, docid = (restore_formula(row[columns.places[c]]) for c in COLUMNS[:2])
    if not query.strip() or not docid:
        raise ValueError("query or docid is empty")
    if columns.judges:
        candidate = _join_judges(report, docid, {name: row[i] for name, i in columns.judges.items()})
    else:
        rating = row[columns.places["rating"]]
        candidate = report.rate(docid, rating) if rating.strip() else Candidate(docid, "")
    return source.digest_id("q", query), query, candidate


def _join_judges(report: Report, docid: str, ratings: Mapping[str, str]) -> Candidate:
    candidates = [sign_label(report.rate(docid, r), name, r) for name, r in ratings.items() if r.strip()]
    annotations = tuple(sorted(pair for c in candidates for pair in c.annotations))
    return replace(Candidate(docid, ""), label=count_votes(label for _, label in annotations), annotations=annotations)


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """The header, and a row for each labelled candidate."""
    yield source.format_rows([COLUMNS])
    for q, c in source.iterate_labels(questions):
        yield source.format_rows([[defuse_formula(q.text), defuse_formula(c.id), c.relevance]])
