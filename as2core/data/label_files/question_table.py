"""Labels as people keep them in a spreadsheet: a table of question, sentence and label, with a header.

CSV with commas, semicolons (as spreadsheets write it where the comma is the decimal sign) or tabs. Columns are found by
their names, in any order; others are left out. Rows may name their annotators (`as2core.data.label_files.rows`), as
labelling tools write it. Written, what a spreadsheet would take for a formula has an apostrophe in front, which reading
takes away again.

A sentence is known by a digest of its text, or by its `docid` where there is such a column and each id has one text: a
search team's ids then leave with the labels. Where the ids are those of longer documents, several sentences share one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from as2core.data import source
from as2core.data.label_files.label_studio import read_user
from as2core.data.label_files.rows import NAMES, describe_columns, join_rows, parse_label, sign_label
from as2core.data.pairs import has_texts
from as2core.data.source import Report, Row
from as2core.errors import UnreadableFile
from as2core.sources.content import Source
from as2core.sources.spreadsheet import DELIMITERS, defuse_formula, restore_formula, split_header
from as2core.types import Question

COLUMNS = ("question", "sentence", "label", "title")  # of a written table
REQUIRED = COLUMNS[:3]
ALIASES = {"query text": "query", "doc id": "docid", "doc_id": "docid"}  # columns of Quepid's
Pair = tuple[str, str]  # the digests of a question and a sentence
COLUMN_NAMES = {**NAMES, "docid": ("docid",), "annotation_id": ("annotation_id",)}


def find_columns(header: str) -> tuple[str, dict[str, int]] | None:
    """The delimiter of a table's first line, and where each column is; None if one that is needed is missing."""
    for delimiter in DELIMITERS:
        fields = [field.strip().lower() for field in split_header(header, delimiter)]
        fields = [ALIASES.get(field, field) for field in fields]
        places = {c: fields.index(name) for c in COLUMN_NAMES for name in reversed(COLUMN_NAMES[c]) if name in fields}
        if all(c in places for c in REQUIRED):
            return delimiter, places
    return None


def stream(file: Source, report: Report) -> Iterator[Question]:
    """Questions in the order of their first row. Their ids are digests of the texts. Raises UnreadableFile without
    the three columns."""
    header = source.read_header(file)
    columns = find_columns(header)
    if columns is None:
        needed = "; ".join(" or ".join(NAMES[c]) for c in REQUIRED)
        line = ", ".join(header.split(max(DELIMITERS, key=header.count))) or "empty"
        raise UnreadableFile(
            f"{report.name}: the first line must name three columns: {needed}; its columns are: {line}"
        )
    delimiter, places = columns
    rows = source.stream_rows(file, report, delimiter)
    _, names = next(rows, (0, []))
    _refuse_twins(names, places, report)
    report.columns = describe_columns(names, places)
    docids: dict[Pair, str] = {}
    parsed = source.parse_each(rows, partial(_parse, report, places, docids), report)
    yield from source.group_rows(_name_by_docid([*join_rows(parsed, report)], docids), report)


def _refuse_twins(header: Sequence[str], places: Mapping[str, int], report: Report) -> None:
    """Raises UnreadableFile where two columns have the name of one that is read."""
    names = [name.strip().lower() for name in header]
    if twins := [names[place] for place in places.values() if names.count(names[place]) > 1]:
        raise UnreadableFile(f"{report.name}: two columns are named {twins[0]!r}; rename one, or delete it")


def _name_by_docid(rows: Sequence[tuple[int, Row]], docids: Mapping[Pair, str]) -> Iterator[tuple[int, Row]]:
    texts = Counter(docid for docid, _ in {(docid, digest) for (_, digest), docid in docids.items()})
    for number, (qid, question, candidate) in rows:
        docid = docids.get((qid, candidate.id), "")
        yield number, (qid, question, replace(candidate, id=docid) if texts[docid] == 1 else candidate)


def _parse(report: Report, places: Mapping[str, int], docids: dict[Pair, str], row: Sequence[str]) -> Row:
    if len(row) <= (last := max(places[c] for c in REQUIRED)):
        raise ValueError(f"{len(row)} fields, and the header has at least {last + 1}")
    cells = {c: restore_formula(row[place]).strip() for c, place in places.items() if place < len(row)}
    question, sentence = cells["question"], cells["sentence"]
    if not question or not sentence:
        raise ValueError(f"the {'sentence' if question else 'question'} is empty")
    candidate = replace(parse_label(cells["label"], report), id=source.digest_id("s", sentence), text=sentence)
    qid = source.digest_id("q", question)
    if docid := cells.get("docid"):
        docids.setdefault((qid, candidate.id), docid)
    if name := _find_signer(places, cells.get("annotator", "")):
        candidate = sign_label(candidate, name, cells["label"])
    return qid, question, replace(candidate, title=cells.get("title", ""))


def _find_signer(places: Mapping[str, int], annotator: str) -> str:
    """Label Studio's CSV may have a user's number, as its JSON has."""
    return read_user(annotator) if "annotation_id" in places else annotator


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """The header, and a row for each labelled candidate that has a text."""
    yield source.format_rows([COLUMNS])
    for q, c in source.iterate_labels(questions):
        if has_texts(q, c):
            label = ("correct" if c.label else "incorrect") if c.grade is None else str(c.relevance)
            yield source.format_rows([[defuse_formula(text) for text in (q.text, c.text, label, c.title)]])
