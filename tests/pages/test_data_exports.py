"""Label files that the Data page offers."""

from codecs import BOM_UTF8

import pytest
import stored
from app_pages import texts
from data_page import label, open_data
from label_files import import_labels
from stored import TOWERS

from app.corpora import corpora
from app.corpora.synonyms import read_synonyms
from app.exchange import exports
from app.labels import annotation
from app.ranking.synonyms import write_synonyms
from app.ui.data.exchange import labels as labels_ui
from app.ui.page import Frame
from app.versions import promotion
from as2core.errors import As2Error


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
    assert "the labelled sentences alone, as the version in use ranks them" in texts(at)


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
