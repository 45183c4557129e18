"""The content of a file, or of bytes that were sent: unpacked within limits, as text, by lines or as JSON, and what is
wrong with it in words."""

import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, AnyStr, Self

from as2core.errors import UnreadableFile
from as2core.sources.unpacking import GZIP_MAGIC, MAX_LINE_BYTES, MAX_WHOLE_BYTES, Quota, TooLarge, open_gzip

Source = str | Path | bytes

_DATA = "the data given"  # in messages about bytes
MAX_JSON_VALUES = 5_000_000  # of a line, or of a document that was sent; no other thread runs while they are read
TOO_MANY_VALUES = f"it has more than {MAX_JSON_VALUES:,} values; divide it"

# raised by a wrong JSON record
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


class Problem(str):
    """A malformed line. Reads as "line 3: what is wrong"; its three parts are attributes as well."""

    line: int
    reason: str
    unit: str

    def __new__(cls, line: int, reason: str, unit: str = "line") -> Self:
        problem = super().__new__(cls, f"{unit} {line}: {reason}")
        problem.line, problem.reason, problem.unit = line, reason, unit
        return problem


def describe_problem(error: Exception) -> str:
    """One of MALFORMED in words."""
    if isinstance(error, RecursionError):
        return "nested too deeply to read"
    if isinstance(error, json.JSONDecodeError):
        if error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip()):
            return "the JSON ends before it is complete"
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return f"not JSON ({error.msg.removesuffix(' at')} at {line}column {error.colno})"
    if isinstance(error, KeyError):
        return f"no {error}"
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def name_source(source: Source) -> str:
    """The source's name in messages."""
    return _DATA if isinstance(source, bytes) else Path(source).name


@contextmanager
def name_file(name: str) -> Iterator[None]:
    """Errors of what is read meanwhile begin with the name of the file, once."""
    try:
        yield
    except UnreadableFile as error:
        reason = str(error).removeprefix(f"{_DATA}: ").removeprefix(f"{name}: ")
        raise UnreadableFile(f"{name}: {reason}") from error


def is_packed(path: Path) -> bool:
    """Whether a file is gzip. Raises UnreadableFile."""
    try:
        with path.open("rb") as file:
            return file.read(2) == GZIP_MAGIC
    except OSError as error:
        raise UnreadableFile(f"{path.name}: cannot be read ({error.strerror})") from error


@contextmanager
def open_source(source: Source, *, is_whole: bool = False) -> Iterator[IO[bytes]]:
    """The content, unpacked when it is gzip; `is_whole`: it will be read into memory as a whole. Raises UnreadableFile,
    also for what fails while it is read, and for packed content beyond the limits of `as2core.sources.unpacking`."""
    max_bytes = MAX_WHOLE_BYTES if is_whole or isinstance(source, bytes) else None
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
            has_gzip = file.read(2) == GZIP_MAGIC
            file.seek(0)
            with open_gzip(file, Quota(max_bytes)) if has_gzip else file as content:
                yield content
    except TooLarge as error:
        raise TooLarge(f"{name_source(source)}: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{name_source(source)}: cannot be read ({reason})") from error


def read_bytes(source: Source, size: int = -1) -> bytes:
    """The content, or its first `size` bytes, unpacked when it is gzip. Raises UnreadableFile."""
    with open_source(source, is_whole=True) as file:
        content = file.read(size)
        if content.startswith(GZIP_MAGIC):
            raise TooLarge("it is packed twice; unpack it first")
        return content


def read_text(source: Source) -> str:
    """The content as UTF-8 text without a byte-order mark, line ends as they are. Raises UnreadableFile."""
    try:
        return read_bytes(source).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{name_source(source)}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def read_lines(source: Source) -> list[tuple[int, str]]:
    """`(number, line)` of the lines that are not blank, numbered from 1, without their line ends."""
    lines = read_text(source).split("\n")
    return [(n, line.removesuffix("\r")) for n, line in enumerate(lines, 1) if line.strip()]


def iterate_lines(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Of a file. Raises TooLarge for a line that is too long to be one."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise TooLarge(f"a line has more than {MAX_LINE_BYTES / 1e6:,.0f} MB; divide it")
        yield line


def parse_json(line: str) -> Any:
    """The JSON of a line. Raises ValueError, also for one of more than MAX_JSON_VALUES."""
    if has_too_many_values(line):
        raise ValueError(TOO_MANY_VALUES)
    return json.loads(line)


def has_too_many_values(text: str) -> bool:
    """Whether JSON may have more than MAX_JSON_VALUES."""
    return sum(map(text.count, ",[{")) > MAX_JSON_VALUES
