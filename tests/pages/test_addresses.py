"""Addresses that were typed, mangled on their way, or outlived what they name; clicks that outlived their corpus."""

import pytest
import stored
import streamlit as st
from app_pages import button, markup, open_page, texts
from streamlit.elements.lib import policies
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from app.corpora import corpora
from app.exchange.starter import UNFINISHED
from app.labels import rules
from app.ui import page
from app.versions import promotion
from app.workbench.settings import Settings
from db.models import Corpus


@pytest.mark.parametrize("job", ["77", "of another kind", "²", "9" * 30, "-1", "new"])
@pytest.mark.parametrize("page", ["adapt", "compare"])
def test_a_job_that_is_none_of_the_page_is_told(wb, page, job):
    embed = stored.put_job(wb, "embed", "done")
    at = open_page(page, {"job": str(embed) if job == "of another kind" else job})
    assert any("does not exist here" in c.value for c in at.caption)
    assert all("Nothing is labelled yet" in e.value for e in at.error)


def test_a_model_that_was_deleted_is_told_and_the_active_one_takes_its_place(wb):
    at = open_page("ask", {"model": "starter-*9*"})
    assert "There is no ranker called “starter-" in texts(at)
    assert at.selectbox(key="as2_model").value == "cascade"
    assert "model" not in at.query_params
    assert "There is no ranker called “starter-" in texts(at.run())
    at.selectbox(key="as2_model").set_value("starter-3").run()
    assert "There is no model" not in texts(at)


def test_a_name_that_the_model_box_cuts_stands_below_it(wb):
    assert "starter-3 (not promoted)" not in [c.value for c in open_page("ask", {"model": "starter-3"}).caption]
    stored.put_version(wb, "ferndale-town-hall-10")
    at = open_page("ask", {"model": "ferndale-town-hall-10"})
    assert "ferndale-town-hall-10 (not promoted)" in [c.value for c in at.sidebar.caption]


def test_a_corpus_that_is_not_there_is_told_until_another_is_chosen(wb):
    at = open_page("ask", {"corpus": "nope", "q": "Who?"}).run()
    assert "There is no corpus called “nope” here" in at.warning[0].value
    assert stored.list_asked(wb) == []  # not of another
    assert at.query_params["corpus"] == "nope"  # a reload says the same
    at.selectbox(key="as2_corpus").set_value("Works").run()
    assert not at.warning
    assert stored.list_asked(wb) == [(stored.WORKS, "Who?", "cascade")]
    assert at.query_params["corpus"] == "Works"


def test_a_change_of_the_corpus_box_after_a_run_that_did_not_draw_it_is_no_choice():
    def switch_without_box():
        from app.ui import page

        page._switch_corpus()

    at = AppTest.from_function(switch_without_box)
    at.query_params |= {"corpus": "Works", "job": "4"}
    at = at.run()
    assert not at.exception and at.query_params == {"corpus": "Works", "job": "4"}


def test_the_browsers_way_back_from_a_corpus_that_is_not_there_leads_to_the_one_before(wb):
    at = open_page("data", {"corpus": "nope"})
    at.query_params["corpus"] = "Works"
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == at.query_params["corpus"] == "Works"
    assert not at.warning and "no corpus called" not in texts(at)


def test_a_shipped_corpus_asked_for_while_it_is_being_read_opens_by_itself(wb, tmp_path, monkeypatch):
    (tmp_path / corpora.HANDBOOK / "articles").mkdir(parents=True)
    monkeypatch.setattr(Settings, "shipped_dir", lambda self, name: tmp_path / name)
    at = open_page("label", {"corpus": corpora.HANDBOOK})
    assert "The corpus “handbook” is being read" in at.info[0].value
    assert not at.warning and "There is no corpus" not in texts(at)
    at = at.run()
    assert not at.warning and "There is no corpus" not in texts(at)
    corpora.create_corpus(wb, corpora.HANDBOOK)
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == corpora.HANDBOOK
    assert not at.info and "being read. It opens" not in texts(at)


@pytest.mark.parametrize("page, address", [("ask", {}), ("ask", {"q": "who"}), ("data", {"view": "documents"})])
def test_a_shipped_corpus_whose_documents_are_still_being_read_does_not_ask_for_any(
    wb, tmp_path, monkeypatch, page, address
):
    (tmp_path / corpora.HANDBOOK / "articles").mkdir(parents=True)
    monkeypatch.setattr(Settings, "shipped_dir", lambda self, name: tmp_path / name)
    made = corpora.create_corpus(wb, corpora.HANDBOOK)
    with wb.write() as s:
        s.get_one(Corpus, made.id).digest = UNFINISHED
    at = open_page(page, {"corpus": corpora.HANDBOOK, **address})
    assert "The corpus “handbook” is being read" in texts(at) and "no documents yet" not in texts(at)


def test_every_run_tells_the_corpus_for_a_browser_that_never_drew_an_earlier_one(wb, monkeypatch, caplog):
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    at = open_page("label", {"corpus": "Works"}).run()
    assert at.selectbox(key="as2_corpus").proto.default == 1
    at = at.selectbox(key="as2_corpus").set_value("Towers").run().run()
    assert at.selectbox(key="as2_corpus").proto.default == 0
    at.query_params["corpus"] = "Works"  # the browser's way back: what it shows has to change
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == "Works"
    assert at.selectbox(key="as2_corpus").proto.set_value
    assert "created with a default value" not in caplog.text


@pytest.mark.parametrize("later", ["Works", "starter"])
def test_a_new_corpus_is_used_although_a_click_ended_the_run_at_the_box_but_for_a_later_choice(wb, monkeypatch, later):
    corpora.create_corpus(wb, "starter")
    at = open_page("data", {"corpus": "Works"})
    at.session_state[page._REQUEST] = "Towers"
    draw = st.selectbox

    def draw_and_end_the_run(*args, **options):
        draw(*args, **options)
        raise StopException

    with monkeypatch.context() as patch:
        patch.setattr(st, "selectbox", draw_and_end_the_run)
        at = at.run()
    at = at.selectbox(key="as2_corpus").set_value(later).run()  # the browser's value: "Works" is the one from before
    expected = "Towers" if later == "Works" else later
    assert at.selectbox(key="as2_corpus").value == at.query_params["corpus"] == expected
    assert at.run().selectbox(key="as2_corpus").value == expected


def test_a_corpus_that_is_not_there_may_be_done_without(wb):
    at = open_page("ask", {"corpus": "nope", "q": "Who?"})
    at = at.button(key="as2_go_on").click().run()
    assert not at.warning
    assert stored.list_asked(wb) == [(stored.TOWERS, "Who?", "cascade")]
    assert at.query_params["corpus"] == "Towers"


def test_who_works_in_a_corpus_that_somebody_else_renames_goes_on_in_it_and_is_told(wb):
    at = open_page("label", {"corpus": "Towers", "queue": "tops"})
    item = markup(at)
    corpora.rename_corpus(wb, stored.TOWERS, "Old towers")
    at = at.button(key="label_correct").click().run()
    assert [e.label for e in stored.label_events(wb)] == ["correct"]
    assert not at.warning and "no corpus called" not in texts(at)
    assert at.selectbox(key="as2_corpus").value == at.query_params["corpus"] == "Old towers"
    assert [t.value for t in at.toast] == ["The corpus “Towers” is now called “Old towers”."]
    assert "as2-item" in item and "as2-item" in markup(at)
    assert not at.run().toast
    assert at.session_state["_as2_remembered"]["as2_corpus"] == "Old towers"


def test_a_question_asked_while_the_corpus_is_renamed_is_answered(wb):
    at = open_page("ask", {"corpus": "Works"})
    corpora.rename_corpus(wb, stored.WORKS, "Mills")
    at.text_input(key="as2_question_0").set_value("Who?")
    at = button(at, "Ask").click().run()
    assert not at.warning
    assert stored.list_asked(wb) == [(stored.WORKS, "Who?", "cascade")]


def test_a_corpus_that_gets_the_former_name_of_another_is_told_from_it(wb):
    at = open_page("data", {"corpus": "Works"})
    corpora.rename_corpus(wb, stored.WORKS, "Mills")
    other = corpora.create_corpus(wb, "Works")
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == "Mills"
    at = at.selectbox(key="as2_corpus").set_value("Works").run()
    assert at.selectbox(key="as2_corpus").value == "Works"
    corpora.rename_corpus(wb, other.id, "Works 2")
    assert at.run().selectbox(key="as2_corpus").value == "Works 2"


def test_the_way_back_to_the_former_name_of_a_corpus_leads_to_it(wb):
    at = open_page("data", {"corpus": "Works"})
    at = at.selectbox(key="as2_corpus").set_value("Towers").run()
    corpora.rename_corpus(wb, stored.WORKS, "Mills")
    at.query_params["corpus"] = "Works"
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == "Mills" and not at.toast


def test_files_meant_for_a_corpus_deleted_elsewhere_go_into_no_other(wb):
    at = open_page("data", {"corpus": "Works"})
    at = at.file_uploader(key="data_files_0").set_value([("a.txt", b"One.", "text/plain")]).run()
    corpora.delete_corpus(wb, stored.WORKS)
    at = at.button(key=f"data_ingest_{stored.WORKS}").click().run()
    assert [c.documents for c in corpora.list_corpora(wb)] == [2]
    assert "There is no corpus called “Works” here" in texts(at)


def test_rules_meant_for_a_corpus_deleted_elsewhere_change_no_other(wb):
    at = open_page("agreement", {"corpus": "Works", "view": "rules"})
    before = rules.read_rules(wb, stored.TOWERS)
    at.number_input[0].set_value(7)
    corpora.delete_corpus(wb, stored.WORKS)
    button(at, "Save").click().run()
    assert rules.read_rules(wb, stored.TOWERS) == before


@pytest.mark.parametrize(
    ("chosen", "then"), [(None, "starter-3"), ("starter-2", "starter-2"), ("starter-3", "starter-3")]
)
def test_who_chose_no_model_follows_the_one_in_use(wb, chosen, then):
    at = open_page("ask")
    if chosen:
        at = at.selectbox(key="as2_model").set_value(chosen).run()
    promotion.promote(wb, "starter-3")
    at.run()
    assert at.selectbox(key="as2_model").value == then
    assert ("model" in at.query_params) == (then != "starter-3")


@pytest.mark.parametrize(
    ("page", "query", "message"),
    [
        ("label", {"queue": "nonsense"}, "There is no queue “nonsense”."),
        ("label", {"queue": "tops", "question": "99999"}, "The list of this link is taken or done. This is another."),
        ("data", {"view": "documents", "doc": "99999"}, "There is no document “99999” here any more."),
        ("data", {"view": "documents", "doc": "The_tower"}, None),
        ("label", {"queue": "tops"}, None),
    ],
)
def test_a_link_that_names_what_is_gone_says_so_once(wb, page, query, message):
    at = open_page(page, query)
    assert [t.value for t in at.toast] == ([message] if message else [])
    assert not at.run().toast


def test_what_an_overtaken_run_wrote_into_the_address_is_sent_once_more():
    """Both share the session's address; what the one before has sent, the browser does not get."""

    def draw_page():
        import streamlit as st
        from streamlit.runtime.scriptrunner import get_script_run_ctx

        from app.ui import url

        context = get_script_run_ctx()
        with context.session_state.query_params() as address:
            address.set_with_no_forward_msg("job", "3")
        url.put(job=3)
        st.text(context.query_string)

    assert AppTest.from_function(draw_page).run().text[0].value == "job=3"
