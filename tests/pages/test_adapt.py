"""The adapt page: what blocks, what runs, the card, and the decisions."""

import json
import statistics
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from types import SimpleNamespace

import pytest
import stored
from app_pages import find_place, find_popover, markup, open_page, texts
from stored import OTHERS, SECOND, THINGS, THIRD, TOWERS, WORKS, change_version, put_job, put_version

from app.adapt import readiness, schedule
from app.adapt.label_selection import LabelSelection
from app.adapt.readiness import Readiness
from app.adapt.report import BeforeAfter, LabelCounts, QuestionChange, RetrainReport, TopSentence
from app.adapt.settings import COPIES, MAX_EPOCHS, MAX_LEARNING_RATE, RetrainSettings
from app.exchange.starter import ensure_handbook
from app.jobs import queue, retrain_rule
from app.jobs.attempt import run_queued
from app.labels import annotation, rules
from app.ui import job as adapt_job
from app.ui import wording
from app.ui.adapt import example
from app.ui.adapt import page as adapt_page
from app.ui.adapt import versions as adapt_versions
from app.ui.adapt.card.figures import render_benchmarks
from app.ui.adapt.card.outcome import describe_power, describe_turns
from app.ui.adapt.card.training import describe_training
from app.ui.adapt.readiness import describe_training_questions, render_balance
from app.versions import promotion, registry
from app.versions.management import MAX_NOTE_CHARS
from app.versions.registry import VersionView
from app.workbench import people
from app.workbench.workbench import DatabaseOutage
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.metrics import PairedTest
from as2core.types import Candidate, Question
from db.repositories import jobs as job_rows

PAIRED_WORSE = {"difference": -0.04, "low": -0.07, "high": -0.01, "p": 0.01, "wins": 2, "losses": 14, "ties": 19}
NOTHING_LEFT = (
    "cascade ranks the correct sentences of these 9 questions first already, so they cannot show a gain. Keep it, and "
    "label questions that it gets wrong."
)
WORSE = {"AP": 0.662, "before AP": 0.702, "paired": PAIRED_WORSE}


@pytest.fixture
def template(labelled):
    return labelled


def open_adapt(query=None):
    return open_page("adapt", {"corpus": "things"} | (query or {}))


def open_result(wb, **changes):
    job = put_job(wb, state="done", corpus_id=THINGS, result=stored.retrain_result(**changes))
    return open_adapt({"job": str(job)})


def put_retrain(wb, *arguments, **changes):
    return put_job(wb, "retrain", *arguments, **{"corpus_id": THINGS} | changes)


def read_settings(wb):
    """The settings of the retrain asked for last."""
    return stored.jobs(wb)[-1].settings


def label(wb, question, sentence, kind, name="me"):
    who = people.sign_in(wb, name).id
    annotation.give_label(wb, question_id=question, sentence_id=sentence, annotator_id=who, label=kind)


def test_too_few_labels_are_said_and_block_the_start(wb):
    label(wb, 1, 1, "correct")
    at = open_adapt({"corpus": "Towers"})
    assert ["No sentence is labelled incorrect" in i.value for i in at.info] == [True]
    assert at.button(key="adapt_start").disabled and not at.error  # labels are missing, nothing is wrong


def test_the_form_says_how_long_a_retrain_takes_and_later_what_the_last_one_took(wb, monkeypatch):
    first = "A retrain on up to 200 questions takes one to five minutes on two free cores."
    assert first in texts(open_adapt())
    result = stored.retrain_result()
    result |= {"seconds": 99.0, "labels": result["labels"] | {"questions": 105, "skipped_questions": 5}}
    put_job(wb, state="done", corpus_id=TOWERS, result=result)
    put_job(wb, state="failed", corpus_id=TOWERS)
    monkeypatch.setattr(queue.rows, "list_events", None)  # there may be thousands of a retrain
    at = open_adapt()
    assert "The last retrain took 1 min 39 s, with 100 training questions." in texts(at) and first not in texts(at)


@pytest.fixture
def handbook(wb):
    folder = wb.settings.corpora_dir / "handbook"
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "tea.md").write_text("---\ntitle: Tea\nsplit: train\n---\n\nTea is a drink. It is hot.\n")
    pair = Candidate("tea-0", "Tea is a drink.", 1, "Tea"), Candidate("tea-1", "It is hot.", 0, "Tea")
    jsonl.write([Question(f"tea-q{i}", f"what is tea number {i}", pair) for i in range(25)], folder / "train.jsonl")
    return ensure_handbook(wb)


def test_prepared_labels_stand_above_what_is_missing_until_all_are_accepted(wb, handbook):
    at = open_adapt({"corpus": "handbook"})
    assert not at.error
    assert find_place(at, "Prepared labels") < find_place(at, "as2-ready") < find_place(at, "Nothing is labelled yet")
    choices = [b.key for b in at.button if b.key and b.key.startswith("adapt_accept_")]
    assert choices == ["adapt_accept_20", "adapt_accept_25"]
    at = at.button(key="adapt_accept_20").click().run()
    assert "Nothing is labelled yet" not in texts(at) and at.button(key="adapt_accept_5").label
    at = at.button(key="adapt_accept_5").click().run()
    assert "Prepared labels" not in texts(at)


def test_on_the_handbook_what_is_missing_is_had_from_the_prepared_labels_not_from_another_import(wb):
    folder = wb.settings.corpora_dir / "handbook"
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "tea.md").write_text("---\ntitle: Tea\nsplit: train\n---\n\nTea is a drink. It is hot.\n")
    pair = Candidate("tea-0", "Tea is a drink.", 1, "Tea"), Candidate("tea-1", "It is hot.", 0, "Tea")
    for split in ("train", "test"):
        questions = [Question(f"tea-{split}{i}", f"what is {split} tea number {i}", pair) for i in range(25)]
        jsonl.write(questions, folder / f"{split}.jsonl")
    ensure_handbook(wb)
    [message] = [i.value for i in open_adapt({"corpus": "handbook"}).info]
    assert "No training question is labelled" in message and "25 are held out (the split “test”)" in message
    assert "Accept some of the prepared labels" in message and "new corpus" not in message


def test_beside_the_start_stands_that_the_shipped_model_knows_these_questions(wb):
    lines = [json.dumps({"qid": f"q{i}", "question": text, "candidates": []})
             for i, text in enumerate(stored.questions(wb, THINGS)[::2])]  # fmt: skip
    wb.settings.starter_dir.mkdir(parents=True, exist_ok=True)
    (wb.settings.starter_dir / "train.jsonl").write_text("\n".join(lines) + "\n")
    at = open_adapt()
    assert ["The shipped version has already learnt from" in i.value for i in at.info].count(True) == 1


def test_warnings_do_not_block(wb):
    at = open_adapt()
    assert "held out, too few to judge by. So the result is checked on training questions, too" in texts(at)
    assert not at.info  # the shipped model does not know these questions
    assert not at.button(key="adapt_start").disabled


def test_held_out_questions_that_lack_a_kind_of_label_are_one_press_away(wb, monkeypatch):
    view = replace(readiness.check_readiness(wb, THINGS), incomplete_ids=(5, 7))
    monkeypatch.setattr(adapt_page, "_check_readiness", lambda *_: view)
    links = {p.label: p.query_string for p in (e.proto for e in open_adapt().get("page_link"))}
    assert links["Label the held-out questions"] == "queue=tops&mode=list&only=5.7"


def test_questions_that_teach_a_cascade_nothing_are_not_counted_as_trained_on():
    view = Readiness(6, 9, 5, 4, 0, 6, 0, 4, (), ())
    assert describe_training_questions(view) == "Trains on 6 questions"
    view = replace(view, only_incorrect=1)
    assert describe_training_questions(view) == "Trains on 5 questions (1 with incorrect labels only is left out)"
    view = replace(view, only_correct=2)
    end = "(2 with correct labels only and 1 with incorrect labels only are left out)"
    assert describe_training_questions(view) == f"Trains on 3 questions {end}"
    assert view.useful_questions == 3


def test_the_balance_of_the_labels_names_the_pairs_in_conflict():
    bar = render_balance(Readiness(6, 20, 6, 11, 0, 6, 0, 4, (), ()))
    assert "<b>3</b> disputed (15 %)" in bar and "0 unsure, 3 disputed" in bar
    assert "disputed (" not in render_balance(Readiness(6, 17, 6, 11, 0, 6, 0, 4, (), ()))


def test_the_start_takes_the_defaults_unless_they_are_set(wb):
    at = open_adapt()
    at.text_input(key="adapt_note").input("first try")
    at.number_input(key="adapt_seed").set_value(7)
    at = at.button(key="adapt_start").click().run()
    assert read_settings(wb) == {
        "kind": "cascade",
        "base": "cascade",
        "choice": read_settings(wb)["choice"],
        "replay": 0.25,
        "epochs": None,
        "learning_rate": None,
        "seed": 7,
        "note": "first try",
        "automatic": False,
        "copies": True,
    }
    assert LabelSelection.from_json(read_settings(wb)["choice"]) == LabelSelection()
    job = stored.jobs(wb)[-1].id
    assert at.query_params["job"] == str(job)
    assert f"Retraining: queued (cascade, job {job})" in texts(at)


def test_settings_by_hand_reach_the_service(wb):
    at = open_adapt()
    at.number_input(key="adapt_epochs").set_value(5)
    at.number_input(key="adapt_rate").set_value(4e-5)
    at.selectbox(key="adapt_base").set_value("starter-2")
    at.button(key="adapt_start").click().run()
    assert (read_settings(wb)["base"], read_settings(wb)["epochs"]) == ("starter-2", 5)
    assert read_settings(wb)["learning_rate"] == pytest.approx(4e-5)


def test_the_form_takes_what_the_service_takes(wb):
    at = open_adapt()
    assert at.number_input(key="adapt_epochs").max == MAX_EPOCHS
    assert at.number_input(key="adapt_rate").max == MAX_LEARNING_RATE
    assert at.text_input(key="adapt_note").proto.max_chars == MAX_NOTE_CHARS


def test_what_is_fitted_in_one_go_has_neither_epochs_nor_a_rate(wb):
    at = open_adapt()
    at.number_input(key="adapt_epochs").set_value(5)
    at = at.selectbox(key="adapt_kind").set_value("calibration").run()
    assert at.number_input(key="adapt_epochs").disabled and at.number_input(key="adapt_rate").disabled
    at.button(key="adapt_start").click().run()
    assert (read_settings(wb)["kind"], read_settings(wb)["epochs"]) == ("calibration", None)


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


def find_title(at):
    return next(m.value for m in at.markdown if m.value.startswith("**Retraining"))


def test_a_version_answers_for_all_corpora_which_is_said_before_a_retrain_and_before_the_promotion(wb):
    at = open_adapt()
    assert "until you promote the result, which then answers for all corpora." in texts(at)
    at = at.button(key=f"adapt_use_{SECOND}").click().run()
    assert "will be in use instead of cascade, on every page and for all corpora, at once." in texts(at)


def test_the_preview_is_of_the_version_that_is_started_from(wb):
    stored.change_card(wb, "starter-2", trained_on=stored.questions(wb, THINGS))  # none can be held out for it
    at = open_adapt()
    assert not at.button(key="adapt_start").disabled
    at = at.selectbox(key="adapt_base").set_value("starter-2").run()
    assert "No question can be held out" in texts(at)
    assert "are known to the version to start from, which was trained on them" in texts(at)
    assert at.button(key="adapt_start").disabled


@pytest.mark.parametrize(
    ("chosen", "then"), [(None, "starter-2"), ("starter-2", "starter-2"), ("starter-3", "starter-3")]
)
def test_a_retrain_after_a_promotion_starts_from_what_is_in_use_now_unless_another_was_chosen(wb, chosen, then):
    at = open_adapt()
    if chosen:
        at = at.selectbox(key="adapt_base").set_value(chosen).run()
    promotion.promote(wb, "starter-2")
    at.run().button(key="adapt_start").click().run()
    assert (read_settings(wb)["base"], at.selectbox(key="adapt_base").value) == (then, then)


def test_a_base_in_the_words_it_had_before_a_promotion_is_the_one_in_use(wb):
    at = open_adapt()
    at.session_state["adapt_base"] = "cascade (in use)"  # what a browser sends that kept the option's words
    at.button(key="adapt_start").click().run()
    assert read_settings(wb)["base"] == "cascade"


def test_what_was_brought_in_can_be_edited_and_what_is_shipped_cannot(wb):
    change_version(wb, "starter-2", parent=None)
    edits = {b.key for b in open_adapt().button if b.key.startswith("adapt_edit_")}
    assert edits == {f"adapt_edit_{SECOND}", f"adapt_edit_{THIRD}"}


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
    at = at.button(key="adapt_pause").click().run()
    assert stored.jobs(wb)[0].paused
    assert at.button(key="adapt_pause").label == "Resume"
    assert "Retraining: paused" in texts(at) and f"A retrain of this corpus is under way (job {job})." in texts(at)
    stored.change_job(wb, job, state="queued")
    at = at.run()
    assert "Retraining: paused" in texts(at) and f"A retrain of this corpus is under way (job {job})." in texts(at)
    assert "queued" not in texts(at)
    assert "Press Resume to continue" in next(p.proto.text for p in at.get("progress"))
    assert "Waiting for the worker" not in texts(at)
    at.button(key="adapt_pause").click().run()
    assert not stored.jobs(wb)[0].paused


def test_what_goes_in_is_chosen_and_previewed_before_the_start(wb):
    at = open_adapt()
    before = next(c.value for c in at.caption if c.value.startswith("Training data"))
    at.multiselect(key=f"adapt_annotators_{THINGS}").select("bob")
    at.selectbox(key="adapt_conflicts").set_value("latest")
    at.selectbox(key="adapt_kind").set_value("generative")
    at.number_input(key="adapt_presumed").set_value(3)
    at.slider(key="adapt_replay").set_value(50)
    at = at.button_group(key="adapt_label_kinds").set_value([]).run()
    assert "None selected: both are used." in texts(at)
    at.toggle(key="adapt_slips").set_value(False)
    at = at.run()
    now = next(c.value for c in at.caption if c.value.startswith("Training data"))
    assert now != before and "count as incorrect" in now
    at.button(key="adapt_start").click().run()
    chosen = LabelSelection(annotators=("bob",), conflicts="latest", presumed=3, doubtful=True)
    assert LabelSelection.from_json(read_settings(wb)["choice"]) == chosen
    assert (read_settings(wb)["kind"], read_settings(wb)["replay"]) == ("generative", 0.5)


def test_the_versions_shown_are_those_of_the_kind_that_is_adapted(wb):
    stored.put_version(wb, "ear", kind="generative", parent=None)
    at = open_adapt()
    assert at.button_group(key="adapt_kind_shown").value == "cascade"
    at = at.selectbox(key="adapt_kind").set_value("generative").run()
    assert at.button_group(key="adapt_kind_shown").value == "generative"
    assert "**ear**" in texts(at) and "starter-2" not in texts(at)
    at = at.button_group(key="adapt_kind_shown").set_value("cascade").run()
    assert "starter-2" in texts(at) and at.button_group(key="adapt_kind_shown").value == "cascade"


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


def test_people_chosen_for_one_corpus_narrow_no_other(wb):
    at = open_adapt()
    at = at.multiselect(key=f"adapt_annotators_{THINGS}").select("bob").run()
    at = at.selectbox(key="as2_corpus").set_value("others").run()
    at.button(key="adapt_start").click().run()
    assert read_settings(wb)["choice"]["annotators"] == []
    assert stored.jobs(wb)[-1].corpus_id == OTHERS


def test_without_any_label_the_page_says_the_ways_to_some(wb):
    assert "let questions be proposed from your documents" in texts(open_adapt({"corpus": "Towers"}))


def test_a_retrain_by_itself_is_off_until_it_is_wanted(wb):
    label(wb, 1, 1, "correct")
    at = open_adapt({"corpus": "Towers"})
    assert "1 new label since the last retrain" in texts(at)
    at.number_input(key=f"adapt_auto_after_{TOWERS}").set_value(40)
    at.toggle(key=f"adapt_auto_on_{TOWERS}").set_value(True).run()
    assert retrain_rule.load_rule(wb, TOWERS) == retrain_rule.RetrainRule(after=40, at_night=False)


def test_a_change_of_automatic_retraining_leaves_what_others_set_meanwhile_and_shows_it(wb):
    at = open_adapt({"corpus": "Towers"})
    retrain_rule.set_rule(wb, TOWERS, after=50)
    at = at.toggle(key=f"adapt_auto_night_{TOWERS}").set_value(True).run()
    assert retrain_rule.load_rule(wb, TOWERS) == retrain_rule.RetrainRule(after=50, at_night=True)
    assert at.toggle(key=f"adapt_auto_on_{TOWERS}").value
    assert at.number_input(key=f"adapt_auto_after_{TOWERS}").value == 50
    retrain_rule.set_rule(wb, TOWERS, at_night=False)
    at = at.number_input(key=f"adapt_auto_after_{TOWERS}").set_value(60).run()
    assert retrain_rule.load_rule(wb, TOWERS) == retrain_rule.RetrainRule(after=60, at_night=False)
    retrain_rule.set_rule(wb, TOWERS, after=None)
    at = at.number_input(key=f"adapt_auto_after_{TOWERS}").set_value(70).run()
    assert retrain_rule.load_rule(wb, TOWERS).after is None
    assert not at.toggle(key=f"adapt_auto_on_{TOWERS}").value


def test_a_retrain_by_itself_that_could_not_start_says_why(wb):
    label(wb, 1, 1, "correct")
    retrain_rule.set_rule(wb, TOWERS, after=1)
    schedule.start_due(wb)
    assert "could not start: No sentence is labelled incorrect" in texts(open_adapt({"corpus": "Towers"}))


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


@pytest.mark.parametrize(
    ("difference", "how"), [(0.041, "is better than"), (0.02, "makes no clear difference to"), (-0.04, None)]
)
def test_a_version_that_waits_is_told_in_the_words_of_its_verdict_unless_it_is_worse(wb, difference, how):
    change_version(wb, "starter-3", metrics={"AP": 0.75, "before AP": 0.7})
    result = stored.retrain_result(difference=difference)
    stored.change_card(wb, "starter-3", paired=result["paired"], before=result["before"], metrics=result["after"])
    if how is None:
        assert "It is waiting for your decision" not in texts(open_adapt())
        return
    at = open_adapt()
    assert "It is waiting for your decision" in texts(at)
    assert f"{how} the version in use on 35 questions (AP 0.700 → 0.750)" in texts(at)
    at = at.button(key="adapt_look").click().run()
    assert at.query_params["version"] == "starter-3"


def test_a_viewer_is_not_told_to_decide(wb):
    change_version(wb, "starter-3", metrics={"AP": 0.75, "before AP": 0.7})
    result = stored.retrain_result()
    stored.change_card(wb, "starter-3", paired=result["paired"], before=result["before"], metrics=result["after"])
    stored.set_role(wb, "viewer")
    assert "It is waiting for a decision" in texts(open_adapt())


def test_a_version_is_renamed_noted_and_deleted(wb):
    at = open_adapt().button(key=f"adapt_edit_{THIRD}").click().run()
    at.text_input(key="adapt_new_name").input("spring")
    at.text_input(key="adapt_new_note").input("for the fair")
    at = at.button(key="adapt_edit_save").click().run()
    assert registry.get_version(wb, "spring").note == "for the fair"
    at = at.button(key=f"adapt_edit_{THIRD}").click().run()
    at = at.button(key="adapt_edit_delete").click().run()
    assert registry.get_version(wb, "spring") and "It can't be undone" in texts(at)
    at.button(key="adapt_delete_confirm").click().run()
    assert [v.name for v in registry.list_versions(wb)] == ["starter-2", "cascade"]


def test_a_renamed_version_s_open_card_stays_open_and_its_note_is_kept(wb):
    at = open_adapt({"version": "starter-3"}).button(key=f"adapt_edit_{THIRD}").click().run()
    at.text_input(key="adapt_new_name").input("spring  labels")
    at.text_input(key="adapt_new_note").input("for the fair")
    at = at.button(key="adapt_edit_save").click().run()
    assert registry.get_version(wb, "spring labels").note == "for the fair"
    assert at.query_params["version"] == "spring labels"
    assert not at.error
    assert at.button(key="adapt_promote")


def test_renaming_another_version_leaves_the_open_card(wb):
    at = open_adapt({"version": "starter-3"}).button(key=f"adapt_edit_{SECOND}").click().run()
    at.text_input(key="adapt_new_name").input("spring")
    at = at.button(key="adapt_edit_save").click().run()
    assert at.query_params["version"] == "starter-3"


def test_versions_are_a_tree_with_what_was_made_from_each_below_it(clock):
    made = [
        VersionView(i, name, "cascade", parent, clock.now + timedelta(days=i), "", "candidate", {}, "")
        for i, (name, parent) in enumerate((("root", None), ("a", "root"), ("b", "root"), ("c", "a"), ("lone", "gone")))
    ]
    assert [(v.name, depth) for v, depth in adapt_versions.sort_as_tree(made)] == [
        ("lone", 0),
        ("root", 0),
        ("b", 1),
        ("a", 1),
        ("c", 2),
    ]


def test_a_long_chain_of_versions_leaves_room_for_their_names(wb):
    names = ["cascade", *(f"week-{n}" for n in range(1, 6))]
    for parent, name in pairwise(names):
        put_version(wb, name, parent=parent)
    lines = [m.value for m in open_adapt().markdown if "**week" in m.value]
    assert lines == [f"{'↳ ' * arrows}**week-{n}**" for n, arrows in enumerate((1, 2, 3, 3, 3), 1)]


@pytest.mark.parametrize("first", ["It rained.", "The tower was finished in 1889.", None])
def test_the_card_leads_to_ask_where_the_sentence_that_became_first_is_first_there(wb, monkeypatch, first):
    sentences = ["It rained.", "The tower was finished in 1889."]
    ranked = SimpleNamespace(
        candidates=[SimpleNamespace(text=text) for text in sentences if first],  # or the search finds nothing
        trace=SimpleNamespace(ranking=lambda: [sentences.index(first)] if first else []),
    )
    monkeypatch.setattr(example, "rank_question", lambda *_: ranked)
    example._find_first.clear()
    result = stored.retrain_result() | {"base": "cascade", "kind": "cascade"}
    at = open_adapt({"job": str(put_job(wb, state="done", corpus_id=THINGS, result=result))})
    links = [x for x in at.get("page_link") if x.proto.label.startswith("Ask one of them")]
    example._find_first.clear()
    assert bool(links) == (first == sentences[1]) == ("has its correct sentence first yet" not in texts(at))
    if links:
        assert "base=cascade" in links[0].proto.query_string and "against=starter-3" in links[0].proto.query_string


def test_an_outage_is_not_cached_as_an_example_that_does_not_hold(wb, outage):
    example._find_first.clear()
    outage.set()
    with pytest.raises(DatabaseOutage):
        example._find_first(wb, TOWERS, "When was the tower finished?", "cascade")


def test_the_card_tells_wins_losses_exits_and_what_was_forgotten(wb):
    at = open_result(wb)
    html = markup(at)
    assert "Better on 35 questions" in html and "Before and after, on the same 35 questions" in texts(at)
    assert "held-out questions only" not in texts(at)
    assert "12 questions better, 3 worse, 20 the same" in texts(at)
    assert "0.702<small>0.64 – 0.76</small>" in html
    assert "AP fell from 0.810 to 0.808 (Starter test): nothing of note was forgotten" in texts(at)
    assert "Better · 12 questions" in texts(at).replace("**", "")
    turns = "Of 35 held-out questions, 12 got a correct first sentence where it was incorrect before, and 0 lost one."
    assert turns in texts(at).replace("**", "")
    questions = next(d.value for d in at.dataframe if "first before" in d.value.columns)
    assert list(questions.iloc[0, -2:]) == ["It rained. (incorrect)", "The tower was finished in 1889. (correct)"]
    assert "before, incorrect: It rained." in html and "now, correct: The tower was finished in 1889." in html
    assert "The small grey dot is before" in texts(at) and "Here nothing is dropped" in texts(at)


def test_the_card_has_fixed_baselines_beside_before_and_after_and_what_could_have_been_seen(wb):
    shipped = {"AP": 0.654, "RR": 0.7, "P@1": 0.6, "nDCG@10": 0.7}
    rows = [{"name": "words", "metrics": shipped | {"AP": 0.512}}, {"name": "shipped", "metrics": shipped}]
    result = stored.retrain_result(difference=0.02) | {"baselines": rows}
    job = put_retrain(wb, "done", result=result)
    at = open_adapt({"job": str(job)})
    assert "AP</th><td>0.512</td><td>0.654</td><td>0.702<small>" in markup(at)
    assert "Not reranked: in BM25's order" in texts(at) and "The shipped version has" not in texts(at)
    spread = statistics.stdev([0.25] * 12 + [-0.2] * 3 + [0.0] * 20)
    smallest = 2.8016 * spread / 35**0.5
    assert f"With these 35 held-out questions, a change of {smallest:.3f} AP or more would have been seen" in texts(at)
    assert "would have been seen" not in texts(open_result(wb))  # a clear change needs no power
    result["baselines"] = [{"name": "retrieval", "metrics": shipped}, {"name": "shipped", "metrics": result["before"]}]
    for base, note in (("towers-1", "The shipped version has the same figures as before."),
                       ("cascade", "Before is the shipped version.")):  # fmt: skip
        stored.change_job(wb, job, result={**result, "base": base})
        at = open_adapt({"job": str(job)})
        assert f"Not reranked: the order of retrieval. {note}" in texts(at)
    assert markup(at).count("not reranked</th><th>before</th>") == 1


def test_the_card_says_that_copies_ranked_training_questions_where_few_are_held_out(wb):
    result = stored.retrain_result(difference=0.02)
    result["labels"] = {**result["labels"], "held_out_questions": 5, "cross_fitted_questions": 30}
    at = open_adapt({"job": str(put_retrain(wb, "done", result=result))})
    said = texts(at)
    assert "Only 5 questions held out would say little. Therefore 30 training questions are compared as well" in said
    assert "With these 35 questions, a change of" in said
    assert said.count("On the 5 held-out questions only") == 2  # the exits and the calibration
    assert "Of 35 questions, **12** got a correct first sentence" in markup(at) + said
    assert "5 held out, 30 of the training questions compared, too." in markup(at)


def test_with_few_changed_questions_the_card_says_so_once_and_names_no_change_that_would_have_been_seen(wb):
    at = open_adapt({"job": str(put_retrain(wb, "done", result=stored.retrain_result(wins=0, losses=1, ties=8)))})
    assert texts(at).count("Too few questions changed to tell") == 1 and "1 of 9 questions changed" not in texts(at)
    assert "four times in five" not in texts(at) and "No clear difference on 9 questions" in markup(at)


def test_the_card_counts_unlabelled_sentences_apart_from_labels_unless_an_older_program_wrote_it(wb):
    result = stored.retrain_result()
    choice = LabelSelection().to_json()
    html = markup(open_adapt({"job": str(put_retrain(wb, "done", result=result | {"choice": choice}))}))
    assert "160 correct and 540 incorrect labels" in html
    assert "Up to 10 unlabelled sentences a question counted as incorrect." in html
    result["labels"] = {**result["labels"], "presumed": 500}
    html = markup(open_adapt({"job": str(put_retrain(wb, "done", result=result | {"choice": choice}))}))
    assert "160 correct and 40 incorrect labels, 500 unlabelled sentences counted as incorrect" in html
    assert "a question counted as incorrect" not in html


def test_what_was_forgotten_on_any_frozen_benchmark_is_named(wb):
    others = {"wikiqa-dev": {"before": {"AP": 0.766}, "after": {"AP": 0.701}}}
    result = stored.retrain_result() | {"frozen_others": others}
    job = put_retrain(wb, "done", result=result)
    said = texts(open_adapt({"job": str(job)}))
    assert "AP fell from 0.766 to 0.701 (WikiQA dev): some of it was **forgotten**" in said
    assert "nothing of note was forgotten" not in said
    others["wikiqa-dev"]["after"]["AP"] = 0.77
    stored.change_job(wb, job, result=dict(result))
    said = texts(open_adapt({"job": str(job)}))
    assert "fell from 0.810 to 0.808 (Starter test) and rose from 0.766 to 0.770 (WikiQA dev): nothing of note" in said


def test_labels_that_were_left_out_are_told_and_shown(wb):
    example = {"question": "Who built it?", "text": "Bread is baked.", "correct": True}
    left_out = {"rate": 0.21, "labels": 60, "correct": 50, "to_read": [example]}
    job = put_retrain(wb, "done", result=stored.retrain_result() | {"left_out": left_out})
    at = open_adapt({"job": str(job)})
    assert "21% of the labels are wrong" in texts(at) and "The 1 least likely" in texts(at)
    assert [d.value.to_dict("records") for d in at.dataframe if "Labelled" in d.value] == [
        [{"Question": "Who built it?", "Sentence": "Bread is baked.", "Labelled": "correct"}]
    ]


def test_every_benchmark_is_a_row_of_before_and_after_and_old_results_are_still_read(wb):
    wikiqa = {"before": {"AP": 0.6, "RR": 0.61, "P@1": 0.5, "nDCG@10": 0.7},
              "after": {"AP": 0.65, "RR": 0.66, "P@1": 0.55, "nDCG@10": 0.75}}  # fmt: skip
    old = stored.retrain_result()["frozen"]  # AP alone
    table = render_benchmarks({"starter-test": BeforeAfter(**old), "wikiqa-dev": BeforeAfter(**wikiqa)})
    assert "<th>Starter test</th><td>0.810 → 0.808</td><td></td><td></td><td></td>" in table
    assert "<th>WikiQA dev</th><td>0.600 → 0.650</td><td>0.610 → 0.660</td><td>0.500 → 0.550</td>" in table
    job = put_retrain(wb, "done", result=stored.retrain_result() | {"frozen_others": {}})
    assert "Starter test" in markup(open_adapt({"job": str(job)}))


def test_a_better_version_is_promoted_with_one_click(wb):
    open_result(wb).button(key="adapt_promote").click().run()
    assert registry.get_active(wb).name == "starter-3"
    assert registry.get_active(wb).promotions == ()


@pytest.mark.parametrize("where", ["job", "version"])
def test_the_decision_stands_between_the_verdict_and_the_figures(wb, where):
    result = stored.retrain_result()
    stored.change_card(wb, "starter-3", **(result | {"metrics": result["after"]}))
    at = open_result(wb) if where == "job" else open_adapt({"version": "starter-3"})
    marks = ("Better on 35 questions", "12 questions better", "adapt_promote", "adapt_reject",
             "Before and after, on the same 35 questions", "The same questions, before and after")  # fmt: skip
    places = [find_place(at, mark) for mark in marks]
    assert places == sorted(places)


def test_a_worse_one_needs_a_reason(wb):
    change_version(wb, "starter-3", metrics=WORSE)
    at = open_result(wb, difference=-0.04, wins=2, losses=14, p=0.01)
    assert "Worse on 36 questions" in markup(at)
    assert find_place(at, "adapt_reason") < find_place(at, "Before and after, on the same 36 questions")
    at = at.button(key="adapt_promote").click().run()
    assert "Give a reason" in texts(at) and registry.get_active(wb).name == "cascade"
    at.text_input(key="adapt_reason").input("the held-out ones are of another field")
    at.button(key="adapt_promote").click().run()  # a click alone, without Enter before it
    assert [p.words for p in registry.get_active(wb).promotions] == ["the held-out ones are of another field"]


@pytest.fixture
def scrolls(monkeypatch):
    """What the page brings into sight: (selector, place, block), a call each."""
    calls = []
    monkeypatch.setattr(
        adapt_page, "scroll_to", lambda selector, place, *, block: calls.append((selector, place, block))
    )
    return calls


@pytest.mark.parametrize("where", ["job", "version"])
def test_what_a_promotion_comes_to_is_brought_into_sight_where_it_was_clicked_also_a_refusal(wb, where, scrolls):
    change_version(wb, "starter-3", metrics=WORSE)
    result = stored.retrain_result(difference=-0.04, wins=2, losses=14, p=0.01)
    stored.change_card(wb, "starter-3", **(result | {"metrics": result["after"]}))
    job = put_job(wb, state="done", corpus_id=THINGS, result=result)
    at = open_adapt({"job": str(job)} if where == "job" else {"version": "starter-3"})
    assert not scrolls
    at = at.button(key="adapt_promote").click().run()
    [refusal] = at.error
    assert "Give a reason" in refusal.value
    assert find_place(at, "adapt_reason") < find_place(at, "Give a reason") < find_place(at, "Before and after, on")
    at.text_input(key="adapt_reason").input("of another field")
    at = at.button(key="adapt_promote").click().run()
    assert "starter-3 is in use, for all corpora." in texts(at) and not at.error
    (first, before, block), (second, after, _) = scrolls
    assert first == second == ".st-key-adapt_decision" and before != after and block == "center"
    at = at.button(key=f"adapt_card_{THIRD}").click().run()
    assert scrolls[-1][0] == ".st-key-adapt_card" and scrolls[-1][2] == "start"


def put_gate(wb, at_least):
    wb.settings.gates_dir.mkdir(parents=True, exist_ok=True)
    text = f'data = "labels:things"\n[[require]]\nmeasure = "P@1"\nat_least = {at_least}\n'
    (wb.settings.gates_dir / "release.toml").write_text(text)


def test_a_version_that_misses_a_gate_is_promoted_only_after_a_choice_and_with_a_reason(wb):
    put_gate(wb, 1.0)
    at = open_result(wb)
    assert "Conditions to meet first (gates): release" in texts(at)
    assert not [c for c in at.checkbox if c.key == "adapt_ignore_gates"]
    at = at.button(key="adapt_promote").click().run()
    assert "You can leave this page" in texts(at) and not [b for b in at.button if b.key == "adapt_promote"]
    run_queued(wb, RUNNERS)
    at = at.run()
    assert "starter-3 is not promoted. The gate release on labels:things is missed" in texts(at).replace("\\", "")
    assert registry.get_active(wb).name == "cascade"
    at.checkbox(key="adapt_ignore_gates").check()
    at = at.button(key="adapt_promote").click().run()
    assert "Give a reason" in texts(at) and registry.get_active(wb).name == "cascade"
    at.text_input(key="adapt_reason").input("a demo tomorrow")
    at.button(key="adapt_promote").click().run()
    [promoted] = registry.get_active(wb).promotions
    assert registry.get_active(wb).name == "starter-3" and promoted.words.startswith(
        "a demo tomorrow (The gate release"
    )


def test_the_dialog_too_asks_before_a_gate_is_passed_over(wb):
    put_gate(wb, 1.0)
    at = open_adapt().button(key=f"adapt_use_{THIRD}").click().run()
    at = at.button(key="adapt_use_confirm").click().run()  # the gate is to be measured first: the card shows it
    assert at.query_params["version"] == "starter-3" and "You can leave this page" in texts(at)
    assert "The gates of starter-3 are being measured" in texts(at)
    run_queued(wb, RUNNERS)
    at = open_adapt().button(key=f"adapt_use_{THIRD}").click().run()
    at = at.button(key="adapt_use_confirm").click().run()
    assert "is missed" in texts(at) and registry.get_active(wb).name == "cascade"
    at.checkbox(key="adapt_use_ignore_gates").check()
    at.text_input(key="adapt_use_reason").input("a demo tomorrow")
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-3"


def test_a_click_on_a_version_whose_gates_are_not_measured_promotes_it_when_they_are_passed(wb):
    put_gate(wb, 0.0)
    at = open_adapt({"version": "starter-3"}).button(key="adapt_promote").click().run()
    assert registry.get_active(wb).name == "cascade"
    [progress] = at.get("progress")
    assert progress.proto.text == "Waiting for the worker"
    at.button(key="adapt_promotion_cancel").click().run()
    run_queued(wb, RUNNERS)
    at = open_adapt({"version": "starter-3"})
    assert registry.get_active(wb).name == "cascade"
    at.button(key="adapt_promote").click().run()  # and the page is left
    run_queued(wb, RUNNERS)
    assert registry.get_active(wb).name == "starter-3"
    at = open_adapt({"version": "starter-3"})
    assert "starter-3 is in use, for all corpora." in texts(at).replace("\\", "")


def test_beside_the_version_in_use_is_the_way_back_to_the_one_before(wb):
    assert not [b for b in open_adapt({"version": "cascade"}).button if b.key == "adapt_back"]
    promotion.promote(wb, "starter-2")
    promotion.promote(wb, "starter-3")
    at = open_adapt({"version": "starter-3"})
    back = at.button(key="adapt_back")
    assert back.label == "Roll back to starter-2"
    at = back.click().run()
    assert at.button(key="adapt_use_confirm").label == "Roll back to starter-2"
    assert "**starter-2** will be in use instead of starter-3" in texts(at)
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-2"


@pytest.mark.parametrize(
    ("difference", "headline", "colour"),
    [(0.041, "Better", "green"), (0.02, "No clear difference", "gray"), (-0.02, "No clear difference", "gray"),
     (-0.04, "Worse", "orange")],
)  # fmt: skip
def test_the_card_and_the_list_give_one_verdict_and_the_form_asks_by_it_for_a_reason(wb, difference, headline, colour):
    result = stored.retrain_result(difference=difference)
    metrics = {"AP": result["after"]["AP"], "before AP": result["before"]["AP"], "paired": result["paired"]}
    change_version(wb, "starter-3", metrics=metrics)
    at = open_result(wb, difference=difference)
    assert f"<b>{headline} on 35 questions</b>" in markup(at)
    nothing = "Without a clear difference, keep cascade and label more questions." in texts(at)
    assert nothing == (headline == "No clear difference")
    assert at.button(key="adapt_promote").proto.type == ("primary" if headline == "Better" else "secondary")
    assert "cascade is in use, for all corpora. Promote **starter-3** instead?" in texts(at)
    assert f":{colour}[{headline.lower()}]" in texts(at)
    assert any(t.key == "adapt_reason" for t in at.text_input) == (headline == "Worse")


def test_a_card_of_few_questions_says_how_many_tell(wb):
    for ties, tells in ((2, False), (20, True)):
        result = stored.retrain_result(wins=1, losses=1, ties=ties, difference=0.0)
        change_version(wb, "starter-3", metrics={"AP": 0.7, "before AP": 0.7, "paired": result["paired"]})
        text = texts(open_adapt({"version": "starter-3"}))
        assert ("Fewer than 20 held-out questions seldom tell" in text) != tells
        assert "label more questions." in text


@pytest.mark.parametrize(
    ("before", "after", "wins", "advice"),
    [
        (1.0, 1.0, 0, NOTHING_LEFT),
        (1.0, 0.98, 0, NOTHING_LEFT),
        (0.97, 1.0, 2, "starter-3 ranks the correct sentences of these 9 questions first, but too few of them changed"),
        (0.7, 0.75, 2, "Without a clear difference, keep cascade and label more questions."),
    ],
)
def test_where_nothing_is_left_to_gain_the_card_sends_to_questions_that_are_answered_wrongly(
    wb, before, after, wins, advice
):
    paired = stored.retrain_result(wins=wins, losses=int(after < before), difference=after - before)["paired"]
    paired["ties"] = 9 - paired["wins"] - paired["losses"]
    change_version(wb, "starter-3", metrics={"AP": after, "before AP": before, "paired": paired})
    at = open_adapt({"version": "starter-3"})
    assert advice in texts(at)
    [link] = [x.proto for x in at.get("page_link") if "Label" in x.proto.label and "queue=" in x.proto.query_string]
    is_full = 1.0 in (before, after)
    assert ("queue=disagree" in link.query_string) == is_full and ("Fewer than 20" in texts(at)) != is_full


def make_report(ap, *, first_correct, changes=(0.0,) * 9):
    sides = [TopSentence("It is 1889.", i < first_correct) for i in range(len(changes))]
    rows = tuple(
        QuestionChange(f"q{i}", f"when {i}?", ap - change, ap, side, side)
        for i, (change, side) in enumerate(zip(changes, sides, strict=True))
    )
    mean = statistics.mean(changes)
    wins, losses = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
    paired = PairedTest(mean, mean - 0.1, mean + 0.1, 0.5, wins, losses, len(changes) - wins - losses)
    return RetrainReport("spring", {"AP": ap - mean}, {"AP": ap}, paired, per_question=rows)


@pytest.mark.parametrize(
    ("first_correct", "text"),
    [
        (9, "The first sentence is correct on all 9 held-out questions, before and after alike."),
        (0, "The first sentence is incorrect on all 9 held-out questions, before and after alike."),
        (4, "The first sentence is correct on **4** of 9 held-out questions, before and after alike."),
    ],
)
def test_a_card_on_which_no_first_sentence_turned_says_how_many_are_correct(first_correct, text):
    assert describe_turns(make_report(0.8, first_correct=first_correct)) == text


def test_a_card_of_one_question_and_one_of_an_older_program_name_what_they_know():
    report = make_report(1.0, first_correct=1, changes=(0.0,))
    assert describe_turns(report) == "The first sentence is correct on the 1 held-out question, before and after alike."
    unknown = tuple(replace(q, top_before=None, top_after=None) for q in report.per_question)
    assert describe_turns(replace(report, per_question=unknown)) == ""


def test_a_change_larger_than_what_was_left_to_gain_is_not_asked_for():
    changes = (0.2, -0.2, 0.2, -0.2, 0.2, -0.2, 0.1, 0.0, 0.0)
    report = make_report(0.6, first_correct=0, changes=changes)
    assert describe_power(report).endswith("A smaller one is likely to go unnoticed: label more questions to see it.")
    text = describe_power(make_report(0.95, first_correct=0, changes=changes))
    assert text.endswith(
        "would have been seen four times in five, but only 0.061 was left to gain: label other questions."
    )


def test_nothing_speaks_against_new_probabilities_that_keep_the_order(wb):
    result = stored.retrain_result(difference=0.0)
    change_version(wb, "starter-3", metrics={"AP": 0.7, "before AP": 0.7, "paired": result["paired"]})
    stored.change_card(wb, "starter-3", retrain_kind="calibration")
    at = open_adapt({"version": "starter-3"})
    assert "Without a clear difference" not in texts(at)
    assert at.button(key="adapt_promote").proto.type == "primary"


def test_a_version_that_automatic_retraining_rejected_says_why_and_needs_a_reason(wb):
    frozen = {"before": {"AP": 0.81}, "after": {"AP": 0.76}}
    paired = stored.retrain_result()["paired"]
    metrics = {"AP": 0.743, "before AP": 0.702, "paired": paired, "frozen": frozen}
    change_version(wb, "starter-3", metrics=metrics, state="rejected")
    at = open_adapt({"version": "starter-3"})
    why = "Rejected: AP fell by 5.0 points on the frozen benchmark Starter test."
    assert texts(at).count(why) == 2  # the form and the list
    at.text_input(key="adapt_reason").input("our own field counts")
    at.button(key="adapt_promote").click().run()
    assert registry.get_active(wb).name == "starter-3"


def test_the_words_a_version_was_promoted_with_stand_in_its_row_and_on_its_card(wb):
    change_version(wb, "starter-2", metrics=WORSE)
    for reason in ("a *try*", "it knows our words"):
        promotion.promote(wb, "starter-2", reason)
        promotion.promote(wb, "cascade")
    last = "Put in use on 1 May 2024, 12:00 UTC, although it was worse: “it knows our words”"
    assert texts(open_adapt()).count(last) == 1
    at = open_adapt({"version": "starter-2"})
    assert texts(at).count(last) == 2 and "“a *try*”" in texts(at)


def test_a_version_that_nobody_measured_says_so_beside_its_promotion(wb):
    stored.put_version(wb, "brought", metrics={})
    at = open_adapt({"version": "brought"})
    assert "brought is not measured on this corpus. Promote **brought** instead?" in texts(at)
    assert "not measured on this corpus · " in texts(at)
    [version] = [v.id for v in registry.list_versions(wb) if v.name == "brought"]
    at = at.button(key=f"adapt_use_{version}").click().run()
    assert "brought is not measured on this corpus: **Compare** measures it." in texts(at)


def test_a_version_is_compared_with_what_it_was_made_from(wb):
    change_version(wb, "starter-3", parent="gone")
    promotion.promote(wb, "starter-2")
    links = {link.proto.query_string for link in open_adapt().get("page_link") if link.proto.query_string}
    assert links == {"rankers=starter-2%2Ccascade", "rankers=starter-3%2Cstarter-2", "rankers=cascade%2Cstarter-2"}


def test_a_viewer_looks_and_changes_no_version(wb):
    stored.set_role(wb, "viewer")
    at = open_adapt({"version": "starter-3"})
    changing = ("adapt_promote", "adapt_reject", "adapt_use_", "adapt_edit_", "adapt_import_start")
    buttons = [b for b in at.button if b.key.startswith(changing)]
    assert len(buttons) == 7 and all(b.disabled and "not change versions" in b.help for b in buttons)
    assert at.file_uploader(key="adapt_import_file_0").disabled
    start = at.button(key="adapt_start")
    assert start.disabled and "not retrain" in start.help
    assert all(t.disabled for t in at.toggle if t.key.startswith("adapt_auto_"))


def test_a_version_can_be_rejected(wb):
    at = open_result(wb).button(key="adapt_reject").click().run()
    assert registry.get_version(wb, "starter-3").state == "rejected"
    assert any("rejected" in t.value for t in at.toast) and "It was rejected." in texts(at)


def test_going_back_to_a_version_that_was_better_needs_no_reason(wb):
    change_version(wb, "starter-3", metrics=WORSE, parent="starter-2")
    promotion.promote(wb, "starter-2")
    promotion.promote(wb, "starter-3", "a try")
    at = open_adapt().button(key=f"adapt_use_{SECOND}").click().run()
    assert at.text_input(key="adapt_use_reason").label == "Reason (optional)"
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-2"


def test_a_version_that_is_not_there_is_told_with_what_to_do(wb):
    at = open_adapt({"version": "starter-*9*"})
    [message] = [w.value.replace("\\", "") for w in at.warning if "starter" in w.value]
    assert message.startswith("There is no version called “starter-*9*” here: it was renamed or deleted")
    assert "under **Versions** below" in message and not at.error
    at = at.button(key="adapt_away").click().run()
    assert "version" not in at.query_params and "There is no version" not in texts(at)


def test_one_rolls_back_to_an_older_version_and_uses_a_newer_one(wb):
    promotion.promote(wb, "starter-3")
    promotion.promote(wb, "starter-2")
    at = open_adapt()
    [shipped] = [v.id for v in registry.list_versions(wb) if v.name == "cascade"]
    labels = {version: at.button(key=f"adapt_use_{version}").label for version in (shipped, THIRD)}
    assert labels == {shipped: "Roll back to cascade", THIRD: "Promote"}  # both were in use before


def test_the_use_of_a_worse_version_asks_why_in_a_dialog(wb):
    change_version(wb, "starter-2", metrics=WORSE)
    at = open_adapt()
    at = at.button(key=f"adapt_use_{SECOND}").click().run()
    assert "**starter-2** will be in use instead of cascade" in texts(at)
    assert "worse on 35 questions (AP 0.702 → 0.662)" in texts(at)
    at = at.button(key="adapt_use_confirm").click().run()
    assert "Give a reason" in texts(at) and registry.get_active(wb).name == "cascade"
    at.text_input(key="adapt_use_reason").input("the newer one is slower")
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-2"
    assert [p.words for p in registry.get_active(wb).promotions] == ["the newer one is slower"]


def test_a_kind_that_no_page_answers_by_says_what_its_use_is(wb):
    stored.put_version(wb, "small", kind="cosinet", parent=None)
    promotion.promote(wb, "small")
    said = texts(open_adapt({"version": "small"}))
    assert "small is in use. The next retrain of its kind starts from it" in said


def test_a_label_that_waits_for_one_s_own_is_not_on_the_card(wb, me):
    rules.set_rules(wb, TOWERS, by=me.id, overlap=2)
    label(wb, 1, 4, "correct", name="ann")
    stored.set_role(wb, "annotator")
    top = {"text": stored.sentence(wb, 4), "correct": False}
    question = stored.QUESTIONS[0]
    changed = {"qid": "q1", "question": question, "before": 0.3, "after": 0.5, "top_before": top,
               "top_after": {"text": "It rained.", "correct": False}}  # fmt: skip
    job = put_retrain(wb, "done", result=stored.retrain_result() | {"per_question": [changed]})
    html = markup(open_adapt({"job": str(job)}))
    assert f"before, shown once you have labelled it: {top['text']}" in html
    assert "before, incorrect" not in html and "now, incorrect: It rained." in html


def test_a_version_s_card_is_shown_by_its_address(wb):
    at = open_adapt().button(key=f"adapt_card_{SECOND}").click().run()
    assert at.query_params["version"] == "starter-2"
    assert "it was not retrained here" in texts(at)
    at = at.button(key="adapt_away").click().run()
    assert "version" not in at.query_params


PAIRED = PairedTest(0.04, 0.01, 0.07, 0.03, 12, 3, 20)


def test_the_paired_test_is_described_without_its_vocabulary():
    assert wording.describe_test(PAIRED) == (
        "12 questions better, 3 worse, 20 the same. AP changed by +0.040 (95 %: +0.010 to +0.070). "
        "This is more than chance (p\u00a0=\u00a00.03)."
    )


@pytest.mark.parametrize(
    ("best", "line"), [(0.0, "end at step 16"), (0.75, "end at step 16; best validation AP 0.750")]
)
def test_a_training_without_validation_questions_has_no_best_map(best, line):
    assert wording.format_event({"kind": "end", "step": 16, "best_dev_ap": best}) == line


def test_five_changed_questions_are_too_few_whatever_p_is():
    assert "Too few questions changed to tell" in wording.describe_test(replace(PAIRED, wins=5, losses=0))


def test_a_difference_that_could_be_chance_is_described_as_such():
    assert "This could be chance" in wording.describe_test(replace(PAIRED, low=-0.01))


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59, "59 s"), (60, "1 min"), (130, "2 min 10 s"), (3900, "1 h 5 min")]
)
def test_seconds_read_as_people_say_them(seconds, words):
    assert wording.describe_seconds(seconds) == words


def test_steps_repeated_after_a_restart_are_drawn_once_with_the_later_word():
    events = [
        {"kind": "step", "step": 1, "loss": 0.9},
        {"kind": "step", "step": 2, "loss": 0.8},
        {"kind": "lost", "attempt": 1},
        {"kind": "step", "step": 2, "loss": 0.7},
        {"kind": "step", "step": 3, "loss": 0.6},
    ]
    assert [(e["step"], e["loss"]) for e in adapt_job.keep_latest_by_step(events)] == [(1, 0.9), (2, 0.7), (3, 0.6)]


def facts(**fields):
    return describe_training(RetrainReport("spring", {}, {}, PAIRED, **fields))


def test_what_a_version_was_made_from_is_one_sentence():
    labels = LabelCounts(questions=12, correct=13, incorrect=36, dev_questions=2, held_out_questions=4)
    assert facts(labels=labels, snapshot="340a832e9fc9aa") == (
        "Trained on 12 questions (13 correct and 36 incorrect labels), 2 validation questions, 4 held out. "
        "Snapshot of the labels: 340a832e9fc9"
    )
    assert facts() == ""
    assert facts(labels=LabelCounts(questions=12, skipped_questions=3, origins={"asked": 12})) == (
        "Trained on 9 questions (12 typed; 3 of the 12 are left out, with labels of one kind only)."
    )


def test_the_facts_name_where_the_questions_came_from_and_who_labelled_them():
    origins = {"asked": 7, "proposed": 3, "imported": 2}
    labels = LabelCounts(questions=12, correct=13, incorrect=36, givers={"ann": 40, "bob": 9}, origins=origins)
    assert facts(labels=labels) == (
        "Trained on 12 questions (7 typed, 3 proposed, 2 imported; 13 correct and 36 incorrect labels). "
        "Labels by ann (40), bob (9)."
    )
