"""`as2 eval` of several rankers, each question's values, and titles on or off."""

from __future__ import annotations

import csv
import json
from itertools import product

import numpy as np
import pytest

from as2core.metrics import MEASURES

RIGHT = "paris tower"


@pytest.fixture
def data(tmp_path):
    """Six questions of three sentences; the right one is the last, and says the question's words in all but one."""
    path = tmp_path / "questions.jsonl"
    with path.open("w") as f:
        for i in range(6):
            right = RIGHT if i else "an old iron thing"
            texts = ["rain", "bread and paris", right]
            rows = [{"id": f"{i}-{j}", "text": t, "label": int(j == 2)} for j, t in enumerate(texts)]
            f.write(json.dumps({"qid": f"q{i}", "question": RIGHT, "candidates": rows}) + "\n")
    return path


def test_two_rankers_are_compared_question_by_question(as2_json, data):
    document = as2_json("eval", "jaccard", "rr", data)
    assert [r["ranker"] for r in document["rankers"]] == ["jaccard", "rr"]
    [test] = document["comparisons"]
    differences = np.array([0.0] + [2 / 3] * 5)  # RR puts the right one third; jaccard does so once
    assert (test["a"], test["b"]) == ("jaccard", "rr")
    assert test["AP"]["difference"] == pytest.approx(differences.mean())
    assert (test["AP"]["wins"], test["AP"]["losses"], test["AP"]["ties"]) == (5, 0, 1)
    signs = [abs(np.dot(s, differences)) >= abs(differences.sum()) - 1e-9 for s in product((-1, 1), repeat=6)]
    assert test["AP"]["p"] == pytest.approx(np.mean(signs))
    sd = differences.std(ddof=1)
    assert test["AP"]["detectable"] == pytest.approx((1.959964 + 0.841621) * sd / np.sqrt(6), rel=1e-4)
    assert test["AP"]["low"] <= test["AP"]["difference"] <= test["AP"]["high"]


def test_the_terminal_shows_the_first_against_each_of_the_others(as2, data):
    code, out, _ = as2("eval", "jaccard", "rr", "wo-rr", data)
    assert code == 0
    assert "jaccard minus rr, " in out and "jaccard minus wo-rr, " in out and "rr minus" not in out.replace("wo-rr", "")


def test_each_question_s_values_are_written_and_average_to_the_means(as2_json, data, tmp_path):
    document = as2_json("eval", "jaccard", "rr", data, "--per-question", tmp_path / "values.csv")
    rows = list(csv.DictReader((tmp_path / "values.csv").open()))
    assert len(rows) == 12 and rows[0]["question"] == RIGHT and rows[0]["correct"] == "1"
    for ranker in document["rankers"]:
        own = [r for r in rows if r["ranker"] == ranker["ranker"]]
        for name in MEASURES:
            assert np.mean([float(r[name]) for r in own]) == pytest.approx(ranker[name])


def test_what_takes_one_ranker_says_so_and_one_ranker_is_not_compared_with_itself(as2, data, tmp_path):
    code, _, err = as2("eval", "jaccard", "rr", data, "--run", tmp_path / "run.txt")
    assert code == 1 and "evaluate each alone" in err
    code, _, err = as2("eval", "rr", "rr", data)
    assert code == 1 and "give different ones" in err


@pytest.fixture
def titled(tmp_path):
    """Questions whose right sentence is known by its document's title alone."""
    path = tmp_path / "titled.jsonl"
    with path.open("w") as f:
        for i in range(4):
            rows = [
                {"id": f"{i}-{j}", "text": "it stands high", "title": t, "label": int(t == "tower")}
                for j, t in enumerate(("river", "bread", "tower"))
            ]
            f.write(json.dumps({"qid": f"q{i}", "question": "tower", "candidates": rows}) + "\n")
    return path


def test_titles_are_read_or_not(as2_json, titled):
    with_titles = as2_json("eval", "bi-encoder", titled)
    without = as2_json("eval", "bi-encoder", titled, "--no-titles")
    assert (with_titles["titles"], with_titles["AP"]) == (True, 1.0)
    assert (without["titles"], without["AP"]) == (False, pytest.approx(1 / 3))  # all alike: the original order


def test_training_says_where_one_file_has_titles_and_the_other_none(as2, data, titled, tmp_path, tiny_backbone):
    spec, options = f"cross-encoder:depth=1,backbone={tiny_backbone}", ("--epochs", "1", "--json")
    code, _, err = as2("train", spec, data, "--dev", titled, "--out", tmp_path / "a", *options)
    assert code == 0 and f"{titled} has titles and {data} has none: --no-titles reads both without" in err
    code, out, err = as2("train", spec, data, "--dev", titled, "--out", tmp_path / "b", "--no-titles", *options)
    assert code == 0 and "has titles" not in err
    assert json.loads(out)["card"]["data"][0]["titles"] is False


def test_several_rankers_have_their_p_by_holm_and_questions_for_a_difference(as2_json, as2, data):
    document = as2_json("eval", "jaccard", "rr", "wo-rr", data, "--difference", "0.5")
    tests = [c["AP"] for c in document["comparisons"]]
    ordered = sorted(tests, key=lambda t: t["p"])
    assert ordered[0]["holm"] == pytest.approx(min(1, 2 * ordered[0]["p"]))
    sd = np.array([0.0] + [2 / 3] * 5).std(ddof=1)
    assert tests[0]["sample_size"] == int(np.ceil(((1.959964 + 0.841621) * sd / 0.5) ** 2))
    assert document["unranked"]["AP"] == pytest.approx(1 / 3)
    code, out, _ = as2("eval", "jaccard", data)
    assert code == 0 and "no reranking" in out and "AP 0.333" in out
    code, _, err = as2("eval", "jaccard", "rr", data, "--difference", "0")
    assert code == 1 and "difference 0" in err
