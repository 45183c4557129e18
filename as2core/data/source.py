"""What every reader shares: where bytes come from, and how a malformed line is told.

A reader takes a path (".gz" is unpacked) or the bytes themselves, and gives what it could read together with a
`Problem` for each line it could not. With `strict=True` the first problem is raised instead.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from as2core.errors import UnreadableFile

Source = str | Path | bytes


class Problem(str):
    """A malformed line: reads as "line 3: what is wrong"; the number and the reason stand apart as well."""

    line: int
    reason: str

    def __new__(cls, line: int, reason: str, unit: str = "line") -> Problem:
        made = super().__new__(cls, f"{unit} {line}: {reason}")
        made.line, made.reason = line, reason
        return made


class Problems(list[Problem]):
    """Collects problems, or raises the first when `strict`."""

    def __init__(self, source: Source, *, strict: bool = False) -> None:
        super().__init__()
        self.name, self.strict = name_of(source), strict

    def add(self, line: int, reason: str, unit: str = "line") -> None:
        self.append(Problem(line, reason, unit))
        if self.strict:
            raise UnreadableFile(f"{self.name}: {self[-1]}")


def name_of(source: Source) -> str:
    """How a message calls the source."""
    return "the data given" if isinstance(source, bytes) else Path(source).name


def read_bytes(source: Source) -> bytes:
    """The content, unpacked when it is gzip. Raises UnreadableFile."""
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{name_of(source)}: cannot be read ({reason})") from error


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


def write_text(text: str, path: str | Path) -> None:
    """Write UTF-8, the same bytes on every system."""
    Path(path).write_bytes(text.encode("utf-8"))
