"""What is hidden from a reader is found without reading what cannot be hidden."""

import pytest
from sql_statements import record_statements
from tower_texts import QUESTIONS

from app.adapt import label_selection
from app.ask.judgements import read_judgements
from app.compare import findings
from app.labels import annotation, consensus, rules, visibility


@pytest.fixture
def labelled_by_ann(wb, towers, asked, ann):
    sentence = asked.candidates[0].sentence_id
    pair = {"question_id": asked.question_id, "sentence_id": sentence}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    return {(asked.question, asked.candidates[0].text)}


@pytest.mark.parametrize(("overlap", "reader"), [(2, "ann"), (1, "bob"), (2, None)])
def test_no_label_is_read_where_none_can_be_hidden(wb, towers, labelled_by_ann, ann, bob, overlap, reader):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=overlap)
    by = {"ann": ann.id, "bob": bob.id, None: None}[reader]
    with record_statements() as statements:
        assert visibility.find_hidden_labels(wb, towers.id, by) == set()
    assert not [statement for statement in statements if "current_label" in statement]


def test_what_waits_for_a_second_label_is_hidden_from_whom_it_waits_for(wb, towers, labelled_by_ann, ann, bob):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    assert visibility.find_hidden_labels(wb, towers.id, bob.id) == labelled_by_ann


def test_what_is_hidden_of_many_pairs_takes_no_more_statements_than_of_one(wb, towers, asked, ann, bob):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)

    def count_statements():
        with record_statements() as statements:
            assert consensus.read_visible_labels(wb, asked.question_id, bob.id) == {}
            assert read_judgements(wb, towers.id, [asked.question_id], bob.id)[asked.question_id] == {}
        return len(statements)

    counts = []
    for candidate in asked.candidates[:3]:
        pair = {"question_id": asked.question_id, "sentence_id": candidate.sentence_id}
        annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
        counts.append(count_statements())
    assert len(set(counts)) == 1


def test_questions_are_found_by_their_texts_in_one_statement_that_names_them(wb, scored):
    with record_statements() as statements:
        ids = findings.find_question_ids(wb, scored.id, QUESTIONS[:3])
        assert label_selection.find_questions(wb, scored.id, QUESTIONS[:3]) == ids and len(ids) == 3
    assert [statement.count("text_key IN") for statement in statements] == [1, 1]
