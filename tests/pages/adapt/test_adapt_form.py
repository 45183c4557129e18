"""The form of a retrain: what blocks it, what it warns of, its settings."""

import json
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
import stored
from adapt_pages import label, open_adapt, read_settings
from app_pages import find_place, texts
from stored import OTHERS, SECOND, THINGS, THIRD, TOWERS, change_version, put_job

from app.adapt import readiness
from app.adapt.label_selection import LabelSelection
from app.adapt.readiness import Readiness
from app.adapt.settings import MAX_EPOCHS, MAX_LEARNING_RATE
from app.exchange.prepared import count_prepared
from app.exchange.starter import ensure_handbook
from app.jobs import queue
from app.ui.adapt import page as adapt_page
from app.ui.adapt import prepared
from app.ui.adapt.readiness import describe_training_questions, render_balance
from app.versions import promotion
from app.versions.management import MAX_NOTE_CHARS
from as2core.data import jsonl
from as2core.types import Candidate, Question


def test_too_few_labels_are_said_and_block_the_start(wb):
    label(wb, 1, 1, "correct")
    at = open_adapt({"corpus": "Towers"})
    assert ["No sentence is labelled incorrect" in i.value for i in at.info] == [True]
    start = at.button(key="adapt_start")
    assert start.disabled and not at.error  # labels are missing, nothing is wrong
    assert "No sentence is labelled incorrect" in start.help


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


def test_where_nothing_is_labelled_links_lead_to_proposed_questions_and_to_the_import(wb, handbook):
    links = [link.proto for link in open_adapt({"corpus": "handbook"}).get("page_link")]
    views = {link.label: dict(parse_qsl(link.query_string)).get("view") for link in links}
    assert (views["Propose questions"], views["Import labels"]) == ("proposals", "labels")


def test_prepared_labels_stand_above_what_is_missing_until_all_are_accepted(wb, handbook):
    at = open_adapt({"corpus": "handbook"})
    assert not at.error
    assert find_place(at, "Prepared labels") < find_place(at, "as2-ready") < find_place(at, "Nothing is labelled yet")
    choices = [b.key for b in at.button if b.key and b.key.startswith("adapt_accept_")]
    assert choices == ["adapt_accept_20__25", "adapt_accept_25__25"]
    at = at.button(key="adapt_accept_20__25").click().run()
    assert "Nothing is labelled yet" not in texts(at) and at.button(key="adapt_accept_5__5").label
    at = at.button(key="adapt_accept_5__5").click().run()
    assert "Prepared labels" not in texts(at)


def test_the_second_click_of_two_on_a_number_of_prepared_labels_accepts_no_more(wb, handbook):
    frame = SimpleNamespace(wb=wb, corpus=handbook, annotator=SimpleNamespace(id=None))
    for _ in range(2):
        prepared._accept(frame, 10, 25)
    assert count_prepared(wb, handbook.id).remaining == 15


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
    assert "Accept some of the prepared labels, or label correct sentences of other questions" in message
    assert "new corpus" not in message


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


def test_what_to_be_wary_of_stands_in_one_box(wb, monkeypatch):
    view = replace(readiness.check_readiness(wb, THINGS), warnings=("Few, 2 * 3.", "Old."))
    monkeypatch.setattr(adapt_page, "_check_readiness", lambda *_: view)
    assert [w.value for w in open_adapt().warning] == ["- Few, 2 \\* 3.\n- Old."]


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


def test_people_chosen_for_one_corpus_narrow_no_other(wb):
    at = open_adapt()
    at = at.multiselect(key=f"adapt_annotators_{THINGS}").select("bob").run()
    at = at.selectbox(key="as2_corpus").set_value("others").run()
    at.button(key="adapt_start").click().run()
    assert read_settings(wb)["choice"]["annotators"] == []
    assert stored.jobs(wb)[-1].corpus_id == OTHERS


def test_without_any_label_the_page_says_the_ways_to_some(wb):
    assert "let questions be proposed from your documents" in texts(open_adapt({"corpus": "Towers"}))
