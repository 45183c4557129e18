"""What people label differently, and how an admin settles it."""

import pytest
from sql_statements import record_statements

from app.adapt import readiness, second_looks
from app.ask import asking
from app.corpora import corpora, ingestion
from app.jobs.attempt import run_queued
from app.labels import agreement, annotation, conflicts, consensus, leasing, progress, rules
from app.workbench import people
from app.workbench.people import NotAllowed
from app.worker import RUNNERS
from db.repositories import labels as label_rows
from db.repositories import reviews


def test_unsure_beside_a_judgement_is_no_conflict(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+-+")
    give_signs(bob, "??-")
    [conflict] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert dict(conflict.labels) == {"ann": "correct", "bob": "incorrect"}


def test_a_sentence_that_is_gone_has_no_neighbours_in_the_new_version_of_its_document(wb, ann, bob, clock):
    club = corpora.create_corpus(wb, "club")
    ingestion.ingest(wb, club.id, [("rules.txt", b"Dues come first. The fee is 48 euros. It is due in May.")])
    asked = asking.ask(wb, club.id, "What is the fee?")
    fee = next(c.sentence_id for c in asked.candidates if c.text == "The fee is 48 euros.")
    for who, label in ((ann, "correct"), (bob, "incorrect")):
        annotation.give_label(wb, question_id=asked.question_id, sentence_id=fee, annotator_id=who.id, label=label)
    [conflict] = conflicts.list_conflicts(wb, club.id, ann.id)
    assert not conflict.is_gone
    assert conflicts.find_neighbours(wb, fee) == ("Dues come first.", "It is due in May.")
    clock.advance(minutes=1)
    ingestion.ingest(wb, club.id, [("rules.txt", b"Dues come first. The fee is 54 euros. It is due in May.")])
    [conflict] = conflicts.list_conflicts(wb, club.id, ann.id)
    assert conflict.is_gone and conflicts.find_neighbours(wb, fee) == ("", "")
    item = leasing.open_item(wb, asked.question_id, fee, ann.id)
    assert (item.text, item.before, item.after) == ("The fee is 48 euros.", "", "")


def test_the_same_verdict_again_is_no_other_one_unless_it_has_a_reason(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+")
    give_signs(bob, "-")
    [conflict] = conflicts.list_conflicts(wb, towers.id, ann.id)
    key = {"question_id": conflict.question_id, "sentence_id": conflict.sentence_id, "annotator_id": ann.id}
    for _ in range(2):  # a double click
        conflicts.adjudicate(wb, **key, label="incorrect")
    [settled] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert (settled.verdict, settled.earlier) == ("incorrect", ())
    conflicts.adjudicate(wb, **key, label="incorrect", note="of the opening")
    [settled] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert (settled.note, len(settled.earlier)) == ("of the opening", 1)


def test_a_settled_conflict_counts_as_the_verdict_and_keeps_both_labels(wb, towers, asked, give_signs, ann, bob):
    give_signs(ann, "+")
    give_signs(bob, "-")
    [conflict] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert (conflict.labels, conflict.verdict) == ((("ann", "correct"), ("bob", "incorrect")), "")
    assert consensus.read_labels(wb, asked.question_id) == {}
    key = {"question_id": conflict.question_id, "sentence_id": conflict.sentence_id, "annotator_id": ann.id}
    conflicts.adjudicate(wb, **key, label="incorrect", note="the date is of the opening")
    [settled] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert (settled.verdict, settled.by, settled.note) == ("incorrect", "ann", "the date is of the opening")
    assert settled.labels == conflict.labels
    assert consensus.read_labels(wb, asked.question_id) == {conflict.sentence_id: "incorrect"}
    assert progress.measure_progress(wb, towers.id, ann.id).per_label == {"correct": 0, "incorrect": 1, "unsure": 0}
    [question] = [x.question for x in consensus.load_questions(wb, towers.id) if x.own]
    assert [c.label for c in question.candidates] == [0]
    conflicts.adjudicate(wb, **key, label=None)
    assert progress.measure_progress(wb, towers.id, ann.id).per_label["disputed"] == 1


@pytest.fixture
def settled_pair(wb, towers, asked, give_signs, ann, bob):
    """A pair that ann and bob both call incorrect, settled as correct while they differed."""
    give_signs(ann, "+")
    give_signs(bob, "-")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="correct")
    give_signs(ann, "-")
    return pair


def test_conflicts_and_counts_are_read_again_only_after_a_label_or_a_verdict(wb, towers, ann, bob, monkeypatch):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    calls = []
    for module, name in ((reviews, "list_comparable_labels"), (label_rows, "count_outcomes")):
        read = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, name=name, read=read: calls.append(name) or read(*args))

    def look():
        """At the page Agreement and at the figures beside Label, two people, twice."""
        calls.clear()
        for who in (ann, bob) * 2:
            number = len([c for c in conflicts.list_conflicts(wb, towers.id, who.id) if not c.verdict])
            progress.measure_progress(wb, towers.id, who.id)
            readiness.measure_distance(wb, towers.id)
        return number, sorted(calls)

    once = ["count_outcomes", "list_comparable_labels"]
    assert [look(), look()] == [(0, once), (0, [])]
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    for who, label in ((ann, "correct"), (bob, "incorrect")):
        annotation.give_label(wb, **pair, annotator_id=who.id, label=label)
    assert [look(), look()] == [(1, once), (1, [])]
    conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="correct")
    assert [look(), look()] == [(0, once), (0, [])]


def count_labels(wb, corpus, who):
    return {label: n for label, n in progress.measure_progress(wb, corpus.id, who.id).per_label.items() if n}


def test_a_verdict_can_be_taken_back_when_people_have_come_to_agree(wb, towers, settled_pair, ann, bob):
    for who in (ann, bob):
        [found] = conflicts.list_conflicts(wb, towers.id, who.id)
        assert (found.verdict, dict(found.labels)) == ("correct", {"ann": "incorrect", "bob": "incorrect"})
    assert count_labels(wb, towers, ann) == {"correct": 1}
    conflicts.adjudicate(wb, **settled_pair, annotator_id=ann.id, label=None)
    assert count_labels(wb, towers, ann) == {"incorrect": 1}
    assert conflicts.list_conflicts(wb, towers.id, ann.id) == ()
    assert agreement.measure_agreement(wb, towers.id).alpha.n == 1


def test_a_verdict_on_what_nobody_labels_any_more_counts_nowhere_and_is_seen_when_somebody_does(
    wb, towers, settled_pair, ann, bob, monkeypatch
):
    for who in (ann, bob):
        annotation.withdraw(wb, **settled_pair, annotator_id=who.id)
    assert consensus.read_labels(wb, settled_pair["question_id"]) == count_labels(wb, towers, ann) == {}
    assert conflicts.list_conflicts(wb, towers.id, ann.id) == ()
    learnt = []
    monkeypatch.setattr(
        second_looks, "find_suspicious", lambda features, labels, questions: learnt.append(labels) or []
    )
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert learnt == []
    annotation.give_label(wb, **settled_pair, annotator_id=bob.id, label="incorrect")
    assert consensus.read_labels(wb, settled_pair["question_id"]) == {settled_pair["sentence_id"]: "correct"}
    [found] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert (found.verdict, found.labels) == ("correct", (("bob", "incorrect"),))


def test_only_an_admin_settles_and_others_see_the_conflicts_they_are_part_of(wb, towers, give_signs, ann, bob):
    carol = people.sign_in(wb, "carol")
    give_signs(ann, "+")
    give_signs(bob, "-")
    [conflict] = conflicts.list_conflicts(wb, towers.id, bob.id)
    assert conflicts.list_conflicts(wb, towers.id, carol.id) == ()
    with pytest.raises(NotAllowed, match="takes an admin"):
        conflicts.adjudicate(
            wb,
            question_id=conflict.question_id,
            sentence_id=conflict.sentence_id,
            annotator_id=bob.id,
            label="correct",
        )


def test_conflicts_take_as_many_queries_however_many_they_are(wb, towers, asked, give_signs, ann, bob):
    def queries():
        with record_statements() as statements:
            conflicts.list_conflicts(wb, towers.id, ann.id)
        return len(statements)

    queries()  # from now on it looks for what came since
    give_signs(ann, "+")
    give_signs(bob, "-")
    one = queries()
    give_signs(ann, "++++")
    give_signs(bob, "----")
    settled = {"question_id": asked.question_id, "sentence_id": asked.candidates[2].sentence_id}
    conflicts.adjudicate(wb, **settled, annotator_id=ann.id, label="correct")
    assert queries() == one
    assert [c.by for c in conflicts.list_conflicts(wb, towers.id, ann.id)] == ["", "", "", "ann"]
