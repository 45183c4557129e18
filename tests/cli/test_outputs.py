"""What a command writes is none of what it reads, and nothing is written twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from as2core.data import beir
from as2core.types import Candidate, Question


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working directory with a set, its run, passages, and a link to the set."""
    texts = [("a", "the tower stands", 1), ("b", "rain", 0)]
    rows = [{"id": i, "text": t, "label": label} for i, t, label in texts]
    (tmp_path / "in.jsonl").write_text(json.dumps({"qid": "q", "question": "tower", "candidates": rows}) + "\n")
    (tmp_path / "in.run").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    (tmp_path / "passages").write_text("The tower was finished in 1889.\n")
    (tmp_path / "link").symlink_to(tmp_path / "in.jsonl")
    beir.write([Question("q", "tower", (Candidate("a", "it", 1),))], tmp_path / "bd")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "data convert in.jsonl in.jsonl",
        "data convert in.jsonl ./bd/../in.jsonl --to qrels",
        "data convert in.jsonl link",
        "data convert link in.jsonl",
        "data convert bd bd/corpus.jsonl",
        "data build asnq++ in.jsonl in.jsonl",
        "eval rr in.jsonl --run in.jsonl",
        "eval rr in.jsonl --per-question in.jsonl",
        "eval in.run in.jsonl --run in.run",
        "eval rr in.jsonl --run x --qrels x",
        "eval rr in.jsonl --report x --gate x",
        "eval rr in.jsonl --report x --latex x",
        "generate questions passages --ranker none --out passages",
        "generate questions passages --ranker none --add-to in.jsonl --out in.jsonl",
        "decide rr wo in.jsonl --labels in.jsonl",
        "tune in.jsonl --out x --picture x",
    ],
)
def test_an_output_is_none_of_the_inputs_and_no_other_output(as2, files, command):
    (files / "x").write_text('[[require]]\nmeasure = "AP"\nat_least = 0.5\n')
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    code, out, err = as2(*command.split())
    assert (code, out) == (1, "") and ("would be lost" in err or "would be written twice" in err)
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "command",
    [
        *[f"eval rr in.jsonl --{name} x" for name in ("run", "qrels", "per-question", "report", "latex")],
        "data convert in.jsonl x --to csv",
        "data build asnq++ in.jsonl x --candidates 2",
        "data vectors texts x",
        "generate questions passages --ranker none --out x",
    ],
)
def test_a_file_that_is_replaced_is_named_before(as2, files, command):
    (files / "texts").mkdir()
    (files / "texts" / "tower.txt").write_text("The tower was finished in 1889.\n")
    (files / "x").write_text("by hand")
    code, _, err = as2(*command.split())
    assert code == 0 and err.startswith("x is there already and will be replaced\n")
    assert (files / "x").read_bytes() != b"by hand"
    (files / "x").unlink()
    assert "replaced" not in as2(*command.split())[2]


@pytest.mark.parametrize(
    "command",
    ["data convert in.jsonl texts --to beir", "train rel-cnn in.jsonl --out texts", "versions export cascade texts"],
)
def test_a_folder_is_never_replaced(as2, files, monkeypatch, command):
    monkeypatch.setenv("AS2_HOME", str(files / "home"))
    (files / "texts").mkdir()
    (files / "texts" / "tower.txt").write_text("by hand")
    assert as2(*command.split())[0] == 1
    assert [f.read_text() for f in (files / "texts").iterdir()] == ["by hand"]


def test_a_device_may_be_written_twice(as2, files):
    assert as2("eval", "rr", "in.jsonl", "--run", "/dev/null", "--qrels", "/dev/null")[0] == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("data convert in.jsonl nowhere/out.jsonl", "there is no folder nowhere"),
        ("data convert in.jsonl bd", "bd is a folder: name a file in it"),
        ("generate questions passages --ranker none --out bd", "bd is a folder: name a file in it"),
        ("data convert in.jsonl bd --to beir", "bd is there already and not an empty folder: give a new folder"),
        ("data convert in.jsonl passages --to beir", "passages is there already and not an empty folder"),
        ("decide rr wo in.jsonl --labels nowhere/l", "there is no folder nowhere"),
        ("tune in.jsonl --picture nowhere/p.svg", "there is no folder nowhere"),
    ],
)
def test_a_place_where_nothing_can_be_written_is_said_at_once(as2, files, command, message):
    code, out, err = as2(*command.split())
    assert (code, out) == (1, "") and message in err and not (files / "nowhere").exists()


@pytest.mark.parametrize(
    "command",
    ["data convert in.jsonl bd/out.jsonl", "data convert in.jsonl bd/a/b --to beir", "tune in.jsonl --out bd/x"],
)
def test_a_folder_that_one_may_not_write_in_is_named_at_once(as2, files, command, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "bd")
    code, out, err = as2(*command.split())
    assert (code, out) == (1, "") and "you may not write in the folder " in err and "bd: give another one\n" in err


def test_data_goes_to_standard_output_by_a_dash(as2, files):
    code, out, err = as2("data", "convert", "in.jsonl", "-", "--to", "csv")
    assert code == 0 and out == "query,docid,rating\ntower,a,1\ntower,b,0\n"
    assert err == "-: 1 question, 2 candidates, from 1 line, 0 problems\n"
    code, out, _ = as2("data", "build", "asnq++", "in.jsonl", "-", "--candidates", "2")
    assert code == 0 and out.splitlines()[0] == "tower\tthe tower stands\t4"
    assert not (files / "-").exists()


@pytest.mark.parametrize(
    "command",
    [
        "data convert in.jsonl - --to beir",
        "data convert in.jsonl - --json",
        "data vectors bd -",
        "eval rr in.jsonl --run -",
        "eval rr in.jsonl --report -",
        "eval rr in.jsonl --latex -",
        "generate questions passages --ranker none --out -",
        "decide rr wo in.jsonl --labels -",
        "tune in.jsonl --picture -",
        "train rel-cnn in.jsonl --out -",
        "reproduce structure --out -",
        "backup -",
        "versions export cascade -",
    ],
)
def test_where_standard_output_cannot_be_written_a_dash_is_refused_and_makes_no_file(as2, files, monkeypatch, command):
    monkeypatch.setenv("AS2_HOME", str(files / "home"))
    code, out, err = as2(*command.split())
    assert (code, out) == (1, "") and "standard output" in err and "name a file" in err
    assert not (files / "-").exists() and not (files / "home").exists()
