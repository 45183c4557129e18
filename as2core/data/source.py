"""What every reader shares: where bytes come from, how a malformed line is told, and how files are written.

A reader is a generator `stream(source, report)`: it takes a path (gzip is unpacked) or the bytes themselves, yields
questions, and notes in the `Report` what it read, with a `Problem` for each line it could not. `read` is the same as a
list. With `strict=True` the first problem is raised instead.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2s, file_digest
from pathlib import Path
from typing import IO

from as2core.errors import UnreadableFile
from as2core.types import Question

Source = str | Path | bytes


class Problem(str):
    """A malformed line: reads as "line 3: what is wrong"; the number and the reason stand apart as well."""

    line: int
    reason: str

    def __new__(cls, line: int, reason: str, unit: str = "line") -> Problem:
        made = super().__new__(cls, f"{unit} {line}: {reason}")
        made.line, made.reason = line, reason
        return made


class Report(list[Problem]):
    """The problems, and what was read: lines (blank ones too), questions, candidates, and what was left out and why.

    `add` raises UnreadableFile when `strict`, and after MOST problems: such a file is of another kind.
    """

    MOST = 10_000

    def __init__(self, source: Source, *, strict: bool = False) -> None:
        super().__init__()
        self.name, self.strict = name_of(source), strict
        self.lines = self.questions = self.candidates = 0
        self.left_out: Counter[str] = Counter()

    def add(self, line: int, reason: str, unit: str = "line") -> None:
        self.append(Problem(line, reason, unit))
        if self.strict:
            raise UnreadableFile(f"{self.name}: {self[-1]}")
        if len(self) > self.MOST:
            raise UnreadableFile(f"{self.name}: more than {self.MOST:,} problems, the first: {self[0]}")

    def took(self, question: Question) -> Question:
        """The question, counted."""
        self.questions += 1
        self.candidates += len(question.candidates)
        return question


# raised by a wrong JSON record
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def reason_of(error: Exception) -> str:
    """One of MALFORMED in words."""
    if isinstance(error, RecursionError):
        return "brackets within brackets, too many to read"
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"


def given(record: dict, key: str) -> str:
    """What the record has there, as text. Raises KeyError where it is absent or null."""
    if record[key] is None:
        raise KeyError(key)
    return str(record[key])


Stream = Callable[[Source, Report], Iterator[Question]]


def collect(stream: Stream, source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """All that a stream yields, and its report."""
    report = Report(source, strict=strict)
    return list(stream(source, report)), report


class Seen:
    """Which texts came before, eight bytes for each; `first` is true the first time."""

    def __init__(self) -> None:
        self._digests = array("Q")

    def first(self, text: str) -> bool:
        digest = int.from_bytes(blake2s(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        place = bisect_left(self._digests, digest)
        if place < len(self._digests) and self._digests[place] == digest:
            return False
        self._digests.insert(place, digest)
        return True


# A relevance, of as many digits as a database of whole numbers holds for certain.
RELEVANCE = re.compile(r"[+-]?\d{1,9}")


def by_relevance(value: int) -> dict[str, int | None]:
    """A candidate's `label` and `grade`, from a number of which all above 0 are correct."""
    return {"label": int(value > 0), "grade": None if value in (0, 1) else value}


def name_of(source: Source) -> str:
    """How a message calls the source."""
    return "the data given" if isinstance(source, bytes) else Path(source).name


def read_bytes(source: Source) -> bytes:
    """The content, unpacked when it is gzip. Raises UnreadableFile."""
    with _told(source), _opened(source) as file:
        return file.read()


def read_text(source: Source) -> str:
    """The content as UTF-8 text without a byte-order mark, line ends as they are. Raises UnreadableFile."""
    try:
        return read_bytes(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name_of(source)}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def numbered_lines(source: Source) -> list[tuple[int, str]]:
    """`(number, line)` of the lines that are not blank, numbered from 1, without their line ends."""
    lines = read_text(source).split("\n")
    return [(n, line.removesuffix("\r")) for n, line in enumerate(lines, 1) if line.strip()]


def stream_lines(source: Source, report: Report) -> Iterator[tuple[int, str]]:
    """The same, one line in memory at a time; a line that is not UTF-8 is a problem. Raises UnreadableFile."""
    with _told(source), _opened(source) as file:
        for number, raw in enumerate(file, 1):
            report.lines += 1
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                report.add(number, f"not UTF-8 text (byte {error.start} of the line); save the file as UTF-8")
                continue
            if line.strip():
                yield number, line.removesuffix("\n").removesuffix("\r")


_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as "surrogateescape" has them


def stream_rows(source: Source, report: Report, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """`(number of its first line, fields)` of a CSV's rows but for blank ones; one that is not UTF-8, or no CSV, is a
    problem. Raises UnreadableFile."""
    with _told(source), _opened(source) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(text, delimiter=delimiter)
        row: list[str] | None = []
        while row is not None:
            before = rows.line_num
            try:
                row = next(rows, None)
            except csv.Error as error:
                report.add(before + 1, str(error))
                continue
            finally:
                report.lines += rows.line_num - before
            if row and _ESCAPED.search("".join(row)):
                report.add(before + 1, "not UTF-8 text; save the file as UTF-8")
            elif row and (len(row) > 1 or row[0].strip()):
                yield before + 1, row


def rows_text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """The rows as a CSV that `stream_rows` reads back, fields quoted where they have to be."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    quoting = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    for row in rows:  # the csv module leaves a lone carriage return unquoted
        (quoting if any("\r" in str(field) for field in row) else writer).writerow(row)
    return out.getvalue()


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked
        else:
            yield file


def head(source: Source, size: int = 1 << 16) -> bytes:
    """The first bytes of the content, unpacked. Raises UnreadableFile."""
    with _told(source), _opened(source) as file:
        return file.read(size)


def sha256(path: Path) -> str:
    """Of the file as it lies there, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


@contextmanager
def _told(source: Source) -> Iterator[None]:
    """What goes wrong in reading, by the source's name."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{name_of(source)}: cannot be read ({reason})") from error


def write_text(text: str, path: str | Path) -> None:
    """Write UTF-8, the same bytes on every system."""
    with writing(path) as write:
        write(text)


@contextmanager
def writing(path: str | Path) -> Iterator[Callable[[str], object]]:
    """Gives a function that writes text. The file appears, whole, when the block ends well; ".gz" is packed. A pipe or
    a device, such as /dev/null, is written into and stays what it is."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    is_file = path.is_file() or not path.exists()
    part = path.with_name(f".{path.name}.{os.getpid()}.part") if is_file else path
    try:
        with part.open("wb") as raw:
            if path.suffix == ".gz":  # no time of packing, no name: the same content gives the same bytes
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield lambda text: packed.write(text.encode("utf-8"))
            else:
                yield lambda text: raw.write(text.encode("utf-8"))
        if is_file:
            part.replace(path)
    finally:
        if is_file:
            part.unlink(missing_ok=True)
