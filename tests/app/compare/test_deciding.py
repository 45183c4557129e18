"""A decision on a corpus's own questions: followed from its labels, undone with them, stored with its chances."""

import pytest
from decision_questions import QUESTIONS
from fake_models import write_version
from label_files import import_labels

from app.compare import deciding
from app.compare.deciding import DecisionRequest
from app.corpora import corpora
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation
from app.labels.annotation import Presentation
from app.labels.queues import DECIDE
from app.workbench import people
from app.workbench.people import NotAllowed
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.errors import As2Error, BadSetting, UnknownData, UnknownRanker
from as2core.types import Candidate, Question
from db.repositories import labels as rows


@pytest.fixture
def corpus(wb):
    return import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode()).corpus_id


@pytest.fixture
def job(wb, corpus):
    job = deciding.start_decision(wb, corpus, DecisionRequest("bm25", "rr"))
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done", done.error
    return done


def is_right(wb, pair):
    with wb.read() as s:
        from db.models import Sentence

        return "has to do" in s.get(Sentence, pair[1]).text


def label(wb, course, who):
    pair = course.pair
    annotation.give_label(
        wb, question_id=pair[0], sentence_id=pair[1], annotator_id=who.id,
        label="correct" if is_right(wb, pair) else "incorrect",
        presentation=Presentation(queue=DECIDE, chance=course.chance),
    )  # fmt: skip
    return deciding.follow(wb, course)


def test_a_decision_is_made_by_labels_and_is_the_same_after_a_reload(wb, job, ann):
    course = deciding.open_decision(wb, job.id)
    assert course.conclusion.startswith("Not decided") and "bm25 ranks it" in course.why
    while course.pair is not None:
        course = label(wb, course, ann)
    assert course.conclusion.startswith("bm25 is better on these 12 questions, ")
    assert len(course.steps) < 24  # of 24 pairs
    again = deciding.open_decision(wb, job.id)
    assert (again.conclusion, again.evidence, again.steps) == (course.conclusion, course.evidence, course.steps)


def test_each_label_is_stored_with_the_probability_of_its_draw(wb, job, ann):
    course = deciding.open_decision(wb, job.id)
    pair, chance = course.pair, course.chance
    label(wb, course, ann)
    with wb.read() as s:
        event = rows.find_newest_event(s, *pair, ann.id)
        assert event.queue == DECIDE and event.chance == pytest.approx(chance)
        assert 0 < event.chance <= 1


def test_an_undone_label_is_asked_again_and_a_changed_one_changes_the_course(wb, job, ann, corpus):
    course = deciding.open_decision(wb, job.id)
    first = course.pair
    course = label(wb, course, ann)
    second = course.pair
    assert second[0] == first[0]  # the other candidate of the question
    annotation.undo_last(wb, ann.id, corpus)
    assert deciding.follow(wb, course).pair == first
    course = label(wb, deciding.follow(wb, course), ann)
    evidence = deciding.follow(wb, label(wb, course, ann)).evidence
    annotation.give_label(wb, question_id=first[0], sentence_id=first[1], annotator_id=ann.id,
                          label="incorrect" if is_right(wb, first) else "correct")  # fmt: skip
    assert deciding.follow(wb, course).evidence != evidence


def test_labels_that_were_there_count(wb, corpus, ann):
    with wb.read() as s:
        pairs = [(r.question_id, r.sentence_id) for r in deciding.candidate_rows.list_candidate_rows(s, corpus)]
    for pair in pairs:
        annotation.give_label(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=ann.id,
                              label="correct" if is_right(wb, pair) else "incorrect")  # fmt: skip
    job = deciding.start_decision(wb, corpus, DecisionRequest("bm25", "rr"))
    run_queued(wb, RUNNERS)
    course = deciding.open_decision(wb, job.id)
    assert course.pair is None
    assert course.conclusion == "bm25 is better on these 12 questions, whatever the missing labels are."


def test_what_cannot_be_decided_is_refused_before_anything_is_queued(wb, corpus, ann, tmp_path):
    for request, error in (
        (DecisionRequest("bm25", "bm25"), BadSetting),
        (DecisionRequest("bm25", "nobody"), UnknownRanker),
        (DecisionRequest("bm25", "rr", measure="nDCG"), BadSetting),
        (DecisionRequest("bm25", "rr", level=2.0), BadSetting),
    ):
        with pytest.raises(error):
            deciding.start_decision(wb, corpus, request, by=ann.id)
    viewer = people.sign_in(wb, "Vera")
    people.set_role(wb, viewer.id, people.VIEWER, by=None)
    with pytest.raises(NotAllowed):
        deciding.start_decision(wb, corpus, DecisionRequest("bm25", "rr"), by=viewer.id)
    bob = people.sign_in(wb, "Bob")
    people.set_role(wb, bob.id, people.ANNOTATOR, by=None)
    with pytest.raises(NotAllowed, match="takes an admin"):
        deciding.start_decision(wb, corpus, DecisionRequest("bm25", str(write_version(tmp_path / "v"))), by=bob.id)
    assert queue.list_jobs(wb, kind="decide") == []


def test_a_decision_of_a_corpus_that_is_deleted_before_its_turn_says_so(wb, corpus):
    waiting = deciding.start_decision(wb, corpus, DecisionRequest("bm25", "rr"))
    corpora.delete_corpus(wb, corpus)
    run_queued(wb, RUNNERS)
    assert "the corpus was deleted meanwhile" in queue.load_job(wb, waiting.id).error


def test_a_corpus_without_questions_and_a_job_without_files_say_so(wb, corpus, job):
    empty = import_labels(
        wb, None, "one.jsonl", jsonl.dumps([Question("q", "why?", (Candidate("a", "Because.", 1),))]).encode()
    )
    with pytest.raises(UnknownData, match="two candidates"):
        deciding.start_decision(wb, empty.corpus_id, DecisionRequest("bm25", "rr"))
    (wb.settings.jobs_dir / str(job.id) / deciding.FILE).unlink()
    with pytest.raises(As2Error, match="are gone"):
        deciding.open_decision(wb, job.id)
