"""Promoting, rejecting and rolling back a version."""

import pytest
import stored
from adapt_pages import WORSE, open_adapt, open_result
from app_pages import find_place, markup, texts
from stored import SECOND, THINGS, THIRD, change_version, put_job

from app.jobs.attempt import run_queued
from app.ui.adapt import page as adapt_page
from app.versions import promotion, registry
from app.worker import RUNNERS


def test_a_better_version_is_promoted_with_one_click(wb):
    open_result(wb).button(key="adapt_promote").click().run()
    assert registry.get_active(wb).name == "starter-3"
    assert registry.get_active(wb).promotions == ()


@pytest.mark.parametrize("where", ["job", "version"])
def test_the_decision_stands_between_the_verdict_and_the_figures(wb, where):
    result = stored.retrain_result()
    stored.change_card(wb, "starter-3", **(result | {"metrics": result["after"]}))
    at = open_result(wb) if where == "job" else open_adapt({"version": "starter-3"})
    marks = ("Better on 35 questions", "12 questions better", "adapt_promote", "adapt_reject",
             "Before and after, on the same 35 questions", "The same questions, before and after")  # fmt: skip
    places = [find_place(at, mark) for mark in marks]
    assert places == sorted(places)


def test_a_worse_one_needs_a_reason(wb):
    change_version(wb, "starter-3", metrics=WORSE)
    at = open_result(wb, difference=-0.04, wins=2, losses=14, p=0.01)
    assert "Worse on 36 questions" in markup(at)
    assert find_place(at, "adapt_reason") < find_place(at, "Before and after, on the same 36 questions")
    at = at.button(key="adapt_promote").click().run()
    assert "Give a reason" in texts(at) and registry.get_active(wb).name == "cascade"
    at.text_input(key="adapt_reason").input("the held-out ones are of another field")
    at.button(key="adapt_promote").click().run()  # a click alone, without Enter before it
    assert [p.words for p in registry.get_active(wb).promotions] == ["the held-out ones are of another field"]


@pytest.fixture
def scrolls(monkeypatch):
    """What the page brings into sight: (selector, place, block), a call each."""
    calls = []
    monkeypatch.setattr(
        adapt_page, "scroll_to", lambda selector, place, *, block: calls.append((selector, place, block))
    )
    return calls


@pytest.mark.parametrize("where", ["job", "version"])
def test_what_a_promotion_comes_to_is_brought_into_sight_where_it_was_clicked_also_a_refusal(wb, where, scrolls):
    change_version(wb, "starter-3", metrics=WORSE)
    result = stored.retrain_result(difference=-0.04, wins=2, losses=14, p=0.01)
    stored.change_card(wb, "starter-3", **(result | {"metrics": result["after"]}))
    job = put_job(wb, state="done", corpus_id=THINGS, result=result)
    at = open_adapt({"job": str(job)} if where == "job" else {"version": "starter-3"})
    assert not scrolls
    at = at.button(key="adapt_promote").click().run()
    [refusal] = at.error
    assert "Give a reason" in refusal.value
    assert find_place(at, "adapt_reason") < find_place(at, "Give a reason") < find_place(at, "Before and after, on")
    at.text_input(key="adapt_reason").input("of another field")
    at = at.button(key="adapt_promote").click().run()
    assert "starter-3 is in use, for all corpora." in texts(at) and not at.error
    (first, before, block), (second, after, _) = scrolls
    assert first == second == ".st-key-adapt_decision" and before != after and block == "center"
    at = at.button(key=f"adapt_card_{THIRD}").click().run()
    assert scrolls[-1][0] == ".st-key-adapt_card" and scrolls[-1][2] == "start"


def put_gate(wb, at_least):
    wb.settings.gates_dir.mkdir(parents=True, exist_ok=True)
    text = f'data = "labels:things"\n[[require]]\nmeasure = "P@1"\nat_least = {at_least}\n'
    (wb.settings.gates_dir / "release.toml").write_text(text)


def test_a_version_that_misses_a_gate_is_promoted_only_after_a_choice_and_with_a_reason(wb):
    put_gate(wb, 1.0)
    at = open_result(wb)
    assert "Conditions to meet first (gates): release" in texts(at)
    assert not [c for c in at.checkbox if c.key == "adapt_ignore_gates"]
    at = at.button(key="adapt_promote").click().run()
    assert "You can leave this page" in texts(at) and not [b for b in at.button if b.key == "adapt_promote"]
    run_queued(wb, RUNNERS)
    at = at.run()
    assert "starter-3 is not promoted. The gate release on labels:things is missed" in texts(at).replace("\\", "")
    assert registry.get_active(wb).name == "cascade"
    at.checkbox(key="adapt_ignore_gates").check()
    at = at.button(key="adapt_promote").click().run()
    assert "Give a reason" in texts(at) and registry.get_active(wb).name == "cascade"
    at.text_input(key="adapt_reason").input("a demo tomorrow")
    at.button(key="adapt_promote").click().run()
    [promoted] = registry.get_active(wb).promotions
    assert registry.get_active(wb).name == "starter-3" and promoted.words.startswith(
        "a demo tomorrow (The gate release"
    )


def test_what_another_tab_has_promoted_is_not_offered_in_place_of_itself(wb):
    at = open_adapt()
    promotion.promote(wb, "starter-3")
    at = at.button(key=f"adapt_use_{THIRD}").click().run()
    assert "starter-3 is in use already." in [t.value for t in at.toast]
    assert "adapt_use_confirm" not in [b.key for b in at.button]
    promotion.promote(wb, "starter-2")
    assert "adapt_use_confirm" not in [b.key for b in at.run().button]  # the click is answered
    at = at.button(key=f"adapt_use_{THIRD}").click().run()
    promotion.promote(wb, "starter-3")  # while the dialog is open
    at = at.text_input(key="adapt_use_reason").input("a demo").run()
    assert "in use instead of" not in texts(at) and "starter-3 is in use already." in [t.value for t in at.toast]


def test_the_dialog_too_asks_before_a_gate_is_passed_over(wb):
    put_gate(wb, 1.0)
    at = open_adapt().button(key=f"adapt_use_{THIRD}").click().run()
    at = at.button(key="adapt_use_confirm").click().run()  # the gate is to be measured first: the card shows it
    assert at.query_params["version"] == "starter-3" and "You can leave this page" in texts(at)
    assert "The gates of starter-3 are being measured" in texts(at)
    run_queued(wb, RUNNERS)
    at = open_adapt().button(key=f"adapt_use_{THIRD}").click().run()
    at = at.button(key="adapt_use_confirm").click().run()
    assert "is missed" in texts(at) and registry.get_active(wb).name == "cascade"
    at.checkbox(key="adapt_use_ignore_gates").check()
    at.text_input(key="adapt_use_reason").input("a demo tomorrow")
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-3"


def test_a_click_on_a_version_whose_gates_are_not_measured_promotes_it_when_they_are_passed(wb):
    put_gate(wb, 0.0)
    at = open_adapt({"version": "starter-3"}).button(key="adapt_promote").click().run()
    assert registry.get_active(wb).name == "cascade"
    [progress] = at.get("progress")
    assert progress.proto.text == "Waiting for the worker"
    at.button(key="adapt_promotion_cancel").click().run()
    run_queued(wb, RUNNERS)
    at = open_adapt({"version": "starter-3"})
    assert registry.get_active(wb).name == "cascade"
    at.button(key="adapt_promote").click().run()  # and the page is left
    run_queued(wb, RUNNERS)
    assert registry.get_active(wb).name == "starter-3"
    at = open_adapt({"version": "starter-3"})
    assert "starter-3 is in use, for all corpora." in texts(at).replace("\\", "")


def test_beside_the_version_in_use_is_the_way_back_to_the_one_before(wb):
    assert not [b for b in open_adapt({"version": "cascade"}).button if b.key == "adapt_back"]
    promotion.promote(wb, "starter-2")
    promotion.promote(wb, "starter-3")
    at = open_adapt({"version": "starter-3"})
    back = at.button(key="adapt_back")
    assert back.label == "Roll back to starter-2"
    at = back.click().run()
    assert at.button(key="adapt_use_confirm").label == "Roll back to starter-2"
    assert "**starter-2** will be in use instead of starter-3" in texts(at)
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-2"


@pytest.mark.parametrize(
    ("difference", "headline", "colour"),
    [(0.041, "Better", "green"), (0.02, "No clear difference", "gray"), (-0.02, "No clear difference", "gray"),
     (-0.04, "Worse", "orange")],
)  # fmt: skip
def test_the_card_and_the_list_give_one_verdict_and_the_form_asks_by_it_for_a_reason(wb, difference, headline, colour):
    result = stored.retrain_result(difference=difference)
    metrics = {"AP": result["after"]["AP"], "before AP": result["before"]["AP"], "paired": result["paired"]}
    change_version(wb, "starter-3", metrics=metrics)
    at = open_result(wb, difference=difference)
    assert f"<b>{headline} on 35 questions</b>" in markup(at)
    nothing = "Without a clear difference, keep cascade and label more questions." in texts(at)
    assert nothing == (headline == "No clear difference")
    assert at.button(key="adapt_promote").proto.type == ("primary" if headline == "Better" else "secondary")
    assert "cascade is in use, for all corpora. Promote **starter-3** instead?" in texts(at)
    assert f":{colour}[{headline.lower()}]" in texts(at)
    assert any(t.key == "adapt_reason" for t in at.text_input) == (headline == "Worse")


def test_nothing_speaks_against_new_probabilities_that_keep_the_order(wb):
    result = stored.retrain_result(difference=0.0)
    change_version(wb, "starter-3", metrics={"AP": 0.7, "before AP": 0.7, "paired": result["paired"]})
    stored.change_card(wb, "starter-3", retrain_kind="calibration")
    at = open_adapt({"version": "starter-3"})
    assert "Without a clear difference" not in texts(at)
    assert at.button(key="adapt_promote").proto.type == "primary"


def test_a_version_that_automatic_retraining_rejected_says_why_and_needs_a_reason(wb):
    frozen = {"before": {"AP": 0.81}, "after": {"AP": 0.76}}
    paired = stored.retrain_result()["paired"]
    metrics = {"AP": 0.743, "before AP": 0.702, "paired": paired, "frozen": frozen}
    change_version(wb, "starter-3", metrics=metrics, state="rejected")
    at = open_adapt({"version": "starter-3"})
    why = "Rejected: AP fell by 5.0 points on the frozen benchmark Starter test."
    assert texts(at).count(why) == 2  # the form and the list
    at.text_input(key="adapt_reason").input("our own field counts")
    at.button(key="adapt_promote").click().run()
    assert registry.get_active(wb).name == "starter-3"


def test_the_words_a_version_was_promoted_with_stand_in_its_row_and_on_its_card(wb):
    change_version(wb, "starter-2", metrics=WORSE)
    for reason in ("a *try*", "it knows our words"):
        promotion.promote(wb, "starter-2", reason)
        promotion.promote(wb, "cascade")
    last = "Put in use on 1 May 2024, 12:00 UTC, although it was worse: “it knows our words”"
    assert texts(open_adapt()).count(last) == 1
    at = open_adapt({"version": "starter-2"})
    assert texts(at).count(last) == 2 and "“a *try*”" in texts(at)


def test_a_version_can_be_rejected(wb):
    at = open_result(wb).button(key="adapt_reject").click().run()
    assert registry.get_version(wb, "starter-3").state == "rejected"
    assert any("rejected" in t.value for t in at.toast) and "It was rejected." in texts(at)


def test_going_back_to_a_version_that_was_better_needs_no_reason(wb):
    change_version(wb, "starter-3", metrics=WORSE, parent="starter-2")
    promotion.promote(wb, "starter-2")
    promotion.promote(wb, "starter-3", "a try")
    at = open_adapt().button(key=f"adapt_use_{SECOND}").click().run()
    assert at.text_input(key="adapt_use_reason").label == "Reason (optional)"
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-2"


def test_one_rolls_back_to_an_older_version_and_uses_a_newer_one(wb):
    promotion.promote(wb, "starter-3")
    promotion.promote(wb, "starter-2")
    at = open_adapt()
    [shipped] = [v.id for v in registry.list_versions(wb) if v.name == "cascade"]
    labels = {version: at.button(key=f"adapt_use_{version}").label for version in (shipped, THIRD)}
    assert labels == {shipped: "Roll back to cascade", THIRD: "Promote"}  # both were in use before


def test_the_use_of_a_worse_version_asks_why_in_a_dialog(wb):
    change_version(wb, "starter-2", metrics=WORSE)
    at = open_adapt()
    at = at.button(key=f"adapt_use_{SECOND}").click().run()
    assert "**starter-2** will be in use instead of cascade" in texts(at)
    assert "worse on 35 questions (AP 0.702 → 0.662)" in texts(at)
    at = at.button(key="adapt_use_confirm").click().run()
    assert "Give a reason" in texts(at) and registry.get_active(wb).name == "cascade"
    at.text_input(key="adapt_use_reason").input("the newer one is slower")
    at.button(key="adapt_use_confirm").click().run()
    assert registry.get_active(wb).name == "starter-2"
    assert [p.words for p in registry.get_active(wb).promotions] == ["the newer one is slower"]
