"""Ask with two answers to one question, side by side."""

import re

import pytest
import stored
from app_pages import markup, open_page, texts
from fake_models import FakeCascade

from app.labels import annotation
from as2core.cascade.schedule import DropSchedule

QUESTION = "When was the mill finished?"  # the shorter of its two answers is second by the cascade
LONG = "The mill was finished on 31 March 1889, after two years of work of the finest smiths in the country."


def open_ask(**query):
    at = open_page("ask", {"corpus": "Works", "q": QUESTION} | query)
    at.session_state["_as2_result"][1].generative.exception(timeout=60)
    return at


def answers(at):
    return re.findall(r"<mark [^>]*>(.*?)</mark>", markup(at))


def line(html, title):
    """`Rose most, 12 → 3 The sentence` of the list of moves."""
    return re.sub("<[^>]*>", "", re.search(rf"<li><b>{title}.*?</li>", html)[0])


@pytest.fixture
def turned(monkeypatch):
    """starter-3 ranks in the opposite order."""
    trace = FakeCascade.trace

    def rank(self, question, candidates, schedule=None, *, prior=None):
        run = trace(self, question, candidates, DropSchedule.constant(0.0, exits=len(self.exits)), prior=prior)
        if self.name == "starter-3":
            for e in run.exits:
                e.scores[:] = -e.scores
        return run.replay(schedule or self.schedule)

    monkeypatch.setattr(FakeCascade, "trace", rank)


def test_one_click_puts_a_newer_version_beside_the_answer(wb, turned):
    at = open_ask()
    link = at.button(key="as2_pair_open")
    assert link.label.replace("\\", "") == "Compare with starter-3"
    at = link.click().run()
    assert at.query_params["against"] == "starter-3"
    assert [at.selectbox(key=f"as2_pair_{side}").value for side in ("base", "against")] == ["cascade", "starter-3"]
    first, second = answers(at)
    assert first == LONG != second
    assert not at.exception


def test_a_link_opens_it_and_leaving_shows_the_one_answer(wb):
    at = open_ask(against="starter-3")
    assert len(answers(at)) == 2
    assert not any(c.proto.component_name == "as2_cascade" for c in at.get("bidi_component"))
    at = at.button(key="as2_pair_close").click().run()
    assert "against" not in at.query_params
    assert "Candidates" in [h.value for h in at.header]


def test_the_browsers_way_back_leaves_and_forward_enters(wb):
    at = open_ask()
    at.query_params["against"] = "generative"
    assert len(answers(at.run())) == 2
    del at.query_params["against"]
    assert "as2_pair_close" not in [b.key for b in at.run().button]
    at.query_params["against"] = "starter-2"
    at = at.run()
    assert at.selectbox(key="as2_pair_against").value == "starter-2"


def test_the_question_is_asked_once_and_nothing_of_the_second_is_stored(wb):
    open_ask(against="generative").run()
    assert stored.list_asked(wb) == [(stored.WORKS, QUESTION, "cascade")]


def test_the_moves_are_told_in_numbers(wb, turned):
    html = markup(open_ask(against="starter-3", drop="0"))
    assert "<b>different</b>" in html
    assert "<b>0 of 10</b>" in html  # of forty, turned round
    assert re.search(r"<b>−0\.\d\d</b>", html)  # tied scores keep their order
    assert line(html, "Fell most") == f"Fell most, 1 → 39 {LONG}"  # before the other answer, whose score is the same
    assert line(html, "Rose most").startswith("Rose most, 22 → 1 ")  # the first of those without a word in common


def test_equal_orders_say_so(wb):
    html = markup(open_ask(against="starter-2"))
    assert all(value in html for value in ("<b>the same</b>", "<b>10 of 10</b>", "<b>1.00</b>"))
    assert "Rose most" not in html


def test_the_answer_of_each_is_the_one_its_own_ranks_say(wb):
    at = open_ask(against="generative")
    table = at.dataframe[0].value
    first, second = answers(at)
    assert (first, second) == tuple(table.sort_values(n).iloc[0]["candidate"] for n in ("cascade", "generative"))
    assert sorted(table["cascade"]) == sorted(table["generative"]) == list(range(1, 41))
    assert "Score " in markup(at) and "not calibrated" in markup(at)


def test_a_cascade_says_what_it_dropped_under_the_drops_of_the_page(wb):
    said = texts(open_ask(against="bm25", drop="50"))
    assert said.count("reach the end") == 1
    counts = "20 were dropped after layer 2, 10 after layer 3, 5 after layer 4, 2 after layer 5"
    assert f"3 of 40 reach the end: {counts}." in said


def test_a_sentence_labelled_correct_is_told_and_a_drop_of_it_is_said(wb, me):
    at = open_ask(against="starter-3")
    view = at.session_state["_as2_result"][1].view
    worst = view.candidates[int(view.trace.ranking()[-1])]
    annotation.give_label(wb, question_id=view.question_id, sentence_id=worst.sentence_id, annotator_id=me.id,
                          label="correct")  # fmt: skip
    at = at.run()
    assert line(markup(at), "Labelled correct").startswith("Labelled correct, ")
    assert "Among them 1 sentence labelled correct." in texts(at)


def test_both_answers_can_be_labelled_and_the_label_keeps_who_showed_it(wb, turned):
    at = open_ask(against="starter-3")
    at.button(key="as2_label_base_correct").click().run()
    at.button(key="as2_label_against_incorrect").click().run()
    events = [(e.label, e.shown_version, e.shown_rank) for e in stored.label_events(wb)]
    assert events == [("correct", "cascade", 1), ("incorrect", "starter-3", 1)]
    assert stored.sentence(wb, stored.label_events(wb)[0].sentence_id) == LONG
    assert "Stored as incorrect, signed me" in texts(at)


def test_an_answer_says_how_its_sentence_is_labelled(wb, turned):
    at = open_ask(against="starter-3")
    assert "labelled correct" not in markup(at)
    at = at.button(key="as2_label_base_correct").click().run()
    at = at.button(key="as2_label_against_incorrect").click().run()
    first, second = re.findall(r'<p class="as2-verdict">(.*?)</p>', markup(at))
    assert first.endswith(" · labelled correct") and second.endswith(" · labelled incorrect")


def test_any_two_can_be_chosen_and_the_address_follows(wb):
    at = open_ask(against="starter-3")
    at = at.selectbox(key="as2_pair_base").select("bm25").run()
    at = at.selectbox(key="as2_pair_against").select("generative").run()
    assert (at.query_params["base"], at.query_params["against"]) == ("bm25", "generative")
    assert markup(at).count("not calibrated") == 2
    at = at.selectbox(key="as2_pair_base").select("cascade").run()
    assert "base" not in at.query_params


def test_an_unknown_name_is_a_clear_line_and_the_first_answer_stays(wb):
    at = open_ask(against="$none$")
    assert "There is no ranker or version called “$none$” here. Choose one above." in texts(at)
    assert answers(at) == [LONG]
    assert not at.error and not at.exception
    at = at.selectbox(key="as2_pair_against").select("starter-2").run()
    assert len(answers(at)) == 2 and not at.warning


def test_a_directory_is_no_name(wb):
    at = open_ask(against=str(wb.settings.models_dir / "cascade"))
    assert "There is no ranker or version called" in texts(at)


def test_a_damaged_version_says_so_in_its_place(wb):
    (wb.settings.versions_dir / "starter-3" / "model.safetensors").write_bytes(b"damaged")
    at = open_ask(against="starter-3")
    assert "is damaged" in at.error[0].value
    assert answers(at) == [LONG]


def test_the_same_on_both_sides_is_said(wb):
    at = open_ask(against="cascade")
    assert "Both are the same. Choose another one to see what differs." in texts(at)


def test_without_a_question_nothing_stays_side_by_side(wb):
    at = open_page("ask", {"corpus": "Works", "against": "starter-3"})
    assert "against" not in at.query_params
    assert at.title[0].value == "What would you like to know?"


def test_another_question_is_answered_side_by_side_too(wb):
    at = open_ask(against="generative")
    at.text_input(key="as2_question_0").set_value("When was the hall finished?")
    at = at.button[0].click().run()
    assert len(answers(at)) == 2
    assert answers(at)[0] == "The hall was finished in 1889."


def test_no_two_label_buttons_have_the_same_name(wb):
    names = [b.label for b in open_ask(against="starter-3").button if (b.key or "").startswith("as2_label_")]
    assert len(names) == 6 == len(set(names))
    assert {"Correct `(first answer)`", "Correct `(second answer)`"} <= set(names)  # `code` is not drawn (theme.css)
