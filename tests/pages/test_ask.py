"""The Ask page: a question, its answer, its address, and what goes wrong. The other parts are in test_ask_*.py."""

import json
import logging
import re
from types import SimpleNamespace

import stored
from app_pages import button, markup, open_page, texts
from ask_page import QUESTION, ask_question, drop, open_ask, read_component, shares, table, total
from fake_models import FakeCascade, FakeModels

from app.corpora import corpora
from app.labels import annotation
from app.ranking.synonyms import write_synonyms
from app.ui import url
from app.ui.ask import answer
from app.ui.ask.result import fits_link
from as2core.errors import As2Error


def test_before_a_question_examples_are_offered_and_taking_one_asks_it(wb, me):
    annotation.give_label(wb, question_id=2, sentence_id=3, annotator_id=me.id, label="correct")
    at = open_page("ask")
    assert at.title[0].value == "What would you like to know?"
    pills = at.get("button_group")[0]
    assert pills.options == [r"What did it cost\: \$5 or \$9?"]
    pills.set_value("What did it cost: $5 or $9?").run()
    assert [q for _, q, _ in stored.list_asked(wb)] == ["What did it cost: $5 or $9?"]


def test_typing_a_question_and_sending_the_form_asks_it_once(wb):
    at = open_ask()
    at.text_input(key="as2_question_0").set_value(f"  {QUESTION} ")
    at.button[0].click().run()
    at.run()
    assert stored.list_asked(wb) == [(stored.WORKS, QUESTION, "cascade")]
    assert at.query_params["q"] == QUESTION


def test_the_answer_comes_first_marked_among_its_neighbours_with_its_probability_and_document(wb):
    html = markup(ask_question())
    answer = html.index('class="as2-answer"')
    assert answer < html.index("as2-standings") < html.index("as2-costs", answer)
    assert re.search("Almost certainly the answer <span [^>]*>93\u00a0%</span>", html)
    assert "The hall was finished in 1889.</mark>" in html
    assert (
        '<span class="as2-near">It was built for the World&#x27;s Fair, and few people came to see it.</span>' in html
    )
    assert "Iron works <span>· sentence 1</span>" in html


def test_the_documents_that_were_read_are_said_to_be_the_choice_of_the_search(wb, monkeypatch):
    monkeypatch.setattr(answer, "MIN_SHOWN_SECONDS", 0.0)
    [facts] = [c.proto for c in ask_question().caption if c.value.startswith("Ranked ")]
    assert facts.help.startswith("The search chose these documents from all of the corpus. It took ")


def test_below_the_threshold_the_page_says_that_there_is_no_answer(wb):
    at = ask_question({"q": "When was the oldest hall painted?"})
    html = markup(at)
    assert "No answer found in this corpus" in html
    [link] = [x.proto for x in at.get("page_link") if x.proto.label.endswith("Add a synonym")]
    assert "view=synonyms" in link.query_string
    assert "This sentence comes closest, but its score is below that of most correct answers" in html
    assert "Share among the candidates 27\u00a0%." in html and "Probability 27" not in html
    assert read_share_name(at) == "Share" and read_share_name(ask_question()) == "Probability"


def read_share_name(at):
    """The label of the table's column of percentages; None where it is hidden."""
    frame = at.dataframe[0].proto
    is_shown = "probability" in frame.column_order
    return json.loads(frame.columns)["probability"]["label"] if is_shown else None


def test_the_percentage_says_how_high_it_can_be(wb, monkeypatch):
    monkeypatch.setattr(FakeCascade, "answer_calibration", (1.0, 0.83))
    html = markup(ask_question())
    assert "At most 83 % for this version" in html and "as2 serve rates each by itself" in html


def test_after_a_low_percentage_comes_the_advice_to_read_on(wb, monkeypatch):
    assert "read the next candidates" not in markup(ask_question())
    monkeypatch.setattr(FakeCascade, "answer_calibration", (1.0, 0.4))
    html = markup(ask_question())
    assert re.search("Uncertain <span [^>]*>\\d+\u00a0%</span> · read the next candidates, too<", html)


def test_without_calibration_nothing_is_called_a_probability(wb, monkeypatch):
    monkeypatch.setattr(FakeCascade, "is_calibrated", False)
    at = ask_question({"q": "When was the oldest hall painted?"})
    html = markup(at)
    assert not any(x.proto.label.endswith("Add a synonym") for x in at.get("page_link"))
    assert "not calibrated" in html
    assert "No answer found" not in html
    assert read_share_name(at) is None


def test_foreign_text_is_shown_as_text(wb, hostile):
    at = ask_question({"corpus": "Towers", "q": "What did it cost: $5 or $9?"})
    assert "&lt;img src=x onerror=" in markup(at)
    assert "<img src=x" not in markup(at)
    assert table(at)["sentence"][0] == hostile


def test_the_answer_to_copy_has_its_source(wb):
    state = read_component(ask_question(), "as2_cascade_state")
    assert state["answer"] == "“The hall was finished in 1889.” (Iron works, sentence 1)"


def test_a_link_reproduces_question_corpus_model_and_shares(wb):
    at = ask_question({"model": "starter-3", "drop": "50-0-0-0"})
    assert stored.list_asked(wb) == [(stored.WORKS, QUESTION, "starter-3")]
    assert shares(at.run()) == [50, 0, 0, 0]
    assert total(40, 20) in markup(at)
    assert at.selectbox(key="as2_corpus").value == "Works"


def test_a_question_with_a_slip_is_read_mended_and_can_be_read_as_typed(wb):
    typed = "When was the hall finihsed?"
    at = ask_question({"q": typed})
    assert f"Showing results for **{QUESTION}**" in [m.value for m in at.markdown]
    assert "as_typed" not in at.query_params
    at = at.button(key="as2_as_typed").click().run()
    assert [q for _, q, _ in stored.list_asked(wb)] == [QUESTION, typed]
    assert not any("Showing results" in m.value for m in at.markdown)
    assert at.query_params["as_typed"] == "1"
    unmarked = ask_question({"q": typed.removesuffix("?")})
    assert f"Showing results for **{QUESTION.removesuffix('?')}**" in [m.value for m in unmarked.markdown]
    ask_question({"q": typed, "as_typed": "1"})
    assert stored.list_asked(wb)[-1][1] == typed


def test_a_question_with_a_synonym_says_how_it_was_read(wb, me):
    write_synonyms(wb, stored.WORKS, "the hall => the town hall", by=me.id)
    at = ask_question({"corpus": "Works"})
    assert any(c.value == "Read as: When was the hall (the town hall) finished?" for c in at.caption)
    assert [q for _, q, _ in stored.list_asked(wb)] == [QUESTION]


def test_the_browsers_way_back_restores_the_share_and_the_page_without_a_question(wb, monkeypatch):
    at, clock = ask_question(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(url, "time", SimpleNamespace(monotonic=lambda: clock.now))
    at = drop(at, 50)
    assert at.query_params["drop"] == "50"
    del at.query_params["drop"]
    at = at.run()
    assert shares(at) == [50]  # so soon after, it may be a browser that is behind
    clock.now += 10
    del at.query_params["drop"]
    at = at.run()
    assert shares(at) == [30]
    at.query_params["drop"] = "20-20-30-40"
    at = at.run()
    assert shares(at) == [20, 20, 30, 40]
    clock.now += 10
    del at.query_params["q"]
    at = at.run()
    assert at.title[0].value == "What would you like to know?"


def test_an_emptied_question_leaves_the_address(wb):
    at = ask_question()
    at.text_input(key="as2_question_0").set_value("")
    at = button(at, "Ask").click().run()
    assert "q" not in at.query_params


def test_a_corpus_without_documents_says_where_to_bring_some_in(wb):
    corpora.create_corpus(wb, "Empty")
    at = open_ask({"corpus": "Empty", "q": QUESTION})
    assert stored.list_asked(wb) == []
    assert "has no documents yet" in texts(at)


def test_nonsense_in_a_link_is_passed_over(wb):
    at = ask_question({"model": "none", "drop": "lots"})
    assert stored.list_asked(wb) == [(stored.WORKS, QUESTION, "cascade")]
    assert shares(at) == [30]


def test_an_error_the_reader_can_mend_is_shown_as_its_text(wb, monkeypatch):
    def refuse(self, path, settings=""):
        raise As2Error("no weights of $x$: run `as2 models`")

    monkeypatch.setattr(FakeModels, "version", refuse)
    at = open_ask({"q": QUESTION})
    assert at.error[0].value == r"No weights of \$x\$\: run \`as2 models\`"
    assert not at.exception


def test_any_other_error_is_an_apology_with_an_id_that_is_in_the_log(wb, monkeypatch, caplog):
    def stumble(*_, **__):
        raise RuntimeError("a tensor of the wrong shape")

    monkeypatch.setattr(FakeCascade, "trace", stumble)
    with caplog.at_level(logging.ERROR):
        at = open_ask({"q": QUESTION})
    assert not at.exception
    assert "tensor" not in at.error[0].value
    line = at.error[0].value.split("`")[1]
    assert f"[{line}] a tensor of the wrong shape" in caplog.text


def test_a_question_nothing_comes_near_is_answered_with_what_to_do(wb):
    at = open_ask({"q": "zebra"})
    assert "Rephrase the question, or choose another corpus" in at.info[0].value
    assert any(x.proto.label.endswith("Add a synonym") for x in at.get("page_link"))


def test_without_any_corpus_the_page_points_to_data(wb):
    stored.delete_corpora(wb)
    at = open_ask()
    assert "Open **Data**" in at.info[0].value
    assert not at.exception


def test_a_question_of_a_page_is_in_the_address_for_a_reload(wb):
    text = "When was the tower finished? " * 100
    at = open_ask()
    at.text_input(key="as2_question_0").set_value(text)
    at = button(at, "Ask").click().run()
    assert at.query_params["q"] == text.strip() and "too long for a link" not in texts(at)


def test_what_fits_a_link_is_counted_as_the_address_has_it():
    assert fits_link("a" * 6000) and not fits_link("a" * 6001)
    assert fits_link("塔" * 666) and not fits_link("塔" * 667)  # nine characters each: %E5%A1%94


def test_a_very_long_question_is_asked_but_stays_out_of_the_address(wb):
    at = open_ask()
    at.text_input(key="as2_question_0").set_value("why " * 2000)
    at = button(at, "Ask").click().run()
    at.session_state["_as2_result"][1].generative.exception(timeout=60)  # the run is stored after the answer
    assert stored.list_asked(wb)[0][1] == ("why " * 2000).strip() + "?"
    assert "q" not in at.query_params
    assert "This question is too long for a link" in texts(at)
    recent = open_ask().button(key="as2_recent_0")  # where the line says that it is
    assert recent.click().run().session_state["_as2_question"] == ("why " * 2000).strip() + "?"
