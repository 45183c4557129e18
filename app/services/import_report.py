"""What became of an imported file, line by line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.services.label_views import ImportLine

OUTCOMES = ("same", "new", "conflicting", "malformed")  # from the best to the worst
Lines = Mapping[tuple[str, str], int]


def by_line(
    lines: Lines, taken: Iterable[tuple[str, str, str]], malformed: Sequence[tuple[int, str]]
) -> tuple[ImportLine, ...]:
    """`taken`: (question id, candidate id, outcome) of every label that could be read. A line with several labels has
    the worst outcome of them, and says which sentences it is about."""
    found: dict[int, list[tuple[str, str]]] = {}
    for qid, candidate, outcome in taken:
        found.setdefault(line_of(lines, qid, candidate), []).append((outcome, f"{qid} {candidate}"))
    rows = [ImportLine(line, "malformed", reason) for line, reason in malformed]
    for line, labels in found.items():
        worst = max((outcome for outcome, _ in labels), key=OUTCOMES.index)
        rows.append(ImportLine(line, worst, ", ".join(what for outcome, what in labels if outcome == worst)))
    return tuple(sorted(rows, key=lambda r: r.line))


def line_of(lines: Lines, qid: str, candidate: str) -> int:
    """Where a label stands: its own line, else its question's, else 0."""
    return lines.get((qid, candidate), lines.get((qid, ""), 0))


def kind_of_pairs(content: bytes) -> str | None:
    """Whether it is "pairs" or "triplets" by the first line, None if it is neither."""
    from as2core.data.pairs import PAIR, TRIPLET

    first = content.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    found = _object(first.decode("utf-8", "replace")).keys() if first.startswith(b"{") else set()
    return next((kind for kind, names in (("pairs", PAIR), ("triplets", TRIPLET)) if found >= set(names)), None)


def line_numbers(content: bytes, fmt: str) -> dict[tuple[str, str], int]:
    """(question id, candidate id) -> the line it stands in, and (question id, "") -> the question's first; empty for
    formats that have no lines."""
    from as2core.data import pairs
    from as2core.data.csv_ratings import qid_of
    from as2core.data.source import Report, numbered_lines

    found: dict[tuple[str, str], int] = {}

    def at(number: int, qid: str, candidate: str = "") -> None:
        found.setdefault((qid, ""), number)
        found.setdefault((qid, candidate), number)

    if fmt == "csv":
        rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        for row in rows:
            if len(row) == 3:
                at(rows.line_num, qid_of(row[0]), row[1])
    elif fmt in ("pairs", "triplets"):
        judged = pairs.judged_pairs if fmt == "pairs" else pairs.judged_triplets
        for number, question, candidate, _, _ in judged(content, Report(content)):
            at(number, qid_of(question), candidate)
    elif fmt in ("jsonl", "qrels", "wikiqa"):
        for number, line in numbered_lines(content):
            if fmt == "jsonl":
                at(number, str(_object(line).get("qid")))
                continue
            fields = line.split("\t") if fmt == "wikiqa" else line.split()
            if fmt == "wikiqa" and len(fields) > 4:
                at(number, fields[0], fields[4])
            elif fmt == "qrels" and len(fields) == 4:
                at(number, fields[0], fields[2])
    return found


def _object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
