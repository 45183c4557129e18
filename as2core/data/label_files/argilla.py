"""Argilla's records, as `dataset.records.to_json()` of Argilla 2 writes them
(https://docs.argilla.io/latest/how_to_guides/import_export).

A list of {"id", "fields", "metadata", "suggestions", "responses": {question: [{"value", "user_id"}]}}. Of several
questions, the one called label counts. Newer files may have a response's `status`: a draft or a discarded one is no
label, nor is one without a value; suggestions are a model's. Files know users by their ids only: a person is called
"Argilla user 3f2c...". As a table, `records.to_datasets()` has the fields beside "label.responses", a list of values,
"label.responses.users" and "label.responses.status".

We write "Argilla user" with that id again, and for other people an id made of the name, with the name in the metadata
`annotators`. A suggestion's score is the probability that the sentence is correct. Argilla takes responses only of
users that it has.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from uuid import NAMESPACE_URL, UUID, uuid5

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
from as2core.sources.content import Source
from as2core.types import Candidate, Question

TOOL = "Argilla"
LABEL, SUBMISSION = "label", "submitted"
DRAFT = "a draft"
VALUES = ".responses"  # how a column of the values of a question ends


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The questions in the order of their first record."""
    return stream_questions(source, report, _parse)


def _parse(record: dict, report: Report) -> list[Row]:
    if "fields" not in record and any(key.endswith(VALUES) for key in record):
        record = _nest_row(record)
    fields, metadata, responses = (record.get(key) or {} for key in ("fields", "metadata", "responses"))
    if not isinstance(fields, dict) or not isinstance(responses, dict):
        raise ValueError("fields and responses are not by name: write the file with records.to_json() of Argilla 2")
    names = _read_names(metadata)
    labels = [*_read_responses(responses, names, report)] if responses else []
    return make_rows({**metadata, **fields}, labels, report)


def _nest_row(row: dict) -> dict:
    """The record of a row of `records.to_datasets()`."""
    responses = {
        key.removesuffix(VALUES): [
            {"value": value, "user_id": user, "status": status}
            for value, user, status in zip_longest(*(row.get(key + part) or [] for part in ("", ".users", ".status")))
        ]
        for key in row
        if key.endswith(VALUES)
    }
    return {"fields": row, "responses": responses}


def _read_names(metadata: dict) -> dict[str, str]:
    """User id -> name, of a file that we wrote."""
    pairs = (str(entry).partition(" ") for entry in metadata.get("annotators") or [])
    return {user: name for user, _, name in pairs}


def _read_responses(responses: dict[str, list[dict]], names: dict[str, str], report: Report) -> Iterator[Label]:
    question = choose_control(responses, "questions")
    for response in responses[question]:
        value, status, user = response.get("value"), response.get("status") or SUBMISSION, response.get("user_id")
        if value is None or status != SUBMISSION:
            report.omissions[DRAFT if status == "draft" else SKIP] += 1
            continue
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            value = value[0]  # of a question for several labels
        if not isinstance(value, str | int):
            raise OtherTask(f"the responses to {question!r} are not single labels")
        yield names.get(str(user), number_user(TOOL, user) if user else ""), str(value)


def to_lines(questions: Iterable[Question], predictions: Predictions | None = None) -> Iterator[str]:
    """A record for each sentence, in the parts of a JSON array."""
    return write_array(
        _to_record(question, place, predictions) for question in questions for place in range(len(question.candidates))
    )


def _to_record(question: Question, place: int, predictions: Predictions | None) -> dict[str, object]:
    candidate = question.candidates[place]
    labels = list_labels(candidate)
    return {
        "id": f"{question.qid}/{candidate.id}",
        "fields": {"question": question.text, "text": candidate.text},
        "metadata": _make_metadata(question, candidate, labels),
        "suggestions": _suggest(question, place, predictions),
        "responses": {
            LABEL: [{"value": label, "user_id": _find_user(name), "status": SUBMISSION} for name, label in labels]
        }
        if labels
        else {},
        "vectors": {},
    }


def _make_metadata(question: Question, candidate: Candidate, labels: Iterable[Label]) -> dict[str, object]:
    names = [f"{_find_user(name)} {name}" for name, _ in labels if number_user(TOOL, _find_user(name)) != name]
    title = {"title": candidate.title} if candidate.title else {}
    people = {"annotators": names} if names else {}
    return {"qid": question.qid, "docid": candidate.id, **title, **people}


def _find_user(name: str) -> str:
    """The id of a user of Argilla's, or one made of the name."""
    try:
        return str(UUID(find_number(TOOL, name)))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"as2:{name}"))


def _suggest(question: Question, place: int, predictions: Predictions | None) -> dict[str, object]:
    if predictions is None or (prediction := predictions.get(question, place)) is None:
        return {}
    label, score = prediction
    return {LABEL: {"value": label, "score": score, "agent": predictions.model}}
