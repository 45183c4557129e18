"""Comparisons on the labels of a corpus: retrieval order, short lists, missing labels, labels given since or hidden."""

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from comparison_runs import run_comparison, view_job
from label_files import import_labels
from thing_questions import QUESTIONS

from app.adapt.report import find_hidden_labels
from app.ask import asking
from app.compare import comparison, comparison_job, exports, question_sets
from app.corpora import corpora, ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, rules
from app.worker import RUNNERS


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


def test_an_unlabelled_copy_of_the_answer_does_not_count_as_incorrect(wb, ann):
    club = corpora.create_corpus(wb, "club")
    fee, board = "The fee is 48 euros a year.", "The board sets the fee."
    files = [("rules.txt", f"{fee} {board}"), ("copy.txt", fee), ("news.txt", f"{fee.upper()} It rained.")]
    ingestion.ingest(wb, club.id, [(name, text.encode()) for name, text in files])
    asked = asking.ask(wb, club.id, "What is the fee a year?")
    wb.later.finish()
    assert len(asked.candidates) == 5
    right = next(c.sentence_id for c in asked.candidates if c.title == "copy")
    annotation.give_label(wb, question_id=asked.question_id, sentence_id=right, annotator_id=ann.id, label="correct")
    [question] = question_sets.load_questions(wb, "labels:club", with_unlabelled=True)
    assert {(c.text, c.title) for c in question.candidates} == {(fee, "copy"), (board, "rules"), ("It rained.", "news")}


def test_without_reranking_an_imported_list_goes_by_words_and_a_comparison_of_an_older_program_has_no_line(wb, data):
    view = run_comparison(wb, ["rr", "bm25"], data)
    assert (view.unranked_order, view.unranked["AP"]) == ("words", view.results[1].figures["AP"].value)
    result = {**queue.load_job(wb, view_job(wb)).result}
    del result["unranked"]
    settings = comparison.ComparisonSettings(("rr", "bm25"), data)
    assert comparison.make_view(settings, result, QUESTIONS, {}, {}, twins={}).unranked == {}
    other = comparison.ComparisonSettings(("rr", "bm25"), "starter-test")  # it has the order of its data
    assert comparison.make_view(other, result, QUESTIONS, {}, {}, twins={}).unranked["AP"] == 0.5


def test_what_missing_labels_could_make_of_the_figures_is_told(wb, data):
    [rr, bm25] = run_comparison(wb, ["rr", "bm25"], data).results
    for ap in (rr.figures["AP"], bm25.figures["AP"]):
        assert ap.least <= ap.value <= ap.most
    assert (bm25.figures["P@1"].least, bm25.figures["P@1"].most) == (1.0, 1.0)  # its first candidates are all labelled


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
