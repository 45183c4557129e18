from dataclasses import replace

import numpy as np
import pytest
import torch

from as2core.errors import NotEnoughLabels
from as2core.rankers.answer_shares import share_out
from as2core.rankers.catalog import get
from as2core.relevance import score_relevance
from as2core.training.calibrate import (
    best_threshold,
    calibrate,
    expected_calibration_error,
    fit_answer_shares,
    level_end,
    level_heads,
    measure_reliability,
    platt,
)
from as2core.types import Candidate, Question

NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


@pytest.mark.parametrize("middle", [0.0, 30.0, -30.0])
def test_platt_scaling_agrees_with_scikit_learn_s_unregularised_regression(middle):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    logits = rng.normal(size=4000)
    labels = (rng.random(4000) < 1 / (1 + np.exp(-(2 * logits - 1)))).astype(float)
    reference = LogisticRegression(C=1e9).fit(logits[:, None], labels)
    scale, shift = platt(logits + middle, labels)
    assert scale == pytest.approx(reference.coef_[0, 0], abs=0.02)
    assert shift + scale * middle == pytest.approx(reference.intercept_[0], abs=0.02)


def test_logits_that_are_all_one_keep_to_the_labels_frequency():
    scale, shift = platt(np.full(7, 0.1, dtype=np.float32), np.array([1.0, 1.0, 0, 0, 0, 0, 0]))
    # Platt's targets: 2 x 3/4 and 5 x 1/7 of 7
    assert 1 / (1 + np.exp(-(scale * 0.1 + shift))) == pytest.approx((2 * 3 / 4 + 5 / 7) / 7, abs=1e-4)
    assert abs(scale) < 1


def test_separable_labels_do_not_send_the_scale_to_infinity():
    scale, shift = platt(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert 0 < scale < 50
    assert abs(shift) < 5


@pytest.mark.parametrize("top", [(0.1, 0.2, 0.6, 0.9), (1e-6, 2e-6, 6e-6, 9e-6), (0.99991, 0.99996, 0.99998, 0.99999)])
def test_the_threshold_lies_between_what_has_an_answer_and_what_has_none(top):
    cut, accuracy = best_threshold(np.array(top), np.array([False, False, True, True]))
    assert top[1] < cut < top[2]
    assert accuracy == 1.0


def test_calibration_error_by_hand():
    # bin 0.1: two at 0.15, one correct: gap 0.35, weight 1/2; bin 0.9: two at 0.95, both correct: gap 0.05
    assert expected_calibration_error(
        np.array([0.15, 0.15, 0.95, 0.95]), np.array([0.0, 1.0, 1.0, 1.0])
    ) == pytest.approx(0.2)


def test_the_reliability_curve_holds_each_bin_that_has_candidates():
    curve = measure_reliability(np.array([0.15, 0.17, 0.95]), np.array([0.0, 1.0, 1.0]))
    assert [(b["candidates"], b["frequency"]) for b in curve] == [(2, 0.5), (1, 1.0)]
    assert [b["confidence"] for b in curve] == [pytest.approx(0.16), pytest.approx(0.95)]


def test_calibrating_sets_every_exit_and_leaves_unlabelled_candidates_out(tiny):
    ranker = get(f"cascade:backbone={tiny()}")
    cands = tuple(
        Candidate(str(i), t, y) for i, (t, y) in enumerate([("the tower", 1), ("iron", 0), ("a river", None)])
    )
    report = calibrate(ranker, [Question("a", "where ?", cands), Question("b", "who ?", cands[1:])])
    assert (report["candidates"], report["correct"]) == (3, 1)
    assert len(ranker.calibration) == 5
    assert ranker.is_calibrated


def test_labels_that_contradict_the_scores_turn_no_probability_round(tiny):
    ranker = get(f"cascade:backbone={tiny()},drop_ratio=0")
    texts = ["the tower", "iron", "a river", "the bridge is long", "winter bread"]
    candidates = [Candidate(str(i), text) for i, text in enumerate(texts)]
    question, lowest = "where is the tower ?", int(ranker.score("where is the tower ?", candidates).argmin())
    labelled = [replace(c, label=int(i == lowest)) for i, c in enumerate(candidates)]
    calibrate(ranker, [Question(f"q{i}", question, tuple(labelled)) for i in range(6)])
    share = (6 * 7 / 8 + 24 / 26) / 30  # Platt's targets: 6 x 7/8 and 24 x 1/26
    assert ranker.calibration[-1] == (0.0, pytest.approx(np.log(share / (1 - share)), abs=1e-6))
    assert all(scale >= 0 for scale, _ in ranker.calibration)
    assert [ranker.probability(np.array(x)) for x in (-1.0, 1.0)] == pytest.approx([share, share])
    values = score_relevance(ranker, [(question, candidates)])[0].values
    assert values == pytest.approx(np.full(5, share))


def test_without_a_label_there_is_nothing_to_calibrate_by(tiny):
    with pytest.raises(NotEnoughLabels, match="no sentence is labelled"):
        calibrate(get(f"cascade:backbone={tiny()}"), [Question("a", "where ?", (Candidate("0", "iron"),))])


def test_what_is_told_of_a_calibration_was_not_fitted_on_what_it_is_told_of(tiny):
    """Labels that have nothing to do with the logits: in-sample some shape is found in them, held out there is none."""
    rng = np.random.default_rng(1)
    ranker = get(f"cascade:backbone={tiny()}")
    words = ["tower", "iron", "river", "bridge", "winter", "bread", "rain", "stone"]
    asked = [
        Question(
            f"q{i}",
            f"where is the {words[i % 8]} ?",
            tuple(Candidate(str(j), " ".join(rng.choice(words, 4)), int(rng.random() < 0.3)) for j in range(4)),
        )
        for i in range(20)
    ]
    report = calibrate(ranker, asked)
    assert report["folds"] == 5
    assert set(report["reliability_per_exit"]) == {str(e) for e in ranker.exits}
    assert sum(b["candidates"] for b in report["reliability"]) == 80
    assert 0.2 <= report["balanced_accuracy"] <= 0.75  # chance is a half


def test_levelling_an_untrained_cascade_keeps_its_order_and_makes_its_logits_fit_the_labels(tiny):
    ranker = get(f"cascade:backbone={tiny()},drop_ratio=0")
    texts = ["the tower", "iron", "a river", "the bridge is long", "winter bread"]
    blank = [Candidate(str(i), t) for i, t in enumerate(texts)]
    before = [e.scores for e in ranker.trace("where is the tower ?", blank).exits]
    best = np.argsort(-np.sum(before, axis=0))[:2]
    asked = [Question("a", "where is the tower ?", tuple(replace(c, label=int(int(c.id) in best)) for c in blank))]
    scales = [platt(x, np.isin(np.arange(5), best).astype(float)) for x in before]
    assert scales[-1][0] > 0
    level_heads(ranker, asked)
    after = [e.scores for e in ranker.trace(asked[0].text, blank).exits]
    for old, new, (scale, shift) in zip(before, after, scales, strict=True):
        if scale > 0:
            np.testing.assert_allclose(new, scale * old + shift, atol=1e-2 * abs(scale) + 1e-3)


@pytest.mark.parametrize("fit", [calibrate, level_heads])
def test_a_first_ranker_keeps_no_label_from_the_fit(fit, tiny):
    def fit_one(first):
        torch.manual_seed(1)
        ranker = get(f"cascade:backbone={tiny()}{first}")
        texts = ["iron and bread", "the tower", "a river", "the bridge is long", "where winter is"]
        asked = Question("a", "where is the tower ?", tuple(map(Candidate, "01234", texts, (0, 1, 0, 0, 1))))
        fit(ranker, [asked])
        return [*ranker.calibration, ranker.threshold, *(h.net[-1].bias.item() for h in ranker.module.heads)]

    assert fit_one(",first=bm25,first_keep=2") == fit_one("")


def test_levelling_goes_by_labels_of_both_kinds_alone_and_never_turns_the_order_round(tiny):
    ranker = get(f"cascade:backbone={tiny()},drop_ratio=0")
    texts = ["the tower", "iron", "a river", "the bridge is long", "winter bread"]

    def make_questions(*labels):
        return [Question("a", "where is the tower ?", tuple(map(Candidate, "01234", texts, labels)))]

    def scores():
        trace = ranker.trace("where is the tower ?", make_questions(*[None] * 5)[0].candidates)
        return np.array([e.scores for e in trace.exits])

    before = scores()
    level_heads(ranker, make_questions(0, 0, None, 0, None) + make_questions(*[None] * 5))
    level_heads(ranker, make_questions(1, 0, 0, 0, 0), should_stop=lambda: True)
    np.testing.assert_array_equal(scores(), before)
    lowest = int(before[-1].argmin())
    level_heads(ranker, make_questions(*[int(i == lowest) for i in range(5)]))  # the last of all is said to be correct
    after = scores()
    np.testing.assert_array_equal(after[-1].argsort(), before[-1].argsort())
    assert after[-1].mean() == pytest.approx(np.log(1 / 4), abs=1e-3)  # one in five is correct


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=NEEDS_GPU)])
def test_levelling_the_end_makes_its_probability_fit_how_often_a_sentence_is_right(device, tiny):
    torch.manual_seed(1)
    ranker = get(f"generative:backbone={tiny()}")
    ranker.module.to(device)
    texts = ["the tower", "iron", "a river", "the bridge is long", "winter bread"]
    cands = tuple(Candidate(str(i), t, int(i == 1)) for i, t in enumerate(texts))
    level_end(ranker, [Question("a", "where is the tower ?", cands)])
    batch = {k: t.to(device) for k, t in ranker.module.encode(texts, ["where is the tower ?"] * 5).items()}
    with torch.inference_mode():
        log_p, _ = ranker.module(**batch)
    assert log_p[:, -1].exp().mean().item() == pytest.approx(1 / 5, abs=0.15)


def test_candidates_share_the_probability_that_there_is_an_answer():
    logits = np.array([-np.inf, 3.0, 1.0])
    shares = share_out((0.5, 0.8), logits)
    assert shares == pytest.approx([0.0, 0.8 * np.e / (np.e + 1), 0.8 / (np.e + 1)])
    assert share_out((0.5, 0.8), logits + 700) == pytest.approx(shares)  # and no overflow


def test_the_same_text_counts_once_so_that_a_copy_halves_no_probability():
    alone = share_out((0.5, 0.8), np.array([3.0, 1.0]), ["Iron.", "A river."])
    twice = share_out((0.5, 0.8), np.array([3.0, 1.0, 2.0, -np.inf]), ["Iron.", "A river.", "iron. ", "A  river."])
    assert alone == pytest.approx([0.8 * np.e / (np.e + 1), 0.8 / (np.e + 1)])
    assert twice[:2] == pytest.approx(alone)
    assert twice[2:] == pytest.approx([0.8 * np.sqrt(np.e) / (np.e + 1), 0.0])
    assert share_out((0.5, 0.8), np.array([3.0, 1.0]), ["Iron.", "iron."]) is None  # nothing to share it with


@pytest.mark.parametrize(
    ("calibration", "logits"), [(None, [1.0, 2.0]), ((0.5, 0.8), [1.0]), ((0.5, 0.8), []), ((0.5, 0.8), [1.0, -np.inf])]
)
def test_without_a_fit_or_a_second_candidate_nothing_is_shared_out(calibration, logits):
    assert share_out(calibration, np.array(logits)) is None


def test_the_shares_are_fitted_so_that_answers_are_right_as_often_as_they_say():
    rng = np.random.default_rng(0)
    lists, right = [], []
    for _ in range(4000):
        logits = rng.normal(0, 2, rng.integers(2, 9))
        p = share_out((1.5, 0.7), logits)
        answer = rng.choice(len(p) + 1, p=[*p, 1 - p.sum()])  # the last: there is none
        lists.append(logits)
        right.append(answer == logits.argmax())
    assert fit_answer_shares(lists, np.array(right)) == pytest.approx((1.5, 0.7), abs=0.1)


@pytest.mark.parametrize("right", [[True, True, False], [False, False, True]])
def test_separable_answers_leave_the_shares_within_their_bounds(right):
    scale, share = fit_answer_shares(
        [np.array([5.0, 0.0]), np.array([5.0, 0.0, 1.0]), np.array([0.1, 0.0])], np.array(right)
    )
    assert 0 < scale <= 20
    assert 0 < share < 1


def test_calibrating_shares_out_by_questions_whose_best_candidate_has_a_label(tiny):
    rng = np.random.default_rng(2)
    ranker = get(f"cascade:backbone={tiny()}")
    words = ["tower", "iron", "river", "bridge", "winter", "bread", "rain", "stone"]
    labels = [0, 1, None]
    qs = [
        Question(
            f"q{i}",
            f"where is the {words[i % 8]} ?",
            tuple(Candidate(str(j), " ".join(rng.choice(words, 4)), labels[rng.integers(3)]) for j in range(5)),
        )
        for i in range(24)
    ]
    report = calibrate(ranker, qs)
    lists, right = [], []
    for q in qs:
        scores = ranker.score(q.text, q.candidates)
        if (label := q.candidates[int(scores.argmax())].label) is not None:
            lists.append(scores)
            right.append(label)
    assert (report["answers"], report["right_answers"]) == (len(right), sum(right))
    assert 0 < sum(right) < len(right) < len(qs)
    assert ranker.answer_calibration == pytest.approx(fit_answer_shares(lists, np.array(right)), abs=1e-3)


def test_the_shares_of_answers_stay_if_it_is_not_to_be_fitted(tiny):
    ranker = get(f"cascade:backbone={tiny()}")
    ranker.answer_calibration = (2.0, 0.7)
    cands = (Candidate("0", "the tower", 1), Candidate("1", "iron", 0))
    swapped = tuple(replace(c, label=1 - c.label) for c in cands)  # one of both is answered rightly
    qs = [Question("a", "where ?", cands), Question("b", "where ?", swapped)]
    assert "answers" not in calibrate(ranker, qs, fits_answers=False)
    assert ranker.answer_calibration == (2.0, 0.7)
    assert calibrate(ranker, qs)["answers"] == 2
    assert ranker.answer_calibration != (2.0, 0.7)


def test_the_shares_of_answers_stay_where_all_are_right(tiny):
    ranker = get(f"cascade:backbone={tiny()}")
    ranker.answer_calibration = (2.0, 0.7)
    cands = (Candidate("0", "the tower", 1), Candidate("1", "iron", 0))
    best = int(np.argmax(ranker.score("where ?", cands)))
    labelled = tuple(replace(c, label=int(i == best)) for i, c in enumerate(cands))
    assert "answers" not in calibrate(ranker, [Question("a", "where ?", labelled)])
    assert ranker.answer_calibration == (2.0, 0.7)
