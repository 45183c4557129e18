"""Labels on what an earlier release stored without the words that announce it, after its file was added again."""

import pytest

from app.corpora import batch_storage, documents, ingestion
from app.labels import annotation
from app.labels.consensus import read_labels
from as2core.documents.sections import EarlierTexts
from as2core.text import split_sentences
from db.models import Question

MANUAL = """# The pump

## Cleaning

The pump is cleaned every three months. It is cleaned in May.

## work_mem

The default value is four megabytes. A larger one is faster.

## Parts

Bring:

- a pen and paper for the report. It is long.

It cannot be left out.
"""


@pytest.fixture
def earlier(monkeypatch):
    """Adding files as an earlier release did: each sentence alone, headings among them."""

    def add(wb, corpus_id, files):
        with monkeypatch.context() as patch:
            patch.setattr(batch_storage, "split_document", lambda document: split_sentences(document.text))
            patch.setattr(batch_storage, "SPLIT_RULES", 0)
            return ingestion.ingest(wb, corpus_id, files)

    return add


def label_all(wb, corpus, person):
    """Label each sentence of the only document; returns the question's id and the sentences' ids by text."""
    [stored] = documents.list_documents(wb, corpus.id, "manual")
    sentences = documents.list_sentences(wb, stored.id)
    with wb.write() as s:
        question = Question(corpus_id=corpus.id, text="Which?", external_id="q", origin="asked", created=wb.clock())
        s.add(question)
        s.flush()
        question_id = question.id
    for x in sentences:
        annotation.give_label(
            wb, question_id=question_id, sentence_id=x.id, annotator_id=person.id, label="correct"
        )  # fmt: skip
    return question_id, {x.text: x.id for x in sentences}


def test_a_label_stays_on_its_sentence_behind_what_announces_it_now(wb, towers, ann, earlier):
    earlier(wb, towers.id, [("manual.md", MANUAL.encode())])
    question_id, ids = label_all(wb, towers, ann)
    done = ingestion.ingest(wb, towers.id, [("manual.md", MANUAL.encode())])
    [stored] = documents.list_documents(wb, towers.id, "manual")
    now = {x.text: x.id for x in documents.list_sentences(wb, stored.id)}
    for text, announced in (
        ("The pump is cleaned every three months.", "Cleaning: The pump is cleaned every three months."),
        ("The default value is four megabytes.", "work_mem: The default value is four megabytes."),
        ("A larger one is faster.", "work_mem: A larger one is faster."),
        ("It is cleaned in May.", "It is cleaned in May."),
    ):
        assert now[announced] == ids[text]
        assert read_labels(wb, question_id)[now[announced]] == "correct"
    assert done.orphans == len(ids) - len(set(ids.values()) & set(now.values())) > 0, "headings are no sentences now"


def test_of_words_that_stand_twice_each_label_stays_where_it_was_given(wb, towers, ann, earlier):
    manual = b"# Guide\n\n## Frost\n\nIt is off by default.\n\n## Boost\n\nIt is off by default.\n"
    earlier(wb, towers.id, [("manual.md", manual)])
    [stored] = documents.list_documents(wb, towers.id, "manual")
    first, second = [x.id for x in documents.list_sentences(wb, stored.id) if x.text == "It is off by default."]
    label_all(wb, towers, ann)
    ingestion.ingest(wb, towers.id, [("manual.md", manual)])
    now = {x.text: x.id for x in documents.list_sentences(wb, stored.id)}
    assert now == {"Frost: It is off by default.": first, "Boost: It is off by default.": second}


def test_where_words_became_more_than_they_were_no_label_is_guessed(wb, towers, ann, earlier):
    once = b"# Guide\n\n## Frost\n\nIt is off by default.\n\n## Boost\n\nIt runs for an hour.\n"
    twice = once.replace(b"It runs for an hour.", b"It is off by default.")
    earlier(wb, towers.id, [("manual.md", once)])
    _, ids = label_all(wb, towers, ann)
    ingestion.ingest(wb, towers.id, [("manual.md", twice)])
    [stored] = documents.list_documents(wb, towers.id, "manual")
    assert ids["It is off by default."] not in [x.id for x in documents.list_sentences(wb, stored.id)]


def test_a_text_that_says_something_else_now_takes_no_labels_over(wb, towers, ann):
    ingestion.ingest(wb, towers.id, [("manual.txt", b"It may rain. The pump is on.")])
    _, ids = label_all(wb, towers, ann)
    done = ingestion.ingest(wb, towers.id, [("manual.txt", b"It may rain. This is wrong: The pump is on.")])
    [stored] = documents.list_documents(wb, towers.id, "manual")
    assert ids["The pump is on."] not in [x.id for x in documents.list_sentences(wb, stored.id)]
    assert done.orphans == 1


@pytest.mark.parametrize(
    ("whole", "text", "earlier_text"),
    [
        ("Undo\n\nPress z.", "Undo: Press z.", "Press z."),
        ("Is it free?\n\nPress z.", "Is it free? Press z.", "Press z."),
        ("Keys\n\nUndo\n\nPress z.", "Keys: Undo: Press z.", "Undo: Press z."),  # the longest
        ("Keys. Undo\n\nIt is z.", "Undo: Keys: It is z.", "It is z."),
        ("Press z.", "Undo: Press z.", None),  # words that were not there
        ("Undone\n\nPress z.", "Undo: Press z.", None),  # part of a word
        ("Bring:\n- a pen.\n- It is z.", "Bring: a pen. It is z.", None),  # the last item of a list
    ],
)
def test_what_a_sentence_was_before_something_was_put_in_front_of_it(whole, text, earlier_text):
    among = {"Press z.", "Undo: Press z.", "It is z."}
    assert EarlierTexts(whole).find(text, among) == earlier_text
