"""Pairs that were settled leave and come with their verdict."""

import json

import pytest
from exchanged import import_new, settle_pair
from label_files import import_labels

from app.exchange import exports
from app.labels import conflicts
from app.workbench import people


@pytest.mark.parametrize(("label", "number"), [("correct", 1), ("incorrect", 0), ("unsure", None)])
def test_a_settled_pair_leaves_with_both_labels_and_the_verdict(wb, towers, ann, bob, label, number):
    settle_pair(wb, towers, ann, bob, label, note="as agreed")
    [candidate] = json.loads(exports.export_labels(wb, towers.id, "jsonl"))["candidates"]
    assert candidate["label"] == number
    assert candidate["labels"] == {"ann": "correct", "bob": "incorrect"}
    assert candidate["verdict"] == {"by": "ann", "label": label, "note": "as agreed"}
    [alone] = json.loads(exports.export_labels(wb, towers.id, "jsonl", annotator="bob"))["candidates"]
    assert (alone["label"], alone["labels"], "verdict" in alone) == (0, {"bob": "incorrect"}, False)


def test_a_settled_pair_comes_into_another_home_with_labels_names_verdict_and_note_once(
    wb, towers, ann, bob, elsewhere
):
    settle_pair(wb, towers, ann, bob, "incorrect", note="as agreed")
    exported = exports.export_labels(wb, towers.id, "jsonl")
    first = import_new(elsewhere, "set.jsonl", exported)
    assert (first.new, first.verdicts, first.same, first.conflicting, first.malformed) == (2, 1, 0, 0, ())
    assert exports.export_labels(elsewhere, first.corpus_id, "jsonl") == exported
    [found] = conflicts.list_conflicts(elsewhere, first.corpus_id, people.find_person(elsewhere, "cy").id)
    assert set(found.labels) == {("ann", "correct"), ("bob", "incorrect")}
    assert (found.verdict, found.by, found.note) == ("incorrect", "ann", "as agreed")
    again = import_labels(elsewhere, first.corpus_id, "set.jsonl", exported)
    assert (again.new, again.verdicts, again.same, again.conflicting, again.malformed) == (0, 0, 2, 0, ())
    assert {x.outcome for x in again.lines} == {"same"}
    assert exports.export_labels(elsewhere, first.corpus_id, "jsonl") == exported


def test_a_verdict_that_differs_from_the_one_that_stands_is_a_conflict_and_not_taken(wb, towers, ann, bob):
    pair = settle_pair(wb, towers, ann, bob, "incorrect")
    exported = exports.export_labels(wb, towers.id, "jsonl")
    conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="correct", note="on second thoughts")
    done = import_labels(wb, towers.id, "again.jsonl", exported)
    assert (done.new, done.verdicts, done.same, done.conflicting) == (0, 0, 2, 1)
    assert done.conflicts[0].endswith("verdict incorrect in the file, correct here")
    assert [x.outcome for x in done.lines] == ["conflicting"]
    [found] = conflicts.list_conflicts(wb, towers.id, ann.id)
    assert (found.verdict, found.note) == ("correct", "on second thoughts")


@pytest.mark.parametrize("fmt", ["old jsonl", "csv"])
def test_a_settled_pair_that_comes_without_names_is_the_same_as_the_verdict_or_in_conflict(wb, towers, ann, bob, fmt):
    pair = settle_pair(wb, towers, ann, bob, "incorrect")
    out = exports.export_labels(wb, towers.id, fmt.removeprefix("old "))
    if fmt == "old jsonl":
        record = json.loads(out)
        for name in ("labels", "verdict"):
            del record["candidates"][0][name]
        out = json.dumps(record).encode()
    done = import_labels(wb, towers.id, "again", out)
    assert (done.new, done.same, done.conflicting) == (0, 1, 0)
    conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="correct")
    done = import_labels(wb, towers.id, "again", out)
    assert (done.new, done.same, done.conflicting) == (0, 0, 1)
