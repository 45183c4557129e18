"""The compare page."""

import json
from codecs import BOM_UTF8
from dataclasses import replace
from datetime import timedelta
from html import escape
from io import StringIO
from urllib.parse import parse_qsl

import pandas as pd
import pytest
import stored
from app_pages import markup, open_page, texts
from fake_models import write_version
from stored import QUESTIONS, THINGS, TOWERS, put_job
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from app.adapt import label_selection
from app.adapt.label_selection import LabelSelection
from app.adapt.report import LabelCounts, RetrainReport
from app.compare import comparison, comparison_job, exports, question_sets, shipped_comparison
from app.compare.comparison import ComparisonView, Figure, RankerResult
from app.compare.pairs import PairedResult
from app.compare.rankers import find_twins
from app.compare.short_names import shorten_paths
from app.compare.sweeps import SWEEP_RATIOS, make_spec
from app.corpora import corpora
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation
from app.ui.compare import downloads, headline, names, results, setup
from app.ui.compare import sweep as sweep_of
from app.ui.text import WORD_JOINER, format_time
from app.versions import promotion
from app.workbench import people
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.metrics import PairedTest, name_effect
from db.models import Job
from db.repositories.questions import list_candidate_rows


@pytest.fixture
def template(compared):
    return compared


@pytest.fixture
def sweep(wb):
    """The finished comparison of one cascade's drop ratios."""
    return stored.jobs(wb)[0].id


@pytest.fixture
def job(wb):
    """The finished comparison of four rankers."""
    return stored.jobs(wb)[1].id


def open_comparison(job):
    return open_page("compare", {"corpus": "things", "job": str(job)})


def put_comparison(wb, state, **changes):
    settings = {"rankers": ["cascade", "bm25"], "data": "starter-dev", "setting": "clean", "limit": None}
    return put_job(wb, "compare", state, corpus_id=None, settings=settings, **changes)


def table(at):
    return next(d.value for d in at.dataframe if "AP, 95 %" in d.value.columns)


def read_settings(wb):
    return stored.jobs(wb)[-1].settings


def test_a_comparison_starts_with_what_was_chosen_and_lands_in_the_address(wb):
    at = open_page("compare", {"corpus": "things"})
    at.multiselect(key="compare_rankers").set_value(["bm25", "starter-2"])
    at.selectbox(key="compare_setting").set_value("raw")
    at = at.button(key="compare_start").click().run()
    assert read_settings(wb) == {
        "rankers": ["bm25", "starter-2"],
        "data": "labels:things",
        "setting": "raw",
        "limit": None,
        "with_unlabelled": False,
    }
    assert at.query_params["job"] == str(stored.jobs(wb)[-1].id)


def test_a_ranking_of_ones_own_is_uploaded_chosen_and_matched_and_a_bad_one_says_its_line(wb):
    at = open_page("compare", {"corpus": "things"})
    at = at.file_uploader(key="compare_own_file_0").set_value([("bad.run", b"q1 Q0 d1\n", "text/plain")]).run()
    assert "bad.run: line 1: no ranking begins with" in texts(at) and "bad.run" not in at.multiselect[0].value
    [choice] = [c for c in question_sets.list_datasets(wb) if c == "labels:things"]
    questions = question_sets.load_questions(wb, choice)
    content = "".join(f"{q.qid} Q0 {q.candidates[0].id} 1 1 t\n" for q in questions).encode()
    at = at.file_uploader(key="compare_own_file_0").set_value([("theirs.txt", content, "text/plain")]).run()
    assert at.multiselect(key="compare_rankers").value == ["cascade", "starter-2", "bm25", "rr", "theirs.run"]
    assert "theirs.run matches all" in texts(at) and "the others come last" in texts(at) and not at.error
    at = at.file_uploader(key="compare_own_file_1").set_value([("other.run", b"x Q0 y 1 1 t\n", "text/plain")]).run()
    assert "other.run has no candidate of these" in texts(at) and at.button(key="compare_start").disabled
    at = at.button(key="compare_own_delete_other.run").click().run()
    assert "other.run" not in at.multiselect(key="compare_rankers").value and not at.error
    assert not at.button(key="compare_start").disabled


def test_a_comparison_whose_times_are_being_measured_shows_its_result(wb, job):
    with wb.write() as s:
        row = s.get(Job, job)
        row.state, row.finished, row.message = "running", None, "measuring the time: 3 of 62 runs"
    at = open_comparison(job)
    assert "The times are being measured." in texts(at) and len(table(at))


def label_a_sentence(wb, place=0):
    me = people.sign_in(wb, "me").id
    [question] = [q for q in label_selection.load(wb, TOWERS, LabelSelection()) if q.question.text == QUESTIONS[0]]
    with wb.read() as s:
        rows = [r for r in list_candidate_rows(s, TOWERS) if r.question_id == question.id]
    annotation.give_label(
        wb, question_id=question.id, sentence_id=rows[place].sentence_id, annotator_id=me, label="correct"
    )


def test_candidates_are_counted_again_only_where_the_choice_or_the_labels_have_changed(wb, monkeypatch):
    counts, describe = [], setup.describe_short_lists
    monkeypatch.setattr(
        setup, "describe_short_lists", lambda *a, **more: counts.append((*a, more)) or describe(*a, **more)
    )
    label_a_sentence(wb)
    at = open_page("compare", {"corpus": "Towers"})
    first = len(counts)
    assert first
    at.run()
    assert len(counts) == first
    at.selectbox(key="compare_setting").set_value("raw").run()
    assert len(counts) == first + 1
    label_a_sentence(wb, 1)
    at.run()
    assert len(counts) == first + 2


def test_where_labels_make_short_lists_the_others_count_as_incorrect_unless_they_are_left_out_with_a_warning(wb):
    label_a_sentence(wb)
    at = open_page("compare", {"corpus": "Towers"})
    at = at.selectbox(key="compare_setting").set_value("raw").run()
    choice = at.selectbox(key="compare_unlabelled")
    assert (choice.label, choice.value, len(at.warning)) == ("Sentences without a label", True, 0)
    at = choice.set_value(False).run()
    warning = at.warning[0].value
    assert "only 1.0 candidates a question" in warning and "Count sentences without a label as incorrect" in warning
    at.button(key="compare_start").click().run()
    run_queued(wb, RUNNERS)
    done = stored.jobs(wb)[-1].id
    at = open_page("compare", {"corpus": "Towers", "job": str(done)})
    assert [w.value for w in at.warning] == [
        warning,
        warning,
    ]  # of the form, which starts with the same, and the result
    comparison_job.start_compare(wb, ["rr", "bm25"], "labels:Towers", "raw", with_unlabelled=True)
    run_queued(wb, RUNNERS)
    at = open_page("compare", {"corpus": "Towers", "job": str(done + 1)})
    assert "candidates a question" not in " ".join(w.value for w in at.warning)
    assert "sentences without a label count as incorrect" in texts(at)
    done = queue.load_job(wb, done + 1)
    assert setup.name_job(done).startswith("Labels of Towers, unlabelled as incorrect: rr, bm25 (all questions; ")


def test_rankers_are_listed_with_their_settings(wb):
    shown = markup(open_page("compare"))
    assert "<td>bm25</td>" in shown and "<td>k1=1.2, b=0.75</td>" in shown


def read_form(at):
    keys = ("compare_data", "compare_setting", "compare_unlabelled", "compare_limit", "compare_sweep")
    return at.session_state["compare_rankers"], *(at.session_state[key] for key in keys)


def test_the_form_under_a_result_starts_with_what_was_compared_to_change_one_thing_in_it(wb, job):
    at = open_comparison(job)
    four = ["cascade", "starter-2", "bm25", "rr"]
    assert read_form(at) == (four, "labels:things", "clean", False, 0, False) and not is_form_open(at)
    rankers = ["bm25:k1=2", *(make_spec("cascade", ratio) for ratio in SWEEP_RATIOS)]
    settings = {"rankers": rankers, "data": "labels:others", "setting": "raw", "limit": 5, "with_unlabelled": True}
    other = put_job(wb, "compare", "failed", corpus_id=None, settings=settings)
    at = at.run().button(key=f"compare_open_{other}").click().run()
    assert read_form(at) == (["bm25:k1=2"], "labels:others", "raw", True, 5, True) and not at.warning
    at = at.number_input(key="compare_limit").set_value(7).run()
    at = at.toggle(key="compare_sweep").set_value(False).run()
    assert read_form(at) == (["bm25:k1=2"], "labels:others", "raw", True, 7, False)  # what is changed stays
    linked = open_page("compare", {"corpus": "things", "job": str(job), "rankers": "rr,bm25"})
    assert read_form(linked)[0] == ["rr", "bm25"]


def test_two_versions_are_told_apart_by_how_they_were_made(wb, job):
    title = "How these versions were made"
    assert title not in [e.label for e in open_comparison(job).expander]  # one has no other to be taken for
    paired = PairedTest(0.1, 0.02, 0.18, 0.01, 3, 1, 8)
    for name, presumed in (("starter-2", 0), ("starter-3", 20)):
        choice = LabelSelection(presumed=presumed)
        labels = LabelCounts(questions=12, correct=12, incorrect=30 + presumed, presumed=presumed)
        report = RetrainReport(name, {"AP": 0.5}, {"AP": 0.6}, paired, base="cascade", labels=labels, choice=choice)
        stored.change_card(wb, name, **report.to_card())
    done = comparison_job.start_compare(wb, ["starter-2", "starter-3:drop_ratio=0.5", "bm25"], "labels:things")
    run_queued(wb, RUNNERS)
    [recipes] = [e for e in open_comparison(done.id).expander if e.label == title]
    table = recipes.get("html")[-1].proto.body
    assert "Trained on 12 questions (12 correct and 30 incorrect labels)" in table
    assert "12 correct and 30 incorrect labels, 20 unlabelled sentences counted as incorrect" in table
    assert "first labels" in table and "drop_ratio" not in table and "bm25" not in table


def test_one_ranker_is_not_enough(wb):
    at = open_page("compare")
    at = at.multiselect(key="compare_rankers").set_value(["bm25"]).run()
    assert at.button(key="compare_start").disabled


def test_a_word_that_is_no_ranker_is_refused_when_it_is_typed(wb):
    at = open_page("compare")
    at = at.multiselect(key="compare_rankers").set_value(["bm25", "bm52"]).run()
    assert at.button(key="compare_start").disabled
    assert "No ranker 'bm52'; did you mean bm25?" in at.error[0].value.replace("\\", "")
    assert at.multiselect(key="compare_rankers").value == ["bm25", "bm52"]  # and nothing is lost
    at = at.multiselect(key="compare_rankers").set_value(["rr", "BM52:k1=2", "casc"]).run()
    assert len(at.error) == 2
    at = at.button(key="compare_use_BM52:k1=2_bm25:k1=2").click().run()
    assert "compare_use_casc_rr" not in [b.key for b in at.button]
    at = at.button(key="compare_use_casc_cascade").click().run()
    assert at.multiselect(key="compare_rankers").value == ["rr", "bm25:k1=2", "cascade"] and not at.error
    at = at.multiselect(key="compare_rankers").set_value(["bm25:k1=2", "active:drop_ratio=0.5"]).run()
    assert not at.error and not at.button(key="compare_start").disabled


def test_whoever_names_a_reranker_elsewhere_reads_before_the_start_that_sentences_leave_the_machine(wb):
    at = open_page("compare", {"corpus": "things"})
    assert "leave this machine" not in texts(at)
    at = at.multiselect(key="compare_rankers").set_value(["bm25", "http:url=https://rank.example.org/v2/rerank"]).run()
    [warning] = at.warning
    assert "sent to rank.example.org: they leave this machine" in warning.value.replace("\\", "")


def test_errors_are_grouped_and_a_click_leads_to_the_label_queue_of_those_questions_alone(wb, job):
    at = open_comparison(job)
    at = at.selectbox(key="compare_findings_ranker").set_value("rr").run()
    losses = next(d.value for d in at.dataframe if "number" in d.value.columns).set_index("questions")["number"]
    assert losses["Lost by the ranker: an incorrect candidate is first"] == losses.sum()  # the correct one is second
    slices = next(d.value for d in at.dataframe if "slice" in d.value.columns)
    assert {"kind", "length"} <= set(slices["group"]) and (slices["errors"] == slices["questions"]).all()
    [link] = [x.proto for x in at.get("page_link") if x.proto.label.startswith("Label candidates")]
    query = dict(parse_qsl(link.query_string))
    assert (query["corpus"], query["queue"], query["mode"]) == ("things", "tops", "list")
    ids = query["only"].split(".")
    assert link.label == f"Label candidates of {len(ids)} questions" and len(ids) == losses.sum()
    label = open_page("label", query | {"only": ".".join(ids[:2])})
    assert "Only 2 questions that you chose." in markup(label) + texts(label)
    assert label.session_state["_label_desk"].seat.questions == tuple(map(int, ids[:2]))
    label = label.button(key="label_all").click().run()
    assert label.session_state["_label_desk"].seat.questions == ()


def test_the_same_questions_are_those_of_the_next_retrain_and_the_held_out_ones_stay(wb, job):
    at = open_comparison(job)
    at = at.selectbox(key="compare_findings_ranker").set_value("rr").run()
    assert "All of them have labels." in texts(at)
    [link] = [x.proto for x in at.get("page_link") if x.proto.label == "Retrain with these questions"]
    query = dict(parse_qsl(link.query_string))
    ids = query["only"].split(".")[:6]
    adapt = open_page("adapt", query | {"only": ".".join(ids)})
    training = next(m.value for m in adapt.markdown if "that you chose" in m.value)
    assert "of the 6 questions that you chose" in training
    at = adapt.button(key="adapt_start").click().run()
    assert stored.jobs(wb)[-1].settings["choice"]["questions"] == [int(i) for i in ids]
    assert "only" not in at.query_params and "that you chose" not in markup(at)  # a second retrain is of all again
    adapt = open_page("adapt", query).button(key="adapt_all").click().run()
    assert "only" not in adapt.query_params


def test_another_corpus_ends_the_choice_of_questions(wb):
    at = open_page("adapt", {"corpus": "things", "only": "4.5"})
    at = at.selectbox(key="as2_corpus").set_value("others").run()
    assert "only" not in at.query_params and not [m for m in at.markdown if "that you chose" in m.value]


def test_own_slices_are_measured_beside_the_others_and_a_mistake_in_their_file_hides_nothing_else(wb, job):
    wb.settings.slices_file.write_text(
        '[[slice]]\nname = "all"\nmin_words = 1\n[[slice]]\nname = "no one"\nany = ["qqq"]\n'
    )
    at = open_comparison(job)
    slices = next(d.value for d in at.dataframe if "slice" in d.value.columns)
    assert slices[["group", "slice"]].iloc[0].tolist() == ["own", "all"] and "kind" in set(slices["group"])
    assert slices["questions"].iloc[0] == slices[slices["group"] == "kind"]["questions"].sum()
    assert "None of these questions is in your slices no one." in texts(at)
    assert "slices.toml in the home adds your own" in texts(at)
    wb.settings.slices_file.write_text('[[slice]]\nname = "all"\n')
    at = open_comparison(job)
    assert "slice 1 (line 1) (all) has no condition" in at.error[0].value.replace("\\", "")
    assert set(next(d.value for d in at.dataframe if "slice" in d.value.columns)["group"]) >= {"kind", "length"}


def test_among_several_pairs_the_sentence_has_the_corrected_p_alone():
    test = PairedTest(0.05, 0.01, 0.09, 0.01, 20, 9, 30)
    text = results.render_pairs([PairedResult("a", "b", "AP", test, 0.3, 0.31, family_size=6)])
    assert "Corrected for 6 pairs, this could be chance (p\u00a0=\u00a00.30). Effect size 0.31 (small)." in text
    assert '<td title="p\u00a0=\u00a00.01 before the correction for all pairs">' in text
    assert text.count("p\u00a0=\u00a0") == 2
    text = results.render_pairs([PairedResult("a", "b", "AP", test, 0.03, 0.31)])
    assert "This is more than chance (p\u00a0=\u00a00.03). " in text
    text = results.render_pairs([PairedResult("a", "b", "AP", test, 0.01, 0.31)])  # one pair
    assert "This is more than chance (p\u00a0=\u00a00.01). " in text and "title=" not in text


def test_the_interval_still_decides_what_could_be_chance_whatever_p_is():
    test = PairedTest(0.05, -0.01, 0.09, 0.01, 20, 9, 30)
    text = results.render_pairs([PairedResult("a", "b", "AP", test, 0.02, 0.31)])
    assert "This could be chance (p\u00a0=\u00a00.02)." in text


def test_an_address_that_names_no_questions_narrows_nothing(wb):
    for only in ("", "x", "1.x", "-1", "1..2", "9" * 30):
        at = open_page("label", {"corpus": "things", "queue": "tops", "only": only})
        assert at.session_state["_label_desk"].seat.questions == () and not at.exception


def test_the_sweep_adds_the_cascade_at_every_ratio():
    specs = setup.add_sweep(["bm25"], True)
    assert specs[:3] == ["bm25", "active:drop_ratio=0", "active:drop_ratio=0.1"]
    assert len(specs) == 8


def test_results_stay_for_whoever_opens_the_address(wb, job):
    at, view = open_comparison(job), comparison.load_comparison(wb, job)
    results = {r.ranker: r for r in view.results}
    shown = table(at).set_index("ranker")
    assert set(shown.index) == {"cascade", "starter-2", "bm25", "rr"}
    assert shown["AP"].is_monotonic_decreasing and shown["AP"].nunique() > 1
    for name, result in results.items():
        ap = result.figures["AP"]
        assert shown.loc[name, "AP, 95 %"] == f"{ap.low:.2f} – {ap.high:.2f}"
        assert shown.loc[name, "with all labels"] == f"{ap.least:.2f} – {ap.most:.2f}"
    assert shown.loc[["bm25", "rr"], "compute"].tolist() == ["–", "–"]
    assert shown.loc["cascade", "compute"] == f"{results['cascade'].relative_cost:.2f}"
    assert "18 of 72 candidates have no label" in texts(at)
    pair = next(p for p in view.paired["AP"] if p.test.wins > 1 and p.test.ties != 1)
    test = pair.test
    counts = f"{pair.a} is better on {test.wins} questions, {pair.b} on {test.losses}, {test.ties} are the same"
    assert counts in markup(at)
    assert f"Effect size {pair.effect:.2f} ({name_effect(pair.effect)})." in markup(at)


def test_where_correct_answers_were_dropped_is_told_with_the_questions(wb, job):
    at = open_comparison(job)
    cuts = next(r.cuts for r in comparison.load_comparison(wb, job).results if r.ranker == "cascade")
    lost = {qid for cut in cuts for qid in cut.lost}
    dropped = sum(cut.correct for cut in cuts)
    assert lost and dropped
    shown = next(d.value for d in at.dataframe if "questions lost" in d.value.columns)
    assert shown.to_numpy().tolist() == [[c.stage, c.entered, c.dropped, c.correct, len(c.lost)] for c in cuts]
    [told] = [c.value for c in at.caption if "dropped before the last exit" in c.value]
    assert f"{dropped} correct candidate" in told and f"{len(lost)} question" in told
    questions = next(d.value for d in at.dataframe if "dropped at" in d.value.columns)
    assert set(questions["question"]) == {stored.thing_question(wb, qid) for qid in lost}


def test_seconds_measured_in_turns_are_in_the_table_and_a_cost_but_compute_comes_first(wb, job):
    at = open_comparison(job)
    view = comparison.load_comparison(wb, job)
    ms = table(at).set_index("ranker")["ms"]
    assert ms.to_dict() == pytest.approx({r.ranker: 1000 * r.seconds for r in view.results})
    cost = at.button_group(key="compare_cost")
    assert cost.value == "relative_cost"
    assert list(cost.options) == ["Compute", "Seconds"]


def test_seconds_of_an_older_comparison_are_neither_in_the_table_nor_a_cost(wb, job):
    result = stored.jobs(wb)[1].result
    rows = [{k: v for k, v in row.items() if k != "seconds_per_question"} | {"seconds": 9.5} for row in result["rows"]]
    stored.change_job(wb, job, result={**result, "rows": rows})
    at = open_comparison(job)
    assert not {"ms", "seconds"} & set(table(at).columns)
    assert "compare_cost" not in [b.key for b in at.button_group]


def test_rankers_that_count_no_compute_are_named_where_it_is_drawn(wb, job):
    at = open_comparison(job)
    assert "Not shown, because they do not count their compute: bm25, rr." in texts(at)
    at = at.button_group(key="compare_cost").set_value("seconds").run()
    assert "Not shown" not in texts(at)


def test_a_cost_that_no_two_rankers_of_the_comparison_have_is_neither_offered_nor_drawn(wb, job):
    result = stored.jobs(wb)[1].result
    rows = [{**row, "relative_cost": None if i else 1.0} for i, row in enumerate(result["rows"])]  # one has it
    stored.change_job(wb, job, result={**result, "rows": rows})
    at = open_comparison(job)
    assert "compute" in table(at).columns and "compare_cost" not in [b.key for b in at.button_group]
    assert "Accuracy against cost" in [h.value for h in at.header] and "The time is that of this machine" in texts(at)
    rows = [{**row, "seconds_per_question": None, "relative_cost": None} for row in rows]
    stored.change_job(wb, job, result={**result, "rows": rows})
    at = open_comparison(job)
    assert not {"compute", "ms"} & {*table(at).columns} and "Accuracy against cost" not in [h.value for h in at.header]


def test_where_no_question_changed_there_is_no_empty_chart(wb, job):
    at = open_comparison(job)
    at = at.selectbox(key="compare_from").set_value("starter-2").run()  # whose fake ranks as the cascade does
    assert "No question has another AP with one than with the other." in texts(at)
    at = at.selectbox(key="compare_from").set_value("rr").run()
    assert "No question has another" not in texts(at)


def test_a_sweep_alone_draws_no_empty_pictures_of_rankers_chosen_by_name(wb, sweep):
    told = [s.value for s in open_comparison(sweep).header]
    assert "Share dropped at each exit: cascade" in told
    assert "AP with its 95 % interval" not in told
    assert "Accuracy against cost" not in told


def test_another_metric_is_put_into_the_address(wb, job):
    at = open_comparison(job)
    at = at.button_group(key="compare_metric").set_value("P@1").run()
    assert at.query_params["metric"] == "P@1"
    assert any("P@1, 95 %" in d.value.columns for d in at.dataframe)


def select_row(at, row):
    """As the browser tells that a row of "Question by question" was chosen; AppTest has no way of its own."""
    [table] = [d.proto for d in at.dataframe if "difference" in d.value]
    told = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return at._run(WidgetStates(widgets=[WidgetState(id=table.id, string_value=json.dumps(told))]))


def test_a_row_brings_its_question_below_and_another_may_be_chosen_while_it_stays_taken(wb, job):
    at = open_comparison(job)
    at = at.selectbox(key="compare_from").set_value("rr").run()
    [shown] = [d.value for d in at.dataframe if "difference" in d.value]
    at = select_row(at, 3)
    picked = at.selectbox(key="compare_qid")
    assert shown["question"][3] == stored.thing_question(wb, picked.value)
    other = next(qid for qid in ("q-beam", "q-rivet") if qid != picked.value)
    at = picked.set_value(other).run()
    assert at.selectbox(key="compare_qid").value == other
    assert at.query_params["q"] == other


def test_a_running_comparison_shows_its_message_and_can_be_cancelled(wb):
    job = put_comparison(wb, "running", message="bi-encoder: 12 of 40 questions", progress=0.5)
    at = open_comparison(job)
    assert "i-encoder: 12 of 40 questions" in next(p.proto.text for p in at.get("progress")).replace("\\", "")
    at.button(key="compare_cancel").click().run()
    assert stored.jobs(wb)[-1].cancelling


def test_a_comparison_that_waits_says_of_what_it_is_and_what_it_waits_for(wb):
    put_job(wb, "retrain", corpus_id=THINGS)  # which has a slot of its own
    running = put_comparison(wb, "running")
    said = texts(open_comparison(put_comparison(wb, "queued")))
    assert "Starter corpus, dev questions: cascade, bm25 (questions with correct and incorrect candidates)" in said
    assert f"Job {running} (compare) runs first. This job starts when that one ends or is paused." in said


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("failed", "The comparison failed."),
        ("cancelled", "It was stopped. Finished rankers"),
        ("lost", "The worker was interrupted."),
    ],
)
def test_a_comparison_that_came_to_nothing_says_so_and_can_be_run_again(wb, state, sentence):
    job = put_comparison(wb, state)
    at = open_comparison(job)
    assert sentence in texts(at)
    at = at.button(key="compare_again").click().run()
    assert stored.jobs(wb)[-1].state == "queued"
    assert at.query_params["job"] == str(job)


def test_earlier_comparisons_are_a_click_away(wb, job):
    stored.change_job(wb, job, finished=stored.jobs(wb)[-1].started + timedelta(seconds=75))
    at = open_page("compare", {"corpus": "Towers"})
    [line] = [m for m in at.markdown if "1 min 15 s" in m.value]
    questions = "questions with correct and incorrect candidates"
    assert line.value.replace("\\", "") == f"Labels of things: cascade, starter-2, bm25, rr ({questions}; 1 min 15 s)"
    assert line.help.replace("\\", "") == (
        "In the terminal: labels:things, with --setting clean. Rankers: cascade, starter-2, bm25, rr"
    )
    at = at.button(key=f"compare_open_{job}").click().run()
    assert at.query_params["job"] == str(job)
    assert "18 of 72 candidates" in texts(at)


def test_differences_are_second_minus_first_with_the_largest_gain_on_top():
    frame = pd.DataFrame(
        [("q1", "one?", "a", 0.5), ("q1", "one?", "b", 0.25), ("q2", "two?", "a", 0.1), ("q2", "two?", "b", 1.0)],
        columns=["qid", "question", "ranker", "AP"],
    )
    told = results.sort_by_difference(frame, "a", "b", "AP")
    assert list(told["qid"]) == ["q2", "q1"]
    assert list(told["difference"]) == pytest.approx([0.9, -0.25])


def test_names_in_the_table_of_tests_are_text():
    test = PairedTest(difference=0.1, low=0.0, high=0.2, p=0.01, wins=9, losses=1, ties=0)
    assert "&lt;b&gt;x" in results.render_pairs([PairedResult("<b>x", "y", "AP", test)])


def result(ranker, ap=0.8, cost=1.0):
    return RankerResult(ranker, {"AP": Figure(ap, ap - 0.1, ap + 0.1)}, relative_cost=cost)


def swept(*figures):
    return [result(make_spec("spring", ratio), ap, cost) for ratio, ap, cost in figures]


def test_a_sweep_is_told_apart_from_what_was_chosen_by_name():
    rows = [result("cascade"), *swept((0.0, 0.8, 1.0), (0.3, 0.79, 0.6))]
    named, ratios = sweep_of.split_sweeps([*rows, result("autumn:drop_ratio=0.5")])
    assert [r.ranker for r in named] == ["cascade", "autumn:drop_ratio=0.5"]
    assert {c: [r.ranker for r in rs] for c, rs in ratios.items()} == {
        "spring": ["spring:drop_ratio=0", "spring:drop_ratio=0.3"]
    }
    assert sweep_of.split_sweeps(rows[:2]) == (rows[:2], {})


def test_a_ratio_that_another_beats_in_both_is_pale():
    rows = swept((0.0, 0.80, 1.0), (0.3, 0.81, 0.6), (0.5, 0.70, 0.5))
    spec = sweep_of.build_sweep_chart(rows, metric="AP").to_dict()
    front = {r["ratio"]: r["front"] for data in spec["datasets"].values() for r in data}
    assert front == {0.0: False, 0.3: True, 0.5: True}


def test_the_sweep_names_the_cheapest_ratio_that_costs_at_most_a_hundredth():
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.795, 0.63), (0.5, 0.770, 0.49))
    assert sweep_of.describe_sweep(rows, metric="AP") == (
        "Dropping 30 % at each exit saves 37 % of the compute and costs 0.005 of AP."
    )
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.815, 0.63))
    assert sweep_of.describe_sweep(rows, metric="AP").endswith("saves 37 % of the compute and raises AP by 0.015.")
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.8, 0.63))
    assert sweep_of.describe_sweep(rows, metric="AP").endswith("of the compute and does not change AP.")
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.700, 0.63))
    nothing = "None of these shares saves compute without losing more than 0.01 AP."
    assert sweep_of.describe_sweep(rows, metric="AP") == nothing


def test_a_link_brings_the_rankers_to_compare(wb):
    at = open_page("compare", {"corpus": "things", "rankers": "starter-2,gone,bm25:k1=2,b=0.5,cascade"})
    assert at.multiselect(key="compare_rankers").value == ["starter-2", "gone", "bm25:k1=2,b=0.5", "cascade"]
    assert "No ranker 'gone'" in at.error[0].value and at.button(key="compare_start").disabled
    at = at.button(key="compare_remove_gone").click().run()
    assert not at.error and at.query_params["rankers"] == "starter-2,bm25:k1=2,b=0.5,cascade"
    at = at.button(key="compare_start").click().run()
    assert read_settings(wb)["rankers"] == ["starter-2", "bm25:k1=2,b=0.5", "cascade"]
    assert "rankers" not in at.query_params


def test_the_rankers_that_are_chosen_are_in_the_address_to_pass_on(wb):
    at = open_page("compare", {"corpus": "things"})
    assert "rankers" not in at.query_params
    specs = ["cascade", "cosinet:listwise,context=birnn", "active:drop_ratio=0.5"]
    at = at.multiselect(key="compare_rankers").set_value(specs).run()
    link = at.query_params["rankers"]
    assert open_page("compare", {"rankers": link}).multiselect(key="compare_rankers").value == specs
    at.session_state["_as2_replaced"] = {}  # the browser has had the time to have the address
    at.query_params["rankers"] = "rr,bm25"  # it goes back
    assert at.run().multiselect(key="compare_rankers").value == ["rr", "bm25"]


def is_form_open(at):
    [form] = [e.proto for e in at.expander if e.label == "New comparison"]
    return form.expanded


def test_without_a_comparison_that_fits_the_page_opens_with_the_form(wb):
    at = open_page("compare")
    assert "Prepared with the program" not in texts(at)
    assert "compare_prepared" not in [b.key for b in at.button]
    assert is_form_open(at)


@pytest.fixture
def shipped(wb, sweep, monkeypatch):
    """That of the drop ratios, as if it had come with the program."""
    view = comparison.load_comparison(wb, sweep)
    monkeypatch.setattr(shipped_comparison, "find_shipped_comparison", lambda wb: view)


def test_the_prepared_comparison_opens_by_itself_on_its_own_corpus_alone(wb, shipped):
    corpora.create_corpus(wb, "starter")
    at = open_page("compare", {"corpus": "starter"})
    assert "Prepared with the program" in texts(at) and not is_form_open(at)
    assert {"compare_prepared", "compare_prepared_close"}.isdisjoint(b.key for b in at.button)
    at = open_page("compare", {"corpus": "Towers"})
    assert "There is no comparison on the labels of Towers yet." in texts(at) and is_form_open(at)
    assert "Prepared with the program" not in texts(at)


def test_the_newest_result_on_a_corpus_opens_by_itself(wb, shipped, sweep, job):
    assert open_page("compare", {"corpus": "things"}).query_params["job"] == str(job)  # of the two, the later one
    at = open_page("compare", {"corpus": "things", "job": "77"})
    assert "does not exist here" in texts(at)
    assert "The comparisons on the labels of things are under **Earlier comparisons**." in texts(at)
    assert "job" not in open_page("compare", {"corpus": "Towers"}).query_params


def test_a_comparison_under_way_on_another_corpus_is_a_line_and_hides_no_result(wb, job):
    settings = {"rankers": ["cascade", "bm25"], "data": "labels:Towers", "setting": "clean", "limit": None}
    running = put_job(wb, "compare", "running", corpus_id=None, settings=settings)
    at = open_page("compare", {"corpus": "things"})
    assert at.query_params["job"] == str(job) and "Under way, on another corpus: Labels of Towers" in texts(at)
    at = at.button(key=f"compare_elsewhere_open_{running}").click().run()
    assert at.query_params["job"] == str(running) and "Under way, on another" not in texts(at)
    at = at.selectbox(key="as2_corpus").set_value("Towers").run()
    assert at.query_params["job"] == str(running) and "Under way, on another" not in texts(at)


def test_on_another_corpus_the_prepared_comparison_is_a_click_away_and_can_be_closed(wb, shipped):
    at = open_page("compare", {"corpus": "things"})
    at = at.button(key="compare_prepared").click().run()
    assert at.query_params["prepared"] == "1"
    assert "Prepared with the program" in texts(at) and "are under" not in texts(at)
    at = at.button(key="compare_prepared_close").click().run()
    assert "prepared" not in at.query_params and "Prepared with the program" not in texts(at)


def test_a_closed_comparison_leaves_nothing_in_the_address(wb, shipped):
    at = open_page("compare", {"corpus": "Towers", "prepared": "1", "metric": "RR"})
    assert at.query_params["q"]
    at = at.button(key="compare_prepared_close").click().run()
    assert at.query_params == {"corpus": "Towers"}


def test_labels_of_a_sweep_that_would_touch_are_left_out():
    rows = swept((0.0, 0.80, 1.0), (0.1, 0.80, 0.8), (0.3, 0.80, 0.5), (0.5, 0.80, 0.42), (0.6, 0.80, 0.4))
    chart = sweep_of.build_sweep_chart(rows, metric="AP").to_dict()
    names = {r["label"]: r["name"] for data in chart["datasets"].values() for r in data}
    assert names == {"0 %": "0 %", "10 %": "10 %", "30 %": "30 %", "50 %": "", "60 %": "60 %"}


def test_too_few_changed_questions_plan_no_number():
    few = PairedTest(difference=0.001, low=0.0, high=0.002, p=0.5, wins=2, losses=0, ties=8)
    pair = PairedResult("a", "b", "AP", few, effect=0.4, detectable=0.002, sample_size=6)
    html = results.render_pairs([pair])
    assert "Too few questions changed to say how many it would take." in html and "about 6" not in html


def test_what_the_questions_could_show_and_what_a_small_difference_takes():
    test = PairedTest(difference=0.1, low=-0.2, high=0.4, p=0.5, wins=5, losses=2, ties=2)
    html = results.render_pairs([PairedResult("a", "b", "AP", test, detectable=0.503, sample_size=5697)])
    assert "9 questions would show a difference of 0.50 in 80 of 100 cases. " in html
    assert " For 0.02 you need about 5,700 questions." in html
    clear = replace(test, low=0.05)
    html = results.render_pairs([PairedResult("a", "b", "AP", clear, detectable=0.503, sample_size=5697)])
    assert "more than chance" in html and "you need" not in html
    assert [results.round_size(n) for n in (7, 37, 849, 123_456)] == [7, 37, 850, 120_000]


CLEAR = PairedTest(difference=0.1, low=0.05, high=0.15, p=0.001, wins=60, losses=20, ties=42)
UNCLEAR = replace(CLEAR, low=-0.01, p=0.2)


ON = "on these 122 questions"


def compare(pairs, **means):
    """A comparison of the rankers "a" and so on, with these means, the tests of AP and one more set of P@1."""
    paired = {"AP": tuple(PairedResult(a, b, "AP", test, holm) for a, b, test, holm in pairs)}
    rankers = tuple(result(name, means.get(name, 0.8 - place / 10)) for place, name in enumerate("abc"))
    return ComparisonView("labels:things", "clean", 122, rankers, paired, pd.DataFrame(), {})


@pytest.mark.parametrize(
    ("pairs", "means", "sentence"),
    [
        ([("a", "b", CLEAR, 0.001)], {}, f"a is clearly better than b {ON} (AP)."),
        ([("a", "b", UNCLEAR, 0.2)], {}, f"a has the highest AP {ON}; b is not clearly worse."),
        ([("a", "b", CLEAR, 0.06)], {}, f"a has the highest AP {ON}; b is not clearly worse."),  # after the correction
        ([("a", "b", UNCLEAR, None)], {"a": 0.7, "b": 0.7}, f"a and b have the same AP {ON}."),
        ([("b", "a", UNCLEAR, None), ("c", "a", UNCLEAR, None), ("b", "c", UNCLEAR, None)], {"b": 0.9},
         f"b has the highest AP {ON}; a and c are not clearly worse."),
        ([("b", "a", CLEAR, None), ("b", "c", CLEAR, None), ("a", "c", UNCLEAR, None)], {"b": 0.9},
         f"b is clearly better than a and c {ON} (AP)."),
        ([("b", "a", UNCLEAR, None), ("b", "c", CLEAR, None), ("a", "c", CLEAR, None)], {"b": 0.9},
         f"b has the highest AP {ON}; a is not clearly worse; c is clearly worse."),
        ([("a", "b", UNCLEAR, None), ("a", "c", UNCLEAR, None), ("b", "c", CLEAR, None)], {},
         f"a has the highest AP {ON}; b and c are not clearly worse; b is clearly better than c."),
        ([("a", "b", UNCLEAR, None), ("a", "c", CLEAR, None), ("b", "c", CLEAR, None)], {"b": 0.8},
         f"a and b have the highest AP {ON}; c is clearly worse."),
        ([], {}, ""),
    ],
)  # fmt: skip
def test_the_verdict_names_the_best_and_what_is_clearly_worse_than_it(pairs, means, sentence):
    assert headline.describe_headline(compare(pairs, **means), "AP") == sentence
    assert headline.describe_headline(compare(pairs, **means), "P@1") == ""


def test_the_verdict_says_who_was_trained_on_the_questions():
    view = compare([("a", "b", CLEAR, 0.001)])
    told = [headline.describe_headline(replace(view, trained_on=numbers), "AP") for numbers in (
        {"a": 122}, {"a": 122, "b": 122}, {"b": 7}, {"a": 122, "b": 7}, {"c": 9})]  # fmt: skip
    assert [text.removeprefix(f"a is clearly better than b {ON} (AP)") for text in told] == [
        ", but a was trained on all of them.", ", but a and b were trained on all of them.",
        ", but b was trained on 7 of them.", ", but a was trained on all of them and b was trained on 7 of them.", ".",
    ]  # fmt: skip


def test_verdict_and_tests_follow_the_chosen_metric(wb, job):
    at = open_comparison(job)
    shown = {}
    for metric in ("AP", "P@1", "RR", "nDCG@10"):
        at = at.button_group(key="compare_metric").set_value(metric).run()
        view = comparison.load_comparison(wb, job)
        assert headline.describe_headline(view, metric) in texts(at).replace("\\", "").replace(WORD_JOINER, "")
        others = [m for m in ("AP", "P@1", "RR", "nDCG@10") if m != metric]
        shown[metric] = markup(at)
        told = f"the same {metric} on each of 18 questions." if metric == "P@1" else f" {metric} of "
        assert told in shown[metric] and not [m for m in others if f" {m} o" in shown[metric]]
        assert f"A paired randomisation test of {metric} " in texts(at)
        for pair in view.list_distinct_pairs(metric):
            assert f"<td>{pair.test.difference:+.3f}</td>" in shown[metric]
    assert len(set(shown.values())) == 4


def means_of(values, metric):
    return values.groupby("ranker")[metric].mean()


def test_a_comparison_is_one_file_to_pass_on_that_needs_nothing_else(wb, job):
    view = comparison.load_comparison(wb, job)
    page = exports.export_html(replace(view, warning="Few <b>labels</b>."))
    assert "Few &lt;b&gt;labels&lt;/b&gt;." in page and "http" not in page
    [first, *_] = view.list_distinct_pairs("AP")
    assert f"{abs(first.test.difference):.3f}" in page and page.count("<tr><td>bm25</td>") == 5  # 4 measures, its cost
    assert "corrected for 6 pairs" in page and "p corrected for 6 pairs (Holm)" in page
    assert f"{view.questions:,} of {view.data}" in page and view.finished.strftime("%Y-%m-%d") in page
    orders = {"": "the order in the data", "retrieval": "the order of retrieval", "words": "BM25's order"}
    for order, text in orders.items():
        page = exports.export_html(replace(view, unranked={"AP": 0.5}, unranked_order=order))
        assert f"<dt>no reranking</dt><dd>{escape(text)}</dd>" in page


def test_a_comparison_can_be_downloaded_with_full_names(wb, job):
    view = comparison.load_comparison(wb, job)
    table = pd.read_csv(StringIO(exports.export_table(view)))
    assert table["ranker"].tolist() == ["cascade", "starter-2", "bm25", "rr"]
    assert table.loc[0, ["data", "setting", "with_unlabelled"]].tolist() == ["labels:things", "clean", False]
    figure = view.results[0].figures["P@1"]
    assert table.loc[0, ["P@1", "P@1 low", "P@1 high", "P@1 most"]].tolist() == pytest.approx(
        [figure.value, figure.low, figure.high, figure.most]
    )
    values = pd.read_csv(StringIO(exports.export_values(view)))
    assert len(values) == 4 * view.questions and means_of(values, "AP")["rr"] == pytest.approx(
        view.results[3].figures["AP"].value
    )
    document = json.loads(exports.export_json(view))
    assert [r["ranker"] for r in document["rankers"]] == ["cascade", "starter-2", "bm25", "rr"]
    assert document["rankers"][0]["intervals"]["P@1"] == pytest.approx([figure.low, figure.high])
    assert document["unranked_order"] == view.unranked_order == "words"
    assert len(document["comparisons"]) == 6 and document["notes"] == list(view.notes)
    for pair in document["comparisons"]:
        for metric in ("AP", "P@1", "RR", "nDCG@10"):
            difference = means_of(values, metric)[pair["a"]] - means_of(values, metric)[pair["b"]]
            assert pair[metric]["difference"] == pytest.approx(difference)
    at = open_comparison(job)
    assert f" · {format_time(view.finished)}" in texts(at)  # a saved page and an old result say when they were made
    assert [b.proto.label for b in at.get("download_button")] == [
        "Questions and candidates with their ids",
        "Table as CSV", "Values by question as CSV", "Report as HTML", "All results as JSON"]  # fmt: skip


def test_the_csv_files_of_a_comparison_have_the_mark_of_utf_8(wb, job):
    view = comparison.load_comparison(wb, job)
    for _, export, _, mime, _ in downloads.FILES:
        content = downloads._make(export, view, mime)
        assert content.startswith(BOM_UTF8) is (mime == "text/csv")
        assert content.removeprefix(BOM_UTF8) == export(view).encode()


def test_a_cell_of_a_download_becomes_no_formula():
    values = pd.DataFrame({"qid": ["q"], "question": ["=1+1"], "ranker": ["bm25"], "AP": [0.5]})
    view = ComparisonView("things", "clean", 1, (), {}, values, {})
    assert "'=1+1" in exports.export_values(view)


def test_a_test_in_the_file_is_of_the_same_side_for_every_metric():
    ap = PairedResult("a", "b", "AP", CLEAR, 0.01, 0.4)
    p1 = PairedResult("b", "a", "P@1", CLEAR, 0.01, 0.4)
    figures = {m: Figure(0.5, 0.4, 0.6) for m in ("AP", "P@1")}
    rankers = tuple(RankerResult(name, figures, None) for name in "ab")
    view = ComparisonView("things", "clean", 122, rankers, {"AP": (ap,), "P@1": (p1,)}, pd.DataFrame(), {})
    [pair] = exports._list_comparisons(view, ["AP", "P@1"])
    assert (pair["a"], pair["AP"]["difference"], pair["P@1"]["difference"]) == ("a", 0.1, -0.1)
    assert (pair["P@1"]["low"], pair["P@1"]["high"], pair["P@1"]["wins"], pair["P@1"]["effect"]) == (-0.15, -0.05, 20,
                                                                                                   -0.4)  # fmt: skip


def test_a_ranker_of_a_path_has_a_short_name_on_the_page_and_its_own_where_it_is_sent(wb, tmp_path):
    trained = write_version(tmp_path / "far" / "away" / "trained")
    done = comparison_job.start_compare(wb, [str(trained), "bm25"], "labels:things")
    run_queued(wb, RUNNERS)
    at = open_comparison(done.id)
    assert set(table(at)["ranker"]) == {"trained", "bm25"}
    assert f"trained: {trained}" in texts(at).replace("\\", "")
    assert f'title="{trained}"' in markup(at)
    [link] = [x.proto for x in at.get("page_link") if x.proto.label.startswith("Decide")]
    assert str(trained) in dict(parse_qsl(link.query_string)).values()
    assert str(trained) in exports.export_table(comparison.load_comparison(wb, done.id))


@pytest.mark.parametrize(
    ("names", "short_names"),
    [
        (["/srv/ce", "bm25"], {"/srv/ce": "ce"}),
        (["/srv/ce/:drop_ratio=0.5"], {"/srv/ce/:drop_ratio=0.5": "ce:drop_ratio=0.5"}),
        (["run:file=/srv/their.run", "../mine", "~/models/x"],
         {"run:file=/srv/their.run": "run:file=their.run", "../mine": "mine", "~/models/x": "x"}),
        (["/srv/a/ce", "/srv/b/ce"], {}),  # which of the two?
        (["/srv/cascade", "cascade"], {}),
        (["http:url=https://rank.example.org/v2/rerank", "classifier:model=org/name", "bm25:k1=1.5"], {}),
        (["sequential:stages=bm25@20+/srv/ce"], {"sequential:stages=bm25@20+/srv/ce": "sequential:stages=bm25@20+ce"}),
    ],
)  # fmt: skip
def test_a_path_is_named_by_its_last_part_unless_that_is_another_ranker_s_name(names, short_names):
    assert shorten_paths(names) == short_names


def test_a_sweep_is_one_name_in_a_list_of_rankers():
    ratios = [make_spec("cascade", ratio) for ratio in (0.0, 0.3, 0.6)]
    settings = comparison.ComparisonSettings(("cascade", "bm25", *ratios, "/srv/ce"), "starter-test")
    assert names.name_comparison(settings).endswith(": cascade, bm25, ce, cascade at 3 shares dropped")
    assert names.count_rankers(settings.rankers) == "3 rankers, cascade at 3 shares dropped"
    assert names.count_rankers(ratios) == "1 ranker, cascade at 3 shares dropped"


def test_without_labels_of_its_own_a_corpus_is_compared_on_test_questions_which_no_shipped_model_learnt_from(
    wb, monkeypatch
):
    sets = ["starter-train", "starter-dev", "starter-test", "labels:things"]
    monkeypatch.setattr(question_sets, "list_datasets", lambda wb: sets)
    at = open_page("compare", {"corpus": "Towers"})
    assert at.selectbox(key="compare_data").value == "starter-test"
    assert "The corpus Towers has no labels yet, so another set is chosen." in texts(at)
    at = open_page("compare", {"corpus": "things"})
    assert at.selectbox(key="compare_data").value == "labels:things"
    assert "has no labels yet" not in texts(at)


def test_questions_whose_candidates_all_have_labels_cannot_be_labelled_but_looked_through(wb, job):
    at = open_comparison(job)
    at = at.selectbox(key="compare_findings_ranker").set_value("rr").run()
    labels = [x.proto.label for x in at.get("page_link")]
    assert [x for x in labels if x.startswith("Label candidates")] and "Look for wrong labels" not in labels
    file = wb.settings.jobs_dir / str(job) / "data.jsonl"
    complete = [
        replace(q, candidates=tuple(replace(c, label=c.label or 0) for c in q.candidates)) for q in jsonl.read(file)[0]
    ]
    jsonl.write(complete, file)
    at = open_comparison(job)
    at = at.selectbox(key="compare_findings_ranker").set_value("rr").run()
    labels = [x.proto.label for x in at.get("page_link")]
    assert not [x for x in labels if x.startswith("Label candidates")] and "Look for wrong labels" in labels
    assert at.button(key="compare_label_none").disabled
    assert "Every candidate of these questions has a label." in texts(at)


def test_the_verdict_and_the_order_without_reranking_stand_on_the_page(wb, job):
    said = texts(open_comparison(job))
    assert "bm25 and rr have the highest AP on these 18 questions; " in said and "clearly worse" in said
    assert "No reranking, in BM25's order" in said


def test_a_version_made_here_that_is_active_is_chosen_against_what_came_with_the_program(wb):
    at = open_page("compare", {"corpus": "others"})
    assert at.multiselect(key="compare_rankers").value == ["cascade", "bi-encoder", "bm25"]
    promotion.promote(wb, "starter-2")
    at = open_page("compare", {"corpus": "others"})
    assert at.multiselect(key="compare_rankers").value == ["starter-2", "cascade", "bm25"]


def test_sets_and_settings_have_names_to_read_and_the_terminal_s_names_are_in_the_help(wb, job):
    at = open_page("compare", {"corpus": "things"})
    data, setting = at.selectbox(key="compare_data"), at.selectbox(key="compare_setting")
    assert data.value == "labels:things" and set(data.options) == {"Labels of others", "Labels of things"}
    assert setting.options == ["Questions with correct and incorrect candidates", "Questions with a correct candidate",
                               "All questions"]  # fmt: skip
    assert "`labels:NAME`" in data.help and "`--setting clean`, `no-all-neg` or `raw`" in setting.help
    at = open_comparison(job)
    [head] = [m for m in at.markdown if m.value.startswith("**Labels of things**")]
    assert head.value.endswith(
        "** · 18 questions with correct and incorrect candidates · 4 rankers · 1 May 2024, 12:00 UTC"
    )
    assert head.help.replace("\\", "") == "In the terminal: labels:things, with --setting clean"


def test_the_labelled_set_follows_the_corpus_until_another_is_chosen(wb):
    at = open_page("compare", {"corpus": "things"})
    at = at.selectbox(key="compare_data").set_value("labels:others").run()
    assert at.selectbox(key="compare_data").value == "labels:others"
    at = at.selectbox(key="compare_data").set_value("labels:things").run()
    at = at.selectbox(key="as2_corpus").set_value("others").run()
    assert at.selectbox(key="compare_data").value == "labels:others"


def set_drop_ratio(wb, version, ratio):
    config = wb.settings.versions_dir / version / "config.json"
    config.write_text(json.dumps({"ranker": "cascade", "settings": {"drop_ratio": ratio}}))


def test_a_cascade_at_its_default_ratio_is_marked_in_the_sweep_and_listed_once(wb):
    set_drop_ratio(wb, "starter-2", 0.3)
    names = ["starter-2", "bm25", "starter-2:drop_ratio=0", "starter-2:drop_ratio=0.3"]
    done = comparison_job.start_compare(wb, names, "labels:things")
    run_queued(wb, RUNNERS)
    at = open_comparison(done.id)
    assert set(table(at)["ranker"]) == {"starter-2", "bm25", "starter-2:drop_ratio=0"}
    assert "· 2 rankers, starter-2 at 2 shares dropped" in texts(at)
    assert "starter-2:drop_ratio=0.3 is starter-2 with its default share dropped at each exit" in texts(at)
    assert "starter-2:drop_ratio=0.3" not in markup(at) and "starter-2:drop_ratio=0<" in markup(at)
    assert "starter-2:drop_ratio=0.3" not in at.selectbox(key="compare_from").options
    view = comparison.load_comparison(wb, done.id)
    _, sweeps = sweep_of.split_sweeps(view.results)
    chart = sweep_of.build_sweep_chart(sweeps["starter-2"], metric="AP", defaults=view.twins).to_dict()
    notes = {r["label"]: r["note"] for data in chart["datasets"].values() for r in data}
    assert notes == {"0 %": "", "30 %": "default"}


def test_without_a_sweep_a_ratio_typed_by_hand_is_listed_though_it_is_the_default(wb):
    set_drop_ratio(wb, "starter-2", 0.3)
    assert find_twins(wb, ["starter-2", "starter-2:drop_ratio=0.3"]) == {}
    assert find_twins(wb, ["bm25", "starter-2:drop_ratio=0.3", "starter-2:drop_ratio=0"]) == {}  # not by its name
