"""Our own format: one question a line.

`{"qid", "question", "candidates": [{"id", "text", "label"?, "title"?, "grade"?, "labels"?, "verdict"?}], "kind"?,
"split"?}`, candidates in original order; a label is 1, 0, or absent (null) for an unlabelled sentence. A grade is the
whole number of a set with finer labels (ASNQ's 1 to 4). `labels` are the annotators', `{"ann": "correct", "bob":
"unsure"}`, and `verdict` is how a conflict among them was settled, `{"by": "cy", "label": "correct", "note"?}`; the
label is the result, null where there is none. `split` is train, dev or test: which part of a divided set the question
is.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from as2core.data.source import Report, check_characters, drop_repeats, json_line, read_all, stream_records
from as2core.sources.content import Source
from as2core.system.files import open_writer
from as2core.types import LABELS, SPLITS, Candidate, Json, Question, Verdict


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """The questions, and the lines that are none. Raises UnreadableFile (at the first such line when `strict`)."""
    return read_all(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """One question in memory at a time, with the ids of those before."""
    return drop_repeats(stream_records(source, report, from_record), report)


def write(questions: Iterable[Question], path: str | Path) -> None:
    """One line a question; `read` gives the same questions again. One question is in memory at a time."""
    with open_writer(path) as write_line:
        for line in to_lines(questions):
            write_line(line)


def dumps(questions: Iterable[Question]) -> str:
    """The questions as text, in this format."""
    return "".join(to_lines(questions))


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """A line for each question, with its end."""
    return (json_line(to_record(q)) for q in questions)


def digest(questions: Iterable[Question]) -> str:
    """The SHA-256 of their lines, in hexadecimal."""
    result = sha256()
    for line in to_lines(questions):
        result.update(line.encode("utf-8", "surrogatepass"))
    return result.hexdigest()


def to_record(question: Question) -> dict[str, Json]:
    """A question as the JSON object of its line."""
    candidates: list[Json] = [_candidate_record(c) for c in question.candidates]
    optional = _drop_empty(kind=question.kind, split=question.split)
    return {"qid": question.qid, "question": question.text, "candidates": candidates, **optional}


def _candidate_record(c: Candidate) -> dict[str, Json]:
    v = c.verdict
    verdict: Json = {"by": v.by, "label": v.label, **_drop_empty(note=v.note)} if v else None
    optional = _drop_empty(title=c.title, grade=c.grade, labels=dict(c.annotations), verdict=verdict)
    return {"id": c.id, "text": c.text, "label": c.label, **optional}


def _drop_empty(**fields: Json) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value not in (None, "", {})}


NO_CANDIDATES = 'no "candidates": a line is a question with all of them; a label a line has question, text and label'


def from_record(record: object) -> Question:
    """The question of a line's JSON object. Raises ValueError that names the field."""
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    candidates = record.get("candidates")
    if candidates is None:
        raise ValueError(NO_CANDIDATES)
    if not isinstance(candidates, list):
        raise ValueError('"candidates" is not a list')
    own = tuple(parse_candidate(c, i) for i, c in enumerate(candidates))
    if len({c.id for c in own}) < len(own):
        raise ValueError("two candidates have the same id")
    kind, split = _read_text(record, "kind", ""), _read_text(record, "split", "")
    if split not in ("", *SPLITS):
        raise ValueError(f'"split" {split!r} is not {", ".join(SPLITS)}')
    return Question(_read_id(record, "qid"), _read_text(record, "question"), own, kind=kind, split=split)


def parse_candidate(record: object, position: int) -> Candidate:
    """The candidate of a JSON object at a position in its question. Raises ValueError that names the field."""
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
        title, annotations = _read_text(record, "title", ""), _parse_annotations(record.get("labels"))
        verdict = _parse_verdict(record.get("verdict"))
        if verdict is not None and not annotations:
            raise ValueError('a "verdict" without the "labels" it settles')
        return Candidate(_read_id(record, "id"), _read_text(record, "text"), label, title, grade, annotations, verdict)
    except ValueError as error:
        raise ValueError(where + str(error)) from error


def _parse_annotations(record: object) -> tuple[tuple[str, str], ...]:
    if record is None:
        return ()
    if not isinstance(record, dict):
        raise ValueError('"labels" is not a JSON object of names')
    for name in record:
        if not name.strip():
            raise ValueError('a name in "labels" is empty')
        if _read_text(record, name) not in LABELS:
            raise ValueError(f"label {record[name]!r} of {name!r} is not {', '.join(LABELS)}")
    return tuple(record.items())


def _parse_verdict(record: object) -> Verdict | None:
    if record is None:
        return None
    if not isinstance(record, dict):
        raise ValueError('"verdict" is not a JSON object')
    verdict = Verdict(_read_text(record, "by"), _read_text(record, "label"), _read_text(record, "note", ""))
    if not verdict.by.strip():
        raise ValueError('"by" of "verdict" is empty')
    if verdict.label not in LABELS:
        raise ValueError(f"verdict {verdict.label!r} is not {', '.join(LABELS)}")
    return verdict


def _read_id(record: dict, key: str) -> str:
    value = record.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not (text := _read_text(record, key)):
        raise ValueError(f'"{key}" is missing')
    return text


def _read_text(record: dict, key: str, default: str | None = None) -> str:
    value = record.get(key)
    value = default if value is None else value
    if not isinstance(value, str):
        raise ValueError(f'"{key}" is missing' if value is None else f'"{key}" is not a string')
    check_characters(value, key)
    return value
