"""The data page with services in memory."""

import sys
from dataclasses import replace

import fake_work
import pytest

from app.components import data_documents
from app.services.views import DocumentView, SentenceView
from as2core.errors import As2Error


def told(at):
    return fake_work.texts(at).replace("\\", "")


def test_a_new_corpus_is_made_and_chosen(work):
    at = fake_work.page("data")
    at.text_input(key="data_new_name").input("Handbooks")
    at = next(b for b in at.button if b.label == "Create").click().run()
    assert work.corpora == ("Starter", "Towers", "Handbooks")
    assert at.selectbox(key="as2_corpus").value == "Handbooks"


def test_a_name_that_is_taken_is_said_in_the_service_s_words(work):
    at = fake_work.page("data")
    at.text_input(key="data_new_name").input("Towers")
    at = next(b for b in at.button if b.label == "Create").click().run()
    assert "there is a corpus called Towers already: choose another name" in told(at)


def test_another_corpus_is_taken_into_use(work):
    at = fake_work.page("data").button(key="data_use_2").click().run()
    assert at.selectbox(key="as2_corpus").value == "Towers"


def test_deleting_wants_the_name_typed(work):
    at = fake_work.page("data").button(key="data_delete_2").click().run()
    assert "This deletes **Towers**" in told(at)
    at.text_input(key="data_delete_name").input("towers")
    at = at.button(key="data_delete_confirm").click().run()
    assert "That is not its name" in told(at) and work.deleted == []
    at.text_input(key="data_delete_name").input("Towers")
    at.button(key="data_delete_confirm").click().run()
    assert work.deleted == [(2, sum(b"me") % 1000)]


def test_a_corpus_that_was_deleted_elsewhere_asks_for_no_name(work):
    at = fake_work.page("data")
    at.session_state["_data_deleting"] = 9
    assert "can't be undone" not in told(at.run())


def test_all_corpora_are_counted_for_the_page_and_its_list_alone(work, monkeypatch):
    at, corpora, counted = fake_work.page("data"), sys.modules["app.services.corpora"], []
    known = [replace(c, vectors_done=3) for c in corpora.list_corpora(None)]
    monkeypatch.setattr(corpora, "list_corpora", lambda wb: counted.append(wb) or known)
    monkeypatch.setattr(corpora, "get_corpus", lambda wb, corpus_id: known[corpus_id - 1])
    shown = [p.proto.text for p in at.run().get("progress")]
    assert shown == ["Search by meaning: 30 % ready. Until then search goes by words."] * 2
    assert len(counted) == 2


def test_who_signed_in_is_who_deletes(work):
    at = fake_work.page("data")
    at = at.text_input(key="as2_name").set_value("Ada").run()
    at = at.button(key="data_delete_2").click().run()
    at.text_input(key="data_delete_name").input("Towers")
    at.button(key="data_delete_confirm").click().run()
    assert work.deleted == [(2, sum(b"Ada") % 1000)]


@pytest.mark.parametrize("role", ["annotator", "viewer"])
def test_who_may_not_delete_is_told_before_typing_the_name(work, role):
    work.role = role
    delete = fake_work.page("data").button(key="data_delete_2")
    assert delete.disabled and "an admin" in delete.help


def test_files_go_in_and_the_report_names_those_that_did_not(work):
    at = fake_work.page("data")
    files = [("a.txt", b"One. Two.", "text/plain"), ("bad.txt", b"\xff", "text/plain")]
    at = at.file_uploader(key="data_files_0").set_value(files).run()
    at = at.button(key="data_ingest_1").click().run()
    assert work.ingested == [(1, ["a.txt", "bad.txt"])]
    assert "1 added, 0 changed, 0 as before, 1 not readable" in told(at)
    report = next(d.value for d in at.dataframe if "why" in d.value.columns)
    assert list(report["file"]) == ["bad.txt"]
    assert list(report["why"]) == ["not UTF-8 text"]


def test_without_a_corpus_the_page_offers_to_make_one(work):
    work.corpora = ()
    at = fake_work.page("data")
    assert "No corpus yet: make one below" in told(at)
    assert at.text_input(key="data_new_name")


def test_documents_are_found_by_their_title(work):
    at = fake_work.page("data", {"view": "documents", "search": "iron"})
    assert list(at.dataframe[0].value["title"]) == ["Iron works"]
    at = at.text_input(key="data_search").input("nothing like it").run()
    assert "No document has that in its title" in told(at)


def test_a_document_of_the_address_is_shown_by_sentence(work):
    at = fake_work.page("data", {"view": "documents", "doc": "doc-1"})
    assert "<sup>1</sup>The tower was finished on 31 March 1889" in fake_work.markup(at)


def test_a_document_is_deleted_by_a_second_click_and_its_address_goes(work):
    at = fake_work.page("data", {"view": "documents", "doc": "doc-1"})
    at = at.button(key="data_document_gone").click().run()
    assert work.deleted == [1] and "doc" not in at.query_params


def test_sentences_stand_in_their_paragraphs_and_their_text_is_escaped():
    document = DocumentView(1, "d<1>", "A & B", "", 3)
    sentences = [SentenceView(1, "One.", 0, 0), SentenceView(2, "<b>Two.", 1, 0), SentenceView(3, "Three.", 2, 1)]
    html = data_documents.as_markup(document, sentences)
    assert html.count("<p>") == 2
    assert "&lt;b&gt;Two." in html and "A &amp; B" in html and "d&lt;1&gt;" in html


def test_an_import_reports_new_same_conflicting_and_unreadable_lines(work):
    at = fake_work.page("data", {"view": "labels"})
    at = at.file_uploader(key="data_label_file_0").set_value(("mine.csv", b"query,docid,rating", "text/csv")).run()
    at = at.selectbox(key="data_import_split").select("train").run()
    at = at.button(key="data_import_1").click().run()
    assert work.imported == [(None, "mine.csv", b"query,docid,rating", "auto", "import", "train", sum(b"me") % 1000)]
    assert "mine.csv (csv): 3 new labels, 1 there already, 1 in conflict, 1 line not taken; 2 questions; " in told(at)
    assert "moved from no split to train: 2." in told(at)
    lines = next(d.value for d in at.dataframe if "line" in d.value.columns)
    assert list(lines["line"]) == [4]


def test_a_viewer_adds_no_documents(work):
    work.role = "viewer"
    at = fake_work.page("data")
    create = next(b for b in at.button if b.label == "Create")
    assert create.disabled and at.button(key="data_ingest_1").disabled


def test_a_viewer_finds_the_import_closed(work):
    work.role = "viewer"
    at = fake_work.page("data", {"view": "labels"})
    at = at.file_uploader(key="data_label_file_0").set_value(("mine.csv", b"x", "text/csv")).run()
    button = at.button(key="data_import_1")
    assert button.disabled and "You may look, not import" in button.help


def test_a_set_that_was_imported_is_taken_into_use_by_a_click(work):
    work.corpora = (*work.corpora, "mine")
    at = fake_work.page("data", {"view": "labels"})
    at = at.file_uploader(key="data_label_file_0").set_value(("mine.csv", b"x", "text/csv")).run()
    at = at.button(key="data_import_1").click().run()
    at = at.button(key="data_import_use").click().run()
    assert at.selectbox(key="as2_corpus").value == "mine"


def test_what_cannot_be_imported_leaves_the_rest_of_the_page(work, monkeypatch):
    def refuse(*_, **__):
        raise As2Error("mine.csv: csv holds no texts; choose the corpus whose sentences it labels")

    work.labels[1, 100] = "correct"
    at = fake_work.page("data", {"view": "labels"})
    monkeypatch.setattr(sys.modules["app.services.exchange"], "import_labels", refuse)
    at = at.file_uploader(key="data_label_file_0").set_value(("mine.csv", b"x", "text/csv")).run()
    at = at.button(key="data_import_1").click().run()
    assert "csv holds no texts; choose the corpus" in told(at)
    assert at.get("download_button")


def test_an_import_can_go_into_the_corpus_in_use(work):
    at = fake_work.page("data", {"view": "labels"})
    at.radio(key="data_import_target").set_value("Starter")
    at = at.file_uploader(key="data_label_file_0").set_value(("m.tsv", b"x", "text/plain")).run()
    at.button(key="data_import_1").click().run()
    assert work.imported[0][0] == 1


def test_exports_are_offered_once_there_are_labels(work):
    assert "There are no labels to export yet" in told(fake_work.page("data", {"view": "labels"}))
    work.labels[1, 100] = "correct"
    at = fake_work.page("data", {"view": "labels"})
    names = [b.proto.label for b in at.get("download_button")]
    assert names == ["JSONL", "CSV", "Qrels", "WikiQA TSV", "BEIR, zipped", "Pairs"]


def test_a_run_file_is_made_first_and_then_offered(work):
    work.labels[1, 100] = "correct"
    at = fake_work.page("data", {"view": "labels"}).button(key="data_make_run").click().run()
    assert "Run file" in [b.proto.label for b in at.get("download_button")]


def test_a_run_file_of_the_version_before_is_not_offered_once_another_answers(work):
    work.labels[1, 100] = "correct"
    at = fake_work.page("data", {"view": "labels"}).button(key="data_make_run").click().run()
    work.active = "starter-3"
    at = at.run()
    assert "Run file" not in [b.proto.label for b in at.get("download_button")]
    assert at.button(key="data_make_run")
