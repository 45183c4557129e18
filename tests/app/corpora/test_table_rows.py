"""Tables whose rows have no ids: rows are inserted, removed, moved and edited, and labels stay with their text."""

import io
import json

import pytest
from openpyxl import Workbook

from app.corpora import corpora, documents, ingestion
from app.corpora.unlike_documents import UNLIKE

OPEN, KEY, PARK = ("Open?", "From seven."), ("Key?", "Ask Ben."), ("Park?", "Behind the house.")
NEW = ("Guests?", "On Sundays.")


def make_csv(*rows):
    return "\n".join(["question,answer", *(f"{q},{a}" for q, a in rows)]).encode()


def make_lines(*rows):
    return "\n".join(json.dumps({"title": q, "text": a}) for q, a in rows).encode()


def make_workbook(*rows):
    book, file = Workbook(), io.BytesIO()
    for row in [("Question", "Answer"), *rows]:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


@pytest.fixture
def faq(wb):
    return corpora.create_corpus(wb, "faq")


def read_rows(wb, faq):
    """Name -> (title, text)."""
    views = documents.list_documents(wb, faq.id)
    return {d.external_id: (d.title, documents.list_sentences(wb, d.id)[0].text) for d in views}


@pytest.mark.parametrize(
    ("file", "make"), [("faq.csv", make_csv), ("faq.xlsx", make_workbook), ("faq.jsonl", make_lines)]
)
def test_a_row_that_is_inserted_leaves_the_others_as_they_are(wb, faq, file, make):
    ingestion.ingest(wb, faq.id, [(file, make(OPEN, KEY, PARK))])
    before = read_rows(wb, faq)
    assert list(before.values()) == [OPEN, KEY, PARK]
    again = ingestion.ingest(wb, faq.id, [(file, make(NEW, OPEN, KEY, PARK))])
    assert (again.added, again.updated, again.unchanged, again.leftovers) == (1, 0, 3, ())
    after = read_rows(wb, faq)
    assert after.items() > before.items() and [row for name, row in after.items() if name not in before] == [NEW]
    assert ingestion.ingest(wb, faq.id, [(file, make(NEW, OPEN, KEY, PARK))]).unchanged == 4


def test_a_label_stays_on_its_row_when_rows_move(wb, faq, ann):
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(OPEN, KEY, PARK))])
    sentence_of = {d.title: documents.list_sentences(wb, d.id)[0].id for d in documents.list_documents(wb, faq.id)}
    moved = ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(PARK, NEW, KEY, OPEN))])
    assert (moved.added, moved.unchanged, moved.orphans) == (1, 3, 0)
    for d in documents.list_documents(wb, faq.id):
        if d.title in sentence_of:
            assert documents.list_sentences(wb, d.id)[0].id == sentence_of[d.title]


def test_an_answer_that_changed_stays_with_its_question_though_a_row_above_it_is_new(wb, faq):
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(OPEN, KEY, PARK))])
    names = {title: name for name, (title, _) in read_rows(wb, faq).items()}
    again = ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(NEW, OPEN, ("Key?", "Ask Cem."), PARK))])
    assert (again.added, again.updated, again.unchanged) == (1, 1, 2)
    assert read_rows(wb, faq)[names["Key?"]] == ("Key?", "Ask Cem.")


def test_an_edited_row_without_a_title_keeps_its_number(wb, faq):
    ingestion.ingest(wb, faq.id, [("towns.csv", b"text\nUlm is old.\nBonn is small.\n")])
    again = ingestion.ingest(wb, faq.id, [("towns.csv", b"text\nUlm is old.\nBonn is wide.\n")])
    assert (again.added, again.updated, again.leftovers) == (0, 1, ())


def test_rows_that_a_table_no_longer_has_are_named_until_they_are_deleted(wb, faq):
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(OPEN, KEY, PARK)), ("other.csv", make_csv(NEW))])
    for _ in range(2):
        again = ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(PARK))])
        assert [(d.title, d.source) for d in again.leftovers] == [("Open?", "faq.csv"), ("Key?", "faq.csv")]
    documents.delete_documents(wb, faq.id, [d.id for d in again.leftovers])
    assert ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(PARK))]).leftovers == ()
    assert sorted(read_rows(wb, faq).values()) == sorted([PARK, NEW])


def test_a_file_of_lines_with_ids_may_bring_some_of_them_only(wb, faq):
    lines = ['{"id": "a", "text": "Ulm is old."}', '{"id": "b", "text": "Bonn is small."}']
    ingestion.ingest(wb, faq.id, [("towns.jsonl", "\n".join(lines).encode())])
    again = ingestion.ingest(wb, faq.id, [("towns.jsonl", lines[1].encode())])
    assert (again.unchanged, again.leftovers) == (1, ())


def test_a_row_that_was_deleted_and_is_back_at_another_place_has_its_labels_again(wb, faq, ann):
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(OPEN, KEY))])
    view = next(d for d in documents.list_documents(wb, faq.id) if d.title == "Key?")
    documents.delete_document(wb, view.id)
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(NEW, OPEN, KEY))])
    assert next(d for d in documents.list_documents(wb, faq.id) if d.title == "Key?").id == view.id


def test_of_a_table_that_is_refused_nothing_is_left_over(wb, faq):
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(OPEN, KEY))])
    refused = ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(NEW))], replaces_unlike=False)
    assert [reason.endswith(UNLIKE) for _, reason in refused.failed] == [True]
    assert refused.leftovers == () and list(read_rows(wb, faq).values()) == [OPEN, KEY]


def test_a_new_row_takes_no_name_of_another_files_row(wb, faq):
    ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(OPEN, KEY))])
    ingestion.ingest(wb, faq.id, [("others.csv", b"id,answer\nfaq-5,Of another file.\n")])
    again = ingestion.ingest(wb, faq.id, [("faq.csv", make_csv(NEW, OPEN, KEY))])
    assert (again.added, again.updated) == (1, 0)
    assert read_rows(wb, faq)["faq-5"] == ("", "Of another file.")
