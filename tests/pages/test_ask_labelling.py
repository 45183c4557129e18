"""Labels given on the Ask page."""

import pytest
import stored
from app_pages import find_place
from ask_page import ask_question, table, view_of

from app.labels import annotation, guidelines
from app.ui.label.buttons import UNLABELLED
from db.models import Sentence

ANSWER = 11  # that one's sentence


def test_a_label_given_in_place_is_stored_shown_and_drawn(wb):
    at = ask_question()
    at.button(key="as2_label_answer_correct").click().run()
    [event] = stored.label_events(wb)
    assert (event.sentence_id, event.label) == (ANSWER, "correct")
    assert (event.shown_version, event.shown_rank, event.scores_visible, event.queue) == ("cascade", 1, True, "ask")
    assert any("Stored as correct, signed me" in c.value for c in at.caption)
    assert table(at)["label"][0] == "correct"


def test_the_opposite_label_of_a_sentence_of_the_same_words_is_named_beside_ones_own(wb, me):
    view = view_of(ask_question())
    other = next(c for c in view.candidates if c.sentence_id != ANSWER)
    with wb.write() as s:
        s.get_one(Sentence, other.sentence_id).text = stored.sentence(wb, ANSWER)
    pair = {"question_id": view.question_id, "sentence_id": other.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=me.id, label="incorrect")
    at = ask_question()
    assert not any("the same words" in c.value for c in at.caption)
    at = at.button(key="as2_label_answer_correct").click().run()
    lines = [c.value for c in at.caption if "the same words" in c.value]
    assert lines[0].endswith(f"You labelled the same words incorrect in “{other.title}”.")


def test_the_line_for_a_stored_label_is_there_before_there_is_one(wb):
    at = ask_question()
    assert find_place(at, "as2-labels-answer") < find_place(at, UNLABELLED)
    at = at.button(key="as2_label_answer_correct").click().run()
    assert find_place(at, "as2_queue__out") < find_place(at, "Stored as correct") < find_place(at, "Ranked ")


def test_a_label_given_on_ask_keeps_the_version_of_the_guidelines_in_force(wb, me):
    guidelines.write_guidelines(wb, stored.WORKS, "- Dates count.", by=me.id)
    at = ask_question()
    at.button(key="as2_label_answer_correct").click().run()
    assert stored.label_events(wb)[0].guideline == 1


def test_labels_are_signed_with_the_name_in_the_side_bar(wb):
    at = ask_question()
    at.text_input(key="as2_name").set_value("Ada").run()
    at.button(key="as2_label_answer_unsure").click().run()
    assert any("Stored as unsure, signed Ada" in c.value for c in at.caption)


def test_a_viewer_asks_and_cannot_label(wb):
    at = ask_question()
    at.button(key="as2_label_answer_correct").click().run()
    stored.set_role(wb, "viewer")
    at = ask_question()
    for act in ("correct", "incorrect", "unsure", "withdraw"):
        assert at.button(key=f"as2_label_answer_{act}").disabled
    assert "An admin can change your role" in at.button(key="as2_label_answer_correct").help


def test_a_label_that_could_not_be_stored_is_not_confirmed(wb):
    at = ask_question()
    stored.set_role(wb, "viewer")
    at.button(key="as2_label_answer_correct").click().run()
    assert "me is a viewer, and this takes an annotator" in at.error[0].value
    assert not any("Stored as" in c.value for c in at.caption)


def test_a_row_of_the_table_is_labelled_below_it(wb):
    at = ask_question()
    with pytest.raises(KeyError):
        at.button(key="as2_label_table_correct")
    third = table(at).iloc[2]
    at.session_state["_as2_chosen"] = int(third["position"])
    at.run()
    at.button(key="as2_label_table_correct").click().run()
    event = stored.label_events(wb)[-1]
    assert (stored.sentence(wb, event.sentence_id), event.label) == (third["sentence"], "correct")
