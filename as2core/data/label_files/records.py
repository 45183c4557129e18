"""Rows of a table as JSON: a record with a question, a sentence and a label, one a line or in an array.

doccano exports them (https://doccano.github.io/doccano/), with the question among an example's metadata and the label
in a list; pandas and Hugging Face's datasets write them (`to_json`). Fields and labels are called as in a table
(`as2core.data.label_files.question_table`), and what else a record holds is left out. An empty list is no label.
"""

from collections.abc import Iterator

from as2core.data.label_files.rows import NAMES, describe_columns, find_name
from as2core.data.label_files.tool_records import Label, OtherTask, make_rows, stream_questions
from as2core.data.source import Report, Row
from as2core.sources.content import Source
from as2core.types import Question

NO_LABEL = "no label given"
IDS = ("qid", "docid")


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The questions in the order of their first record."""
    return stream_questions(source, report, _parse)


def _parse(record: dict, report: Report) -> list[Row]:
    field = find_name(record, "label")
    if field is None:
        raise ValueError(f"no label: it has to be in a field named {' or '.join(NAMES['label'])}")
    words = _list_words(record[field], field)
    if len(words) > 1:
        raise ValueError(f"{len(words)} labels in {field!r} instead of one")
    if not words:
        report.omissions[NO_LABEL] += 1
    signer = record.get("annotator")
    labels: list[Label] = [("" if signer is None else str(signer).strip(), word) for word in words]
    rows = make_rows(record, labels, report)
    report.columns = report.columns or _describe_fields([*record])
    return rows


def _describe_fields(fields: list[str]) -> tuple[str, ...]:
    names = {column: find_name(dict.fromkeys(fields), column) for column in NAMES}
    ids = {name: name for name in IDS if name in fields}
    return describe_columns(fields, {c: fields.index(name) for c, name in (names | ids).items() if name is not None})


def _list_words(value: object, field: str) -> list[str]:
    """The labels in a field, as a table has them. Raises OtherTask."""
    values = value if isinstance(value, list) else [value]
    if not all(v is None or isinstance(v, str | int | float) for v in values):
        raise OtherTask(f"{field!r} is not a single label")
    return [str(v) for v in values if v is not None and str(v).strip()]
