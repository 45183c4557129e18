"""Who has which item of a queue: leases, desks, undo, viewers, overlap."""

import threading
from datetime import timedelta

import pytest
from pair_leases import find_lease
from queue_walks import label_all, pair

from app.labels import annotation, leasing, progress, rules
from app.labels.queues import QUEUES
from app.labels.seats import Seat
from app.workbench import people
from app.workbench.people import Gone
from as2core.errors import BadSetting
from db.repositories import queues
from db.repositories.leases import Holder


def test_asking_again_gives_the_same_item_until_it_is_labelled(wb, scored, ann, clock):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    before = find_lease(wb, first)
    clock.advance(minutes=5)
    again = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    assert (pair(again), again.token) == (pair(first), first.token)
    assert find_lease(wb, again).expires - before.expires == timedelta(minutes=5)


def test_two_people_never_get_the_same_item(wb, scored, ann, bob):
    for _ in range(5):
        one, other = (leasing.find_next_item(wb, Seat(scored.id, who.id, "uncertain")) for who in (ann, bob))
        assert pair(one) != pair(other)
        for who, item in ((ann, one), (bob, other)):
            annotation.give_label(
                wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=who.id, label="unsure"
            )


def test_two_sessions_under_one_name_get_different_items(wb, scored, ann):
    left = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", holder="left"))
    right = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", holder="right"))
    assert pair(left) != pair(right)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops", holder="left"))) == pair(left)


def test_eight_people_at_once_label_every_pair_exactly_once(wb, scored):
    eight = [people.sign_in(wb, f"annotator {i}") for i in range(8)]
    met: list[tuple] = []
    threads = [
        threading.Thread(target=lambda who=who: met.extend(map(pair, label_all(wb, scored, who, "uncertain"))))
        for who in eight
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(met) == len(set(met))
    assert progress.measure_progress(wb, scored.id, eight[0].id).all == len(met)


def test_a_lease_that_ran_out_frees_the_item(wb, scored, ann, bob, clock):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    clock.advance(minutes=11)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))) == pair(first)


def test_a_passed_item_goes_back_to_the_queue_for_others(wb, scored, ann, bob):
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    second = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"), skips=[pair(first)])
    assert pair(second) != pair(first)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))) == pair(first)


def test_after_an_undo_the_item_can_be_shown_again(wb, scored, ann):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    annotation.give_label(
        wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=ann.id, label="correct"
    )
    assert leasing.open_item(wb, *pair(item), ann.id).label == "correct"
    undone = annotation.undo_last(wb, ann.id, scored.id)
    again = leasing.open_item(wb, undone.question_id, undone.sentence_id, ann.id)
    assert (pair(again), again.label) == (pair(item), None)
    assert find_lease(wb, again).annotator_id == ann.id


def test_what_anyone_labelled_leaves_the_queue_and_comes_back_when_withdrawn(wb, scored, ann, bob):
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))
    key = {"question_id": item.question_id, "sentence_id": item.sentence_id, "annotator_id": ann.id}
    annotation.give_label(wb, **key, label="unsure")
    assert pair(leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))) != pair(item)
    annotation.withdraw(wb, **key)
    fresh = people.sign_in(wb, "carol")
    assert pair(leasing.find_next_item(wb, Seat(scored.id, fresh.id, "tops"))) == pair(item)


def test_a_viewer_sees_items_and_keeps_them_from_nobody(wb, scored, ann, bob):
    mine = leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    seen = leasing.find_next_item(wb, Seat(scored.id, bob.id, "tops"))
    assert (pair(seen), find_lease(wb, seen)) == (pair(mine), None)
    again = leasing.open_item(wb, *pair(mine), bob.id)
    assert (find_lease(wb, again), again.is_locked) == (None, False)
    assert pair(leasing.find_next_item(wb, Seat(scored.id, ann.id, "tops"))) == pair(mine)


def test_unknown_queues_and_vanished_pairs_are_named(wb, scored, ann):
    with pytest.raises(BadSetting, match="uncertain"):
        leasing.find_next_item(wb, Seat(scored.id, ann.id, "newest"))
    with pytest.raises(Gone):
        leasing.open_item(wb, 999, 999, ann.id)


def test_with_an_overlap_a_second_person_begins_what_one_began_and_a_third_does_not(wb, scored, ann, bob):
    cy = people.sign_in(wb, "cy")
    rules.set_rules(wb, scored.id, by=ann.id, overlap=2)

    def list_rows(who):
        request = queues.QueueRequest(scored.id, QUEUES["unlabelled"].order, Holder(who.id, who.name), overlap=2)
        with wb.read() as s:
            return queues.list_open_pairs(s, request, wb.clock(), 1000)

    def offers(who, question):
        return question in {row.question_id for row in list_rows(who)}

    def give(who, row):
        annotation.give_label(
            wb, question_id=row.question_id, sentence_id=row.sentence_id, annotator_id=who.id, label="incorrect"
        )

    rows_to_label = list_rows(ann)
    question = rows_to_label[0].question_id
    give(ann, rows_to_label[0])
    assert not offers(ann, question) and offers(bob, question)
    give(bob, rows_to_label[1])
    assert not offers(bob, question) and not offers(cy, question)
    for row in {r.question_id: r for r in rows_to_label}.values():
        give(ann, row)
    assert not list_rows(ann) and list_rows(bob)
