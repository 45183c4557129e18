"""`as2 generate`, with the tiny models of the library's tests."""

import importlib.util
import json
from pathlib import Path

import pytest

from as2core.cli import main
from as2core.data import jsonl
from as2core.data.catalog import load_questions
from as2core.types import Candidate, Question

CONFTEST = Path(__file__).parents[1] / "as2core" / "conftest.py"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("tiny_models_of_the_library", CONFTEST)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.make_tiny("gpt2", tmp_path_factory.mktemp("lm")))


@pytest.fixture
def passages(tmp_path):
    (tmp_path / "passages.txt").write_text("the tower was completed in 1889 .\nthe bridge is 300 metres long .\n")
    return str(tmp_path / "passages.txt")


def test_questions_come_as_one_json_document_alike_for_one_seed(model, passages, capsys):
    command = ["generate", "questions", passages, "--generator", f"generative:backbone={model}", "--ranker", "none",
               "--each", "2", "--json"]  # fmt: skip
    told = []
    for seed in ("3", "3", "4"):
        assert main([*command, "--seed", seed]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    assert told[0]["questions"] != told[2]["questions"]
    assert told[0]["passages"] == 2
    for q in told[0]["questions"]:
        assert q["question"].endswith("?")
        assert q["id"] in ("0", "1")


def test_a_ranker_that_must_find_the_passage_leaves_fewer_and_says_the_rank(model, passages, capsys):
    command = [
        "generate",
        "questions",
        passages,
        "--generator",
        f"generative:backbone={model}",
        "--each",
        "4",
        "--json",
    ]
    counts = []
    for way in (["--ranker", "none"], ["--ranker", "wo"]):
        assert main([*command, *way]) == 0
        found = json.loads(capsys.readouterr().out)["questions"]
        counts.append(len(found))
    assert all(q["rank"] == 1 for q in found)
    assert counts[1] <= counts[0]


@pytest.mark.parametrize("command", ["questions", "passages"])
def test_a_ranker_that_only_scores_is_refused_by_its_name(passages, capsys, command):
    assert main(["generate", command, passages, "--generator", "bm25"]) == 1
    assert capsys.readouterr().err == (
        "as2: the ranker 'bm25' cannot generate text: use generative, or a version of that kind\n"
    )


def test_passages_want_a_generator_of_answers(model, capsys):
    spec = f"generative:backbone={model}"
    assert main(["generate", "passages", "why ?", "--generator", spec]) == 1
    assert "direction=answer" in capsys.readouterr().err
    assert main(["generate", "passages", "why ?", "--generator", f"{spec},direction=answer", "--json"]) == 0
    assert [w["source"] for w in json.loads(capsys.readouterr().out)["passages"]] == [0]


SENTENCES = ["The tower was finished in 1889.", "The bridge was opened in 1932.", "Water is wet.", "Nobody knows it."]


@pytest.fixture
def facts(tmp_path):
    (tmp_path / "facts.txt").write_text("\n".join([*SENTENCES, SENTENCES[0]]))
    return str(tmp_path / "facts.txt")


def test_generated_questions_are_added_to_a_training_set_with_their_passage_as_the_correct_one(facts, tmp_path, capsys):
    older = Question("old", "When was the bridge opened?", (Candidate("a", "In 1932.", 1), Candidate("b", "No.", 0)))
    jsonl.write([older], tmp_path / "train.jsonl")
    out = tmp_path / "more.jsonl"
    told = ["generate", "questions", facts, "--ranker", "wo", "--add-to", str(tmp_path / "train.jsonl"), "--json"]
    assert main([*told, "--out", str(out), "--negatives", "2"]) == 0
    file = json.loads(capsys.readouterr().out)["file"]
    assert file == {"path": str(out), "questions": 2, "generated": 1}
    first, made = load_questions(out).questions
    assert first == older  # whose question is not asked again
    assert (made.text, made.kind) == ("When was the tower finished?", "generated")
    by_label = {label: [c.text for c in made.candidates if c.label == label] for label in (1, 0)}
    assert by_label[1] == [SENTENCES[0]]
    assert len(set(by_label[0])) == 2 and set(by_label[0]) <= set(SENTENCES[1:])  # a copy of the passage is not wrong


def test_nothing_is_written_where_no_question_is_accepted_or_no_file_is_named(tmp_path, facts, capsys):
    (tmp_path / "none.txt").write_text("Water!\n")
    out = tmp_path / "more.jsonl"
    assert main(["generate", "questions", str(tmp_path / "none.txt"), "--ranker", "none", "--out", str(out)]) == 1
    assert "no question was accepted" in capsys.readouterr().err
    assert not out.exists()
    assert main(["generate", "questions", facts, "--ranker", "none", "--add-to", "starter-train"]) == 1
    assert "give the file to write with --out" in capsys.readouterr().err
