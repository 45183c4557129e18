"""The Data page: corpora, and files that are added to them. The other parts are in test_data_*.py."""

import pytest
import stored
import streamlit as st
from app_pages import button, texts
from data_page import label, names, open_data, reasons
from stored import TOWERS, WORKS

from app.corpora import corpora, documents, ingestion
from app.labels import annotation
from app.ui.wording import describe_vectors


def test_a_new_corpus_is_made_and_chosen(wb):
    at = open_data()
    at.text_input(key="data_new_name_0").input("Handbooks")
    at = button(at, "Create").click().run()
    assert names(wb) == ["Towers", "Works", "Handbooks"]
    assert at.selectbox(key="as2_corpus").value == "Handbooks"
    assert [t.value for t in at.toast] == ["The corpus “Handbooks” was created. Add documents to it."]
    assert at.text_input(key="data_new_name_1").value == ""  # another form: a second click meets none


def test_a_day_is_written_as_on_the_other_pages(wb):
    corpora.create_corpus(wb, "Handbooks")
    assert "created 1 May 2024" in texts(open_data())


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
    assert "Labelled pairs whose sentence is gone: 1. Exports and retrains still use them" in at.warning[0].value


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


def test_labels_whose_sentence_an_upload_brings_back_in_another_document_are_a_click_away(wb, me):
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"The fee is 48 euros. It is due in May.")])
    fee = next(d for d in documents.list_documents(wb, TOWERS) if d.source == "rules.txt")
    sentence = documents.list_sentences(wb, fee.id)[0].id
    annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=me.id, label="correct")
    documents.delete_document(wb, fee.id)
    at = open_data({"corpus": "Towers"})
    files = [("rules 2027.txt", b"It is due in May. The fee is 48 euros.", "text/plain")]
    at = at.file_uploader(key="data_files_0").set_value(files).run()
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "1 label whose sentence was gone has it here again, in another document: move it there." in texts(at)
    at = at.button(key="data_report_gone").click().run()
    at = at.button(key="data_labels_move_same").click().run()
    assert "1 label was moved. Undo on Label takes this back." in [t.value for t in at.toast]
    assert "data_report_gone" not in [b.key for b in open_data({"corpus": "Towers"}).button]


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


def test_it_is_said_why_there_are_more_documents_than_files(wb):
    def add(*files):
        at = open_data().file_uploader(key="data_files_0").set_value(list(files)).run()
        return at.button(key=f"data_ingest_{TOWERS}").click().run()

    table = b"title,text\nBread,It is baked.\nTea,It is drunk.\n"
    at = add(("a.csv", table, "text/csv"), ("b.txt", b"The engine is old.", "text/plain"))
    assert "3 documents from 2 files: a row of a table" in texts(at)
    assert "from 1 file" not in texts(add(("c.txt", b"The pump is new.", "text/plain")))


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


def test_an_upload_that_a_click_ended_is_told_of_once_and_one_that_ran_through_is_not(wb, monkeypatch):
    at = open_data()
    at = at.file_uploader(key="data_files_0").set_value([("a.txt", b"The fee is 48 euros.", "text/plain")]).run()
    with monkeypatch.context() as stopped:
        stopped.setattr(ingestion, "ingest", lambda *_args, **_settings: st.stop())
        at.button(key=f"data_ingest_{TOWERS}").click().run()
    at = at.run()
    assert "Adding files to “Towers” was stopped. What was stored by then is in the corpus." in texts(at)
    at = at.button(key=f"data_ingest_{TOWERS}").click().run()
    assert "was stopped" not in texts(at) and "Towers: 1 document added" in texts(at)
