"""`as2 data`: what is printed, what is written, and that nothing half-made is left."""

from __future__ import annotations

import gzip
import json

import pytest

from as2core.data import asnq, beir, jsonl
from as2core.data.source import read_all
from as2core.types import Candidate, Question

ROWS = "".join(f"question {i}\tsentence {j} of {i}\t{4 if j == 1 else 1 + j % 3}\n" for i in range(6) for j in range(5))
PAGE = "<P> Ada was born in Basel . She moved . </P>"
NQ = {
    "example_id": 9,
    "question_text": "where was ada born",
    "document_text": PAGE,
    "annotations": [
        {"long_answer": {"start_token": 0, "end_token": 11}, "short_answers": [{"start_token": 5, "end_token": 6}]}
    ],
}
SQUAD = {
    "data": [
        {
            "title": "Ada",
            "paragraphs": [
                {
                    "context": "Ada was born in Basel. She moved.",
                    "qas": [{"id": "7", "question": "Where?", "answers": [{"text": "Basel", "answer_start": 16}]}],
                }
            ],
        }
    ]
}


@pytest.fixture
def asnq_file(tmp_path):
    (tmp_path / "asnq.tsv").write_text(ROWS)
    return tmp_path / "asnq.tsv"


def cells(out):
    return [line.split() for line in out.splitlines() if line]


def test_stats_prints_the_counts_of_every_setting_and_the_grades(as2, asnq_file):
    code, out, err = as2("data", "stats", asnq_file)
    assert (code, err) == (0, "")
    assert f"{asnq_file}: 30 lines, 0 problems" in out
    table = cells(out)
    assert ["raw", "6", "30", "6"] in table and ["clean", "6", "30", "6"] in table
    assert ["grade", "4", "6"] in table and ["grade", "1", "12"] in table
    assert ["rr", "0.000", "0.500"] in table and ["random", "0.200", "0.457"] in table  # (1 + 1/2 + ... 1/5) / 5


def test_stats_as_json_has_the_whole_report(as2, asnq_file):
    asnq_file.write_text(ROWS + "too few\n")
    code, out, err = as2("data", "stats", asnq_file, "--counts", "--json")
    document = json.loads(out)
    assert code == 0 and document["counts"]["raw"] == {"questions": 6, "candidates": 30, "correct": 6}
    problem = {"line": 31, "reason": "1 columns instead of 3 (question, sentence, label)"}
    assert document["read"] == {"lines": 31, "questions": 6, "candidates": 30, "left_out": {}, "problems": [problem]}
    assert document["baselines"] == {} and document["question_tokens"] is None
    assert err == "as2: asnq.tsv: line 31: 1 columns instead of 3 (question, sentence, label)\n"


def test_stats_counts_the_candidates_without_a_text(as2, tmp_path):
    blank = [Candidate(str(i), text, 0) for i, text in enumerate(("", " "))]
    jsonl.write([Question("a", "Who?", (*blank, Candidate("2", "She.", 1)))], tmp_path / "in.jsonl")
    code, out, _ = as2("data", "stats", tmp_path / "in.jsonl", "--counts")
    assert code == 0 and ["raw", "1", "3", "1"] in cells(out) and "candidates without a text" in out
    assert ["candidates", "without", "a", "text", "2"] in cells(out)
    assert json.loads(as2("data", "stats", tmp_path / "in.jsonl", "--counts", "--json")[1])["textless"] == 2


def test_many_problems_are_told_in_part(as2, asnq_file):
    asnq_file.write_text(ROWS + "too few\n" * 25)
    _, _, err = as2("data", "stats", asnq_file, "--counts")
    assert err.count("\n") == 21 and err.endswith("as2: asnq.tsv: and 5 more\n")


@pytest.mark.parametrize("command", [("stats",), ("convert", "OUT"), ("build", "OUT")])
def test_strict_stops_at_the_first_malformed_line_and_leaves_no_file(as2, asnq_file, command):
    asnq_file.write_text(ROWS + "too few\n")
    out = asnq_file.with_name("out.tsv")
    name, *rest = (out if part == "OUT" else part for part in command)
    argv = (name, "asnq++", asnq_file, *rest, "--candidates", "6") if name == "build" else (name, asnq_file, *rest)
    code, said, err = as2("data", *argv, "--strict")
    assert (code, said) == (1, "") and err.startswith("as2: asnq.tsv: line 31: 1 columns") and err.count("\n") == 1
    assert [p.name for p in asnq_file.parent.iterdir()] == ["asnq.tsv"]


def test_convert_writes_what_the_setting_keeps(as2, tmp_path):
    questions = [
        Question("a", "Who?", (Candidate("1", "She.", 1, "T"), Candidate("2", "He.", 0, "T"))),
        Question("b", "Why?", (Candidate("3", "So.", 0),)),
    ]
    jsonl.write(questions, tmp_path / "in.jsonl")
    code, out, _ = as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out.jsonl.gz", "--setting", "no-all-neg")
    assert code == 0 and "1 question, 2 candidates, from 2 lines, 0 problems" in out
    assert jsonl.read(tmp_path / "out.jsonl.gz")[0] == questions[:1]
    assert as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out.tsv", "--to", "asnq")[0] == 0
    assert (tmp_path / "out.tsv").read_text() == "Who?\tShe.\t4\nWho?\tHe.\t1\nWhy?\tSo.\t1\n"
    code, out, _ = as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "beir", "--to", "beir", "--json")
    assert code == 0 and json.loads(out)["candidates"] == 3
    assert beir.read(tmp_path / "beir")[0] == questions


@pytest.mark.parametrize(
    ("to", "questions", "candidates", "left_out"),
    [
        ("jsonl", 4, 6, {}),
        ("beir", 4, 6, {}),
        ("wikiqa", 3, 6, {"questions without a candidate": 1}),
        ("csv", 2, 4, {"questions without a labelled candidate": 2, "candidates without a label": 1}),
        ("pairs", 2, 4, {"questions without a labelled candidate with a text": 2, "candidates without a label": 1}),
        (
            "triplets",
            1,
            3,
            {"questions without both a correct and an incorrect candidate": 3, "candidates without a label": 1},
        ),
    ],
)
def test_convert_counts_what_it_writes_and_what_the_format_has_no_place_for(
    as2, tmp_path, to, questions, candidates, left_out
):
    labels = {"a": (1, 0, 0, None), "b": (0,), "c": (None,), "d": ()}
    made = [
        Question(q, f"Who, {q}?", tuple(Candidate(f"{q}-{i}", f"{q} {i}.", x) for i, x in enumerate(own)))
        for q, own in labels.items()
    ]
    jsonl.write(made, tmp_path / "in.jsonl")
    argv = ("data", "convert", tmp_path / "in.jsonl", "--to", to)
    code, out, _ = as2(*argv, tmp_path / "out", "--json")
    document = json.loads(out)
    assert code == 0 and (document["questions"], document["candidates"]) == (questions, candidates)
    assert document["left_out"] == left_out and document["read"]["questions"] == 4
    out = as2(*argv, tmp_path / "again")[1]
    assert f"{questions} question{'s' * (questions > 1)}, {candidates} candidates, from 4 lines" in out
    parts = {what.replace("s ", " ", 1) if n == 1 else what: n for what, n in left_out.items()}
    assert all(f"; {n} {what} left out" in out for what, n in parts.items())
    if to in ("csv", "wikiqa"):  # the header, and a row for each
        assert len((tmp_path / "out").read_text().splitlines()) == 1 + candidates


@pytest.mark.parametrize(("to", "lines"), [("pairs", 2), ("triplets", 1)])
def test_texts_that_are_empty_are_left_out_of_training_files_and_counted(as2, tmp_path, to, lines):
    texts = (("1", "It is.", 1), ("2", "It is not.", 0), ("3", " ", 0), ("4", "", None), ("5", "", 1))
    made = [
        Question("a", "Who?", tuple(Candidate(*row[:2], row[2]) for row in texts)),
        Question("b", "", (Candidate("6", "So.", 1), Candidate("7", "Not so.", 0))),
    ]
    jsonl.write(made, tmp_path / "in.jsonl")
    code, out, _ = as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out", "--to", to)
    assert code == 0 and "1 candidate without a label left out; 2 candidates without a text left out" in out
    assert "1 question without" in out
    code, out, _ = as2("data", "convert", tmp_path / "out", tmp_path / "again", "--to", "jsonl")
    assert code == 0 and f"2 candidates, from {lines} line" in out


def test_a_file_that_the_format_would_leave_empty_is_not_written(as2, tmp_path):
    jsonl.write([Question("b", "Why?", (Candidate("3", "So.", 0),))], tmp_path / "in.jsonl")
    code, _, err = as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out", "--to", "triplets")
    assert code == 1 and not (tmp_path / "out").exists()
    assert "no questions to write; 1 question without both a correct and an incorrect candidate left out" in err


def test_parts_share_a_set_between_them(as2, tmp_path):
    questions = [Question(str(i), f"Who {i}?", (Candidate(str(i), "She.", 1),)) for i in range(5)]
    jsonl.write(questions, tmp_path / "in.jsonl")
    parts = []
    for part in ("1/2", "2/2"):
        assert as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--part", part)[0] == 0
        parts.append(jsonl.read(tmp_path / "out.jsonl")[0])
    assert parts == [questions[::2], questions[1::2]]
    for part in ("0/2", "3/2", "1", "a/b"):
        code, _, err = as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--part", part)
        assert code == 1 and "write K/N" in err


@pytest.mark.parametrize(
    ("to", "line"),
    [
        ("wikiqa", "a\tWho?\t1\t\t1-0\tShe.\t1"),
        ("qrels", "a 0 1-0 1"),
        ("csv", "Who?,1-0,1"),
        ("pairs", '{"sentence1": "Who?", "sentence2": "She.", "label": 1}'),
        ("triplets", '{"anchor": "Who?", "positive": "She.", "negative": "He."}'),
    ],
)
def test_convert_knows_every_format_we_write(as2, tmp_path, to, line):
    made = [Question("a", "Who?", (Candidate("1-0", "She.", 1), Candidate("1-1", "He.", 0)))]
    jsonl.write(made, tmp_path / "in.jsonl")
    assert as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out", "--to", to)[0] == 0
    assert line in (tmp_path / "out").read_text().splitlines()


def test_what_would_be_empty_is_not_written(as2, tmp_path):
    jsonl.write([Question("b", "Why?", (Candidate("3", "So.", 0),))], tmp_path / "in.jsonl")
    code, _, err = as2("data", "convert", tmp_path / "in.jsonl", tmp_path / "out", "--setting", "clean")
    assert code == 1 and "no questions to write" in err and not (tmp_path / "out").exists()


def test_asnq_is_built_from_natural_questions(as2, tmp_path):
    with gzip.open(tmp_path / "nq.jsonl.gz", "wt") as file:
        file.write(json.dumps(NQ) + "\n" + json.dumps(NQ | {"example_id": 10, "annotations": []}) + "\n")
    code, out, _ = as2("data", "build", "asnq", tmp_path / "nq.jsonl.gz", tmp_path / "asnq.tsv")
    assert code == 0 and "left out: 1, as no sentence of a long answer holds a short one" in out
    rows = "where was ada born\tAda was born in Basel .\t4\nwhere was ada born\tShe moved .\t3\n"
    assert (tmp_path / "asnq.tsv").read_text() == rows
    assert as2("data", "build", "asnq", tmp_path / "nq.jsonl.gz", tmp_path / "asnq.jsonl")[0] == 0
    (question,), _ = jsonl.read(tmp_path / "asnq.jsonl")
    assert (question.qid, [c.grade for c in question.candidates]) == ("9", [4, 3])


def test_asnq_plus_reaches_the_number_of_candidates_and_the_seed_repeats_it(as2, asnq_file, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        code, out, _ = as2(
            "data", "build", "asnq++", asnq_file, tmp_path / name, "--candidates", "12", "--seed", seed, "--json"
        )
        document = json.loads(out)
        assert code == 0 and (document["questions"], document["candidates"]) == (6, 72)
        assert document["read"]["lines"] == 30
    same, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert same == again != other
    questions, problems = read_all(asnq.stream, same)
    assert problems == [] and all(len(q.candidates) == 12 and q.positives == 1 for q in questions)


def test_a_shipped_set_can_be_extended_too(as2, tmp_path):
    code, out, _ = as2("data", "build", "asnq++", "starter-dev", tmp_path / "a.jsonl", "--candidates", "200", "--json")
    questions, problems = jsonl.read(tmp_path / "a.jsonl")
    assert code == 0 and problems == [] and json.loads(out)["questions"] == len(questions) > 10
    assert {len(q.candidates) for q in questions} == {200}


def test_long_answers_and_squads_sentences_are_built_as_jsonl(as2, tmp_path):
    (tmp_path / "nq.jsonl").write_text(json.dumps(NQ) + "\n")
    (tmp_path / "squad.json").write_text(json.dumps(SQUAD))
    assert as2("data", "build", "nq-la", tmp_path / "nq.jsonl", tmp_path / "la.jsonl")[0] == 0
    assert as2("data", "build", "squad-sent", tmp_path / "squad.json", tmp_path / "sent.jsonl")[0] == 0
    (long,), (sent,) = (jsonl.read(tmp_path / name)[0] for name in ("la.jsonl", "sent.jsonl"))
    assert [(c.text, c.label) for c in long.candidates] == [("Ada was born in Basel . She moved .", 1)]
    assert [(c.text, c.label) for c in sent.candidates] == [("Ada was born in Basel.", 1), ("She moved.", 0)]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["stats", "nowhere"], 1, "no data 'nowhere'"),
        (["stats", "starter-dev", "--split", "train"], 1, "is one split"),
        (["build", "asnq", "nowhere", "out"], 1, "nowhere: cannot be read"),
        (["build", "best", "a", "b"], 2, "'best' is not one of 'asnq', 'asnq++', 'nq-la', 'qnli', 'squad-sent'"),
        (["convert", "starter-dev", "out", "--to", "xml"], 2, "'xml' is not one of"),
    ],
)
def test_an_error_is_one_line(as2, tmp_path, monkeypatch, argv, code, said):
    monkeypatch.chdir(tmp_path)
    found, out, err = as2("data", *argv)
    assert (found, out) == (code, "") and said in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
