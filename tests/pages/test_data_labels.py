"""Data, Labels: the table, and withdrawing what a search finds."""

import pytest
import stored
from app_pages import button, open_page, texts
from stored import TOWERS

from app.corpora import corpora, documents, ingestion
from app.labels import annotation, label_list
from app.ui.data import label_list as page

HERE = {"corpus": "Towers", "view": "list"}


@pytest.fixture
def with_labels(wb, ann):
    for sentence, label in ((1, "correct"), (2, "incorrect"), (3, "incorrect")):
        annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=ann.id, label=label)


def count_labels(wb, by):
    return label_list.list_labels(wb, TOWERS, by=by.id, limit=0).total


def test_labels_are_listed_and_those_found_are_withdrawn_after_a_question(wb, ann, with_labels):
    at = open_page("data", HERE)
    [table] = [d.value for d in at.dataframe if "sentence" in d.value]
    assert table["label"].tolist() == ["Incorrect", "Incorrect", "Correct"] and "3 labels" in texts(at)
    assert button(at, "Withdraw …").disabled  # nothing is selected
    at = open_page("data", HERE | {"label": "incorrect"})
    at = button(at, "Withdraw the 2 found …").click().run()
    assert "2 labels of **Towers** (2 by ann)" in texts(at)
    assert count_labels(wb, ann) == 3  # not before it is confirmed
    at.button(key="data_labels_withdraw_confirm").click().run()
    assert count_labels(wb, ann) == 1


def test_below_the_last_row_is_room_for_the_bar_of_a_table_that_is_wider_than_the_page(wb, with_labels, monkeypatch):
    heights, draw = [], page.st.dataframe

    def measure(*of, height="auto", **how):
        heights.append(height)
        return draw(*of, height=height, **how)

    monkeypatch.setattr(page.st, "dataframe", measure)
    open_page("data", HERE)
    assert heights == [4 * 35 + 2 + 11]  # the head and three rows, a border, and what the bar takes with its edge


def test_who_is_no_admin_sees_their_own(wb, me, with_labels):
    annotation.give_label(wb, question_id=2, sentence_id=1, annotator_id=me.id, label="correct")
    stored.set_role(wb, "annotator")
    at = open_page("data", HERE)
    assert "1 label, the newest first" in texts(at) and "These are your own labels" in texts(at)
    assert "Your labels" in [h.value for h in at.header]
    stored.set_role(wb, "viewer")
    at = open_page("data", HERE)
    assert "An admin sees everyone's." in texts(at) and "your own labels" not in texts(at)


def test_a_search_without_a_label_says_so(wb, with_labels):
    at = open_page("data", HERE)
    at = at.text_input(key="data_label_search").set_value("nowhere").run()
    assert "No label matches" in texts(at)


def test_ones_own_label_is_corrected_where_it_was_looked_up_and_another_s_is_not(wb, me, with_labels, monkeypatch):
    annotation.give_label(wb, question_id=2, sentence_id=1, annotator_id=me.id, label="correct")
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [view.page[0]])
    at = open_page("data", HERE)
    at = at.button(key="data_label_change_incorrect").click().run()
    assert stored.labels(wb) == {(2, 1): "incorrect"} and "The label is incorrect now." in [t.value for t in at.toast]
    assert stored.label_events(wb)[-1].queue == "own"
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [view.page[-1]])  # ann's
    assert "data_label_change_incorrect" not in [b.key for b in open_page("data", HERE).button]


def test_the_words_of_a_search_are_in_the_address_and_followed_back(wb, with_labels):
    at = open_page("data", HERE)
    at = at.text_input(key="data_label_search").set_value("nowhere").run()
    assert at.query_params["words"] == "nowhere"
    at = open_page("data", HERE | {"words": "nowhere"})
    assert "No label matches" in texts(at) and at.text_input(key="data_label_search").value == "nowhere"
    at.query_params["words"] = ""
    at = at.run()
    assert "3 labels" in texts(at) and at.text_input(key="data_label_search").value == ""


@pytest.fixture
def gone(wb, me):
    """A label of one's own on a sentence that was reworded."""
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"The annual fee is 48 euros. It is due in May.")])
    document = next(d for d in documents.list_documents(wb, TOWERS) if d.source == "rules.txt")
    sentence = documents.list_sentences(wb, document.id)[0].id
    annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=me.id, label="correct")
    return document


def list_own(wb, me):
    return [(r.sentence, r.is_gone) for r in label_list.list_labels(wb, TOWERS, by=me.id, limit=9).page]


def test_a_label_is_moved_to_the_new_wording_of_its_sentence(wb, me, gone, monkeypatch):
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"The annual fee is 54 euros. It is due in May.")])
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [view.page[0]] if view.page else [])
    at = open_page("data", HERE | {"where": "gone"})
    assert "Most of its words are in this sentence of **rules**" in texts(at)
    assert "The annual fee is 54 euros." in texts(at)
    at = at.button(key="data_label_move").click().run()
    assert list_own(wb, me) == [("The annual fee is 54 euros.", False)]
    assert "No label matches" in texts(at)


def test_labels_of_a_file_that_was_renamed_are_moved_at_once(wb, me, gone):
    ingestion.ingest(wb, TOWERS, [("rules 2027.txt", b"The annual fee is 48 euros. It is due in May.")])
    documents.delete_document(wb, gone.id)
    at = open_page("data", HERE | {"where": "gone"})
    at = at.button(key="data_labels_move_same").click().run()
    assert list_own(wb, me) == [("The annual fee is 48 euros.", False)]


def test_an_admin_moves_the_labels_of_all_on_a_sentence_at_once(wb, me, ann, gone, monkeypatch):
    [record] = label_list.list_labels(wb, TOWERS, by=me.id, limit=9).page
    pair = {"question_id": record.question_id, "sentence_id": record.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="incorrect")
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"The annual fee is 54 euros. It is due in May.")])
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [r for r in view.page if r.annotator == "ann"])
    at = open_page("data", HERE | {"where": "gone"})
    at = at.button(key="data_label_move").click().run()
    assert "2 labels were moved. Undo on Label takes your own back." in [t.value for t in at.toast]
    labels = label_list.list_labels(wb, TOWERS, by=me.id, limit=9).page
    assert {(r.annotator, r.sentence) for r in labels} == {
        (name, "The annual fee is 54 euros.") for name in ("ann", "me")
    }
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [r for r in view.page if not r.is_gone])
    [steps] = [d.value for d in open_page("data", HERE | {"label": "incorrect"}).dataframe if "what" in d.value]
    assert dict(zip(steps["annotator"], steps["what"], strict=True)) == {
        "ann": "Incorrect (moved here by an admin)",
        "me": "Correct (moved here)",
    }


def test_a_label_whose_words_are_nowhere_says_what_brings_it_back(wb, me, gone, monkeypatch):
    documents.delete_document(wb, gone.id)
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [view.page[0]])
    at = open_page("data", HERE | {"where": "gone"})
    assert "add the old document again" in texts(at)
    assert not [b for b in at.button if b.key in ("data_label_move", "data_labels_move_same")]


def test_a_label_is_not_offered_to_a_sentence_that_its_giver_labelled_already(wb, me, gone, monkeypatch):
    ingestion.ingest(wb, TOWERS, [("rules 2027.txt", b"The annual fee is 48 euros. It is due in May.")])
    documents.delete_document(wb, gone.id)
    heir = next(d for d in documents.list_documents(wb, TOWERS) if d.source == "rules 2027.txt")
    there = documents.list_sentences(wb, heir.id)[0].id
    annotation.give_label(wb, question_id=1, sentence_id=there, annotator_id=me.id, label="incorrect")
    monkeypatch.setattr(page, "_draw_table", lambda view, key: [view.page[0]])
    at = open_page("data", HERE | {"where": "gone"})
    assert "The same sentence stands in **rules 2027**" in texts(at)
    assert "You labelled that sentence incorrect already" in texts(at)
    assert not [b for b in at.button if b.key in ("data_label_move", "data_labels_move_same")]


def test_labels_of_another_corpus_are_not_asked_about(wb, ann, with_labels):
    """Back in the browser leads to the corpus before, while the dialog is open."""
    corpora.create_corpus(wb, "Others")
    at = button(open_page("data", HERE | {"label": "incorrect"}), "Withdraw the 2 found …").click().run()
    assert "This withdraws 2 labels of **Towers**" in texts(at)
    at.query_params["corpus"] = "Others"
    assert "This withdraws" not in texts(at.run())
