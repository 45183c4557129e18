"""Label Studio's tasks: its exports JSON and JSON-MIN, and the JSON that it imports.

JSON (https://labelstud.io/guide/task_format) is a list of tasks: {"data": fields, "annotations": [{"completed_by",
"result": [{"from_name", "type": "choices", "value": {"choices": [label]}}], "was_cancelled"}], "predictions"}. JSON-MIN
(https://labelstud.io/guide/export) has one record an annotation: the fields, the choice by the name of its control, and
`annotator`. Predictions and drafts are no labels. Of several controls, the one called label counts.

`completed_by` is a user's number, or {"email", "first_name", ...}: the person's name is the address, or else the name,
or "Label Studio user 3". We write the address, or the number again; Label Studio takes only those of its members. A
prediction's score is the probability that the sentence is correct.
"""

from collections.abc import Iterable, Iterator, Mapping

from as2core.data.label_rows import NAMES, find_name
from as2core.data.source import Report, Row, Source
from as2core.data.tool_records import (
    SKIP,
    Label,
    OtherTask,
    Predictions,
    choose_control,
    find_number,
    list_labels,
    make_rows,
    number_user,
    stream_questions,
    write_array,
)
from as2core.types import Candidate, Question

TOOL = "Label Studio"
NO_RESULT = "sent without an answer"


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The questions in the order of their first task."""
    return stream_questions(source, report, _parse)


def _parse(record: dict, report: Report) -> list[Row]:
    data = record.get("data")
    if isinstance(data, dict):
        labels = [*_read_annotations(record.get("annotations", record.get("completions")) or [], report)]
        return make_rows(data, labels, report)
    labels = [(_read_user(record.get("annotator")), _read_short_choice(record))]
    return make_rows(record, labels, report)


def _read_annotations(annotations: list[dict], report: Report) -> Iterator[Label]:
    for annotation in annotations:
        results = annotation.get("result") or []
        choices = [r for r in results if "choices" in (r.get("value") or {})]
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            report.omissions[SKIP] += 1
        elif not results:
            report.omissions[NO_RESULT] += 1
        elif not choices:
            raise OtherTask(f"its results are {_list_types(results)}, not choices")
        else:
            control = choose_control((str(r.get("from_name")) for r in choices), "controls")
            words = [str(w) for r in choices if str(r.get("from_name")) == control for w in r["value"]["choices"]]
            if len(words) != 1:
                raise ValueError(f"{len(words)} choices in {control!r} instead of one")
            yield _read_user(annotation.get("completed_by")), words[0]


def _list_types(results: list[dict]) -> str:
    return " and ".join(sorted({repr(r.get("type")) for r in results}))


def _read_short_choice(record: dict) -> str:
    """The choice of a record of JSON-MIN."""
    control = find_name(record, "label")
    if control is None:
        raise ValueError(f"no choice named {' or '.join(NAMES['label'])}")
    choice = record[control]
    if not isinstance(choice, str | int):
        raise OtherTask(f"{control!r} is not a single choice")
    return str(choice)


def _read_user(user: object) -> str:
    """The name of a user, "" for none."""
    if isinstance(user, Mapping):
        name = " ".join(str(user.get(key) or "") for key in ("first_name", "last_name")).strip()
        return str(user.get("email") or name or "") or _read_user(user.get("id"))
    if isinstance(user, int) or (isinstance(user, str) and user.isdecimal()):
        return number_user(TOOL, user)
    return str(user or "").strip()


def to_lines(questions: Iterable[Question], predictions: Predictions | None = None) -> Iterator[str]:
    """A task for each sentence, in the parts of a JSON array."""
    return write_array(
        {"data": _make_data(question, c), **_annotate(c), **_predict(question, place, predictions)}
        for question in questions
        for place, c in enumerate(question.candidates)
    )


def _make_data(question: Question, candidate: Candidate) -> dict[str, str]:
    title = {"title": candidate.title} if candidate.title else {}
    return {"question": question.text, "text": candidate.text, **title, "qid": question.qid, "docid": candidate.id}


def _annotate(candidate: Candidate) -> dict[str, list]:
    """`ground_truth` is true unless said otherwise."""
    rest = {"was_cancelled": False, "ground_truth": False}
    return {
        "annotations": [
            {"result": [_make_result(label)], **_make_user(name), **rest} for name, label in list_labels(candidate)
        ]
    }


def _make_user(name: str) -> dict[str, object]:
    """Nobody stands for whoever imports the file."""
    number = find_number(TOOL, name)
    if number.isdecimal():
        return {"completed_by": int(number)}
    return {"completed_by": {"email": name}} if name else {}


def _predict(question: Question, place: int, predictions: Predictions | None) -> dict[str, list]:
    prediction = predictions.get(question, place) if predictions else None
    if predictions is None or prediction is None:
        return {}
    label, score = prediction
    return {"predictions": [{"model_version": predictions.model, "score": score, "result": [_make_result(label)]}]}


def _make_result(label: str) -> dict[str, object]:
    return {"id": "label", "from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
