"""A question with the whole list of its candidates."""

import re
from dataclasses import replace

import pytest
import stored
from app_pages import find_place, markup, open_page, texts
from label_desk import (
    BRIDGE,
    DESIGNED,
    FIRST,
    OPENED,
    SECOND,
    STEEL,
    THIRD,
    TRAINS,
    front,
    label,
    open_label,
    opened_list,
    press,
    rows,
)

from app.corpora import ingestion
from app.labels import annotation, consensus, flags, leasing
from app.labels.queues import QUEUES
from app.ui.label import list_desk
from db.models import Document, Question, Sentence
from db.repositories import labels as label_rows
from db.repositories import people as people_rows
from db.repositories import sentences


def read_head(at):
    """What stands above the rows of a list."""
    [head] = re.findall('data-testid="as2-list-head".*?</div>', markup(at))
    return head


def test_the_whole_list_of_a_question_stands_with_a_button_a_label(wb):
    at = opened_list()
    assert '<h2 class="asked" dir="auto">Who designed the Forth Bridge?' in markup(at)
    assert markup(at).count('<div dir="auto">') == rows(at)
    assert "0 of 4 candidates labelled by you</p>" in markup(at)
    assert rows(at) == 4
    at = at.button(key="label_row_2_incorrect").click().run()
    assert stored.labels(wb) == {(BRIDGE, TRAINS): "incorrect"}
    press(at, "correct")  # the row after it is in front now
    assert stored.labels(wb)[BRIDGE, STEEL] == "correct"


def test_a_row_says_that_the_same_words_have_the_opposite_label_elsewhere_in_the_list(wb):
    with wb.write() as s:
        copy = s.get_one(Sentence, TRAINS)
        copy.text = f" {s.get_one(Sentence, OPENED).text.upper()}"
        title = s.get_one(Document, copy.document_id).title
    at = opened_list()
    ids = [r.sentence_id for r in at.session_state["_label_desk"].rows]
    first, second = ids.index(OPENED), ids.index(TRAINS)
    at = at.button(key=f"label_row_{first}_correct").click().run()
    at = at.button(key=f"label_row_{second}_unsure").click().run()
    assert "You labelled the same words" not in markup(at)
    at = at.button(key=f"label_row_{second}_incorrect").click().run()
    assert f"You labelled the same words correct: candidate {first + 1}, {title}" in markup(at)
    assert f"You labelled the same words incorrect: candidate {second + 1}, {title}" in markup(at)


def test_words_typed_bring_the_next_row_that_has_them_to_the_front(wb):
    at = opened_list()
    [field] = [f for f in at.text_input if f.label == "Find in this list"]
    at = field.input("BRIDGE fort").run()
    assert [t.value for t in at.toast] == ["1 candidate with “BRIDGE fort”."]
    assert front(at) == (BRIDGE, OPENED)
    at = at.text_input(key=field.key).input("steel").run()
    assert front(at) == (BRIDGE, STEEL)
    at = press(at, "find")  # there is no other
    assert front(at) == (BRIDGE, STEEL)
    at = at.text_input(key=field.key).input("zebra").run()
    assert [t.value for t in at.toast] == ["0 candidates with “zebra”."]
    assert front(at) == (BRIDGE, STEEL)
    assert stored.labels(wb) == {}


def test_a_sentence_that_was_replaced_meanwhile_is_passed_over_with_a_word(wb):
    at = opened_list()
    with wb.read() as s:
        sentence = s.get_one(Sentence, front(at)[1])
        document, others = sentence.document_id, [x.text for x in sentences.list_sentences(s, [sentence.document_id])]
        name = s.get_one(Document, document).source
    others.remove(sentence.text)
    ingestion.ingest(wb, stored.TOWERS, [(name, " ".join([*others, "Another one."]).encode())])
    before = front(at)
    at = press(at, "correct")
    assert "Nothing was recorded: the sentence was changed or deleted meanwhile." in [t.value for t in at.toast]
    assert front(at) != before and stored.labels(wb) == {}


def test_the_rest_are_incorrect_in_one_act_and_come_back_in_one(wb):
    at = press(opened_list(), "correct")
    assert at.button(key="label_rest").label == "The rest are incorrect (3) `i`"  # also those that are not on the page
    at = press(at, "rest")
    assert stored.labels(wb) == {FIRST: "correct"} | {(BRIDGE, s): "incorrect" for s in (DESIGNED, TRAINS, STEEL)}
    assert "and 2 more" in markup(at)
    assert at.button(key="label_rest").disabled
    at = press(at, "undo")
    assert stored.labels(wb) == {FIRST: "correct"}
    press(at, "undo")
    assert stored.labels(wb) == {}


def test_rows_stay_under_the_pointer_until_the_one_in_front_is_below_them(wb, monkeypatch):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 3)
    monkeypatch.setattr(list_desk, "ROWS_BEFORE", 1)
    at = press(opened_list(), "row_1_correct")
    assert front(at) == THIRD and "1 to 3 of 4" in read_head(at)
    at = press(at, "row_2_correct")
    assert "2 to 4 of 4" in read_head(at)
    assert {pair for pair, label in stored.labels(wb).items() if label == "correct"} == {SECOND, THIRD}


def test_by_keys_the_row_in_front_stays_in_its_place(wb, monkeypatch):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 3)
    monkeypatch.setattr(list_desk, "ROWS_BEFORE", 1)
    at = press(press(press(opened_list(), "row_0_correct"), "up"), "down")
    assert "1 to 3 of 4" in read_head(at)
    assert "2 to 4 of 4" in read_head(press(at, "correct"))


def test_rows_that_were_not_on_the_page_are_labelled_with_the_rest_only_after_a_question(wb, monkeypatch):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 2)
    monkeypatch.setattr(list_desk, "ROWS_BEFORE", 1)
    at = press(press(opened_list(), "correct"), "rest")
    asks = "Also the 2 candidates not shown yet? Press i again for all 3."
    assert [t.value for t in at.toast] == [asks]
    assert asks in read_head(at) and stored.labels(wb) == {FIRST: "correct"}
    assert find_place(at, "as2-list-head") < find_place(at, "label_row_0_correct")
    at = press(at, "up")  # any other key cancels
    assert asks not in read_head(at)
    at = press(at, "rest")
    assert asks in read_head(at) and stored.labels(wb) == {FIRST: "correct"}
    at = press(at, "rest")
    assert len(stored.labels(wb)) == 4 and asks not in read_head(at)
    assert "All that you can label here is labelled. Press → for the next." in read_head(at)


@pytest.mark.parametrize("over", ["click", "time"])
def test_the_question_about_rows_not_shown_is_over_after_a_click_or_some_seconds(wb, clock, monkeypatch, over):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 2)
    at = press(opened_list(), "rest")
    assert "Press i again" in read_head(at)
    if over == "time":
        clock.advance(seconds=11)
        at = at.run()
    else:  # what the listener sends for it
        desk = at.session_state["_label_desk"]
        at.session_state["_label_desk"] = replace(desk, turn=desk.turn + 1)
        at = at.run()
    assert "Press i again" not in read_head(at)
    at = press(at, "rest")
    assert stored.labels(wb) == {} and "Press i again" in read_head(at)


def test_a_list_that_was_read_to_its_end_gets_the_rest_at_once(wb, monkeypatch):
    monkeypatch.setattr(list_desk, "WINDOW_ROWS", 2)
    monkeypatch.setattr(list_desk, "ROWS_BEFORE", 1)
    at = opened_list()
    for _ in range(3):
        at = press(at, "down")
    press(press(at, "up"), "rest")
    assert list(stored.labels(wb).values()) == ["incorrect"] * 4


def test_the_rest_of_a_list_with_nothing_left_is_said_to_be_nothing(wb):
    at = opened_list()
    sent = at.button(key="label_rest").click()  # its key is heard when the button is disabled, too
    desk = at.session_state["_label_desk"]
    labelled = tuple(replace(r, label="correct") for r in desk.item.rows)
    at.session_state["_label_desk"] = replace(desk, item=replace(desk.item, rows=labelled))
    at = sent.run()
    assert [t.value for t in at.toast] == ["No candidate was left to label."]
    assert stored.label_events(wb) == []


def test_a_click_on_a_row_of_a_list_no_longer_shown_is_refused(wb):
    at = opened_list()
    stale = at.button(key="label_row_2_correct").click()  # clicked while the next question was on its way
    desk = at.session_state["_label_desk"]
    at.session_state["_label_desk"] = replace(desk, item=replace(desk.item, question_id=2, token="the next"))
    at = stale.run()
    assert stored.label_events(wb) == []
    assert any("no longer shown" in t.value for t in at.toast)


def test_the_row_a_review_asks_about_is_in_front_and_says_why(wb, ann):
    note = "is <1890> enough?"
    flags.add_flag(wb, question_id=BRIDGE, sentence_id=DESIGNED, annotator_id=ann.id, note=note)
    at = opened_list(queue="flagged")
    assert markup(at).count("Flagged by ann: is &lt;1890&gt; enough?") == 1
    press(at, "correct")
    assert stored.labels(wb) == {SECOND: "correct"}


def test_rows_that_others_look_at_are_closed(wb, ann):
    leasing.open_item(wb, BRIDGE, TRAINS, ann.id)
    at = opened_list()
    assert at.button(key="label_row_2_correct").disabled
    assert "labelled by you. 1 grey one is closed: others are at work there.</p>" in markup(at)
    press(at, "rest")
    assert stored.labels(wb).keys() == {FIRST, SECOND, (BRIDGE, STEEL)}


def test_a_row_that_somebody_has_in_front_is_not_said_to_be_labelled_by_the_import_it_came_with(wb, ann):
    with wb.write() as s:
        outside = people_rows.ensure_annotator(s, "starter", wb.clock(), is_imported=True)
        label_rows.add_event(s, BRIDGE, DESIGNED, outside.id, "incorrect", wb.clock())
    leasing.open_item(wb, *SECOND, ann.id)
    assert "1 grey one is closed: others are at work there." in markup(opened_list())


def test_rows_with_enough_labels_say_whose_they_are(wb, ann):
    label(wb, ann, FIRST)
    label(wb, ann, SECOND, "incorrect")
    at = open_page("label", {"mode": "list", "queue": "tops", "question": str(BRIDGE)})
    assert "2 grey ones are closed: labelled by ann.</p>" in markup(at)


def test_a_list_with_more_candidates_than_were_ranked_says_so(wb, me):
    annotation.give_label(wb, question_id=BRIDGE, sentence_id=1, annotator_id=me.id, label="incorrect")
    extent = "5 candidates, 1 of them without a rank: they came with labels or a file; 1 labelled by you</p>"
    assert extent in markup(opened_list(queue="tops"))


def test_only_where_a_retrain_learns_from_the_labels_the_page_says_what_helps_it(wb):
    advice = "Read each list until you find the answer"
    at = opened_list(queue="uncertain")
    assert advice in texts(at)
    at = at.selectbox(key="label_queue").set_value("tops").run()  # for evaluations
    assert advice not in texts(at)
    at.selectbox(key="label_queue").set_value("unlabelled").run()
    stored.set_split(wb, BRIDGE, "test")
    at = open_page("label", {"mode": "list", "queue": "uncertain", "question": str(BRIDGE)})
    assert "Held out or for validation: a retrain" in markup(at) and advice not in texts(at)


@pytest.mark.parametrize(("name", "source"), [("starter", "shipped with the corpus"), ("import", "imported")])
def test_a_label_from_outside_is_shown_in_its_list_and_a_person_corrects_it(wb, name, source):
    with wb.write() as s:
        outside = people_rows.ensure_annotator(s, name, wb.clock(), is_imported=True)
        label_rows.add_event(s, BRIDGE, DESIGNED, outside.id, "incorrect", wb.clock())
    at = opened_list()
    assert markup(at).count(f"{source}: incorrect") == 1 and "closed: labelled by" not in markup(at)
    at = press(at, "incorrect")
    assert front(at) == (BRIDGE, TRAINS)  # no queue offers it, and nobody steps on it unawares
    at = press(at, "rest")
    assert stored.labels(wb).keys() == {FIRST, THIRD, (BRIDGE, STEEL)}
    at.button(key="label_row_1_correct").click().run()
    assert stored.labels(wb)[SECOND] == "correct"
    assert consensus.read_labels(wb, BRIDGE)[DESIGNED] == "correct"


@pytest.mark.parametrize("mode", ["one", "list"])
def test_a_long_question_is_cut_with_a_way_to_all_of_it(wb, mode):
    with wb.write() as s:
        s.get_one(Question, BRIDGE).text = "Who designed it, " + "and why, " * 100 + "in the end?"
    at = open_label({"mode": mode})
    [whole] = [e for e in at.expander if e.label == "The whole question"]
    assert "in the end?" in whole.get("html")[0].proto.body
    assert markup(at).count("in the end?") == 1 and "…</h2>" in markup(at)
    short = open_label({"mode": mode, "queue": "tops", "only": "2"})
    assert "…</h2>" not in markup(short) and "The whole question" not in [e.label for e in short.expander]


def test_the_next_list_is_a_button_above_the_rows(wb):
    at = opened_list(queue="uncertain")
    question = at.session_state["_label_desk"].item.question_id
    keys = [b.key for b in at.button]
    assert keys.index("label_undo") < keys.index("label_forward") < keys.index("label_row_0_correct")
    assert at.button(key="label_forward").label == "Next `→`"
    assert press(at, "forward").session_state["_label_desk"].item.question_id != question


def test_up_and_down_move_through_the_list_and_label_nothing(wb):
    at = press(press(opened_list(), "down"), "down")
    at = press(at, "up")
    press(at, "unsure")
    assert stored.labels(wb) == {SECOND: "unsure"}


def test_a_list_says_how_many_ranked_candidates_left_the_corpus(wb):
    with wb.write() as s:
        s.delete(s.get_one(Sentence, STEEL))
    html = markup(opened_list())
    assert "0 of 3 candidates labelled by you. Of the 4 that were ranked, 1 left the corpus since." in html


def test_a_list_does_not_repeat_its_queue_s_description_as_a_reason(wb):
    at = opened_list()
    assert QUEUES["uncertain"].description in texts(at)
    assert "Why this one" not in markup(at)
    assert "<b>Why this candidate:</b> Its own probability" in markup(at)


def test_the_next_question_comes_and_back_returns(wb):
    at = press(opened_list(), "forward")
    assert front(at)[0] != BRIDGE and "Who designed the Forth Bridge?" not in markup(at)
    at = press(at, "back")
    assert "Who designed the Forth Bridge?" in markup(at)
