"""Ask puts what was labelled for the same question first, says who said so, and can be told not to."""

import re

import stored
from app_pages import markup, open_page, texts
from ask_page import QUESTION, view_of
from fake_models import FakeCascade

from app.corpora import documents, ingestion
from app.labels import annotation, conflicts, rules
from app.ranking import scoring
from app.ranking.ranker_cache import RankerCache
from app.workbench import people

ANSWER = 11  # the model's: the first sentence of the hall
OTHER = 12  # the second
OTHER_TEXT = "It was built for the World&#x27;s Fair, and few people came to see it."


def ask_question(**query):
    """The page after a question, generative scores included."""
    at = open_page("ask", {"corpus": "Works", "q": QUESTION} | query)
    at.session_state["_as2_result"][1].generative.exception(timeout=60)
    return at.run()


def label(wb, who, sentence_id, value="correct", question_id=None):
    question_id = question_id or view_of(ask_question()).question_id
    annotation.give_label(wb, question_id=question_id, sentence_id=sentence_id, annotator_id=who.id, label=value)
    return question_id


def card(at):
    """The class, the mark and the whole of the first answer card."""
    html = re.search(r'<section class="(as2-answer[^"]*)".*?</section>', markup(at), re.DOTALL)
    return html[1], re.search("<mark[^>]*>(.*?)</mark>", html[0])[1], html[0]


def expanders(at):
    return [e.label.replace("\\", "") for e in at.expander]


def sentence_ids(at):
    candidates = view_of(at).candidates
    return [candidates[i].sentence_id for i in at.dataframe[0].value["position"]]


def test_asked_again_the_sentence_labelled_correct_is_the_answer_and_the_models_own_is_one_click_away(wb, me):
    label(wb, me, OTHER)
    at = ask_question()
    kind, mark, html = card(at)
    assert (kind, mark) == ("as2-answer as2-answer-labelled", OTHER_TEXT)
    assert "Labelled correct by you" in html
    assert re.search(r"By the ranker: (rank \d+|dropped after layer \d, rank \d+)\.", html)
    assert expanders(at)[0] == "The ranker’s own answer: “The hall was finished in 1889.”"
    assert re.search("Almost certainly the answer <span [^>]*>93\u00a0%</span>", markup(at))
    assert sentence_ids(at)[0] == OTHER
    assert list(at.dataframe[0].value["cascade"])[1] == 1  # the ranks stay the model's
    assert "Labelled correct instead" not in texts(at)


def test_a_link_or_the_switch_turns_it_off_and_the_address_says_so(wb, me):
    label(wb, me, OTHER)
    at = ask_question()
    at.toggle(key="as2_labels_first").set_value(False).run()
    assert at.query_params["labels"] == "off"
    assert card(at)[1] == "The hall was finished in 1889."
    assert sentence_ids(at)[0] == ANSWER
    at.toggle(key="as2_labels_first").set_value(True).run()
    assert "labels" not in at.query_params
    assert card(at)[1] == OTHER_TEXT
    linked = ask_question(labels="off")
    assert card(linked)[1] == "The hall was finished in 1889."
    assert linked.toggle(key="as2_labels_first").value is False


def test_nearly_the_same_question_names_the_one_that_was_labelled(wb, me):
    label(wb, me, OTHER)
    at = ask_question(q="when was hall finished")
    html = card(at)[2]
    assert f"Labelled for the question “{QUESTION}”." in html
    assert "You have not labelled it for this wording." in texts(at)


def test_where_the_models_answer_is_the_labelled_one_it_keeps_its_confidence_and_says_both(wb, me, monkeypatch):
    label(wb, me, ANSWER)
    at = ask_question()
    kind, mark, html = card(at)
    assert (kind, mark) == ("as2-answer as2-answer-labelled", "The hall was finished in 1889.")
    assert "Labelled correct by you" in html and "Almost certainly" in html
    assert not any("own answer" in label for label in expanders(at))
    monkeypatch.setattr(FakeCascade, "answer_calibration", (1.0, 0.4))
    html = card(ask_question())[2]
    assert "Uncertain" in html and "read the next candidates" not in html


def test_a_sentence_labelled_correct_is_an_answer_though_the_model_alone_finds_none(wb, me):
    asked = {"q": "When was the oldest hall painted?"}
    at = ask_question(**asked)
    assert "No answer found" in card(at)[2]
    label(wb, me, sentence_ids(at)[0], question_id=view_of(at).question_id)
    kind, _, html = card(ask_question(**asked))
    assert kind == "as2-answer as2-answer-labelled"
    assert "Labelled correct; the ranker alone finds no answer" in html and "No answer found" not in html


def test_where_another_sentence_is_labelled_correct_only_the_model_finds_no_answer(wb, me):
    asked = {"q": "When was the oldest hall painted?"}
    view = view_of(ask_question(**asked))
    label(wb, me, OTHER, question_id=view.question_id)
    assert "The ranker finds no answer" in card(ask_question(**asked, labels="off"))[2]


def test_of_several_labelled_correct_the_model_orders_and_the_others_are_named(wb, me):
    question_id = label(wb, me, OTHER)
    label(wb, me, ANSWER, question_id=question_id)
    html = card(ask_question())
    assert html[1] == "The hall was finished in 1889."
    assert f"Also labelled correct: “{OTHER_TEXT}” (Iron works)." in html[2]


def test_an_answer_labelled_incorrect_makes_way_for_the_next(wb, me):
    at = ask_question()
    second = sentence_ids(at)[1]
    label(wb, me, ANSWER, "incorrect")
    at = ask_question()
    assert "The ranker’s own answer is labelled incorrect by you." in card(at)[2]
    assert sentence_ids(at)[0] == second and sentence_ids(at)[-1] == ANSWER
    assert expanders(at)[0] == "The ranker’s own answer: “The hall was finished in 1889.”"


def test_with_every_candidate_labelled_incorrect_there_is_no_answer(wb, me):
    view = view_of(ask_question())
    for c in view.candidates:
        label(wb, me, c.sentence_id, "incorrect", view.question_id)
    kind, _, html = card(ask_question())
    assert kind == "as2-answer as2-answer-none"
    assert "No answer found in this corpus" in html
    assert "All 10 candidates that reached the last exit are labelled incorrect." in html


def test_anothers_label_names_them_and_a_disagreement_moves_nothing(wb, me, ann):
    label(wb, ann, OTHER)
    at = ask_question()
    assert "Labelled correct by ann" in card(at)[2]
    label(wb, me, OTHER, "incorrect")
    at = ask_question()
    assert card(at)[1] == "The hall was finished in 1889."
    assert "People disagree on “It was built for the World's Fair" in texts(at)


def test_a_verdict_names_who_settled_it_and_ones_own_label_where_that_is_another(wb, me, ann):
    bob = people.sign_in(wb, "bob")
    question_id = label(wb, me, ANSWER)
    label(wb, bob, ANSWER, "incorrect", question_id)
    people.set_role(wb, ann.id, "admin", by=None)
    conflicts.adjudicate(
        wb, question_id=question_id, sentence_id=ANSWER, annotator_id=ann.id, label="incorrect", note=""
    )
    assert "The ranker’s own answer is settled as incorrect by ann (you: correct)." in card(ask_question())[2]
    conflicts.adjudicate(wb, question_id=question_id, sentence_id=ANSWER, annotator_id=me.id, label="correct")
    assert "Settled as correct by you<" in card(ask_question())[2]


def test_where_two_are_to_label_anothers_label_moves_nothing_until_ones_own_is_given(wb, me, ann):
    rules.set_rules(wb, stored.WORKS, by=me.id, overlap=2)
    label(wb, ann, OTHER)
    at = ask_question()
    assert card(at)[1] == "The hall was finished in 1889."
    assert "as2_labels_first" not in [t.key for t in at.toggle]
    label(wb, me, OTHER)
    assert "Labelled correct by you and ann" in card(ask_question())[2]


def drop_other(wb):
    """A new version of the document of OTHER, without that sentence."""
    [place] = documents.load_sentences(wb, [OTHER])
    rest = [s.text for s in documents.list_sentences(wb, place.document_id) if s.id != OTHER]
    ingestion.ingest(wb, stored.WORKS, [("Iron_works.txt", "\n\n".join(rest).encode())])


def test_where_the_sentence_labelled_correct_is_gone_the_page_says_where_to_move_the_label(wb, me, ann):
    label(wb, ann, OTHER)
    drop_other(wb)
    at = ask_question()
    assert "The sentence labelled correct for this question is in no document any more." in texts(at)
    assert "as2_labels_first" not in [t.key for t in at.toggle]
    link = next(x for x in at.get("page_link") if x.proto.label == "Move the label")
    assert "view=list" in link.proto.query_string and "where=gone" in link.proto.query_string
    stored.set_role(wb, "annotator")
    at = ask_question()
    assert "Whoever labelled it, or an admin, can move the label." in texts(at)
    assert "Move the label" not in [x.proto.label for x in at.get("page_link")]
    label(wb, me, ANSWER, question_id=view_of(at).question_id)
    at = ask_question()
    assert "in no document any more" not in texts(at) and at.toggle(key="as2_labels_first").value is True


def test_a_label_given_on_the_page_leaves_the_answer_in_place_and_is_applied_by_one_click(wb, me):
    at = ask_question()
    label(wb, me, OTHER, question_id=view_of(at).question_id)
    at.run()
    assert card(at)[1] == "The hall was finished in 1889."
    at.button(key="as2_apply_labels").click().run()
    assert card(at)[1] == OTHER_TEXT
    assert "as2_apply_labels" not in [b.key for b in at.button]
    at.button(key="as2_label_answer_withdraw").click().run()
    assert card(at)[1] == OTHER_TEXT
    assert "No longer labelled correct" in card(at)[2]
    at.button(key="as2_apply_labels").click().run()
    assert card(at)[1] == "The hall was finished in 1889."


def test_the_buttons_below_the_answer_are_of_the_sentence_that_is_shown(wb, me):
    question_id = label(wb, me, OTHER)
    at = ask_question()
    at.button(key="as2_label_answer_incorrect").click().run()
    assert stored.labels(wb)[question_id, OTHER] == "incorrect"
    assert (question_id, ANSWER) not in stored.labels(wb)


def test_the_first_drawing_has_the_labelled_answer_already(wb, me, monkeypatch):
    from app.ui.ask.notes import pinned

    label(wb, me, OTHER)
    drawn, draw = [], pinned.draw_arranged

    def record(answer, run, arrangement, *args, **settings):
        drawn.append((hasattr(answer, "question_id"), arrangement.sentence(answer).sentence_id))
        draw(answer, run, arrangement, *args, **settings)

    monkeypatch.setattr(pinned, "draw_arranged", record)
    ask_question(q="When was the hall finished at last?")  # not the same
    label(wb, me, OTHER, question_id=view_of(ask_question(q="When was the hall finished at last?")).question_id)
    drawn.clear()
    monkeypatch.setattr(scoring, "_traces", RankerCache(1))  # a cached trace has no early run
    ask_question(q="When was the hall finished at last?")
    assert drawn[:2] == [(False, OTHER), (True, OTHER)]


def test_a_shipped_label_moves_nothing(wb):
    people.sign_in(wb, "me")
    at = ask_question()
    assert card(at)[0] == "as2-answer"
    assert "as2_labels_first" not in [t.key for t in at.toggle]
