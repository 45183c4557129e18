"""Who sees what others labelled: every place has the same answer."""

import pytest

from app.ask.judgements import read_judgements
from app.exchange import exports
from app.labels import annotation, consensus, leasing, rules, visibility
from app.labels.consensus import LabelRequest
from app.labels.seats import Seat
from app.workbench import people
from db.repositories import people as people_rows
from db.repositories import reviews


@pytest.fixture
def pair(asked):
    return {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}


@pytest.fixture
def places(wb, towers, pair):
    """Whether each place shows a person the labels of the pair: first those where labels are given."""

    def look(by):
        with wb.write() as s:
            reviews.put_suspicions(s, towers.id, [(tuple(pair.values()), "correct", 0.83)], wb.clock())
        item = leasing.find_next_item(wb, Seat(towers.id, by.id, "second"))
        leasing.leave(wb, Seat(towers.id, by.id, "second"))
        return [
            pair["sentence_id"] in consensus.read_visible_labels(wb, pair["question_id"], by.id),
            bool(read_judgements(wb, towers.id, [pair["question_id"]], by.id)[pair["question_id"]]),
            "labelled correct" in item.why,
            not visibility.find_hidden_labels(wb, towers.id, by.id),
            sum(q.positives for q in exports.load_labelled_questions(wb, towers.id, LabelRequest(by=by.id))) == 1,
        ]

    return look


LABELLING, LOOKING_UP = 3, 2


@pytest.fixture
def readers(wb, towers, ann):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    carol, dan = (people.sign_in(wb, name) for name in ("carol", "dan"))
    people.set_role(wb, dan.id, "admin", by=ann.id)
    return carol, dan


def test_a_pair_that_waits_is_hidden_where_labels_are_given_and_elsewhere_but_from_admins(
    wb, pair, places, ann, readers
):
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    annotator, admin = readers
    assert places(annotator) == [False] * (LABELLING + LOOKING_UP)
    assert places(admin) == [False] * LABELLING + [True] * LOOKING_UP
    assert places(ann) == [True] * (LABELLING + LOOKING_UP)


def test_a_pair_with_as_many_labels_as_are_wanted_is_hidden_from_nobody(wb, pair, places, ann, bob, readers):
    for who in (ann, bob):
        annotation.give_label(wb, **pair, annotator_id=who.id, label="correct")
    assert [places(reader) for reader in readers] == [[True] * (LABELLING + LOOKING_UP)] * 2


def test_what_came_with_a_corpus_is_not_hidden(wb, pair, places, readers):
    with wb.write() as s:
        starter = people_rows.ensure_annotator(s, "starter", wb.clock(), is_imported=True)
    annotation.give_label(wb, **pair, annotator_id=starter.id, label="correct")
    assert consensus.read_visible_labels(wb, pair["question_id"], readers[0].id) == {pair["sentence_id"]: "correct"}
