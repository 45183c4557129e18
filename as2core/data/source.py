"""What every reader of questions shares: how malformed lines are reported, and how rows become questions, and lines
again. `as2core.sources` has what files hold, `as2core.system.files` writes them.

A reader is a generator `stream(source, report)`. It takes a path (gzip is unpacked) or the bytes themselves, yields
questions, and adds a `Problem` to the `Report` for each line that it cannot read. With `strict=True` the first problem
is raised instead. It raises UnreadableFile where the file as a whole is none of its format. `read_all` makes a list.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2s
from typing import Protocol, TypeVar

from as2core.errors import UnreadableFile
from as2core.sources.content import (
    MALFORMED,
    TOO_MANY_VALUES,
    Problem,
    Source,
    describe_problem,
    has_too_many_values,
    iterate_lines,
    name_source,
    open_source,
    parse_json,
    read_text,
)
from as2core.sources.spreadsheet import names_delimiter
from as2core.sources.unpacking import MAX_LINE_BYTES, TooLarge
from as2core.types import Candidate, Json, Question

R = TypeVar("R")
T = TypeVar("T")


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
    if isinstance(source, bytes) and has_too_many_values(text):
        raise TooLarge(f"{name_source(source)}: {TOO_MANY_VALUES}")
    if report is not None:
        report.lines = text.count("\n") + 1
    try:
        return parse(json.loads(text, object_pairs_hook=make_object))
    except MALFORMED as error:
        raise UnreadableFile(f"{name_source(source)}: not {kind} ({describe_problem(error)})") from error


def stream_lines(source: Source, report: Report) -> Iterator[tuple[int, str]]:
    """As `read_lines`, one line in memory at a time; a line that is not UTF-8 is a problem. Raises UnreadableFile."""
    with open_source(source) as file:
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
    with open_source(source) as file:
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
