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


def test_a_run_is_asked_for_and_can_be_stopped(work, at):
    at.number_input(key="data_propose_wanted").set_value(5)
    at = at.button(key="data_propose").click().run()
    assert work.started[-1] == {"wanted": 5}
    at = at.button(key="data_propose_stop").click().run()
    assert next(iter(work.jobs.values())).cancelling
