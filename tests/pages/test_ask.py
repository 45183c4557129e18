"""The Ask page, with services in memory. The picture's clicks and timings are in tests/e2e/test_ask_browser.py."""

import sys
from types import SimpleNamespace

import fake_work
from fake_services import HOSTILE
from streamlit.testing.v1 import AppTest

from as2core.errors import As2Error

QUESTION = "When was the tower finished?"


def opened(query=None):
    at = AppTest.from_file(str(fake_work.MAIN), default_timeout=30)
    for key, value in (query or {}).items():
        at.query_params[key] = value
    return at.run()


def answered(work, query=None, **changes):
    """The page after a question, generative scores included."""
    for name, value in changes.items():
        setattr(work, name, value)
    at = opened({"q": QUESTION} | (query or {}))
    at.session_state["_as2_result"][1].generative.exception(timeout=10)
    return at.run()


def table(at):
    return at.dataframe[0].value


def test_before_a_question_examples_are_offered_and_taking_one_asks_it(work):
    at = opened()
    assert at.header[0].value == "What would you like to know?"
    pills = at.get("button_group")[0]
    assert r"What did it cost\: \$5 or \$9?" in pills.options
    pills.set_value("Who signed the plans?").run()
    assert [q for _, q, _ in work.asked] == ["Who signed the plans?"]


def test_typing_a_question_and_sending_the_form_asks_it_once(work):
    at = opened()
    at.text_input(key="as2_question_0").set_value(f"  {QUESTION} ")
    at.button[0].click().run()
    at.run()
    assert work.asked == [(1, QUESTION, "cascade")]
    assert at.query_params["q"] == QUESTION


def test_the_answer_comes_first_marked_among_its_neighbours_with_its_probability_and_document(work):
    html = fake_work.markup(answered(work))
    answer = html.index("as2-answer")
    assert answer < html.index("as2-marks") < html.index("as2-costs")
    assert "Very likely the answer <span>94 %</span>" in html
    assert "The tower was finished on 31 March 1889, after two years of work.</mark>" in html
    assert '<span class="as2-near">It was built as the gate of the World&#x27;s Fair.</span>' in html
    assert "The tower <span>· sentence 1</span>" in html


def test_below_the_threshold_the_page_says_that_there_is_no_answer(work):
    html = fake_work.markup(answered(work, best=0.31))
    assert "This corpus seems to hold no answer." in html
    assert "The nearest sentence has a probability of 31 %; from 50 % on it would count as an answer." in html


def test_without_calibration_nothing_is_called_a_probability(work):
    html = fake_work.markup(answered(work, calibrated=False, best=0.31))
    assert "not calibrated" in html
    assert "no answer" not in html.split("as2-marks")[0]


def test_foreign_text_is_shown_as_text(work, monkeypatch):
    monkeypatch.setattr("fake_services.TEXTS", (HOSTILE, *("Another one.",) * 7))
    html = fake_work.markup(answered(work))
    assert "&lt;img src=x onerror=" in html
    assert "<img src=x" not in html
    assert HOSTILE in table(answered(work))["sentence"].tolist()


def test_the_slider_replays_the_run_without_asking_again(work):
    at = answered(work)
    assert "<b>10</b> of 40 reach the end" in fake_work.markup(at)  # 40, 28, 20, 14, 10
    at.slider(key="as2_drop").set_value(50).run()
    assert "<b>3</b> of 40 reach the end" in fake_work.markup(at)  # 40, 20, 10, 5, 3
    assert at.query_params["drop"] == "50"
    assert len(work.asked) == 1


def test_every_run_tells_the_sliders_values_for_a_browser_that_never_drew_an_earlier_one(work):
    at = answered(work, {"drop": "50-20-0-10"}).run()
    assert [list(s.proto.default) for s in at.slider] == [[30], [50], [20], [0], [10]]
    assert at.toggle(key="as2_drop_each").proto.default
    at = at.slider(key="as2_drop_1").set_value(40).run()
    assert list(at.slider(key="as2_drop_1").proto.default) == [40]
    at = at.toggle(key="as2_drop_each").set_value(False).run()
    at = at.slider(key="as2_drop").set_value(55).run()
    assert list(at.slider(key="as2_drop").proto.default) == [55]


def test_each_exit_may_have_a_share_of_its_own(work):
    at = answered(work)
    at.toggle(key="as2_drop_each").set_value(True).run()
    assert [s.value for s in at.slider][1:] == [30, 30, 30, 30]
    at.slider(key="as2_drop_0").set_value(50).run()
    assert at.query_params["drop"] == "50-30-30-30"
    assert "<th scope=row>layer 2</th><td>40</td><td>20</td>" in fake_work.markup(at)


def test_a_link_reproduces_question_corpus_model_and_shares(work):
    at = answered(work, {"corpus": "Towers", "model": "starter-3", "drop": "50-0-0-0"})
    assert work.asked == [(2, QUESTION, "starter-3")]
    assert "<b>20</b> of 40 reach the end" in fake_work.markup(at)
    assert at.selectbox(key="as2_corpus").value == "Towers"


def test_a_question_with_a_slip_is_read_mended_and_can_be_read_as_typed(work):
    typed = "When was the towre finished?"
    work.mends = {typed: "When was the tower finished?"}
    at = answered(work, {"q": typed})
    assert "Read as **When was the tower finished?**" in [m.value for m in at.markdown]
    assert "as_typed" not in at.query_params
    at = at.button(key="as2_as_typed").click().run()
    assert [q for _, q, _ in work.asked] == ["When was the tower finished?", typed]
    assert not any("Read as" in m.value for m in at.markdown)
    assert at.query_params["as_typed"] == "1"
    answered(work, {"q": typed, "as_typed": "1"})
    assert work.asked[-1][1] == typed


def test_the_browsers_way_back_restores_the_share_and_the_page_without_a_question(work, monkeypatch):
    at, clock = answered(work), SimpleNamespace(now=0.0)
    url = sys.modules["app.components.url"]  # as the page has it
    monkeypatch.setattr(url, "time", SimpleNamespace(monotonic=lambda: clock.now))
    at = at.slider(key="as2_drop").set_value(50).run()
    assert at.query_params["drop"] == "50"
    del at.query_params["drop"]
    at = at.run()
    assert at.slider(key="as2_drop").value == 50  # so soon after, it may be a browser that is behind
    clock.now += 10
    del at.query_params["drop"]
    at = at.run()
    assert at.slider(key="as2_drop").value == 30
    at.query_params["drop"] = "20-20-30-40"
    at = at.run()
    assert [at.slider(key=f"as2_drop_{i}").value for i in range(4)] == [20, 20, 30, 40]
    clock.now += 10
    del at.query_params["q"]
    at = at.run()
    assert at.header[0].value == "What would you like to know?"


def test_an_emptied_question_leaves_the_address(work):
    at = answered(work)
    at.text_input(key="as2_question_0").set_value("")
    at = next(b for b in at.button if b.label == "Ask").click().run()
    assert "q" not in at.query_params


def test_a_corpus_without_documents_says_where_to_bring_some_in(work):
    work.documents = 0
    at = opened({"q": QUESTION})
    assert work.asked == []
    assert "bring in some documents" in fake_work.texts(at)


def test_nonsense_in_a_link_is_passed_over(work):
    at = answered(work, {"model": "none", "drop": "lots"})
    assert work.asked == [(1, QUESTION, "cascade")]
    assert at.slider(key="as2_drop").value == 30


def test_the_costs_say_whether_their_times_were_measured_or_estimated(work):
    at = answered(work)
    assert "time, estimated" in fake_work.markup(at)
    at.slider(key="as2_drop").set_value(0).run()
    html = fake_work.markup(at)
    assert "time, measured" in html
    assert "<th scope=row>layer 2</th><td>40</td><td>40</td><td>100 ms</td>" in html


def test_the_first_look_is_a_row_and_a_column_like_any_exit(work):
    at = answered(work, entered=20)
    html = fake_work.markup(at)
    assert "<th scope=row>first look</th><td>40</td><td>20</td>" in html
    assert "<th scope=row>layer 2</th><td>20</td><td>14</td>" in html
    assert "<b>5</b> of 40 reach the end" in html  # 20, 14, 10, 7, 5
    assert any("left 20 of 40 sentences" in c.value for c in at.caption)
    assert any("Ranked 20 of 40 sentences" in c.value for c in at.caption)
    shown = table(at)
    assert (shown["left"] == "first look").sum() == 20
    unread = shown["left"] == "first look"
    assert shown["generative"].isna().tolist() == unread.tolist()


def test_the_time_that_dropping_saves_is_measured_when_asked_for_and_told_beside_the_promise(work):
    at = answered(work)
    at.button(key="as2_measure").click().run()
    assert work.measured == [(0.3, 0.3, 0.3, 0.3)]
    assert "<b>25 %</b> of the time saved" in fake_work.markup(at)  # 200 ms became 150
    at.slider(key="as2_drop").set_value(50).run()
    assert "of the time saved" not in fake_work.markup(at)
    at.slider(key="as2_drop").set_value(0).run()
    assert "as2_measure" not in [b.key for b in at.button]


def test_both_rankers_stand_side_by_side_in_the_table(work):
    at = answered(work)
    frame = table(at)
    assert frame["cascade"].tolist() == list(range(1, 41))
    assert sorted(frame["generative"]) == list(range(1, 41))
    assert frame["sentence"][0].startswith("The tower was finished")
    dropped_first = frame[frame["left"] == "layer 2"]
    assert len(dropped_first) == 12  # 30 % of 40
    assert {len(scores) for scores in dropped_first["by exit"]} == {1}
    assert dropped_first["probability"].isna().all()


def test_where_both_together_would_answer_otherwise_the_page_says_so_and_shows_it(work):
    at = answered(work, generative_prefers=1, best=0.5)
    shown = table(at)
    second = shown.iloc[1]
    assert (second["cascade"], second["generative"], second["together"]) == (2, 1, 1)
    assert shown["together"].notna().tolist() == (shown["left"] == "stayed").tolist()
    other = next(e for e in at.expander if "together would answer" in e.label)
    assert second["sentence"][:40] in other.proto.label.replace("\\", "")
    at.button(key="as2_label_together_correct").click().run()
    assert [e[:2] for e in work.events] == [(7, 100 + int(second["position"]))]


def test_where_both_agree_the_page_says_nothing_of_it(work):
    at = answered(work)
    assert table(at)["together"][0] == 1
    assert not any("together would answer" in e.label for e in at.expander)


def test_without_the_generative_model_the_rest_of_the_page_stands(work):
    at = answered(work, generative_fails=True)
    assert "the generative model is damaged" in at.error[0].value
    assert table(at)["generative"].isna().all()
    assert "Very likely the answer" in fake_work.markup(at)


def test_a_label_given_in_place_is_stored_shown_and_drawn(work):
    at = answered(work)
    at.button(key="as2_label_answer_correct").click().run()
    question, sentence, _, label, shown = work.events[0]
    assert (question, sentence, label) == (7, 100, "correct")
    assert (shown.version, shown.rank, shown.scores_visible, shown.queue) == ("cascade", 1, True, "ask")
    assert any("Stored as correct, signed me" in c.value for c in at.caption)
    assert table(at)["label"][0] == "correct"


def test_a_label_given_on_ask_keeps_the_version_of_the_guidelines_in_force(work):
    work.guidelines.append("- Dates count.")
    at = answered(work)
    at.button(key="as2_label_answer_correct").click().run()
    assert work.events[0][4].guideline == 1


def test_labels_are_signed_with_the_name_in_the_side_bar(work):
    at = answered(work)
    at.text_input(key="as2_name").set_value("Ada").run()
    at.button(key="as2_label_answer_unsure").click().run()
    assert any("Stored as unsure, signed Ada" in c.value for c in at.caption)


def test_a_viewer_asks_and_cannot_label(work):
    work.labels[7, 100] = "correct"
    at = answered(work, role="viewer")
    for act in ("correct", "incorrect", "unsure", "withdraw"):
        assert at.button(key=f"as2_label_answer_{act}").disabled
    assert "An admin can change that" in at.button(key="as2_label_answer_correct").help


def test_a_label_that_could_not_be_stored_is_not_confirmed(work, monkeypatch):
    at = answered(work)

    def full(*args, **kwargs):
        raise As2Error("the disk is full: nothing was stored")

    monkeypatch.setattr("app.services.labelling.give_label", full)
    at.button(key="as2_label_answer_correct").click().run()
    assert "nothing was stored" in at.error[0].value
    assert not any("Stored as" in c.value for c in at.caption)


def test_the_chosen_candidate_is_seen_from_near_with_the_words_it_explains(work):
    at = answered(work)
    at.session_state["_as2_chosen"] = 3
    at.run()
    html = fake_work.markup(at)
    near = html[html.rindex('<p class="as2-passage"') :]
    assert "Work on the foundations began in January 1887.</mark>" in near
    assert "<span>tower</span><small>-5.5</small>" in near
    at.button(key="as2_label_near_incorrect").click().run()
    assert work.events[-1][1] == 103


def test_an_error_the_reader_can_mend_is_shown_as_its_text(work):
    at = opened({"q": QUESTION} if not setattr(work, "fail", As2Error("no index of $x$: run `as2 reindex`")) else {})
    assert at.error[0].value == r"no index of \$x\$\: run \`as2 reindex\`"
    assert not at.exception


def test_any_other_error_is_an_apology_with_an_id_that_is_in_the_log(work, caplog):
    work.fail = RuntimeError("a tensor of the wrong shape")
    at = opened({"q": QUESTION})
    assert not at.exception
    assert "tensor" not in at.error[0].value
    line = at.error[0].value.split("`")[1]
    assert f"[{line}] a tensor of the wrong shape" in caplog.text


def test_a_question_nothing_comes_near_is_answered_with_what_to_do(work):
    at = opened({"q": QUESTION} if not setattr(work, "candidates", 0) else {})
    assert "Ask in other words, or choose another corpus" in at.info[0].value


def test_without_any_corpus_the_page_points_to_data(work):
    work.corpora = ()
    at = opened()
    assert "Open **Data**" in at.info[0].value
    assert not at.exception


def test_a_very_long_question_is_asked_but_stays_out_of_the_address(work):
    at = opened()
    at.text_input(key="as2_question_0").set_value("why " * 2000)
    at.button[0].click().run()
    assert work.asked[0][1] == ("why " * 2000).strip()
    assert "q" not in at.query_params
