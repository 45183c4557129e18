"""Retrains that run, wait, pause or came to nothing."""

from datetime import timedelta

import pytest
import stored
from adapt_pages import find_title, open_adapt, put_retrain, read_settings
from app_pages import find_popover, markup, open_page, texts
from stored import OTHERS, THINGS, WORKS, put_job

from app.adapt.settings import COPIES, RetrainSettings
from db.repositories import jobs as job_rows


def test_a_running_job_shows_where_it_is_and_can_be_cancelled(wb):
    job = put_retrain(wb, events=stored.training_events(50), message="Training, step 50 of 200")
    at = open_adapt()  # not in the address: it is found
    assert at.query_params["job"] == str(job)
    assert "step 25: validation AP" in markup(at)
    assert at.button(key="adapt_start").disabled
    assert find_popover(at, "Cancel")  # one click alone cancels nothing
    assert "You can run it again later: it resumes where it stopped" in texts(at)
    at.button(key="adapt_cancel_confirm").click().run()
    assert stored.jobs(wb)[-1].cancelling


def test_a_retrain_that_only_copies_still_check_can_be_finished_without_them(wb):
    job = put_retrain(wb, message="checking the result on training questions, part 1 of 3")
    at = open_adapt()
    assert not [b for b in at.button if b.key == "adapt_finish"]  # it is not trained yet
    with wb.write() as s:
        job_rows.add_event(s, job, {"kind": COPIES, "message": "now checked on training questions, too"}, wb.clock())
    at = at.run()
    at = at.button(key="adapt_finish").click().run()
    assert [p.proto.text for p in at.get("progress")] == ["Ending the check …"]  # it may take a step yet
    assert not RetrainSettings.from_json(read_settings(wb)).copies
    assert not [b for b in at.button if b.key == "adapt_finish"]
    assert stored.jobs(wb)[-1].state == "running" and not stored.jobs(wb)[-1].cancelling


def test_a_paused_retrain_is_found_behind_many_of_another_corpus(wb):
    job = put_retrain(wb, "queued", paused=True)
    for _ in range(20):
        put_retrain(wb, "done", corpus_id=WORKS)
    at = open_adapt()
    assert at.query_params["job"] == str(job)
    assert at.button(key="adapt_start").disabled


@pytest.mark.parametrize("how", [{}, {"state": "done"}, {"state": "queued", "paused": True}])
def test_a_job_that_waits_for_nobody_asks_for_no_other(wb, how):
    job = put_retrain(wb, **how)
    put_retrain(wb, corpus_id=WORKS)
    at = open_adapt({"job": str(job)})
    assert "runs first" not in texts(at)


def test_a_retrain_of_another_corpus_is_waited_for_and_not_in_the_way(wb):
    other = put_retrain(wb, corpus_id=WORKS)
    at = open_adapt()
    assert f"Job {other} retrains from another corpus: this one starts when it has ended" in texts(at)
    at = at.button(key="adapt_start").click().run()
    assert at.query_params["job"] == str(stored.jobs(wb)[-1].id)
    assert f"Job {other} (retrain) runs first. This job starts when that one ends or is paused." in texts(at)
    assert at.button(key="adapt_start").disabled


def test_a_paused_retrain_of_another_corpus_is_waited_for_by_nobody(wb):
    put_retrain(wb, "queued", corpus_id=WORKS, paused=True)
    assert "starts when it has ended" not in texts(open_adapt())
    running = put_retrain(wb, corpus_id=OTHERS)
    assert f"Job {running} retrains from another corpus: this one starts when it has ended" in texts(open_adapt())


def test_another_corpus_shows_its_own_retrain_and_a_link_to_another_s_names_the_corpus(wb):
    own, other = put_retrain(wb), put_retrain(wb, corpus_id=OTHERS)
    at = open_adapt({"job": str(own)})
    assert "corpus" not in find_title(at)
    at = at.selectbox(key="as2_corpus").select("others").run()
    assert at.query_params["job"] == str(other) and f"job {other})" in find_title(at)
    assert f"job {own}, corpus things)" in find_title(open_page("adapt", {"corpus": "others", "job": str(own)}))
    stored.change_job(wb, own, state="done", result=stored.retrain_result())
    at = open_page("adapt", {"corpus": "others", "job": str(own)})
    assert "Retrained from the labels of the corpus things" in texts(at)


@pytest.mark.parametrize(
    ("state", "error", "sentence"),
    [
        ("failed", "the disk is full: free some space", "It failed, and no version was made."),
        ("cancelled", "", "It was stopped. No version was made"),
        ("lost", "no sign of life", "Its worker was interrupted, and no version was made."),
    ],
)
def test_a_job_that_came_to_nothing_says_so_and_can_be_run_again(wb, state, error, sentence):
    job = put_retrain(wb, state, error=error)
    at = open_adapt({"job": str(job)})
    assert sentence in texts(at)
    assert error in texts(at)
    at = at.button(key="adapt_again").click().run()
    assert [j.state for j in stored.jobs(wb)] == ["queued"]
    assert at.query_params["job"] == str(job)
    assert "Retraining: queued" in texts(at)


def test_a_running_job_is_paused_and_goes_on(wb):
    job = put_retrain(wb)
    at = open_adapt({"job": str(job)})
    at = at.button(key="adapt_pause__on").click().run()
    assert stored.jobs(wb)[0].paused
    assert at.button(key="adapt_pause__off").label == "Resume"
    assert "Retraining: paused" in texts(at) and f"A retrain of this corpus is under way (job {job})." in texts(at)
    stored.change_job(wb, job, state="queued")
    at = at.run()
    assert "Retraining: paused" in texts(at) and f"A retrain of this corpus is under way (job {job})." in texts(at)
    assert "queued" not in texts(at)
    assert "Press Resume to continue" in next(p.proto.text for p in at.get("progress"))
    assert "Waiting for the worker" not in texts(at)
    at.button(key="adapt_pause__off").click().run()
    assert not stored.jobs(wb)[0].paused


@pytest.mark.parametrize("name", ["lm", "cosinet"])
def test_a_retrain_of_a_ranker_without_exits_is_shown_as_it_goes(wb, name):
    """Its validation AP comes under a name, not under a layer; what stands below the panel is drawn, too."""
    job = put_retrain(wb, events=stored.training_events(50, exits=(name,)), settings={"kind": "generative"})
    at = open_adapt()
    assert not at.exception and not at.error
    assert f"Retraining (generative, job {job})" in texts(at)
    assert "step 25: validation AP 0.600" in markup(at) and "last exit" not in markup(at)
    assert [x.value for x in at.header][-1] == "Versions"


def test_a_retrain_that_started_by_itself_says_so(wb):
    job = put_retrain(wb, events=stored.training_events(5), settings={"automatic": True})
    assert f"Retraining (cascade, job {job}, started automatically)" in texts(open_adapt())


@pytest.mark.parametrize(("state", "what"), [("failed", "failed"), ("lost", "was interrupted")])
def test_a_retrain_that_came_to_nothing_is_found_by_the_menu_too(wb, state, what):
    job = put_retrain(wb, state, error="the disk is full")
    at = open_adapt()
    assert f"The last retrain {what} (1 May 2024, 12:01 UTC)" in texts(at)
    assert ": the disk is full" in texts(at)  # in the list
    at = at.button(key="adapt_lost_open").click().run()
    assert at.query_params["job"] == str(job)
    assert "The last retrain" not in texts(at)
    assert at.button(key="adapt_again")


def test_a_retrain_is_in_sight_above_the_card_of_a_version_and_so_is_what_became_of_it(wb):
    job = put_retrain(wb)
    at = open_adapt({"version": "starter-2"})
    assert f"job {job})" in find_title(at) and "it was not retrained here" in texts(at)
    stored.change_job(wb, job, state="done", result=stored.retrain_result())
    at = at.run()
    assert f"The retrain (job {job}) is done." in texts(at)
    at = at.button(key="adapt_ended_open").click().run()
    assert at.query_params["job"] == str(job) and "version" not in at.query_params
    stored.change_job(wb, job, state="failed", error="the disk is full")
    assert "The last retrain failed" in texts(open_adapt({"version": "starter-2", "job": str(job)}))


@pytest.mark.parametrize("later", ["the next", "the one before, run again"])
def test_a_retrain_that_failed_is_not_told_of_on_top_once_another_was_done(wb, clock, later):
    one = put_retrain(wb, "done" if later != "the next" else "failed")
    two = put_retrain(wb, "failed" if later != "the next" else "done")
    stored.change_job(wb, one if later != "the next" else two, finished=clock.now + timedelta(hours=8))
    at = open_adapt()
    assert "The last retrain" not in texts(at)
    assert {f"adapt_jobs_open_{one}", f"adapt_jobs_open_{two}"} <= {b.key for b in at.button}


def test_jobs_of_other_kinds_are_listed_and_run_again_in_place(wb):
    job = put_job(wb, "score", "failed", corpus_id=THINGS, error="it cost $5")
    other = put_job(wb, "score", corpus_id=WORKS)
    decision = put_job(wb, "decide", "done", corpus_id=THINGS, settings={"a": "bm25", "b": "wo_rr"})
    at = open_adapt()
    assert "**Ranking for a decision: bm25 or wo_rr**, job" in texts(at)
    [link] = [x.proto for x in at.get("page_link") if x.proto.label == "Open"]
    assert f"queue=decide&job={decision}" in link.query_string
    assert f"**Ranking for Label**, job {job}, 1 May 2024, 12:01 UTC: failed: it cost $5" in texts(at)
    assert f"job {other}," not in texts(at)
    at = at.button(key=f"adapt_jobs_again_{job}").click().run()
    assert stored.jobs(wb)[0].state == "queued"
    assert "job" not in at.query_params
