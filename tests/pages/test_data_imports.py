"""Label files that are imported on the Data page."""

import json

import pytest
import stored
import streamlit as st
from app_pages import open_page, texts
from data_page import label, names, open_data, reasons
from label_files import import_labels
from stored import TOWERS

from app.corpora import corpora, documents
from app.exchange import exports, imports
from app.ui.data.exchange import label_import
from as2core.data import source
from as2core.sources.spreadsheet import mark_utf_8
from as2core.types import Progress

IMPORT_TARGET = f"data_import_target_{TOWERS}"


def test_the_import_asks_for_a_file_first(wb):
    start = open_data({"view": "labels"}).button(key=f"data_import_{TOWERS}")
    assert start.disabled and start.help == "Choose a file first"


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
    assert "t.json has its annotator’s number, not the name. Whose labels are they?** Nothing is imported" in texts(at)
    at = at.button(key="data_import_go").click().run()
    assert "t.json (Label Studio): 2 new labels, 1 record left out; 1 question; " in texts(at)
    assert "1 left out, as skipped by the annotator; a rating of 2 or more counts as correct; " in texts(at)
    assert "; 1 annotator not known here before: " in texts(at)
    assert "The others were read." in texts(at)
    assert reasons(at, 0)[0][0] == "4"
    corpus = corpora.find_corpus(wb, "t")
    assert b'"labels": {"Label Studio user 3": "incorrect"}' in exports.export_labels(wb, corpus.id, "jsonl")


def test_the_numbers_of_a_tool_s_annotators_become_names_known_here(wb):
    data = {"question": stored.QUESTIONS[0], "text": "The tower was finnished in a day."}
    task = {"data": data, "annotations": [annotate(1, "correct"), annotate(2, "incorrect")]}
    at = open_data({"view": "labels"})
    at.radio(key=IMPORT_TARGET).set_value("Towers")
    at = (
        at.file_uploader(key="data_label_file_0").set_value(("t.json", json.dumps([task]).encode(), "text/plain")).run()
    )
    at = at.button(key=f"data_import_{TOWERS}").click().run()
    assert "t.json has its annotators’ numbers, not their names. Whose labels are they?" in texts(at)
    first, second = (at.selectbox(key=f"data_import_annotator_Label Studio user {n}") for n in (1, 2))
    assert (first.label, first.options) == ("Label Studio user 1, 1 label", ["Label Studio user 1", "me"])
    first.select("me")
    at = second.set_value("me").run()
    assert at.button(key="data_import_go").help == "Two annotators have the name me: give each their own"
    at = at.selectbox(key="data_import_annotator_Label Studio user 2").select("Label Studio user 2").run()
    at = at.button(key="data_import_go").click().run()
    assert "1 sentence of the file is not in Towers" in texts(at)  # the next question
    at = at.button(key="data_import_add").click().run()
    assert "t.json (Label Studio): 2 new labels; 1 question; " in texts(at)
    labels = exports.export_labels(wb, TOWERS, "jsonl")
    assert b'"labels": {"Label Studio user 2": "incorrect", "me": "correct"}' in labels
    assert label_import.QUESTION not in at.session_state


def test_who_is_known_by_the_number_already_is_not_asked_about(wb):
    task = {"data": {"question": "Who?", "text": "Nobody."}, "annotations": [annotate(1, "correct")]}
    import_labels(wb, None, "t.json", json.dumps([task]).encode())
    at = import_file("u.json", json.dumps([task]).encode())
    assert "u.json (Label Studio): 1 new label" in texts(at)


def annotate(user, choice):
    result = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [choice]}}
    return {"completed_by": user, "result": [result], "was_cancelled": False}


def test_a_file_that_cannot_be_imported_leaves_no_report_of_the_one_before(wb):
    at = import_file("mine.tsv", WIKIQA.encode())
    assert "mine.tsv (WikiQA TSV): 3 new labels" in texts(at)
    at = at.file_uploader(key="data_label_file_1").set_value(("other.tsv", b"nothing known", "text/plain")).run()
    at = at.button(key=f"data_import_{TOWERS}").click().run()
    assert "other.tsv: the first line must be query,docid,rating or question,sentence,label, not nothing" in texts(at)
    assert "mine.tsv" not in texts(at)


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


@pytest.mark.parametrize(
    ("into", "place"), [("A new corpus", ", in a new corpus with the name of the file. Choose"), ("Towers", ". Import")]
)
def test_stop_ends_an_import_after_what_is_being_stored_and_that_is_told_once(wb, monkeypatch, into, place):
    def click_stop(*_args, on_progress, **_more):
        on_progress(Progress(1, 3, "questions"))
        label_import.request_stop()
        on_progress(Progress(2, 3, "questions"))
        pytest.fail("it goes on")

    with monkeypatch.context() as stopped:
        stopped.setattr(imports, "list_unknown_sentences", lambda *_: ())
        stopped.setattr(imports, "store_labels", click_stop)
        at = import_file("mine.tsv", WIKIQA.encode(), into=into).run()
    assert f"The import of “mine.tsv” was stopped. 2 of 2 questions are stored{place}" in texts(at)
    assert "was stopped" not in texts(at.run())
    assert "was stopped" not in texts(import_file("mine.tsv", WIKIQA.encode()))


def test_the_second_of_two_clicks_on_import_imports_nothing(wb, monkeypatch):
    done = []

    def end_the_first(_name):
        if st.session_state[f"data_import_{TOWERS}"]:
            st.session_state["_data_import_turn"] += 1

    monkeypatch.setattr(imports, "store_labels", lambda *args, **_more: done.append(args))
    monkeypatch.setattr(label_import.acts, "await_end", end_the_first)
    import_file("mine.tsv", WIKIQA.encode())
    assert not done
