"""What people judged, as one of them may see it."""

import pytest

from app.ask.judgements import Judgement, read_judgements
from app.labels import conflicts, rules
from app.workbench import people


def judged(wb, asked, who=None):
    viewer_id = None if who is None else who.id
    return read_judgements(wb, asked.corpus_id, [asked.question_id], viewer_id).get(asked.question_id, {})


@pytest.fixture
def first(asked):
    """The id of the first candidate's sentence."""
    return asked.candidates[0].sentence_id


def test_the_majority_counts_with_the_names_of_those_who_are_in_it(wb, asked, ann, bob, give_signs, first):
    for who, sign in ((ann, "+"), (bob, "-"), (people.sign_in(wb, "cy"), "+")):
        give_signs(who, sign)
    assert judged(wb, asked) == {first: Judgement("correct", ("ann", "cy"))}


def test_people_who_disagree_evenly_come_to_nothing_until_a_verdict_decides(wb, asked, ann, bob, give_signs, first):
    give_signs(ann, "+")
    give_signs(bob, "-")
    assert judged(wb, asked) == {first: Judgement(None, ())}
    conflicts.adjudicate(
        wb, question_id=asked.question_id, sentence_id=first, annotator_id=ann.id, label="incorrect", note=""
    )
    assert judged(wb, asked) == {first: Judgement("incorrect", ("bob",), settled_by="ann")}
    assert judged(wb, asked, ann) == {first: Judgement("incorrect", ("bob",), settled_by="ann", own="correct")}


def test_where_two_are_to_label_a_pair_only_those_who_did_see_what_others_said(wb, towers, asked, ann, bob, give_signs):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    give_signs(ann, "+-")
    assert judged(wb, asked, bob) == {}
    give_signs(bob, "+")
    assert [j.by for j in judged(wb, asked, bob).values()] == [("ann", "bob")]
    assert len(judged(wb, asked, ann)) == len(judged(wb, asked)) == 2


def test_beside_a_question_that_was_deleted_others_labels_stay_hidden_too(wb, towers, asked, ann, bob, give_signs):
    """It may be among those found alike, which are in memory."""
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    give_signs(ann, "+-")
    no_longer_there = asked.question_id + 1000
    seen = read_judgements(wb, towers.id, [no_longer_there, asked.question_id], bob.id)
    assert seen.get(asked.question_id, {}) == {}


def test_an_unlabelled_question_has_no_judgements(wb, asked):
    corpus_id = asked.corpus_id
    assert read_judgements(wb, corpus_id, [asked.question_id]) == read_judgements(wb, corpus_id, []) == {}
