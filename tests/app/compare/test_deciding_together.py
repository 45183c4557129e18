"""Two people at one decision: each gets another pair, every label counts once, and nobody sees an old conclusion."""

from dataclasses import replace

import pytest
from decision_questions import QUESTIONS
from label_files import import_labels

from app import bootstrap
from app.compare import deciding
from app.compare.deciding import DecisionRequest
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, leasing, rules
from app.labels.annotation import OverlapReached, Presentation
from app.labels.leasing import LEASE
from app.labels.queues import DECIDE
from app.labels.seats import Seat
from app.ui.label.decide import DecideDesk
from app.ui.label.desk import Display
from app.worker import RUNNERS
from as2core.data import jsonl
from db.models import Sentence
from db.repositories import labels as rows

SHOWN = Display(scores=True, guideline=0)


@pytest.fixture
def other(settings, wb, models, clock):
    """Another process's workbench on the same home."""
    opened = bootstrap.open(settings, models, clock)
    yield opened
    opened.close()


@pytest.fixture
def job(wb):
    corpus = import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode()).corpus_id
    started = deciding.start_decision(wb, corpus, DecisionRequest("bm25", "rr"))
    run_queued(wb, RUNNERS)
    return queue.load_job(wb, started.id)


@pytest.fixture
def desks(wb, other, job, ann, bob):
    """Ann's and Bob's."""
    return tuple(
        DecideDesk.open(each, Seat(job.corpus_id, who.id, DECIDE, who.name), job)
        for each, who in ((wb, ann), (other, bob))
    )


def judge(wb, pair):
    with wb.read() as s:
        return "correct" if "has to do" in s.get(Sentence, pair[1]).text else "incorrect"


def give(wb, desk, label=None):
    return desk.give(wb, label or judge(wb, desk.pair), SHOWN)


def list_events(wb, pair):
    with wb.read() as s:
        return [(row.annotator_id, row.label) for row in rows.list_labels_of_pair(s, *pair)]


def test_each_gets_another_pair_and_both_come_to_the_conclusion_that_one_alone_would(wb, other, job, desks):
    mine, theirs = desks
    given = []
    while mine.item or theirs.item:
        assert mine.pair != theirs.pair
        if theirs.item:
            given.append(theirs.pair)
            theirs = give(other, theirs)
        mine = mine.refresh(wb)
        if mine.item:
            given.append(mine.pair)
            mine = give(wb, mine)
        theirs = theirs.refresh(other)
    conclusions = {desk.course.conclusion for desk in (mine, theirs)}
    assert len(conclusions) == 1 and conclusions.pop().startswith("bm25 is better on these 12 questions, ")
    assert len(set(given)) == len(given)  # nobody labelled what the other had
    assert [len(list_events(wb, pair)) for pair in given] == [1] * len(given)
    steps = [pair for pair, _ in mine.course.steps]
    assert set(steps) <= set(given) and len(given) <= len(steps) + 2
    # as one person's: from the start, each label as the course asks for it
    alone = replace(mine.course, decision=mine.course.start, steps=())
    for pair in steps:
        assert alone.pair == pair
        label = int(judge(wb, pair) == "correct")
        alone = replace(alone, decision=alone.decision.give(label), steps=(*alone.steps, (pair, label)))
    assert (alone.conclusion, alone.evidence) == (mine.course.conclusion, mine.course.evidence)


def test_a_label_given_ahead_waits_for_its_turn_and_is_not_asked_again(wb, other, desks, bob):
    mine, theirs = desks
    ahead = theirs.pair
    theirs = give(other, theirs)
    assert theirs.course.steps == () and theirs.course.evidence == mine.course.evidence  # it is not in turn yet
    with wb.read() as s:
        event = rows.find_newest_event(s, *ahead, bob.id)
    assert (event.queue, event.chance) == (DECIDE, None)
    mine = give(wb, mine)
    assert [pair for pair, _ in mine.course.steps][:2] == [desks[0].pair, ahead]
    assert mine.pair not in (ahead, theirs.pair)


def test_who_labels_an_item_whose_lease_is_over_after_somebody_else_is_told_and_nothing_is_recorded(
    wb, other, desks, clock, bob
):
    mine, theirs = desks
    mine = give(wb, mine)
    stale = theirs
    clock.advance(seconds=LEASE.total_seconds() + 1)
    mine = mine.refresh(wb)
    taken = DecideDesk.open(wb, mine.seat, queue.load_job(wb, mine.job_id))
    assert taken.pair == stale.pair  # whose time is over
    give(wb, taken)
    with pytest.raises(OverlapReached):
        give(other, stale)
    assert bob.id not in [who for who, _ in list_events(wb, stale.pair)]
    assert stale.refresh(other).pair not in (stale.pair, None)


def test_labels_that_contradict_each_other_count_once_and_as_incorrect(wb, job, desks, ann, bob):
    rules.set_rules(wb, job.corpus_id, by=ann.id, overlap=2)
    mine = give(wb, desks[0], "correct")
    pair = desks[0].pair
    before = mine.course
    assert dict(before.steps)[pair] == 1
    annotation.give_label(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=bob.id, label="incorrect",
                          presentation=Presentation(queue=DECIDE))  # fmt: skip
    after = deciding.follow(wb, before)
    assert dict(after.steps)[pair] == 0 and [p for p, _ in after.steps].count(pair) == 1
    annotation.give_label(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=bob.id, label="correct")
    assert deciding.follow(wb, after).evidence == before.evidence


def test_a_page_that_was_left_open_learns_the_conclusion_that_another_brought(wb, other, desks):
    mine, theirs = desks
    while mine.item:
        mine = give(wb, mine)
        if mine.item is None and mine.course.is_open:  # the other sits on what is missing
            theirs = give(other, theirs.refresh(other))
            mine = mine.refresh(wb)
    assert theirs.course.is_open or theirs.item is None
    theirs = theirs.refresh(other)
    assert theirs.item is None and theirs.course.conclusion == mine.course.conclusion


def test_what_nobody_looks_at_any_more_is_free_again(wb, other, desks, job, bob):
    mine, theirs = desks
    ahead = theirs.pair
    mine = give(wb, mine)
    assert mine.pair != ahead
    theirs = give(other, theirs)
    third = DecideDesk.open(other, replace(theirs.seat, holder="elsewhere"), job)
    assert len({mine.pair, theirs.pair, third.pair}) == 3
    leasing.leave(other, theirs.seat)
    assert DecideDesk.open(other, replace(theirs.seat, holder="a third"), job).pair == theirs.pair


def test_two_who_start_the_same_decision_start_one(wb, other, job, ann, bob):
    request = DecisionRequest("bm25", "jaccard")
    first = deciding.start_decision(wb, job.corpus_id, request, by=ann.id)
    assert deciding.start_decision(other, job.corpus_id, request, by=bob.id).id == first.id
    assert deciding.start_decision(other, job.corpus_id, replace(request, measure="RR"), by=bob.id).id != first.id
    run_queued(wb, RUNNERS)
    assert deciding.start_decision(other, job.corpus_id, request, by=bob.id).id != first.id  # with the labels since
