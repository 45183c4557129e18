import json
from dataclasses import replace
from datetime import datetime
from io import StringIO
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fake_models import write_version
from fake_reranker import listening, rank_by_length
from label_files import import_labels
from sqlalchemy import delete
from thing_questions import QUESTIONS

from app.adapt.report import find_hidden_labels
from app.ask import asking
from app.compare import comparison, comparison_job, exports, pairs, question_sets
from app.compare.rankers import list_rankers
from app.compare.short_names import shorten_view
from app.compare.sweeps import adjust_p_values
from app.compare.timing import time_in_turns
from app.corpora import corpora
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, rules
from app.versions import evaluations
from app.workbench import people
from app.workbench.people import NotAllowed
from app.workbench.workbench import OUTAGE_TEXT, DatabaseOutage
from app.worker import RUNNERS
from as2core.data import jsonl, qrels
from as2core.errors import As2Error, BadSetting, UnknownData, UnknownRanker, UnreadableFile, UnsupportedBackbone
from as2core.metrics import PairedTest, measure_mean
from as2core.types import Candidate, Progress, Question
from db.models import Evaluation, Job
from db.repositories import versions as rows


@pytest.fixture
def data(wb):
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    return "labels:things"


def run_comparison(wb, *arguments, **more):
    job = comparison_job.start_compare(wb, *arguments, **more)
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done", done.error
    return comparison.load_comparison(wb, job.id)


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


def test_an_outage_of_the_database_leaves_no_ranker_out(wb, data, monkeypatch):
    hash_ranker, outages = comparison_job.hash_ranker, [OUTAGE_TEXT]

    def fail_once(wb, name):
        if name == "bm25" and outages:
            raise DatabaseOutage(outages.pop())
        return hash_ranker(wb, name)

    monkeypatch.setattr(comparison_job, "hash_ranker", fail_once)
    view = run_comparison(wb, ["rr", "bm25"], data)
    assert [r.ranker for r in view.results] == ["rr", "bm25"] and not outages
    assert not any("left out" in note for note in view.notes)


def test_without_reranking_a_corpus_s_labels_are_in_the_order_of_retrieval_as_on_a_card(wb, towers, ann):
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    wb.later.finish()
    in_order = sorted(asked.candidates, key=lambda c: c.retrieval_rank)
    for place, label in ((2, "correct"), (0, "incorrect"), (1, "incorrect")):
        annotation.give_label(
            wb, question_id=asked.question_id, sentence_id=in_order[place].sentence_id, annotator_id=ann.id, label=label
        )
    view = run_comparison(wb, ["rr", "bm25"], "labels:towers")
    assert (view.unranked_order, view.unranked["AP"]) == ("retrieval", pytest.approx(1 / 3))


def label_until_the_answer_is_found(wb, towers, ann):
    """As Label advises: nothing below the answer, here one without any incorrect sentence and one with."""
    for question, incorrect in (("When was the tower finished?", 1), ("Who designed the tower?", 0)):
        asked = asking.ask(wb, towers.id, question)
        wb.later.finish()
        in_order = sorted(asked.candidates, key=lambda c: c.retrieval_rank)
        for place in range(incorrect + 1):
            annotation.give_label(
                wb, question_id=asked.question_id, sentence_id=in_order[place].sentence_id, annotator_id=ann.id,
                label="incorrect" if place else "correct",
            )  # fmt: skip


def test_lists_of_two_sentences_bring_a_warning_on_the_result_and_in_its_files(wb, towers, ann):
    label_until_the_answer_is_found(wb, towers, ann)
    for setting, start in (("clean", "There are only 2.0 candidates a question"), ("raw", "There are only 1.5")):
        view = run_comparison(wb, ["rr", "bm25"], "labels:towers", setting)
        assert view.warning.startswith(start)
        assert view.warning == question_sets.describe_short_lists(wb, view.data, setting, with_unlabelled=False)
    view = run_comparison(wb, ["rr", "bm25"], "labels:towers")
    assert "even a random order puts a correct one first for 50 % of the questions" in view.warning
    assert "Count sentences without a label as incorrect" in view.warning
    document = json.loads(exports.export_json(view))
    assert document["notes"][0] == view.warning and (document["candidates"], document["with_unlabelled"]) == (2, False)
    assert pd.read_csv(StringIO(exports.export_table(view)))["candidates"].tolist() == [2, 2]


def test_short_lists_on_which_every_sentence_has_a_label_ask_for_no_more_labels(wb, towers):
    rows = "".join(f"who built tower {i}?,tower-0,1\nwho built tower {i}?,tower-1,0\n" for i in range(2))
    import_labels(wb, towers.id, "case.csv", f"query,docid,rating\n{rows}".encode())
    view = run_comparison(wb, ["rr", "bm25"], "labels:towers", with_unlabelled=True)
    assert view.warning == question_sets.describe_short_lists(wb, view.data, "clean", with_unlabelled=True)
    assert view.warning.endswith("all figures are too high.")


def test_sentences_without_a_label_can_count_as_incorrect_and_stay_unlabelled(wb, towers, ann):
    label_until_the_answer_is_found(wb, towers, ann)
    view = run_comparison(wb, ["rr", "bm25"], "labels:towers", with_unlabelled=True)
    assert (view.questions, view.with_unlabelled) == (2, True)  # one has no sentence labelled wrong
    assert question_sets.describe_short_lists(wb, view.data, "clean", with_unlabelled=True) == ""
    [labels, others] = [view.ranks[qid]["label"] for qid in view.ranks]
    assert (labels.eq(1).sum(), labels.eq(0).sum(), others.eq(1).sum(), others.eq(0).sum()) == (1, 1, 1, 0)
    assert labels.isna().sum() >= 4 and others.isna().sum() >= 4
    assert any("have no label and count as incorrect" in note for note in view.notes)
    figure = view.results[0].figures["AP"]
    assert figure.least < figure.value <= figure.most
    unlabelled = sum(frame.loc[frame["bm25"] == 1, "label"].isna().item() for frame in view.ranks.values())
    assert unlabelled and f"first by bm25 on {unlabelled} of the 2 questions. It counts as incorrect" in view.warning
    assert len(view.per_question) == 4  # of both questions by both rankers, though they are stored by another setting


def test_without_reranking_an_imported_list_goes_by_words_and_a_comparison_of_an_older_program_has_no_line(wb, data):
    view = run_comparison(wb, ["rr", "bm25"], data)
    assert (view.unranked_order, view.unranked["AP"]) == ("words", view.results[1].figures["AP"].value)
    result = {**queue.load_job(wb, view_job(wb)).result}
    del result["unranked"]
    settings = comparison.ComparisonSettings(("rr", "bm25"), data)
    assert comparison.make_view(settings, result, QUESTIONS, {}, {}, twins={}).unranked == {}
    other = comparison.ComparisonSettings(("rr", "bm25"), "starter-test")  # it has the order of its data
    assert comparison.make_view(other, result, QUESTIONS, {}, {}, twins={}).unranked["AP"] == 0.5


def view_job(wb):
    return queue.list_jobs(wb, kind="compare")[0].id


def test_what_missing_labels_could_make_of_the_figures_is_told(wb, data):
    [rr, bm25] = run_comparison(wb, ["rr", "bm25"], data).results
    for ap in (rr.figures["AP"], bm25.figures["AP"]):
        assert ap.least <= ap.value <= ap.most
    assert (bm25.figures["P@1"].least, bm25.figures["P@1"].most) == (1.0, 1.0)  # its first candidates are all labelled


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


def test_versions_are_compared_beside_techniques_and_count_their_cost(wb, data):
    view = run_comparison(wb, ["active", "bm25"], data)
    assert [r.ranker for r in view.results] == ["cascade", "bm25"]
    assert 0 < view.results[0].relative_cost < 1


def test_a_version_takes_settings_as_the_catalog_does(wb, data, tmp_path):
    trained = write_version(tmp_path / "trained")
    specs = [f"{trained}:drop_ratio=0", f"{trained}:drop_ratio=0.6", "active:drop_ratio=0.6"]
    full, half, answering = run_comparison(wb, specs, data).results
    assert half.relative_cost < full.relative_cost
    assert answering.ranker == "cascade:drop_ratio=0.6"
    assert evaluations.hash_ranker(wb, specs[-1]) != evaluations.hash_ranker(wb, str(trained))


def test_a_directory_that_a_training_wrote_is_compared_and_scored_anew_when_it_changes(wb, data, models, tmp_path):
    trained = write_version(tmp_path / "trained")
    view = run_comparison(wb, ["rr", str(trained)], data)
    assert [r.ranker for r in view.results] == ["rr", str(trained)]
    assert models.loaded == ["trained"]
    before = evaluations.hash_ranker(wb, str(trained))
    (trained / "card.json").write_text('{"name": "trained", "sha256": "another"}')
    assert evaluations.hash_ranker(wb, str(trained)) != before


def test_a_ranker_nobody_trained_says_that_its_order_is_chance(wb, data):
    inside = "sequential:stages=wo@3+[fusion:rankers=wo+rel-cnn:hidden=4]"
    view = run_comparison(wb, ["rr", "cosinet:listwise,context=birnn,hidden=4", inside], data)
    assert [note.partition(" has not been trained")[0] for note in view.notes if "as2 train" in note] == [
        "cosinet:listwise,context=birnn,hidden=4: cosinet",
        f"{inside}: rel-cnn",
    ]


def test_a_version_with_several_settings_says_once_what_it_learnt_from(wb, data):
    jsonl.write(QUESTIONS[:3], wb.settings.corpora_dir / "starter" / "train.jsonl")
    view = run_comparison(wb, ["cascade:drop_ratio=0.3", "active:drop_ratio=0.5", "bm25"], data)
    [told] = [note for note in view.notes if "was trained on" in note]
    assert view.trained_on == {"cascade:drop_ratio=0.3": 3, "cascade:drop_ratio=0.5": 3}
    assert told.startswith("cascade was trained on 3 of these 6") and "as2 versions show 'cascade'" in told


def test_a_version_that_learnt_from_the_questions_says_from_how_many(wb, data):
    learnt = [QUESTIONS[1].text, QUESTIONS[4].text, "What does nobody ask?"]
    for name, trained_on in (("tuned", learnt), ("elsewhere", ["What does nobody ask?"])):
        path = write_version(wb.settings.versions_dir / name, trained_on=trained_on)
        with wb.write() as s:
            rows.add_version(s, name, kind="cascade", path=str(path), state="candidate", now=wb.clock())
    for _ in range(2):  # the second time from what is stored
        [note] = [n for n in run_comparison(wb, ["tuned", "elsewhere", "bm25"], data).notes if "was trained on" in n]
        assert note.startswith("tuned was trained on 2 of these 6 questions")
        assert "held-out" in note


def test_a_shipped_model_says_that_it_learnt_from_the_starter_corpus_s_train_part(wb, data):
    jsonl.write(QUESTIONS[:3], wb.settings.corpora_dir / "starter" / "train.jsonl")
    asked = ["cascade", "cross-encoder", "sequential:stages=bm25@3+cascade", "bm25"]
    notes = [n for n in run_comparison(wb, asked, data).notes if "was trained on" in n]
    assert [n.partition(" was trained on 3 of these 6")[0] for n in notes] == asked[:3]


def test_the_same_ranker_on_the_same_data_is_not_scored_twice(wb, data, models, monkeypatch):
    scored = []
    evaluate = evaluations.evaluate
    monkeypatch.setattr(evaluations, "evaluate", lambda r, *a, **k: scored.append(r.name) or evaluate(r, *a, **k))
    first = run_comparison(wb, ["rr", "bm25"], data)
    second = run_comparison(wb, ["rr", "jaccard"], data)
    assert scored == ["rr", "bm25", "jaccard"]
    assert second.results[0].figures == first.results[0].figures


def test_seconds_are_measured_in_turns_in_every_comparison_whatever_is_stored(wb, data, monkeypatch):
    seconds = iter([{"rr": 0.001, "bm25": 0.002}, {"rr": 0.003, "wo": 0.004}])
    monkeypatch.setattr(comparison_job, "time_in_turns", lambda rankers, questions, check, on_error: next(seconds))
    assert [r.seconds for r in run_comparison(wb, ["rr", "bm25"], data).results] == [0.001, 0.002]
    assert [r.seconds for r in run_comparison(wb, ["rr", "wo"], data).results] == [0.003, 0.004]


def test_what_an_older_program_stored_as_seconds_is_not_shown(wb, data):
    job = comparison_job.start_compare(wb, ["rr", "bm25"], data)
    run_queued(wb, RUNNERS)
    rows_before = queue.load_job(wb, job.id).result["rows"]
    older = {k: v for k, v in rows_before[0].items() if k != "seconds_per_question"} | {"seconds": 95.0}
    assert comparison._from_row(older).seconds is None


def test_more_rankers_than_memory_has_room_for_are_compared_without_seconds(wb, data):
    specs = [f"bm25:k1={k / 10}" for k in range(1, comparison_job.MAX_TIMED_RANKERS + 2)]
    results = run_comparison(wb, specs, data).results
    assert len(results) == len(specs)
    assert {r.seconds for r in results} == {None}


def test_a_comparison_whose_values_are_gone_says_so(wb, data):
    job = comparison_job.start_compare(wb, ["rr", "bm25"], data)
    run_queued(wb, RUNNERS)
    with wb.write() as s:  # nothing of the program does
        s.execute(delete(Evaluation).where(Evaluation.ranker == "rr"))
    with pytest.raises(As2Error, match=f"the values of rr in comparison {job.id} are gone: compare again"):
        comparison.load_comparison(wb, job.id)


def test_new_labels_are_new_data_and_leave_the_old_comparison_as_it_was(wb, data, ann):
    job = comparison_job.start_compare(wb, ["rr"], data)
    run_queued(wb, RUNNERS)
    corpus = next(iter(queue.list_jobs(wb, "embed"))).corpus_id
    asked = asking.ask(wb, corpus, QUESTIONS[0].text)
    first = next(c for c in asked.candidates if c.text == "It rained all day.")
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=first.sentence_id, annotator_id=ann.id, label="correct"
    )
    assert comparison.load_comparison(wb, job.id).results[0].figures["AP"].value == 0.5
    assert run_comparison(wb, ["rr"], data).results[0].figures["AP"].value > 0.5


def test_a_peer_s_label_shows_once_one_s_own_is_in(wb, data, ann, bob):
    corpus = next(iter(queue.list_jobs(wb, "embed"))).corpus_id
    rules.set_rules(wb, corpus, by=ann.id, overlap=2)
    asked = asking.ask(wb, corpus, QUESTIONS[0].text)
    open_one = next(c for c in asked.candidates if c.text == "A tower.")
    pair = {"question_id": asked.question_id, "sentence_id": open_one.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="incorrect")
    job = comparison_job.start_compare(wb, ["rr"], data)
    run_queued(wb, RUNNERS)

    def find_label(by):
        frame = comparison.load_comparison(wb, job.id, by=by).ranks["q0"]
        return frame.loc[frame["candidate"] == "A tower.", "label"].iloc[0]

    assert find_label(None) == find_label(ann.id) == 0 and np.isnan(find_label(bob.id))
    assert find_hidden_labels(wb, bob.id) == {(QUESTIONS[0].text, "A tower.")} and not find_hidden_labels(wb, ann.id)
    annotation.give_label(wb, **pair, annotator_id=bob.id, label="correct")
    assert find_label(bob.id) == 0


def test_a_limit_takes_a_fixed_sample(wb, data):
    one, other = (run_comparison(wb, ["rr"], data, limit=2) for _ in range(2))
    assert one.questions == 2
    assert set(one.ranks) == set(other.ranks)


def test_a_ranker_that_cannot_be_loaded_is_left_out_and_said(wb, data, models):
    from as2core.errors import DamagedModel

    load_spec = models.load_spec

    def damaged(spec):
        if spec == "bi-encoder":
            raise DamagedModel("the backbone is damaged: install it again")
        return load_spec(spec)

    models.load_spec = damaged
    view = run_comparison(wb, ["rr", "bi-encoder"], data)
    assert [r.ranker for r in view.results] == ["rr"]
    assert "bi-encoder was left out: the backbone is damaged: install it again" in view.notes


def test_what_there_is_to_compare_is_listed(wb, data):
    assert set(list_rankers(wb)) >= {"rr", "bm25", "bi-encoder", "cascade", "generative"}
    assert question_sets.list_datasets(wb) == [data]


def test_a_run_that_another_program_wrote_is_compared_and_read_anew_when_it_changes(wb, data, tmp_path):
    questions = question_sets.load_questions(wb, data)
    file = tmp_path / "their.run"
    for best, p1 in ((1, 1.0), (2, 0.0)):
        scores = {q.qid: np.eye(4)[best] for q in questions}
        file.write_text("".join(qrels.run_to_lines(questions, scores, tag="theirs")) + "\n" * best)
        view = run_comparison(wb, ["rr", str(file), f"sequential:stages={file}@1+rr"], data)
        assert [r.figures["P@1"].value for r in view.results] == [0.0, p1, p1]
    file.write_text("other Q0 tower-1 1 2.0 x\n")
    with pytest.raises(BadSetting, match=r"their\.run has no candidate of these 6 questions"):
        comparison_job.start_compare(wb, ["rr", f"run:file={file}"], data)


def test_questions_that_a_run_of_the_machine_lacks_are_left_out_for_all_as_those_of_an_uploaded_one(wb, data, tmp_path):
    file = tmp_path / "their.run"
    file.write_text(
        "".join(f"{q.qid} Q0 {q.candidates[1].id} 1 1 t\n" for q in question_sets.load_questions(wb, data)[1:])
    )
    view = run_comparison(wb, ["rr", f"sequential:stages=run:file={file}@1+rr"], data)
    assert view.questions == 5 and "their.run has no candidate of 1 of the 6 questions" in view.notes[0]


def test_a_reranker_behind_an_address_is_asked_in_each_comparison_said_and_not_timed(wb, data):
    bodies = []
    with listening(lambda handler, body: bodies.append(body) or rank_by_length(handler, body)) as url:
        for _ in range(2):
            view = run_comparison(wb, ["rr", f"http:url={url}"], data)
    assert len(bodies) == 2 * len(QUESTIONS)
    host = url.split("/")[2]
    assert f"http:url={url}: Questions and sentences are sent to {host}: they leave this machine." in view.notes
    rr, theirs = view.results
    assert theirs.figures["P@1"].value == 1.0  # the correct sentence is the longest
    assert rr.seconds is not None and theirs.seconds is None
    assert f"http:url={url} was left out: {host} cannot be reached" in str(
        run_comparison(wb, ["rr", f"http:url={url}"], data).notes
    )


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((["http"], "labels:things"), BadSetting, "http needs url"),
        ((["http:url=nowhere"], "labels:things"), BadSetting, "is no address"),
        ((["nothing-like-it"], "labels:things"), UnknownRanker, "bm25"),
        ((["bm25:k9=1"], "labels:things"), BadSetting, "k1, b"),
        ((["sequential:stages=wo@2+bm52"], "labels:things"), UnknownRanker, "no ranker 'bm52'"),
        ((["active:k1=2"], "labels:things"), BadSetting, "drop_ratio, keep"),
        ((["generative:drop_ratio=0.5"], "labels:things"), BadSetting, "has no setting"),
        (([], "labels:things"), BadSetting, "choose"),
        ((["rr"], "labels:nowhere"), As2Error, "things"),
        ((["rr"], "no-such-file.jsonl"), UnknownData, "no-such-file"),
        ((["rr"], "labels:things", "spotless"), BadSetting, "clean"),
        ((["rr"], "labels:things", "clean", 0), BadSetting, "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_said_before_the_start(wb, data, arguments, error, said):
    with pytest.raises(error, match=said):
        comparison_job.start_compare(wb, *arguments)


def test_an_unfinished_comparison_has_nothing_to_show(wb, data):
    job = comparison_job.start_compare(wb, ["rr"], data)
    with pytest.raises(As2Error, match="not a finished comparison"):
        comparison.load_comparison(wb, job.id)


@pytest.mark.parametrize(
    "outside",
    [
        {"rankers": ["bm25", "/etc"]},
        {"rankers": ["../versions/mine"]},
        {"rankers": ["~/models"]},
        {"rankers": ["classifier:model=org/name"]},
        {"rankers": ["http:url=https://example.org/"]},
        {"rankers": ["onnx:model=/srv/other"]},
        {"rankers": ["run:file=/srv/their.run"]},
        {"rankers": ["sequential:stages=bm25@20+/srv/other"]},
        {"rankers": ["docs"]},
        {"rankers": ["onnx:model=docs"]},
        {"rankers": ["classifier:model=name"]},
        {"rankers": ["bi-encoder:backbone=name"]},
        {"rankers": ["cosinet:vectors=words.txt"]},
        {"rankers": ["sequential:stages=bm25@20+docs"]},
        {"rankers": ["fusion:rankers=bm25+[sequential:stages=onnx:model=docs+rr]"]},
        {"data": "constraints.txt"},
        {"data": "/etc/passwd"},
    ],
)
def test_only_an_admin_has_the_server_read_other_folders_or_ask_the_hub(wb, data, outside, monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    ann, bob = people.sign_in(wb, "ann"), people.sign_in(wb, "bob")
    arguments = {"rankers": ["bm25", "rr"], "data": data} | outside
    with pytest.raises(NotAllowed, match="bob is an annotator, and this takes an admin"):
        comparison_job.start_compare(wb, **arguments, by=bob.id)
    with pytest.raises((UnknownRanker, UnknownData, BadSetting, UnreadableFile, UnsupportedBackbone)):
        comparison_job.start_compare(wb, **{**arguments, "rankers": ["/etc"]}, by=ann.id)  # asked, and there is none
    assert comparison_job.start_compare(wb, ["bm25", "rr"], data, by=bob.id).kind == "compare"


def test_who_is_no_admin_reads_that_a_corpus_has_no_labels_yet(wb, data):
    people.sign_in(wb, "ann")
    bob, empty = people.sign_in(wb, "bob"), corpora.create_corpus(wb, "empty")
    with pytest.raises(UnknownData, match="label more"):
        comparison_job.start_compare(wb, ["bm25", "rr"], f"labels:{empty.name}", by=bob.id)


def test_the_ratios_of_a_sweep_do_not_count_against_the_rankers_chosen():
    names = ("cascade", "bm25", "cascade:drop_ratio=0.1", "cascade:drop_ratio=0.2", "bm25:drop_ratio=0.5")
    pairs = [*combinations(names, 2)]
    corrected = dict(zip(pairs, adjust_p_values(pairs, [0.01] * len(pairs)), strict=True))
    assert corrected["cascade", "bm25"] == corrected["bm25", "bm25:drop_ratio=0.5"] == pytest.approx(0.03)
    assert corrected["cascade", "cascade:drop_ratio=0.1"] == pytest.approx(0.07)


def test_progress_says_which_ranker_of_how_many_and_how_long_that_one_takes_at_its_pace(wb, clock):
    settings = comparison.ComparisonSettings(("bm25", "/srv/models/ce", "rr", "wo"), "labels:things")
    told, times = [], [0.0]
    job = SimpleNamespace(
        wb=wb,
        check=lambda: None,
        progress=lambda share, message: told.append((share, message)),
        seconds=lambda: times[-1],
    )
    report = comparison_job._report_questions(job, settings, 1)
    times.append(540.0)  # loading does not count
    for done in (2, 4, 12, 20):
        report(Progress(done, 20))
        times.append(times[-1] + 20)
        clock.advance(hours=2)  # nor does a pause
    messages = [message for _, message in told]
    assert messages[0] == "ranker 2 of 4, ce: 2 of 20 questions"
    assert messages[1].endswith("4 of 20 questions, 2 to 4 min left for this one")  # 10 s a question, 16 questions
    assert messages[2].endswith("12 of 20 questions, 25 to 40 s left for this one")  # 4 s a question, 8 questions
    assert messages[3].endswith("20 of 20 questions")
    assert [share for share, _ in told] == pytest.approx([0.9 * (1 + d / 20) / 4 for d in (2, 4, 12, 20)])


def test_progress_goes_on_while_the_time_is_measured():
    told = []
    job = SimpleNamespace(check=lambda: None, progress=lambda share, message: told.append((share, message)))
    rankers = {name: SimpleNamespace(score=lambda question, candidates: None) for name in ("a", "b")}
    time_in_turns(rankers, QUESTIONS, check=comparison_job._report_timing(job, 2, len(QUESTIONS)))
    assert len(told) == 2 + 2 * 3 * 6  # a first run of each, then three rounds over six questions
    assert told[0] == (0.9, "measuring the time: 0 of 38 runs") and told[-1][1].endswith("37 of 38 runs")
    assert told[-1][0] < 0.96


def test_a_test_told_the_other_way_round_has_every_sign_turned():
    test = PairedTest(difference=0.04, low=-0.01, high=0.07, p=0.2, wins=12, losses=3, ties=20)
    pair = pairs.PairedResult("a", "b", "AP", test, holm=0.4, effect=0.3)
    assert exports._describe_test(pair, first="a").items() >= {"difference": 0.04, "low": -0.01, "effect": 0.3}.items()
    turned = {"difference": -0.04, "low": -0.07, "high": 0.01, "wins": 3, "losses": 12, "ties": 20, "effect": -0.3}
    assert exports._describe_test(pair, first="b").items() >= (turned | {"p": 0.2, "holm": 0.4}).items()
