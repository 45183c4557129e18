"""The files of Prodigy, Label Studio, Argilla and Quepid: who gave which label, what is none, and what is refused."""

import json

import pytest

from as2core.data.catalog import STREAMS, TOOLS, WRITERS, sniff
from as2core.data.label_files import csv_ratings, question_table
from as2core.data.label_files.argilla import to_lines as to_records
from as2core.data.label_files.label_studio import to_lines as to_tasks
from as2core.data.label_files.tool_records import Predictions
from as2core.data.source import read_all
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question

QUESTION, SENTENCE, OTHER = "Who built it?", "Eiffel's company did.", "It is tall."
FIELDS = {"question": QUESTION, "text": SENTENCE}
ADA = "00000000-0000-0000-0000-000000000001"


def annotation(by, *choices, name="label", **more):
    result = [{"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [*choices]}}]
    return {"id": 7, "completed_by": by, "result": result if choices else [], "was_cancelled": False} | more


def task(*annotations, **data):
    return {"id": 1, "annotations": [*annotations], "drafts": [], "predictions": [], "data": FIELDS | data}


def record(responses, **fields):  # as Record.to_dict of argilla 2.8 has it
    more = {"metadata": {}, "suggestions": {"label": {"value": "correct", "score": 0.9, "agent": "m"}}, "vectors": {}}
    return {"id": "r", "fields": FIELDS | fields, "responses": responses, "status": "pending"} | more


def answer(answer="accept", **more):
    return {"text": SENTENCE, "meta": {"question": QUESTION}, "answer": answer, "_view_id": "classification"} | more


def read(records, fmt):
    content = "\n".join(map(json.dumps, records)) if fmt == "prodigy" else json.dumps(records, indent=1)
    assert sniff(content.encode()) == fmt
    return read_all(STREAMS[fmt], content.encode())


def list_labels(questions):
    return [(c.text, c.label, c.annotations) for q in questions for c in q.candidates]


def test_prodigy_s_answers_are_labels_by_its_annotators():
    questions, report = read(
        [
            answer(_annotator_id="ds-ann", _session_id="other"),
            answer("reject", _session_id="ds-bob"),
            answer("ignore", _session_id="ds-cy"),
            answer("accept", text=OTHER, label="INCORRECT", _session_id="2024-02-06_10-17-19"),
        ],
        "prodigy",
    )
    assert list_labels(questions) == [
        (SENTENCE, None, (("ds-ann", "correct"), ("ds-bob", "incorrect"))),
        (OTHER, 0, ()),  # of a session without a name
    ]
    assert report == [] and dict(report.omissions) == {"skipped by the annotator": 1}


def test_prodigy_s_choice_is_of_a_label_or_of_the_sentences_that_answer():
    options = [{"id": "correct", "text": "Answers it"}, {"id": "incorrect", "text": "Does not"}, {"id": 3, "text": "?"}]
    chosen = [["correct"], ["incorrect"], [3], []]
    tasks = [answer(options=options, accept=a, _view_id="choice", text=f"Text {i}.") for i, a in enumerate(chosen)]
    questions, [problem] = read([t | {"_annotator_id": "ann"} for t in tasks], "prodigy")
    assert list_labels(questions) == [
        ("Text 0.", 1, (("ann", "correct"),)),
        ("Text 1.", 0, (("ann", "incorrect"),)),
        ("Text 2.", None, (("ann", "unsure"),)),
    ]
    assert problem == "line 4: 0 options chosen instead of one"
    sentences = {"text": QUESTION, "options": [{"id": "a", "text": SENTENCE}, {"id": "", "text": OTHER}]}
    lists = [
        {**sentences, "accept": ["a"], "answer": "accept", "_annotator_id": "ann"},
        {**sentences, "accept": ["b"], "answer": "reject", "_annotator_id": "bob"},
    ]
    [question], report = read(lists, "prodigy")
    assert question.text == QUESTION and dict(report.omissions) == {"skipped by the annotator": 1}
    assert list_labels([question]) == [(SENTENCE, 1, (("ann", "correct"),)), (OTHER, 0, (("ann", "incorrect"),))]


def test_label_studio_s_annotations_are_labels_by_address_name_or_number():
    questions, report = read(
        [
            task(
                annotation({"id": 1, "email": "ann@x.org", "first_name": "Ann"}, "correct"),
                annotation({"id": 2, "email": "", "first_name": "Bob", "last_name": "B."}, "No"),
                annotation(3, "unsure"),
                annotation(4, "correct", was_cancelled=True),
                annotation(5),
            ),
            task(text=OTHER, title="Tower"),
        ],
        "label-studio",
    )
    labels = (("Bob B.", "incorrect"), ("Label Studio user 3", "unsure"), ("ann@x.org", "correct"))
    assert list_labels(questions) == [(SENTENCE, None, labels), (OTHER, None, ())]
    assert questions[0].candidates[1].title == "Tower" and report == []
    assert dict(report.omissions) == {"skipped by the annotator": 1, "sent without an answer": 1}


def test_label_studio_s_json_min_has_one_label_a_record():
    def line(annotator, label):
        return FIELDS | {"id": 1, "label": label, "annotator": annotator, "annotation_id": 7, "lead_time": 1.0}

    questions, problems = read([line("ann@x.org", "correct"), line(3, "incorrect"), line(3, "maybe")], "label-studio")
    assert list_labels(questions) == [
        (SENTENCE, None, (("Label Studio user 3", "incorrect"), ("ann@x.org", "correct")))
    ]
    assert problems == ["record 3: label 'maybe' is neither correct, incorrect, empty nor a whole number"]
    nobody = FIELDS | {"id": 2, "annotator": None, "annotation_id": None}
    empty = FIELDS | {"id": 2, "annotator": 3, "annotation_id": 8}
    questions, problems = read([line(3, "correct"), nobody | {"text": OTHER}, empty], "label-studio")
    assert list_labels(questions) == [
        (SENTENCE, 1, (("Label Studio user 3", "correct"),)),
        (OTHER, None, ()),
    ]
    assert [p.partition(" named ")[0] for p in problems] == ["record 3: no choice"]
    assert problems[0].endswith(": it has another name, or was sent without an answer")
    spans = [{"start": 0, "end": 6, "text": "Eiffel", "labels": ["PER"]}]
    with pytest.raises(UnreadableFile, match=r"record 1: it is of another task .*: 'label' is not a single choice"):
        read([line(1, spans)], "label-studio")


def test_label_studio_s_stars_are_ratings_once_it_is_said_how_many_are_enough():
    def star(stars, text):
        result = [{"from_name": "stars", "type": "rating", "value": {"rating": stars}}]
        return task(annotation("ann@x.org") | {"result": result}, text=text)

    short = {"annotator": "ann@x.org", "annotation_id": 7}
    files = [
        [star(4, SENTENCE), star(1, OTHER)],
        [FIELDS | short | {"rating": [{"rating": 4}]}, FIELDS | short | {"text": OTHER, "rating": [{"rating": 1}]}],
    ]
    for records in files:
        content = json.dumps(records).encode()
        questions, report = read_all(STREAMS["label-studio"], content, min_correct=3)
        signed = [(SENTENCE, 1, (("ann@x.org", "correct"),)), (OTHER, 0, (("ann@x.org", "incorrect"),))]
        assert list_labels(questions) == signed and report == []
        with pytest.raises(UnreadableFile, match="stars, and every sentence has one or more: set from how many on"):
            read(records, "label-studio")


def test_a_user_of_label_studio_s_has_the_same_name_in_its_csv():
    csv = f"annotation_id,annotator,id,label,question,text\n1,3,1,correct,{QUESTION},{SENTENCE}\n"
    questions, report = read_all(question_table.stream, csv.encode())
    assert list_labels(questions) == [(SENTENCE, 1, (("Label Studio user 3", "correct"),))]
    assert report.columns == ("text read as the sentence", "columns left out: id")
    other, _ = read_all(question_table.stream, csv.replace("annotation_id", "number").encode())
    assert list_labels(other) == [(SENTENCE, 1, (("3", "correct"),))]  # a name in another program's table


def test_argilla_s_records_as_rows_of_a_dataset_are_the_same_labels():
    def row(text, values, statuses):
        users = [ADA[:-1] + str(i) for i in range(len(values or []))]
        more = {"label.responses.users": users, "label.responses.status": statuses, "label.suggestion": "correct"}
        return {"id": "r", "question": QUESTION, "text": text, "label.responses": values} | more

    rows = [row(SENTENCE, ["correct", "incorrect"], ["submitted", "draft"]), row(OTHER, None, None)]
    questions, report = read(rows, "argilla")
    assert list_labels(questions) == [(SENTENCE, 1, ((f"Argilla user {ADA[:-1]}0", "correct"),)), (OTHER, None, ())]
    assert report == [] and dict(report.omissions) == {"a draft": 1}


def test_argilla_s_responses_are_labels_by_users_of_whom_the_id_is_known():
    ids = [ADA[:-1] + str(i) for i in range(4)]
    values = [("correct", None), ("incorrect", "submitted"), ("correct", "draft"), (None, "discarded")]
    responses = [{"value": v, "user_id": u, "status": s} for u, (v, s) in zip(ids, values, strict=True)]
    questions, report = read([record({"label": responses}), record({}, text=OTHER)], "argilla")
    labels = ((f"Argilla user {ids[0]}", "correct"), (f"Argilla user {ids[1]}", "incorrect"))
    assert list_labels(questions) == [(SENTENCE, None, labels), (OTHER, None, ())]
    assert report == [] and dict(report.omissions) == {"a draft": 1, "skipped by the annotator": 1}


@pytest.mark.parametrize(
    ("fmt", "bad", "reason"),
    [
        ("prodigy", answer("maybe"), "answer 'maybe' is not accept, reject, ignore"),
        ("prodigy", answer(meta={}), "no question: it has to be in a field named question or query; the fields are"),
        ("prodigy", answer(label="SPORTS"), "label 'SPORTS' is neither correct, incorrect, empty nor a whole number"),
        ("prodigy", answer("reject", label="unsure"), "label 'unsure' rejected: only correct and incorrect have an"),
        ("prodigy", answer(_view_id="ner_manual"), "it is of another task than labelling a sentence for a question"),
        ("label-studio", task(annotation(1, "correct", "incorrect")), "2 choices in 'label' instead of one"),
        ("label-studio", task(annotation(1) | {"result": [{"from_name": "label", "value": {"choices": []}}]}),
         "0 choices in 'label' instead of one"),
        ("label-studio", task(annotation(1, "correct"), text=" "), "the sentence is empty or no text (field 'text')"),
        ("label-studio", {"data": {"text": "a"}, "annotations": []}, "no question: it has to be in a field named"),
        ("argilla", record({"a": [], "b": []}), "several questions (a, b): name the label's label or rating"),
        ("argilla", record({"label": "correct"}), "a field has another form than in this tool's files"),
        ("label-studio", task(text="\ud800"), "half a character (a lone"),
        ("argilla", record([{"values": {}}]), "fields and responses are not by name: write the file with records.to_j"),
        ("argilla", 3, "not a JSON object"),
    ],
)  # fmt: skip
def test_a_record_that_lacks_something_is_told_by_its_number_and_the_others_are_read(fmt, bad, reason):
    good = {
        "prodigy": answer(),
        "label-studio": task(annotation(1, "correct")),
        "argilla": record({"label": [{"value": "correct", "user_id": ADA}]}),
    }[fmt]
    [question], [problem] = read([good, bad], fmt)
    unit = "line" if fmt == "prodigy" else "record"
    assert len(question.candidates) == 1 and problem.startswith(f"{unit} 2: {reason}")


@pytest.mark.parametrize(
    ("fmt", "other", "reason"),
    [
        ("prodigy", {"text": "a", "spans": [{"start": 0}], "answer": "accept"}, "its interface is 'spans'"),
        ("prodigy", answer(_view_id="image_manual"), "its interface is 'image_manual', not classif"),
        ("label-studio", task(annotation(1, "a") | {"result": [{"type": "labels", "value": {"labels": ["PER"]}}]}),
         "its results are 'labels', not choices"),
        ("argilla", record({"ner": [{"value": [{"label": "PER", "start": 0}], "user_id": ADA}]}),
         "the responses to 'ner' are not single labels"),
    ],
)  # fmt: skip
def test_a_file_of_another_task_is_refused_as_a_whole(fmt, other, reason):
    skipped = {"prodigy": answer("ignore"), "label-studio": task(), "argilla": record({})}[fmt]
    with pytest.raises(UnreadableFile, match=f"(line|record) 2: it is of another task than .*: {reason}"):
        read([skipped, other], fmt)


SET = [
    Question(
        "q-1",
        QUESTION,
        (
            Candidate("t-0", SENTENCE, None, "Tower", annotations=(("ann", "correct"), ("bo@x.org", "incorrect"))),
            Candidate("t-1", OTHER, 0, annotations=(("Argilla user " + ADA, "incorrect"), ("cy", "unsure"))),
            Candidate("t-2", "Nobody signed.", 1),
            Candidate("t-3", "Unsure.", None, annotations=(("Label Studio user 3", "unsure"),)),
        ),
    ),
    Question("q-2", "Why?", (Candidate("t-0", SENTENCE, 0, annotations=(("Argilla user x", "incorrect"),)),)),
]


@pytest.mark.parametrize("fmt", TOOLS)
def test_what_is_written_for_a_tool_is_the_same_labels_by_the_same_people_when_read(fmt):
    text = "".join(WRITERS[fmt](SET))
    assert sniff(text.encode()) == fmt
    assert read_all(STREAMS[fmt], text.encode()) == (SET, [])


def test_a_tool_finds_its_own_users_and_the_model_s_scores():
    predictions = Predictions("v-1", {"q-1": [0.9, 0.2, 0.5, 0.1]}, threshold=0.5)
    tasks = json.loads("".join(to_tasks(SET, predictions)))
    assert tasks[3]["annotations"][0]["completed_by"] == 3
    assert tasks[0]["annotations"][1]["completed_by"] == {"email": "bo@x.org"}
    assert "completed_by" not in tasks[2]["annotations"][0]
    scores = [(p["score"], p["result"][0]["value"]["choices"]) for t in tasks for p in t.get("predictions", [])]
    assert scores == [(0.9, ["correct"]), (0.2, ["incorrect"]), (0.5, ["correct"]), (0.1, ["incorrect"])]
    records = json.loads("".join(to_records(SET, predictions)))
    assert records[1]["responses"]["label"][0]["user_id"] == ADA
    assert records[0]["suggestions"] == {"label": {"value": "correct", "score": 0.9, "agent": "v-1"}}


def test_quepid_s_csvs_are_ratings_or_a_table_where_a_field_has_the_text():
    head = "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating"
    case = f"{head}\nT,C,1,who?,d-1,1,Tower,3\nT,C,1,who?,d-2,2,,0\nT,C,1,why?,,,,\n"
    assert sniff(case.encode()) == "csv"
    [question], report = read_all(csv_ratings.stream, case.encode())
    assert [(c.id, c.label, c.grade) for c in question.candidates] == [("d-1", 1, 3), ("d-2", 0, None)]
    assert report == [] and dict(report.omissions) == {"a query without a document": 1}
    text = f"{head},text\nT,C,1,who?,d-1,1,Tower,3,{SENTENCE}\n"
    assert sniff(text.encode()) == "table"
    [question], _ = read_all(question_table.stream, text.encode())
    assert [(c.text, c.title, c.grade) for c in question.candidates] == [(SENTENCE, "Tower", 3)]


def test_a_book_of_quepid_s_has_a_column_for_each_judge():
    book = b"query,docid,ann,Bob B.\nwho?,d-1,3.0,0.0\nwho?,d-2,,1.0\nwho?,d-3,,\nwhy?\nwhy?,,1.0,\n"
    assert sniff(book) == "csv"
    [question], report = read_all(csv_ratings.stream, book)
    assert [(c.id, c.label, c.annotations) for c in question.candidates] == [
        ("d-1", None, (("Bob B.", "incorrect"), ("ann", "correct"))),
        ("d-2", 1, (("Bob B.", "correct"),)),
        ("d-3", None, ()),
    ]
    assert report == ["line 6: query or docid is empty"] and dict(report.omissions) == {"a query without a document": 1}
    for column in ("rank", "clicks"):  # nobody's name
        assert sniff(f"query,docid,{column}\nwho?,d-1,1\n".encode()) != "csv"


def test_which_rating_counts_as_correct_is_chosen():
    content = b"query,docid,rating\nwho?,a,0\nwho?,b,1\nwho?,c,2\nwho?,d,3\n"
    for least, labels in ((1, [0, 1, 1, 1]), (2, [0, 0, 1, 1]), (4, [0, 0, 0, 0])):
        [question], report = read_all(csv_ratings.stream, content, min_correct=least)
        assert [c.label for c in question.candidates] == labels and report.has_ratings
        assert [c.grade if c.grade is not None else c.label for c in question.candidates] == [0, 1, 2, 3]
    assert not read_all(csv_ratings.stream, b"query,docid,rating\nwho?,a,0\nwho?,b,1\n")[1].has_ratings
