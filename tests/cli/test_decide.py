"""`as2 decide`: labels by key or from the data, stored at once and taken up again."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest

from as2core.deciding.decision import Conclusion, DecisionSettings
from as2core.deciding.text import describe_evidence

WORDS = "paris tower"


@pytest.fixture
def data(tmp_path):
    """Forty questions without labels. The answer, the last of three, has the question's words: Jaccard is right, and
    document order is wrong."""
    path = tmp_path / "questions.jsonl"
    with path.open("w") as f:
        for i in range(40):
            rows = [{"id": f"{i} {j}", "text": t} for j, t in enumerate(("rain", "bread", WORDS))]
            f.write(json.dumps({"qid": f"q{i}", "question": WORDS, "candidates": rows}) + "\n")
    return path


@pytest.fixture
def labelled(data, tmp_path):
    path = tmp_path / "labelled.jsonl"
    with path.open("w") as f:
        for line in data.read_text().splitlines():
            q = json.loads(line)
            for c in q["candidates"]:
                c["label"] = int(c["text"] == WORDS)
            f.write(json.dumps(q) + "\n")
    return path


def press(monkeypatch, keys):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))


def test_the_labels_of_the_data_answer_in_a_simulation(as2, as2_json, labelled):
    conclusion = as2_json("decide", "jaccard", "rr", labelled, "--simulate")
    assert (conclusion["outcome"], conclusion["questions"]) == ("a", 40)
    assert 4 <= conclusion["labels"] < 40 < conclusion["most"] + conclusion["labels"] == 80
    code, out, _ = as2("decide", "rr", "jaccard", labelled, "--simulate")
    assert code == 0 and out.startswith("jaccard is better on these 40 questions, 9")


def test_labels_by_key_are_stored_with_their_probability_and_taken_up_again(as2, as2_json, data, tmp_path, monkeypatch):
    file = tmp_path / "labels.jsonl"
    press(monkeypatch, "xax")
    code, out, err = as2("decide", "jaccard", "rr", data, "--labels", file)
    assert code == 0 and "3 labels" in out and f"Q: {WORDS}" in err
    assert f"labels in {file}: 3; the same command goes on from there" in err
    source, *rows = (json.loads(line) for line in file.read_text().splitlines())
    assert source["a"] == "jaccard" and [r["label"] for r in rows] == [0, 1, 0]
    assert rows[0]["probability"] == rows[1]["probability"] > 0 and rows[0]["qid"] == rows[1]["qid"]
    press(monkeypatch, ["u", "u", "", "q"])  # two taken back, one that nobody can tell
    assert as2_json("decide", "jaccard", "rr", data, "--labels", file)["labels"] == 2
    assert [json.loads(line)["label"] for line in file.read_text().splitlines()[1:]] == [0, None]


def test_both_kinds_of_labels_at_once_are_refused(as2, labelled, tmp_path):
    code, _, err = as2("decide", "jaccard", "rr", labelled, "--simulate", "--labels", tmp_path / "l.jsonl")
    assert code == 1 and "leave one out" in err and not (tmp_path / "l.jsonl").exists()


def test_an_interval_rounded_to_zero_says_on_which_side_of_it_the_conclusion_is():
    b_is_better = Conclusion("b", 0.96, -0.03, -0.06, 0.0, False, 100, 40, 80, None, 120, 40)
    assert "-0.030 (-0.06 to below 0, 95 % at any look)" in describe_evidence(
        b_is_better, "wo", "rr", DecisionSettings()
    )
    a_is_better = replace(b_is_better, outcome="a", estimate=0.03, low=0.0, high=0.06)
    assert "+0.030 (above 0 to +0.06, 95 % at any look)" in describe_evidence(
        a_is_better, "wo", "rr", DecisionSettings()
    )
    undecided = replace(b_is_better, outcome="open")
    assert "-0.030 (-0.06 to +0.00, 95 % at any look)" in describe_evidence(undecided, "wo", "rr", DecisionSettings())
    from_below = replace(undecided, estimate=-0.0002, low=-0.004, high=0.06)
    assert "+0.000 (+0.00 to +0.06, 95 % at any look)" in describe_evidence(from_below, "wo", "rr", DecisionSettings())


def test_it_stops_by_itself_when_the_keys_have_decided(as2, data, tmp_path, monkeypatch):
    from as2core.commands import decide

    file = tmp_path / "labels.jsonl"
    answers = decide._ask
    shown = []

    def ask(questions, a, b):
        show = answers(questions, a, b)

        def answer(decision, item):
            shown.append(item)
            press(monkeypatch, "a" if questions[item.qid].candidates[item.candidate].text == WORDS else "x")
            return show(decision, item)

        return answer

    monkeypatch.setattr(decide, "_ask", ask)
    code, out, _ = as2("decide", "jaccard", "rr", data, "--labels", file)
    assert code == 0 and "jaccard is better on these 40 questions, 9" in out
    assert len(shown) == len(file.read_text().splitlines()) - 1


def test_a_run_of_another_program_is_compared(as2, as2_json, labelled, tmp_path):
    for name in ("jaccard", "rr"):
        assert as2("eval", name, labelled, "--run", tmp_path / f"{name}.run")[0] == 0
    by_files = as2_json("decide", tmp_path / "jaccard.run", tmp_path / "rr.run", labelled, "--simulate")
    by_names = as2_json("decide", "jaccard", "rr", labelled, "--simulate")
    assert by_files["labels"] == by_names["labels"] and by_files["estimate"] == by_names["estimate"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q0 Q0 0%200 1 high x", r"line 1: the score 'high' is not a number"),
        ("q0 Q0 0%200 1 nan x", r"not a finite number"),
        ("other Q0 0%200 1 0.5 x", r"ranks no candidate of question 'q0' \(40 of 40 questions are like that; its ids"),
        ("q0 0 0%200 1", r"looks like qrels, which hold labels; give lines of qid Q0 docid rank score tag"),
    ],
)
def test_a_run_that_cannot_be_read_is_refused(as2, labelled, tmp_path, line, message):
    file = tmp_path / "bad.run"
    file.write_text(line + "\n")
    code, _, err = as2("decide", file, "rr", labelled, "--simulate")
    assert code == 1 and re.search(message, err) and "Traceback" not in err


def test_labels_of_another_decision_are_refused_and_stay(as2, data, tmp_path, monkeypatch):
    file = tmp_path / "labels.jsonl"
    press(monkeypatch, "x")
    as2("decide", "jaccard", "rr", data, "--labels", file)
    before = file.read_text()
    code, _, err = as2("decide", "jaccard", "wo", data, "--labels", file)
    assert code == 1 and "another decision" in err and file.read_text() == before
    file.write_text("[1, 2\n")
    code, _, err = as2("decide", "jaccard", "rr", data, "--labels", file)
    assert code == 1 and "not the labels of this decision" in err and file.read_text() == "[1, 2\n"
    first, label = before.splitlines()
    for text, message in (
        ('{"query": "who"}', "line 1: no 'a'"),
        (f'{first}\n{{"qid": "q0"}}', "line 2: no 'id'"),
        (f"{first}\n{label}\n{json.dumps(json.loads(label) | {'id': 'z'})}", "line 3: the data has no candidate 'z'"),
        ("", "line 1: no 'a'"),
    ):
        file.write_text(text + "\n")
        code, _, err = as2("decide", "jaccard", "rr", data, "--labels", file)
        assert code == 1 and f"{file}: {message}" in err and file.read_text() == text + "\n"


def test_labels_need_a_place_and_a_proxy_a_calibration(as2, data, labelled):
    code, _, err = as2("decide", "jaccard", "rr", data)
    assert code == 1 and "--labels FILE" in err
    code, _, err = as2("decide", "jaccard", "rr", labelled, "--simulate", "--proxy", "bm25")
    assert code == 1 and "no calibrated probabilities" in err
    code, _, err = as2("decide", "jaccard", "rr", labelled, "--simulate", "--level", "1")
    assert code == 1 and "level 1" in err


def test_labels_that_are_not_there_decide_nothing_and_those_that_lack_are_counted(as2, data, labelled):
    code, out, err = as2("decide", "jaccard", "rr", data, "--simulate")
    assert (code, out) == (1, "") and "none of the 120 candidates of" in err and "use --labels" in err
    lines = labelled.read_text().splitlines()
    labelled.write_text("\n".join([*lines[1:], data.read_text().splitlines()[0]]))
    code, out, err = as2("decide", "jaccard", "rr", labelled, "--simulate")
    assert code == 0 and "without a label, which count as incorrect: 3 of 120" in err


def test_the_first_draws_give_an_interval_and_no_estimate_that_would_jump():
    early = Conclusion("open", 0.5, 0.48, -0.31, 0.48, False, 100, 3, 4, None, 120, 3)
    text = describe_evidence(early, "wo", "rr", DecisionSettings())
    assert "wo minus rr: between -0.31 and +0.48 (95 % at any look) over 100" in text and "+0.480" not in text
    assert "+0.480 (-0.31" in describe_evidence(replace(early, draws=10), "wo", "rr", DecisionSettings())
    assert "+0.480 (-0.31" in describe_evidence(replace(early, outcome="a"), "wo", "rr", DecisionSettings())
    alone = replace(early, outcome="equal", questions=1, known_questions=1)
    assert "over 1 question, all of them settled" in describe_evidence(alone, "wo", "rr", DecisionSettings())
