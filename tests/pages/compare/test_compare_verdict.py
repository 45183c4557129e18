"""The verdict of a comparison."""

from dataclasses import replace

import pandas as pd
import pytest
from app_pages import markup, texts
from comparisons import CLEAR, open_comparison, result

from app.compare import comparison
from app.compare.comparison import ComparisonView
from app.compare.pairs import PairedResult
from app.ui.compare import headline, results
from app.ui.text import WORD_JOINER
from as2core.metrics import PairedTest


def test_differences_are_second_minus_first_with_the_largest_gain_on_top():
    frame = pd.DataFrame(
        [("q1", "one?", "a", 0.5), ("q1", "one?", "b", 0.25), ("q2", "two?", "a", 0.1), ("q2", "two?", "b", 1.0)],
        columns=["qid", "question", "ranker", "AP"],
    )
    told = results.sort_by_difference(frame, "a", "b", "AP")
    assert list(told["qid"]) == ["q2", "q1"]
    assert list(told["difference"]) == pytest.approx([0.9, -0.25])


def test_too_few_changed_questions_plan_no_number():
    few = PairedTest(difference=0.001, low=0.0, high=0.002, p=0.5, wins=2, losses=0, ties=8)
    pair = PairedResult("a", "b", "AP", few, effect=0.4, detectable=0.002, sample_size=6)
    html = results.render_pairs([pair])
    assert "Too few questions changed to say how many it would take." in html and "about 6" not in html


def test_what_the_questions_could_show_and_what_a_small_difference_takes():
    test = PairedTest(difference=0.1, low=-0.2, high=0.4, p=0.5, wins=5, losses=2, ties=2)
    html = results.render_pairs([PairedResult("a", "b", "AP", test, detectable=0.503, sample_size=5697)])
    assert "9 questions would show a difference of 0.50 in 80 of 100 cases. " in html
    assert " For 0.02 you need about 5,700 questions." in html
    clear = replace(test, low=0.05)
    html = results.render_pairs([PairedResult("a", "b", "AP", clear, detectable=0.503, sample_size=5697)])
    assert "more than chance" in html and "you need" not in html
    assert [results.round_size(n) for n in (7, 37, 849, 123_456)] == [7, 37, 850, 120_000]


UNCLEAR = replace(CLEAR, low=-0.01, p=0.2)


ON = "on these 122 questions"


def compare(pairs, **means):
    """A comparison of the rankers "a" and so on, with these means, the tests of AP and one more set of P@1."""
    paired = {"AP": tuple(PairedResult(a, b, "AP", test, holm) for a, b, test, holm in pairs)}
    rankers = tuple(result(name, means.get(name, 0.8 - place / 10)) for place, name in enumerate("abc"))
    return ComparisonView("labels:things", "clean", 122, rankers, paired, pd.DataFrame(), {})


@pytest.mark.parametrize(
    ("pairs", "means", "sentence"),
    [
        ([("a", "b", CLEAR, 0.001)], {}, f"a is clearly better than b {ON} (AP)."),
        ([("a", "b", UNCLEAR, 0.2)], {}, f"a has the highest AP {ON}; b is not clearly worse."),
        ([("a", "b", CLEAR, 0.06)], {}, f"a has the highest AP {ON}; b is not clearly worse."),  # after the correction
        ([("a", "b", UNCLEAR, None)], {"a": 0.7, "b": 0.7}, f"a and b have the same AP {ON}."),
        ([("b", "a", UNCLEAR, None), ("c", "a", UNCLEAR, None), ("b", "c", UNCLEAR, None)], {"b": 0.9},
         f"b has the highest AP {ON}; a and c are not clearly worse."),
        ([("b", "a", CLEAR, None), ("b", "c", CLEAR, None), ("a", "c", UNCLEAR, None)], {"b": 0.9},
         f"b is clearly better than a and c {ON} (AP)."),
        ([("b", "a", UNCLEAR, None), ("b", "c", CLEAR, None), ("a", "c", CLEAR, None)], {"b": 0.9},
         f"b has the highest AP {ON}; a is not clearly worse; c is clearly worse."),
        ([("a", "b", UNCLEAR, None), ("a", "c", UNCLEAR, None), ("b", "c", CLEAR, None)], {},
         f"a has the highest AP {ON}; b and c are not clearly worse; b is clearly better than c."),
        ([("a", "b", UNCLEAR, None), ("a", "c", CLEAR, None), ("b", "c", CLEAR, None)], {"b": 0.8},
         f"a and b have the highest AP {ON}; c is clearly worse."),
        ([], {}, ""),
    ],
)  # fmt: skip
def test_the_verdict_names_the_best_and_what_is_clearly_worse_than_it(pairs, means, sentence):
    assert headline.describe_headline(compare(pairs, **means), "AP") == sentence
    assert headline.describe_headline(compare(pairs, **means), "P@1") == ""


def test_the_verdict_says_who_was_trained_on_the_questions():
    view = compare([("a", "b", CLEAR, 0.001)])
    told = [headline.describe_headline(replace(view, trained_on=numbers), "AP") for numbers in (
        {"a": 122}, {"a": 122, "b": 122}, {"b": 7}, {"a": 122, "b": 7}, {"c": 9})]  # fmt: skip
    assert [text.removeprefix(f"a is clearly better than b {ON} (AP)") for text in told] == [
        ", but a was trained on all of them.", ", but a and b were trained on all of them.",
        ", but b was trained on 7 of them.", ", but a was trained on all of them and b was trained on 7 of them.", ".",
    ]  # fmt: skip


def test_verdict_and_tests_follow_the_chosen_metric(wb, job):
    at = open_comparison(job)
    shown = {}
    for metric in ("AP", "P@1", "RR", "nDCG@10"):
        at = at.button_group(key="compare_metric").set_value(metric).run()
        view = comparison.load_comparison(wb, job)
        assert headline.describe_headline(view, metric) in texts(at).replace("\\", "").replace(WORD_JOINER, "")
        others = [m for m in ("AP", "P@1", "RR", "nDCG@10") if m != metric]
        shown[metric] = markup(at)
        told = f"the same {metric} on each of 18 questions." if metric == "P@1" else f" {metric} of "
        assert told in shown[metric] and not [m for m in others if f" {m} o" in shown[metric]]
        assert f"A paired randomisation test of {metric} " in texts(at)
        for pair in view.list_distinct_pairs(metric):
            assert f"<td>{pair.test.difference:+.3f}</td>" in shown[metric]
    assert len(set(shown.values())) == 4


def test_the_verdict_and_the_order_without_reranking_stand_on_the_page(wb, job):
    said = texts(open_comparison(job))
    assert "bm25 and rr have the highest AP on these 18 questions; " in said and "clearly worse" in said
    assert "No reranking, in BM25's order" in said
