"""Comparisons that run, wait or are over, and which of them opens."""

from datetime import timedelta

import pytest
import stored
from app_pages import open_page, texts
from comparisons import is_form_open, open_comparison, put_comparison
from stored import THINGS, put_job

from app.compare import comparison, shipped_comparison
from app.corpora import corpora
from app.labels import annotation, label_list
from app.labels.label_list import LabelSearch


def test_an_address_that_names_no_questions_narrows_nothing(wb):
    for only in ("", "x", "1.x", "-1", "1..2", "9" * 30):
        at = open_page("label", {"corpus": "things", "queue": "tops", "only": only})
        assert at.session_state["_label_desk"].seat.questions == () and not at.exception


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


def test_a_comparison_says_what_changed_in_the_labels_since_and_runs_again_with_the_same_choices(wb, job, ann):
    assert "Since this comparison" not in texts(open_comparison(job))
    which = LabelSearch(search="rained")
    [record, *_] = label_list.list_labels(wb, THINGS, by=ann.id, which=which, limit=1).page
    pair = {"question_id": record.question_id, "sentence_id": record.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    at = open_comparison(job)
    assert "Since this comparison: other labels on 1 question. The figures are from before." in texts(at)
    at = at.button(key="compare_repeat").click().run()
    again = stored.jobs(wb)[-1]
    assert again.state == "queued" and again.settings == stored.jobs(wb)[1].settings
    assert at.query_params["job"] == str(again.id)


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
