"""Proposing questions on the data page, with services in memory."""

import fake_services
import fake_work
import pytest

from app.services.proposal_views import ProposalView


@pytest.fixture
def work(monkeypatch):
    fake = fake_work.Work()
    fake.proposals = {
        7: ProposalView(7, "When was the tower finished?", "It was finished in 1889.", "The tower", 1, 1),
        8: ProposalView(8, "what costs it?", fake_services.HOSTILE, "Costs", 2, 3),
    }
    fake_work.install(monkeypatch, fake)
    return fake


@pytest.fixture
def at(work):
    return fake_work.page("data", {"view": "proposals"})


def test_each_proposal_stands_with_its_sentence_and_foreign_text_stays_text(at):
    assert [t.value for t in at.text_input if t.key.startswith("data_proposal")] == [
        "When was the tower finished?",
        "what costs it?",
    ]
    said = fake_work.texts(at)
    assert "found again at place 3" in said
    assert "![pixel](" not in said
    assert "as a person would" in said


def test_a_proposal_is_accepted_in_corrected_words(work, at):
    at.text_input(key="data_proposal_8_text").input("What does it cost?")
    at = at.button(key="data_proposal_8_accept").click().run()
    assert work.decided == [("accepted", 8, "What does it cost?")]
    assert "1 waiting, 1 accepted, 0 rejected" in fake_work.texts(at)


def test_a_proposal_is_rejected(work, at):
    at = at.button(key="data_proposal_7_reject").click().run()
    assert work.decided == [("rejected", 7, None)]
    assert [t.key for t in at.text_input if t.key.startswith("data_proposal")] == ["data_proposal_8_text"]


def test_an_emptied_question_is_not_accepted_and_the_page_says_why(work, at):
    at.text_input(key="data_proposal_7_text").input("")
    at = at.button(key="data_proposal_7_accept").click().run()
    assert work.decided == []
    assert "a question needs words" in fake_work.texts(at).replace("\\", "")


def test_a_viewer_reads_proposals_and_decides_none(work):
    work.role = "viewer"
    at = fake_work.page("data", {"view": "proposals"})
    for act in ("accept", "reject"):
        button = at.button(key=f"data_proposal_7_{act}")
        assert button.disabled and "An admin can change that" in button.help


def test_questions_of_ones_own_come_in_as_a_list_and_the_page_says_how_many(work, at):
    at.text_area(key="data_typed_1").input("Who built it?\nWhat cost $5?\nWhere is it?")
    at = at.button(key="data_typed_add").click().run()
    [(corpus, lines, _)] = work.brought
    assert (corpus, lines) == (1, ["Who built it?", "What cost $5?", "Where is it?"])
    said = fake_work.texts(at)
    assert "2 questions came in" in said
    assert "1 question was there already: Who built it?" in said
    assert at.text_area(key="data_typed_1").value == ""
    assert "Label them" in [link.proto.label for link in at.get("page_link")]


def test_an_empty_list_is_refused_and_a_viewer_brings_none(work, at):
    at = at.button(key="data_typed_add").click().run()
    assert "there is no question yet" in fake_work.texts(at)
    work.role = "viewer"
    at = at.run()
    assert at.button(key="data_typed_add").disabled


def test_a_run_is_asked_for_and_can_be_stopped(work, at):
    at.number_input(key="data_propose_wanted").set_value(5)
    at = at.button(key="data_propose").click().run()
    assert work.started[-1] == {"wanted": 5}
    at = at.button(key="data_propose_stop").click().run()
    assert next(iter(work.jobs.values())).cancelling


def test_a_list_pasted_with_its_marks_brings_the_questions_alone(work, at):
    at.text_area(key="data_typed_1").input("- Who built it?\n 2. Where is it?\n3) When?\n• Why?\n5 of what?\n-5 or 7?")
    at.button(key="data_typed_add").click().run()
    [(_, lines, _)] = work.brought
    assert lines == ["Who built it?", "Where is it?", "When?", "Why?", "5 of what?", "-5 or 7?"]
