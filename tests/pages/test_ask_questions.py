"""A question on the page Ask as label work: adding it to the queue, what a label brings, and what was asked before."""

import pytest
import stored
from app_pages import button, find_place, open_page, texts
from stored import TOWERS, WORKS

from app.adapt.readiness import Distance, measure_distance
from app.ask import asking, stored_questions
from app.labels import annotation
from app.ui.label.sidebar import describe_distance

QUESTION = "When was the hall finished?"


def answered(question=QUESTION, corpus="Works"):
    at = open_page("ask", {"corpus": corpus, "q": question})
    at.session_state["_as2_result"][1].generative.exception(timeout=60)
    return at.run()


def queued(wb, text=QUESTION, corpus=WORKS):
    [view] = stored_questions.list_questions(wb, corpus, search=text, limit=2).page
    return view.queued


def test_a_question_is_added_to_the_label_queue_and_taken_back(wb):
    at = answered()
    assert not queued(wb)
    at = at.button(key="as2_queue__in").click().run()
    assert queued(wb)
    assert "In the label queue" in texts(at)
    assert at.button(key="as2_queue__out").label == "Remove from the queue"
    at = at.button(key="as2_queue__out").click().run()
    assert not queued(wb)
    assert at.button(key="as2_queue__in").label == "Add to the label queue"


def test_a_label_puts_the_question_in_the_queue_and_says_how_many_more_a_retrain_needs(wb):
    at = answered()
    assert "A retrain needs" not in texts(at)
    at = at.button(key="as2_label_answer_correct").click().run()
    assert queued(wb)
    assert "In the label queue" in texts(at)
    assert "1 label. A retrain needs" in texts(at)  # both kinds on four questions


def test_a_viewer_adds_nothing_to_the_queue(wb):
    stored.set_role(wb, "viewer")
    at = answered()
    assert at.button(key="as2_queue__in").disabled and "Viewers cannot label" in at.button(key="as2_queue__in").help


def test_recent_questions_are_ones_own_of_this_corpus_newest_first_and_ask_again(wb, me, ann, clock):
    assert not [b for b in open_page("ask", {"corpus": "Works"}).button if (b.key or "").startswith("as2_recent")]
    for corpus, text, who in ((WORKS, "Why so high?", me), (TOWERS, "Who built it?", me), (WORKS, "Why $5?", me),
                              (WORKS, "Who rained?", ann)):  # fmt: skip
        clock.advance(minutes=1)
        asking.ask(wb, corpus, text, as_typed=True, by=who.id)
    at = open_page("ask", {"corpus": "Works"})
    recent = [b for b in at.button if (b.key or "").startswith("as2_recent")]
    assert [b.label for b in recent] == [r"Why \$5?", "Why so high?"]
    clock.advance(minutes=1)
    at = recent[1].click().run()
    assert stored.list_asked(wb)[-1][:2] == (WORKS, "Why so high?")
    assert at.text_input(key="as2_question_1").value == "Why so high?"
    assert not [b for b in at.button if (b.key or "").startswith("as2_recent")]


@pytest.mark.parametrize("text", ["?", "!? <>"])
def test_a_question_without_a_word_is_refused_in_a_plain_sentence(wb, text):
    at = open_page("ask", {"corpus": "Works"})
    at.text_input(key="as2_question_0").set_value(text)
    at = button(at, "Ask").click().run()
    assert "has no letter or digit: type a question in words" in texts(at)
    assert stored.questions(wb, WORKS) == []


def test_a_question_in_another_language_gets_a_hint_and_a_long_one_says_how_much_was_read(wb):
    assert "read English" not in texts(answered())
    assert "The shipped models read English; answers to other languages are unreliable." in texts(
        answered("Wann wurde der hall gebaut?")
    )
    assert "Only the first 64 words were read" in texts(answered("Is the hall " * 30))


def test_a_question_brings_a_retrain_one_nearer_with_its_first_correct_label(wb, me):
    def label(question, sentence, label):
        annotation.give_label(wb, question_id=question, sentence_id=sentence, annotator_id=me.id, label=label)
        counts = measure_distance(wb, TOWERS)
        return counts.labels, counts.missing

    assert measure_distance(wb, TOWERS) == Distance(0, 4)
    assert label(1, 1, "correct") == (1, 3)
    assert label(1, 2, "correct") == (2, 3)
    assert label(1, 5, "incorrect") == (3, 3)  # unlabelled ones count as incorrect in training
    assert label(2, 4, "unsure") == (4, 3)
    assert label(2, 3, "incorrect") == (5, 3)
    assert label(2, 3, "correct") == (5, 2)  # changed, not added


def test_a_label_on_a_question_that_no_retrain_learns_from_brings_no_retrain_nearer(wb, me):
    for question, part in ((1, "dev"), (2, "test")):
        stored.set_split(wb, question, part)
        annotation.give_label(wb, question_id=question, sentence_id=1, annotator_id=me.id, label="correct")
    assert measure_distance(wb, TOWERS) == Distance(2, 4, non_training=2)


def test_the_distance_to_a_retrain_is_told_for_one_and_for_many():
    assert describe_distance(Distance(1, 3)) == "A retrain needs a correct label on 3 more questions."
    assert describe_distance(Distance(1, 1)) == "A retrain needs a correct label on 1 more question."
    one = describe_distance(Distance(5, 0, incomplete_ids=(7,)))
    assert one == "To compare before and after, 1 held-out question needs labels of both kinds:"
    assert describe_distance(Distance(8, 0, is_enough=True)) == "Enough for a first retrain:"
    assert describe_distance(Distance(8, 0)) == "A retrain cannot start with these labels yet:"


def test_recent_questions_stand_below_the_tour_and_repeat_no_example(wb, me, clock):
    for text in ("Why so tall?", example := open_page().button_group(key="as2_example").options[0]):
        clock.advance(minutes=1)
        asking.ask(wb, TOWERS, text, as_typed=True, by=me.id)
    at = open_page()
    assert example in at.button_group(key="as2_example").options
    assert [b.label for b in at.button if (b.key or "").startswith("as2_recent")] == ["Why so tall?"]
    assert find_place(at, "as2_tour_dismiss") < find_place(at, "as2_recent_0")
