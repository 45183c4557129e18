"""A case of Quepid as JSON (https://quepid-docs.dev.o19s.com): queries with the ratings of documents, by id.

{"queries": [{"query": ..., "ratings": {docid: rating}}]} are the ratings alone. A whole case says `query_text` for
`query`, and in some releases its ratings are a list of {"doc_id", "rating"}. Texts are not in it. Who rated is not
read: a case has one rating for a document. The CSVs of Quepid are in `as2core.data.label_files.csv_ratings`.
"""

from collections.abc import Iterator
from functools import partial

from as2core.data.source import Report, Row, digest_id, group_rows, parse_each, read_json
from as2core.sources.content import Source
from as2core.types import Question

UNRATED = "a query without a rating"

Rating = tuple[str, str, str]  # query, docid, rating


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of the file; a problem's number is that of the rating. Raises UnreadableFile."""
    ratings = read_json(source, lambda case: [*_list_ratings(case["queries"], report)], "a case of Quepid", report)
    rows = parse_each(enumerate(ratings, 1), partial(_parse, report), report, unit="rating")
    yield from group_rows(rows, report)


def _list_ratings(queries: list[dict], report: Report) -> Iterator[Rating]:
    for query in queries:
        text = str(query.get("query") or query.get("query_text") or "").strip()
        ratings = query.get("ratings") or {}
        if isinstance(ratings, list):
            ratings = {rating["doc_id"]: rating["rating"] for rating in ratings}
        pairs = [(str(docid), str(rating)) for docid, rating in ratings.items() if rating is not None]
        if not pairs:
            report.omissions[UNRATED] += 1
        yield from ((text, docid, rating) for docid, rating in pairs)


def _parse(report: Report, rating: Rating) -> Row:
    query, docid, value = rating
    if not query or not docid:
        raise ValueError("the query or the id of the document is empty")
    return digest_id("q", query), query, report.rate(docid, value)
