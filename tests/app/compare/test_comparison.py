"""The result of a comparison: figures, tests, ranks question by question, and what is stored of them."""

import json
from dataclasses import replace
from datetime import datetime
from itertools import combinations

import numpy as np
import pytest
from comparison_runs import run_comparison, view_job
from label_files import import_labels
from thing_questions import QUESTIONS

from app.compare import comparison, exports, pairs
from app.compare.short_names import shorten_view
from app.compare.sweeps import adjust_p_values
from app.jobs import queue
from app.versions import evaluations
from as2core.data import jsonl
from as2core.metrics import PairedTest, measure_mean
from as2core.types import Candidate, Question
from db.models import Job


def test_a_comparison_measures_what_the_metrics_measure(wb, data):
    view = run_comparison(wb, ["rr", "bm25"], data)
    assert (view.data, view.setting, view.questions) == (data, "clean", 6)
    [rr, bm25] = view.results
    in_order = {q.qid: -np.arange(4.0) for q in QUESTIONS}
    expected = measure_mean(QUESTIONS, in_order)
    assert rr.ranker == "rr"
    assert {m: rr.figures[m].value for m in expected} == pytest.approx(expected)
    assert rr.figures["AP"].value == 0.5
    assert rr.figures["AP"].low <= rr.figures["AP"].value <= rr.figures["AP"].high
    assert bm25.figures["AP"].value == 1.0
    assert bm25.relative_cost is None


def test_a_result_and_its_file_say_when_and_of_what_it_was_made(wb, data):
    first, second = (run_comparison(wb, ["rr", f"bm25:k1={k1}"], data) for k1 in (1.2, 1.5))
    one, other = (json.loads(exports.export_json(view)) for view in (first, second))
    assert datetime.fromisoformat(one["finished"]) == first.finished and first.finished.tzinfo is not None
    assert one["data_digest"] == other["data_digest"] == evaluations.hash_questions(first.by_id.values())
    assert "None" not in exports.export_table(first)  # neither has a cost
    digests = [{r["ranker"]: r["digest"] for r in document["rankers"]} for document in (one, other)]
    assert digests[0]["rr"] == digests[1]["rr"] == evaluations.hash_ranker(wb, "rr").partition("@")[2]


def test_where_correct_candidates_were_dropped_is_told_from_the_store_too(wb, data):
    for _ in range(2):
        cascade, bm25 = run_comparison(wb, ["active", "bm25"], data).results
        assert cascade.cuts[0].stage.startswith("layer")
        assert sum(cut.dropped for cut in cascade.cuts) > 0 and bm25.cuts == ()


def test_the_better_ranker_is_named_first_in_the_paired_test(wb, data):
    view = run_comparison(wb, ["rr", "bm25"], data)
    [pair] = view.paired["AP"]
    assert (pair.a, pair.b, pair.metric) == ("bm25", "rr", "AP")
    assert (pair.test.wins, pair.test.losses, pair.test.ties) == (6, 0, 0)
    assert pair.test.difference == 0.5
    assert pair.test.p == pytest.approx(2 / 2**6)


def test_every_metric_has_its_own_tests_computed_by_the_job_with_the_better_ranker_first(wb, data):
    wrong = Candidate("m1", "The mill does what the mill has to do.", 0)
    first = Question("q9", "What does the mill do?", (Candidate("m0", "The mill grinds.", 1), wrong))
    import_labels(wb, None, "mills.jsonl", jsonl.dumps([*QUESTIONS, first]).encode())
    view = run_comparison(wb, ["rr", "bm25"], "labels:mills")
    for metric, low, high in (("P@1", 0, 1), ("RR", 0.5, 1), ("AP", 0.5, 1)):  # of rr and of bm25 on six questions
        [pair] = view.paired[metric]
        assert (pair.a, pair.b, pair.metric) == ("bm25", "rr", metric)
        assert (pair.test.wins, pair.test.losses, pair.test.ties) == (6, 1, 0)
        assert pair.test.difference == pytest.approx((6 * (high - low) - (1 - (0 if metric == "P@1" else 0.5))) / 7)
    records = queue.load_job(wb, view_job(wb)).result["paired"]
    assert sorted(r["metric"] for r in records) == ["AP", "P@1", "RR", "nDCG@10"]


def test_an_older_result_with_tests_of_ap_alone_is_tested_on_its_stored_values_once(wb, data, monkeypatch):
    new = run_comparison(wb, ["rr", "bm25", "wo"], data)
    with wb.write() as s:
        row = s.get_one(Job, view_job(wb))
        row.result = {**row.result, "paired": [r for r in row.result["paired"] if r["metric"] == "AP"]}
    pairs._read_pairs.cache_clear()
    tests, paired_test = [], pairs.paired_test
    monkeypatch.setattr(pairs, "paired_test", lambda a, b: tests.append(1) or paired_test(a, b))
    for _ in range(3):  # the page is drawn at every click
        old = comparison.load_comparison(wb, view_job(wb))
        assert old.paired["P@1"] == new.paired["P@1"] and old.paired["AP"] == new.paired["AP"]
    assert len(tests) == 3  # a pair each


def test_a_metric_without_stored_values_or_tests_has_no_pairs():
    record = {"a": "bm25", "b": "rr", "metric": "AP", "difference": 0.1, "low": 0.0, "high": 0.2, "p": 0.01, "wins": 9,
              "losses": 1, "ties": 0}  # fmt: skip
    paired = pairs.PairsByMetric([record], {})
    assert [(p.a, p.b, p.test.p, p.effect) for p in paired["AP"]] == [("bm25", "rr", 0.01, None)]
    assert paired["P@1"] == ()


def test_the_number_of_pairs_that_p_is_corrected_for_is_that_of_the_family(wb, data):
    view = run_comparison(wb, ["rr", "bm25", "wo", "cascade:drop_ratio=0", "cascade:drop_ratio=0.5"], data)
    sizes = {frozenset((p.a, p.b)): p.family_size for p in view.paired["AP"]}
    assert sizes[frozenset(("rr", "bm25"))] == 3  # of three rankers
    assert sizes[frozenset(("rr", "cascade:drop_ratio=0"))] == 10 - 3


def test_ranks_and_measures_are_there_question_by_question(wb, data):
    view = run_comparison(wb, ["rr", "bm25"], data)
    frame = view.ranks["q2"]
    assert list(frame["candidate"])[1].startswith("The river does")
    assert list(frame["rr"]) == [1, 2, 3, 4]
    assert frame["bm25"][1] == 1
    assert [None if x != x else x for x in frame["label"]] == [0, 1, 0, None]
    assert set(view.ranks) == {q.qid for q in QUESTIONS}
    per = view.per_question
    assert len(per) == 12
    assert set(per.columns) >= {"qid", "question", "ranker", "AP", "RR", "P@1", "nDCG@10"}
    assert per[(per.qid == "q0") & (per.ranker == "rr")].AP.item() == 0.5


def test_whether_a_question_has_ranks_is_told_without_making_them(wb, data, monkeypatch):
    view = run_comparison(wb, ["rr", "bm25"], data)
    first, second = view.results
    short = shorten_view(replace(view, results=(replace(first, ranker="/models/rr"), second)))
    monkeypatch.setattr(comparison, "to_ranks", None)
    assert short.full_names
    assert all("q2" in ranks and "q99" not in ranks for ranks in (view.ranks, short.ranks))


def test_a_limit_takes_a_fixed_sample(wb, data):
    one, other = (run_comparison(wb, ["rr"], data, limit=2) for _ in range(2))
    assert one.questions == 2
    assert set(one.ranks) == set(other.ranks)


def test_the_ratios_of_a_sweep_do_not_count_against_the_rankers_chosen():
    names = ("cascade", "bm25", "cascade:drop_ratio=0.1", "cascade:drop_ratio=0.2", "bm25:drop_ratio=0.5")
    pairs = [*combinations(names, 2)]
    corrected = dict(zip(pairs, adjust_p_values(pairs, [0.01] * len(pairs)), strict=True))
    assert corrected["cascade", "bm25"] == corrected["bm25", "bm25:drop_ratio=0.5"] == pytest.approx(0.03)
    assert corrected["cascade", "cascade:drop_ratio=0.1"] == pytest.approx(0.07)


def test_a_test_told_the_other_way_round_has_every_sign_turned():
    test = PairedTest(difference=0.04, low=-0.01, high=0.07, p=0.2, wins=12, losses=3, ties=20)
    pair = pairs.PairedResult("a", "b", "AP", test, holm=0.4, effect=0.3)
    assert exports._describe_test(pair, first="a").items() >= {"difference": 0.04, "low": -0.01, "effect": 0.3}.items()
    turned = {"difference": -0.04, "low": -0.07, "high": 0.01, "wins": 3, "losses": 12, "ties": 20, "effect": -0.3}
    assert exports._describe_test(pair, first="b").items() >= (turned | {"p": 0.2, "holm": 0.4}).items()
