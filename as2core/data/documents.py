"""Documents of any known kind as plain text, paragraphs divided by a blank line.

A file with one document is known by its name without the suffix; in a file with many (CSV, JSONL) each has its own id,
and an id that comes again gets "~2", "~3" in the order of the file, so that nothing is lost and reading twice gives the
same ids.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from as2core.data.source import Problem, numbered_lines, read_bytes, read_text
from as2core.errors import UnreadableFile
from as2core.types import Document

SUFFIXES = {
    ".txt": "plain text",
    ".md": "Markdown",
    ".markdown": "Markdown",
    ".html": "web page",
    ".htm": "web page",
    ".pdf": "PDF",
    ".csv": "table with a text column",
    ".tsv": "table with a text column",
    ".jsonl": "one document a line",
}
_TEXT_COLUMNS = ("text", "answer", "content", "body")

OnProblem = Callable[[Problem], None]


def read_documents(
    path_or_name: str | Path, data: bytes | None = None, *, on_problem: OnProblem | None = None
) -> Iterator[Document]:
    """The documents of a file, or of `data` under that name.

    Raises UnreadableFile (its text begins with the name). A malformed line of a CSV or JSONL file raises too, unless
    `on_problem` takes it: then the other lines are read.
    """
    name = file_name(PurePosixPath(path_or_name).as_posix() if data is not None else Path(path_or_name).name)
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise UnreadableFile(f"{name}: not a kind of document known here ({known}); save it as one of them")

    def report(line: int, reason: str) -> None:
        if on_problem is None:
            raise UnreadableFile(f"{name}: {Problem(line, reason)}")
        on_problem(Problem(line, reason))

    content = data if data is not None else read_bytes(path_or_name)
    try:
        yield from _unique(_read(name, suffix, content, report), name)
    except UnreadableFile as error:
        told = str(error).removeprefix("the data given: ")
        raise UnreadableFile(told if told.startswith(f"{name}: ") else f"{name}: {told}") from error


def _read(name: str, suffix: str, content: bytes, report: Callable[[int, str], None]) -> Iterator[Document]:
    stem = PurePosixPath(name).with_suffix("").as_posix()
    if suffix == ".jsonl":
        return _jsonl(stem, content, report)
    if suffix in (".csv", ".tsv"):
        return _table(stem, content, "\t" if suffix == ".tsv" else None, report)
    return iter([_one(name, suffix, content)])


def _one(name: str, suffix: str, content: bytes) -> Document:
    stem = PurePosixPath(name).with_suffix("").as_posix()
    title, meta = PurePosixPath(name).stem.replace("_", " "), {}
    if suffix == ".pdf":
        from as2core.data.pdf import pdf_text

        found, text = pdf_text(content)
    elif suffix in (".html", ".htm"):
        from as2core.data.html import html_text

        found, text = html_text(content)
    elif suffix in (".md", ".markdown"):
        from as2core.data.markdown import front_matter, markdown_text

        meta, body = front_matter(_decoded(content))
        found, text = markdown_text(body)
        found = meta.pop("title", "") or found
    else:
        found, text = "", _decoded(content)
    return Document(stem, clean(found).strip() or title, clean(text).strip(), name, meta)


def _unique(documents: Iterator[Document], name: str) -> Iterator[Document]:
    taken: set[str] = set()
    times: Counter[str] = Counter()
    for document in documents:
        if not document.text:
            raise UnreadableFile("there is no text in it")
        free = document.id
        while free in taken:  # the file itself may have an id "a~2"
            times[document.id] += 1
            free = f"{document.id}~{times[document.id] + 1}"
        taken.add(free)
        yield replace(document, id=free, source=name)
    if not taken:
        raise UnreadableFile("there is no document in it")


def _jsonl(stem: str, content: bytes, report: Callable[[int, str], None]) -> Iterator[Document]:
    """Our own `{"id", "title", "text"}`, BEIR's `{"_id", ...}`, MedQuAD's `{"id", "focus", "answer", ...}`."""
    for number, line in numbered_lines(content):
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                report(number, "not a JSON object")
            elif "candidates" in record:
                report(number, "a question with candidates, not a document: import the file as labels")
            else:
                yield from _from_fields(record, stem, number, report)
        except json.JSONDecodeError as error:
            report(number, f"not JSON ({error.msg.removesuffix(' starting at')} at column {error.colno})")
        except ValueError as error:  # a number of thousands of digits
            report(number, str(error))
        except RecursionError:
            report(number, "brackets within brackets, too many to read")


def _table(stem: str, content: bytes, delimiter: str | None, report: Callable[[int, str], None]) -> Iterator[Document]:
    text = _decoded(content)
    if delimiter is None:
        head = text.partition("\n")[0]
        delimiter = max(",;\t", key=head.count)
    csv.field_size_limit(1 << 27)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = [c.strip().lower() for c in rows.fieldnames or ()]
    if not set(columns) & set(_TEXT_COLUMNS):
        raise UnreadableFile(f"no column named {' or '.join(_TEXT_COLUMNS)}; its columns are: {', '.join(columns)}")
    rows.fieldnames = columns
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            report(rows.line_num, str(error))
            continue
        if None in row:
            report(rows.line_num, f"more fields than the {len(columns)} columns")
        else:
            fields = {k: v for k, v in row.items() if v is not None}
            yield from _from_fields(fields, stem, rows.line_num, report)


def _from_fields(record: dict, stem: str, number: int, report: Callable[[int, str], None]) -> Iterator[Document]:
    column = next((c for c in _TEXT_COLUMNS if c in record), None)
    text = record.get(column)
    if not isinstance(text, str) or not clean(text).strip():
        report(number, f"no {' or '.join(_TEXT_COLUMNS)}" if column is None else f"{column!r} holds no text")
        return
    medquad = "focus" in record and column == "answer"
    named = (str(record[key]).strip() for key in ("_id", "id") if record.get(key) is not None)
    given = next(filter(None, named), f"{stem}-{number}")
    if medquad and record.get("source"):
        given = f"{record['source']}-{given}"  # the institutes' own ids repeat between them
    title = str(record.get("focus" if medquad else "title") or "").strip()
    used = {"_id", "id", "title", column, *(("focus",) if medquad else ())}
    meta = {str(k): v if isinstance(v, str) else json.dumps(v) for k, v in record.items() if k not in used}
    yield Document(clean(given), clean(title), clean(text).strip(), "", meta)


def _decoded(content: bytes) -> str:
    """UTF-8, or UTF-16 with its mark, or else the Western European page old editors wrote."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    try:
        return read_text(content).replace("\x00", "")
    except UnreadableFile:
        if b"\x00" in content:
            raise UnreadableFile("it holds bytes that are not text") from None
        return content.decode("cp1252", "replace")


def file_name(name: str) -> str:
    """The name without half characters: Python reads those for the bytes of a name that is not UTF-8, which is taken
    for the Western European page, so that two such names stay two."""
    halves = re.compile("[\udc80-\udcff]+")
    return clean(halves.sub(lambda x: x[0].encode("ascii", "surrogateescape").decode("cp1252", "replace"), name))


def clean(text: str) -> str:
    """Line ends as "\\n", a page break as a blank line, without NULs and half characters no database takes."""
    text = re.sub(r"\r\n?", "\n", text).replace("\f", "\n\n").replace("\x00", "")
    return text.encode("utf-8", "replace").decode("utf-8")
