"""A question and one of its sentences: what is labelled, flagged, doubted and leased."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Row, and_

Pair: TypeAlias = tuple[int, int]  # question id, sentence id
Table: TypeAlias = Any  # a mapped class, an alias of one, or the columns of a view


def read_pair(row: Any) -> Pair:
    """Of a row, an event or a lease."""
    return row.question_id, row.sentence_id


def group_by_pair(rows: Iterable[Row]) -> dict[Pair, list[Row]]:
    """Each pair's rows, in their order."""
    by_pair: dict[Pair, list[Row]] = {}
    for row in rows:
        by_pair.setdefault(read_pair(row), []).append(row)
    return by_pair


def is_on(table: Table, pair: Pair) -> ColumnElement[bool]:
    return and_(table.question_id == pair[0], table.sentence_id == pair[1])


def is_same_pair(one: Table, other: Table) -> ColumnElement[bool]:
    return and_(one.question_id == other.question_id, one.sentence_id == other.sentence_id)
