"""Labels go in and out."""

from __future__ import annotations

import errno
import json
from itertools import count
from pathlib import Path

from kestrel import QUESTION

from as2core import terminal


def test_labels_go_in_and_come_out_as_they_were(as2, as2_json, label_file, tmp_path):
    done = as2_json("labels", "import", label_file)
    assert (done["new"], done["questions"], done["malformed"]) == (2, 1, [])
    code, _, err = as2("labels", "export", tmp_path / "out.jsonl")
    assert code == 0 and "kestrel: 1 question with 2 labelled pairs as jsonl in " in err
    assert json.loads((tmp_path / "out.jsonl").read_text()) == QUESTION


def test_an_export_that_ends_early_leaves_the_file_as_it_was(as2, label_file, tmp_path, monkeypatch):
    def write_half(path, content):
        path.open("wb").write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    as2("labels", "import", label_file)
    (tmp_path / "out.jsonl").write_text("what was exported before")
    monkeypatch.setattr(Path, "write_bytes", write_half)
    code, _, err = as2("labels", "export", tmp_path / "out.jsonl")
    note = f"{tmp_path / 'out.jsonl'} is there already and will be replaced\n"
    assert (code, err) == (1, f"{note}as2: the disk is full: free some space and try again\n")
    assert (tmp_path / "out.jsonl").read_text() == "what was exported before"
    assert not list(tmp_path.glob(".*.part"))


def test_a_corpus_without_labels_says_so_where_data_is_read(as2, articles):
    as2("ingest", articles)
    code, _, err = as2("eval", "bm25", "labels:documents")
    assert code == 1 and err.startswith("as2: labels:documents: nothing is labelled there yet; label on the page Label")


def test_an_import_names_the_corpus_it_makes_and_what_it_adds_to_one(as2, as2_json, articles, label_file):
    as2("ingest", articles, "--corpus", "mine")
    code, out, err = as2("labels", "import", label_file, "--corpus", "mine")
    assert code == 0 and "new corpus" not in err
    assert out.endswith("; 1 question; 2 new sentences, 1 new document and 1 new question in 'mine'\n")
    assert as2("labels", "import", label_file, "--corpus", "mine")[1].endswith("; 1 question\n")
    assert "new corpus 'kestrel'\n" in as2("labels", "import", label_file)[2]
    again = as2_json("labels", "import", label_file)
    assert (again["corpus"], again["is_new_corpus"], again["new_documents"]) == ("kestrel 2", True, 1)


def test_an_interrupted_import_says_how_to_go_on(as2, label_file, monkeypatch):
    from app.exchange import storage

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as interruption:
        interruption.setattr(storage._BatchImport, "store", interrupt)
        code, out, err = as2("labels", "import", label_file)
    assert (code, out) == (130, "")
    assert "as2: kestrel.jsonl: 0 of 1 questions are in; go on with --corpus 'kestrel'\nstopped\n" in err
    assert "2 new labels" in as2("labels", "import", label_file, "--corpus", "kestrel")[1]


def test_a_long_import_says_how_far_it_is(as2, label_file, monkeypatch):
    monkeypatch.setattr(terminal, "monotonic", count(step=60).__next__)
    assert "importing kestrel.jsonl, questions: 100 %\n" in as2("labels", "import", label_file)[2]


def test_a_folder_is_no_label_file(as2, tmp_path):
    code, out, err = as2("labels", "import", tmp_path)
    assert (code, out) == (1, "") and f"{tmp_path}: it is a folder; " in err
    assert "there is no such file" in as2("labels", "import", tmp_path / "gone.tsv")[2]


def test_labels_for_standard_output_are_all_there_is_on_it(as2, label_file):
    as2("labels", "import", label_file)
    assert as2("labels", "export", "-", "--format", "qrels") == (0, "q1 0 a-0 1\nq1 0 a-1 0\n", "")


def test_labels_go_to_another_tool_and_come_back_and_records_are_told_by_number(as2, as2_json, label_file, tmp_path):
    as2("labels", "import", label_file, "--annotator", "ann")
    file = tmp_path / "tasks.json"
    code, _, err = as2("labels", "export", file, "--format", "label-studio")
    assert code == 0 and "kestrel: 1 question with 2 labelled pairs as label-studio in " in err
    tasks = json.loads(file.read_text())
    assert [t["annotations"][0]["completed_by"] for t in tasks] == [{"email": "ann"}] * 2
    assert all(0 <= t["predictions"][0]["score"] <= 1 for t in tasks)
    assert as2_json("labels", "import", file, "--corpus", "kestrel")["same"] == 2
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["perhaps"]
    file.write_text(json.dumps(tasks))
    code, out, err = as2("labels", "import", file)
    assert code == 1 and "1 new label, " in out and "1 malformed record; " in out
    assert "as2: tasks.json: record 2: label 'perhaps' is neither" in err


def test_who_an_annotator_is_whom_a_file_calls_otherwise_is_an_option(as2, label_file, tmp_path):
    (tmp_path / "t.csv").write_text("question,sentence,label,annotator\nWho?,She.,correct,bob@x.org\n")
    assert as2("labels", "import", tmp_path / "t.csv", "--who", "bob@x.org = bob")[0] == 0
    assert '"labels": {"bob": "correct"}' in as2("labels", "export", "-", "--corpus", "t")[1]
    for wrong in ("bob", "=bob", "bob@x.org="):
        code, out, err = as2("labels", "import", tmp_path / "t.csv", "--who", wrong)
        assert (code, out) == (1, "") and "--who takes NAME=PERSON, as in --who " in err


def test_the_rating_from_which_on_a_sentence_is_correct_is_an_option(as2, tmp_path):
    (tmp_path / "case.csv").write_text("Query Text,Doc ID,Rating,text\nWho?,1,3,She.\nWho?,2,1,He.\n")
    for least, expected in ((None, 2), (2, 1)):
        options = ["--correct-from", str(least)] if least else []
        code, out, _ = as2("labels", "import", tmp_path / "case.csv", *options)
        assert code == 0 and f"; a rating of {least or 1} or more counts as correct\n" in out
        name = "case" if least is None else "case 2"
        assert as2("labels", "export", "-", "--corpus", name, "--format", "pairs")[1].count('"label": 1') == expected


def test_a_malformed_line_of_labels_is_told_and_the_others_go_in(as2, label_file):
    label_file.write_text(label_file.read_text() + "{broken\n")
    code, out, err = as2("labels", "import", label_file, "--json")
    assert (code, json.loads(out)["new"]) == (1, 2)
    assert "kestrel.jsonl: line 2" in err


def test_candidates_without_a_text_are_counted_once_and_are_no_error(as2, as2_json, label_file):
    blank = [{**QUESTION["candidates"][1], "id": f"a-{i}", "text": ""} for i in (2, 3)]
    label_file.write_text(json.dumps({**QUESTION, "candidates": [*QUESTION["candidates"], *blank]}) + "\n")
    code, out, err = as2("labels", "import", label_file)
    assert code == 0 and "without" not in err and "line" not in err
    assert "2 new labels, " in out and "0 malformed lines; " in out and "; 2 candidates without a text left out" in out
    assert as2_json("labels", "import", label_file)["textless"] == 2


def test_an_import_says_how_many_questions_it_moved_to_another_split(as2, label_file):
    assert "moved" not in as2("labels", "import", label_file, "--split", "train")[1]
    out = as2("labels", "import", label_file, "--corpus", "kestrel", "--split", "test")[1]
    assert out.endswith("1 question; moved from train to test: 1\n")


def test_labels_given_here_can_be_evaluated_on(as2, as2_json, label_file):
    as2("labels", "import", label_file)
    by_default = as2_json("eval", "wo", "labels")
    by_name = as2_json("eval", "wo", "labels:kestrel")
    # six words shared with the right sentence, two with the other
    assert by_default["AP"] == by_name["AP"] == 1.0
    assert by_default["questions"] == 1
