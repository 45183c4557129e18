"""The compare page with services in memory."""

import json
from dataclasses import replace

import fake_work
import pandas as pd
import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from app.components import compare_results, compare_setup, compare_sweep


def opened(work, state="done", **changes):
    settings = {"rankers": ["cascade", "bm25"], "data": "starter-dev", "setting": "clean", "limit": None}
    work.jobs[5] = fake_work.a_job(5, kind="compare", state=state, settings=settings, **changes)
    return fake_work.page("compare", {"job": "5"})


def test_a_comparison_starts_with_what_was_chosen_and_lands_in_the_address(work):
    at = fake_work.page("compare")
    at.multiselect(key="compare_rankers").set_value(["bm25", "starter-2"])
    at.selectbox(key="compare_setting").set_value("raw")
    at = at.button(key="compare_start").click().run()
    assert work.jobs[10].settings == {
        "rankers": ["bm25", "starter-2"], "data": "labels:Starter", "setting": "raw", "limit": None
    }  # fmt: skip
    assert at.query_params["job"] == "10"


def test_one_ranker_is_not_enough(work):
    at = fake_work.page("compare")
    at = at.multiselect(key="compare_rankers").set_value(["bm25"]).run()
    assert at.button(key="compare_start").disabled


def test_the_sweep_adds_the_cascade_at_every_ratio():
    specs = compare_setup.with_sweep(["bm25"], True)
    assert specs[:3] == ["bm25", "active:drop_ratio=0", "active:drop_ratio=0.1"]
    assert len(specs) == 8


def test_results_stay_for_whoever_opens_the_address(work):
    at = opened(work)
    table = next(d.value for d in at.dataframe if "AP, 95 %" in d.value.columns)
    assert list(table["ranker"]) == ["cascade", "bi-encoder", "generative", "bm25"]
    assert table.iloc[0]["AP, 95 %"] == "0.73 – 0.83"
    assert list(table["compute"]) == ["0.61", "–", "1.02", "–"]
    assert table.iloc[0]["with all labels"] == "0.68 – 0.98"
    assert "12 of 480 candidates carry no label" in fake_work.texts(at)
    assert "29 questions better, 5 worse, 6 the same" in fake_work.markup(at)


def test_where_correct_answers_were_dropped_is_told_with_the_questions(work):
    at = opened(work)
    table = next(d.value for d in at.dataframe if "questions left without" in d.value.columns)
    assert table.to_numpy().tolist() == [["layer 2", 480, 144, 3, 1], ["layer 6", 336, 0, 0, 0]]
    assert any("3 correct candidates dropped on the way, 1 question left without any" in c.value for c in at.caption)
    lost = next(d.value for d in at.dataframe if "dropped at" in d.value.columns)
    assert lost["question"][0].endswith("(0)")


def remembered(monkeypatch):
    """The cascade's seconds are from an earlier day; the others' are this comparison's."""
    from app.services import comparing

    view = fake_work.a_comparison()
    first = {**view.rows[0], "timed_here": False, "measured": fake_work.NOW}
    monkeypatch.setattr(comparing, "comparison", lambda wb, job_id, by: replace(view, rows=(first, *view.rows[1:])))


def test_remembered_seconds_carry_their_date_and_stay_out_of_the_chart(work, monkeypatch):
    remembered(monkeypatch)
    at = opened(work)
    table = next(d.value for d in at.dataframe if "AP, 95 %" in d.value.columns)
    assert list(table["measured"]) == ["04 May 2024, 12:30", *["in this comparison"] * 3]
    assert "remembered from an earlier run" in fake_work.texts(at)
    assert "no fair picture" not in fake_work.texts(at)  # compute compares
    at = at.button_group(key="compare_cost").set_value("seconds").run()
    assert "no fair picture" in fake_work.texts(at)


def test_seconds_taken_together_need_no_date(work):
    at = opened(work)
    table = next(d.value for d in at.dataframe if "AP, 95 %" in d.value.columns)
    assert "measured" not in table.columns
    at = at.button_group(key="compare_cost").set_value("seconds").run()
    assert "no fair picture" not in fake_work.texts(at)


def test_rankers_that_count_no_compute_are_named_where_it_is_drawn(work):
    at = opened(work)
    assert "Not drawn, as they don't count their compute: bi-encoder, bm25." in fake_work.texts(at).replace("\\", "")
    at = at.button_group(key="compare_cost").set_value("seconds").run()
    assert "Not drawn" not in fake_work.texts(at)


def test_where_no_question_changed_there_is_no_empty_chart(work, monkeypatch):
    from app.services import comparing

    view = fake_work.a_comparison()
    same = view.per_question.assign(AP=0.5)
    monkeypatch.setattr(comparing, "comparison", lambda wb, job_id, by: replace(view, per_question=same))
    assert "No question changed." in fake_work.texts(opened(work))


def test_a_sweep_alone_draws_no_empty_pictures_of_rankers_chosen_by_name(work, monkeypatch):
    from app.services import comparing

    view = fake_work.a_comparison()
    names = {r["ranker"]: compare_sweep.spec("cascade", i / 10) for i, r in enumerate(view.rows)}
    rows = tuple({**r, "ranker": names[r["ranker"]], "relative_cost": 1 - i / 10} for i, r in enumerate(view.rows))
    frame = view.per_question.replace({"ranker": names})
    swept = replace(
        view, rows=rows, per_question=frame, ranks={q: f.rename(columns=names) for q, f in view.ranks.items()}
    )
    monkeypatch.setattr(comparing, "comparison", lambda wb, job_id, by: swept)
    told = [s.value for s in opened(work).subheader]
    assert "How much cascade may drop" in told
    assert "AP with its uncertainty" not in told
    assert "Accuracy against cost" not in told


def test_another_metric_is_put_into_the_address(work):
    at = opened(work)
    at = at.button_group(key="compare_metric").set_value("P@1").run()
    assert at.query_params["metric"] == "P@1"
    assert any("P@1, 95 %" in d.value.columns for d in at.dataframe)


def taken(at, row):
    """As the browser tells that a row of "Question by question" was chosen; AppTest has no way of its own."""
    [table] = [d.proto for d in at.dataframe if "difference" in d.value]
    told = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return at._run(WidgetStates(widgets=[WidgetState(id=table.id, string_value=json.dumps(told))]))


def test_a_row_brings_its_question_below_and_another_may_be_chosen_while_it_stays_taken(work):
    at = opened(work)
    [table] = [d.value for d in at.dataframe if "difference" in d.value]
    at = taken(at, 3)
    picked = at.selectbox(key="compare_qid")
    assert table["question"][3].endswith(f"({picked.value[1:]})")
    other = "q1" if picked.value != "q1" else "q2"
    at = picked.set_value(other).run()
    assert at.selectbox(key="compare_qid").value == other
    assert at.query_params["q"] == other


def test_a_running_comparison_shows_its_message_and_can_be_cancelled(work):
    at = opened(work, state="running", message="bi-encoder: 12 of 40 questions")
    at.button(key="compare_cancel").click().run()
    assert work.jobs[5].cancelling


def test_a_comparison_that_waits_says_of_what_it_is_and_for_whom_it_waits(work):
    work.jobs[1] = fake_work.a_job(1, state="running")
    said = fake_work.texts(opened(work, state="queued")).replace("\\", "")
    assert "cascade, bm25, on starter-dev (clean)" in said
    assert "Job 1 (retrain) has the worker; this one waits till it ends or makes room." in said


@pytest.mark.parametrize("state", ["failed", "cancelled", "lost"])
def test_a_comparison_that_came_to_nothing_can_be_run_again(work, state):
    at = opened(work, state=state)
    at = at.button(key="compare_again").click().run()
    assert at.query_params["job"] == "10"


def test_earlier_comparisons_are_a_click_away(work):
    opened(work)
    at = fake_work.page("compare")
    assert "cascade, bm25 on starter-dev, 1 min 15 s" in fake_work.texts(at).replace("\\", "")
    at = at.button(key="compare_open_5").click().run()
    assert at.query_params["job"] == "5"


def test_differences_are_second_minus_first_with_the_largest_gain_on_top():
    frame = pd.DataFrame(
        [("q1", "one?", "a", 0.5), ("q1", "one?", "b", 0.25), ("q2", "two?", "a", 0.1), ("q2", "two?", "b", 1.0)],
        columns=["qid", "question", "ranker", "AP"],
    )
    told = compare_results.by_question(frame, "a", "b", "AP")
    assert list(told["qid"]) == ["q2", "q1"]
    assert list(told["difference"]) == pytest.approx([0.9, -0.25])


def test_names_in_the_table_of_tests_are_text():
    row = {
        "a": "<b>x",
        "b": "y",
        "difference": 0.1,
        "low": 0,
        "high": 0.2,
        "p": 0.01,
        "wins": 9,
        "losses": 1,
        "ties": 0,
    }
    assert "&lt;b&gt;x" in compare_results.paired_table([row])


def swept(*figures):
    return [{"ranker": compare_sweep.spec("spring", r), "AP": ap, "relative_cost": cost} for r, ap, cost in figures]


def test_a_sweep_is_told_apart_from_what_was_chosen_by_name():
    rows = [{"ranker": "cascade"}, *swept((0.0, 0.8, 1.0), (0.3, 0.79, 0.6))]
    other = {"ranker": "autumn:drop_ratio=0.5"}
    named, ratios = compare_sweep.parted([*rows, other])
    assert [r["ranker"] for r in named] == ["cascade", "autumn:drop_ratio=0.5"]
    assert {c: [r["ranker"] for r in rs] for c, rs in ratios.items()} == {
        "spring": ["spring:drop_ratio=0", "spring:drop_ratio=0.3"]
    }
    assert compare_sweep.parted(rows[:2]) == (rows[:2], {})


def test_a_ratio_that_another_beats_in_both_is_pale():
    rows = swept((0.0, 0.80, 1.0), (0.3, 0.81, 0.6), (0.5, 0.70, 0.5))
    spec = compare_sweep.sweep_chart(rows, metric="AP").to_dict()
    front = {r["ratio"]: r["front"] for data in spec["datasets"].values() for r in data}
    assert front == {0.0: False, 0.3: True, 0.5: True}


def test_the_sweep_names_the_cheapest_ratio_that_costs_at_most_a_hundredth():
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.795, 0.63), (0.5, 0.770, 0.49))
    assert compare_sweep.in_words(rows, metric="AP") == (
        "Dropping 30 % at each exit saves 37 % of the compute and changes AP by -0.005."
    )
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.700, 0.63))
    assert compare_sweep.in_words(rows, metric="AP") == "No ratio tried saves compute without losing more than 0.01 AP."


def test_a_link_brings_the_rankers_to_compare(work):
    at = fake_work.page("compare", {"rankers": "starter-2,gone,cascade"})
    assert at.multiselect(key="compare_rankers").value == ["starter-2", "cascade"]
    at = at.button(key="compare_start").click().run()
    assert work.jobs[10].settings["rankers"] == ["starter-2", "cascade"]
    assert "rankers" not in at.query_params
