"""The Ask page. The picture and its slider are in tests/e2e/test_cascade_picture.py; here their choices are set in the
session, as their callbacks do."""

import json
import logging
import re
from types import SimpleNamespace

import pytest
import stored
import streamlit as st
from app_pages import button, find_place, markup, open_page, texts
from fake_models import FakeCascade, FakeModels

from app.ask import asking
from app.corpora import corpora
from app.labels import annotation, guidelines
from app.ranking.synonyms import write_synonyms
from app.ui import url
from app.ui.ask import cost
from app.ui.ask.result import fits_link
from app.ui.label.buttons import UNLABELLED
from as2core.errors import As2Error

QUESTION = "When was the hall finished?"  # of forty candidates, one answers
ANSWER = 11  # that one's sentence


def open_ask(query=None):
    return open_page("ask", {"corpus": "Works"} | (query or {}))


def ask_question(query=None):
    """The page after a question, generative scores included."""
    at = open_ask({"q": QUESTION} | (query or {}))
    at.session_state["_as2_result"][1].generative.exception(timeout=60)
    return at.run()


def table(at):
    return at.dataframe[0].value


def read_component(at, component):
    """What a component of the page gets."""
    return next(json.loads(c.proto.json) for c in at.get("bidi_component") if c.proto.component_name == component)


def shares(at):
    return read_component(at, "as2_cascade_state")["percents"]


def drop(at, *percents):
    """The slider, released at one share or at one for each exit."""
    at.session_state["_as2_drop"] = "-".join(map(str, percents))
    return at.run()


def total(entered, stayed):
    """The last row of the costs, up to its time."""
    return f"<th scope=row>all</th><td>{entered}</td><td>{stayed}</td>"


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
    assert re.search("Almost certainly the answer <span [^>]*>95\u00a0%</span>", html)
    assert "The hall was finished in 1889.</mark>" in html
    assert (
        '<span class="as2-near">It was built for the World&#x27;s Fair, and few people came to see it.</span>' in html
    )
    assert "Iron works <span>· sentence 1</span>" in html


def test_below_the_threshold_the_page_says_that_there_is_no_answer(wb):
    at = ask_question({"q": "When was the oldest hall painted?"})
    html = markup(at)
    assert "No answer found in this corpus" in html
    [link] = [x.proto for x in at.get("page_link") if x.proto.label.endswith("Add a synonym")]
    assert "view=synonyms" in link.query_string
    assert "This sentence comes closest, but its score is below that of most correct answers" in html
    assert "Share among the candidates 27\u00a0%." in html and "Probability 27" not in html


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


def test_foreign_text_is_shown_as_text(wb, hostile):
    at = ask_question({"corpus": "Towers", "q": "What did it cost: $5 or $9?"})
    assert "&lt;img src=x onerror=" in markup(at)
    assert "<img src=x" not in markup(at)
    assert table(at)["sentence"][0] == hostile


def test_the_slider_replays_the_run_without_asking_again(wb):
    at = ask_question()
    assert total(40, 10) in markup(at)  # 40, 28, 20, 14, 10
    at = drop(at, 50)
    assert total(40, 3) in markup(at)  # 40, 20, 10, 5, 3
    assert at.query_params["drop"] == "50"
    assert len(stored.list_asked(wb)) == 1


def test_the_picture_gets_the_record_once_and_the_same_after_every_act(wb):
    at = ask_question()
    record = read_component(at, "as2_cascade")
    assert [len(e["scores"]) for e in record["exits"]] == [40] * 5
    place = record["texts"].index("The hall was finished in 1889.")
    at = drop(at, 50)
    at.button(key="as2_label_answer_correct").click().run()
    assert read_component(at, "as2_cascade") == record
    assert read_component(at, "as2_cascade_state")["correct"] == [record["entered"][place]]


def test_the_answer_to_copy_has_its_source(wb):
    state = read_component(ask_question(), "as2_cascade_state")
    assert state["answer"] == "“The hall was finished in 1889.” (Iron works, sentence 1)"


def test_each_exit_may_have_a_share_of_its_own(wb):
    at = drop(ask_question(), 50, 30, 30, 30)
    assert shares(at) == [50, 30, 30, 30]
    assert at.query_params["drop"] == "50-30-30-30"
    assert "<th scope=row>layer 2</th><td>40</td><td>20</td>" in markup(at)


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


def test_the_costs_say_whether_their_times_were_measured_or_estimated(wb):
    at = ask_question()
    assert "time, estimated" in markup(at)
    at = drop(at, 0)
    assert "time, measured" in markup(at)
    assert "<th scope=row>layer 2</th><td>40</td><td>40</td><td>1 ms</td>" in markup(at)


@pytest.mark.parametrize("more_settings", [{"first_keep": 20}])
def test_the_first_stage_is_a_row_and_a_column_like_any_exit(wb):
    at = ask_question()
    html = markup(at)
    assert "<th scope=row>first stage</th><td>40</td><td>20</td>" in html
    assert "<th scope=row>layer 2</th><td>20</td><td>14</td>" in html
    assert total(40, 5) in html  # 20, 14, 10, 7, 5
    assert "The first stage spared it the other 20; that is not counted here." in texts(at)
    record = read_component(at, "as2_cascade")
    assert (record["candidates"], len(record["entered"]), len(record["first"]["ranks"])) == (40, 20, 40)
    assert any("Ranked 20 of 40 sentences" in c.value for c in at.caption)
    shown = table(at)
    assert (shown["dropped"] == "first stage").sum() == 20
    unread = shown["dropped"] == "first stage"
    assert shown["generative"].isna().tolist() == unread.tolist()


def test_the_time_that_dropping_saves_is_measured_when_asked_for_and_told_beside_the_promise(wb, monkeypatch):
    at, clock, rank, schedules = ask_question(), SimpleNamespace(now=0.0), FakeCascade.trace, []

    def trace(self, question, candidates, schedule=None):
        clock.now += 0.15 if any(schedule.ratios) else 0.2
        schedules.append(schedule.ratios)
        return rank(self, question, candidates, schedule)

    monkeypatch.setattr(FakeCascade, "trace", trace)
    monkeypatch.setattr(asking, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    at.button(key="as2_measure").click().run()
    assert set(schedules) == {(0.0,) * 4, (0.3,) * 4}
    assert "<b>25 %</b> of the time saved" in markup(at)  # 200 ms became 150
    at = drop(at, 50)
    assert "of the time saved" not in markup(at)
    at = drop(at, 0)
    assert "as2_measure" not in [b.key for b in at.button]


def test_a_click_on_measure_counts_though_another_run_overtakes_the_one_that_it_started(wb, monkeypatch):
    at, draw, overtakes = ask_question(), cost.draw_costs, [True]

    def overtake_once(run, full):
        draw(run, full)
        if overtakes and overtakes.pop():
            st.rerun()

    monkeypatch.setattr(cost, "draw_costs", overtake_once)
    at.button(key="as2_measure").click().run()
    assert not overtakes
    assert "of the time saved" in markup(at)


def test_both_rankers_stand_side_by_side_in_the_table(wb):
    frame = table(ask_question())
    assert frame["cascade"].tolist() == list(range(1, 41))
    assert sorted(frame["generative"]) == list(range(1, 41))
    assert frame["sentence"][0] == "The hall was finished in 1889."
    dropped_first = frame[frame["dropped"] == "layer 2"]
    assert len(dropped_first) == 12  # 30 % of 40
    assert {len(scores) for scores in dropped_first["by exit"]} == {1}
    assert dropped_first["probability"].isna().all()


def test_where_both_together_would_answer_otherwise_the_page_says_so_and_shows_it(wb):
    at = ask_question({"q": "When was the mill finished?"})  # the shorter of its two answers is the likelier by itself
    shown = table(at)
    other = "When the mill was finished, it rained."
    row = shown[shown["sentence"] == other].iloc[0]
    assert (row["cascade"], row["generative"], row["together"]) == (2, 2, 1)
    assert shown["together"].notna().tolist() == (shown["dropped"] == "not dropped").tolist()
    [told] = [e for e in at.expander if "both rankers together" in e.label]
    assert other in told.proto.label.replace("\\", "")
    at.button(key="as2_label_together_correct").click().run()
    [event] = stored.label_events(wb)
    assert stored.sentence(wb, event.sentence_id) == other


def test_where_both_agree_the_page_says_that_it_is_the_same_sentence(wb):
    at = ask_question()
    assert table(at)["together"][0] == 1
    assert "Best by both rankers together: the same sentence" in [e.label for e in at.expander]


def test_without_the_generative_model_the_rest_of_the_page_stands(wb):
    (wb.settings.models_dir / "generative" / "model.safetensors").write_bytes(b"damaged")
    at = ask_question()
    assert "is damaged: restore generative" in texts(at)
    assert "Almost certainly the answer" in markup(at)


def test_a_label_given_in_place_is_stored_shown_and_drawn(wb):
    at = ask_question()
    at.button(key="as2_label_answer_correct").click().run()
    [event] = stored.label_events(wb)
    assert (event.sentence_id, event.label) == (ANSWER, "correct")
    assert (event.shown_version, event.shown_rank, event.scores_visible, event.queue) == ("cascade", 1, True, "ask")
    assert any("Stored as correct, signed me" in c.value for c in at.caption)
    assert table(at)["label"][0] == "correct"


def test_the_line_for_a_stored_label_is_there_before_there_is_one(wb):
    at = ask_question()
    assert find_place(at, "as2-labels-answer") < find_place(at, UNLABELLED)
    at = at.button(key="as2_label_answer_correct").click().run()
    assert find_place(at, "as2_queue") < find_place(at, "Stored as correct") < find_place(at, "Ranked ")


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


def test_the_chosen_candidate_is_seen_from_near_with_the_words_it_explains(wb):
    at = ask_question()
    third = table(at).iloc[2]
    at.session_state["_as2_chosen"] = int(third["position"])
    at.run()
    html = markup(at)
    near = html[html.rindex('<div class="as2-details"') :]
    assert f"{third['sentence']}</mark>" in near
    assert "Stayed to the end: rank 3 of 10." in near
    assert 'class="as2-word' not in html  # until the reader opens them
    at.session_state["as2_question_words"] = True
    at.run()
    # 0.1 nats where "finished" is, 5 elsewhere: in 3 of the 40
    assert "<span>finished</span><small>÷ 1.4</small>" in markup(at)
    assert "the mean over the 40 candidates ranked" in texts(at)
    at.button(key="as2_label_near_incorrect").click().run()
    assert stored.sentence(wb, stored.label_events(wb)[-1].sentence_id) == third["sentence"]


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


def test_the_words_that_carried_the_score_are_marked_when_asked_for(wb):
    at = ask_question()
    assert 'class="as2-for"' not in markup(at)
    toggle = next(t for t in at.toggle if t.label == "Words that carried the score")
    at = toggle.set_value(True).run()
    html = markup(at)
    marked = re.search("<mark[^>]*>(.*?)</mark>", html)[1]
    assert re.sub("<[^>]*>", "", marked) == "The hall was finished in 1889."
    assert re.findall('title="(.*?)">(.*?)<', marked) == [
        (f"Without “{word}” the score would be 3.00 lower", word) for word in ("hall", "finished")
    ]  # the two words that the question has too, "The" and "was" aside
    assert "Raise the score" in html and "Each word was left out in turn" in html
    third = table(at).iloc[2]
    at.session_state["_as2_chosen"] = int(third["position"])
    at = at.run()
    near = markup(at)[markup(at).rindex('<div class="as2-details"') :]
    assert '<p class="as2-note as2-words-note">' in near


def test_why_a_candidate_was_dropped_stands_beside_the_picture(wb):
    at = ask_question()
    last = table(at).iloc[-1]
    assert last["dropped"] == "layer 2"
    at.session_state["_as2_chosen"] = int(last["position"])
    at.run()
    assert "Dropped after layer 2: rank 40, the best 28 stay. It would survive at 2 %." in markup(
        at
    )  # one of 40 is 2.5 %


def test_an_error_the_reader_can_mend_is_shown_as_its_text(wb, monkeypatch):
    def refuse(self, path, settings=""):
        raise As2Error("no weights of $x$: run `as2 models`")

    monkeypatch.setattr(FakeModels, "version", refuse)
    at = open_ask({"q": QUESTION})
    assert at.error[0].value == r"No weights of \$x\$\: run \`as2 models\`"
    assert not at.exception


def test_any_other_error_is_an_apology_with_an_id_that_is_in_the_log(wb, monkeypatch, caplog):
    def stumble(*_):
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
