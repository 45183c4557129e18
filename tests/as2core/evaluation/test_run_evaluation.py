"""Runs against qrels alone: the figures of trec_eval on the same files."""

from __future__ import annotations

import csv
import json
import random

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from as2core.cli import main
from as2core.data import qrels
from as2core.errors import BadSetting, UnreadableFile
from as2core.evaluation.runs import evaluate_run, find_run, read_qrels

NAMES = {"AP": "map", "RR": "recip_rank", "P@1": "P_1", "nDCG@10": "ndcg_cut_10"}


@pytest.fixture
def files(tmp_path):
    """Thirty questions. The runs have unjudged documents, lack relevant ones, tie (also in 32 bits alone), lack a
    question and have one too many; the qrels have grades, negative ones too, and a question without a relevant one."""
    rng = random.Random(7)
    docs = [f"d{i}" for i in range(40)] + ["x%20y", "x-y", "%"]
    for name, qids in (("a.run", range(30)), ("other", [*range(1, 30), 99])):
        with (tmp_path / name).open("w") as f:
            for qid in qids:
                for rank, doc in enumerate(rng.sample(docs, 25), 1):
                    score = rng.choice([1, 1 + 1e-9, 2, 3.5, rng.random()])
                    f.write(f"q{qid} Q0 {doc} {rank} {score} {name}\n")
    with (tmp_path / "x.qrels").open("w") as f:
        for qid in range(30):
            grades = [0, 0, -1] if qid == 4 else [0, 0, -1, 1, 2]
            f.writelines(f"q{qid} 0 {doc} {rng.choice(grades)}\n" for doc in rng.sample(docs, 20))
    return tmp_path


@pytest.mark.parametrize("name", ["a.run", "other"])
def test_the_figures_are_those_of_trec_eval_and_ir_measures_on_the_same_files(files, name):
    result, _ = evaluate_run(files / name, read_qrels(files / "x.qrels").questions)
    qrels = pytrec_eval.parse_qrel((files / "x.qrels").open())
    by_trec_eval = pytrec_eval.RelevanceEvaluator(qrels, set(NAMES.values())).evaluate(
        pytrec_eval.parse_run((files / name).open())
    )
    for measure, theirs in NAMES.items():
        values = {qid: by_trec_eval.get(qid, {theirs: 0.0})[theirs] for qid in qrels}
        assert result.per_question[measure] == pytest.approx(values, abs=1e-9)
    means = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(m) for m in NAMES],
        ir_measures.read_trec_qrels(str(files / "x.qrels")),
        ir_measures.read_trec_run(str(files / name)),
    )
    means_here = {m: value for m, value in result.metrics.items() if m in NAMES}
    assert means_here == pytest.approx({str(m): value for m, value in means.items()}, abs=1e-9)
    assert result.questions == 30


@pytest.mark.parametrize("name", ["a.run", "other"])
def test_the_judged_share_is_of_the_ten_that_trec_eval_puts_first(files, name):
    """Its P_10 tells them when all that is judged is made relevant."""
    result, _ = evaluate_run(files / name, read_qrels(files / "x.qrels").questions)
    judged = {q: dict.fromkeys(row, 1) for q, row in pytrec_eval.parse_qrel((files / "x.qrels").open()).items()}
    run = pytrec_eval.parse_run((files / name).open())
    by_trec_eval = pytrec_eval.RelevanceEvaluator(judged, {"P_10"}).evaluate(run)
    shares = {qid: by_trec_eval.get(qid, {"P_10": 0.0})["P_10"] for qid in judged}
    assert result.per_question["Judged@10"] == pytest.approx(shares, abs=1e-9)
    assert 0 < result.metrics["Judged@10"] < 1


def test_other_cut_offs_and_grades_are_those_of_trec_eval_too(files):
    theirs = {"R@5": "recall_5", "nDCG@20": "ndcg_cut_20", "AP@10": "map_cut_10", "Success@5": "success_5"}
    by_grade = {"AP(rel=2)": "map", "P(rel=2)@5": "P_5"}
    names = [*theirs, *by_grade]
    result, _ = evaluate_run(files / "a.run", read_qrels(files / "x.qrels").questions, measures=names)
    qrels = pytrec_eval.parse_qrel((files / "x.qrels").open())
    run = pytrec_eval.parse_run((files / "a.run").open())
    for level, measures in ((1, theirs), (2, by_grade)):
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(measures.values()), relevance_level=level)
        values = evaluator.evaluate(run)
        for measure, name in measures.items():
            assert result.per_question[measure] == pytest.approx({q: values[q][name] for q in qrels}, abs=1e-9)
    assert [*result.metrics] == [*names, "Judged@10"]


def test_without_ties_the_judged_share_is_that_of_ir_measures(files):
    lines = [line.split() for line in (files / "a.run").read_text().splitlines()]
    (files / "b.run").write_text("".join(f"{q} Q0 {d} {rank} {-int(rank)} t\n" for q, _, d, rank, *_ in lines))
    result, _ = evaluate_run(files / "b.run", read_qrels(files / "x.qrels").questions)
    theirs = ir_measures.calc_aggregate(
        [ir_measures.Judged @ 10],
        ir_measures.read_trec_qrels(str(files / "x.qrels")),
        ir_measures.read_trec_run(str(files / "b.run")),
    )
    assert result.metrics["Judged@10"] == pytest.approx(theirs[ir_measures.Judged @ 10], abs=1e-9)


def test_of_equal_scores_the_later_document_id_comes_first_in_every_measure(tmp_path):
    (tmp_path / "x.qrels").write_text("".join(f"q 0 d{i} 1\n" for i in range(10)))
    (tmp_path / "a.run").write_text("".join(f"q Q0 {x}{i} 1 0.5 t\n" for x in "du" for i in range(10)))
    result, _ = evaluate_run(tmp_path / "a.run", read_qrels(tmp_path / "x.qrels").questions)
    assert (result.metrics["P@1"], result.metrics["Judged@10"]) == (0, 0)  # u0 to u9 are the first ten


def test_a_question_without_documents_in_a_run_counts_0_and_a_score_too_large_for_32_bits_comes_first(tmp_path):
    (tmp_path / "x.qrels").write_text("q 0 a 1\nr 0 a 1\n")
    (tmp_path / "a.json").write_text('{"q": {}, "r": {"b": 2e38, "a": 1e39}}')
    result, notes = evaluate_run(tmp_path / "a.json", read_qrels(tmp_path / "x.qrels").questions)
    assert result.per_question["RR"] == {"q": 0, "r": 1} and result.per_question["Judged@10"] == {"q": 0, "r": 0.5}
    assert notes == [
        "questions that are not in the run and count 0: 1 of 2; trec_eval leaves them out unless it has -c"
    ]


def test_by_hand_a_relevant_document_that_a_run_lacks_counts_and_an_unjudged_one_is_not_relevant(tmp_path):
    (tmp_path / "x.qrels").write_text("q 0 b 1\nq 0 c 1\nr 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    result, notes = evaluate_run(tmp_path / "a.run", read_qrels(tmp_path / "x.qrels").questions)
    assert result.per_question["AP"] == {"q": pytest.approx(1 / 2 / 2), "r": 0}
    assert result.per_question["Judged@10"] == {"q": 0.5, "r": 0}
    assert notes == [
        "questions that are not in the run and count 0: 1 of 2; trec_eval leaves them out unless it has -c"
    ]


def test_as2_eval_compares_runs_on_qrels(files, capsys):
    a, b, data = (str(files / name) for name in ("a.run", "other", "x.qrels"))
    table, page = files / "values.csv", files / "report.html"
    assert main(["eval", a, f"run:file={b}", data, "--json", "--per-question", str(table), "--report", str(page)]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert (document["setting"], document["titles"], document["unranked"]) == ("raw", None, None)
    values = [evaluate_run(files / n, read_qrels(data).questions)[0] for n in ("a.run", "other")]
    [test] = document["comparisons"]
    differences = [x - y for x, y in zip(*(v.per_question["AP"].values() for v in values), strict=True)]
    assert test["AP"]["difference"] == pytest.approx(np.mean(differences)) and "Judged@10" not in test
    assert [r["Judged@10"] for r in document["rankers"]] == [v.metrics["Judged@10"] for v in values]
    assert document["notes"] == [
        f"run:file={b}: questions that are not in the run and count 0: 1 of 30; trec_eval leaves them out unless it "
        "has -c",
        f"run:file={b}: questions of the run that are not among these and do not count: 1",
    ]
    assert len(list(csv.DictReader(table.open()))) == 60 and "no reranking" not in page.read_text()
    assert "of the first ten are in the qrels" in page.read_text() and "titles" not in page.read_text()
    assert main(["eval", a, data, "--setting", "clean"]) == 0
    assert "29 questions in" in capsys.readouterr().out  # one has no relevant document


def test_what_cannot_be_measured_on_qrels_says_what_can(files, tmp_path, capsys):
    a, data = str(files / "a.run"), str(files / "x.qrels")
    for words, message in (
        (["bm25", data], "bm25 is no run, and qrels hold no texts"),
        ([data, a], "a.run is a run, which ranks: name it before the data, as in as2 eval a.run FILE.qrels"),
        ([a, data, "--slices"], "--slices: needs texts"),
        (["gone.run", data], "there is no run file gone.run"),
        (["run:file=gone", data], "there is no run file gone"),
    ):
        assert main(["eval", *words]) == 1
        assert message in capsys.readouterr().err
    (files / "run.json").write_text('{"q1": {"d1": 2, "d2": 1}}')
    assert main(["eval", a, str(files / "run.json")]) == 1
    assert "If it has labels, save it as TREC: qrels.save('name.trec') in ranx" in capsys.readouterr().err
    (files / "y.qrels").write_text("another 0 d1 1\n")
    with pytest.raises(BadSetting, match="of the qrels, such as 'another'; its questions are like 'q0': give"):
        evaluate_run(find_run(a), read_qrels(files / "y.qrels").questions)
    (files / "twice.run").write_text("q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n")
    with pytest.raises(UnreadableFile, match=r"twice\.run: line 2"):
        evaluate_run(files / "twice.run", read_qrels(data).questions)


@pytest.mark.parametrize("line", ["q1 0 d1 1.0", "q1 0 d1 1 x", "# judged in May", "q1 d1 1"])
def test_a_first_line_that_is_none_of_qrels_is_shown_with_what_one_is(files, capsys, line):
    (files / "y.qrels").write_text(f"{line}\nq1 0 d2 0\n")
    assert main(["eval", str(files / "a.run"), str(files / "y.qrels")]) == 1
    message = f"y.qrels: line 1: {line!r} is no line of qrels: give four columns"
    assert message in capsys.readouterr().err


def test_qrels_that_are_given_as_an_option_are_named_where_they_belong_and_not_written_over(files, capsys):
    a, b, data = (str(files / name) for name in ("a.run", "other", "x.qrels"))
    before = (files / "x.qrels").read_bytes()
    assert main(["eval", a, b, "--qrels", data]) == 1
    assert f"--qrels is a file that is written: to measure runs on it, name it last, as in as2 eval {a} {b} {data}" in (
        capsys.readouterr().err
    )
    assert (files / "x.qrels").read_bytes() == before


def test_a_grade_that_is_no_whole_number_is_told_of_whatever_the_name_of_the_file(files, capsys):
    (files / "y.txt").write_text("q1 0 d1 0.5\n")
    assert main(["eval", str(files / "a.run"), str(files / "y.txt")]) == 1
    assert "a whole number (qid 0 docid rel)" in capsys.readouterr().err


def test_a_run_in_json_or_a_table_has_the_figures_of_the_same_run_of_trec(files, capsys):
    run = {}
    for qid, _, docid, _, score, _ in (line.split() for line in (files / "other").read_text().splitlines()):
        run.setdefault(qid, {})[qrels.unescape_id(docid)] = float(score)
    (files / "b.json").write_text(json.dumps(run))
    rows = [{"qid": qid, "docno": docid, "score": score} for qid, row in run.items() for docid, score in row.items()]
    with (files / "b.tsv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["qid", "docno", "score"], delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    names = [str(files / name) for name in ("other", "b.json", "b.tsv")]
    assert main(["eval", *names, str(files / "x.qrels"), "--json"]) == 0
    printed = capsys.readouterr()
    trec, *others = json.loads(printed.out)["rankers"]
    for measure in (*NAMES, "Judged@10"):
        assert [other[measure] for other in others] == [trec[measure]] * 2
    assert printed.err.count("questions that are not in the run and count 0: 1 of 30") == 3
    labels = {q.qid: {c.id: c.relevance for c in q.candidates} for q in read_qrels(files / "x.qrels").questions}
    (files / "qrels.json").write_text(json.dumps(labels))
    table = [(qid, docid, label) for qid, row in labels.items() for docid, label in row.items()]
    (files / "qrels.csv").write_text("".join(f"{q},{d},{v}\n" for q, d, v in [("qid", "docno", "label"), *table]))
    for name in ("qrels.json", "qrels.csv"):
        assert main(["eval", *names[:2], str(files / name), "--json"]) == 0
        other, _ = json.loads(capsys.readouterr().out)["rankers"]
        assert [other[measure] for measure in (*NAMES, "Judged@10")] == [trec[m] for m in (*NAMES, "Judged@10")]
    assert main(["eval", str(files / "x.qrels"), str(files / "x.qrels")]) == 1
    assert "x.qrels: line 1: it looks like qrels, which hold labels; give lines" in capsys.readouterr().err
