"""What every reader shares: where bytes come from, how malformed lines are reported, and how rows become questions, and
lines again. `as2core.files` writes the files.

A reader is a generator `stream(source, report)`. It takes a path (gzip is unpacked) or the bytes themselves, yields
questions, and adds a `Problem` to the `Report` for each line that it cannot read. With `strict=True` the first problem
is raised instead. It raises UnreadableFile where the file as a whole is none of its format. `read_all` makes a list.
"""

import csv
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2s
from pathlib import Path
from typing import IO, Any, AnyStr, Protocol, Self, TypeVar

from as2core.data.spreadsheet import names_delimiter
from as2core.data.unpacking import GZIP_MAGIC, MAX_LINE_BYTES, MAX_WHOLE_BYTES, Quota, TooLarge, open_gzip
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Json, Question

Source = str | Path | bytes
R = TypeVar("R")
T = TypeVar("T")

_DATA = "the data given"  # in messages about bytes
MAX_JSON_VALUES = 5_000_000  # of a line, or of a document that was sent; no other thread runs while they are read
TOO_MANY_VALUES = f"it has more than {MAX_JSON_VALUES:,} values; divide it"


class Problem(str):
    """A malformed line. Reads as "line 3: what is wrong"; its three parts are attributes as well."""

    line: int
    reason: str
    unit: str

    def __new__(cls, line: int, reason: str, unit: str = "line") -> Self:
        problem = super().__new__(cls, f"{unit} {line}: {reason}")
        problem.line, problem.reason, problem.unit = line, reason, unit
        return problem


class Report(list[Problem]):
    """The problems, and what was read: lines (blank ones too), questions, candidates, and what was left out and why.

    `add` raises UnreadableFile when `strict`, and after MAX_PROBLEMS: such a file is of another kind. With
    `keep_places`, `places` is `{(question id, candidate id): (line, file)}`, the file "" where there is only one, and
    with the candidate id "" the question's first; formats whose questions run over many lines leave it empty.
    `line_offset` is the byte at which the line read last begins, `question_offset` that of the question yielded last,
    for formats that call `begin_question`. `min_correct`: the lowest rating that counts as correct; `has_ratings`:
    whether one other than 0 and 1 was read. `columns`: sentences about which columns of a table were read as what.
    """

    MAX_PROBLEMS = 10_000

    def __init__(
        self, source: Source, *, strict: bool = False, keep_places: bool = False, min_correct: int = 1
    ) -> None:
        super().__init__()
        self.name, self.strict, self.keep_places = name_source(source), strict, keep_places
        self.min_correct, self.has_ratings = min_correct, False
        self.columns: tuple[str, ...] = ()
        self.places: dict[tuple[str, str], tuple[int, str]] = {}
        self.lines = self.questions = self.candidates = 0
        self.line_offset = self.question_offset = 0
        self.omissions: Counter[str] = Counter()

    def add(self, line: int, reason: str, unit: str = "line") -> None:
        self.append(Problem(line, reason, unit))
        if self.strict:
            raise UnreadableFile(f"{self.name}: {self[-1]}")
        if len(self) > self.MAX_PROBLEMS:
            raise UnreadableFile(f"{self.name}: more than {self.MAX_PROBLEMS:,} problems, the first: {self[0]}")

    def place(self, qid: str, docid: str, line: int, file: str = "") -> None:
        """Keep where a candidate, or with "" a question, is."""
        if self.keep_places:
            self.places.setdefault((qid, ""), (line, file))
            self.places.setdefault((qid, docid), (line, file))

    def rate(self, docid: str, rating: str) -> Candidate:
        """A candidate with the label and grade of a written rating. Raises ValueError unless it is a whole number of at
        most nine digits, which every database holds; "3.0" is one, as pandas writes a column with gaps."""
        match = re.fullmatch(r"([+-]?\d{1,9})(\.0*)?", rating.strip())
        if not match:
            raise ValueError(f"rating {rating!r} is not a whole number of at most nine digits")
        value = int(match[1])
        label = int(value >= self.min_correct)
        self.has_ratings |= value not in (0, 1)
        return Candidate(docid, "", label, grade=None if value == label else value)

    def begin_question(self) -> None:
        """The line read last is the first of a question."""
        self.question_offset = self.line_offset

    def count_questions(self, questions: Iterable[Question]) -> Iterator[Question]:
        """The questions, counted as they pass."""
        for question in questions:
            self.questions += 1
            self.candidates += len(question.candidates)
            yield question


Stream = Callable[[Source, Report], Iterator[Question]]


def read_all(
    stream: Stream, source: Source, *, strict: bool = False, keep_places: bool = False, min_correct: int = 1
) -> tuple[list[Question], Report]:
    """All questions of a stream, and its report. Raises UnreadableFile."""
    report = Report(source, strict=strict, keep_places=keep_places, min_correct=min_correct)
    return list(report.count_questions(stream(source, report))), report


# raised by a wrong JSON record
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


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


def text_field(record: dict, key: str) -> str:
    """The field as text. Raises KeyError where it is absent or null."""
    if record[key] is None:
        raise KeyError(key)
    return str(record[key])


def check_characters(text: str, name: str) -> None:
    """Raises ValueError for a lone surrogate, which JSON can hold and UTF-8 cannot; `name`: of the field."""
    if not text.isascii() and text != text.encode("utf-8", "replace").decode("utf-8"):
        raise ValueError(f'half a character (a lone surrogate) in "{name}"')


def digest_id(prefix: str, text: str) -> str:
    """The id of a question ("q") or sentence ("s") that is known by its text only."""
    return f"{prefix}-{blake2s(text.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


class _HasId(Protocol):
    @property
    def qid(self) -> str: ...


Q = TypeVar("Q", bound=_HasId)


def drop_repeats(questions: Iterable[tuple[int, Q]], report: Report) -> Iterator[Q]:
    """The questions of `(line, question)`; one whose id came before is a problem."""
    ids: set[str] = set()
    for line, question in questions:
        if question.qid in ids:
            report.add(line, f"question {question.qid!r} appears twice")
        else:
            ids.add(question.qid)
            report.place(question.qid, "", line)
            report.begin_question()
            yield question


Row = tuple[str, str, Candidate]  # a question's id and text, and one of its candidates


def group_rows(rows: Iterable[tuple[int, Row]], report: Report) -> Iterator[Question]:
    """Questions in the order of their first row of `(line, row)`. A row whose question has another text than before,
    or whose candidate came before, is a problem."""
    questions: dict[str, tuple[str, dict[str, Candidate]]] = {}
    for line, (qid, text, candidate) in rows:
        first_text, candidates = questions.setdefault(qid, (text, {}))
        if text != first_text:
            report.add(line, f"question {qid!r} has another text than above")
        elif candidate.id in candidates:
            report.add(line, f"document {candidate.id!r} appears twice for question {text or qid!r}")
        else:
            candidates[candidate.id] = candidate
            report.place(qid, candidate.id, line)
    for qid, (text, candidates) in questions.items():
        yield Question(qid, text, tuple(candidates.values()))


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
def _open(source: Source, *, is_whole: bool = False) -> Iterator[IO[bytes]]:
    """The content, unpacked when it is gzip; `is_whole`: it will be read into memory as a whole. Raises UnreadableFile,
    also for what fails while it is read, and for packed content beyond the limits of `as2core.data.unpacking`."""
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
    with _open(source, is_whole=True) as file:
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


def read_json(
    source: Source,
    parse: Callable[[dict], T],
    kind: str,
    report: Report | None = None,
    *,
    make_object: Callable[[list[tuple[str, Json]]], dict] = dict,
) -> T:
    """`parse` of the JSON document in a file, whose objects are `make_object` of their pairs. Raises UnreadableFile
    ("not `kind` ...") where it is not JSON, or one of the two refuses it with one of MALFORMED; TooLarge for one that
    was sent and is larger than a line may be, or has more values."""
    text = read_text(source)
    if isinstance(source, bytes) and len(text) > MAX_LINE_BYTES:  # it takes twenty times as much memory
        raise TooLarge(f"{name_source(source)}: a JSON document has at most {MAX_LINE_BYTES / 1e6:,.0f} MB; divide it")
    if isinstance(source, bytes) and _count_values(text) > MAX_JSON_VALUES:
        raise TooLarge(f"{name_source(source)}: {TOO_MANY_VALUES}")
    if report is not None:
        report.lines = text.count("\n") + 1
    try:
        return parse(json.loads(text, object_pairs_hook=make_object))
    except MALFORMED as error:
        raise UnreadableFile(f"{name_source(source)}: not {kind} ({describe_problem(error)})") from error


def parse_json(line: str) -> Any:
    """The JSON of a line. Raises ValueError, also for one of more than MAX_JSON_VALUES."""
    if _count_values(line) > MAX_JSON_VALUES:
        raise ValueError(TOO_MANY_VALUES)
    return json.loads(line)


def _count_values(text: str) -> int:
    """Of JSON, at most."""
    return sum(map(text.count, ",[{"))


def read_lines(source: Source) -> list[tuple[int, str]]:
    """`(number, line)` of the lines that are not blank, numbered from 1, without their line ends."""
    lines = read_text(source).split("\n")
    return [(n, line.removesuffix("\r")) for n, line in enumerate(lines, 1) if line.strip()]


def stream_lines(source: Source, report: Report) -> Iterator[tuple[int, str]]:
    """As `read_lines`, one line in memory at a time; a line that is not UTF-8 is a problem. Raises UnreadableFile."""
    with _open(source) as file:
        end = 0
        for number, raw in enumerate(iterate_lines(file), 1):
            report.lines += 1
            report.line_offset, end = end, end + len(raw)
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                report.add(number, f"not UTF-8 text (byte {error.start} of the line); save the file as UTF-8")
                continue
            if line.strip():
                yield number, line.removesuffix("\n").removesuffix("\r")


def iterate_lines(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Of a file. Raises TooLarge for a line that is too long to be one."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise TooLarge(f"a line has more than {MAX_LINE_BYTES / 1e6:,.0f} MB; divide it")
        yield line


def parse_each(
    rows: Iterable[tuple[int, R]], parse: Callable[[R], T], report: Report, *, message: str = "", unit: str = "line"
) -> Iterator[tuple[int, T]]:
    """`(number, parse(row))` of `(number, row)`; one of MALFORMED makes a problem: `message`, with the reason."""
    for number, row in rows:
        try:
            value = parse(row)
        except MALFORMED as error:
            reason = describe_problem(error)
            report.add(number, f"{message} ({reason})" if message else reason, unit)
        else:
            yield number, value


def stream_fields(
    source: Source,
    report: Report,
    columns: Sequence[str],
    parse: Callable[[list[str]], T],
    *,
    split: Callable[[str], list[str]] = lambda line: line.split("\t"),
    has_header: bool = False,
) -> Iterator[tuple[int, T]]:
    """`(line, parse(fields))` of the rows; one with another number of fields than `columns`, or that `parse` refuses,
    is a problem. Raises UnreadableFile, also when the file has no such header where it should."""

    def parse_line(line: str) -> T:
        fields = split(line)
        if len(fields) != len(columns):
            names = "" if has_header else f" ({', '.join(columns)})"
            raise ValueError(f"{len(fields)} columns instead of {len(columns)}{names}")
        return parse(fields)

    lines = stream_lines(source, report)
    if has_header and tuple(split(next(lines, (0, ""))[1])) != tuple(columns):
        raise UnreadableFile(f"{report.name}: the first line must be {' <tab> '.join(columns)}")
    yield from parse_each(lines, parse_line, report)


def stream_records(
    source: Source, report: Report, parse: Callable[[dict], T], message: str = ""
) -> Iterator[tuple[int, T]]:
    """`(line, parse(record))` of JSON lines; one that is no JSON, or that `parse` refuses, is a problem."""
    return parse_each(stream_lines(source, report), lambda line: parse(parse_json(line)), report, message=message)


def json_line(record: dict) -> str:
    """A line of a JSONL file, with its end."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def tab_line(fields: Iterable[object]) -> str:
    """A line of fields divided by tabs, with its end; line ends and tabs inside a field become a space."""
    return "\t".join(re.sub(r"[\t\r\n]+", " ", str(field)) for field in fields) + "\n"


def iterate_labels(questions: Iterable[Question]) -> Iterator[tuple[Question, Candidate]]:
    """Each labelled candidate, after its question."""
    for question in questions:
        for candidate in question.candidates:
            if candidate.label is not None:
                yield question, candidate


_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as "surrogateescape" has them


def read_header(source: Source) -> str:
    """The line of a CSV that names its columns; "" where there is none. Raises UnreadableFile."""
    lines = (line for number, line in stream_lines(source, Report(source)) if number > 1 or not names_delimiter(line))
    return next(lines, "")


def stream_rows(source: Source, report: Report, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """`(its first line, fields)` of a CSV's rows but for blank ones and a first `sep=;`; one that is not UTF-8, or
    no CSV, is a problem."""
    with _open(source) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(iterate_lines(text), delimiter=delimiter)
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
            elif row and (len(row) > 1 or row[0].strip()) and (before or not names_delimiter("".join(row))):
                yield before + 1, row


def format_rows(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    """The rows as a CSV that `stream_rows` reads back, fields quoted where they have to be."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    quoting = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    for row in rows:  # the csv module leaves a lone carriage return unquoted
        (quoting if any("\r" in str(field) for field in row) else writer).writerow(row)
    return out.getvalue()
