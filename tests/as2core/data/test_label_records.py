"""Rows of question, sentence and label as JSON, as doccano, pandas and datasets write them."""

import json

import pytest

from as2core.data.catalog import sniff
from as2core.data.label_files import records as rows_as_json
from as2core.data.source import read_all
from as2core.errors import UnreadableFile

QUESTION = "Who built it?"


def doccano(i, text, *labels, **more):  # as its export "JSONL" has an example of text classification
    return {"id": i, "text": text, "question": QUESTION, "label": [*labels], "Comments": []} | more


def read(records, *, lines=True):
    content = "\n".join(map(json.dumps, records)) if lines else json.dumps(records, indent=1)
    assert sniff(content.encode()) == "records"
    return read_all(rows_as_json.stream, content.encode())


@pytest.mark.parametrize("lines", [True, False])
def test_doccano_s_examples_are_labels_of_the_sentence_in_each(lines):
    examples = [doccano(1, "Eiffel did.", "Relevant"), doccano(2, "It is tall.", "irrelevant"), doccano(3, "Hm.")]
    [question], report = read(examples, lines=lines)
    labels = [(c.text, c.label, c.annotations) for c in question.candidates]
    assert labels == [("Eiffel did.", 1, ()), ("It is tall.", 0, ()), ("Hm.", None, ())]
    assert (report, dict(report.omissions)) == ([], {"no label given": 1})
    assert report.columns == ("text read as the sentence", "columns left out: id, Comments")


def test_a_label_may_be_a_word_a_number_or_a_truth_value_with_its_annotator():
    rows = [("a", 1, None), ("b", 0.0, None), ("c", True, None), ("d", 3, None), ("e", "no", "ann"), ("f", None, "bob")]
    [question], report = read(
        [{"query": QUESTION, "answer": t, "relevance": v, "annotator": who, "docid": f"d-{t}"} for t, v, who in rows]
    )
    labels = [(c.id, c.label, c.grade, c.annotations) for c in question.candidates]
    assert labels == [
        ("d-a", 1, None, ()),
        ("d-b", 0, None, ()),
        ("d-c", 1, None, ()),
        ("d-d", 1, 3, ()),
        ("d-e", 0, None, (("ann", "incorrect"),)),
        ("d-f", None, None, ()),
    ]
    assert report == [] and report.has_ratings
    assert report.columns == ("query read as the question, answer read as the sentence, relevance read as the label",)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (doccano(2, "a", "correct", "incorrect"), "2 labels in 'label' instead of one"),
        (doccano(2, "a", "Sports"), "label 'Sports' is neither correct"),
        (doccano(2, " ", "correct"), "the sentence is empty or no text (field 'text')"),
        ({"question": "a", "text": "b"}, "no label: it has to be in a field named label or rating"),
    ],
)
def test_a_record_that_cannot_be_read_is_named_and_the_others_are_read(bad, reason):
    [question], [problem] = read([doccano(1, "Eiffel did.", "correct"), bad])
    assert len(question.candidates) == 1 and problem.startswith(f"line 2: {reason}")


def test_doccano_s_spans_are_refused_as_another_task():
    with pytest.raises(UnreadableFile, match=r"line 1: it is of another task .*: 'label' is not a single label"):
        read([doccano(1, "Eiffel did.", [0, 6, "PER"])])
