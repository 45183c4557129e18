"""The card of a retrain: before and after, changed questions, benchmarks."""

import statistics
from dataclasses import replace
from types import SimpleNamespace

import pytest
import stored
from adapt_pages import label, open_adapt, open_result, put_retrain
from app_pages import markup, texts
from stored import THINGS, TOWERS, change_version, put_job

from app.adapt.label_selection import LabelSelection
from app.adapt.report import BeforeAfter, QuestionChange, RetrainReport, TopSentence
from app.labels import rules
from app.ui.adapt import example
from app.ui.adapt.card.figures import render_benchmarks
from app.ui.adapt.card.outcome import describe_power, describe_turns
from app.workbench.workbench import DatabaseOutage
from as2core.metrics import PairedTest

NOTHING_LEFT = (
    "cascade ranks the correct sentences of these 9 questions first already, so they cannot show a gain. Keep it, and "
    "label questions that it gets wrong."
)


@pytest.mark.parametrize("first", ["It rained.", "The tower was finished in 1889.", None])
def test_the_card_leads_to_ask_where_the_sentence_that_became_first_is_first_there(wb, monkeypatch, first):
    sentences = ["It rained.", "The tower was finished in 1889."]
    ranked = SimpleNamespace(
        candidates=[SimpleNamespace(text=text) for text in sentences if first],  # or the search finds nothing
        trace=SimpleNamespace(ranking=lambda: [sentences.index(first)] if first else []),
    )
    monkeypatch.setattr(example, "rank_question", lambda *_: ranked)
    example._find_first.clear()
    result = stored.retrain_result() | {"base": "cascade", "kind": "cascade"}
    at = open_adapt({"job": str(put_job(wb, state="done", corpus_id=THINGS, result=result))})
    links = [x for x in at.get("page_link") if x.proto.label.startswith("Ask one of them")]
    example._find_first.clear()
    assert bool(links) == (first == sentences[1]) == ("has its correct sentence first yet" not in texts(at))
    if links:
        assert "base=cascade" in links[0].proto.query_string and "against=starter-3" in links[0].proto.query_string


def test_an_outage_is_not_cached_as_an_example_that_does_not_hold(wb, outage):
    example._find_first.clear()
    outage.set()
    with pytest.raises(DatabaseOutage):
        example._find_first(wb, TOWERS, "When was the tower finished?", "cascade")


def test_the_card_tells_wins_losses_exits_and_what_was_forgotten(wb):
    at = open_result(wb)
    html = markup(at)
    assert "Better on 35 questions" in html and "Before and after, on the same 35 questions" in texts(at)
    assert "held-out questions only" not in texts(at)
    assert "12 questions better, 3 worse, 20 the same" in texts(at)
    assert "0.702<small>0.64 – 0.76</small>" in html
    assert "AP fell from 0.810 to 0.808 (Starter test): nothing of note was forgotten" in texts(at)
    assert "Better · 12 questions" in texts(at).replace("**", "")
    turns = "Of 35 held-out questions, 12 got a correct first sentence where it was incorrect before, and 0 lost one."
    assert turns in texts(at).replace("**", "")
    questions = next(d.value for d in at.dataframe if "first before" in d.value.columns)
    assert list(questions.iloc[0, -2:]) == ["It rained. (incorrect)", "The tower was finished in 1889. (correct)"]
    assert "before, incorrect: It rained." in html and "now, correct: The tower was finished in 1889." in html
    assert "The small grey dot is before" in texts(at) and "Here nothing is dropped" in texts(at)


def test_the_card_has_fixed_baselines_beside_before_and_after_and_what_could_have_been_seen(wb):
    shipped = {"AP": 0.654, "RR": 0.7, "P@1": 0.6, "nDCG@10": 0.7}
    rows = [{"name": "words", "metrics": shipped | {"AP": 0.512}}, {"name": "shipped", "metrics": shipped}]
    result = stored.retrain_result(difference=0.02) | {"baselines": rows}
    job = put_retrain(wb, "done", result=result)
    at = open_adapt({"job": str(job)})
    assert "AP</th><td>0.512</td><td>0.654</td><td>0.702<small>" in markup(at)
    assert "Not reranked: in BM25's order" in texts(at) and "The shipped version has" not in texts(at)
    spread = statistics.stdev([0.25] * 12 + [-0.2] * 3 + [0.0] * 20)
    smallest = 2.8016 * spread / 35**0.5
    assert f"With these 35 held-out questions, a change of {smallest:.3f} AP or more would have been seen" in texts(at)
    assert "would have been seen" not in texts(open_result(wb))  # a clear change needs no power
    result["baselines"] = [{"name": "retrieval", "metrics": shipped}, {"name": "shipped", "metrics": result["before"]}]
    for base, note in (("towers-1", "The shipped version has the same figures as before."),
                       ("cascade", "Before is the shipped version.")):  # fmt: skip
        stored.change_job(wb, job, result={**result, "base": base})
        at = open_adapt({"job": str(job)})
        assert f"Not reranked: the order of retrieval. {note}" in texts(at)
    assert markup(at).count("not reranked</th><th>before</th>") == 1


@pytest.mark.parametrize(
    ("low", "difference", "high", "text"),
    [
        (0.05, 0.1, 0.15, "the order of retrieval. After the retrain, AP is higher by 0.100 (95 %: +0.050 to +0.150)."),
        (-0.05, 0.1, 0.15, "The difference to AP after the retrain (+0.100, 95 %: −0.050 to +0.150) could be chance."),
        (-0.15, -0.1, -0.05, "the order of retrieval. After the retrain, AP is lower by 0.100"),
    ],
)
def test_the_card_tells_whether_the_version_is_better_than_no_reranking(wb, low, difference, high, text):
    gain = {"difference": difference, "low": low, "high": high, "p": 0.01, "wins": 20, "losses": 9, "ties": 6}
    metrics = {"AP": 0.654, "RR": 0.7, "P@1": 0.6, "nDCG@10": 0.7}
    rows = [{"name": "retrieval", "metrics": metrics, "gain": gain}]
    at = open_adapt({"job": str(put_retrain(wb, "done", result=stored.retrain_result() | {"baselines": rows}))})
    assert text in texts(at)
    is_worse = "the order without reranking is better than this version" in " ".join(w.value for w in at.warning)
    assert is_worse == (high < 0)


def test_the_card_says_that_copies_ranked_training_questions_where_few_are_held_out(wb):
    result = stored.retrain_result(difference=0.02)
    result["labels"] = {**result["labels"], "held_out_questions": 5, "cross_fitted_questions": 30}
    at = open_adapt({"job": str(put_retrain(wb, "done", result=result))})
    said = texts(at)
    assert "Only 5 questions held out would say little. Therefore 30 training questions are compared as well" in said
    assert "With these 35 questions, a change of" in said
    assert said.count("On the 5 held-out questions only") == 2  # the exits and the calibration
    assert "Of 35 questions, **12** got a correct first sentence" in markup(at) + said
    assert "5 held out, 30 of the training questions compared, too." in markup(at)


def test_with_few_changed_questions_the_card_says_so_once_and_names_no_change_that_would_have_been_seen(wb):
    at = open_adapt({"job": str(put_retrain(wb, "done", result=stored.retrain_result(wins=0, losses=1, ties=8)))})
    assert texts(at).count("Too few questions changed to tell") == 1 and "1 of 9 questions changed" not in texts(at)
    assert "four times in five" not in texts(at) and "No clear difference on 9 questions" in markup(at)


def test_the_card_counts_unlabelled_sentences_apart_from_labels_unless_an_older_program_wrote_it(wb):
    result = stored.retrain_result()
    choice = LabelSelection().to_json()
    html = markup(open_adapt({"job": str(put_retrain(wb, "done", result=result | {"choice": choice}))}))
    assert "160 correct and 540 incorrect labels" in html
    assert "Up to 10 unlabelled sentences a question counted as incorrect." in html
    result["labels"] = {**result["labels"], "presumed": 500}
    html = markup(open_adapt({"job": str(put_retrain(wb, "done", result=result | {"choice": choice}))}))
    assert "160 correct and 40 incorrect labels, 500 unlabelled sentences counted as incorrect" in html
    assert "a question counted as incorrect" not in html


def test_what_was_forgotten_on_any_frozen_benchmark_is_named(wb):
    others = {"wikiqa-dev": {"before": {"AP": 0.766}, "after": {"AP": 0.701}}}
    result = stored.retrain_result() | {"frozen_others": others}
    job = put_retrain(wb, "done", result=result)
    said = texts(open_adapt({"job": str(job)}))
    assert "AP fell from 0.766 to 0.701 (WikiQA dev): some of it was **forgotten**" in said
    assert "nothing of note was forgotten" not in said
    others["wikiqa-dev"]["after"]["AP"] = 0.77
    stored.change_job(wb, job, result=dict(result))
    said = texts(open_adapt({"job": str(job)}))
    assert "fell from 0.810 to 0.808 (Starter test) and rose from 0.766 to 0.770 (WikiQA dev): nothing of note" in said


def test_labels_that_were_left_out_are_told_and_shown(wb):
    example = {"question": "Who built it?", "text": "Bread is baked.", "correct": True}
    left_out = {"rate": 0.21, "labels": 60, "correct": 50, "to_read": [example]}
    job = put_retrain(wb, "done", result=stored.retrain_result() | {"left_out": left_out})
    at = open_adapt({"job": str(job)})
    assert "21% of the labels are wrong" in texts(at) and "The 1 least likely" in texts(at)
    assert [d.value.to_dict("records") for d in at.dataframe if "Labelled" in d.value] == [
        [{"Question": "Who built it?", "Sentence": "Bread is baked.", "Labelled": "correct"}]
    ]


def test_every_benchmark_is_a_row_of_before_and_after_and_old_results_are_still_read(wb):
    wikiqa = {"before": {"AP": 0.6, "RR": 0.61, "P@1": 0.5, "nDCG@10": 0.7},
              "after": {"AP": 0.65, "RR": 0.66, "P@1": 0.55, "nDCG@10": 0.75}}  # fmt: skip
    old = stored.retrain_result()["frozen"]  # AP alone
    table = render_benchmarks({"starter-test": BeforeAfter(**old), "wikiqa-dev": BeforeAfter(**wikiqa)})
    assert "<th>Starter test</th><td>0.810 → 0.808</td><td></td><td></td><td></td>" in table
    assert "<th>WikiQA dev</th><td>0.600 → 0.650</td><td>0.610 → 0.660</td><td>0.500 → 0.550</td>" in table
    job = put_retrain(wb, "done", result=stored.retrain_result() | {"frozen_others": {}})
    assert "Starter test" in markup(open_adapt({"job": str(job)}))


def test_a_card_of_few_questions_says_how_many_tell(wb):
    for ties, tells in ((2, False), (20, True)):
        result = stored.retrain_result(wins=1, losses=1, ties=ties, difference=0.0)
        change_version(wb, "starter-3", metrics={"AP": 0.7, "before AP": 0.7, "paired": result["paired"]})
        text = texts(open_adapt({"version": "starter-3"}))
        assert ("Fewer than 20 held-out questions seldom tell" in text) != tells
        assert "label more questions." in text


@pytest.mark.parametrize(
    ("before", "after", "wins", "advice"),
    [
        (1.0, 1.0, 0, NOTHING_LEFT),
        (1.0, 0.98, 0, NOTHING_LEFT),
        (
            0.97,
            1.0,
            2,
            "starter-3 ranks the correct sentences of these 9 questions first, but too few questions changed",
        ),
        (0.7, 0.75, 2, "Without a clear difference, keep cascade and label more questions."),
    ],
)
def test_where_nothing_is_left_to_gain_the_card_sends_to_questions_that_are_answered_wrongly(
    wb, before, after, wins, advice
):
    paired = stored.retrain_result(wins=wins, losses=int(after < before), difference=after - before)["paired"]
    paired["ties"] = 9 - paired["wins"] - paired["losses"]
    change_version(wb, "starter-3", metrics={"AP": after, "before AP": before, "paired": paired})
    at = open_adapt({"version": "starter-3"})
    assert advice in texts(at)
    [link] = [x.proto for x in at.get("page_link") if "Label" in x.proto.label and "queue=" in x.proto.query_string]
    is_full = 1.0 in (before, after)
    assert ("queue=disagree" in link.query_string) == is_full and ("Fewer than 20" in texts(at)) != is_full


def test_the_advice_on_one_question_is_in_the_singular(wb):
    paired = stored.retrain_result(wins=0, losses=0, difference=0.0)["paired"] | {"ties": 1}
    change_version(wb, "starter-3", metrics={"AP": 1.0, "before AP": 1.0, "paired": paired})
    advice = (
        "cascade ranks the correct sentences of the one question first already, so that question cannot show a gain."
    )
    assert advice in texts(open_adapt({"version": "starter-3"}))


def make_report(ap, *, first_correct, changes=(0.0,) * 9):
    sides = [TopSentence("It is 1889.", i < first_correct) for i in range(len(changes))]
    rows = tuple(
        QuestionChange(f"q{i}", f"when {i}?", ap - change, ap, side, side)
        for i, (change, side) in enumerate(zip(changes, sides, strict=True))
    )
    mean = statistics.mean(changes)
    wins, losses = sum(c > 0 for c in changes), sum(c < 0 for c in changes)
    paired = PairedTest(mean, mean - 0.1, mean + 0.1, 0.5, wins, losses, len(changes) - wins - losses)
    return RetrainReport("spring", {"AP": ap - mean}, {"AP": ap}, paired, per_question=rows)


@pytest.mark.parametrize(
    ("first_correct", "text"),
    [
        (9, "The first sentence is correct on all 9 held-out questions, before and after alike."),
        (0, "The first sentence is incorrect on all 9 held-out questions, before and after alike."),
        (4, "The first sentence is correct on **4** of 9 held-out questions, before and after alike."),
    ],
)
def test_a_card_on_which_no_first_sentence_turned_says_how_many_are_correct(first_correct, text):
    assert describe_turns(make_report(0.8, first_correct=first_correct)) == text


def test_a_card_of_one_question_and_one_of_an_older_program_name_what_they_know():
    report = make_report(1.0, first_correct=1, changes=(0.0,))
    assert describe_turns(report) == "The first sentence is correct on the 1 held-out question, before and after alike."
    unknown = tuple(replace(q, top_before=None, top_after=None) for q in report.per_question)
    assert describe_turns(replace(report, per_question=unknown)) == ""


def test_a_change_larger_than_what_was_left_to_gain_is_not_asked_for():
    changes = (0.2, -0.2, 0.2, -0.2, 0.2, -0.2, 0.1, 0.0, 0.0)
    report = make_report(0.6, first_correct=0, changes=changes)
    assert describe_power(report).endswith("A smaller one is likely to go unnoticed: label more questions to see it.")
    text = describe_power(make_report(0.95, first_correct=0, changes=changes))
    assert text.endswith(
        "would have been seen four times in five, but only 0.061 was left to gain: label other questions."
    )


def test_a_label_that_waits_for_one_s_own_is_not_on_the_card(wb, me):
    rules.set_rules(wb, TOWERS, by=me.id, overlap=2)
    label(wb, 1, 4, "correct", name="ann")
    stored.set_role(wb, "annotator")
    top = {"text": stored.sentence(wb, 4), "correct": False}
    question = stored.QUESTIONS[0]
    changed = {"qid": "q1", "question": question, "before": 0.3, "after": 0.5, "top_before": top,
               "top_after": {"text": "It rained.", "correct": False}}  # fmt: skip
    job = put_retrain(wb, "done", result=stored.retrain_result() | {"per_question": [changed]})
    html = markup(open_adapt({"job": str(job)}))
    assert f"before, shown once you have labelled it: {top['text']}" in html
    assert "before, incorrect" not in html and "now, incorrect: It rained." in html
