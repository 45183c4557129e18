"""The form of a comparison: its rankers, its questions, and the address that names them."""

import stored
from app_pages import markup, open_page, texts
from comparisons import is_form_open, open_comparison, read_settings
from stored import QUESTIONS, TOWERS, put_job

from app.adapt import label_selection
from app.adapt.label_selection import LabelSelection
from app.compare import comparison_job, question_sets
from app.compare.sweeps import SWEEP_RATIOS, make_spec
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation
from app.ui.compare import setup
from app.versions import promotion
from app.workbench import people
from app.worker import RUNNERS
from db.repositories.candidates import list_candidate_rows


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


def test_without_a_labelled_set_a_link_leads_to_the_import_of_one(wb, monkeypatch):
    monkeypatch.setattr(question_sets, "list_datasets", lambda wb: [])
    [link] = [x.proto for x in open_page("compare").get("page_link") if x.proto.label == "Import a set"]
    assert "view=labels" in link.query_string


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


def test_the_sweep_adds_the_cascade_at_every_ratio():
    specs = setup.add_sweep(["bm25"], True)
    assert specs[:3] == ["bm25", "active:drop_ratio=0", "active:drop_ratio=0.1"]
    assert len(specs) == 8


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


def test_without_a_comparison_that_fits_the_page_opens_with_the_form(wb):
    at = open_page("compare")
    assert "Prepared with the program" not in texts(at)
    assert "compare_prepared" not in [b.key for b in at.button]
    assert is_form_open(at)


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
