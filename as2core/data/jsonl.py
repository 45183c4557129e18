"""Our own format: one question a line.

`{"qid", "question", "candidates": [{"id", "text", "label"?, "title"?, "grade"?, "labels"?, "verdict"?}], "kind"?}`,
candidates in original order; a label is 1, 0, or absent (null) for a sentence nobody judged. A grade is the whole
number of a set with finer labels (ASNQ's 1 to 4). `labels` is who said what, `{"ann": "correct", "bob": "unsure"}`, and
`verdict` how a conflict among them was settled, `{"by": "cy", "label": "correct", "note"?}`; the label is what that
comes to, null where it comes to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from as2core.data.source import Report, Source, collect, reason_of, stream_lines, write_text
from as2core.types import Candidate, Question, Verdict

SAID = ("correct", "incorrect", "unsure")


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """The questions, and the lines that are none. Raises UnreadableFile (at the first such line when `strict`)."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """One question in memory at a time, and the ids of those before."""
    seen: dict[str, int] = {}
    for number, line in stream_lines(source, report):
        try:
            question = from_record(json.loads(line))
        except json.JSONDecodeError as error:
            report.add(number, f"not JSON ({error.msg.removesuffix(' starting at')} at column {error.colno})")
        except (ValueError, RecursionError) as error:
            report.add(number, reason_of(error))
        else:
            if question.qid in seen:
                report.add(number, f"question {question.qid!r} stands already at line {seen[question.qid]}")
                continue
            seen[question.qid] = number
            yield report.took(question)


def write(questions: Iterable[Question], path: str | Path) -> None:
    """One line a question; `read` gives the same questions again."""
    write_text(dumps(questions), path)


def dumps(questions: Iterable[Question]) -> str:
    """What `write` writes."""
    return "".join(lines(questions))


def lines(questions: Iterable[Question]) -> Iterator[str]:
    """A line for each question, with its end."""
    return (json.dumps(to_record(q), ensure_ascii=False) + "\n" for q in questions)


def to_record(question: Question) -> dict:
    """A question as the JSON object of its line."""
    candidates = []
    for c in question.candidates:
        record = {"id": c.id, "text": c.text, "label": c.label}
        if c.title:
            record["title"] = c.title
        if c.grade is not None:
            record["grade"] = c.grade
        if c.said:
            record["labels"] = dict(c.said)
        if c.verdict is not None:
            record["verdict"] = {"by": c.verdict.by, "label": c.verdict.label}
            if c.verdict.note:
                record["verdict"]["note"] = c.verdict.note
        candidates.append(record)
    record = {"qid": question.qid, "question": question.text, "candidates": candidates}
    return {**record, "kind": question.kind} if question.kind else record


def from_record(record: object) -> Question:
    """The question of a line's JSON object. Raises ValueError saying what is wrong."""
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    candidates = record.get("candidates")
    if not isinstance(candidates, list):
        raise ValueError('"candidates" is not a list')
    made = tuple(_candidate(c, i) for i, c in enumerate(candidates))
    if len({c.id for c in made}) < len(made):
        raise ValueError("two candidates have the same id")
    return Question(_name(record, "qid"), _string(record, "question"), made, _string(record, "kind", ""))


def _candidate(record: object, position: int) -> Candidate:
    where = f"candidate {position + 1}: "
    if not isinstance(record, dict):
        raise ValueError(where + "not a JSON object")
    label = record.get("label")
    if isinstance(label, bool) or label not in (0, 1, None):
        raise ValueError(f"{where}label {label!r} is not 0, 1 or null")
    grade = record.get("grade")
    if isinstance(grade, bool) or not isinstance(grade, int | None):
        raise ValueError(f"{where}grade {grade!r} is not a whole number")
    try:
        label = None if label is None else int(label)
        title, said = _string(record, "title", ""), _said(record.get("labels"))
        verdict = _verdict(record.get("verdict"))
        if verdict is not None and not said:
            raise ValueError('a "verdict" without the "labels" it settles')
        return Candidate(_name(record, "id"), _string(record, "text"), label, title, grade, said, verdict)
    except ValueError as error:
        raise ValueError(where + str(error)) from error


def _said(record: object) -> tuple[tuple[str, str], ...]:
    if record is None:
        return ()
    if not isinstance(record, dict):
        raise ValueError('"labels" is not a JSON object of names')
    for name in record:
        if not name.strip():
            raise ValueError('a name in "labels" is empty')
        if _string(record, name) not in SAID:
            raise ValueError(f"label {record[name]!r} of {name!r} is not {', '.join(SAID)}")
    return tuple(record.items())


def _verdict(record: object) -> Verdict | None:
    if record is None:
        return None
    if not isinstance(record, dict):
        raise ValueError('"verdict" is not a JSON object')
    made = Verdict(_string(record, "by"), _string(record, "label"), _string(record, "note", ""))
    if not made.by.strip():
        raise ValueError('"by" of "verdict" is empty')
    if made.label not in SAID:
        raise ValueError(f"verdict {made.label!r} is not {', '.join(SAID)}")
    return made


def _name(record: dict, key: str) -> str:
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not _string(record, key):
        raise ValueError(f'"{key}" is missing')
    return value


def _string(record: dict, key: str, default: str | None = None) -> str:
    value = record.get(key)
    value = default if value is None else value
    if not isinstance(value, str):
        raise ValueError(f'"{key}" is missing' if value is None else f'"{key}" is not a string')
    if not value.isascii() and value != value.encode("utf-8", "replace").decode("utf-8"):
        raise ValueError(f'half a character (a lone surrogate) in "{key}"')
    return value
