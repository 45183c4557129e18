"""A finished comparison: its table, its pictures and the questions behind them."""

import json
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
import stored
from app_pages import markup, open_page, texts
from comparisons import open_comparison, table
from fake_models import write_version
from streamlit.proto.Block_pb2 import Block
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from app.adapt.label_selection import LabelSelection
from app.adapt.report import LabelCounts, RetrainReport
from app.compare import comparison, comparison_job, exports
from app.compare.pairs import PairedResult
from app.compare.rankers import find_twins
from app.compare.short_names import shorten_paths
from app.compare.sweeps import make_spec
from app.jobs.attempt import run_queued
from app.ui.compare import names, results
from app.ui.compare import sweep as sweep_of
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.metrics import PairedTest, name_effect
from db.models import Job


def test_a_comparison_whose_times_are_being_measured_shows_its_result(wb, job):
    with wb.write() as s:
        row = s.get(Job, job)
        row.state, row.finished, row.message = "running", None, "measuring the time: 3 of 62 runs"
    at = open_comparison(job)
    assert "The times are being measured." in texts(at) and len(table(at))


def test_the_table_shows_the_names_and_the_intervals_too(wb, job):
    at = open_comparison(job)
    [shown] = [d for d in at.dataframe if "AP, 95 %" in d.value.columns]
    hidden = {name for name, config in json.loads(shown.proto.columns).items() if config.get("hidden")}
    assert hidden == {"_index"}  # the numbers of the rows
    assert shown.value.columns[0] == "ranker"


def test_several_notes_stand_in_one_box_and_one_stands_alone(wb, job):
    for notes, shown in ((["a * b", "two"], "- a \\* b\n- two"), (["one"], "one")):
        with wb.write() as s:
            row = s.get(Job, job)
            row.result = {**row.result, "notes": notes}
        assert [box.value for box in open_comparison(job).info] == [shown]


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
    assert "Only 2 chosen questions." in markup(label) + texts(label)
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
    assert "95 %: −0.010 to +0.090" in text and "-0.0" not in text


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
    assert shown.loc[["bm25", "rr"], "compute"].isna().all()  # the table has a dash there
    assert shown.loc["cascade", "compute"] == pytest.approx(100 * results["cascade"].relative_cost)
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
    shown = table(at).set_index("ranker")
    assert shown["seconds"].to_dict() == pytest.approx({r.ranker: r.seconds for r in view.results})
    costs = {r.ranker: r.relative_cost for r in view.results}
    assert costs["cascade"] and shown["compute"]["cascade"] == pytest.approx(100 * costs["cascade"])
    [shown] = [d for d in at.dataframe if "seconds" in d.value.columns]
    configs = json.loads(shown.proto.columns)
    assert "the median over the first 10, all rankers" in configs["seconds"]["help"]
    assert configs["compute"]["type_config"]["format"] == "%.0f %%"
    cost = at.button_group(key="compare_cost")
    assert cost.value == "relative_cost"
    assert list(cost.options) == ["Compute", "Seconds"]


def test_seconds_of_an_older_comparison_are_neither_in_the_table_nor_a_cost(wb, job):
    result = stored.jobs(wb)[1].result
    rows = [{k: v for k, v in row.items() if k != "seconds_per_question"} | {"seconds": 9.5} for row in result["rows"]]
    stored.change_job(wb, job, result={**result, "rows": rows})
    at = open_comparison(job)
    assert "seconds" not in table(at).columns
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
    assert not {"compute", "seconds"} & {*table(at).columns} and "Accuracy against cost" not in [
        h.value for h in at.header
    ]


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


def test_questions_are_narrowed_to_those_that_a_ranker_gained_or_lost(wb, job):
    def shown(at):
        return next(d.value for d in at.dataframe if "difference" in d.value)

    at = open_comparison(job)
    at = at.selectbox(key="compare_from").set_value("rr").run()
    every = shown(at)["difference"]
    signs = {"Better": every > 0, "Worse": every < 0, "Equal": every == 0}
    assert at.button_group(key="compare_kind").options == [
        f"All: {len(every)}",
        *(f"{name}: {sum(own)}" for name, own in signs.items()),
    ]
    for name in ("Better", "Equal", "Worse"):
        at = at.button_group(key="compare_kind").set_value(name).run()
        assert shown(at)["difference"].tolist() == sorted(every[signs[name]], key=abs, reverse=True)
    first = shown(at)["question"].iloc[0]
    assert first == stored.thing_question(wb, select_row(at, 0).selectbox(key="compare_qid").value)


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


def test_names_in_the_table_of_tests_are_text():
    test = PairedTest(difference=0.1, low=0.0, high=0.2, p=0.01, wins=9, losses=1, ties=0)
    assert "&lt;b&gt;x" in results.render_pairs([PairedResult("<b>x", "y", "AP", test)])


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


def list_blocks(block):
    """The block and all in it."""
    inner = [x for child in block.children.values() if hasattr(child, "children") for x in list_blocks(child)]
    return [block, *inner]


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
    links = {x.proto.label: dict(parse_qsl(x.proto.query_string)) for x in at.get("page_link")}
    assert not [label for label in links if label.startswith("Label candidates")]
    assert links["Look for wrong labels"] == {"corpus": "things", "view": "list"}
    assert at.button(key="compare_label_none").disabled
    [row] = [b for b in list_blocks(at.main) if at.button(key="compare_label_none") in b.children.values()]
    assert row.proto.flex_container.align == Block.FlexContainer.ALIGN_CENTER  # the links beside it are less high
    assert "Every candidate of these questions has a label." in texts(at)


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
