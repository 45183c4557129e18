"""Prodigy's annotations, as `prodigy db-out` writes them: JSON lines (https://prodi.gy/docs/api-interfaces).

An answer is "accept", "reject" or "ignore"; an ignored one is no label. Three interfaces hold labels:

- `classification`: {"text": sentence, "label"?, "answer"}; accepting "incorrect" is rejecting "correct".
- `choice` of a label: {"text": sentence, "options": [{"id": "correct"}, ...], "accept": ["correct"], "answer"}.
- `choice` of sentences: {"text": question, "options": [{"id", "text": sentence}], "accept": [ids], "answer"}; those not
  chosen are incorrect, and a list that was rejected as a whole has no label.

The question is a field of the task, or of its `meta`. `_annotator_id`, or `_session_id`, is whose label it is
(https://prodi.gy/docs/review); a session without a name is called by its time, and nobody's. We write the first form,
with "unsure" as a label that was accepted.
"""

import re
from collections.abc import Iterable, Iterator

from as2core.data.label_files.rows import LABELS, find_name
from as2core.data.label_files.tool_records import SKIP, OtherTask, list_labels, make_rows, stream_questions
from as2core.data.source import Report, Row, json_line
from as2core.sources.content import Source
from as2core.types import CORRECT, INCORRECT, Candidate, Question

INTERFACES = ("classification", "choice", "text", "html", "blocks")
ACCEPT, REJECT, IGNORE = ANSWERS = ("accept", "reject", "ignore")
_UNNAMED = re.compile(r"(.+-)?\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")  # a session's time


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The questions in the order of their first line."""
    return stream_questions(source, report, _parse)


def _parse(record: dict, report: Report) -> list[Row]:
    answer, options = record.get("answer"), record.get("options")
    view = record.get("_view_id") or ("spans" if record.get("spans") and not (options or record.get("label")) else "")
    if view and view not in INTERFACES:
        raise OtherTask(f"its interface is {view!r}, not classification or choice")
    if answer not in ANSWERS:
        raise ValueError(f"answer {answer!r} is not {', '.join(ANSWERS)}")
    meta = record.get("meta")
    fields = {**(meta if isinstance(meta, dict) else {}), **record}
    del fields["answer"]  # which is what a sentence may be called
    if options and not _are_labels(options):
        return _parse_sentences(fields, options, report, is_skipped=answer != ACCEPT)
    label = _read_choice(record, options) if options else str(record.get("label") or CORRECT)
    if not options and answer == REJECT:
        label = _reverse(label)
    is_skipped = answer == IGNORE or (options and answer == REJECT)
    if is_skipped:
        report.omissions[SKIP] += 1
    return make_rows(fields, [] if is_skipped else [(_read_name(record), label)], report)


def _are_labels(options: list[dict]) -> bool:
    return all(_find_label(option) for option in options)


def _find_label(option: dict) -> str:
    """What an option is called, if that is a label; else ""."""
    names = (str(option[key]) for key in ("id", "text") if option.get(key))
    return next((name for name in names if name.lower() in LABELS), "")


def _read_choice(record: dict, options: list[dict]) -> str:
    """The label that was chosen; "" for an answer that is none."""
    choice = record.get("accept") or []
    if record["answer"] != ACCEPT:
        return ""
    if len(choice) != 1:
        raise ValueError(f"{len(choice)} options chosen instead of one")
    return next((_find_label(option) for option in options if option.get("id") == choice[0]), str(choice[0]))


def _reverse(label: str) -> str:
    value = LABELS.get(label.lower())
    if value is None:
        raise ValueError(f"label {label!r} rejected: only correct and incorrect have an opposite")
    return INCORRECT if value else CORRECT


def _parse_sentences(fields: dict, options: list[dict], report: Report, *, is_skipped: bool) -> list[Row]:
    question = fields[find_name(fields, "question") or "text"]
    choice = fields.get("accept") or []
    if is_skipped:
        report.omissions[SKIP] += 1
    name = _read_name(fields)
    rows: list[Row] = []
    for option in options:
        label = CORRECT if option.get("id") in choice else INCORRECT
        task = {**option, "question": question, "qid": fields.get("qid")}
        rows += make_rows(task, [] if is_skipped else [(name, label)], report)
    return rows


def _read_name(record: dict) -> str:
    name = str(record.get("_annotator_id") or record.get("_session_id") or "").strip()
    return "" if _UNNAMED.fullmatch(name) else name


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """A line for each label of each annotator; sentences without a label have none."""
    for question in questions:
        for candidate in question.candidates:
            for name, label in list_labels(candidate):
                yield json_line(_to_task(question, candidate, name, label))


def _to_task(question: Question, candidate: Candidate, name: str, label: str) -> dict:
    meta = {"question": question.text, "qid": question.qid, "docid": candidate.id}
    session = {"_annotator_id": name, "_session_id": name} if name else {}
    return {
        "text": candidate.text,
        "label": CORRECT if label == INCORRECT else label,
        "answer": REJECT if label == INCORRECT else ACCEPT,
        "meta": {**meta, "title": candidate.title} if candidate.title else meta,
        "_view_id": "classification",
        **session,
    }
