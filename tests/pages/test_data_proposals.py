"""Questions that are proposed from the sentences of a corpus, on the data page."""

import pytest
import stored
from app_pages import open_page, texts
from stored import TOWERS

from app.ask import proposals as proposing
from app.corpora import corpora, ingestion
from app.jobs import queue
from db.models import Job
from db.repositories import proposals

FIRST, SECOND = 1, 2  # proposals
FINISHED, COSTS = 1, 3  # their sentences


@pytest.fixture
def wb(wb, clock):
    with wb.write() as s:
        for sentence, text, place in ((FINISHED, "When was the tower done?", 1), (COSTS, "what costs it?", 3)):
            proposals.add_proposal(s, TOWERS, sentence, text, log_p=-1.0, place=place, now=clock.now)
    return wb


@pytest.fixture
def at(wb):
    return open_page("data", {"view": "proposals"})


def fields(at):
    return [t.key for t in at.text_input if t.key.startswith("data_proposal")]


def count_decisions(wb):
    found = proposing.list_waiting(wb, TOWERS)
    return found.accepted_count, found.rejected_count


def test_each_proposal_stands_with_its_sentence_and_foreign_text_stays_text(at):
    shown = [t.value for t in at.text_input if t.key.startswith("data_proposal")]
    assert shown == ["When was the tower done?", "what costs it?"]
    assert "ranked 3 in a search" in texts(at)
    assert "as a person would" in texts(at)
    assert not any("![pixel](" in m.value for m in at.markdown)


def test_a_proposal_is_accepted_in_corrected_words(wb, at):
    at.text_input(key=f"data_proposal_{SECOND}_text").input("What does it cost?")
    at = at.button(key=f"data_proposal_{SECOND}_accept").click().run()
    assert "What does it cost?" in stored.questions(wb, TOWERS)
    assert [(sentence, label) for (_, sentence), label in stored.labels(wb).items()] == [(COSTS, "correct")]
    assert "1 waiting, 1 accepted, 0 rejected" in texts(at)


def test_a_proposal_is_rejected(wb, at):
    at = at.button(key=f"data_proposal_{FIRST}_reject").click().run()
    assert count_decisions(wb) == (0, 1)
    assert fields(at) == [f"data_proposal_{SECOND}_text"]


def test_a_rejection_is_undone(wb, at):
    at = at.button(key=f"data_proposal_{FIRST}_reject").click().run()
    at = at.button(key=f"data_proposal_{SECOND}_reject").click().run()
    assert "Rejected: what costs it?" in texts(at)  # also where none waits
    at = at.button(key="data_proposal_undo").click().run()
    assert count_decisions(wb) == (0, 1)
    assert fields(at) == [f"data_proposal_{SECOND}_text"] and "Rejected:" not in texts(at)


def test_an_acceptance_is_undone_with_its_question_and_label(wb, at):
    before = stored.questions(wb, TOWERS)
    at.text_input(key=f"data_proposal_{SECOND}_text").input("What does it cost?")
    at = at.button(key=f"data_proposal_{SECOND}_accept").click().run()
    assert "Accepted: What does it cost?" in texts(at)
    at = at.button(key="data_proposal_undo").click().run()
    assert count_decisions(wb) == (0, 0) and stored.questions(wb, TOWERS) == before and stored.labels(wb) == {}
    assert at.text_input(key=f"data_proposal_{SECOND}_text").value == "what costs it?"
    assert "Accepted:" not in texts(at)


def test_an_emptied_question_is_not_accepted_and_the_page_says_why(wb, at):
    at.text_input(key=f"data_proposal_{FIRST}_text").input("")
    at = at.button(key=f"data_proposal_{FIRST}_accept").click().run()
    assert count_decisions(wb) == (0, 0)
    assert "The question is empty" in texts(at)


def test_a_viewer_reads_proposals_and_decides_none(wb):
    stored.set_role(wb, "viewer")
    at = open_page("data", {"view": "proposals"})
    for act in ("accept", "reject"):
        button = at.button(key=f"data_proposal_{FIRST}_{act}")
        assert button.disabled and "An admin can change your role" in button.help


@pytest.mark.parametrize(
    ("more", "text"),
    [("", "None of 1 sentence can be turned"), ("The tower was finished in 1889. ", "At most 1 of 2 sentences can")],
)
def test_how_many_can_be_expected_is_said_before_a_run(wb, more, text):
    corpus = corpora.create_corpus(wb, "Help")
    ingestion.ingest(wb, corpus.id, [("help.txt", f"{more}You can reset it.".encode())])
    assert text in texts(open_page("data", {"view": "proposals", "corpus": "Help"}))


def test_after_a_run_it_is_said_how_many_more_can_be_expected(wb):
    corpus = corpora.create_corpus(wb, "Help")
    ingestion.ingest(wb, corpus.id, [("help.txt", b"The tower was finished in 1889. The bridge was finished in 1890.")])
    job = queue.enqueue(wb, "propose", {"wanted": 1}, corpus_id=corpus.id)
    with wb.write() as s:
        row = s.get_one(Job, job.id)
        row.state, row.result = "done", {"proposed": 1, "tried": 1}
    shown = texts(open_page("data", {"view": "proposals", "corpus": "Help"}))
    assert "At most 2 more of 2 sentences can be turned into a question." in shown


def test_a_run_is_asked_for_and_can_be_stopped(wb, at):
    at.number_input(key="data_propose_wanted").set_value(5)
    at = at.button(key="data_propose").click().run()
    [job] = stored.jobs(wb)
    assert (job.kind, job.state, job.settings["wanted"]) == ("propose", "queued", 5)
    at.button(key="data_propose_stop").click().run()
    assert stored.jobs(wb)[0].state == "cancelled"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"proposed": 5, "tried": 9}, "tried 9 sentences and proposed 5 questions."),
        (
            {"proposed": 1, "tried": 1, "sentences": 95},
            "question. Only 1 of 95 sentences without a proposal has a form",
        ),
        ({"proposed": 0, "tried": 0, "sentences": 95}, "None of 95 sentences without a proposal has a form"),
        ({"proposed": 2, "tried": 3, "sentences": 95}, "Only 3 of 95 sentences without a proposal have a form"),
    ],
)
def test_a_run_that_proposed_few_says_how_many_sentences_could_be_turned(wb, result, text):
    job = queue.enqueue(wb, "propose", {"wanted": 5}, corpus_id=TOWERS)
    with wb.write() as s:
        row = s.get_one(Job, job.id)
        row.state, row.result = "done", result
    shown = texts(open_page("data", {"view": "proposals"}))
    assert text in shown
    assert ("a form that can be turned" in shown) is ("sentences" in result)
