"""Which question Label ranks, and when a list is ranked again."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from fake_clock import Clock
from label_files import import_labels
from tower_texts import QUESTIONS

from app.ask import asking, questions, stored_questions
from app.corpora import corpora, documents, indexing, ingestion
from app.jobs import queue as jobs
from app.jobs.attempt import run_queued
from app.jobs.kinds import JobKind
from app.labels import annotation, leasing
from app.labels.seats import Seat
from app.ranking import next_question, scoring
from app.workbench import people
from app.worker import RUNNERS
from db.repositories import candidates as candidate_rows
from db.repositories import questions as rows

BREAD = b"Bread is baked from flour and water. A baker kneads the dough by hand."
TOWER = b"The Eiffel Tower is in Paris. It was finished in March 1889."
ASKED = "When was the Eiffel Tower finished?"


class TickingClock(Clock):
    """A moment later each time that it is read."""

    def __call__(self):
        self.advance(seconds=0.001)
        return self.now


@pytest.fixture
def clock():
    return TickingClock()


@pytest.fixture
def bakery(wb):
    """A corpus in which ASKED has no answer yet, with its vectors."""
    corpus = corpora.create_corpus(wb, "bakery")
    ingestion.ingest(wb, corpus.id, [("bread.txt", BREAD)])
    run_queued(wb, RUNNERS)
    return corpus


@pytest.fixture
def seat(bakery, ann):
    return Seat(bakery.id, ann.id, "unlabelled")


def add(wb, corpus, lines, ann):
    questions.add_questions(wb, corpus.id, lines, by=ann.id)


def list_titles(wb, seat):
    item = leasing.find_next_question(wb, seat)
    return {r.title for r in item.rows} if item else None


def test_a_job_gives_new_passages_their_vectors_before_it_ranks(wb, towers, ann):
    add(wb, towers, QUESTIONS[:1], ann)
    run_queued(wb, {JobKind.SCORE: RUNNERS[JobKind.SCORE]})  # without the job for vectors
    assert indexing.request_vectors(wb, towers.id) is None or not wb.index(towers.id).list_pending(1)
    [(vectors, total)] = [(c.vectors_done, c.vectors_total) for c in corpora.list_corpora(wb) if c.id == towers.id]
    assert vectors == total > 0


def test_a_job_ranks_by_words_where_many_vectors_are_paused_and_again_after_them(wb, towers, ann, monkeypatch):
    monkeypatch.setattr(indexing, "MAX_FEW_PASSAGES", 1)
    words_alone = []
    rank = scoring.rank_question

    def watch(*args, **settings):
        result = rank(*args, **settings)
        words_alone.append(result.awaits_vectors)
        return result

    monkeypatch.setattr(scoring, "rank_question", watch)
    add(wb, towers, QUESTIONS[:2], ann)
    [vectors] = jobs.list_active(wb, JobKind.EMBED)
    jobs.pause(wb, vectors.id)
    run_queued(wb, RUNNERS)
    assert words_alone == [True, True]
    jobs.resume(wb, vectors.id)
    run_queued(wb, RUNNERS)
    assert words_alone == [True, True, False, False]
    assert not next_question.has_unranked(wb, Seat(towers.id, ann.id, "tops"))


def test_a_corpus_that_nobody_has_ranked_is_not_ranked_because_it_has_vectors_now(wb, towers):
    with wb.write() as s:
        rows.add_question(s, towers.id, QUESTIONS[0], external_id="q", origin="imported", now=wb.clock())
    run_queued(wb, RUNNERS)
    assert [j.kind for j in jobs.list_jobs(wb)] == [JobKind.EMBED]


def test_a_list_has_documents_that_came_after_it_was_ranked(wb, bakery, seat, ann):
    add(wb, bakery, [ASKED], ann)
    run_queued(wb, RUNNERS)
    assert list_titles(wb, seat) == {"bread"}
    ingestion.ingest(wb, bakery.id, [("tower.txt", TOWER)])
    item = leasing.find_next_question(wb, seat)
    assert next_question.is_list_outdated(wb, bakery.id, item.question_id)
    next_question.renew_list(wb, seat, item.question_id)
    assert list_titles(wb, seat) == {"bread", "tower"}
    assert not next_question.is_list_outdated(wb, bakery.id, item.question_id)


def test_lists_are_renewed_in_the_background_once_new_documents_have_vectors(wb, bakery, seat, ann):
    add(wb, bakery, [ASKED], ann)
    run_queued(wb, RUNNERS)
    ingestion.ingest(wb, bakery.id, [("tower.txt", TOWER)])
    run_queued(wb, RUNNERS)
    assert list_titles(wb, seat) == {"bread", "tower"}


def test_a_list_that_a_person_has_begun_stays_as_it_is(wb, bakery, seat, ann):
    add(wb, bakery, [ASKED], ann)
    run_queued(wb, RUNNERS)
    item = leasing.find_next_question(wb, seat)
    annotation.give_label(
        wb, question_id=item.question_id, sentence_id=item.rows[0].sentence_id, annotator_id=ann.id, label="incorrect"
    )
    ingestion.ingest(wb, bakery.id, [("tower.txt", TOWER)])
    run_queued(wb, RUNNERS)
    next_question.renew_list(wb, seat, item.question_id)
    assert {r.title for r in leasing.open_question(wb, seat, item.question_id).rows} == {"bread"}


def test_a_job_leaves_lists_alone_that_somebody_began_after_it_chose_them(wb, bakery, seat, ann, monkeypatch):
    add(wb, bakery, [ASKED, "What is bread baked from?"], ann)
    run_queued(wb, RUNNERS)
    ingestion.ingest(wb, bakery.id, [("tower.txt", TOWER)])
    first, second = (leasing.open_question(wb, seat, i) for i in (1, 2))
    rank, ranked = scoring.rank_question, []

    def label_meanwhile(*args, **settings):
        ranked.append(args[2])
        for item in (first, second):
            annotation.give_label(
                wb,
                question_id=item.question_id,
                sentence_id=item.rows[0].sentence_id,
                annotator_id=ann.id,
                label="incorrect",
            )
        return rank(*args, **settings)

    monkeypatch.setattr(scoring, "rank_question", label_meanwhile)
    run_queued(wb, RUNNERS)
    assert len(ranked) == 1


def test_sentences_that_an_import_adds_make_a_list_out_of_date(wb, bakery, seat, ann):
    add(wb, bakery, [ASKED], ann)
    run_queued(wb, RUNNERS)
    with wb.read() as s:
        [question] = rows.list_questions(s, bakery.id)
    table = b"question,sentence,label\nWho?,A baker came.,correct\n"
    import_labels(wb, bakery.id, "labels.csv", table, by=ann.id)
    assert next_question.is_list_outdated(wb, bakery.id, question.id)


def test_a_deleted_document_makes_a_list_out_of_date(wb, bakery, seat, ann):
    ingestion.ingest(wb, bakery.id, [("tower.txt", TOWER)])
    add(wb, bakery, [ASKED], ann)
    run_queued(wb, RUNNERS)
    [bread] = documents.list_documents(wb, bakery.id, "bread")
    documents.delete_document(wb, bread.id, by=ann.id)
    assert next_question.count_unranked(wb, seat) == 1


def test_people_who_begin_at_once_have_a_question_each(wb, bakery, monkeypatch):
    everybody = [people.sign_in(wb, f"person {i}") for i in range(8)]
    with wb.write() as s:
        for i in range(12):
            text = f"What is loaf number {i} baked from?"
            rows.add_question(s, bakery.id, text, external_id=f"q{i}", origin="imported", now=wb.clock())
    ranked, rank = [], scoring.rank_question
    gate = threading.Barrier(len(everybody))

    def watch(wb, corpus_id, question, *args, **settings):
        ranked.append(question)
        return rank(wb, corpus_id, question, *args, **settings)

    monkeypatch.setattr(scoring, "rank_question", watch)

    def open_label(person):
        gate.wait()
        assert next_question.rank_next_question(wb, Seat(bakery.id, person.id, "unlabelled"))

    threads = [threading.Thread(target=open_label, args=(p,)) for p in everybody]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(Counter(ranked).values()) == 1 and len(ranked) == len(everybody)


def test_who_waits_to_have_a_question_ranked_hears_of_it_and_may_leave(wb, bakery, seat, monkeypatch):
    monkeypatch.setattr(next_question, "LINE", next_question.LINE.__class__(0))

    def leave(ahead):
        raise InterruptedError(ahead)

    with pytest.raises(InterruptedError):
        next_question.rank_next_question(wb, seat, leave)


def test_questions_are_ranked_in_the_order_in_which_the_queue_offers_them(wb, bakery, seat):
    texts = ("bread is baked", "flour is ground", "water boils", "dough is kneaded", "an oven heats", "salt is added")
    with wb.write() as s:
        for i, text in enumerate(texts):
            question = rows.add_question(
                s, bakery.id, f"When is it that {text}?", external_id=f"q{i}", origin="imported", now=wb.clock()
            )
            question.split = "test" if i % 2 else ""
    ranked: list[int] = []
    while next_question.rank_next_question(wb, seat):
        ranked.append(leasing.find_next_question(wb, seat, ranked).question_id)
    leasing.leave(wb, seat)
    offered: list[int] = []
    while item := leasing.find_next_question(wb, seat, offered):
        offered.append(item.question_id)
    assert ranked == offered and [i % 2 for i in offered] == [1, 1, 1, 0, 0, 0]  # ids from 1: the even are held out


def test_a_question_with_a_label_needs_no_ranking_where_those_without_one_are_listed(wb, bakery, seat, ann):
    add(wb, bakery, [ASKED], ann)
    with wb.read() as s:
        [question] = rows.list_questions(s, bakery.id)
        [sentence, *_] = documents.list_sentences(wb, documents.list_documents(wb, bakery.id)[0].id)
    with wb.write() as s:
        candidate_rows.put_candidates(
            s, question.id, [candidate_rows.NewCandidate(sentence.id, 0, None)], origin=rows.IMPORTED
        )
    annotation.give_label(wb, question_id=question.id, sentence_id=sentence.id, annotator_id=ann.id, label="incorrect")
    narrow = Seat(bakery.id, ann.id, "unlabelled", questions=(question.id,))
    assert next_question.count_unranked(wb, narrow) == 0
    assert next_question.count_unranked(wb, Seat(bakery.id, ann.id, "tops", questions=(question.id,))) == 1


def test_a_question_that_is_put_back_in_the_queues_and_is_ranked_starts_no_job(wb, bakery, ann):
    asking.ask(wb, bakery.id, ASKED)
    with wb.read() as s:
        [question] = rows.list_questions(s, bakery.id)
    before = len(jobs.list_jobs(wb))
    stored_questions.set_queued(wb, [question.id], queued=True, by=ann.id)
    assert len(jobs.list_jobs(wb)) == before
