"""The documents of a corpus on the Data page."""

import json
import re

from app_pages import markup, texts
from data_page import open_data
from stored import TOWERS, WORKS

from app.adapt import readiness
from app.corpora import batch_storage, corpora, documents, ingestion
from app.corpora.documents import DocumentView, SentenceView
from app.exchange import exports
from app.exchange.sentence_matching import SOURCE
from app.labels import annotation
from app.ui.data import documents as documents_ui
from db.models import Document


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


def test_deleting_a_document_says_what_becomes_of_its_labels(wb, me, ann):
    bridge = {"view": "documents", "doc": "A_bridge"}
    assert "None of its sentences is labelled." in texts(open_data(bridge))
    for person in (me, ann):  # one pair, as everywhere where pairs are counted
        annotation.give_label(wb, question_id=3, sentence_id=8, annotator_id=person.id, label="correct")
    at = open_data(bridge)
    stays = (
        "Its labelled pair stays, and still counts in retrains, comparisons, exports and the number of labelled pairs"
    )
    assert stays in texts(at)
    at = at.button(key="data_document_gone").click().run()
    assert [t.value for t in at.toast] == ["“A bridge” was deleted. Its labelled pair stays."]
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


def test_after_an_upgrade_the_page_asks_for_the_files_of_documents_that_were_divided_otherwise(wb, monkeypatch):
    files = [("tariff.txt", b"It costs nine euros."), ("hours.txt", b"It opens at nine.")]
    with monkeypatch.context() as earlier:
        earlier.setattr(batch_storage, "SPLIT_RULES", 0)
        ingestion.ingest(wb, WORKS, files)
    with wb.write() as s:  # sentences that came with labels are divided already
        s.add(Document(corpus_id=WORKS, external_id="q", title="", source=SOURCE, text="Nine.", digest="d", sentences=1,
                       updated=wb.clock()))  # fmt: skip
    at = open_data({"corpus": "Works"})
    assert "2 documents were divided into sentences by an earlier release. Add their files again" in texts(at)
    ingestion.ingest(wb, WORKS, files[:1])
    assert "1 document was divided" in texts(open_data({"corpus": "Works"}))
    ingestion.ingest(wb, WORKS, files)
    assert "earlier release" not in texts(open_data({"corpus": "Works"}))
