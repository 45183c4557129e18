"""A document that comes again under its name with a text that has nothing in common with the stored one."""

import pytest

from app.corpora import batch_storage, documents, ingestion
from app.corpora.unlike_documents import UNLIKE
from as2core.text import split_sentences

ALPHA, BETA = b"The alpha engine was built in 1951. It stands in Ulm.", b"A quite different text. It lies elsewhere."


def read_texts(wb, corpus):
    return {
        d.source: [s.text for s in documents.list_sentences(wb, d.id)] for d in documents.list_documents(wb, corpus.id)
    }


def test_an_unlike_text_is_refused_and_the_others_go_in(wb, towers):
    ingestion.ingest(wb, towers.id, [("a.txt", ALPHA)])
    files = [("a.txt", BETA), ("b.txt", b"The beta engine is new.")]
    view = ingestion.ingest(wb, towers.id, files, replaces_unlike=False)
    assert (view.added, view.updated, view.unchanged, view.failed) == (1, 0, 0, (("a.txt", UNLIKE),))
    texts = read_texts(wb, towers)
    assert texts["a.txt"] == ["The alpha engine was built in 1951.", "It stands in Ulm."] and "b.txt" in texts


def test_an_unlike_text_that_may_replace_is_named(wb, towers):
    ingestion.ingest(wb, towers.id, [("a.txt", ALPHA)])
    view = ingestion.ingest(wb, towers.id, [("a.txt", BETA)])
    assert (view.updated, view.updates, view.replacements, view.failed) == (1, ("a.txt",), ("a.txt",), ())
    assert read_texts(wb, towers)["a.txt"][0] == "A quite different text."


def test_an_edited_text_is_updated(wb, towers):
    ingestion.ingest(wb, towers.id, [("a.txt", ALPHA)])
    edited = b"The alpha engine was\nbuilt in 1951. It was sold."
    view = ingestion.ingest(wb, towers.id, [("a.txt", edited)], replaces_unlike=False)
    assert (view.updated, view.updates, view.replacements, view.failed) == (1, ("a.txt",), (), ())


@pytest.mark.parametrize(
    ("again", "refusals"),
    [
        ("id,text\n1,Ulm is old.\n2,Bonn is wide.\n", 0),  # a row as before
        ("id,text\n1,New first row.\n2,Ulm is old.\n3,Bonn is small.\n", 0),  # all moved by one
        ("id,text\n1,Rye grows here.\n2,Millet grows there.\n", 2),
    ],
)
def test_a_table_is_judged_as_a_whole(wb, towers, again, refusals):
    ingestion.ingest(wb, towers.id, [("towns.csv", b"id,text\n1,Ulm is old.\n2,Bonn is small.\n")])
    view = ingestion.ingest(wb, towers.id, [("towns.csv", again.encode())], replaces_unlike=False)
    assert view.failed == tuple(("towns.csv", f"{i}: {UNLIKE}") for i in range(1, refusals + 1))


def test_a_row_as_before_in_an_earlier_batch_tells_the_file(wb, towers, monkeypatch):
    monkeypatch.setattr(ingestion, "BATCH_DOCUMENTS", 1)
    ingestion.ingest(wb, towers.id, [("towns.csv", b"id,text\n1,Ulm is old.\n2,Bonn is small.\n")])
    again = b"id,text\n1,Ulm is old.\n2,Nothing as before.\n"
    view = ingestion.ingest(wb, towers.id, [("towns.csv", again)], replaces_unlike=False)
    assert (view.updated, view.updates, view.failed) == (1, ("towns.csv, 2",), ())


def test_a_deleted_document_may_come_again_as_it_likes(wb, towers):
    ingestion.ingest(wb, towers.id, [("a.txt", ALPHA)])
    documents.delete_document(wb, next(d.id for d in documents.list_documents(wb, towers.id) if d.source == "a.txt"))
    view = ingestion.ingest(wb, towers.id, [("a.txt", BETA)], replaces_unlike=False)
    assert (view.failed, view.replacements) == ((), ())


def test_the_first_ten_updates_are_named(wb, towers):
    files = [(f"{i:02}.txt", b"One. Two.") for i in range(12)]
    ingestion.ingest(wb, towers.id, files)
    view = ingestion.ingest(wb, towers.id, [(name, b"One. Three.") for name, _ in files])
    assert (view.updated, view.updates) == (12, tuple(f"{i:02}.txt" for i in range(10)))


def test_a_table_that_an_earlier_release_read_without_its_columns_names_is_the_same_one(wb, towers):
    ingestion.ingest(wb, towers.id, [("hours.html", b"<table><tr><td>Ulm<td>9-17<tr><td>Bonn<td>closed</table>")])
    page = b"<table><tr><th>Town<th>Hours<tr><td>Ulm<td>9-17<tr><td>Bonn<td>closed</table>"
    view = ingestion.ingest(wb, towers.id, [("hours.html", page)], replaces_unlike=False)
    assert (view.updated, view.failed) == (1, ())
    assert read_texts(wb, towers)["hours.html"][0] == "Town: Ulm | Hours: 9-17"


def test_a_text_is_no_other_one_because_an_earlier_release_divided_it_otherwise(wb, towers, monkeypatch):
    guide = b"# Guide\n\n## Cleaning\n\nOnce a year is enough.\n"
    with monkeypatch.context() as earlier:
        earlier.setattr(batch_storage, "split_document", lambda document: split_sentences(document.text))
        earlier.setattr(batch_storage, "hash_content", lambda title, text, headings: "of an earlier release")
        ingestion.ingest(wb, towers.id, [("guide.md", guide)])
    view = ingestion.ingest(wb, towers.id, [("guide.md", guide)], replaces_unlike=False)
    assert (view.updated, view.failed) == (1, ())
    assert read_texts(wb, towers)["guide.md"] == ["Cleaning: Once a year is enough."]
