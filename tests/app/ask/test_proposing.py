import threading
import time

import pytest
from sqlalchemy import select

from app.ask import asking, proposals
from app.ask.proposals import AlreadyDecided
from app.corpora import corpora, documents
from app.jobs import queue
from app.jobs.attempt import JobRun, SteppedBack, run_queued
from app.labels import annotation, consensus, guidelines, leasing
from app.labels.items import Presentation
from app.labels.seats import Seat
from app.ranking import scoring
from app.workbench import people
from app.worker import RUNNERS
from as2core.errors import BadSetting
from db.models import LabelEvent, Proposal
from db.repositories import jobs as job_rows
from db.repositories import proposals as rows
from db.repositories import questions as question_rows


def write_two(passages, each):
    """Asks for a sentence's own words, and first for something else's."""
    return [[("Who baked the bread with yeast?", -1.0), (f"{p.rstrip('.')}?", -2.0)] for p in passages]


def propose(wb, corpus, write=write_two, **settings):
    """Run the job here, with that writer."""
    proposals.start(wb, corpus.id, **settings)
    with wb.write() as s:
        row = job_rows.claim_next(s, {"propose": 0}, "test", wb.clock())
        job = JobRun(wb, row, lambda: False)
    result = proposals.run_propose(job, write)
    with wb.write() as s:
        job_rows.finish(s, job.id, job.attempt, "done", wb.clock(), {})
    return result


def test_only_questions_that_lead_back_to_their_sentence_are_proposed(wb, towers):
    result = propose(wb, towers, number=5)
    found = proposals.list_waiting(wb, towers.id)
    assert result["proposed"] == found.waiting == len(found.page) == 5
    for p in found.page:
        assert 1 <= p.place <= 3
        own = f"{p.sentence.rstrip('.')}?"
        assert p.text == own or p.title == "bread"  # the first question leads to bread alone
    assert len({p.title for p in found.page}) > 1


def test_a_run_that_reads_all_sentences_knows_how_many_there_are(wb, towers):
    only_bread = propose(wb, towers, lambda passages, each: [[(p, -1.0)] if "yeast" in p else [] for p in passages])
    assert only_bread["sentences"] == towers.sentences > only_bread["tried"] == 1
    assert "sentences" not in propose(wb, towers, number=1)


def test_a_run_that_is_interrupted_proposes_only_what_is_missing(wb, towers, monkeypatch):
    job, step_back = proposals.start(wb, towers.id, number=4), JobRun.step_back

    def interrupt_once(run):
        if run.attempt == 1 and proposals.list_waiting(wb, towers.id).waiting == 2:
            raise SteppedBack
        step_back(run)

    monkeypatch.setattr(JobRun, "step_back", interrupt_once)
    run_queued(wb, {**RUNNERS, "propose": lambda run: proposals.run_propose(run, write_two)})
    done = queue.load_job(wb, job.id)
    assert (done.state, done.attempt) == ("done", 2)
    assert done.result["proposed"] == proposals.list_waiting(wb, towers.id).waiting == 4


def test_one_seed_draws_the_same_sentences_and_no_sentence_is_asked_about_twice(wb, towers):
    propose(wb, towers, number=3, seed=4)
    first = [p.sentence for p in proposals.list_waiting(wb, towers.id).page]
    propose(wb, towers, number=3, seed=4)
    both = [p.sentence for p in proposals.list_waiting(wb, towers.id).page]
    assert both[:3] == first
    assert len(set(both)) == len(both)


def test_a_sentence_deleted_while_its_question_is_ranked_is_passed_over(wb, towers, monkeypatch):
    rank = scoring.rank_question

    def delete_meanwhile(*args):
        ranked = rank(*args)
        monkeypatch.setattr(scoring, "rank_question", rank)
        for document in documents.list_documents(wb, towers.id):
            if document.title != "bread":
                documents.delete_document(wb, document.id)
        return ranked

    monkeypatch.setattr(scoring, "rank_question", delete_meanwhile)
    own_words = lambda passages, each: [[(f"{p.rstrip('.')}?", -2.0)] for p in passages]  # noqa: E731
    result = propose(wb, towers, own_words, number=5)
    found = proposals.list_waiting(wb, towers.id)
    assert result["proposed"] == found.waiting and {p.title for p in found.page} <= {"bread"}


def test_an_accepted_proposal_becomes_a_question_with_its_sentence_labelled_correct(wb, towers, ann):
    propose(wb, towers, number=2)
    first = proposals.list_waiting(wb, towers.id).page[0]
    question_id = proposals.accept(wb, first.id, annotator_id=ann.id)
    held = next(q for q in consensus.load_questions(wb, towers.id) if q.id == question_id)
    assert (held.question.text, held.origin, held.own) == (first.text, "proposed", True)
    assert [(c.text, c.label) for c in held.question.candidates] == [(first.sentence, 1)]
    after = proposals.list_waiting(wb, towers.id)
    assert (after.waiting, after.accepted_count, after.rejected_count) == (1, 1, 0)
    assert first.id not in [p.id for p in after.page]
    assert annotation.undo_last(wb, ann.id, towers.id) is not None


def test_a_proposal_whose_label_cannot_be_stored_still_waits(wb, towers, ann, monkeypatch):
    propose(wb, towers, number=1)
    one = proposals.list_waiting(wb, towers.id).page[0]

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("db.repositories.labels.add_event", killed)
        with pytest.raises(KeyboardInterrupt):
            proposals.accept(wb, one.id, annotator_id=ann.id)
    assert [p.id for p in proposals.list_waiting(wb, towers.id).page] == [one.id]
    assert consensus.load_questions(wb, towers.id) == []
    proposals.accept(wb, one.id, annotator_id=ann.id)
    assert proposals.list_waiting(wb, towers.id).accepted_count == 1


def test_the_label_of_an_accepted_proposal_keeps_the_guidelines_in_force(wb, towers, ann):
    propose(wb, towers, number=1)
    guidelines.write_guidelines(wb, towers.id, "- Dates count.", by=ann.id)
    proposals.accept(wb, proposals.list_waiting(wb, towers.id).page[0].id, annotator_id=ann.id)
    with wb.read() as s:
        [(guideline, visible)] = s.execute(select(LabelEvent.guideline, LabelEvent.scores_visible)).all()
    assert (guideline, visible) == (1, False)


def test_accepting_brings_candidates_to_label_and_several_wait_for_one_job(wb, towers, ann):
    propose(wb, towers, number=2)
    for p in proposals.list_waiting(wb, towers.id).page:
        proposals.accept(wb, p.id, annotator_id=ann.id)
    assert [j.state for j in queue.list_jobs(wb, "score")] == ["queued"]
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "tops")) is None
    while any(j.state == "queued" for j in queue.list_jobs(wb, "score")):
        run_queued(wb, RUNNERS)
    assert queue.list_jobs(wb, "score")[0].result == {"questions": 2}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "tops")) is not None


def test_the_words_may_be_corrected_first(wb, towers, ann):
    propose(wb, towers, number=1)
    proposal = proposals.list_waiting(wb, towers.id).page[0]
    with pytest.raises(BadSetting, match="the question is empty"):
        proposals.accept(wb, proposal.id, annotator_id=ann.id, text="   ")
    question_id = proposals.accept(wb, proposal.id, annotator_id=ann.id, text=" How high is\n it? ")
    [accepted] = [q for q in consensus.load_questions(wb, towers.id) if q.id == question_id]
    assert accepted.question.text == "How high is it?"


def test_what_was_rejected_is_not_proposed_again(wb, towers, ann):
    propose(wb, towers, number=4)
    for p in proposals.list_waiting(wb, towers.id).page:
        proposals.reject(wb, p.id, annotator_id=ann.id)
    with wb.read() as s:
        before = rows.list_texts(s, towers.id)

    def again(passages, each):
        return [[(text.upper(), -1.0) for text in before] for _ in passages]

    assert propose(wb, towers, again, number=4)["proposed"] == 0
    assert proposals.list_waiting(wb, towers.id).rejected_count == 4


def test_a_rejected_proposal_is_restored_once(wb, towers, ann, bob):
    propose(wb, towers, number=1)
    [one] = proposals.list_waiting(wb, towers.id).page
    proposals.reject(wb, one.id, annotator_id=ann.id)
    proposals.restore(wb, one.id, annotator_id=ann.id)
    assert proposals.list_waiting(wb, towers.id).page == (one,)
    with pytest.raises(AlreadyDecided, match="restored already"):
        proposals.restore(wb, one.id, annotator_id=bob.id)


def test_an_accepted_proposal_is_taken_back_once_and_a_question_that_others_use_stays(wb, towers, ann, bob):
    propose(wb, towers, number=2)
    first, second = proposals.list_waiting(wb, towers.id).page
    question_id = proposals.accept(wb, first.id, annotator_id=ann.id)
    proposals.undo_acceptance(wb, first.id, annotator_id=ann.id)
    assert proposals.list_waiting(wb, towers.id).page == (first, second)
    assert consensus.load_questions(wb, towers.id) == [] and annotation.undo_last(wb, ann.id, towers.id) is None
    with pytest.raises(AlreadyDecided, match="taken back already"):
        proposals.undo_acceptance(wb, first.id, annotator_id=ann.id)
    question_id = proposals.accept(wb, first.id, annotator_id=ann.id)
    with wb.read() as s:
        sentence_id = s.get_one(Proposal, first.id).sentence_id
    annotation.give_label(
        wb, question_id=question_id, sentence_id=sentence_id, annotator_id=bob.id, label="incorrect",
        presentation=Presentation(queue="ask"),
    )  # fmt: skip
    proposals.undo_acceptance(wb, first.id, annotator_id=ann.id)
    assert consensus.read_labels(wb, question_id, ann.id) == {}
    assert consensus.read_labels(wb, question_id, bob.id) == {sentence_id: "incorrect"}


def test_a_label_from_before_the_acceptance_stays_when_that_is_taken_back(wb, towers, ann):
    propose(wb, towers, number=1)
    [one] = proposals.list_waiting(wb, towers.id).page
    view = asking.ask(wb, towers.id, one.text)
    wb.later.finish()
    sentence_id = next(c.sentence_id for c in view.candidates if c.text == one.sentence)
    annotation.give_label(
        wb, question_id=view.question_id, sentence_id=sentence_id, annotator_id=ann.id, label="correct",
        presentation=Presentation(queue="ask"),
    )  # fmt: skip
    assert proposals.accept(wb, one.id, annotator_id=ann.id) == view.question_id
    proposals.undo_acceptance(wb, one.id, annotator_id=ann.id)
    assert consensus.read_labels(wb, view.question_id, ann.id) == {sentence_id: "correct"}


def test_two_people_cannot_decide_one_proposal(wb, towers, ann, bob):
    propose(wb, towers, number=1)
    one = proposals.list_waiting(wb, towers.id).page[0]
    proposals.reject(wb, one.id, annotator_id=ann.id)
    with pytest.raises(AlreadyDecided, match="already decided"):
        proposals.accept(wb, one.id, annotator_id=bob.id)


def test_two_people_who_accept_the_same_words_at_once_share_a_question(wb, towers, ann, bob, monkeypatch):
    propose(wb, towers, number=2)
    shown, reading, made = proposals.list_waiting(wb, towers.id).page, question_rows.find_question, []

    def slowly(*of):
        found = reading(*of)
        time.sleep(0.3)
        return found

    def accept(who, one):
        made.append(proposals.accept(wb, one.id, annotator_id=who.id, text="How high is it?"))

    monkeypatch.setattr(question_rows, "find_question", slowly)
    threads = [threading.Thread(target=accept, args=of) for of in zip((ann, bob), shown, strict=True)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 2 and len(set(made)) == 1


def test_a_viewer_decides_nothing(wb, towers, ann, bob):
    propose(wb, towers, number=1)
    one = proposals.list_waiting(wb, towers.id).page[0]
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    for decide in (proposals.reject, proposals.restore, proposals.undo_acceptance):
        with pytest.raises(people.NotAllowed):
            decide(wb, one.id, annotator_id=bob.id)


def test_proposals_go_with_their_document_s_corpus(wb, towers):
    propose(wb, towers, number=2)
    corpora.delete_corpus(wb, towers.id)
    with wb.read() as s:
        assert rows.count_by_state(s, towers.id) == {}


def test_what_cannot_be_asked_for_is_said(wb, towers):
    with pytest.raises(BadSetting, match="1 to 200"):
        proposals.start(wb, towers.id, number=0)
    with pytest.raises(BadSetting, match="no sentences"):
        proposals.start(wb, corpora.create_corpus(wb, "empty").id)


def test_the_worker_runs_the_job_with_the_shipped_generator(wb, towers, monkeypatch):
    monkeypatch.setattr(proposals, "load_writer", lambda _wb, _texts: write_two)
    job = proposals.start(wb, towers.id, number=2)
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert (done.state, done.result["proposed"]) == ("done", 2)
    assert queue.find_newest(wb, "propose", towers.id).id == job.id


def test_a_corpus_s_last_run_is_found_behind_many_of_another_s(wb, towers):
    other, job = corpora.create_corpus(wb, "other"), proposals.start(wb, towers.id)
    for _ in range(20):
        queue.enqueue(wb, "propose", {}, corpus_id=other.id)
    assert queue.find_newest(wb, "propose", towers.id).id == job.id
