"""SQuAD-sent: the sentence that holds the answer span, or none."""

import gzip
import json

import pytest

from as2core.data import squad
from as2core.data.source import read_all
from as2core.errors import UnreadableFile
from as2core.types import Candidate

CONTEXT = "Dr. Hart was born in Basel. She moved to Ulm in 1901. Ulm was small, and Hart wrote there until 1950."


def squad_file(*questions):
    qas = [
        {"id": str(i), "question": q, "answers": [{"text": a, "answer_start": CONTEXT.find(a) if at is None else at}]}
        for i, (q, a, at) in enumerate(questions)
    ]
    return json.dumps({"data": [{"title": "Ada_Hart", "paragraphs": [{"context": CONTEXT, "qas": qas}]}]}).encode()


def test_the_sentence_that_holds_the_span_is_correct():
    (question,), problems = read_all(squad.stream, squad_file((" Where was she born? ", "Basel", None)))
    assert (question.qid, question.text, problems) == ("0", "Where was she born?", [])
    assert question.candidates == (
        Candidate("Ada_Hart-0-0", "Dr. Hart was born in Basel.", 1, "Ada Hart"),
        Candidate("Ada_Hart-0-1", "She moved to Ulm in 1901.", 0, "Ada Hart"),
        Candidate("Ada_Hart-0-2", "Ulm was small, and Hart wrote there until 1950.", 0, "Ada Hart"),
    )


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Ulm", False),  # stands in two sentences
        ("small", True),
        ("ulm in 1901", False),  # not there in this spelling: told as a problem
        ("1901. Ulm", False),  # runs over a sentence's end
        ("art", True),  # the span is within "Hart", and no sentence has the word
    ],
)
def test_an_answer_that_does_not_point_to_one_sentence_is_dropped(answer, kept):
    questions, _ = read_all(squad.stream, squad_file(("Where?", answer, None)))
    assert bool(questions) == kept


def test_a_span_a_little_off_is_found_and_one_that_is_nowhere_is_told():
    questions, problems = read_all(squad.stream, squad_file(("When?", "1950", 3), ("When?", "1666", 5)))
    assert [q.candidates[2].label for q in questions] == [1]
    assert problems == ["question 2: the answer '1666' is not in its paragraph"]


def test_a_gzipped_squad_file_is_read_and_another_json_refused(tmp_path):
    (tmp_path / "s.json.gz").write_bytes(gzip.compress(squad_file(("Where?", "Basel", None))))
    assert len(read_all(squad.stream, tmp_path / "s.json.gz")[0]) == 1
    with pytest.raises(UnreadableFile, match="not SQuAD's JSON"):
        read_all(squad.stream, b'{"rows": []}')
