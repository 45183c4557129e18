"""Several documents are deleted at once: those selected, or all that a search finds."""

from types import SimpleNamespace

import streamlit as st
from app_pages import open_page, texts
from stored import TOWERS

from app.corpora import corpora, documents, ingestion
from app.labels import annotation
from app.ui.data import documents as documents_ui


def select_rows(monkeypatch, rows):
    draw = st.dataframe
    chosen = SimpleNamespace(selection=SimpleNamespace(rows=rows))
    monkeypatch.setattr(st, "dataframe", lambda *a, **k: draw(*a, **k) and chosen)


def open_several(query=None):
    at = open_page("data", {"view": "documents", **(query or {})})
    return at.toggle(key="data_documents_several").set_value(True).run()


def list_titles(wb):
    return [d.title for d in documents.list_documents(wb, TOWERS, limit=None)]


def test_the_selected_documents_are_deleted_after_a_confirmation_and_their_labels_stay(wb, me, monkeypatch):
    annotation.give_label(wb, question_id=3, sentence_id=8, annotator_id=me.id, label="correct")
    ingestion.ingest(wb, TOWERS, [("gate.txt", b"The gate is open.")])
    at = open_several()
    assert "Select the documents to delete." in texts(at)
    select_rows(monkeypatch, [1, 2])
    at = at.run().button(key="data_documents_delete_selected").click().run()
    assert "2 documents will be deleted from Towers: A bridge, gate. Their labelled pair stays" in texts(at).replace(
        "*", ""
    )
    assert list_titles(wb) == ["The tower", "A bridge", "gate"]
    at = at.button(key="data_documents_delete_confirm").click().run()
    assert list_titles(wb) == ["The tower"]
    assert [t.value for t in at.toast] == ["2 documents were deleted."]
    assert corpora.get_corpus(wb, TOWERS).labels == 1


def test_all_that_a_search_finds_are_deleted_though_only_the_first_are_listed(wb, monkeypatch):
    ingestion.ingest(wb, TOWERS, [(f"note-{i}.txt", f"Note {i} is short.".encode()) for i in range(5)])
    monkeypatch.setattr(documents_ui, "MAX_LISTED_DOCUMENTS", 2)
    at = open_several({"search": "note-"})
    at = at.button(key="data_documents_delete_matching").click().run()
    at.button(key="data_documents_delete_cancel").click().run()
    assert len(list_titles(wb)) == 7
    at = at.button(key="data_documents_delete_matching").click().run()
    at.button(key="data_documents_delete_confirm").click().run()
    assert list_titles(wb) == ["The tower", "A bridge"]


def test_what_was_to_be_deleted_of_another_corpus_stays(wb):
    """Back in the browser leads to the corpus before, while the dialog is open."""
    other = corpora.create_corpus(wb, "Others")
    ingestion.ingest(wb, other.id, [("gate.txt", b"The gate is open."), ("wall.txt", b"The wall is high.")])
    at = open_several({"search": "tower"})
    at = at.button(key="data_documents_delete_matching").click().run()
    assert "will be deleted from **Towers**" in texts(at)
    at.query_params["corpus"] = "Others"
    assert "will be deleted" not in texts(at.run())
    documents.delete_documents(wb, other.id, [d.id for d in documents.list_documents(wb, TOWERS)])
    assert list_titles(wb) == ["The tower", "A bridge"]


def test_the_labels_of_many_documents_are_counted_at_once(wb, me):
    ids = [d.id for d in documents.list_documents(wb, TOWERS, limit=None)]
    for question_id, sentence_id in ((3, 8), (1, 1), (2, 1)):
        annotation.give_label(wb, question_id=question_id, sentence_id=sentence_id, annotator_id=me.id, label="correct")
    assert documents.count_labels(wb, ids) == sum(documents.count_labels(wb, [i]) for i in ids) == 3
