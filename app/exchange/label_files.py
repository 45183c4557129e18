"""Label files of any format, as they are read."""

import io
import tempfile
import zipfile
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from lzma import LZMAError
from pathlib import Path, PurePath, PurePosixPath

from app.exchange import report
from app.workbench.workbench import make_storable
from as2core.data import beir, label_rows, label_sheets
from as2core.data.catalog import RATING_STREAMS, STREAMS, TOOLS, sniff
from as2core.data.documents import MAX_NAME_CHARS, MAX_TITLE_CHARS, clean_file_name, decode_text
from as2core.data.parser_process import ParserProcess
from as2core.data.source import Report, read_all, read_bytes
from as2core.data.unpacking import MAX_WHOLE_BYTES, Quota, copy_member
from as2core.errors import BadSetting, UnreadableFile
from as2core.messages import count
from as2core.types import MAX_TEXT_CHARS, Question

IMPORTS = (
    "jsonl", "csv", "qrels", "wikiqa", "trecqa", "squad", "beir", "pairs", "triplets", "table",
    "asnq", "selqa", "selqa-tsv", "qed", "natural-questions", "quepid", *TOOLS, "records",
)  # fmt: skip
TABLE_SUFFIXES = (".csv", ".tsv", ".txt")
FORMAT_OF_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".qrels": "qrels"}  # where the content does not tell
TABLES = ("table", "records")  # rows of question, sentence and label
CONVERTIBLE_FORMATS = {  # that no import reads, and why
    "wikipassageqa": "consists of several files",
    "insuranceqa": "consists of several files",
    "yahooqa": "is a pickle, and no file of labels",
}
TEXTLESS_FORMATS = tuple(RATING_STREAMS)
MAX_ARCHIVE_FILES = 1000
SPREADSHEET_PARTS = {"xl/workbook.bin", "content.xml"}  # in files of Excel's binary format and of LibreOffice
NO_QUESTION = "no labelled question in it"


@dataclass(frozen=True, slots=True)
class LabelFile:
    """A label file as it was read: its questions, its malformed lines, where each label stands, how many candidates
    were left out because they have no text, and sentences about what else was done with it."""

    name: str
    fmt: str
    questions: list[Question]
    problems: list[tuple[int, str]]
    lines: report.Lines
    textless: int
    notes: tuple[str, ...] = ()


def read_labels(name: str, data: bytes | Path, fmt: str = "auto", *, min_correct: int = 1) -> LabelFile:
    """The file in one of IMPORTS. A candidate without a text, in a format that has texts, is counted and left out.
    `min_correct`: the lowest rating that counts as correct. Raises UnreadableFile, BadSetting."""
    name = clean_file_name(name)
    content = _decode_spreadsheet(name, _read_content(name, data))
    fmt = _detect_format(name, content, fmt)
    questions, lines = _parse(name, content, fmt, min_correct)
    questions, overlong = _drop_overlong(questions, lines)
    problems = sorted([*((p.line, p.reason) for p in lines), *overlong])
    questions, textless = (questions, 0) if fmt in TEXTLESS_FORMATS else _drop_textless(questions)
    if not questions and not problems:
        raise UnreadableFile(f"{name}: {NO_QUESTION}")
    return LabelFile(name, fmt, questions, problems, lines.places, textless, _list_notes(lines))


def _list_notes(lines: Report) -> tuple[str, ...]:
    omissions = [f"{n:,} left out, as {why}" for why, n in lines.omissions.items()]
    ratings = [f"a rating of {lines.min_correct:,} or more counts as correct"] if lines.has_ratings else []
    return (*lines.columns, *omissions, *ratings)


def _drop_overlong(questions: Sequence[Question], lines: Report) -> tuple[list[Question], list[tuple[int, str]]]:
    """The questions whose texts and ids are no longer than any is, and where the others stand; titles are cut."""
    problems: list[tuple[int, str]] = []

    def is_overlong(qid: str, docid: str, text: str) -> bool:
        excess = [n for n in (len(text) - MAX_TEXT_CHARS, len(docid or qid) - MAX_NAME_CHARS) if n > 0]
        if excess:
            line, _ = lines.places.get((qid, docid), (0, ""))
            what = f"the {'sentence' if docid else 'question'} or its id is {count(excess[0], 'character')} too long"
            problems.append((line, what))
        return bool(excess)

    rest = []
    for q in (q for q in questions if not is_overlong(q.qid, "", q.text)):
        candidates = [c for c in q.candidates if not is_overlong(q.qid, c.id, c.text)]
        rest.append(replace(q, candidates=tuple(replace(c, title=c.title[:MAX_TITLE_CHARS]) for c in candidates)))
    return rest, problems


def _drop_textless(questions: Sequence[Question]) -> tuple[list[Question], int]:
    """The questions without the candidates that have no text (SelQA has some), and how many those were. Their ids alone
    could name a sentence of another set."""
    rest = [replace(q, candidates=tuple(c for c in q.candidates if make_storable(c.text).strip())) for q in questions]
    return rest, sum(len(q.candidates) for q in questions) - sum(len(q.candidates) for q in rest)


def _read_content(name: str, data: bytes | Path) -> bytes:
    try:
        return read_bytes(data)
    except UnreadableFile as e:
        raise UnreadableFile(f"{name}: {str(e).partition(': ')[2] or e}") from e


def _decode_spreadsheet(name: str, content: bytes) -> bytes:
    """An Excel workbook as a table; UTF-16 with its mark, and a table in the encoding of older spreadsheets
    (Windows-1252), as UTF-8. A table that has UTF-8 as well is left as it is: its reader reports the lines that are
    not."""
    if label_sheets.is_workbook(content):
        with _name_file(name), closing(ParserProcess()) as parser:
            label_sheets.require_small(content)
            return parser.write_table(content).encode()
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        with _name_file(name):
            return decode_text(content).encode()
    if PurePath(name).suffix.lower() not in TABLE_SUFFIXES or _is_utf_8(content):
        return content
    if any(not line.isascii() and _is_utf_8(line) for line in content.splitlines()):
        return content
    with _name_file(name):
        return decode_text(content).encode()


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _detect_format(name: str, content: bytes, fmt: str) -> str:
    if not content.strip():
        raise UnreadableFile(f"{name}: the file is empty")
    if content.strip() == b"[]":
        raise UnreadableFile(f"{name}: {NO_QUESTION}")
    if fmt == "auto":
        with _name_file(name):
            fmt = "beir" if content[:2] == b"PK" else sniff(content) or ""
        if not fmt and _holds_questions_only(content):
            raise UnreadableFile(f"{name}: questions without sentences; paste them under Data, Questions instead")
        fmt = fmt or FORMAT_OF_SUFFIX.get(PurePath(name).suffix.lower(), "")  # its reader reports what is wrong
        if fmt == "run":
            raise UnreadableFile(f"{name}: a run file holds a ranker's scores, no labels; import the qrels instead")
        if not fmt:
            needed = "a table (CSV or Excel) needs the columns question, sentence and label"
            raise UnreadableFile(f"{name}: unknown format; {needed}")
    if fmt in CONVERTIBLE_FORMATS:
        reason = CONVERTIBLE_FORMATS[fmt]
        raise UnreadableFile(f"{name}: {fmt} {reason}; make one with `as2 data convert {name} labels.jsonl`")
    if fmt not in IMPORTS:
        raise BadSetting(f"no import format {fmt!r}; known: auto, {', '.join(IMPORTS)}")
    return fmt


def _holds_questions_only(content: bytes) -> bool:
    """Whether it is a table of one column, which is named as the questions' is."""
    header = content.removeprefix(BOM_UTF8).strip().partition(b"\n")[0].decode(errors="replace")
    return header.strip().strip('"').lower() in label_rows.NAMES["question"]


def _parse(name: str, content: bytes, fmt: str, min_correct: int) -> tuple[list[Question], Report]:
    """The questions, and the report with where each label stands."""
    with _name_file(name), tempfile.TemporaryDirectory() as folder:
        if fmt == "beir":
            _unzip_beir(content, Path(folder))
            return beir.read(folder, split=None, keep_places=True, min_correct=min_correct)
        stream = RATING_STREAMS.get(fmt) or STREAMS[fmt]
        return read_all(stream, content, keep_places=True, min_correct=min_correct)


@contextmanager
def _name_file(name: str) -> Iterator[None]:
    try:
        yield
    except UnreadableFile as e:
        raise UnreadableFile(f"{name}: {str(e).removeprefix('the data given: ')}") from e


def _unzip_beir(content: bytes, folder: Path) -> None:
    """Extract BEIR's files, wherever they are in the archive."""
    quota = Quota(MAX_WHOLE_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if len(archive.infolist()) > MAX_ARCHIVE_FILES:
                raise UnreadableFile(f"the archive holds more than {MAX_ARCHIVE_FILES:,} files; BEIR's has three or so")
            _check_members(archive.namelist())
            for member in archive.infolist():
                path = PurePosixPath(member.filename)
                if path.name.startswith("."):  # added by macOS
                    continue
                inside = path.name if path.parent.name != "qrels" else f"qrels/{path.name}"
                if path.name in ("corpus.jsonl", "queries.jsonl") or inside.startswith("qrels/"):
                    target = folder / inside
                    target.parent.mkdir(exist_ok=True)
                    with archive.open(member) as packed, target.open("wb") as out:
                        copy_member(packed, out, member.compress_size, quota)
    except (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, RuntimeError, ValueError) as e:
        raise UnreadableFile(f"the archive cannot be unpacked ({e})") from e


def _check_members(names: Sequence[str]) -> None:
    """Raises UnreadableFile for an archive without a BEIR set."""
    if SPREADSHEET_PARTS & {*names}:
        raise UnreadableFile("it is a spreadsheet; save it as Excel workbook (.xlsx) or CSV")
    paths = [PurePosixPath(name) for name in names]
    files, folders = {path.name for path in paths}, {path.parent.name for path in paths}
    if not ({"corpus.jsonl", "queries.jsonl"} <= files and "qrels" in folders):
        parts = "corpus.jsonl, queries.jsonl and qrels"
        raise UnreadableFile(f"the archive holds no BEIR set ({parts}); unpack it and import the files in it")
