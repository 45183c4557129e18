"""A label costs few round trips to the database: each is a wait where the database is another machine's."""

import pytest
from sql_statements import record_statements

from app.jobs import retrain_rule
from app.labels import annotation, leasing
from app.labels.items import Presentation
from app.labels.seats import Seat

PERSON, CORPUS, INSERT = 1, 2, 1  # who may label; of the pair, once more for the overlap; the event
EARLIER, LEASE, LOCK, OTHERS = 1, 1, 1, 1  # one's own newest, given back, the candidate, labels of others
LABEL_STATEMENTS = PERSON + CORPUS + INSERT + EARLIER + LEASE + LOCK + OTHERS
NEXT_STATEMENTS = 16  # the head of the queue, the lease, and the item with its context


@pytest.fixture
def seat(wb, scored, ann):
    return Seat(scored.id, ann.id, "uncertain")


def give(wb, seat, item, label="incorrect"):
    shown = item.present(item.assignment, item.version, scores=True, guideline=0)
    pair = {"question_id": item.question_id, "sentence_id": item.sentence_id}
    return annotation.give_label(wb, **pair, annotator_id=seat.annotator_id, label=label, presentation=shown)


def test_storing_a_label_takes_a_statement_for_each_thing_to_look_at_and_one_to_write(wb, seat, monkeypatch):
    monkeypatch.setattr(retrain_rule, "CHECK_SECONDS", 1e9)  # the first label looks whether a retrain is due
    give(wb, seat, leasing.find_next_item(wb, seat))
    item = leasing.find_next_item(wb, seat)
    with record_statements() as statements:
        assert give(wb, seat, item).changed
    assert len(statements) == LABEL_STATEMENTS, "\n".join(statements)
    assert sum(s.startswith("INSERT") for s in statements) == INSERT


def test_labels_from_outside_the_queues_write_their_question_once_and_before_their_pairs(wb, asked, ann):
    wb.later.finish()
    displays = {c.sentence_id: Presentation() for c in asked.candidates[:3]}
    with record_statements() as statements:
        labels = annotation.give_labels(
            wb, question_id=asked.question_id, annotator_id=ann.id, label="incorrect", presentations=displays
        )
    writes = [i for i, s in enumerate(statements) if s.startswith("UPDATE question")]
    locks = [i for i, s in enumerate(statements) if s.startswith("SELECT candidate.id")]
    assert (len(labels), len(writes), len(locks)) == (3, 1, 3)
    assert writes[0] < locks[0]


def test_the_next_item_takes_as_many_statements_however_many_were_labelled(wb, seat):
    counts = []
    for _ in range(6):
        with record_statements() as statements:
            item = leasing.find_next_item(wb, seat)
        counts.append(len(statements))
        give(wb, seat, item)
    assert max(counts) <= NEXT_STATEMENTS, counts
