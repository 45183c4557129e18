"""What became of an imported file, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.services.label_views import ImportLine

OUTCOMES = ("same", "new", "conflicting", "malformed")  # from the best to the worst
Place = tuple[int, str]  # the line, and the file it is in where there are several, else ""
Lines = Mapping[tuple[str, str], Place]


def by_line(
    lines: Lines, taken: Iterable[tuple[str, str, str]], malformed: Sequence[tuple[int, str]]
) -> tuple[ImportLine, ...]:
    """`taken`: (question id, candidate id, outcome) of every label that could be read. A line with several labels has
    the worst outcome of them, and says which sentences it is about."""
    found: dict[Place, list[tuple[str, str]]] = {}
    for qid, candidate, outcome in taken:
        found.setdefault(_place_of(lines, qid, candidate), []).append((outcome, f"{qid} {candidate}"))
    rows = [ImportLine(line, "malformed", reason) for line, reason in malformed]
    for place, labels in found.items():
        worst = max((outcome for outcome, _ in labels), key=OUTCOMES.index)
        line, what = _told(place, ", ".join(what for outcome, what in labels if outcome == worst))
        rows.append(ImportLine(line, worst, what))
    return tuple(sorted(rows, key=lambda r: r.line))


def told_at(lines: Lines, qid: str, candidate: str, reason: str) -> tuple[int, str]:
    """A reason with the line of the label it is about."""
    return _told(_place_of(lines, qid, candidate), reason)


def _place_of(lines: Lines, qid: str, candidate: str) -> Place:
    """Where a label stands: its own line, else its question's, else 0."""
    return lines.get((qid, candidate), lines.get((qid, ""), (0, "")))


def _told(place: Place, what: str) -> tuple[int, str]:
    line, file = place
    return line, f"of {file}: {what}" if file else what


def kind_of_pairs(content: bytes) -> str | None:
    """Whether it is "pairs" or "triplets" by the first line, None if it is neither."""
    from as2core.data.pairs import PAIR, TRIPLET

    first = content.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    found = _object(first.decode("utf-8", "replace")).keys() if first.startswith(b"{") else set()
    return next((kind for kind, names in (("pairs", PAIR), ("triplets", TRIPLET)) if found >= set(names)), None)


def beir_lines(folder: str) -> dict[tuple[str, str], Place]:
    """As `line_numbers`, of the qrels in an unpacked BEIR folder."""
    from as2core.data import beir

    found: dict[tuple[str, str], Place] = {}
    files = beir.qrels_of(folder)
    for file in files:
        for number, qid, docid in beir.places(file):
            place = (number, file.name if len(files) > 1 else "")
            found.setdefault((qid, ""), place)
            found.setdefault((qid, docid), place)
    return found


def line_numbers(content: bytes, fmt: str) -> dict[tuple[str, str], Place]:
    """(question id, candidate id) -> the line it stands in, and (question id, "") -> the question's first; empty for
    formats that have no lines."""
    from as2core.data import pairs
    from as2core.data.csv_ratings import qid_of
    from as2core.data.qrels import unescape
    from as2core.data.source import Report, stream_lines, stream_rows

    found: dict[tuple[str, str], Place] = {}

    def at(number: int, qid: str, candidate: str = "") -> None:
        found.setdefault((qid, ""), (number, ""))
        found.setdefault((qid, candidate), (number, ""))

    if fmt == "csv":
        for number, row in stream_rows(content, Report(content)):
            if len(row) == 3:
                at(number, qid_of(row[0]), row[1])
    elif fmt in ("pairs", "triplets"):
        judged = pairs.judged_pairs if fmt == "pairs" else pairs.judged_triplets
        for number, question, candidate, _, _ in judged(content, Report(content)):
            at(number, qid_of(question), candidate)
    elif fmt in ("jsonl", "qrels", "wikiqa"):
        for number, line in stream_lines(content, Report(content)):  # problems are told with the labels
            if fmt == "jsonl":
                at(number, str(_object(line).get("qid")))
                continue
            fields = line.split("\t") if fmt == "wikiqa" else line.split()
            if fmt == "wikiqa" and len(fields) > 4:
                at(number, fields[0], fields[4])
            elif fmt == "qrels" and len(fields) == 4:
                at(number, unescape(fields[0]), unescape(fields[2]))
    return found


def _object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
