"""The adapt page with services in memory: what blocks, what runs, the card, and the decisions."""

from dataclasses import replace

import fake_work
import pytest

from app.components import adapt_card, adapt_job, adapt_versions, adapt_words
from app.services.choosing import Choice


def told(at):
    return fake_work.texts(at).replace("\\", "")


def done(work, **changes):
    work.jobs[1] = fake_work.a_job(1, state="done", result=fake_work.retrain_result(**changes))
    return fake_work.page("adapt", {"job": "1"})


def test_too_few_labels_are_said_and_block_the_start(work):
    work.ready = replace(
        work.ready, labels=4, correct=4, incorrect=0, problems=("only one class: label incorrect ones",)
    )
    at = fake_work.page("adapt")
    assert "only one class: label incorrect ones" in told(at)
    assert at.button(key="adapt_start").disabled


def test_warnings_do_not_block(work):
    work.ready = replace(work.ready, warnings=("only 12 held-out questions: the test will see large changes only",))
    at = fake_work.page("adapt")
    assert "only 12 held-out questions" in told(at)
    assert not at.button(key="adapt_start").disabled


def test_the_start_takes_the_defaults_unless_they_are_set(work):
    at = fake_work.page("adapt")
    at.text_input(key="adapt_note").input("first try")
    at.number_input(key="adapt_seed").set_value(7)
    at = at.button(key="adapt_start").click().run()
    [asked] = work.started
    assert asked.pop("choice") == Choice()
    assert asked == {
        "kind": "cascade",
        "base": "cascade",
        "replay": 0.25,
        "epochs": None,
        "learning_rate": None,
        "seed": 7,
        "note": "first try",
    }
    assert at.query_params["job"] == "10"
    assert "Retraining: queued (cascade, job 10)" in told(at)


def test_settings_by_hand_reach_the_service(work):
    at = fake_work.page("adapt")
    at.number_input(key="adapt_epochs").set_value(5)
    at.number_input(key="adapt_rate").set_value(4e-5)
    at.selectbox(key="adapt_base").set_value("starter-2")
    at.button(key="adapt_start").click().run()
    assert (work.started[0]["base"], work.started[0]["epochs"]) == ("starter-2", 5)
    assert work.started[0]["learning_rate"] == pytest.approx(4e-5)


def test_what_is_fitted_in_one_go_has_neither_epochs_nor_a_rate(work):
    at = fake_work.page("adapt")
    at.number_input(key="adapt_epochs").set_value(5)
    at = at.selectbox(key="adapt_kind").set_value("calibration").run()
    assert at.number_input(key="adapt_epochs").disabled and at.number_input(key="adapt_rate").disabled
    at.button(key="adapt_start").click().run()
    assert (work.started[0]["kind"], work.started[0]["epochs"]) == ("calibration", None)


def test_a_running_job_shows_where_it_is_and_can_be_cancelled(work):
    events = fake_work.training_events(50)
    work.jobs[1] = fake_work.a_job(1, events=events, message="Training, step 50 of 200")
    at = fake_work.page("adapt")  # not in the address: it is found
    assert at.query_params["job"] == "1"
    assert "step 25: dev MAP" in fake_work.markup(at)
    assert at.button(key="adapt_start").disabled
    at.button(key="adapt_cancel").click().run()
    assert work.jobs[1].cancelling


def test_a_paused_retrain_is_found_behind_many_of_another_corpus(work):
    work.jobs[1] = fake_work.a_job(1, state="queued", paused=True)
    work.jobs |= {i: fake_work.a_job(i, state="done", corpus_id=2) for i in range(20, 40)}
    at = fake_work.page("adapt")
    assert at.query_params["job"] == "1"
    assert at.button(key="adapt_start").disabled


@pytest.mark.parametrize("how", [{}, {"state": "done"}, {"state": "queued", "paused": True}])
def test_a_job_that_waits_for_nobody_asks_for_no_other(how):
    assert adapt_words.waits_for(None, fake_work.a_job(**how)) == ""


def test_a_retrain_of_another_corpus_is_waited_for_and_not_in_the_way(work):
    work.jobs[1] = fake_work.a_job(1, corpus_id=2)
    at = fake_work.page("adapt")
    assert "Job 1 retrains from another corpus: this one will wait" in told(at)
    at = at.button(key="adapt_start").click().run()
    assert at.query_params["job"] == "10"
    assert "Job 1 (retrain) has the worker; this one waits till it ends or makes room." in told(at)
    assert at.button(key="adapt_start").disabled


def test_the_preview_is_of_the_version_that_is_started_from(work):
    at = fake_work.page("adapt")
    assert work.previewed[-1][1]["base"] == "cascade"
    at.selectbox(key="adapt_base").set_value("starter-2").run()
    assert work.previewed[-1][1]["base"] == "starter-2"


@pytest.mark.parametrize(
    ("chosen", "then"), [(None, "starter-2"), ("starter-2", "starter-2"), ("starter-3", "starter-3")]
)
def test_a_retrain_after_a_promotion_starts_from_what_is_in_use_now_unless_another_was_chosen(work, chosen, then):
    work.versions["starter-3"] = replace(work.versions["starter-2"], id=3, name="starter-3")
    at = fake_work.page("adapt")
    if chosen:
        at = at.selectbox(key="adapt_base").set_value(chosen).run()
    work.active = "starter-2"
    at.run().button(key="adapt_start").click().run()
    assert (work.started[0]["base"], at.selectbox(key="adapt_base").value) == (then, then)


def test_a_base_in_the_words_it_had_before_a_promotion_is_the_one_in_use(work):
    at = fake_work.page("adapt")
    at.session_state["adapt_base"] = "cascade (in use)"  # what a browser sends that kept the option's words
    at.button(key="adapt_start").click().run()
    assert work.started[0]["base"] == "cascade"


def test_what_was_brought_in_can_be_edited_and_what_is_shipped_cannot(work):
    work.versions["starter-2"] = replace(work.versions["starter-2"], parent=None)
    at = fake_work.page("adapt")
    assert {b.key for b in at.button if b.key.startswith("adapt_edit_")} == {"adapt_edit_1", "adapt_edit_2"}


@pytest.mark.parametrize(
    ("state", "error", "sentence"),
    [
        ("failed", "the disk is full: free some space", "It failed, and no version was made."),
        ("cancelled", "", "You stopped it. No version was made"),
        ("lost", "no sign of life", "Its worker went away in the middle, and no version was made."),
    ],
)
def test_a_job_that_came_to_nothing_says_so_and_can_be_run_again(work, state, error, sentence):
    work.jobs[1] = fake_work.a_job(1, state=state, error=error)
    at = fake_work.page("adapt", {"job": "1"})
    assert sentence in told(at)
    assert error in told(at)
    at = at.button(key="adapt_again").click().run()
    assert work.jobs[10].state == "queued"
    assert at.query_params["job"] == "10"


def test_a_running_job_is_paused_and_goes_on(work):
    work.jobs[1] = fake_work.a_job(1)
    at = fake_work.page("adapt", {"job": "1"})
    at = at.button(key="adapt_pause").click().run()
    assert work.jobs[1].paused
    assert at.button(key="adapt_pause").label == "Go on"
    work.jobs[1] = replace(work.jobs[1], state="queued")
    at = at.run()
    assert "it waits for you to let it go on" in next(p.proto.text for p in at.get("progress"))
    assert "Waiting for the worker" not in told(at)
    at.button(key="adapt_pause").click().run()
    assert not work.jobs[1].paused


def test_what_goes_in_is_chosen_and_previewed_before_the_start(work):
    work.ready = replace(work.ready, by_annotator={"ann": 30, "bob": 12}, presumed=9, train_correct=60)
    at = fake_work.page("adapt")
    at.multiselect(key="adapt_annotators_1").select("bob")
    at.selectbox(key="adapt_conflicts").set_value("latest")
    at.selectbox(key="adapt_kind").set_value("calibration")
    at.number_input(key="adapt_presumed").set_value(3)
    at.slider(key="adapt_replay").set_value(50)
    assert not work.previewed[-1][0].doubtful
    at = at.button_group(key="adapt_label_kinds").set_value([]).run()
    assert "None chosen: both go in." in told(at)
    at.toggle(key="adapt_slips").set_value(False)
    at = at.run()
    chosen, of = work.previewed[-1]
    assert (chosen.annotators, chosen.conflicts, chosen.presumed, chosen.doubtful) == (("bob",), "latest", 3, True)
    assert of == {"kind": "calibration", "base": "cascade", "replay": 0.5}
    assert "60 correct" in told(at) and "9 of them presumed" in told(at)
    at.button(key="adapt_start").click().run()
    assert (work.started[0]["choice"], work.started[0]["kind"], work.started[0]["replay"]) == (
        chosen,
        "calibration",
        0.5,
    )


def test_the_versions_shown_are_those_of_the_kind_that_is_adapted(work):
    work.versions["ear"] = replace(work.versions["starter-3"], id=40, name="ear", kind="generative", parent=None)
    at = fake_work.page("adapt")
    assert at.button_group(key="adapt_kind_shown").value == "cascade"
    at = at.selectbox(key="adapt_kind").set_value("generative").run()
    assert at.button_group(key="adapt_kind_shown").value == "generative"
    at = at.button_group(key="adapt_kind_shown").set_value("cascade").run()
    assert "starter-2" in told(at) and at.button_group(key="adapt_kind_shown").value == "cascade"


@pytest.mark.parametrize("name", ["lm", "cosinet"])
def test_a_retrain_of_a_ranker_without_exits_is_shown_as_it_goes(work, name):
    """Its dev AP comes under a name, not under a layer; what stands below the panel is drawn, too."""
    events = tuple({**e, "dev_ap": {name: 0.5}} if "dev_ap" in e else e for e in fake_work.training_events(50))
    work.jobs[1] = fake_work.a_job(1, events=events, settings={"kind": "generative"})
    at = fake_work.page("adapt")
    assert not at.exception and not at.error
    assert "Retraining (generative, job 1)" in told(at)
    assert "step 25: dev MAP 0.500" in fake_work.markup(at) and "last exit" not in fake_work.markup(at)
    assert [x.value for x in at.subheader][-1] == "Versions"


def test_people_chosen_for_one_corpus_narrow_no_other(work):
    work.ready = replace(work.ready, by_annotator={"ann": 30, "bob": 12})
    at = fake_work.page("adapt")
    at = at.multiselect(key="adapt_annotators_1").select("bob").run()
    assert work.previewed[-1][0].annotators == ("bob",)
    work.ready = replace(work.ready, by_annotator={"cy": 9})
    at = at.selectbox(key="as2_corpus").set_value("Towers").run()
    assert work.previewed[-1][0].annotators == ()
    at.button(key="adapt_start").click().run()
    assert work.started[0]["choice"].annotators == ()


def test_without_any_label_the_page_says_the_ways_to_some(work):
    work.ready = replace(work.ready, labels=0, correct=0, incorrect=0, unsure=0, problems=("Nothing is labelled yet",))
    at = fake_work.page("adapt")
    assert "let questions be proposed from your documents" in told(at)


def test_a_retrain_by_itself_is_off_until_it_is_wanted(work):
    at = fake_work.page("adapt")
    assert "7 new labels since the last retrain" in told(at)
    at.number_input(key="adapt_auto_after_1").set_value(40)
    at = at.toggle(key="adapt_auto_on_1").set_value(True).run()
    assert (work.automatic.after, work.automatic.at_night) == (40, False)


def test_a_retrain_by_itself_that_could_not_start_says_why(work):
    work.automatic = fake_work.a_rule(after=40, refused="1 question has both labels, 4 are needed")
    assert "could not start: 1 question has both labels" in told(fake_work.page("adapt"))


@pytest.mark.parametrize(("state", "what"), [("failed", "failed"), ("lost", "was lost: its worker went away")])
def test_a_retrain_that_came_to_nothing_is_found_by_the_menu_too(work, state, what):
    work.jobs[3] = fake_work.a_job(3, state=state, error="the disk is full")
    at = fake_work.page("adapt")
    assert f"The last retrain {what} (04 May 2024, 12:31)" in told(at)
    assert ": the disk is full" in told(at)  # in the list
    at = at.button(key="adapt_lost_open").click().run()
    assert at.query_params["job"] == "3"
    assert "The last retrain" not in told(at)
    assert at.button(key="adapt_again")


@pytest.mark.parametrize("later", [{"id": 4}, {"id": 2, "finished": fake_work.NOW.replace(hour=20)}])
def test_a_retrain_that_failed_is_not_told_of_on_top_once_another_was_done(work, later):
    work.jobs = {j.id: j for j in sorted(
        [fake_work.a_job(3, state="failed"), fake_work.a_job(state="done", **later)], key=lambda j: j.id)}  # fmt: skip
    at = fake_work.page("adapt")
    assert "The last retrain" not in told(at)
    assert {"adapt_jobs_open_3", f"adapt_jobs_open_{later['id']}"} <= {b.key for b in at.button}


def test_jobs_of_other_kinds_are_listed_and_run_again_in_place(work):
    work.jobs[1] = fake_work.a_job(1, kind="score", state="failed", error="it cost $5")
    work.jobs[2] = fake_work.a_job(2, kind="score", corpus_id=2)
    at = fake_work.page("adapt")
    assert "**Ranking for the queues**, job 1, 04 May 2024, 12:31: failed: it cost $5" in told(at)
    assert "job 2," not in told(at)
    at = at.button(key="adapt_jobs_again_1").click().run()
    assert work.jobs[10].state == "queued"
    assert "job" not in at.query_params


@pytest.mark.parametrize(("p", "how"), [(0.01, "did better than"), (0.4, "scored higher, but not clearly so, than")])
def test_a_better_version_that_waits_is_told(work, p, how):
    work.versions["starter-3"] = replace(work.versions["starter-3"], metrics={"AP": 0.75, "before AP": 0.7})
    work.cards["starter-3"] = {"paired": fake_work.retrain_result(p=p)["paired"]}
    work.waiting = "starter-3"
    at = fake_work.page("adapt")
    assert how in told(at) and "AP 0.700 → 0.750" in told(at)
    at = at.button(key="adapt_look").click().run()
    assert at.query_params["version"] == "starter-3"


def test_a_version_is_renamed_noted_and_deleted(work):
    at = fake_work.page("adapt").button(key="adapt_edit_2").click().run()
    at.text_input(key="adapt_new_name").input("spring")
    at.text_input(key="adapt_new_note").input("for the fair")
    at = at.button(key="adapt_edit_save").click().run()
    assert work.versions["spring"].note == "for the fair"
    at = at.button(key="adapt_edit_2").click().run()
    at = at.button(key="adapt_edit_delete").click().run()
    assert "spring" in work.versions and "It can't be undone" in told(at)
    at.button(key="adapt_delete_confirm").click().run()
    assert "spring" not in work.versions


def test_a_renamed_version_s_open_card_stays_open_and_its_note_is_kept(work):
    at = fake_work.page("adapt", {"version": "starter-3"}).button(key="adapt_edit_2").click().run()
    at.text_input(key="adapt_new_name").input("spring  labels")
    at.text_input(key="adapt_new_note").input("for the fair")
    at = at.button(key="adapt_edit_save").click().run()
    assert work.versions["spring labels"].note == "for the fair"
    assert at.query_params["version"] == "spring labels"
    assert not at.error
    assert at.button(key="adapt_promote")


def test_renaming_another_version_leaves_the_open_card(work):
    at = fake_work.page("adapt", {"version": "starter-3"}).button(key="adapt_edit_1").click().run()
    at.text_input(key="adapt_new_name").input("spring")
    at = at.button(key="adapt_edit_save").click().run()
    assert at.query_params["version"] == "starter-3"


def test_versions_are_a_tree_with_what_was_made_from_each_below_it():
    now = fake_work.NOW
    made = [
        fake_work.views.VersionView(i, name, "cascade", parent, now.replace(day=i + 1), "", "candidate", {}, "")
        for i, (name, parent) in enumerate((("root", None), ("a", "root"), ("b", "root"), ("c", "a"), ("lone", "gone")))
    ]
    assert [(v.name, depth) for v, depth in adapt_versions.tree(made)] == [
        ("lone", 0),
        ("root", 0),
        ("b", 1),
        ("a", 1),
        ("c", 2),
    ]


def test_the_card_tells_wins_losses_exits_and_what_was_forgotten(work):
    at = done(work)
    html = fake_work.markup(at)
    assert "Better on the held-out questions" in html
    assert "12 questions better, 3 worse, 20 the same" in told(at)
    assert "0.702<small>0.64 – 0.76</small>" in html
    assert "AP went from 0.810 to 0.808 (Starter, test): nothing of note was forgotten" in told(at)
    assert "Won · 12 questions" in told(at).replace("**", "")
    questions = next(d.value for d in at.dataframe if "first before" in d.value.columns)
    assert list(questions.iloc[0, -2:]) == ["It rained. (incorrect)", "The tower was finished in 1889. (correct)"]
    assert "before, incorrect: It rained." in html and "now, correct: The tower was finished in 1889." in html
    assert "The small grey dot is before" in told(at)


def test_what_was_forgotten_on_any_frozen_benchmark_is_named(work):
    others = {"wikiqa-dev": {"before": {"AP": 0.766}, "after": {"AP": 0.701}}}
    work.jobs[1] = fake_work.a_job(1, state="done", result=fake_work.retrain_result() | {"frozen_others": others})
    said = told(fake_work.page("adapt", {"job": "1"}))
    assert "AP fell from 0.766 to 0.701 (WikiQA, dev): some of it was **forgotten**" in said
    assert "nothing of note was forgotten" not in said
    others["wikiqa-dev"]["after"]["AP"] = 0.77
    said = told(fake_work.page("adapt", {"job": "1"}))
    assert "from 0.810 to 0.808 (Starter, test) and from 0.766 to 0.770 (WikiQA, dev): nothing of note" in said


def test_labels_that_were_left_out_are_told_and_shown(work):
    example = {"question": "Who built it?", "text": "Bread is baked.", "correct": True}
    left_out = {"rate": 0.21, "labels": 60, "correct": 50, "to_read": [example]}
    work.jobs[1] = fake_work.a_job(1, state="done", result=fake_work.retrain_result() | {"left_out": left_out})
    at = fake_work.page("adapt", {"job": "1"})
    assert "21% of the labels were wrong" in told(at) and "The 1 least likely" in told(at)
    assert [d.value.to_dict("records") for d in at.dataframe if "Labelled" in d.value] == [
        [{"Question": "Who built it?", "Sentence": "Bread is baked.", "Labelled": "correct"}]
    ]


def test_every_benchmark_is_a_row_of_before_and_after_and_old_results_are_still_read(work):
    wikiqa = {"before": {"AP": 0.6, "RR": 0.61, "P@1": 0.5, "nDCG@10": 0.7},
              "after": {"AP": 0.65, "RR": 0.66, "P@1": 0.55, "nDCG@10": 0.75}}  # fmt: skip
    old = fake_work.retrain_result()["frozen"]  # AP alone
    table = adapt_card.benchmarks_table({"starter-test": old, "wikiqa-dev": wikiqa})
    assert "<th>Starter, test</th><td>0.810 → 0.808</td><td></td><td></td><td></td>" in table
    assert "<th>WikiQA, dev</th><td>0.600 → 0.650</td><td>0.610 → 0.660</td><td>0.500 → 0.550</td>" in table
    work.jobs[1] = fake_work.a_job(1, state="done", result=fake_work.retrain_result() | {"frozen_others": {}})
    assert "Starter, test" in fake_work.markup(fake_work.page("adapt", {"job": "1"}))


def test_a_better_version_is_promoted_with_one_click(work):
    done(work).button(key="adapt_promote").click().run()
    assert work.promoted == [("starter-3", "")]


def test_a_worse_one_needs_a_reason(work):
    work.versions["starter-3"] = replace(work.versions["starter-3"], metrics={"AP": 0.672, "before AP": 0.702})
    at = done(work, difference=-0.03, wins=2, losses=14, p=0.01)
    assert "Worse on the held-out questions" in fake_work.markup(at)
    at.text_input(key="adapt_reason").input("the held-out ones are of another field")
    at.button(key="adapt_promote").click().run()  # a click alone, without Enter before it
    assert work.promoted == [("starter-3", "the held-out ones are of another field")]


def test_the_words_a_version_was_promoted_with_stand_in_its_row_and_on_its_card(work):
    said = tuple(fake_work.views.Promotion(words, fake_work.NOW) for words in ("a *try*", "it knows our words"))
    worse = {"AP": 0.6, "before AP": 0.7}
    work.versions["starter-2"] = replace(work.versions["starter-2"], metrics=worse, promotions=said)
    last = "Promoted on 4 May 2024, 12:30, although it was worse: “it knows our words”"
    assert told(fake_work.page("adapt")).count(last) == 1
    at = fake_work.page("adapt", {"version": "starter-2"})
    assert told(at).count(last) == 2 and "“a *try*”" in told(at)


def test_a_version_is_compared_with_what_it_was_made_from(work):
    work.versions["starter-3"] = replace(work.versions["starter-3"], parent="gone")
    work.active = "starter-2"
    links = {link.proto.query_string for link in fake_work.page("adapt").get("page_link") if link.proto.query_string}
    assert links == {"rankers=starter-2%2Ccascade", "rankers=starter-3%2Cstarter-2", "rankers=cascade%2Cstarter-2"}


def exported(work, to):
    at = fake_work.page("adapt")
    at.session_state["adapt_export_1"] = True  # open
    at = at.run()
    at.selectbox(key="adapt_export_to_1").set_value(to)
    return at.button(key="adapt_export_make_1").click().run()


def test_a_version_is_made_a_file_on_a_click_and_then_downloaded(work):
    at = exported(work, "hf")
    assert at.session_state["_adapt_export"] == (1, "hf", b"starter-2 as hf")
    assert [d.proto.label for d in at.get("download_button")] == ["Download, 0.0 MB"]


def test_an_export_that_cannot_be_made_says_so(work):
    at = exported(work, "onnx")
    assert "needs the package onnx" in told(at) and not at.get("download_button")


def imported(content):
    at = fake_work.page("adapt")
    assert at.button(key="adapt_import_start").disabled
    at.file_uploader(key="adapt_import_file_0").set_value(("spring.zip", content, "application/zip"))
    at = at.text_input(key="adapt_import_name_0").input("spring").run()
    return at.button(key="adapt_import_start").click().run()


def test_a_version_comes_in_as_a_candidate(work):
    at = imported(b"zip")
    assert [(called, name) for called, name, by in work.brought if by] == [("spring.zip", "spring")]
    assert "**spring**" in told(at) and any("spring is a candidate now" in t.value for t in at.toast)


def test_a_file_that_holds_no_version_is_told(work):
    assert "spring.zip: it is no zip" in told(imported(b"text"))
    assert work.brought == []


def test_a_viewer_looks_and_changes_no_version(work):
    work.role = "viewer"
    at = fake_work.page("adapt", {"version": "starter-3"})
    changing = ("adapt_promote", "adapt_reject", "adapt_use_", "adapt_edit_", "adapt_import_start")
    buttons = [b for b in at.button if b.key.startswith(changing)]
    assert len(buttons) == 7 and all(b.disabled and "not change versions" in b.help for b in buttons)
    assert at.file_uploader(key="adapt_import_file_0").disabled
    start = at.button(key="adapt_start")
    assert start.disabled and "not retrain" in start.help
    assert all(t.disabled for t in at.toggle if t.key.startswith("adapt_auto_"))


def test_a_version_can_be_rejected(work):
    at = done(work).button(key="adapt_reject").click().run()
    assert work.versions["starter-3"].state == "rejected"
    assert any("put aside" in t.value for t in at.toast)


def test_rolling_back_asks_why_in_a_dialog(work):
    at = fake_work.page("adapt")
    at = at.button(key="adapt_use_1").click().run()
    assert "**starter-2** takes over from cascade" in told(at)
    at = at.button(key="adapt_use_confirm").click().run()
    assert "Say why first" in told(at) and work.promoted == []
    at.text_input(key="adapt_use_reason").input("the newer one is slower")
    at.button(key="adapt_use_confirm").click().run()
    assert work.promoted == [("starter-2", "the newer one is slower")]


def test_a_kind_that_no_page_answers_by_says_what_its_use_is(work):
    work.versions["starter-2"] = replace(work.versions["starter-2"], kind="cosinet")
    work.active = "starter-2"
    said = told(fake_work.page("adapt", {"version": "starter-2"}))
    assert "starter-2 is in use. The next retrain of its kind starts from it" in said


def test_a_label_that_waits_for_one_s_own_is_not_on_the_card(work):
    work.hidden = {(r["question"], "It rained.") for r in fake_work.retrain_result()["per_question"]}
    html = fake_work.markup(done(work))
    assert "before, its label shows once yours is in: It rained." in html and "before, incorrect" not in html


def test_a_version_s_card_is_shown_by_its_address(work):
    at = fake_work.page("adapt").button(key="adapt_card_1").click().run()
    assert at.query_params["version"] == "starter-2"
    assert "it was not made from labels here" in told(at)
    at = at.button(key="adapt_away").click().run()
    assert "version" not in at.query_params


def test_the_card_of_a_version_made_here_gives_back_its_figures():
    result = fake_work.retrain_result()
    card = {key: result[key] for key in ("before", "paired", "per_exit", "frozen")}
    card |= {"name": "starter-3", "metrics": result["after"], "data": {"sha256": "ab", "questions": 9}}
    kept = adapt_card.of_version(card)
    assert (kept["after"]["AP"], kept["snapshot"], kept["labels"]) == (pytest.approx(0.743), "ab", {"questions": 9})


PAIRED = {"difference": 0.04, "low": 0.01, "high": 0.07, "p": 0.03, "wins": 12, "losses": 3, "ties": 20}


def test_the_paired_test_is_told_without_its_vocabulary():
    assert adapt_words.paired_in_words(PAIRED) == (
        "12 questions better, 3 worse, 20 the same. AP changed by +0.040 (95 %: +0.010 to +0.070): "
        "more than chance would bring (p = 0.03)."
    )


def test_five_changed_questions_are_too_few_whatever_p_says():
    few = PAIRED | {"wins": 5, "losses": 0}
    assert adapt_words.verdict(few) == "unclear"
    assert "Too few questions changed to tell" in adapt_words.paired_in_words(few)


def test_a_difference_chance_could_bring_is_not_called_better():
    assert adapt_words.verdict(PAIRED | {"p": 0.2}) == "unclear"
    assert "chance alone could bring this" in adapt_words.paired_in_words(PAIRED | {"p": 0.2})


def test_a_certain_loss_is_called_worse():
    assert adapt_words.verdict(PAIRED | {"difference": -0.04, "wins": 3, "losses": 12}) == "worse"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59, "59 s"), (60, "1 min"), (130, "2 min 10 s"), (3900, "1 h 5 min")]
)
def test_seconds_read_as_people_say_them(seconds, words):
    assert adapt_words.seconds_in_words(seconds) == words


def test_steps_repeated_after_a_restart_are_drawn_once_with_the_later_word():
    events = [
        {"kind": "step", "step": 1, "loss": 0.9},
        {"kind": "step", "step": 2, "loss": 0.8},
        {"kind": "lost", "attempt": 1},
        {"kind": "step", "step": 2, "loss": 0.7},
        {"kind": "step", "step": 3, "loss": 0.6},
    ]
    assert [(e["step"], e["loss"]) for e in adapt_job.once_a_step(events)] == [(1, 0.9), (2, 0.7), (3, 0.6)]


def test_what_a_version_was_made_from_is_one_sentence():
    labels = {"questions": 12, "correct": 13, "incorrect": 36, "dev_questions": 2, "held_out_questions": 4}
    assert adapt_card.facts_in_words({"labels": labels, "snapshot": "340a832e9fc9aa"}) == (
        "Trained on 12 questions (13 correct, 36 incorrect labels), steered by 2, judged by 4. "
        "Snapshot of the labels: 340a832e9fc9"
    )
    assert adapt_card.facts_in_words({}) == ""


def test_where_the_questions_came_from_and_who_labelled_them_is_said():
    labels = {"questions": 12, "correct": 13, "incorrect": 36, "givers": {"ann": 40, "bob": 9}}
    labels["origins"] = {"asked": 7, "proposed": 3, "imported": 2}
    assert adapt_card.facts_in_words({"labels": labels}) == (
        "Trained on 12 questions (7 typed, 3 proposed, 2 imported; 13 correct, 36 incorrect labels). "
        "Labels given by ann (40), bob (9)."
    )
