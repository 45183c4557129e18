"""The data page: corpora and their documents, labels in and out."""

import json
import re
from codecs import BOM_UTF8
from types import SimpleNamespace

import pytest
import stored
import streamlit as st
from app_pages import button, markup, open_page, texts
from label_files import import_labels
from stored import TOWERS, WORKS

from app.adapt import readiness
from app.corpora import corpora, documents, ingestion
from app.corpora.documents import DocumentView, SentenceView
from app.corpora.synonyms import read_synonyms
from app.exchange import exports
from app.labels import annotation
from app.ranking.synonyms import write_synonyms
from app.ui.data import documents as documents_ui
from app.ui.data import label_import
from app.ui.data import labels as labels_ui
from app.ui.page import Frame
from app.ui.wording import describe_vectors
from app.versions import promotion
from as2core.data import jsonl, source
from as2core.data.spreadsheet import mark_utf_8
from as2core.errors import As2Error
from as2core.types import Candidate, Question


def open_data(query=None):
    return open_page("data", query)


def names(wb):
    return [c.name for c in corpora.list_corpora(wb)]


def label(wb, me):
    annotation.give_label(wb, question_id=1, sentence_id=1, annotator_id=me.id, label="correct")


def test_a_new_corpus_is_made_and_chosen(wb):
    at = open_data()
    at.text_input(key="data_new_name_0").input("Handbooks")
    at = button(at, "Create").click().run()
    assert names(wb) == ["Towers", "Works", "Handbooks"]
    assert at.selectbox(key="as2_corpus").value == "Handbooks"
    assert [t.value for t in at.toast] == ["The corpus “Handbooks” was created. Add documents to it."]
    assert at.text_input(key="data_new_name_1").value == ""  # another form: a second click meets none


def test_a_new_corpus_is_chosen_though_a_second_click_overtook_the_run_that_made_it(wb):
    corpora.create_corpus(wb, "Handbooks")
    at = open_data()
    at.session_state["_data_new"].name = "Handbooks"
    at = at.run()
    assert at.selectbox(key="as2_corpus").value == "Handbooks"
    assert "Add documents to “Handbooks”" in [h.value for h in at.header]


def test_a_name_that_is_taken_is_said_in_the_service_s_words(wb):
    at = open_data()
    at.text_input(key="data_new_name_0").input("Works")
    at = button(at, "Create").click().run()
    assert "There is already a corpus 'Works': choose another name" in texts(at)


def test_a_corpus_is_renamed_and_stays_in_use(wb):
    at = open_data({"corpus": "Works"}).button(key=f"data_rename_{WORKS}").click().run()
    at.text_input(key="data_rename_name").set_value("towers")
    at = button(at, "Rename").click().run()
    assert "There is already a corpus 'Towers': choose another name" in texts(at)
    at.text_input(key="data_rename_name").set_value("Factories")
    at = button(at, "Rename").click().run()
    assert names(wb) == ["Towers", "Factories"]
    assert at.selectbox(key="as2_corpus").value == "Factories"
    assert "no corpus called" not in texts(at)
    assert any("is now called “Factories”" in t.value for t in at.toast)


def test_a_viewer_cannot_rename_a_corpus(wb):
    stored.set_role(wb, "viewer")
    assert open_data().button(key=f"data_rename_{WORKS}").disabled


def test_another_corpus_is_taken_into_use(wb):
    at = open_data().button(key=f"data_use_{WORKS}").click().run()
    assert at.selectbox(key="as2_corpus").value == "Works"


def test_deleting_wants_the_name_typed(wb):
    at = open_data().button(key=f"data_delete_{WORKS}").click().run()
    assert "This deletes **Works**" in texts(at)
    at.text_input(key="data_delete_name").input("works")
    at = at.button(key="data_delete_confirm").click().run()
    assert "The name does not match" in texts(at) and names(wb) == ["Towers", "Works"]
    at.text_input(key="data_delete_name").input("Works")
    at.button(key="data_delete_confirm").click().run()
    assert names(wb) == ["Towers"]


def test_a_corpus_that_was_deleted_elsewhere_asks_for_no_name(wb):
    at = open_data()
    at.session_state["_data_deleting"] = 9
    assert "cannot be undone" not in texts(at.run())


def test_after_a_corpus_was_deleted_elsewhere_its_files_are_offered_to_no_other_until_one_is_chosen(wb):
    at = open_data({"corpus": "Works"})
    at = at.file_uploader(key="data_files_0").set_value([("a.txt", b"One.", "text/plain")]).run()
    corpora.delete_corpus(wb, WORKS)
    at = at.button(key=f"data_ingest_{WORKS}").click().run()
    assert "There is no corpus called “Works” here" in at.warning[0].value
    assert not at.get("file_uploader") and not [b for b in at.button if b.key.startswith("data_ingest")]
    at = at.button(key=f"data_use_{TOWERS}").click().run()
    assert not at.warning and "no corpus called" not in texts(at)
    assert at.button(key=f"data_ingest_{TOWERS}").label == "Choose files first"


def test_questions_typed_for_a_corpus_deleted_elsewhere_go_into_no_other(wb):
    at = open_data({"corpus": "Works", "view": "questions"})
    at.text_area[0].set_value("Who built the hall?")
    corpora.delete_corpus(wb, WORKS)
    at = button(at, "Add").click().run()
    assert "The corpus was deleted meanwhile" in texts(at)
    assert "There is no corpus called “Works” here" in at.warning[0].value
    assert not at.text_area
    at = at.button(key="as2_go_on").click().run()
    assert not at.warning and at.text_area[0].value == ""


def test_all_corpora_are_counted_for_the_page_and_its_list_alone(wb, monkeypatch):
    at, count, counted = open_data(), corpora.list_corpora, []
    monkeypatch.setattr(corpora, "list_corpora", lambda wb: counted.append(wb) or count(wb))
    shown = [p.proto.text for p in at.run().get("progress")]
    assert shown == [describe_vectors(0, 1)] * 2
    assert len(counted) == 2


def test_who_signed_in_is_who_deletes(wb, ann):
    stored.set_role(wb, "viewer", "Ada")
    at = open_data()
    at = at.button(key=f"data_delete_{WORKS}").click().run()
    at.text_input(key="data_delete_name").input("Works")
    at = at.text_input(key="as2_name").set_value("Ada").run()
    at = at.button(key="data_delete_confirm").click().run()
    assert "Ada is a viewer, and this takes an admin" in texts(at)
    assert names(wb) == ["Towers", "Works"]


@pytest.mark.parametrize("role", ["annotator", "viewer"])
def test_who_may_not_delete_is_told_before_typing_the_name(wb, role):
    stored.set_role(wb, role)
    delete = open_data().button(key=f"data_delete_{WORKS}")
    assert delete.disabled and "Only an admin" in delete.help


def test_files_go_in_and_the_report_names_those_that_did_not(wb):
    at = open_data()
    files = [("a.txt", b"One. Two.", "text/plain"), ("bad.pdf", b"no PDF", "application/pdf")]
    at = at.file_uploader(key="data_files_0").set_value([*files, ("b.ods", b"PK", "application/zip")]).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert [d.title for d in documents.list_documents(wb, TOWERS)] == ["The tower", "A bridge", "a"]
    assert "1 document added, 2 files not read, in" in texts(at)
    [(file, reason), (other, why)] = reasons(at)
    assert other == "b.ods" and why.startswith("not a supported kind of document; save it as Excel workbook (.xlsx)")
    assert file == "bad.pdf" and reason
    assert "Accepted are PDF, Word (.docx), PowerPoint (.pptx), Excel (.xlsx), mails (.eml), text" in texts(at)


def test_a_file_read_in_part_is_told_from_one_of_which_nothing_was_read(wb):
    at = open_data()
    files = [("a.csv", b"id,text\n1,One.\n2,x,y\n", "text/csv"), ("b.csv", b"name,notes\n1,2\n", "text/csv")]
    at = at.file_uploader(key="data_files_0").set_value(files).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "1 document added, 1 file not read, 1 file read in part, in" in texts(at)
    assert dict(reasons(at))["b.csv"].endswith("Its columns are: name, notes. Rename one and add the file again.")


def test_columns_of_a_table_that_are_not_read_are_named_once(wb):
    files = [("faq.csv", b"Article,Body,Owner,\nReturns,Keep it.,Ann,\nTea,It is hot.,Bob,\n", "text/csv")]
    at = open_data().file_uploader(key="data_files_0").set_value(files).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert texts(at).count("faq.csv has columns that are not read: owner.") == 1
    assert {"Returns", "Tea"} <= {d.title for d in documents.list_documents(wb, TOWERS)}


def test_labels_whose_sentence_a_new_version_changed_are_counted(wb, me):
    label(wb, me)
    [place] = documents.load_sentences(wb, [1])
    rest = [s.text for s in documents.list_sentences(wb, place.document_id) if s.id != 1]
    name = place.source or f"{place.external_id}.txt"
    at = open_data().file_uploader(key="data_files_0").set_value([(name, " ".join(rest).encode(), "text/plain")]).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "1 updated" in texts(at)
    assert "Labels whose sentence is gone: 1. Exports and retrains still use them" in at.warning[0].value


def test_labels_whose_sentence_is_gone_are_a_click_away_from_the_report(wb, me):
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"The fee is 48 euros. It is due in May.")])
    fee = next(d for d in documents.list_documents(wb, TOWERS) if d.source == "rules.txt")
    sentence = documents.list_sentences(wb, fee.id)[0].id
    annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=me.id, label="correct")
    at = open_data({"corpus": "Towers"})
    at = at.file_uploader(key="data_files_0").set_value([("rules.txt", b"It is due in May.", "text/plain")]).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    at = at.button(key="data_report_gone").click().run()
    assert "1 label, the newest first" in texts(at)
    [table] = [d.value for d in at.dataframe if "sentence" in d.value]
    assert table["sentence"].tolist() == ["The fee is 48 euros."]


def test_rows_that_left_a_table_are_named_and_deleted_after_a_question(wb):
    ingestion.ingest(wb, TOWERS, [("faq.csv", b"question,answer\nOpen?,At nine.\nKey?,Ask Ben.\n")])
    at = open_data({"corpus": "Towers"})
    table = b"question,answer\nKey?,Ask Ben.\n"
    at = at.file_uploader(key="data_files_0").set_value([("faq.csv", table, "text/csv")]).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "faq.csv no longer has 1 document that it had before: “Open?”" in texts(at)
    at = at.button(key="data_leftovers_delete").click().run()
    at = at.button(key="data_documents_delete_confirm").click().run()
    assert [d.title for d in documents.list_documents(wb, TOWERS) if d.source == "faq.csv"] == ["Key?"]
    assert "no longer has" not in texts(at)


def test_rows_that_were_updated_are_named_by_their_file(wb):
    ingestion.ingest(wb, TOWERS, [("faq.csv", b"question,answer\nOpen?,At nine.\nKey?,Ask Ben.\nWhy?,So.\n")])
    table = b"question,answer\nOpen?,At ten.\nKey?,Ask Cem.\nWhy?,So.\n"
    at = open_data({"corpus": "Towers"}).file_uploader(key="data_files_0").set_value([("faq.csv", table, "text/csv")])
    at = at.run().button(key=f"data_ingest_{TOWERS}").click().run()
    assert "Updated: faq.csv (2 documents)." in texts(at)


def test_two_files_of_one_name_are_not_added_before_one_is_renamed(wb):
    at = open_data({"corpus": "Towers"})
    files = [("notes.txt", b"The flag is blue.", "text/plain"), ("notes.txt", b"The cellar is dry.", "text/plain")]
    at = at.file_uploader(key="data_files_0").set_value(files).run()
    assert "Several of these files have the same name: notes.txt." in texts(at)
    assert at.button(key=f"data_ingest_{TOWERS}").disabled
    at = at.file_uploader(key="data_files_0").set_value([files[0], files[0]]).run()  # the same file twice
    assert "have the same name" not in texts(at) and not at.button(key=f"data_ingest_{TOWERS}").disabled


def test_a_document_that_replaces_another_one_is_named_beside_those_that_were_edited(wb):
    ingestion.ingest(wb, TOWERS, [(name, b"The engine is old. It stands in Ulm.") for name in ("a.txt", "b.txt")])
    at = open_data()
    files = [("a.txt", b"Bread is baked.", "text/plain"), ("b.txt", b"The engine is old. It was sold.", "text/plain")]
    at = at.file_uploader(key="data_files_0").set_value(files).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "0 documents added, 2 updated, in" in texts(at)
    assert "Another document of the same name was replaced, without a sentence in common: a.txt." in texts(at)
    assert "Updated: b.txt." in texts(at)


def test_a_document_in_another_language_is_added_with_a_note(wb):
    at = open_data()
    german = "Der Filter wird gewechselt. Das Gerät ist vorher vom Netz zu nehmen.".encode()
    at = at.file_uploader(key="data_files_0").set_value([("filter.txt", german, "text/plain")]).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "filter.txt does not look English" in texts(at)


def test_a_file_without_sentence_ends_is_added_with_a_note(wb):
    at = open_data()
    at = at.file_uploader(key="data_files_0").set_value([("words.txt", b"word " * 1000, "text/plain")]).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "words.txt has no sentence ends: it was cut about every 1,000 characters." in texts(at)


def test_the_corpus_that_files_go_into_is_named_where_they_are_added(wb):
    at = open_data({"corpus": "Works"})
    headings = [h.value.replace("\\", "") for h in at.header]
    assert headings[:2] == ["New corpus", "Add documents to “Works”"]
    assert "comes with the program" not in texts(at)
    at = at.file_uploader(key="data_files_0").set_value([("a.txt", b"One.", "text/plain")]).run()
    assert at.button(key=f"data_ingest_{WORKS}").label == "Add 1 file to “Works”"


def test_on_a_shipped_corpus_a_corpus_of_ones_own_is_suggested_first(wb):
    corpora.create_corpus(wb, corpora.HANDBOOK)
    at = open_data({"corpus": corpora.HANDBOOK})
    assert "“handbook” comes with the program. For your own documents, create a corpus above first." in texts(at)


def test_without_a_corpus_the_page_offers_to_make_one(wb):
    stored.delete_corpora(wb)
    at = open_data()
    assert "No corpus yet. Create one below" in texts(at)
    assert at.text_input(key="data_new_name_0")


def test_synonyms_are_kept_and_a_line_that_cannot_be_read_is_named_and_stays(wb):
    at = open_data({"view": "synonyms", "corpus": "Towers"})
    key = f"data_synonyms_{TOWERS}"
    at.text_area(key=key).input("iron lady = Eiffel Tower")
    at = at.button(key="data_synonyms_save").click().run()
    assert "- Line 1" in texts(at) and at.text_area(key=key).value == "iron lady = Eiffel Tower"
    at.text_area(key=key).input("iron lady = Eiffel Tower\nlady => tower\nEiffel")
    at = at.button(key="data_synonyms_save").click().run()
    [error] = at.error
    assert error.value.count("\n- Line") == 2 and "- Line 3" in error.value
    assert not open_data({"view": "synonyms", "corpus": "Towers"}).error
    at.text_area(key=key).input("iron lady   => Eiffel Tower")
    at = at.button(key="data_synonyms_save").click().run()
    assert at.text_area(key=key).value == "iron lady => Eiffel Tower\n"
    assert not at.error
    assert read_synonyms(wb, TOWERS).words == ["iron lady"]


def switch_view(at, view):
    return at.segmented_control(key="data_view").set_value(view).run()


def test_synonyms_that_are_not_saved_outlast_another_view(wb):
    key, line = f"data_synonyms_{TOWERS}", "iron lady => Eiffel Tower\n"
    at = open_data({"view": "synonyms", "corpus": "Towers"})
    at.text_area(key=key).input(line)
    at = switch_view(switch_view(at, "questions"), "synonyms")
    assert at.text_area(key=key).value == line and not read_synonyms(wb, TOWERS)
    at = at.button(key="data_synonyms_save").click().run()
    write_synonyms(wb, TOWERS, "lady => tower", by=None)  # what is saved elsewhere is shown where nothing waits
    at = switch_view(switch_view(at, "questions"), "synonyms")
    assert at.text_area(key=key).value == "lady => tower\n"


def import_machines(wb):
    """Labels whose answers are about a VX-90 where the question has a whale."""
    questions = [
        Question(f"{word} {part}", f"which {part} has the {word}", (Candidate(f"{kind} {part}", f"{kind} {part}.", 1),))
        for word, kind in (("whale", "VX-90"), ("clerk", "VX-60"), ("toaster", "DR-12"))
        for part in ("belt", "pump", "fan", "valve")
    ]
    import_labels(wb, None, "machines.jsonl", jsonl.dumps(questions).encode())


def select_rows(draw, rows):
    """A table that a person has chosen these rows of; AppTest has no way of its own."""

    def draw_with_selection(*args, **kwargs):
        draw(*args, **kwargs)
        return SimpleNamespace(selection=SimpleNamespace(rows=rows))

    return draw_with_selection


def test_what_the_labels_suggest_is_added_to_the_synonyms_and_saved_by_hand(wb, monkeypatch):
    import_machines(wb)
    at = open_data({"view": "synonyms", "corpus": "machines"})
    assert sorted(at.dataframe[0].value["meaning"]) == ["DR-12", "VX-60", "VX-90"]
    assert at.button(key="data_synonyms_add").disabled  # a person chooses
    monkeypatch.setattr(st, "dataframe", select_rows(st.dataframe, [0, 1, 2]))
    at = button(at.run(), "Add the 3 selected").click().run()
    corpus = next(c for c in corpora.list_corpora(wb) if c.name == "machines")
    assert "whale => VX-90\n" in at.text_area(key=f"data_synonyms_{corpus.id}").value
    assert not at.dataframe and not read_synonyms(wb, corpus.id)
    at.button(key="data_synonyms_save").click().run()
    assert sorted(read_synonyms(wb, corpus.id).words) == ["clerk", "toaster", "whale"]


def test_a_suggestion_that_is_wrong_is_dismissed_for_good(wb, monkeypatch):
    import_machines(wb)
    address = {"view": "synonyms", "corpus": "machines"}
    first = open_data(address).dataframe[0].value["word"].iloc[0]
    assert open_data(address).button(key="data_synonyms_dismiss").disabled

    monkeypatch.setattr(st, "dataframe", select_rows(st.dataframe, [0]))
    button(open_data(address), "Dismiss the 1 selected").click().run()
    words = list(open_data(address).dataframe[0].value["word"])
    assert len(words) == 2 and first not in words


def test_adapt_leads_to_the_synonyms_that_the_labels_suggest(wb):
    import_machines(wb)
    hint = "The labels suggest 3 synonyms: these work at once, without a retrain"

    def list_links(corpus):
        return [link.proto.label for link in open_page("adapt", {"corpus": corpus}).get("page_link")]

    assert hint in list_links("machines")
    assert hint not in list_links("Works")


def test_documents_are_found_by_their_title_or_their_file(wb):
    ingestion.ingest(wb, WORKS, [("tariff.csv", b"id,title,text\nt1,Prices,Nine euros.\n")])
    at = open_data({"corpus": "Works", "view": "documents", "search": "TARIFF.c"})
    assert list(at.dataframe[0].value["title"]) == ["Prices"]
    widths = [c["width"] for c in json.loads(at.dataframe[0].proto.columns).values() if c.get("width")]
    assert len(widths) == 3 and 33 + sum(widths) <= 425  # with the boxes, in a window 1280 wide
    at = open_data({"corpus": "Works", "view": "documents", "search": "other"})
    assert list(at.dataframe[0].value["title"]) == ["Other iron works"]
    at = at.text_input(key="data_search").input("nothing like it").run()
    assert "No document matches" in texts(at)


def test_a_document_of_the_address_is_shown_by_sentence(wb):
    at = open_data({"view": "documents", "doc": "The_tower"})
    assert "<sup>1</sup>The tower was finished on 31 March 1889" in markup(at)


def test_a_document_is_deleted_by_a_second_click_and_its_address_goes(wb):
    at = open_data({"view": "documents", "doc": "The_tower"})
    at = at.button(key="data_document_gone").click().run()
    assert [d.title for d in documents.list_documents(wb, TOWERS)] == ["A bridge"]
    assert "doc" not in at.query_params


def test_deleting_a_document_says_what_becomes_of_its_labels(wb, me):
    bridge = {"view": "documents", "doc": "A_bridge"}
    assert "None of its sentences is labelled." in texts(open_data(bridge))
    annotation.give_label(wb, question_id=3, sentence_id=8, annotator_id=me.id, label="correct")
    at = open_data(bridge)
    assert "Its label stays, and still counts in retrains, comparisons, exports and the number of labels" in texts(at)
    at.button(key="data_document_gone").click().run()
    assert corpora.get_corpus(wb, TOWERS).labels == 1
    assert [q.positives for q in exports.load_labelled_questions(wb, TOWERS) if q.positives] == [1]
    assert not readiness.check_readiness(wb, TOWERS).incorrect and readiness.check_readiness(wb, TOWERS).correct == 1


def numbers(at):
    """Of the sentences that are drawn."""
    return [int(n) for n in re.findall(r"<sup>(\d+)</sup>", markup(at))]


def test_a_long_document_is_drawn_in_parts_around_the_sentence_wanted(wb, monkeypatch):
    ingestion.ingest(wb, TOWERS, [("book.txt", " ".join(f"Fact {i} holds." for i in range(1, 21)).encode())])
    monkeypatch.setattr(documents_ui, "MAX_SENTENCES", 6)
    book = {"view": "documents", "doc": "book"}
    at = open_data(book)
    assert numbers(at) == [1, 2, 3, 4, 5, 6]
    assert "20 sentences" in markup(at)
    at = at.button(key="data_document_more").click().run()
    assert numbers(at) == list(range(1, 13))
    at = open_data({**book, "sentence": "11"})
    assert numbers(at) == [8, 9, 10, 11, 12, 13]
    at = at.button(key="data_document_earlier").click().run()
    assert numbers(at) == list(range(2, 14))
    at = at.button(key="data_document_earlier").click().run().button(key="data_document_more").click().run()
    assert numbers(at) == list(range(1, 20))
    assert numbers(open_data({**book, "sentence": "20"})) == numbers(open_data({**book, "sentence": "99"}))
    assert numbers(open_data({**book, "sentence": "20"})) == [15, 16, 17, 18, 19, 20]


def test_sentences_stand_in_their_paragraphs_and_their_text_is_escaped():
    document = DocumentView(1, "d<1>", "A & B", "", 3)
    sentences = [SentenceView(1, "One.", 0, 0), SentenceView(2, "<b>Two.", 1, 0), SentenceView(3, "Three.", 2, 1)]
    html = documents_ui.render_title(document) + documents_ui.render_text(sentences)
    assert html.count('<p dir="auto">') == 2
    assert "&lt;b&gt;Two." in html and "A &amp; B" in html and "d&lt;1&gt;" in html


def reasons(at, number=0):
    """The cells of a table of reasons on the page, row by row."""
    tables = [html for h in at.get("html") if 'class="as2-reasons"' in (html := h.proto.body)]
    rows = re.findall(r"<tr>(<td>.*?)</tr>", tables[number])
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


IMPORT_TARGET = f"data_import_target_{TOWERS}"


def import_file(name, content, *, into="A new corpus", split=None):
    at = open_data({"view": "labels"})
    if into:
        at.radio(key=IMPORT_TARGET).set_value(into)
    at = at.file_uploader(key="data_label_file_0").set_value((name, content, "text/plain")).run()
    if split:
        at = at.selectbox(key="data_import_split").select(split).run()
    return at.button(key=f"data_import_{TOWERS}").click().run()


WIKIQA = """QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel
Q1\twho came\tD1\tA day\tD1-0\tIt rained all day.\t0
Q1\twho came\tD1\tA day\tD1-1\tNobody came that day.\t1
Q2\twhat fell\tD1\tA day\tD1-0\tIt rained all day.\t1
"""


def test_an_import_reports_new_same_conflicting_and_unreadable_lines(wb):
    made = import_labels(wb, None, "mine.tsv", WIKIQA.encode())
    versed = WIKIQA.replace("Nobody came that day.\t1", "Nobody came that day.\t0") + "Q3\twhy\tD1\tA day\tD1-2\n"
    at = open_page("data", {"corpus": "mine", "view": "labels"})
    at = at.file_uploader(key="data_label_file_0").set_value(("mine.tsv", versed.encode(), "text/plain")).run()
    at = at.selectbox(key="data_import_split").select("train").run()
    at = at.button(key=f"data_import_{made.corpus_id}").click().run()
    assert "(WikiQA TSV): 0 new labels, 2 unchanged, 1 in conflict, 1 line left out; 2 questions; " in texts(at)
    assert "moved from no split to train: 2." in texts(at)
    [(line, _)], [(conflict,)], lines = reasons(at, 0), reasons(at, 1), reasons(at, 2)
    assert line == "5"
    assert "Nobody came" in conflict or "D1-1" in conflict
    assert [outcome for _, outcome, _ in lines] == ["same", "conflicting", "same", "malformed"]


def test_a_tool_s_file_is_recognised_and_its_ratings_records_and_skipped_answers_are_told(wb):
    tasks = [
        {"data": {"question": "Who came?", "text": text}, "annotations": [annotate(3, choice) | more]}
        for text, choice, more in (("Nobody.", "2", {}), ("Some did.", "1", {}), ("All.", "3", {"was_cancelled": True}))
    ]
    tasks.append({"data": {"text": "No question."}, "annotations": [annotate(3, "1")]})
    at = open_data({"view": "labels"})
    at.radio(key=IMPORT_TARGET).set_value("A new corpus")
    at.number_input(key="data_import_min_correct").set_value(2)
    at = at.file_uploader(key="data_label_file_0").set_value(("t.json", json.dumps(tasks).encode(), "text/plain")).run()
    at = at.button(key=f"data_import_{TOWERS}").click().run()
    assert "t.json (Label Studio): 2 new labels, 1 record left out; 1 question; " in texts(at)
    assert "1 left out, as skipped by the annotator; a rating of 2 or more counts as correct; " in texts(at)
    assert "; 1 annotator not known here before: " in texts(at)
    assert "The others were read." in texts(at)
    assert reasons(at, 0)[0][0] == "4"
    corpus = corpora.find_corpus(wb, "t")
    assert b'"labels": {"Label Studio user 3": "incorrect"}' in exports.export_labels(wb, corpus.id, "jsonl")


def annotate(user, choice):
    result = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [choice]}}
    return {"completed_by": user, "result": [result], "was_cancelled": False}


def test_a_file_that_cannot_be_imported_leaves_no_report_of_the_one_before(wb):
    at = import_file("mine.tsv", WIKIQA.encode())
    assert "mine.tsv (WikiQA TSV): 3 new labels" in texts(at)
    at = at.file_uploader(key="data_label_file_1").set_value(("other.tsv", b"nothing known", "text/plain")).run()
    at = at.button(key=f"data_import_{TOWERS}").click().run()
    assert "other.tsv: unknown format; a table (CSV or Excel) needs the columns" in texts(at)
    assert "mine.tsv" not in texts(at)


def test_a_corpus_without_a_name_is_refused_with_what_is_missing(wb):
    at = open_data()
    at.text_input(key="data_new_name_0").input("  ")
    at = button(at, "Create").click().run()
    assert "A corpus needs a name: type one" in texts(at)
    name = at.text_input(key="data_new_name_0").input("N" * 90)
    assert name.proto.max_chars == 0  # Streamlit drops a longer text that is pasted, and the name is missing again
    assert "The name has 90 characters; shorten it to at most 80" in texts(button(at, "Create").click().run())
    assert names(wb) == ["Towers", "Works"]


def test_a_viewer_adds_no_documents(wb):
    stored.set_role(wb, "viewer")
    at = open_data()
    assert button(at, "Create").disabled and at.button(key=f"data_ingest_{TOWERS}").disabled


def test_a_viewer_finds_the_import_closed(wb):
    stored.set_role(wb, "viewer")
    at = open_data({"view": "labels"})
    assert at.file_uploader(key="data_label_file_0").disabled
    import_ = at.button(key=f"data_import_{TOWERS}")
    assert import_.disabled and "Viewers cannot import" in import_.help


def test_a_set_that_was_imported_is_taken_into_use_by_a_click(wb):
    at = import_file("mine.tsv", WIKIQA.encode())
    at = at.button(key="data_import_use").click().run()
    assert at.selectbox(key="as2_corpus").value == "mine"


def test_what_cannot_be_imported_leaves_the_rest_of_the_page(wb, me):
    label(wb, me)
    at = import_file("mine.csv", b"query,docid,rating\nWho came?,1,1\n")
    assert "csv holds no texts; choose the corpus" in texts(at)
    assert "JSONL" in [b.proto.label for b in at.get("download_button")]


def test_an_import_can_go_into_the_corpus_in_use(wb):
    at = import_file("m.csv", f"query,docid,rating\n{stored.QUESTIONS[0]},The_tower-1,1\n".encode(), into="Towers")
    assert "1 new label" in texts(at)
    assert [c.labels for c in corpora.list_corpora(wb)] == [1, 0]


def test_an_import_into_a_corpus_says_what_it_added(wb):
    at = import_file("mine.tsv", WIKIQA.encode(), into="Towers").button(key="data_import_add").click().run()
    assert "2 questions; 2 new sentences, 1 new document and 2 new questions in Towers." in texts(at)


ONE_UNKNOWN = f"""question;sentence;label
{stored.QUESTIONS[0]};The tower was finished on 31 March 1889, after two years of work.;correct
{stored.QUESTIONS[0]};The tower was finnished in a day.;incorrect
"""


def count_documents(wb):
    return len(documents.list_documents(wb, TOWERS))


def test_sentences_that_the_corpus_lacks_become_documents_after_a_question(wb):
    at = import_file("my_labels.csv", ONE_UNKNOWN.encode(), into="Towers")
    assert "1 sentence of the file is not in Towers, perhaps by a typing error" in texts(at)
    assert "The tower was finnished in a day." in texts(at)
    assert (count_documents(wb), corpora.get_corpus(wb, TOWERS).labels) == (2, 0)
    at = at.button(key="data_import_add").click().run()
    assert "2 new labels" in texts(at) and "not in Towers" not in texts(at)
    assert [d.title for d in documents.list_documents(wb, TOWERS)] == ["The tower", "A bridge", "my labels"]


def test_a_file_of_mostly_unknown_sentences_is_taken_for_one_of_another_corpus(wb):
    rows = [f"{stored.QUESTIONS[0]};Valve {n} is open.;incorrect" for n in range(12)]
    at = import_file("other.csv", "\n".join([*ONE_UNKNOWN.splitlines(), *rows]).encode(), into="Towers")
    assert "Only 1 of the file’s 14 sentences are in Towers: it may be a file of another corpus" in texts(at)


def test_sentences_that_the_corpus_lacks_are_left_out_where_a_person_says_so(wb):
    at = import_file("mine.csv", ONE_UNKNOWN.encode(), into="Towers").button(key="data_import_leave").click().run()
    assert "1 new label, 1 line left out" in texts(at)
    assert "Compare rankers on these labels" in [x.proto.label for x in at.get("page_link")]
    assert reasons(at)[0] == ["3", "the sentence “The tower was finnished in a day.” is not in this corpus"]
    assert (count_documents(wb), corpora.get_corpus(wb, TOWERS).labels) == (2, 1)


def test_the_question_about_sentences_ends_when_another_target_is_chosen(wb):
    at = import_file("mine.csv", ONE_UNKNOWN.encode(), into="Towers")
    at = at.radio(key=IMPORT_TARGET).set_value("A new corpus").run()
    assert "not in Towers" not in texts(at)
    at = at.button(key=f"data_import_{TOWERS}").click().run()
    assert "2 new labels" in texts(at) and names(wb) == ["Towers", "Works", "mine"]


def test_an_import_into_a_corpus_without_sentences_asks_nothing(wb):
    corpus = corpora.create_corpus(wb, "Empty")
    at = open_data({"view": "labels", "corpus": "Empty"})
    at = at.file_uploader(key="data_label_file_0").set_value(("mine.csv", ONE_UNKNOWN.encode(), "text/csv")).run()
    at = at.button(key=f"data_import_{corpus.id}").click().run()
    assert "2 new labels" in texts(at)


def test_an_import_goes_into_the_corpus_in_use_unless_that_came_with_the_program(wb, monkeypatch):
    assert open_data({"view": "labels"}).radio(key=IMPORT_TARGET).value == "Towers"
    monkeypatch.setattr(corpora, "_is_shipped", lambda corpus: corpus.name == "Towers")
    assert open_data({"view": "labels"}).radio(key=IMPORT_TARGET).value == "A new corpus"


def test_the_columns_are_named_before_an_upload_and_the_table_to_fill_in_is_an_import(wb):
    assert "the columns question, sentence and label (correct or incorrect)" in texts(open_data({"view": "labels"}))
    lines = source.format_rows(label_import.TEMPLATE)
    done = import_labels(wb, None, "labels-template.csv", mark_utf_8(lines.encode()))
    assert (done.format, done.new, done.malformed) == ("table", 2, ())


def test_exports_for_spreadsheets_have_the_mark_of_utf_8_and_those_for_programs_none(wb, me):
    for sentence, value in ((1, "correct"), (2, "incorrect")):
        annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=me.id, label=value)
    frame = Frame(wb, corpora.get_corpus(wb, TOWERS), me, "cascade", None)
    marked = {fmt for fmt in exports.FORMATS if labels_ui._export(frame, fmt, None).startswith(BOM_UTF8)}
    assert marked == {"csv", "table"}
    for fmt in marked:
        again = import_labels(wb, TOWERS, "again.csv", labels_ui._export(frame, fmt, None))
        assert (again.format, again.new, again.same, again.malformed) == (fmt, 0, 2, ())
        assert not exports.export_labels(wb, TOWERS, fmt).startswith(BOM_UTF8)  # on the command line


def test_exports_are_offered_once_there_are_labels(wb, me):
    assert "There are no labels to export yet" in texts(open_data({"view": "labels"}))
    label(wb, me)
    at = open_data({"view": "labels"})
    offered = [b.proto.label for b in at.get("download_button")]
    assert offered == [
        "Table to fill in",
        "JSONL",
        "Ratings (CSV)",
        "Table (CSV)",
        "Qrels",
        "WikiQA TSV",
        "BEIR, zipped",
        "Pairs",
        "Triplets",
    ]
    assert "A question, a labelled sentence and 1 or 0 per line" in texts(at)
    assert "Question, document, sentence and label (1 or 0) per line, divided by tabs" in texts(at)  # WikiQA
    assert "For Quepid: query, docid, rating (1, 0 or as imported)" in texts(at) and "ratings above 1" not in texts(at)


def test_an_export_that_would_be_empty_says_what_it_needs(wb, me):
    def list_disabled():
        at = open_data({"view": "labels"})
        needs = "Needs a question with a sentence labelled correct and one labelled incorrect." in texts(at)
        return [b.proto.label for b in at.get("download_button") if b.proto.disabled], needs

    def give(sentence, label):
        annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=me.id, label=label)

    give(1, "unsure")
    assert list_disabled() == (["Ratings (CSV)", "Table (CSV)", "Qrels", "Pairs", "Triplets"], True)
    give(1, "correct")
    assert list_disabled() == (["Triplets"], True)
    with pytest.raises(As2Error, match="the file would be empty"):
        exports.export_labels(wb, stored.TOWERS, "triplets")
    give(2, "incorrect")
    assert list_disabled() == ([], False)


def test_a_run_file_is_made_first_and_then_offered(wb, me):
    label(wb, me)
    at = open_data({"view": "labels"}).button(key="data_make_run").click().run()
    assert "Run file" in [b.proto.label for b in at.get("download_button")]


def test_a_file_for_another_tool_is_made_anew_once_a_label_changes(wb, me):
    label(wb, me)
    at = open_data({"view": "labels"})
    at = at.selectbox(key="data_export_to").set_value("prodigy").run()
    assert "An answer per line, accept or reject, with its annotator." in texts(at)
    at = at.button(key="data_make_tool").click().run()
    assert "File for Prodigy" in [b.proto.label for b in at.get("download_button")]
    at = at.selectbox(key="data_export_to").set_value("argilla").run()
    assert at.button(key="data_make_tool").label == "Make a file for Argilla"
    at = at.button(key="data_make_tool").click().run()
    annotation.give_label(wb, question_id=1, sentence_id=1, annotator_id=me.id, label="incorrect")
    assert "File for Argilla" not in [b.proto.label for b in at.run().get("download_button")]


def test_a_run_file_of_the_version_before_is_not_offered_once_another_answers(wb, me):
    label(wb, me)
    at = open_data({"view": "labels"}).button(key="data_make_run").click().run()
    promotion.promote(wb, "starter-3")
    at = at.run()
    assert "Run file" not in [b.proto.label for b in at.get("download_button")]
    assert at.button(key="data_make_run")


def test_a_run_file_ranks_with_the_corpus_s_synonyms_and_is_made_again_when_they_change(wb, me, monkeypatch):
    made = []  # with which synonyms

    def read(*of):
        made.append(str(synonyms := read_synonyms(*of)))
        return synonyms

    monkeypatch.setattr(exports, "read_synonyms", read)
    label(wb, me)
    at = open_data({"view": "labels"}).button(key="data_make_run").click().run()
    write_synonyms(wb, 1, "spire => tower", by=me.id)
    at = at.run()
    assert "Run file" not in [b.proto.label for b in at.get("download_button")]
    at.button(key="data_make_run").click().run()
    assert made == ["", "spire => tower\n"]
