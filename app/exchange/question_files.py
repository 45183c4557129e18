"""Files of questions without sentences: a list, a query log, the queries of a benchmark.

Read are a text with one question per line, a table (CSV, TSV, Excel) with a column `question` or `query`, lines of an
id, a tab and a question (MS MARCO's and TREC's queries), and JSONL with a field `question`, `query` or `text` (BEIR's).
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from app.exchange import label_files
from as2core.data import source
from as2core.data.catalog import sniff
from as2core.data.label_files import rows
from as2core.data.source import Report
from as2core.documents.reading import TABLES, clean_file_name
from as2core.errors import UnreadableFile
from as2core.sources.content import describe_problem, name_file, parse_json, read_lines
from as2core.sources.encodings import decode_text
from as2core.sources.spreadsheet import find_header, restore_formula
from as2core.sources.unpacking import TooLarge

MAX_FILE_BYTES = 10_000_000
QUESTION_SUFFIXES = (".txt", ".jsonl", *sorted(TABLES))
_FIELDS = (*rows.NAMES["question"], "text")  # of a JSON record
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")  # before each question of a list
_ID_AND_QUESTION = re.compile(r"[^\s\t]+\t[^\t]*\S[^\t]*")


def read_questions(name: str, data: bytes | Path) -> list[str]:
    """The questions of a file, each on one line, repeats included. Raises UnreadableFile, also for a file of labels and
    for the first line that cannot be read; TooLarge beyond MAX_FILE_BYTES."""
    name = clean_file_name(name)
    with name_file(name):
        content = label_files.read_as_utf_8(name, data).content
        if len(content) > MAX_FILE_BYTES:
            raise TooLarge(f"it has more than {MAX_FILE_BYTES // 1_000_000} MB; divide it")
        if not content.strip():
            raise UnreadableFile("the file is empty")
        if sniff(content) is not None:
            raise UnreadableFile(
                "it holds labels or scores; import labels under Data, Import and export, or with `as2 labels import`"
            )
        lines = (" ".join(question.split()) for question in _iterate(name, decode_text(content).strip()))
        questions = [_LIST_MARK.sub("", line) for line in lines]
    if not any(questions):
        raise UnreadableFile(f"{name}: no question in it")
    return [question for question in questions if question]


def _iterate(name: str, text: str) -> Iterator[str]:
    if text.startswith("{"):
        return _read_records(text)
    if text.startswith("[") and text.endswith("]"):
        raise UnreadableFile("a list in JSON: write one record per line (JSONL), or one question")
    if column := rows.find_question_column(find_header(text)):
        return _read_column(text, *column)
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and all(map(_ID_AND_QUESTION.fullmatch, lines)):
        return (line.partition("\t")[2] for line in lines)
    if PurePath(name).suffix.lower() in TABLES:
        raise UnreadableFile(f"the first line must name a column {' or '.join(rows.NAMES['question'])}")
    return iter(split_list(text))


def _read_column(text: str, delimiter: str, column: int | None) -> Iterator[str]:
    """Commas within a question divide nothing where there is one column."""
    content = text.encode()
    _, *table = source.stream_rows(content, Report(content, strict=True), delimiter)
    for _, row in table:
        yield restore_formula(delimiter.join(row) if column is None else "".join(row[column : column + 1]))


def _read_records(text: str) -> Iterator[str]:
    for number, line in read_lines(text.encode()):
        try:
            record = parse_json(line)
            field = next(name for name in _FIELDS if name in record)
            question = source.text_field(record, field)
            source.check_characters(question, field)
        except StopIteration:
            raise UnreadableFile(f"line {number}: none of the fields {', '.join(_FIELDS)}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise UnreadableFile(f"line {number}: {describe_problem(error)}") from error
        yield question


def split_list(text: str) -> list[str]:
    """The lines without their marks. In a list with marks, a question that goes on in the next line is one."""
    lines: list[str] = []
    is_open = False  # whether the line before has a mark, or goes on with one that has, and is no whole question yet
    for line in text.splitlines():
        mark, question = _LIST_MARK.match(line), _LIST_MARK.sub("", line).strip()
        if is_open and question and not mark:
            lines[-1] += f" {question}"
        else:
            lines.append(question)
        is_open = bool(question) and (is_open or bool(mark)) and not question.endswith("?")
    return lines
