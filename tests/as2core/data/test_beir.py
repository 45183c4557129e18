"""BEIR's three files: as BEIR has them, ids used twice, what is missing."""

import json

import pytest
from hypothesis import given, settings
from label_sets import PLAIN, QUESTION, question_lists

from as2core.data import beir
from as2core.errors import UnreadableFile


@settings(deadline=None, max_examples=50)
@given(question_lists(ids=PLAIN.filter(bool), labels=(0, 1), smallest=1))
def test_beir_gives_back_labels_and_texts_even_where_ids_are_reused(tmp_path_factory, questions):
    folder = tmp_path_factory.mktemp("beir")
    beir.write(questions, folder, split="dev")
    read, problems = beir.read(folder, split="dev")
    assert problems == [] and [(q.qid, q.text) for q in read] == [(q.qid, q.text) for q in questions]
    for ours, theirs in zip(questions, read, strict=True):
        shape = [[(c.text, c.label, c.title) for c in q.candidates] for q in (ours, theirs)]
        assert shape[0] == shape[1]


def test_beirs_three_files_look_as_beir_has_them():
    files = beir.dumps([QUESTION])
    assert set(files) == {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}
    assert json.loads(files["corpus.jsonl"].splitlines()[0]) == {
        "_id": "D1-0",
        "title": "A river",
        "text": "It is long .",
    }
    assert json.loads(files["queries.jsonl"]) == {"_id": "q1", "text": "how long is it ?", "metadata": {}}
    assert files["qrels/test.tsv"] == "query-id\tcorpus-id\tscore\nq1\tD1-0\t0\nq1\tD1-1\t1\n"


def test_a_beir_folder_tells_what_is_missing_or_wrong(tmp_path):
    beir.write([QUESTION], tmp_path)
    with pytest.raises(UnreadableFile, match=r"qrels.dev\.tsv is missing"):
        beir.read(tmp_path, split="dev")
    with (tmp_path / "qrels" / "test.tsv").open("a") as file:
        file.write("q1\tnowhere\t1\nbad\n")
    _, problems = beir.read(tmp_path)
    assert problems == [
        "line 4: no 'nowhere' in corpus",
        "line 5: not a query id, a corpus id and a whole number, divided by tabs",
    ]
