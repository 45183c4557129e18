"""What stands in the documents in place of a sentence that left them, and labels that are moved to it."""

import pytest

from app.ask import asking
from app.corpora import corpora, documents, ingestion, successors
from app.labels import annotation, label_list
from app.labels.items import Presentation
from app.labels.label_list import LabelSearch

RULES = b"The fee is 48 euros a year. Notice is given in March. The board meets monthly."
REWORDED = b"The yearly fee is 54 euros a year. The board meets monthly."
DISPLAY = Presentation(scores_visible=False, queue="own")


@pytest.fixture
def club(wb):
    made = corpora.create_corpus(wb, "club")
    ingestion.ingest(wb, made.id, [("rules.txt", RULES)])
    return made


@pytest.fixture
def question_id(wb, club, ann):
    """Of a question on the fee, of which the first two sentences are labelled."""
    view = asking.ask(wb, club.id, "What is the fee a year?")
    by_text = {c.text: c.sentence_id for c in view.candidates}
    for text, label in (("The fee is 48 euros a year.", "correct"), ("Notice is given in March.", "incorrect")):
        annotation.give_label(
            wb, question_id=view.question_id, sentence_id=by_text[text], annotator_id=ann.id, label=label
        )
    return view.question_id


def find_gone(wb, club, ann):
    """Sentence -> its label."""
    view = label_list.list_labels(wb, club.id, by=ann.id, which=LabelSearch(is_gone=True), limit=10)
    return {r.sentence: r for r in view.page}


def move(wb, ann, records, new):
    targets = {i: successor.sentence_id for i, successor in new.items()}
    return label_list.shift_labels(wb, records, targets, by=ann.id, presentation=DISPLAY)


def list_pairs(wb, club, ann):
    return {(r.sentence, r.label, r.is_gone) for r in label_list.list_labels(wb, club.id, by=ann.id, limit=10).page}


def test_labels_whose_sentence_is_gone_are_found_and_moved_to_the_new_wording(wb, club, ann, question_id):
    assert find_gone(wb, club, ann) == {}
    assert ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)]).orphans == 2
    gone = find_gone(wb, club, ann)
    assert set(gone) == {"The fee is 48 euros a year.", "Notice is given in March."}
    record = gone["The fee is 48 euros a year."]
    new = successors.find_successor(wb, club.id, record.sentence_id)
    assert (new.text, new.title, new.is_same) == ("The yearly fee is 54 euros a year.", "rules", False)
    assert move(wb, ann, [record], {record.sentence_id: new}) == 1
    stay = ("Notice is given in March.", "incorrect", True)
    assert list_pairs(wb, club, ann) == {("The yearly fee is 54 euros a year.", "correct", False), stay}
    assert move(wb, ann, [record], {record.sentence_id: new}) == 0  # it was moved already
    annotation.undo_last(wb, ann.id, club.id)
    assert list_pairs(wb, club, ann) == {("The fee is 48 euros a year.", "correct", True), stay}


def test_a_sentence_without_one_like_it_has_no_successor(wb, club, ann, question_id):
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    record = find_gone(wb, club, ann)["Notice is given in March."]
    assert successors.find_successor(wb, club.id, record.sentence_id) is None


def test_labels_follow_a_document_that_was_added_under_another_name_and_deleted_under_the_first(
    wb, club, ann, question_id
):
    ingestion.ingest(wb, club.id, [("rules 2027.txt", RULES)])
    old = documents.find_document_by_name(wb, club.id, "rules")
    documents.delete_document(wb, old.id)
    gone = find_gone(wb, club, ann)
    same = successors.find_same_sentences(wb, club.id, [r.sentence_id for r in gone.values()])
    assert len(same) == 2 and all(new.is_same and new.title == "rules 2027" for new in same.values())
    assert move(wb, ann, list(gone.values()), same) == 2
    assert find_gone(wb, club, ann) == {}
    annotation.undo_last(wb, ann.id, club.id)  # one act
    assert len(find_gone(wb, club, ann)) == 2


def test_only_ones_own_label_is_moved_and_none_onto_a_label_of_ones_own(wb, club, ann, bob, question_id):
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    record = find_gone(wb, club, ann)["The fee is 48 euros a year."]
    new = {record.sentence_id: successors.find_successor(wb, club.id, record.sentence_id)}
    assert move(wb, bob, [record], new) == 0
    pair = {"question_id": question_id, "sentence_id": new[record.sentence_id].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="unsure")
    assert move(wb, ann, [record], new) == 0
    assert ("The fee is 48 euros a year.", "correct", True) in list_pairs(wb, club, ann)
