"""QNLI from SQuAD: a correct sentence and the incorrect one nearest to the question, both with enough of its words."""

import json

import pytest

from as2core.data import qnli
from as2core.data.source import read_all

SENTENCES = (
    "Ada Hart was born in Basel in winter.",
    "She moved to a small town.",
    "In winter Ada Hart wrote letters.",
    "Bread was dear.",
)


def squad_file(question, answer):
    context = " ".join(SENTENCES)
    qas = [{"id": "0", "question": question, "answers": [{"text": answer, "answer_start": context.find(answer)}]}]
    return json.dumps({"data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}).encode()


@pytest.mark.parametrize(
    ("question", "answer", "pair"),
    [
        ("Where was Ada Hart born ?", "Basel", (0, 2)),  # Ada and Hart of five words: more than a quarter
        ("What did Ada Hart write ?", "letters", (0, 2)),
        ("Which food did poor people miss ?", "Bread", None),  # no word shared
        ("Where was she when bread became so dear that nobody ate it ?", "small", None),  # one word of twelve
    ],
)
def test_a_question_has_its_answer_and_the_nearest_other_sentence(question, answer, pair):
    questions, _ = read_all(qnli.stream, squad_file(question, answer))
    if pair is None:
        assert questions == []
        return
    (made,) = questions
    assert [c.text for c in made.candidates] == [SENTENCES[i] for i in pair]
    assert [c.label for c in made.candidates] == [int(answer in SENTENCES[i]) for i in pair]


@pytest.mark.shared
def test_squad_s_train_part_makes_about_as_many_pairs_as_the_paper_counts():
    import os
    from pathlib import Path

    file = Path(os.environ.get("AS2_TEST_DATA", "/nowhere")) / "squad/train-v1.1.json.gz"
    if not file.is_file():
        pytest.skip("AS2_TEST_DATA names no folder with squad/train-v1.1.json.gz")
    questions, _ = read_all(qnli.stream, file)
    assert sum(len(q.candidates) for q in questions) == pytest.approx(105_000, rel=0.05)
