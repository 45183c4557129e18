"""Label files of any format, as they are read."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from app.exchange import report
from app.workbench.workbench import make_storable
from as2core.data import beir
from as2core.data.catalog import RATING_STREAMS, STREAMS, TOOLS, sniff
from as2core.data.label_files import csv_ratings, rows
from as2core.data.label_files.content import LabelContent, decode_labels
from as2core.data.source import Report, read_all
from as2core.documents.reading import MAX_NAME_CHARS, MAX_TITLE_CHARS, clean_file_name
from as2core.documents.reading import TABLES as TABLE_SUFFIXES
from as2core.errors import BadSetting, UnreadableFile
from as2core.messages import count
from as2core.parser_process import ParserProcess
from as2core.sources.content import name_file, read_bytes
from as2core.sources.spreadsheet import find_header, split_header
from as2core.sources.unpacking import MAX_WHOLE_BYTES, TooLarge
from as2core.types import MAX_TEXT_CHARS, Question

IMPORTS = (
    "jsonl", "csv", "qrels", "wikiqa", "trecqa", "squad", "beir", "pairs", "triplets", "table",
    "asnq", "selqa", "selqa-tsv", "qed", "natural-questions", "quepid", *TOOLS, "records",
)  # fmt: skip
FORMAT_OF_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".qrels": "qrels"}  # where the content does not tell
TABLES = ("table", "records")  # rows of question, sentence and label
CONVERTIBLE_FORMATS = {  # that no import reads, and why
    "wikipassageqa": "consists of several files",
    "insuranceqa": "consists of several files",
    "yahooqa": "is a pickle, and no file of labels",
}
TEXTLESS_FORMATS = tuple(RATING_STREAMS)
MAX_SENT_BYTES = 50_000_000  # unpacked, of a file that was uploaded: read, it takes up to eighty times as much memory
ZIP_MARK = b"PK"  # of a workbook or a BEIR set, which are unpacked within limits of their own
NO_QUESTION = "no labelled question in it"
_LABEL_COLUMNS = (*rows.NAMES["sentence"], *rows.NAMES["label"], "docid", "doc_id", "doc id")


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
    `min_correct`: the lowest rating that counts as correct. Raises UnreadableFile, BadSetting, and TooLarge for bytes
    beyond MAX_SENT_BYTES."""
    name = clean_file_name(name)
    max_bytes = MAX_SENT_BYTES if isinstance(data, bytes) else MAX_WHOLE_BYTES
    content, notes = read_as_utf_8(name, data)
    fmt = _detect_format(name, content, fmt)
    questions, lines = _parse(name, content, fmt, min_correct, max_bytes)
    questions, overlong = _drop_overlong(questions, lines)
    problems = sorted([*((p.line, p.reason) for p in lines), *overlong])
    questions, textless = (questions, 0) if fmt in TEXTLESS_FORMATS else _drop_textless(questions)
    if not questions and not problems:
        raise UnreadableFile(f"{name}: {NO_QUESTION}")
    return LabelFile(name, fmt, questions, problems, lines.places, textless, (*_list_notes(lines), *notes))


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
        content = read_bytes(data)
    except UnreadableFile as e:
        raise UnreadableFile(f"{name}: {str(e).partition(': ')[2] or e}") from e
    if isinstance(data, bytes) and len(content) > MAX_SENT_BYTES and not content.startswith(ZIP_MARK):
        limit = f"{MAX_SENT_BYTES // 1_000_000} MB"
        raise TooLarge(f"{name}: it has more than {limit}; divide it, or import it with `as2 labels import`")
    return content


def read_as_utf_8(name: str, data: bytes | Path) -> LabelContent:
    """The file as a text, or of a workbook the sheet, in UTF-8. Raises UnreadableFile, and TooLarge for bytes beyond
    MAX_SENT_BYTES."""
    content = _read_content(name, data)
    with name_file(name), closing(ParserProcess()) as parser:
        return decode_labels(name, content, parser.write_table)


def _detect_format(name: str, content: bytes, fmt: str) -> str:
    if not content.strip():
        raise UnreadableFile(f"{name}: the file is empty")
    if content.strip() == b"[]":
        raise UnreadableFile(f"{name}: {NO_QUESTION}")
    if fmt == "auto":
        with name_file(name):
            fmt = "beir" if content.startswith(ZIP_MARK) else sniff(content) or ""
        if not fmt and _holds_questions_only(name, content):
            raise UnreadableFile(
                f"{name}: questions without sentences; add them under Data, Questions, or with `as2 questions add`"
            )
        fmt = fmt or FORMAT_OF_SUFFIX.get(PurePath(name).suffix.lower(), "")  # its reader reports what is wrong
        if fmt == "run":
            raise UnreadableFile(f"{name}: a run file holds a ranker's scores, no labels; import the qrels instead")
        if not fmt:
            header = content.partition(b"\n")[0].decode(errors="replace").strip()
            needed = "a table (CSV or Excel) needs the columns question, sentence and label"
            is_table = PurePath(name).suffix.lower() in TABLE_SUFFIXES
            reason = csv_ratings.describe_header(header) if is_table else f"unknown format; {needed}"
            raise UnreadableFile(f"{name}: {reason}")
    if fmt in CONVERTIBLE_FORMATS:
        reason = CONVERTIBLE_FORMATS[fmt]
        raise UnreadableFile(f"{name}: {fmt} {reason}; make one with `as2 data convert {name} labels.jsonl`")
    if fmt not in IMPORTS:
        raise BadSetting(f"no import format {fmt!r}; known: auto, {', '.join(IMPORTS)}")
    return fmt


def _holds_questions_only(name: str, content: bytes) -> bool:
    """Whether it is a table with a column of questions and none of what labels need, or a list of questions."""
    text = content.decode("utf-8-sig", "replace").strip()
    header = find_header(text)
    if column := rows.find_question_column(header):
        return not set(_LABEL_COLUMNS).intersection(n.lower() for n in split_header(header.strip(), column[0]))
    lines = [line for line in text.splitlines() if line.strip()]
    question_count = sum(line.rstrip().endswith("?") for line in lines)
    return PurePath(name).suffix.lower() == ".txt" and question_count > len(lines) / 2


def _parse(name: str, content: bytes, fmt: str, min_correct: int, max_bytes: int) -> tuple[list[Question], Report]:
    """The questions, and the report with where each label stands."""
    with name_file(name):
        if fmt == "beir":
            return beir.read_archive(
                content, split=None, keep_places=True, min_correct=min_correct, max_bytes=max_bytes
            )
        stream = RATING_STREAMS.get(fmt) or STREAMS[fmt]
        return read_all(stream, content, keep_places=True, min_correct=min_correct)
