"""A case of Quepid as JSON (https://quepid-docs.dev.o19s.com): queries with the ratings of documents, by id.

{"queries": [{"query": ..., "ratings": {docid: rating}}]} are the ratings alone. A whole case says `query_text` for
`query`, and in some releases its ratings are a list of {"doc_id", "rating"}. Texts are not in it. Who rated is not
read: a case has one rating for a document. The CSVs of Quepid are in `as2core.data.csv_ratings`.
"""

from collections.abc import Iterable, Iterator

from as2core.data.source import Report, Row, Source, digest_id, group_rows, parse_each, read_json
from as2core.types import Question

UNRATED = "a query without a rating"


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of the file; a problem's number is the query's. Raises UnreadableFile."""
    queries = read_json(source, lambda case: list(case["queries"]), "a case of Quepid", report)
    numbered = parse_each(enumerate(queries, 1), lambda query: _parse(query, report), report, unit="record")
    yield from group_rows(_flatten(numbered), report)


def _flatten(queries: Iterable[tuple[int, list[Row]]]) -> Iterator[tuple[int, Row]]:
    return ((number, row) for number, rows in queries for row in rows)


def _parse(query: dict, report: Report) -> list[Row]:
    text = str(query.get("query") or query.get("query_text") or "").strip()
    if not text:
        raise ValueError("the query is empty")
    ratings = query.get("ratings") or {}
    if isinstance(ratings, list):
        ratings = {rating["doc_id"]: rating["rating"] for rating in ratings}
    if not ratings:
        report.omissions[UNRATED] += 1
    rated = ((str(docid), rating) for docid, rating in ratings.items() if rating is not None)
    return [(digest_id("q", text), text, report.rate(docid, str(rating))) for docid, rating in rated]
