"""What stands in the documents in place of a sentence that left them, and labels that are moved to it."""

import pytest
from label_files import import_labels

from app.ask import asking
from app.corpora import corpora, documents, ingestion, successors
from app.labels import annotation, conflicts, label_list
from app.labels.items import Presentation
from app.labels.label_list import LabelSearch
from app.workbench import audit_log, people
from app.workbench.people import NotAllowed
from as2core.text import tokenize

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


def move(wb, club, who, records, new):
    targets = {i: successor.sentence_id for i, successor in new.items()}
    return label_list.shift_labels(wb, club.id, records, targets, by=who.id, presentation=DISPLAY)


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
    assert move(wb, club, ann, [record], {record.sentence_id: new}) == 1
    stay = ("Notice is given in March.", "incorrect", True)
    assert list_pairs(wb, club, ann) == {("The yearly fee is 54 euros a year.", "correct", False), stay}
    assert move(wb, club, ann, [record], {record.sentence_id: new}) == 0  # it was moved already
    annotation.undo_last(wb, ann.id, club.id)
    assert list_pairs(wb, club, ann) == {("The fee is 48 euros a year.", "correct", True), stay}


def test_a_sentence_without_one_like_it_has_no_successor(wb, club, ann, question_id):
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    record = find_gone(wb, club, ann)["Notice is given in March."]
    assert successors.find_successor(wb, club.id, record.sentence_id) is None


def test_labels_of_reworded_sentences_are_counted_when_a_deleted_file_is_added_again_changed(
    wb, club, ann, question_id
):
    documents.delete_document(wb, documents.find_document_by_name(wb, club.id, "rules").id)
    report = ingestion.ingest(wb, club.id, [("rules.txt", REWORDED + b" Notice is given in March.")])
    assert (report.added, report.updated, report.orphans) == (1, 0, 1)  # the notice is back on its label
    assert set(find_gone(wb, club, ann)) == {"The fee is 48 euros a year."}
    assert ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)]).orphans == 1  # the notice alone: it went just now


def test_labels_follow_a_document_that_was_added_under_another_name_and_deleted_under_the_first(
    wb, club, ann, question_id
):
    ingestion.ingest(wb, club.id, [("rules 2027.txt", RULES)])
    old = documents.find_document_by_name(wb, club.id, "rules")
    documents.delete_document(wb, old.id)
    gone = find_gone(wb, club, ann)
    same = successors.find_same_sentences(wb, club.id, [r.sentence_id for r in gone.values()])
    assert len(same) == 2 and all(new.is_same and new.title == "rules 2027" for new in same.values())
    assert move(wb, club, ann, list(gone.values()), same) == 2
    assert find_gone(wb, club, ann) == {}
    annotation.undo_last(wb, ann.id, club.id)  # one act
    assert len(find_gone(wb, club, ann)) == 2


def test_who_is_no_admin_moves_only_their_own_labels_and_none_onto_a_label_of_theirs(wb, club, ann, bob, question_id):
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    record = find_gone(wb, club, ann)["The fee is 48 euros a year."]
    new = {record.sentence_id: successors.find_successor(wb, club.id, record.sentence_id)}
    with pytest.raises(NotAllowed):
        move(wb, club, bob, [record], new)
    pair = {"question_id": question_id, "sentence_id": new[record.sentence_id].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="unsure")
    assert move(wb, club, ann, [record], new) == 0
    assert ("The fee is 48 euros a year.", "correct", True) in list_pairs(wb, club, ann)


def find_fee(wb, club, ann):
    """The labels of the fee's old wording, and what stands there now."""
    view = label_list.list_labels(wb, club.id, by=ann.id, which=LabelSearch(is_gone=True, search="48 euros"), limit=10)
    first = view.page[0].sentence_id
    return view.page, {first: successors.find_successor(wb, club.id, first)}


def test_an_admin_moves_labels_of_somebody_who_left_and_they_keep_name_and_time(wb, club, ann, bob, question_id, clock):
    sentence = next(
        r.sentence_id for r in label_list.list_labels(wb, club.id, by=ann.id, limit=9).page if "fee" in r.sentence
    )
    pair = {"question_id": question_id, "sentence_id": sentence}
    annotation.give_label(wb, **pair, annotator_id=bob.id, label="incorrect")
    given = clock()
    people.set_role(wb, bob.id, "blocked", by=ann.id)
    clock.advance(days=30)
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    records, new = find_fee(wb, club, ann)
    assert [r.annotator for r in records] == ["bob", "ann"]
    assert move(wb, club, ann, records, new) == 2
    page = label_list.list_labels(wb, club.id, by=ann.id, which=LabelSearch(search="54"), limit=9).page
    assert {(r.annotator, r.label, r.is_gone) for r in page} == {("ann", "correct", False), ("bob", "incorrect", False)}
    assert next(r.created for r in page if r.annotator == "bob") == given
    event = audit_log.list_events(wb, by=None)[0]
    assert (event.actor, event.act, event.target, event.detail) == ("ann", "move labels", "club", "1 of ann, 1 of bob")
    assert [e.annotator for e in label_list.list_history(wb, *new_pair(page), by=ann.id)] == ["ann", "bob"]
    [moved] = [e for e in label_list.list_history(wb, *new_pair(page), by=ann.id) if e.annotator == "bob"]
    assert (moved.label, moved.is_by_admin, moved.is_move) == ("incorrect", True, True)
    assert moved.created == clock() > given  # when it was moved
    annotation.undo_last(wb, ann.id, club.id)  # her own comes back, his stays moved
    page = label_list.list_labels(wb, club.id, by=ann.id, which=LabelSearch(search="54"), limit=9).page
    assert [r.annotator for r in page] == ["bob"]


def test_a_move_is_one_act_in_what_can_be_undone_and_in_the_histories_of_both_sentences(wb, club, ann, question_id):
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    records, new = find_fee(wb, club, ann)
    move(wb, club, ann, records, new)
    last, *others = annotation.list_acts(wb, ann.id, club.id)
    assert (last.label, last.text, last.pairs) == ("moved", "The yearly fee is 54 euros a year.", 1)
    assert [act.label for act in others] == ["incorrect", "correct"]
    old, [successor] = (question_id, records[0].sentence_id), new.values()
    steps = [e.describe() for e in label_list.list_history(wb, *old, by=ann.id)]
    assert steps == ["correct", "moved to another sentence"]
    there = (question_id, successor.sentence_id)
    assert [e.describe() for e in label_list.list_history(wb, *there, by=ann.id)] == ["correct (moved here)"]
    annotation.undo_last(wb, ann.id, club.id)
    steps = [e.describe() for e in label_list.list_history(wb, *there, by=ann.id)]
    assert steps == ["correct (moved here)", "withdrawn (Undo)"]


def new_pair(page):
    return page[0].question_id, page[0].sentence_id


def test_the_undo_of_whose_labels_an_admin_moved_leaves_them_where_they_are(wb, club, ann, bob, question_id):
    sentence = next(
        r.sentence_id for r in label_list.list_labels(wb, club.id, by=ann.id, limit=9).page if "fee" in r.sentence
    )
    pair = {"question_id": question_id, "sentence_id": sentence}
    annotation.give_label(wb, **pair, annotator_id=bob.id, label="correct")
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    records, new = find_fee(wb, club, ann)
    assert move(wb, club, ann, [r for r in records if r.annotator == "bob"], new) == 1
    before = list_pairs(wb, club, bob)
    annotation.undo_last(wb, bob.id, club.id)  # of what he gave the old wording
    assert list_pairs(wb, club, bob) == before == {("The yearly fee is 54 euros a year.", "correct", False)}
    assert annotation.undo_last(wb, bob.id, club.id) is None


def test_an_admin_moves_imported_labels_also_beside_a_persons(wb, club, ann, question_id):
    question, sentence = "What is the fee a year?", "The fee is 48 euros a year."
    table = f"question,sentence,label,annotator\n{question},{sentence},incorrect,crowd\n"
    import_labels(wb, club.id, "tool.csv", table.encode())
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    records, new = find_fee(wb, club, ann)
    assert {r.annotator for r in records} == {"ann", "crowd"}
    assert move(wb, club, ann, records, new) == 2
    assert {r.annotator for r in find_gone(wb, club, ann).values()} == {"ann"}  # the label of another sentence


def test_a_row_without_a_title_that_comes_back_elsewhere_has_its_labels_offered_at_once(wb, ann):
    made = corpora.create_corpus(wb, "faq")
    texts = ["The pool opens at nine.", "Dogs stay outside.", "The pool costs 4 euros.", "Bikes go to the shed."]

    def ingest(rows):
        return ingestion.ingest(wb, made.id, [("faq.csv", "\n".join(["text", *rows]).encode())])

    ingest(texts)
    view = asking.ask(wb, made.id, "What does the pool cost?")
    sentence = next(c.sentence_id for c in view.candidates if c.text == texts[2])
    annotation.give_label(wb, question_id=view.question_id, sentence_id=sentence, annotator_id=ann.id, label="correct")
    [left] = ingest([texts[0], texts[1], texts[3]]).leftovers
    documents.delete_document(wb, left.id)
    ingest([texts[0], texts[1], texts[3], "Chairs are stacked.", texts[2]])
    gone = find_gone(wb, made, ann)
    same = successors.find_same_sentences(wb, made.id, {r.sentence_id for r in gone.values()})
    assert [s.text for s in same.values()] == list(gone) == [texts[2]]
    assert move(wb, made, ann, list(gone.values()), same) == 1


def test_undo_takes_a_move_back_though_somebody_else_labels_the_old_sentence(wb, club, ann, bob, question_id):
    sentence = next(
        r.sentence_id for r in label_list.list_labels(wb, club.id, by=ann.id, limit=9).page if "fee" in r.sentence
    )
    annotation.give_label(wb, question_id=question_id, sentence_id=sentence, annotator_id=bob.id, label="correct")
    ingestion.ingest(wb, club.id, [("rules.txt", REWORDED)])
    records, new = find_fee(wb, club, ann)
    assert move(wb, club, ann, [r for r in records if r.annotator == "ann"], new) == 1
    annotation.undo_last(wb, ann.id, club.id)  # as many as are wanted have labelled the old one without hers
    assert {r.annotator for r in find_fee(wb, club, ann)[0]} == {"ann", "bob"}
    assert move(wb, club, bob, [r for r in records if r.annotator == "bob"], new) == 1
    assert move(wb, club, ann, [r for r in records if r.annotator == "ann"], new) == 1


def test_a_line_that_many_documents_have_takes_no_label_to_another_topic(wb, ann):
    made = corpora.create_corpus(wb, "clinic")
    line = "Some treatments are standard."
    facts = {
        "liver": "Surgery removes the liver tumour.",
        "skin": "Light heals the skin.",
        "bone": "Rest heals a bone.",
    }

    def ingest(*names):
        files = [(f"{name}.txt", f"{facts[name.split()[0]]} {line}".encode()) for name in names]
        ingestion.ingest(wb, made.id, files)

    ingest("liver", "skin", "bone")
    view = asking.ask(wb, made.id, "What treatments of the liver are standard?")
    pair = {"question_id": view.question_id, "annotator_id": ann.id, "label": "correct"}
    for c in view.candidates:
        if c.title == "liver":
            annotation.give_label(wb, sentence_id=c.sentence_id, **pair)
    documents.delete_document(wb, documents.find_document_by_name(wb, made.id, "liver").id)
    ids = {text: r.sentence_id for text, r in find_gone(wb, made, ann).items()}
    assert len(ids) == 2 and successors.find_same_sentences(wb, made.id, ids.values()) == {}
    new = successors.find_successor(wb, made.id, ids[line])  # one that a person may choose
    assert (new.text, new.is_same) == (line, True)
    ingest("liver 2027")
    same = successors.find_same_sentences(wb, made.id, ids.values())
    assert {i: (new.text, new.title) for i, new in same.items()} == {i: (text, "liver 2027") for text, i in ids.items()}


def test_a_sentence_reworded_in_its_document_is_found_there_before_its_old_words_elsewhere(wb, club, ann, question_id):
    ingestion.ingest(
        wb, club.id, [("letter.txt", b"The fee is 48 euros a year. Dear members."), ("rules.txt", REWORDED)]
    )
    gone = find_gone(wb, club, ann)
    new = successors.find_successor(wb, club.id, gone["The fee is 48 euros a year."].sentence_id)
    assert (new.text, new.title) == ("The yearly fee is 54 euros a year.", "rules")


def test_the_list_that_has_a_sentence_as_one_of_its_items_is_proposed(wb, ann):
    """As after an upgrade: earlier releases stored each item of a list alone."""
    made = corpora.create_corpus(wb, "pumps")
    item = "Close both valves, the red one first."
    ingestion.ingest(wb, made.id, [("pump.txt", f"The pump is old. {item} Valves are red.".encode())])
    view = asking.ask(wb, made.id, "What is closed first?")
    sentence = next(c.sentence_id for c in view.candidates if c.text == item)
    annotation.give_label(wb, question_id=view.question_id, sentence_id=sentence, annotator_id=ann.id, label="correct")
    steps = [
        "Before the pump is cleaned every May:",
        "Switch it off at the wall.",
        item,
        "Let it cool for half an hour.",
    ]
    items = "\n- ".join(steps)
    assert ingestion.ingest(wb, made.id, [("pump.txt", f"The pump is old.\n\n{items}".encode())]).orphans == 1
    new = successors.find_successor(wb, made.id, sentence)
    assert item in new.text and new.text.startswith("Before the pump is cleaned every May: Switch it off")


def test_of_sentences_that_share_as_many_words_the_one_in_the_old_place_is_proposed(wb, ann):
    made = corpora.create_corpus(wb, "cases")
    beside, old, new = (
        "There are many types of care.",
        "Many types of care exist.",
        "Several types of care exist there.",
    )
    ingestion.ingest(wb, made.id, [("care.txt", f"{beside} {old}".encode())])
    view = asking.ask(wb, made.id, "Which types of care exist?")
    sentence = next(c.sentence_id for c in view.candidates if c.text == old)
    annotation.give_label(wb, question_id=view.question_id, sentence_id=sentence, annotator_id=ann.id, label="correct")
    ingestion.ingest(wb, made.id, [("care.txt", f"{beside} {new}".encode())])
    shares = [successors.measure_overlap(tokenize(old), text) for text in (beside, new)]
    assert shares[0] == shares[1] > successors.MIN_DICE
    assert successors.find_successor(wb, made.id, sentence).text == new


def test_a_verdict_goes_along_to_the_same_words_and_not_to_others(wb, club, ann, bob, question_id):
    fee = next(r for r in label_list.list_labels(wb, club.id, by=ann.id, limit=9).page if "48" in r.sentence)
    pair = {"question_id": question_id, "sentence_id": fee.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=bob.id, label="incorrect")
    conflicts.adjudicate(wb, **pair, annotator_id=ann.id, label="correct", note="as in the rules")
    ingestion.ingest(wb, club.id, [("rules 2027.txt", RULES)])
    documents.delete_document(wb, documents.find_document_by_name(wb, club.id, "rules").id)
    records, new = find_fee(wb, club, ann)
    assert move(wb, club, ann, records, new) == 2
    [settled] = conflicts.list_conflicts(wb, club.id, ann.id)
    assert settled.sentence_id == new[fee.sentence_id].sentence_id
    assert (settled.verdict, settled.by, settled.note) == ("correct", "ann", "as in the rules")
    ingestion.ingest(wb, club.id, [("rules 2027.txt", REWORDED)])
    records, new = find_fee(wb, club, ann)
    assert move(wb, club, ann, records, new) == 2
    [again] = conflicts.list_conflicts(wb, club.id, ann.id)
    assert (again.text, again.verdict) == ("The yearly fee is 54 euros a year.", "")
