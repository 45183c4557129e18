"""Label Studio's tasks: its exports JSON and JSON-MIN, and the JSON that it imports.

JSON (https://labelstud.io/guide/task_format) is a list of tasks: {"data": fields, "annotations": [{"completed_by",
"result": [{"from_name", "type": "choices", "value": {"choices": [label]}}], "was_cancelled"}], "predictions"}. JSON-MIN
(https://labelstud.io/guide/export) has one record an annotation: the fields, the choice by the name of its control, and
`annotator`. Predictions and drafts are no labels. Of several controls, the one called label counts. Where there are no
choices, a rating does: {"type": "rating", "value": {"rating": 4}}. It has one star or more, so whoever reads it says
from how many on a sentence is correct.

`completed_by` is a user's number, or {"email", "first_name", ...}: the person's name is the address, or else the name,
or "Label Studio user 3". We write the address, or the number again; Label Studio takes only those of its members. A
prediction's score is the probability that the sentence is correct.
"""

from collections.abc import Iterable, Iterator, Mapping

from as2core.data.label_files.rows import NAMES, find_name
from as2core.data.label_files.tool_records import (
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
from as2core.data.source import Report, Row
from as2core.errors import UnreadableFile
from as2core.sources.content import Source
from as2core.types import Candidate, Question

TOOL = "Label Studio"
STARS_REMEDY = "set from how many on it is correct (Correct from a rating of, or as2 labels import --correct-from)"
NO_RESULT = "sent without an answer"


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The questions in the order of their first task."""
    return stream_questions(source, report, _parse)


def _parse(record: dict, report: Report) -> list[Row]:
    data = record.get("data")
    if isinstance(data, dict):
        labels = [*_read_annotations(record.get("annotations", record.get("completions")) or [], report)]
        return make_rows(data, labels, report)
    if "annotation_id" in record and record["annotation_id"] is None:  # nobody annotated the task
        return make_rows(record, [], report)
    return make_rows(record, [(read_user(record.get("annotator")), _read_short_choice(record, report))], report)


def _read_annotations(annotations: list[dict], report: Report) -> Iterator[Label]:
    for annotation in annotations:
        results = annotation.get("result") or []
        choices = _find_results(results, "choices") or _find_results(results, "rating")
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            report.omissions[SKIP] += 1
        elif not results:
            report.omissions[NO_RESULT] += 1
        elif not choices:
            raise OtherTask(f"its results are {_list_types(results)}, not choices or ratings")
        else:
            control = choose_control((str(r.get("from_name")) for r in choices), "controls")
            values = [r["value"] for r in choices if str(r.get("from_name")) == control]
            words = [
                w for v in values for w in (v["choices"] if "choices" in v else [_check_stars(v["rating"], report)])
            ]
            if len(words) != 1:
                raise ValueError(f"{len(words)} choices in {control!r} instead of one")
            yield read_user(annotation.get("completed_by")), str(words[0])


def _find_results(results: list[dict], kind: str) -> list[dict]:
    return [result for result in results if kind in (result.get("value") or {})]


def _list_types(results: list[dict]) -> str:
    return " and ".join(sorted({repr(r.get("type")) for r in results}))


def _check_stars(rating: object, report: Report) -> object:
    """Raises UnreadableFile where all are correct, because nobody said how many stars are enough."""
    if report.min_correct <= 1:
        raise UnreadableFile(f"{report.name}: its labels are stars, and every sentence has one or more: {STARS_REMEDY}")
    return rating


def _read_short_choice(record: dict, report: Report) -> str:
    """The choice of a record of JSON-MIN."""
    control = find_name(record, "label")
    if control is None:
        raise ValueError(f"no choice named {' or '.join(NAMES['label'])}: it has another name, or was {NO_RESULT}")
    choice = record[control]
    match choice:
        case [{"rating": rating}]:
            choice = _check_stars(rating, report)
    if not isinstance(choice, str | int):
        raise OtherTask(f"{control!r} is not a single choice")
    return str(choice)


def read_user(user: object) -> str:
    """The name of a user, "" for none."""
    if isinstance(user, Mapping):
        name = " ".join(str(user.get(key) or "") for key in ("first_name", "last_name")).strip()
        return str(user.get("email") or name or "") or read_user(user.get("id"))
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
    if predictions is None or (prediction := predictions.get(question, place)) is None:
        return {}
    label, score = prediction
    return {"predictions": [{"model_version": predictions.model, "score": score, "result": [_make_result(label)]}]}


def _make_result(label: str) -> dict[str, object]:
    return {"id": "label", "from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
