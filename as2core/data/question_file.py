"""Questions that stay in their file: one pass checks it and finds where each begins. A question is read from there when
it is looked at, and a candidate is parsed when it is: of the 350 that ASNQ has for a question, a batch takes a few.
JSONL and ASNQ's TSV can be read so, where a question stands in one piece.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, overload

import numpy as np

from as2core.data import asnq, jsonl
from as2core.data.lazy_questions import LazyQuestions
from as2core.data.source import Report, Stream
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question


class LazyCandidates(Sequence[Candidate]):
    """What a tuple of so many candidates is, but for the time at which candidate i is parsed."""

    def __init__(self, parse: Callable[[int], Candidate], count: int) -> None:
        self._parse, self._count = parse, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, index: int | slice) -> Candidate | tuple[Candidate, ...]:
        positions = range(self._count)[index]
        return self._parse(positions) if isinstance(positions, int) else tuple(map(self._parse, positions))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, LazyCandidates) else other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def open_lazily(path: Path, kind: str, report: Report) -> LazyQuestions:
    """The questions of an unpacked file of a format in LAZY_FORMATS, after a pass that fills the report. Raises
    UnreadableFile, also later, when the file was changed in the meantime."""
    stream, parse = LAZY_FORMATS[kind]
    starts, counts = array("q"), array("i")
    before = _stamp(path)
    for question in report.count_questions(stream(path, report)):
        starts.append(report.question_offset)
        counts.append(len(question.candidates))
    ends = starts[1:]
    ends.append(before[0])

    def read(index: int) -> Question:
        if _stamp(path) != before:
            raise UnreadableFile(f"{path}: changed while it was read: start again")
        with path.open("rb") as file:
            file.seek(starts[index])
            # behind the question there may be lines that the pass reported
            return parse(file.read(ends[index] - starts[index]), counts[index])

    return LazyQuestions(read, np.arange(len(starts)))


def _parse_jsonl(piece: bytes, count: int) -> Question:
    record = json.loads(piece.partition(b"\n")[0].decode("utf-8-sig"))
    records = record["candidates"]
    candidates = LazyCandidates(lambda i: jsonl.parse_candidate(records[i], i), count)
    return _with_candidates(jsonl.from_record({**record, "candidates": []}), candidates)


def _parse_asnq(piece: bytes, count: int) -> Question:
    lines = piece.decode("utf-8-sig", "replace").rstrip().split("\n")
    if len(lines) != count:  # some are no rows of it
        return next(asnq.stream(piece, Report(piece)))
    question = next(asnq.stream(lines[0].encode(), Report(piece)))

    def parse(i: int) -> Candidate:
        return asnq.make_candidate(question.qid, i, asnq.parse_row(lines[i].rstrip("\r").split("\t")))

    return _with_candidates(question, LazyCandidates(parse, count))


def _with_candidates(question: Question, candidates: LazyCandidates) -> Question:
    return replace(question, candidates=cast(tuple[Candidate, ...], candidates))


LAZY_FORMATS: dict[str, tuple[Stream, Callable[[bytes, int], Question]]] = {
    "jsonl": (jsonl.stream, _parse_jsonl),
    "asnq": (asnq.stream, _parse_asnq),
}


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of a file."""
    try:
        status = path.stat()
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read ({error.strerror})") from error
    return status.st_size, status.st_mtime_ns
