"""Two people at one label, at the same moment: whoever comes second decides by what the first has left.

PostgreSQL lets two write at once, and takes them one after the other only from the moment that they ask for the same
row. What somebody reads before they ask may be old by then. Here the other's act is done at that very moment, by a lock
that lets it in first; with PostgreSQL it is done by two people indeed.
"""

import threading

import pytest
from label_files import import_labels
from sqlalchemy import text

from app.ask import asking, stored_questions
from app.exchange import storage
from app.labels import annotation, conflicts, flags, label_list
from app.labels.guidelines import EditConflict
from app.labels.label_list import LabelSearch
from app.workbench import people
from app.workbench.people import Gone
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Question as QuestionRow
from db.repositories import labels as label_rows
from db.repositories import people as person_rows
from db.repositories import question_lists, queues, reviews

PATIENCE_SECONDS = 30


@pytest.fixture
def pair(wb, asked, give_signs, ann, bob):
    """Which ann calls correct and bob incorrect."""
    give_signs(ann, "+")
    give_signs(bob, "-")
    return {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}


@pytest.fixture
def come_first(monkeypatch):
    """come_first(module, name, act): who calls that lock gets it after `act(session)`, which is done once."""

    def prepare(module, name, act):
        lock = getattr(module, name)

        def lock_late(s, *args):
            monkeypatch.setattr(module, name, lock)
            act(s)
            return lock(s, *args)

        monkeypatch.setattr(module, name, lock_late)

    return prepare


def label_as(wb, who, pair, label):
    """`act` of `come_first`: a label or a withdrawal."""
    return lambda s: label_rows.add_event(s, pair["question_id"], pair["sentence_id"], who.id, label, wb.clock())


def read_label(wb, who, pair):
    with wb.read() as s:
        labels = label_rows.find_labels_by(s, who.id, [pair["question_id"]])
    return labels.get((pair["question_id"], pair["sentence_id"]))


@pytest.mark.parametrize("lock", ["lock_candidate", "lock_corpus"])
def test_a_verdict_on_labels_that_are_changed_at_that_moment_is_refused(wb, pair, ann, bob, come_first, lock):
    come_first(conflicts, lock, label_as(wb, bob, pair, "correct"))
    labels = [("ann", "correct"), ("bob", "incorrect")]
    with pytest.raises(EditConflict, match="changed meanwhile"):
        conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="incorrect", labels=labels)
    come_first(conflicts, lock, lambda s: [label_as(wb, who, pair, "withdrawn")(s) for who in (ann, bob)])
    with pytest.raises(Gone, match="no longer has a label"):
        conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="incorrect")


def test_a_label_that_is_changed_while_an_admin_withdraws_it_stays(wb, towers, pair, ann, bob, come_first):
    records = label_list.list_labels(wb, towers.id, by=ann.id, which=LabelSearch(annotator="bob"), limit=10).page
    come_first(person_rows, "lock_people", label_as(wb, bob, pair, "unsure"))
    assert label_list.withdraw_labels(wb, towers.id, records, by=ann.id) == 0
    assert read_label(wb, bob, pair) == "unsure"


def test_a_label_that_the_heir_gives_at_that_moment_stays(wb, pair, ann, bob, come_first):
    heir = people.sign_in(wb, "bob the second")
    come_first(person_rows, "lock_people", label_as(wb, heir, pair, "correct"))
    assert label_list.give_labels_to(wb, bob.id, heir.id, by=ann.id).different == 1
    assert read_label(wb, heir, pair) == "correct"


def test_a_label_that_is_given_during_an_import_stays(wb, towers, asked, pair, bob, come_first):
    with wb.read() as s:
        qid = s.get_one(QuestionRow, asked.question_id).external_id
    candidate = Candidate("c", asked.candidates[0].text, annotations=(("bob", "unsure"),))
    content = [Question(qid, asked.question, (candidate,))]
    come_first(storage, "lock_people", label_as(wb, bob, pair, "correct"))
    view = import_labels(wb, towers.id, "some.jsonl", jsonl.dumps(content).encode())
    assert (view.new, view.conflicting) == (0, 1)
    assert read_label(wb, bob, pair) == "correct"


def test_a_flag_that_is_set_while_another_is_taken_back_keeps_its_question_in_the_queues(
    wb, towers, ann, bob, come_first
):
    view = asking.ask(wb, towers.id, "Who built it?", as_typed=True)
    wb.later.finish()
    pair = view.question_id, view.candidates[0].sentence_id
    flag = flags.add_flag(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=ann.id, note="")
    come_first(question_lists, "lock_question", lambda s: reviews.add_flag(s, pair, bob.id, "1889?", wb.clock()))
    flags.withdraw_flag(wb, flag, pair[0], ann.id)
    assert stored_questions.is_queued(wb, pair[0])


@pytest.mark.parametrize("act", ["withdraw", "undo"])
def test_who_takes_a_label_back_holds_its_pair(wb, towers, pair, bob, monkeypatch, act):
    pairs, lock = [], queues.lock_candidate
    monkeypatch.setattr(queues, "lock_candidate", lambda s, *pair: pairs.append(pair) or lock(s, *pair))
    take_back(wb, towers, pair, bob, act)
    assert pairs == [(pair["question_id"], pair["sentence_id"])]
    assert read_label(wb, bob, pair) is None


def take_back(wb, towers, pair, who, act):
    if act == "withdraw":
        annotation.withdraw(wb, **pair, annotator_id=who.id)
    elif act == "undo":
        annotation.undo_last(wb, who.id, towers.id)
    else:
        records = label_list.list_labels(wb, towers.id, by=who.id, which=LabelSearch(annotator=who.name), limit=10).page
        label_list.withdraw_labels(wb, towers.id, records, by=who.id)


@pytest.mark.parametrize("act", ["withdraw", "undo", "withdraw_labels"])
def test_a_verdict_and_who_takes_the_label_back_take_turns_on_postgresql(wb, towers, pair, ann, bob, monkeypatch, act):
    if wb.database.sqlite:
        pytest.skip("SQLite has one writer at a time")
    is_settling, may_end, add_verdict = threading.Event(), threading.Event(), reviews.add_verdict

    def add_slowly(*args):
        verdict = add_verdict(*args)
        is_settling.set()
        assert may_end.wait(PATIENCE_SECONDS)
        return verdict

    monkeypatch.setattr(reviews, "add_verdict", add_slowly)
    labels = [("ann", "correct"), ("bob", "incorrect")]
    settle = {**pair, "annotator_id": ann.id, "label": "correct", "labels": labels}
    threads = [
        threading.Thread(target=conflicts.adjudicate, args=(wb,), kwargs=settle),
        threading.Thread(target=take_back, args=(wb, towers, pair, bob, act)),
    ]
    threads[0].start()
    assert is_settling.wait(PATIENCE_SECONDS)
    threads[1].start()
    while not count_waiting(wb) and threads[1].is_alive():
        pass
    before = read_label(wb, bob, pair)
    may_end.set()
    for thread in threads:
        thread.join()
    assert (before, read_label(wb, bob, pair)) == ("incorrect", None)


def count_waiting(wb):
    with wb.read() as s:
        return s.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted"))
