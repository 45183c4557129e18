"""BEIR's three files: as BEIR has them, ids used twice, what is missing."""

import csv
import json

import pytest
from hypothesis import given, settings
from label_sets import IDS, QUESTION, question_lists

from as2core.data import beir
from as2core.errors import UnreadableFile
from as2core.types import Candidate, Question


@settings(deadline=None, max_examples=50)
@given(question_lists(ids=IDS, labels=(0, 1), smallest=1))
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


def test_ids_with_tabs_line_ends_and_quotation_marks_come_back(tmp_path):
    asked = Question("q\t1", "Who?", (Candidate('"a"\n', "Ada.", 1), Candidate("b\r", "Bob.", 0)))
    beir.write([asked], tmp_path)
    assert beir.read(tmp_path) == ([asked], [])
    rows = csv.reader((tmp_path / "qrels" / "test.tsv").open(newline=""), delimiter="\t", quoting=csv.QUOTE_MINIMAL)
    assert list(rows)[1:] == [["q\t1", '"a"\n', "1"], ["q\t1", "b\r", "0"]]  # as BEIR's own loader reads them


@pytest.mark.parametrize("bad", [{"title": "no text"}, {"text": 7}, {"text": None}])
def test_a_record_without_a_text_is_told_and_the_others_are_read(tmp_path, bad):
    beir.write([QUESTION], tmp_path)
    lines = (tmp_path / "corpus.jsonl").read_text().splitlines()
    (tmp_path / "corpus.jsonl").write_text("\n".join([json.dumps({"_id": "D1-0", **bad}), *lines[1:]]))
    (read,), problems = beir.read(tmp_path)
    assert [c.id for c in read.candidates] == ["D1-1"]
    assert problems[0].startswith("line 1: of corpus.jsonl: not a BEIR record (") and "text" in problems[0]
    assert problems[1:] == ["line 2: no 'D1-0' in corpus"]


def test_a_null_for_an_id_counts_as_none(tmp_path):
    beir.write([QUESTION], tmp_path)
    with (tmp_path / "corpus.jsonl").open("a") as file:
        file.write('{"_id": null, "text": "It is."}\n{"_id": "D1-3", "text": ' + "[" * 100_000 + "\n")
    (read,), problems = beir.read(tmp_path)
    assert len(read.candidates) == 2
    assert problems == [
        "line 4: of corpus.jsonl: not a BEIR record (no '_id')",
        "line 5: of corpus.jsonl: not a BEIR record (nested too deeply to read)",
    ]


def test_all_splits_are_read_together_where_none_is_named(tmp_path):
    beir.write([QUESTION], tmp_path, split="test")
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\tD1-0\t1\nq1\tD9\t1\n")
    with (tmp_path / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q2", "text": "is it long ?"}\n')
    read, problems = beir.read(tmp_path, split=None)
    assert {q.qid: [(c.id, c.label) for c in q.candidates] for q in read} == {
        "q2": [("D1-0", 1)],
        "q1": [("D1-0", 0), ("D1-1", 1)],
    }
    assert problems == ["line 3: of dev.tsv: no 'D9' in corpus"]
    assert [q.qid for q in beir.read(tmp_path)[0]] == ["q1"]
