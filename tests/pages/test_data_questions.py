"""The questions of a corpus on the data page: brought in as a list, and the list of all of them."""

import pytest
import stored
from app_pages import open_page, texts
from stored import TOWERS

from app.ask import asking, stored_questions
from app.corpora import documents, ingestion
from app.labels import annotation
from app.ui.data.question_list import describe

TOWER, COSTS, BRIDGE = stored.QUESTIONS  # the questions 1 to 3


def open_questions(**query):
    return open_page("data", {"view": "questions"} | query)


@pytest.fixture
def at(wb):
    return open_questions()


def list_questions(at):
    """Question -> what the page says about it."""
    at = at.run()
    shown = texts(at)
    return [q for q in (*stored.QUESTIONS, "Who built it?") if q in shown]


def label(wb, who, question=1, sentence=1):
    annotation.give_label(wb, question_id=question, sentence_id=sentence, annotator_id=who.id, label="correct")


def test_questions_of_ones_own_come_in_as_a_list_and_the_page_says_how_many(wb, at):
    at.text_area(key=f"data_typed_{TOWERS}").input(f"Who built it?\nWhat cost $5?\n{stored.QUESTIONS[0]}")
    at = at.button(key="data_typed_add").click().run()
    assert stored.questions(wb, TOWERS) == [*stored.QUESTIONS, "Who built it?", "What cost $5?"]
    assert "2 questions added" in texts(at)
    assert f"1 question existed already: {stored.QUESTIONS[0]}" in texts(at)
    assert at.text_area(key=f"data_typed_{TOWERS}").value == ""
    [link] = [x.proto for x in at.get("page_link") if x.proto.label == "Label them"]
    assert "queue=unlabelled" in link.query_string  # not the one that Label was left with


def test_an_empty_list_is_refused_and_a_viewer_brings_none(wb, at):
    at = at.button(key="data_typed_add").click().run()
    assert "Nothing was added. There is no question yet: type one per line." in texts(at)
    stored.set_role(wb, "viewer")
    at = at.run()
    assert at.button(key="data_typed_add").disabled


def test_a_list_pasted_with_its_marks_brings_the_questions_alone(wb, at):
    lines = "- Who built it?\n 2. Where is it?\n3) When?\n• Why?\n5 of what?\n-5 or 7?"
    at.text_area(key=f"data_typed_{TOWERS}").input(lines)
    at.button(key="data_typed_add").click().run()
    brought = ["Who built it?", "Where is it?", "When?", "Why?", "5 of what?", "-5 or 7?"]
    assert stored.questions(wb, TOWERS) == [*stored.QUESTIONS, *brought]


def test_the_questions_of_a_file_come_into_the_field_below_what_is_typed(wb, at):
    at.text_area(key=f"data_typed_{TOWERS}").input("Who built it?\n")
    table = b"date,question\n1.1.,Where is it?\n2.1.,Why?\n"
    at = at.file_uploader(key="data_question_file_0").set_value(("log.csv", table, "text/csv")).run()
    assert at.text_area(key=f"data_typed_{TOWERS}").value == "Who built it?\nWhere is it?\nWhy?"
    assert "The field has 2 questions from log.csv." in texts(at) and not at.get("exception")
    assert stored.questions(wb, TOWERS) == [*stored.QUESTIONS]  # nothing is added yet
    at = at.button(key="data_typed_add").click().run()
    assert stored.questions(wb, TOWERS) == [*stored.QUESTIONS, "Who built it?", "Where is it?", "Why?"]
    assert "3 questions added" in texts(at) and "The field has" not in texts(at)


def test_a_file_without_questions_is_named_and_what_is_typed_stays(at):
    at.text_area(key=f"data_typed_{TOWERS}").input("Who built it?")
    at = at.file_uploader(key="data_question_file_0").set_value(("ages.csv", b"name,age\nAnn,2\n", "text/csv")).run()
    assert "ages.csv: the first line must name a column question or query" in texts(at)
    assert at.text_area(key=f"data_typed_{TOWERS}").value == "Who built it?"


def test_each_question_stands_with_its_origin_its_labels_and_its_queue(wb, at, me, clock):
    label(wb, me)
    clock.advance(minutes=5)
    asking.ask(wb, TOWERS, "Who built it?", as_typed=True)
    views = {q.text: describe(q) for q in stored_questions.list_questions(wb, TOWERS, limit=9).page}
    shown = texts(at.run())
    for text, description in views.items():
        assert text in shown and description.replace("\\", "") in shown
    assert views[TOWER].startswith("Typed on Ask · last asked ") and views[TOWER].endswith(
        "1 labelled sentence · in the label queue"
    )
    assert views["Who built it?"].endswith("no labels · not in the label queue")
    assert "4 questions, last asked first" in shown


def test_labels_on_sentences_that_are_gone_are_told_from_the_others(wb, me):
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"The fee is 48 euros. It is due in May. Fin.")])
    document = next(d for d in documents.list_documents(wb, TOWERS) if d.source == "rules.txt")
    for sentence in documents.list_sentences(wb, document.id)[:2]:
        annotation.give_label(wb, question_id=1, sentence_id=sentence.id, annotator_id=me.id, label="correct")

    def describe_first():
        return describe(next(q for q in stored_questions.list_questions(wb, TOWERS, limit=9).page if q.id == 1))

    assert "· 2 labelled sentences ·" in describe_first()
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"It is due in May. Fin.")])
    assert "· 2 labelled sentences, 1 of them gone ·" in describe_first()
    ingestion.ingest(wb, TOWERS, [("rules.txt", b"Fin.")])
    assert "· 2 labelled sentences, 2 of them gone ·" in describe_first()


def test_questions_are_found_by_text_and_origin_and_the_address_says_so(wb, at, me):
    at = at.text_input(key="data_question_search").input("FORTH").run()
    assert list_questions(at) == [BRIDGE]
    assert at.query_params["find"] == "FORTH"
    assert list_questions(open_questions(find="$5")) == [COSTS]
    at = at.selectbox(key="data_origin").set_value("imported").run()
    assert "No question matches" in texts(at)
    assert list_questions(open_questions(origin="asked")) == list(stored.QUESTIONS)


def test_a_link_opens_the_question_on_ask(at):
    links = [link.proto for link in at.get("page_link") if link.proto.label == "Open on Ask"]
    assert len(links) == 3
    assert any("q=When+was+the+tower+finished" in link.query_string for link in links)


def test_a_question_leaves_the_queue_and_enters_it_again(wb, at):
    at = at.button(key="data_question_1_queue__out").click().run()
    assert not stored_questions.is_queued(wb, 1)
    assert at.button(key="data_question_1_queue__in").label == "Add to the queue"
    at.button(key="data_question_1_queue__in").click().run()
    assert stored_questions.is_queued(wb, 1)


def test_a_question_without_labels_is_deleted_after_a_confirmation(wb, at):
    at = at.button(key="data_question_3_delete").click().run()
    assert "It has no labels" in texts(at)
    at = at.button(key="data_question_delete_cancel").click().run()
    assert stored.questions(wb, TOWERS) == list(stored.QUESTIONS)
    at = at.button(key="data_question_3_delete").click().run()
    at = at.button(key="data_question_delete_confirm").click().run()
    assert stored.questions(wb, TOWERS) == [TOWER, COSTS]
    assert list_questions(at) == [TOWER, COSTS]


def test_what_happens_to_labels_is_said_before_they_are_deleted(wb, at, me, ann):
    label(wb, me)
    label(wb, ann)
    label(wb, ann, sentence=2)
    at = at.button(key="data_question_1_delete").click().run()
    assert "This also deletes 3 labels (2 by ann, 1 by me) and any verdicts on them" in texts(at)
    at.button(key="data_question_delete_confirm").click().run()
    assert stored.questions(wb, TOWERS) == [COSTS, BRIDGE]
    assert stored.label_events(wb) == []


def test_a_label_given_while_one_decides_is_not_deleted_unseen(wb, at, ann):
    at = at.button(key="data_question_1_delete").click().run()
    label(wb, ann)
    at = at.button(key="data_question_delete_confirm").click().run()
    assert TOWER in stored.questions(wb, TOWERS)
    assert "The question has 1 label now, not 0: look at it again" in texts(at)
    assert "This also deletes 1 label (1 by ann)" in texts(at)


def test_what_others_labelled_only_an_admin_deletes(wb, me, ann):
    label(wb, ann)
    stored.set_role(wb, "annotator")
    at = open_questions()
    at = at.button(key="data_question_1_delete").click().run()
    assert "Only an admin can delete a question that others labelled, here ann." in texts(at)
    assert at.button(key="data_question_delete_confirm").disabled


def test_a_viewer_changes_no_question(wb):
    stored.set_role(wb, "viewer")
    at = open_questions()
    for act in ("queue__out", "delete"):
        button = at.button(key=f"data_question_1_{act}")
        assert button.disabled and "Viewers cannot change questions" in button.help


def test_what_was_typed_and_never_labelled_is_deleted_at_once_after_a_confirmation(wb, at, me):
    assert "data_question_leftovers" not in [b.key for b in at.button]  # all are in the label queue
    for text in ("Who built it?", "Who paid it?", "Who saw it?"):
        asking.ask(wb, TOWERS, text, as_typed=True)
    at = at.run().button(key="data_question_leftovers").click().run()
    assert "This deletes 3 questions of **Towers** that somebody typed on Ask" in texts(at)
    at = at.button(key="data_question_leftovers_cancel").click().run()
    assert len(stored.questions(wb, TOWERS)) == 6
    at = at.button(key="data_question_leftovers").click().run()
    [saw] = stored_questions.list_questions(wb, TOWERS, search="saw", limit=9).page
    label(wb, me, saw.id)  # meanwhile
    at = at.button(key="data_question_leftovers_confirm").click().run()
    assert stored.questions(wb, TOWERS) == [*stored.QUESTIONS, "Who saw it?"]
    assert any("2 questions were deleted" in t.value for t in at.toast)


def test_questions_typed_in_one_corpus_are_not_asked_about_under_the_name_of_another(wb, at):
    """Back in the browser leads to the corpus before, while the dialog is open."""
    asking.ask(wb, TOWERS, "Who built it?", as_typed=True)
    at = at.run().button(key="data_question_leftovers").click().run()
    assert "This deletes 1 question of **Towers**" in texts(at)
    at.query_params["corpus"] = "Works"
    assert "This deletes" not in texts(at.run())


def test_what_was_typed_and_never_labelled_is_queued_at_once(wb, at):
    for text in ("Who built it?", "Who paid it?"):
        asking.ask(wb, TOWERS, text, as_typed=True)
    at = at.run().button(key="data_question_leftovers_queue").click().run()
    queued = stored_questions.list_questions(wb, TOWERS, state="queued", limit=9).page
    assert {"Who built it?", "Who paid it?"} <= {q.text for q in queued}
    assert [t.value for t in at.toast] == ["2 questions were added to the queue."]


def test_a_viewer_deletes_no_leftovers(wb):
    asking.ask(wb, TOWERS, "Who built it?", as_typed=True)
    stored.set_role(wb, "viewer")
    at = open_questions()
    assert at.button(key="data_question_leftovers").disabled
    assert at.button(key="data_question_leftovers_queue").disabled
    assert "data_question_leftovers" not in [b.key for b in open_questions(find="built").button]


def test_a_question_deleted_while_it_is_open_on_ask_is_not_asked_again(wb):
    at = open_page("ask", {"q": TOWER, "corpus": "Towers"})
    at.session_state["_as2_result"][1].view.run.get()
    at.switch_page("../pages/data.py")
    at.query_params["view"] = "questions"
    at = at.run()
    at = at.button(key="data_question_1_delete").click().run()
    at = at.button(key="data_question_delete_confirm").click().run()
    assert at.session_state["_as2_question"] == ""
    assert TOWER not in stored.questions(wb, TOWERS)


def test_twenty_questions_make_a_page(wb, at):
    for i in range(20):
        asking.ask(wb, TOWERS, f"Who built tower number {i}?", as_typed=True)
    shown = texts(at.run())
    assert "Page 1 of 2" in shown and "number 0?" in shown and BRIDGE not in shown
    at = at.button(key="data_question_older").click().run()
    assert BRIDGE in texts(at) and "Page 2 of 2" in texts(at)
    at = at.text_input(key="data_question_search").input("number 1").run()  # a search starts at its first page
    assert "11 questions" in texts(at) and "number 19" in texts(at)


def test_questions_are_found_by_words_in_any_order_and_by_their_state(wb, me):
    label(wb, me)
    stored_questions.set_queued(wb, [2], queued=False, by=me.id)
    backwards = " ".join(reversed(TOWER.rstrip("?").upper().split()))
    assert list_questions(open_questions(find=backwards)) == [TOWER]
    assert list_questions(open_questions(state="removed")) == [COSTS]
    assert list_questions(open_questions(state="labelled")) == [TOWER]
    assert list_questions(open_questions(state="unlabelled")) == [COSTS, BRIDGE]
    assert list_questions(open_questions(state="unanswered")) == []


def test_a_page_whose_questions_were_deleted_gives_way_to_the_last_one_there_is(wb, at, me):
    for i in range(20):
        asking.ask(wb, TOWERS, f"Who built tower number {i}?", as_typed=True)
    at = at.run().button(key="data_question_older").click().run()
    for question_id in (1, 2, 3):
        stored_questions.delete_question(wb, question_id, labels=0, by=me.id)
    assert "number 19" in texts(at.run())
