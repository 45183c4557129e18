"""What the Ask page shows of the run: the record for the picture, the slider, costs, the table, one candidate.

The picture and its slider are in tests/e2e/test_cascade_picture.py; here their choices are set in the session, as their
callbacks do.
"""

import re
from types import SimpleNamespace

import pytest
import stored
import streamlit as st
from app_pages import markup, texts
from ask_page import ask_question, drop, read_component, shares, table, total
from fake_models import FakeCascade

from app.ask import asking
from app.ui.ask import cost


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


def test_each_exit_may_have_a_share_of_its_own(wb):
    at = drop(ask_question(), 50, 30, 30, 30)
    assert shares(at) == [50, 30, 30, 30]
    assert at.query_params["drop"] == "50-30-30-30"
    assert "<th scope=row>layer 2</th><td>40</td><td>20</td>" in markup(at)


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
