"""Documents of any known kind as plain text, paragraphs divided by a blank line.

A file with one document is known by its name without the suffix; in a file with many (CSV, JSONL) each has its own id,
and a repeated id gets "~2", "~3" in the order of the file: nothing is lost, and reading twice gives the same ids.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from as2core.documents.blocks import (
    Block,
    BlockKind,
    drop_title,
    join_blocks,
    locate_blocks,
    locate_definitions,
    locate_headings,
)
from as2core.documents.file_kinds import WEB_PAGE, is_web_page, require_kind, require_office_kind
from as2core.documents.html import html_blocks
from as2core.documents.line_ends import join_divided_words
from as2core.documents.mail import mail_blocks
from as2core.documents.markdown import front_matter, markdown_blocks
from as2core.documents.pdf import pdf_text
from as2core.documents.programs import find_shell_sessions
from as2core.documents.rule_lines import drop_rule_lines
from as2core.documents.sheet_tables import find_records, read_blocks
from as2core.documents.slides import slide_blocks
from as2core.documents.titles import choose_sheet_title, choose_title, find_confirmed_title, is_default_sheet
from as2core.documents.word import word_blocks
from as2core.documents.workbook import Sheet, describe_hidden, read_book
from as2core.errors import UnreadableFile
from as2core.messages import count
from as2core.sources.content import (
    Problem,
    describe_problem,
    iterate_lines,
    name_file,
    parse_json,
    read_bytes,
    read_lines,
)
from as2core.sources.encodings import UTF_16_MARKS, decode_text
from as2core.sources.spreadsheet import DELIMITERS, TEXT_COLUMNS, TITLE_COLUMNS, find_header, find_twin, names_delimiter
from as2core.sources.unpacking import MAX_LINE_BYTES
from as2core.types import Document

MAX_DOCUMENT_CHARS = 20_000_000
MAX_FILE_CHARS = 100_000_000  # of all documents of a workbook, whose cells may share one long text
MAX_TITLE_CHARS = 1000  # the rest is cut off
MAX_COLUMNS = 16_384  # of a table, as many as a spreadsheet has
MAX_NAME_CHARS = 1000  # of a file, and of a document's id
# a soft hyphen, a space without width, the mark of a file's beginning: within a word they would make two of it
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")

NO_RESULT = "no result is stored for {}; open the file in Excel or LibreOffice, save it, and add it again"
OnProblem = Callable[[Problem], None]
OnNote = Callable[[str], None]


class Contents(NamedTuple):
    """Of a file: its documents, what of it cannot be read, and what of it is left out, as in "has hidden sheets"."""

    documents: list[Document]
    problems: list[Problem]
    notes: tuple[str, ...] = ()


ParseFile = Callable[[str, str, bytes], Contents]  # name without suffix, suffix, content


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser makes of a file: its blocks or, where it knows of none, its text. `title` may be "". One of
    `title_lines` is the title instead if the file's name confirms it."""

    title: str
    blocks: Sequence[Block] = ()
    text: str = ""
    meta: dict[str, str] = field(default_factory=dict)
    title_lines: Sequence[str] = ()


def _parse_pdf(content: bytes) -> Parsed:
    title, text = pdf_text(content)
    return Parsed(title, text=text)


def _parse_word(content: bytes) -> Parsed:
    title, blocks, title_lines = word_blocks(content)
    return Parsed(title, blocks, title_lines=title_lines)


def _parse_slides(content: bytes) -> Parsed:
    return Parsed(*slide_blocks(content))


def _parse_mail(content: bytes) -> Parsed:
    title, blocks, meta = mail_blocks(content)
    return Parsed(title, blocks, meta=meta)


def _parse_html(content: bytes) -> Parsed:
    if content.startswith(UTF_16_MARKS):
        decode_text(content)  # the parser makes something of whatever is broken
    return Parsed(*html_blocks(content))


def _parse_markdown(content: bytes) -> Parsed:
    meta, body = front_matter(decode_text(content))
    given_title = meta.pop("title", "")
    title, blocks = markdown_blocks(body, given_title)
    return Parsed(given_title or title, blocks, meta=meta)


PARSERS: dict[str, Callable[[bytes], Parsed]] = {  # of a file that is one document; each may take long or fail
    ".md": _parse_markdown,
    ".markdown": _parse_markdown,
    ".html": _parse_html,
    ".htm": _parse_html,
    ".pdf": _parse_pdf,
    ".docx": _parse_word,
    ".pptx": _parse_slides,
    ".eml": _parse_mail,
}
WORKBOOKS = (".xlsx", ".xlsm")  # whose sheets are documents, or their rows
TABLES = (".csv", ".tsv", *WORKBOOKS)
SUFFIXES = (".txt", *PARSERS, *TABLES, ".jsonl")
REMEDIES = {  # for a file of another kind, by what the programs that open it can write
    **dict.fromkeys((".doc", ".docm", ".odt", ".pages", ".rtf", ".wpd"), "save it as Word (.docx)"),
    **dict.fromkeys((".key", ".odp", ".pps", ".ppsx", ".ppt", ".pptm"), "save it as PowerPoint (.pptx)"),
    **dict.fromkeys((".epub", ".ps"), "save it as PDF"),
    **dict.fromkeys((".numbers", ".ods", ".xls", ".xlsb"), "save it as Excel workbook (.xlsx)"),
    ".msg": "save the mail as .eml",
    **dict.fromkeys((".jpeg", ".jpg", ".png", ".tif", ".tiff"), "run text recognition on it and save it as PDF"),
    **dict.fromkeys((".7z", ".gz", ".tar", ".zip"), "unpack it and add the files in it"),
}


def read_documents(
    path_or_name: str | Path,
    data: bytes | None = None,
    *,
    on_problem: OnProblem | None = None,
    on_note: OnNote | None = None,
    parse: ParseFile | None = None,
) -> Iterator[Document]:
    """The documents of a file, or of `data` under that name. `parse` takes the place of `parse_file` for the kinds in
    `PARSERS` and `WORKBOOKS`. `on_note` takes what is left out of a file, and what it is if its name says another kind.

    Raises UnreadableFile (its text begins with the name). A malformed line of a CSV or JSONL file, or row of a
    workbook, raises too, unless `on_problem` takes it: then the other lines are read.
    """
    name = clean_file_name(PurePosixPath(path_or_name).as_posix() if data is not None else Path(path_or_name).name)
    suffix = PurePosixPath(name).suffix.lower()
    if len(name) > MAX_NAME_CHARS:
        raise UnreadableFile(f"{name}: its name has {len(name):,} characters; shorten it to {MAX_NAME_CHARS:,}")
    if suffix not in SUFFIXES:
        remedy = REMEDIES.get(suffix, "save it as text (.txt), PDF or Word (.docx)")
        raise UnreadableFile(f"{name}: not a supported kind of document; {remedy}")

    def report(problem: Problem) -> None:
        if on_problem is None:
            raise UnreadableFile(f"{name}: {problem}")
        on_problem(problem)

    content = data if data is not None else read_bytes(path_or_name)
    with name_file(name):
        require_kind(suffix, content)
        suffix = ".html" if is_web_page(suffix, content) else suffix
        yield from _number_repeats(_read(name, suffix, content, report, on_note, parse), name)


def _read(
    name: str, suffix: str, content: bytes, report: OnProblem, on_note: OnNote | None, parse: ParseFile | None
) -> Iterator[Document]:
    stem = PurePosixPath(name).with_suffix("").as_posix()
    if suffix == ".jsonl":
        return _read_jsonl(stem, content, report)
    if suffix in (".csv", ".tsv"):
        return _read_table(stem, content, "\t" if suffix == ".tsv" else None, report)
    if parse is None or suffix not in (*PARSERS, *WORKBOOKS):
        parse = parse_file
    contents = parse(stem, suffix, content)
    if suffix != PurePosixPath(name).suffix.lower() and on_note is not None:
        on_note(WEB_PAGE)
    for problem in contents.problems:
        report(problem)
    if on_note is not None:
        for note in contents.notes:
            on_note(note)
    return iter(contents.documents)


def parse_file(stem: str, suffix: str, content: bytes) -> Contents:
    """The documents of a file of a kind that a parser reads whole, and its rows that cannot be read. Raises
    UnreadableFile."""
    require_office_kind(suffix, content)
    if suffix not in WORKBOOKS:
        return Contents([parse_single(stem, suffix, content)], [])
    documents: list[Document] = []
    problems: list[Problem] = []
    chars = 0
    book = read_book(content)
    for sheet in book.sheets:
        unit = "row" if len(book.sheets) == 1 else f"sheet {sheet.name}, row"
        if rows := sheet.empty_formula_rows:
            problems.append(Problem(rows[0], NO_RESULT.format(count(len(rows), "formula")), unit))
        for document in _read_sheet(stem, sheet, unit, problems):
            documents.append(document)
            chars += _count_chars(document)
            if chars > MAX_FILE_CHARS:
                raise UnreadableFile(f"its sheets have more than {MAX_FILE_CHARS:,} characters together; divide it")
    if not documents:
        nothing = "there is no text in the cells of its sheets; hidden sheets, charts and pictures are not read"
        raise UnreadableFile(str(problems[0]) if problems else nothing)
    hidden = describe_hidden(book.hidden_sheets, book.sheets)
    return Contents(documents, problems, (f"has {hidden}",) if hidden else ())


def _count_chars(document: Document) -> int:
    return len(document.text) + sum(map(len, document.meta.values()))


def _read_sheet(stem: str, sheet: Sheet, unit: str, problems: list[Problem]) -> Iterator[Document]:
    """A document for each row below a header that names a column of texts; of another sheet one, if it has text. Rows
    that cannot be read are added to `problems`."""
    docid = stem if is_default_sheet(sheet.name, 1) else f"{stem}-{sheet.name}"
    records = find_records(sheet)
    for number, record in records or ():
        try:
            yield _from_fields(record, docid, number, TITLE_COLUMNS)
        except ValueError as error:
            problems.append(Problem(number, str(error), unit))
    blocks = _clean_blocks(read_blocks(sheet)) if records is None else []
    if blocks:
        title = choose_sheet_title(stem, sheet.name, join_blocks(blocks))
        yield _make_document(docid, title, drop_title(title, blocks, frozenset(BlockKind)))


def parse_single(stem: str, suffix: str, content: bytes) -> Document:
    """The document that is all of a file; its text may be empty. Raises UnreadableFile."""
    parsed = PARSERS[suffix](content) if suffix in PARSERS else Parsed("", text=decode_text(content))
    blocks = _clean_blocks(parsed.blocks)
    text = join_blocks(blocks) or clean_text(parsed.text)
    title_lines = [clean_text(line).strip() for line in parsed.title_lines]
    title = find_confirmed_title(stem, title_lines) or clean_text(parsed.title).strip()
    title = title or choose_title(stem, "" if blocks else text)
    if title_lines:
        blocks = drop_title(title, blocks)
        text = join_blocks(blocks)
    if suffix == ".txt":
        text = join_divided_words(drop_rule_lines(text)).strip()
        return replace(_make_document(stem, title, blocks, text, parsed.meta), verbatim=find_shell_sessions(text))
    return _make_document(stem, title, blocks, text, parsed.meta)


def _clean_blocks(blocks: Sequence[Block]) -> list[Block]:
    return [b for b in (b._replace(text=clean_text(b.text).strip()) for b in blocks) if b.text]


def _make_document(
    docid: str, title: str, blocks: Sequence[Block], text: str | None = None, meta: dict[str, str] | None = None
) -> Document:
    """`text`: if it is not that of the blocks. Raises UnreadableFile."""
    text = (join_blocks(blocks) if text is None else text).strip()
    if len(text) > MAX_DOCUMENT_CHARS:
        raise UnreadableFile(f"its text has more than {MAX_DOCUMENT_CHARS:,} characters; divide it")
    return Document(
        docid,
        title[:MAX_TITLE_CHARS],
        text,
        meta=meta or {},
        verbatim=locate_blocks(blocks, BlockKind.PROGRAM),
        headings=locate_headings(blocks),
        rows=locate_blocks(blocks, BlockKind.ROW),
        definitions=locate_definitions(blocks),
    )


def describe_fault(error: Exception) -> str:
    """Of the program, not of the file."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"the program could not process it ({reason}); save it in another format"


def _number_repeats(documents: Iterator[Document], name: str) -> Iterator[Document]:
    ids: set[str] = set()
    times: Counter[str] = Counter()
    for document in documents:
        if not document.text:
            raise UnreadableFile("there is no text in it")
        unique_id = document.id
        while unique_id in ids:  # the file itself may have an id "a~2"
            times[document.id] += 1
            unique_id = f"{document.id}~{times[document.id] + 1}"
        ids.add(unique_id)
        yield replace(document, id=unique_id, source=name)
    if not ids:
        raise UnreadableFile("there is no document in it")


def _read_jsonl(stem: str, content: bytes, report: OnProblem) -> Iterator[Document]:
    """Our own `{"id", "title", "text"}`, BEIR's `{"_id", ...}`, MedQuAD's `{"id", "focus", "answer", ...}`."""
    for number, line in read_lines(content):
        try:
            if len(line) > MAX_LINE_BYTES:
                raise ValueError(f"it has more than {MAX_LINE_BYTES / 1e6:,.0f} MB; divide it")
            record = parse_json(line)
            if not isinstance(record, dict):
                raise ValueError("not a JSON object")
            if "candidates" in record:
                raise ValueError("a question with candidates, not a document: import the file as labels")
            yield _from_fields(record, stem, number)
        except (ValueError, RecursionError) as error:
            report(Problem(number, describe_problem(error)))


def _read_table(stem: str, content: bytes, delimiter: str | None, report: OnProblem) -> Iterator[Document]:
    text = decode_text(content)
    has_separator = names_delimiter(text.partition("\n")[0])
    if delimiter is None or has_separator:
        delimiter = max(DELIMITERS, key=find_header(text).count)
    csv.field_size_limit(1 << 27)
    rows = csv.reader(iterate_lines(io.StringIO(text, newline="")), delimiter=delimiter)
    if has_separator:
        next(rows)
    columns = [c.strip().lower() for c in next(rows, ())]
    if len(columns) > MAX_COLUMNS:
        raise UnreadableFile(f"it has {len(columns):,} columns; leave out those that are no texts")
    if not set(columns) & set(TEXT_COLUMNS):
        first, *others = TEXT_COLUMNS
        raise UnreadableFile(
            f"The sentences must be in a column named {first} (or {', '.join(others)}). Its columns are: "
            f"{', '.join(columns)}. Rename one and add the file again."
        )
    if twin := find_twin(columns):
        raise UnreadableFile(f"two of its columns are named {twin}. Rename one, or delete it, and add the file again.")
    row: list[str] | None = []
    while row is not None:
        try:
            row = next(rows, None)
            if row and len(row) > len(columns):
                raise ValueError(f"more fields than the {len(columns)} columns")
            if row:
                yield _from_fields(dict(zip(columns, row, strict=False)), stem, rows.line_num, TITLE_COLUMNS)
        except (ValueError, csv.Error) as error:
            report(Problem(rows.line_num, str(error)))


def _from_fields(record: dict, stem: str, number: int, titles: Sequence[str] = ("title",)) -> Document:
    """The document of a line; what is neither its id, its title nor its text is its `meta`. `titles`: the fields, the
    first of which that is there holds its title. Raises ValueError where it has no text."""
    column = next((c for c in TEXT_COLUMNS if c in record), None)
    text = record.get(column)
    if not isinstance(text, str) or not clean_text(text).strip():
        raise ValueError(f"no {' or '.join(TEXT_COLUMNS)}" if column is None else f"{column!r} holds no text")
    if len(text) > MAX_DOCUMENT_CHARS:
        raise ValueError(f"its text has more than {MAX_DOCUMENT_CHARS:,} characters; divide it")
    is_medquad = "focus" in record and column == "answer"
    ids = (str(record[key]).strip() for key in ("_id", "id") if record.get(key) is not None)
    given_id = next(filter(None, ids), "")
    docid = given_id or f"{stem}-{number}"
    if is_medquad and record.get("source"):
        docid = f"{record['source']}-{docid}"  # the institutes' own ids repeat between them
    if len(docid) > MAX_NAME_CHARS:
        raise ValueError(f"its id has more than {MAX_NAME_CHARS:,} characters; shorten it")
    name = next((t for t in (("focus",) if is_medquad else titles) if t in record), "title")
    title = str(record.get(name) or "").strip()
    fields = {"_id", "id", "title", column, name}
    meta = {str(k): v if isinstance(v, str) else json.dumps(v) for k, v in record.items() if k not in fields}
    content = clean_text(title)[:MAX_TITLE_CHARS], clean_text(text).strip()
    return Document(clean_text(docid), *content, meta=meta, is_numbered=not given_id)


def clean_file_name(name: str) -> str:
    """The name without lone surrogates. Python puts these for the bytes of a name that is not UTF-8; they are read as
    Windows-1252, so that two such names stay different."""
    halves = re.compile("[\udc80-\udcff]+")
    return clean_text(halves.sub(lambda x: x[0].encode("ascii", "surrogateescape").decode("cp1252", "replace"), name))


def clean_text(text: str) -> str:
    """Line ends as "\\n", a page break as a blank line, a soft hyphen at a line's end as a hyphen; without characters
    that nobody sees, and without NULs and lone surrogates, which no database stores."""
    text = re.sub(r"\r\n?", "\n", text).replace("\f", "\n\n").replace("\x00", "")
    text = _UNSEEN.sub("", re.sub("\u00ad(?=[ \t]*\n)", "-", text))
    return text.encode("utf-8", "replace").decode("utf-8")
