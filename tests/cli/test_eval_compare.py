"""`as2 eval` of several rankers, each question's values, and titles on or off."""

from __future__ import annotations

import csv
import json
import re
from itertools import product

import numpy as np
import pytest

from as2core.metrics import MEASURES
from as2core.rankers import catalog
from as2core.rankers.specs import Entry
from as2core.version import __version__

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
    assert test["AP"]["detectable"] is None  # five changed, and five of five have p = 2 / 2**5
    assert test["AP"]["effect"] == pytest.approx(differences.mean() / sd)
    assert test["AP"]["low"] <= test["AP"]["difference"] <= test["AP"]["high"]


def test_the_detectable_difference_is_shown_where_six_questions_changed(as2_json, data):
    record = json.loads(data.read_text().splitlines()[1])
    with data.open("a") as f:
        f.writelines(json.dumps(record | {"qid": f"r{i}"}) + "\n" for i in range(2))
    [test] = as2_json("eval", "jaccard", "rr", data)["comparisons"]
    sd = np.array([0.0] + [2 / 3] * 7).std(ddof=1)
    assert test["AP"]["detectable"] == pytest.approx((1.959964 + 0.841621) * sd / np.sqrt(8), rel=1e-4)


def test_the_terminal_shows_the_first_against_each_of_the_others(as2, data):
    code, out, _ = as2("eval", "jaccard", "rr", "wo-rr", data)
    assert code == 0
    assert "jaccard minus rr, " in out and "jaccard minus wo-rr, " in out and "rr minus" not in out.replace("wo-rr", "")
    assert (
        "holm: p corrected for these 2 comparisons (Holm)" in out
        and "effect size of AP: 2.04 standard deviations (large)" in out
    )


def test_each_question_s_values_are_written_and_average_to_the_means(as2_json, data, tmp_path):
    document = as2_json("eval", "jaccard", "rr", data, "--per-question", tmp_path / "values.csv")
    rows = list(csv.DictReader((tmp_path / "values.csv").open()))
    assert len(rows) == 12 and rows[0]["question"] == RIGHT and rows[0]["correct"] == "1"
    for ranker in document["rankers"]:
        own = [r for r in rows if r["ranker"] == ranker["ranker"]]
        for name in MEASURES:
            assert np.mean([float(r[name]) for r in own]) == pytest.approx(ranker[name])


def test_further_measures_are_in_every_output_and_tested(as2, as2_json, data, tmp_path):
    files = {name: tmp_path / f"values.{name}" for name in ("csv", "tex", "html")}
    options = ("--per-question", files["csv"], "--latex", files["tex"], "--report", files["html"])
    document = as2_json("eval", "jaccard", "rr", data, "--measures", "R@1 P@2,AP", *options)
    means = [[ranker[m] for m in ("R@1", "P@2")] for ranker in document["rankers"]]
    assert means == [pytest.approx([5 / 6, 5 / 12]), [0, 0]]  # the right one is first in five of six, or never
    [test] = document["comparisons"]
    assert test["R@1"]["difference"] == pytest.approx(5 / 6) and test["P@2"]["wins"] == 5
    assert document["unranked"]["P@2"] == 0 and document["rankers"][0]["intervals"].keys() == {*MEASURES, "R@1", "P@2"}
    assert [row["R@1"] for row in csv.DictReader(files["csv"].open())] == ["0.0", "0.0", *["1.0", "0.0"] * 5]
    assert "nDCG@10 & R@1 & P@2" in files["tex"].read_text() and "<h2>R@1</h2>" in files["html"].read_text()
    assert "--measures 'R@1 P@2,AP'" in files["html"].read_text().replace("&#x27;", "'")
    code, _, err = as2("eval", "jaccard", data, "--measures", "NumRet")
    assert code == 1 and "NumRet is not measured here" in err


def test_what_takes_one_ranker_says_so_and_one_ranker_is_not_compared_with_itself(as2, data, tmp_path):
    code, _, err = as2("eval", "jaccard", "rr", data, "--run", tmp_path / "run.txt")
    assert code == 1 and "evaluate each alone" in err
    code, _, err = as2("eval", "rr", "rr", data)
    assert code == 1 and "give different ones" in err


def test_slices_have_a_line_each_and_in_the_json_their_errors(as2, as2_json, data, tmp_path):
    file = tmp_path / "slices.toml"
    file.write_text('[[slice]]\nname = "mine"\nany = ["paris"]\n[[slice]]\nname = "yours"\nany = ["oslo"]\n')
    document = as2_json("eval", "jaccard", "rr", data, "--slice-file", file)
    own, other, length, *_ = document["rankers"][0]["slices"]
    assert (own["group"], own["name"], own["questions"], own["errors"]) == ("own", "mine", 6, ["q0"])
    assert own["share"] == pytest.approx(5 / 6) and own["low"] < 5 / 6 < own["high"]
    assert (other["group"], length["group"]) == ("kind", "length")
    out = as2("eval", "rr", data, "--slices")[1]
    assert "kind: other" in out and "own" not in out
    assert "no question is in 'yours'" in as2("eval", "rr", data, "--slice-file", file)[1]
    assert "slices" not in as2_json("eval", "rr", data)
    file.write_text("[[slice]]\nname = 3\n")
    code, out, err = as2("eval", "rr", data, "--slice-file", file)
    assert (code, out) == (1, "") and "slice 1 (line 1): give it a name" in err


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
    document = as2_json("eval", "jaccard", "rr", "wo-rr", data, "--difference", "0.2")
    tests = [c["AP"] for c in document["comparisons"]]
    ordered = sorted(tests, key=lambda t: t["p"])
    assert ordered[0]["holm"] == pytest.approx(min(1, 2 * ordered[0]["p"]))
    sd = np.array([0.0] + [2 / 3] * 5).std(ddof=1)
    assert tests[0]["sample_size"] == int(np.ceil(((1.959964 + 0.841621) * sd / 0.2) ** 2))
    assert document["unranked"]["AP"] == pytest.approx(1 / 3)
    code, out, _ = as2("eval", "jaccard", data)
    assert code == 0 and "no reranking" in out and "AP 0.333" in out
    code, _, err = as2("eval", "jaccard", "rr", data, "--difference", "0")
    assert code == 1 and "difference 0" in err


def write_copies(data, n):
    """n questions that Jaccard gets right and document order wrong."""
    record = json.loads(data.read_text().splitlines()[1])
    data.write_text("".join(json.dumps(record | {"qid": f"q{i}"}) + "\n" for i in range(n)))


def write_gate(tmp_path, text):
    file = tmp_path / "gate.toml"
    file.write_text(text)
    return file


def test_a_gate_that_is_passed_exits_with_0_and_one_that_is_not_with_3(as2, as2_json, data, tmp_path):
    # AP of Jaccard: 1/3 once and 1 five times; document order has 1/3 throughout
    passed = write_gate(
        tmp_path,
        """
        [[require]]
        measure = "AP"
        at_least = 0.88
        [[require]]
        measure = "AP"
        against = "rr"
        max_loss = 0.02
        sure = true
        [[require]]
        measure = "P@1"
        against = "no reranking"
        """,
    )
    document = as2_json("eval", "jaccard", "rr", data, "--gate", passed)
    assert [c["is_met"] for c in document["gate"]] == [True] * 3
    assert document["gate"][0]["value"] == pytest.approx((5 + 1 / 3) / 6)
    missed = write_gate(tmp_path, '[[require]]\nmeasure = "AP"\nagainst = "jaccard"\nmax_loss = 0.5\n')
    code, out, err = as2("eval", "rr", "jaccard", data, "--gate", missed)
    assert code == 3 and "missed" in out and "not passed (1 of 1): AP of rr minus jaccard at least -0.5: -0.556" in err


@pytest.mark.parametrize(("n", "met"), [(1, False), (5, False), (6, False), (40, True)])
def test_few_questions_are_never_sure_and_many_are_by_wilsons_interval(as2, as2_json, data, tmp_path, n, met):
    """Jaccard is right on all of them: 6 of 6 could be 0.61 of others, 40 of 40 could be 0.91."""
    write_copies(data, n)
    requirements = [f'[[require]]\nmeasure = "{m}"\nat_least = 0.9\nsure = true\n' for m in ("P@1", "AP")]
    gate = write_gate(tmp_path, "".join(requirements))
    code, out, err = as2("eval", "jaccard", data, "--gate", gate)
    assert code == (0 if met else 3)
    assert ("too few questions to be sure: " in out) is ("too few questions to be sure: " in err) is (n < 6)
    low, high = as2_json("eval", "jaccard", data)["intervals"]["AP"]
    assert (low, high) == pytest.approx((n / (n + 1.959964**2), 1), rel=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[require", "not TOML"),
        ("", "requires nothing"),
        ('[[require]]\nmeasure = "MAP"\nat_least = 1', "no measure 'MAP'"),
        ('[[require]]\nmeasure = "AP"', "either at_least, or against"),
        ('[[require]]\nmeasure = "AP"\nat_most = 1', "at_most"),
        ('[[require]]\nmeasure = "AP"\nat_least = "high"', "are numbers"),
        ('[[require]]\nmeasure = "AP"\nat_least = 80', "requirement 1: 80 is no share"),
        ('[[require]]\nmeasure = "AP"\nat_least = nan', "nan is no share"),
        ('[[require]]\nmeasure = "AP"\nat_least = inf', "inf is no share"),
        ('[[require]]\nmeasure = "AP"\nagainst = "jaccard"\nmax_loss = -0.1', "-0.1 is no share"),
        ('[[require]]\nmeasure = "AP"\nagainst = "bm25"', "name it on the command line"),
    ],
)
def test_a_gate_that_cannot_be_checked_is_an_error_you_can_fix(as2, data, tmp_path, text, message):
    code, _, err = as2("eval", "jaccard", data, "--gate", write_gate(tmp_path, text))
    assert code == 1 and message in err and "Traceback" not in err


@pytest.fixture
def broken(monkeypatch):
    """The name of a package's ranker that fails."""

    def build():
        raise RuntimeError("no model at /models/a")

    monkeypatch.setitem(catalog.CATALOG, "theirs", Entry("theirs", "fails", "", build))
    return "theirs"


def test_a_ranker_that_fails_is_named_with_its_error_and_the_others_have_their_figures(as2, data, broken, tmp_path):
    report = tmp_path / "report.html"
    code, out, err = as2("eval", "jaccard", broken, "rr", data, "--report", report)
    assert code == 1 and "jaccard minus rr" in out and "Traceback" not in err
    assert "theirs failed: RuntimeError: no model at /models/a" in err and "1 of 3 rankers failed: theirs" in err
    assert "no model at /models/a" in report.read_text()
    code, out, _ = as2("eval", broken, "jaccard", data, "--json")
    document = json.loads(out)
    assert code == 1 and [r["ranker"] for r in document["rankers"]] == ["jaccard"] and not document["comparisons"]
    assert document["failed"] == [{"ranker": "theirs", "error": "RuntimeError: no model at /models/a"}]
    code, out, err = as2("eval", broken, "nosuch", data)
    assert code == 1 and not out and "theirs failed: " in err and "nosuch failed: no ranker 'nosuch'" in err


def test_a_gate_that_needs_a_ranker_that_failed_is_not_passed(as2, data, broken, tmp_path):
    gate = write_gate(tmp_path, f'[[require]]\nmeasure = "AP"\nagainst = "{broken}"\n')
    code, _, err = as2("eval", "jaccard", broken, data, "--gate", gate)
    assert code == 1 and "1 of 2 rankers failed: theirs; the gate is not checked" in err


def test_a_report_is_one_file_that_needs_nothing_else(as2, data, tmp_path):
    gate = write_gate(tmp_path, '[[require]]\nmeasure = "AP"\nat_least = 0.99')
    code, _, _ = as2("eval", "jaccard", "rr", data, "--report", tmp_path / "report.html", "--gate", gate)
    html = (tmp_path / "report.html").read_text()
    assert code == 3  # and the report is there
    assert "0.889" in html and "jaccard minus rr" in html and "no reranking" in html and "missed" in html
    assert not [x for x in ("http", "<script", "src=", "url(") if x in html]


def test_the_table_for_latex_has_the_means_and_how_to_make_it_again(as2, data, tmp_path):
    code, _, _ = as2("eval", "jaccard", "rr", data, "--latex", tmp_path / "t.tex")
    table = (tmp_path / "t.tex").read_text()
    assert code == 0 and f"% command: as2 eval jaccard rr {data} --latex {tmp_path / 't.tex'}\n" in table
    assert r"a & jaccard & \textbf{0.889} &" in table and table.endswith("\\end{table}\n")


def test_a_report_says_what_it_is_of_what_came_out_and_how_to_make_it_again(as2, data, tmp_path):
    """Five of six won, so p = 2 / 2**5, and too few changed to tell."""
    code, _, _ = as2(
        "eval", "jaccard", "rr", data, "--report", tmp_path / "r.html", "--no-titles", "--difference", "0.1"
    )
    html = (tmp_path / "r.html").read_text()
    assert code == 0 and f"<h1>jaccard, rr on {data}</h1>" in html
    assert (
        f"<code>as2 eval jaccard rr {data} --no-titles --report {tmp_path / 'r.html'} --difference 0.1</code>" in html
    )
    assert f"as2core {__version__}" in html and re.search(r"<dd>20\d\d-\d\d-\d\d \d\d:\d\d UTC</dd>", html)
    assert (
        "Too few questions changed to tell jaccard and rr apart: AP of jaccard is 0.556 higher (p\u00a0=\u00a00.062)."
        in html
    )
    assert "jaccard is better on 5 questions, rr on 0, 1 are the same." in html
    assert "p corrected for 1 pair (Holm)" in html and "questions needed for 0.1" in html and "sample_size" not in html
    assert (
        html.count("<table>") == html.count('<div class="table" tabindex="0"><table>') and "width=device-width" in html
    )


def test_a_report_has_the_slices_and_what_missing_labels_could_change(as2, as2_json, data, tmp_path):
    lines = [json.loads(line) for line in data.read_text().splitlines()]
    lines[1]["candidates"][0]["label"] = None
    lines.append({"qid": "none", "question": RIGHT, "candidates": [{"id": "n-0", "text": "rain"}]})
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = tmp_path / "r.html"
    document = as2_json("eval", "rr", "jaccard", data, "--setting", "raw", "--slices", "--report", report)
    html = report.read_text()
    assert f"<dd>7, 6 with a label, of {data}, every question (raw)</dd>" in html
    assert "<dt>no label</dt><dd>2 candidates, counted as not correct</dd>" in html
    for ranker in document["rankers"]:
        low, high = ranker["bounds"]["AP"]
        assert f"<td>{low:.3f} to {high:.3f}</td>" in html and low < high
    shares = [{s["name"]: s["share"] for s in ranker["slices"]} for ranker in document["rankers"]]
    rows = re.findall(r"<td>words in the answer: (.*?)</td><td>\d</td><td>(\S+) .*?</td><td>(\S+) ", html)
    assert len(rows) == 2 and shares[0].keys() == shares[1].keys()
    assert all((float(a), float(b)) == (shares[0][name], shares[1][name]) for name, a, b in rows)


def test_a_p_is_never_shown_as_0(as2, as2_json, data, tmp_path):
    write_copies(data, 20)
    code, out, _ = as2("eval", "jaccard", "rr", data, "--report", tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text()
    assert code == 0 and "<0.001" in out and html.count("<td>&lt;0.001</td>") == 2 * len(MEASURES)
    assert "jaccard is better than rr: AP is 0.667 higher" in html and "p\u00a0&lt;\u00a00.001" in html
    [heads] = [line for line in out.splitlines() if " holm " in line]
    [row] = [line for line in out.splitlines() if line.startswith("AP") and "<0.001" in line]
    assert row.index("<0.001") + len("<0.001") == heads.index(" p ") + len(" p")  # to the right, as numbers are
    [test] = as2_json("eval", "jaccard", "rr", data)["comparisons"]
    assert test["AP"]["p"] == pytest.approx(2 / 2**20)


def test_training_questions_are_told_in_the_note_in_the_json_and_in_the_report(as2, data, tmp_path):
    version, report = tmp_path / "house", tmp_path / "r.html"
    assert as2("train", "cosinet", data, "--out", version, "--epochs", "1")[0] == 0
    card = json.loads((version / "card.json").read_text())
    (version / "card.json").write_text(json.dumps(card | {"trained_on": [RIGHT]}))
    note = f"{version} was trained on 6 of these 6 questions, so its figures here are too high"
    for ranker in (str(version), f"fusion:rankers=bm25+{version}"):
        code, out, err = as2("eval", ranker, "bm25", data, "--json", "--report", report)
        assert code == 0 and "was trained on 6 of these 6 questions" in err and "was trained on 6" in report.read_text()
        [told] = [note for note in json.loads(out)["notes"] if "trained on" in note]
        assert told.startswith(note) or "fusion" in ranker
    assert not any("trained on" in note for note in json.loads(as2("eval", "bm25", data, "--json")[1])["notes"])


def test_data_with_a_broken_line_meets_no_gate_and_is_counted(as2, as2_json, data, tmp_path):
    gate = write_gate(tmp_path, '[[require]]\nmeasure = "AP"\nat_least = 0.1')
    assert as2("eval", "jaccard", data, "--gate", gate)[0] == 0
    data.write_text(data.read_text()[:-40])  # an upload that broke off
    code, out, err = as2("eval", "jaccard", data, "--gate", gate)
    assert (code, out) == (1, "") and "1 line left out, the first: line 6: the JSON ends" in err and "whole data" in err
    assert err.count("line 6") == 1
    report = tmp_path / "r.html"
    document = as2_json("eval", "jaccard", data, "--report", report)
    assert (document["left_out"], document["questions"]) == (1, 5) and "1 line of the data" in report.read_text()
    assert as2_json("eval", "jaccard", "rr", data)["left_out"] == 1


def test_a_run_says_where_its_scores_are_none(as2, data, tmp_path):
    code, _, err = as2("eval", "jaccard", data, "--run", tmp_path / "x.run")
    assert code == 0 and "x.run: the scores of 1 question tie and are written as falling whole numbers" in err
    assert "tie" not in as2("eval", "rr", data, "--run", tmp_path / "x.run")[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--difference", "0"), "--difference 0: give one above 0"),
        (("--difference", "nan"), "--difference nan: give one above 0"),
        (("--run", "."), ". is a folder: name a file in it"),
        (("--report", "nowhere/report.html"), "nowhere/report.html: there is no folder nowhere"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_ranked(as2, data, monkeypatch, options, message):
    monkeypatch.setattr("as2core.commands.eval.load_ranker", lambda spec: pytest.fail("loaded"))
    code, out, err = as2("eval", "rr", data, *options)
    assert (code, out) == (1, "") and message in err


def test_questions_without_a_label_are_counted_and_not_measured(as2, as2_json, data):
    lines = [json.loads(line) for line in data.read_text().splitlines()]
    for q in lines[:2]:
        for c in q["candidates"]:
            c["label"] = None
    data.write_text("".join(json.dumps(q) + "\n" for q in lines))
    assert "raw: 6 questions, 4 with a label, in " in as2("eval", "rr", data, "--setting", "raw")[1]
    document = as2_json("eval", "rr", data, "--setting", "raw")
    assert (document["questions"], document["questions_with_labels"], document["unlabelled"]) == (6, 4, 6)
    for q in lines:
        for c in q["candidates"]:
            c["label"] = None
    data.write_text("".join(json.dumps(q) + "\n" for q in lines))
    for setting in ("raw", "clean"):
        code, _, err = as2("eval", "rr", data, "--setting", setting)
        assert code == 1 and "no candidate of " in err and "as2 decide" in err


def test_triplets_have_no_order_that_a_ranker_could_be_compared_with(as2, as2_json, tmp_path):
    file, report = tmp_path / "triplets.jsonl", tmp_path / "report.html"
    file.write_text(json.dumps({"anchor": RIGHT, "positive": "bread and paris", "negative": RIGHT}) + "\n")
    code, out, _ = as2("eval", "jaccard", file, "--report", report)
    assert code == 0 and "no reranking" not in out + report.read_text() and "AP" in report.read_text()
    assert as2_json("eval", "jaccard", file)["unranked"] is None
    assert as2_json("eval", "jaccard", "rr", file)["unranked"] is None
    gate = write_gate(tmp_path, '[[require]]\nmeasure = "AP"\nagainst = "no reranking"')
    code, _, err = as2("eval", "jaccard", file, "--gate", gate)
    assert code == 1 and "the data has no order: take another ranker" in err
