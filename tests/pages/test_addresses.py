"""Addresses that were typed, mangled on their way, or outlived what they name; clicks that outlived their corpus."""

import fake_work
import pytest
from streamlit.elements.lib import policies


@pytest.mark.parametrize("job", ["77", "5", "²", "9" * 30, "-1", "new"])
@pytest.mark.parametrize("page", ["adapt", "compare"])
def test_a_job_that_is_none_of_the_page_is_told(work, page, job):
    work.jobs[5] = fake_work.a_job(5, kind="embed", state="done")
    at = fake_work.page(page, {"job": job})
    assert any("not known here" in c.value for c in at.caption)
    assert not at.error


def test_a_model_that_was_deleted_is_told_and_the_active_one_takes_its_place(work):
    at = fake_work.page("ask", {"model": "starter-*9*"})
    assert "There is no model called “starter-" in fake_work.texts(at)
    assert at.selectbox(key="as2_model").value == work.active
    assert "model" not in at.query_params
    assert "There is no model called “starter-" in fake_work.texts(at.run())
    at.selectbox(key="as2_model").set_value("starter-3").run()
    assert "There is no model" not in fake_work.texts(at)


def test_a_corpus_that_is_not_there_is_told_until_another_is_chosen(work):
    work.corpora = ("Starter", "Towers")
    at = fake_work.page("ask", {"corpus": "nope", "q": "Who?"}).run()
    assert "There is no corpus called “nope” here" in at.warning[0].value
    assert work.asked == []  # not of another
    at.selectbox(key="as2_corpus").set_value("Towers").run()
    assert not at.warning
    assert work.asked == [(2, "Who?", "cascade")]


def test_every_run_tells_the_corpus_for_a_browser_that_never_drew_an_earlier_one(work, monkeypatch, caplog):
    monkeypatch.setattr(policies, "_shown_default_value_warning", False)
    at = fake_work.page("label", {"corpus": "Towers"}).run()
    assert at.selectbox(key="as2_corpus").proto.default == 1
    at = at.selectbox(key="as2_corpus").set_value("Starter").run().run()
    assert at.selectbox(key="as2_corpus").proto.default == 0
    at.query_params["corpus"] = "Towers"  # the browser's way back: what it shows has to change
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == "Towers"
    assert at.selectbox(key="as2_corpus").proto.set_value
    assert "created with a default value" not in caplog.text


def test_a_corpus_that_is_not_there_may_be_done_without(work):
    at = fake_work.page("ask", {"corpus": "nope", "q": "Who?"})
    at = at.button(key="as2_go_on").click().run()
    assert not at.warning
    assert work.asked == [(1, "Who?", "cascade")]


def test_files_meant_for_a_corpus_deleted_elsewhere_go_into_no_other(work):
    at = fake_work.page("data", {"corpus": "Towers"})
    at = at.file_uploader(key="data_files_0").set_value([("a.txt", b"One.", "text/plain")]).run()
    work.corpora = ("Starter",)
    at = at.button(key="data_ingest_2").click().run()
    assert work.ingested == []
    assert "There is no corpus called “Towers” here" in fake_work.texts(at)


def test_rules_meant_for_a_corpus_deleted_elsewhere_change_no_other(work):
    at = fake_work.page("agreement", {"corpus": "Towers", "view": "rules"})
    before = work.rules
    at.number_input[0].set_value(7)
    work.corpora = ("Starter",)
    [keep] = [b for b in at.button if b.label == "Keep these"]
    keep.click().run()
    assert work.rules == before


@pytest.mark.parametrize(
    ("chosen", "then"), [(None, "starter-3"), ("starter-2", "starter-2"), ("starter-3", "starter-3")]
)
def test_who_chose_no_model_follows_the_one_in_use(work, chosen, then):
    at = fake_work.page("ask")
    if chosen:
        at = at.selectbox(key="as2_model").set_value(chosen).run()
    work.active = "starter-3"
    at.run()
    assert at.selectbox(key="as2_model").value == then
    assert ("model" in at.query_params) == (then != "starter-3")
