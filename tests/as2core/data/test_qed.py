"""QED: which sentence of the paragraph is correct, by the type of explanation."""

import json

import pytest

from as2core.data import qed
from as2core.data.source import read_all

PARAGRAPH = "The prize began in 1901 . It went to Conrad . Others came later ."
STARTS = [0, 26, 46]


def span(text):
    start = PARAGRAPH.index(text)
    return {"start": start, "end": start + len(text) - 1, "string": text}


def line(kind, selected=None, answers=(), **changes):
    record = {
        "example_id": -3290814144789249484,
        "title_text": "The prize",
        "url": "https://example.org",
        "question_text": "who got it first",
        "paragraph_text": PARAGRAPH,
        "sentence_starts": STARTS,
        "original_nq_answers": list(answers),
        "annotation": {"explanation_type": kind, "selected_sentence": selected or {}, "answer": []},
    }
    return json.dumps(record | changes)


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (line("single_sentence", span("It went to Conrad .")), [0, 1, 0]),
        (line("single_sentence", span("The prize began in 1901 .")), [1, 0, 0]),
        (line("multi_sentence", answers=[span("Conrad")]), [0, 1, 0]),
        (line("multi_sentence", answers=[[span("Conrad"), span("Others")]]), [0, 1, 1]),
        (line("none", answers=[span("Conrad")]), [0, 0, 0]),
    ],
)
def test_the_correct_sentence_depends_on_the_explanation(written, labels):
    (question,), problems = read_all(qed.stream, written.encode())
    assert problems == [] and [c.label for c in question.candidates] == labels
    assert [c.text for c in question.candidates] == [
        "The prize began in 1901 .",
        "It went to Conrad .",
        "Others came later .",
    ]
    assert question.qid == "-3290814144789249484" and question.candidates[0].title == "The prize"
    assert question.kind == json.loads(written)["annotation"]["explanation_type"]


def test_a_start_one_too_early_changes_nothing():
    early = line("single_sentence", span("It went to Conrad ."), sentence_starts=[0, 25, 45])
    assert (
        read_all(qed.stream, early.encode())[0]
        == read_all(qed.stream, line("single_sentence", span("It went to Conrad .")).encode())[0]
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line("perhaps"), "explanation_type 'perhaps' is not single_sentence, multi_sentence, none"),
        (line("none", sentence_starts=[5, 2]), "sentence_starts are not in order"),
        (line("none", sentence_starts=[]), "sentence_starts are not in order"),
        (line("single_sentence"), "no 'start'"),
        ('{"example_id": 1}', "no 'paragraph_text'"),
        ("3", "TypeError"),
    ],
)
def test_a_wrong_example_is_told_by_its_line(bad, reason):
    questions, (problem,) = read_all(qed.stream, f"{line('none')}\n{bad}\n".encode())
    assert len(questions) == 1 and problem.line == 2
    assert problem.reason.startswith(f"not a QED example ({reason}")
