"""Two people at the head of one queue: whoever comes second gets what is left, and hears of an end only at the end."""

import pytest
from label_files import import_labels
from pair_leases import find_lease

from app.jobs.attempt import run_queued
from app.labels import annotation, leasing, rules, seats
from app.labels.seats import Seat
from app.ranking import score_job
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.repositories import queues

TEXTS = ("Who built the tower?", "Where is bread baked?", "Who built the tall tower?")  # the queue: first, last, second
LIST_SIZE = 90  # more than HEAD_ROWS, as a search brings them


@pytest.fixture
def long_lists(wb):
    """The id of a corpus of three questions with long lists, ranked; the first and the last are nearly the same."""
    questions = [
        Question(f"q{n}", text, tuple(Candidate(f"q{n}-{i}", f"Sentence {i} of {n}.") for i in range(LIST_SIZE)))
        for n, text in enumerate(TEXTS)
    ]
    questions.append(Question("labelled", "Is it labelled?", (Candidate("l0", "Yes.", 1),)))
    corpus_id = import_labels(wb, None, "long.jsonl", jsonl.dumps(questions).encode()).corpus_id
    run_queued(wb, RUNNERS)
    score_job.start_scoring(wb, corpus_id)
    run_queued(wb, RUNNERS)
    return corpus_id


@pytest.fixture
def come_between(monkeypatch):
    """come_between(act): before somebody else gets what the queue offers first, `act` runs, once."""

    def prepare(act):
        draw = seats.draw_head

        def draw_late(*args, **options):
            drawn = draw(*args, **options)
            monkeypatch.setattr(leasing, "draw_head", draw)
            act()
            return drawn

        monkeypatch.setattr(leasing, "draw_head", draw_late)

    return prepare


@pytest.mark.parametrize("head", [1, seats.HEAD_QUESTIONS])
def test_of_two_who_begin_lists_at_once_each_gets_a_question(wb, long_lists, ann, bob, come_between, monkeypatch, head):
    monkeypatch.setattr(seats, "HEAD_QUESTIONS", head)
    firsts = []
    come_between(lambda: firsts.append(leasing.find_next_question(wb, Seat(long_lists, ann.id, "unlabelled", "ann"))))
    second = leasing.find_next_question(wb, Seat(long_lists, bob.id, "unlabelled", "bob"))
    assert min(len(firsts[0].rows), len(second.rows)) >= LIST_SIZE
    assert firsts[0].question != second.question
    assert all(row.free for row in second.rows)


def test_a_question_lost_to_another_is_passed_over_until_the_queue_ends(wb, long_lists, ann, bob, come_between):
    def take_all():
        for n in range(len(TEXTS)):
            leasing.find_next_question(wb, Seat(long_lists, ann.id, "unlabelled", f"ann {n}"))

    come_between(take_all)
    assert leasing.find_next_question(wb, Seat(long_lists, bob.id, "unlabelled", "bob")) is None
    assert seats.count_at_other_desks(wb, Seat(long_lists, bob.id, "unlabelled", "bob")) >= 3 * LIST_SIZE


def test_a_list_that_another_is_at_is_not_given_for_what_they_have_labelled_already(wb, long_lists, ann, bob):
    rules.set_rules(wb, long_lists, by=ann.id, overlap=2)
    first = leasing.find_next_question(wb, Seat(long_lists, ann.id, "unlabelled", "ann"))
    sentence_id = first.rows[0].sentence_id
    annotation.give_label(
        wb, question_id=first.question_id, sentence_id=sentence_id, annotator_id=ann.id, label="incorrect"
    )
    second = leasing.find_next_question(wb, Seat(long_lists, bob.id, "unlabelled", "bob"))
    assert second.question != first.question
    assert all(row.free for row in second.rows)
    skips = [
        second.question_id,
        leasing.find_next_question(wb, Seat(long_lists, bob.id, "unlabelled", "b")).question_id,
    ]
    assert leasing.find_next_question(wb, Seat(long_lists, bob.id, "unlabelled", "bob"), skips) is None


def test_a_list_of_which_another_is_at_one_sentence_is_given(wb, long_lists, ann, bob):
    item = leasing.find_next_item(wb, Seat(long_lists, ann.id, "unlabelled", "ann"))
    found = leasing.find_next_question(wb, Seat(long_lists, bob.id, "unlabelled", "bob"))
    assert found.question_id == item.question_id
    assert [row.sentence_id for row in found.rows if not row.free] == [item.sentence_id]


def test_who_labels_sentences_gets_one_though_another_began_the_list_of_the_first(
    wb, long_lists, ann, bob, come_between
):
    lists = []
    come_between(lambda: lists.append(leasing.find_next_question(wb, Seat(long_lists, ann.id, "unlabelled", "ann"))))
    item = leasing.find_next_item(wb, Seat(long_lists, bob.id, "unlabelled", "bob"))
    assert item.question != lists[0].question
    assert find_lease(wb, item).annotator_id == bob.id


def test_a_list_of_nearly_the_same_question_waits_where_there_is_another(wb, long_lists, ann):
    seat = Seat(long_lists, ann.id, "unlabelled", "ann")
    skips, texts = [], []
    while item := leasing.find_next_question(wb, seat, skips):
        skips.append(item.question_id)
        texts.append(item.question)
    assert texts == ["Who built the tower?", "Where is bread baked?", "Who built the tall tower?"]


@pytest.mark.parametrize("queue", ["unlabelled", "tops", "uncertain", "random"])
def test_the_head_of_a_queue_of_lists_has_as_many_questions_as_there_are(wb, long_lists, ann, queue):
    with wb.read() as s:
        request = seats.request_queue(s, Seat(long_lists, ann.id, queue), rules.find_rules(s, long_lists))
        rows = queues.list_open_questions(s, request, wb.clock(), 8)
        pairs = queues.list_open_pairs(s, request, wb.clock(), 1000)
    assert len({r.question_id for r in rows}) == len(rows) >= 3
    firsts = {}
    for row in pairs:
        firsts.setdefault(row.question_id, row.id)
    assert [(r.question_id, r.id) for r in rows] == list(firsts.items())
