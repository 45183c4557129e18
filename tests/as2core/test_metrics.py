"""Measures by hand and by brute force, intervals and tests against theory."""

import ast
import itertools
import math
import statistics
from types import SimpleNamespace

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from as2core.errors import BadSetting
from as2core.metrics import (
    MEASURES,
    adjust_by_holm,
    bootstrap,
    bound_mean,
    bound_metrics,
    find_detectable_difference,
    find_effect_size,
    find_sample_size,
    measure_each,
    measure_mean,
    measure_run,
    measure_unranked,
    name_effect,
    order,
    paired_test,
    read_measures,
    to_float32,
    to_ranks,
    wilson_interval,
)
from as2core.sign_flips import compute_tail_p
from as2core.types import Candidate, Question


def question(qid, *labels):
    return Question(qid, "?", tuple(Candidate(str(i), "text", label) for i, label in enumerate(labels)))


def test_a_worked_example():
    # ranked: wrong, right, wrong, right -> AP = (1/2 + 2/4) / 2, RR = 1/2, DCG = 1/log2(3) + 1/log2(5)
    values = measure_each([question("q", 1, 0, 0, 1)], {"q": np.array([3.0, 4.0, 2.0, 1.0])})
    assert values["AP"]["q"] == pytest.approx(0.5) and values["RR"]["q"] == pytest.approx(0.5)
    assert values["P@1"]["q"] == 0
    ideal = 1 + 1 / math.log2(3)
    assert values["nDCG@10"]["q"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_equal_scores_keep_the_original_order_whatever_the_labels():
    tied = np.zeros(3)
    assert measure_mean([question("q", 0, 0, 1)], {"q": tied}, ["RR"])["RR"] == pytest.approx(1 / 3)
    assert measure_mean([question("q", 1, 0, 0)], {"q": tied}, ["RR"])["RR"] == 1


def test_order_is_stable_and_best_first():
    assert order(np.array([1.0, 3.0, 1.0, 3.0])).tolist() == [1, 3, 0, 2]
    assert order(np.array([])).tolist() == []


def test_scores_closer_than_single_precision_are_still_told_apart():
    values = measure_mean([question("q", 0, 1)], {"q": np.array([1.0, 1.0 + 1e-12])}, ["RR"])
    assert values == {"RR": 1.0}


def test_a_question_without_a_correct_candidate_counts_nought_and_one_without_labels_does_not_count():
    asked = [question("good", 1, 0), question("none", 0, 0), question("unjudged", None, None), question("empty")]
    scores = {q.qid: np.arange(len(q.candidates), 0, -1.0) for q in asked}
    assert measure_mean(asked, scores) == {"AP": 0.5, "RR": 0.5, "P@1": 0.5, "nDCG@10": 0.5}
    assert list(measure_each(asked, scores)["AP"]) == ["good", "none"]


def test_a_candidate_nobody_judged_holds_its_place_in_the_order():
    values = measure_mean([question("q", None, 1)], {"q": np.array([2.0, 1.0])}, ["RR", "P@1"])
    assert values == {"RR": 0.5, "P@1": 0.0}


def test_two_questions_of_one_id_are_not_judged_as_one():
    with pytest.raises(BadSetting, match="two questions have the id 'q'"):
        measure_mean([question("q", 1, 0), question("q", 0, 1)], {"q": np.array([2.0, 1.0])})


def test_no_judged_question_has_no_mean():
    assert math.isnan(measure_mean([], {})["AP"])


def test_a_question_that_a_run_lacks_counts_nought_in_the_place_the_qrels_have_it():
    values = measure_run({"b": {"x": 1}, "a": {"y": 1}}, {"a": {"y": 1.0}}, ["AP"])
    assert list(values["AP"].items()) == [("b", 0.0), ("a", 1.0)]


def average_precision(labels):
    precisions = [sum(labels[: i + 1]) / (i + 1) for i, label in enumerate(labels) if label]
    return sum(precisions) / len(precisions) if precisions else 0.0


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=1, max_size=15))
def test_any_ranking_has_the_values_brute_force_gives(pairs):
    labels, scores = zip(*pairs, strict=True)
    ranked = [label for _, _, label in sorted((-s, i, label) for i, (label, s) in enumerate(pairs))]
    values = measure_each([question("q", *labels)], {"q": np.array(scores, dtype=np.float32)})
    assert values["AP"]["q"] == pytest.approx(average_precision(ranked), abs=1e-6)
    assert values["RR"]["q"] == pytest.approx(1 / (ranked.index(1) + 1) if 1 in ranked else 0, abs=1e-6)
    gains = [label / math.log2(i + 2) for i, label in enumerate(ranked[:10])]
    ideal = [label / math.log2(i + 2) for i, label in enumerate(sorted(ranked, reverse=True)[:10])]
    assert values["nDCG@10"]["q"] == pytest.approx(sum(gains) / sum(ideal) if any(ideal) else 0, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 1, None, None]), st.integers(-3, 3)), min_size=1, max_size=8))
def test_the_bounds_are_the_extremes_over_all_that_the_missing_labels_could_be(pairs):
    labels, scores = zip(*pairs, strict=True)
    given_scores = {"q": np.array(scores, dtype=np.float32)}
    found = bound_metrics([question("q", *labels)], given_scores)
    if all(label is None for label in labels):
        assert all(math.isnan(low) and math.isnan(high) for low, high in found.values())
        return
    missing = [i for i, label in enumerate(labels) if label is None]
    could_be = []
    for said in itertools.product((0, 1), repeat=len(missing)):
        filled = {**dict(enumerate(labels)), **dict(zip(missing, said, strict=True))}
        could_be.append(measure_mean([question("q", *filled.values())], given_scores))
    for name in MEASURES:
        every = [m[name] for m in could_be]
        assert found[name] == pytest.approx((min(every), max(every)), abs=1e-9), name


def test_bounds_are_means_over_the_questions_with_labels():
    asked = [question("a", None, 1), question("b", 1, 0), question("unjudged", None)]
    scores = {"a": np.array([2.0, 1.0]), "b": np.array([1.0, 2.0]), "unjudged": np.zeros(1)}
    assert bound_metrics(asked, scores)["P@1"] == (0.0, 0.5)


def test_bounds_leave_ndcg_out_where_a_missing_label_could_be_any_grade():
    asked = Question("q", "?", (Candidate("0", "a", 1, grade=3), Candidate("1", "b", None)))
    assert sorted(bound_metrics([asked], {"q": np.array([2.0, 1.0])})) == ["AP", "P@1", "RR"]


@pytest.mark.parametrize("scores", [{}, {"q": np.zeros(3)}])
def test_scores_that_do_not_fit_are_refused(scores):
    with pytest.raises(BadSetting, match=r"'q'.*2 candidates"):
        measure_mean([question("q", 0, 1)], scores)


@pytest.mark.parametrize("name", ["nonsense", "P", "R@", "nDCG@@10", "P@0", "nDCG@0", "P@-1"])
def test_an_unknown_measure_is_refused_by_name(name):
    with pytest.raises(BadSetting, match=f"no measure '{name}'"):
        measure_mean([question("q", 0, 1)], {"q": np.zeros(2)}, [name])


def test_measures_are_read_without_the_classes_that_python_3_14_has_no_more(monkeypatch):
    rest = {k: v for k, v in vars(ast).items() if k not in ("Num", "Str", "NameConstant")}
    monkeypatch.setattr(ir_measures.util, "ast", SimpleNamespace(**rest))
    values = measure_mean([question("q", 1, 0)], {"q": np.zeros(2)}, ["P@2", "RR(judged_only=True)"])
    assert values == {"P@2": 0.5, "RR(judged_only=True)": 1.0}


def test_any_measure_of_ir_measures_can_be_asked_for():
    values = measure_mean([question("q", None, 1, 0)], {"q": np.array([3.0, 2.0, 1.0])}, ["Judged@2", "R@1", "RR@1"])
    assert values == {"Judged@2": 0.5, "R@1": 0.0, "RR@1": 0.0}


def test_further_measures_are_read_once_each_and_by_one_name():
    assert read_measures("R@5 P(rel=2)@5, nDCG@5  R@5 AP") == ["R@5", "P(rel=2)@5", "nDCG@5", "AP"]
    assert read_measures("") == []


@pytest.mark.parametrize("name", ["NumRet", "ERR@20", "P(judged_only=True)@5", "nDCG(dcg='exp-log2')@10"])
def test_a_measure_that_is_not_from_0_to_1_or_needs_another_program_is_refused(name):
    with pytest.raises(BadSetting, match=r"is not measured here; give some of AP, .* as R@5 or P\(rel=2\)@5"):
        read_measures(name)


def test_the_interval_is_near_the_normal_one_for_many_values():
    values = np.random.default_rng(5).normal(0.6, 0.2, 400)
    half = 1.96 * values.std() / 20
    low, high = bootstrap(values)
    assert low == pytest.approx(values.mean() - half, abs=0.003) and high == pytest.approx(
        values.mean() + half, abs=0.003
    )


def test_the_interval_depends_on_the_seed_alone_and_widens_with_the_level():
    values = [0.0, 1.0, 1.0, 0.5, 0.25, 1.0]
    assert bootstrap(values, seed=3) == bootstrap(values, seed=3)
    wide, narrow = bootstrap(values, level=0.99), bootstrap(values, level=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_equal_values_have_no_width_and_none_at_all_are_refused():
    assert bootstrap([0.4]) == bootstrap([0.4, 0.4, 0.4]) == (0.4, 0.4)
    with pytest.raises(BadSetting, match=r"no values.*one question or more"):
        bootstrap([])


@pytest.mark.parametrize(("right", "n"), [(1, 1), (0, 1), (79, 79), (0, 12)])
def test_the_interval_of_a_share_without_spread_is_wilsons_by_hand(right, n):
    z = statistics.NormalDist().inv_cdf(0.975)
    width = z**2 / (n + z**2)  # Wilson's formula for 0 of n, and mirrored for n of n
    expected = (1 - width, 1) if right else (0, width)
    assert bound_mean([float(bool(right))] * n) == pytest.approx(expected)
    assert bound_mean([float(bool(right))] * n) == pytest.approx(wilson_interval(right, n))


def test_the_interval_of_equal_values_leaves_room_for_other_questions():
    share = wilson_interval(0, 10)[1]  # that many others could have 0, or 1
    assert bound_mean([0.4] * 10) == pytest.approx((0.4 * (1 - share), 0.4 + 0.6 * share))
    assert bound_mean([0.0] * 10, limits=(-1.0, 1.0)) == pytest.approx((-share, share))
    assert bound_mean([0.4] * 10, level=0.5)[0] > bound_mean([0.4] * 10)[0]
    assert bound_mean([0.4, 0.5]) == bootstrap([0.4, 0.5])
    with pytest.raises(BadSetting, match="no values"):
        bound_mean([])


def test_six_wins_of_six_have_the_sign_tests_probability():
    # of the 2^6 ways to sign equal differences, two are as extreme: p = 2 / 64
    a, b = {str(i): 0.75 for i in range(6)}, {str(i): 0.5 for i in range(6)}
    found = paired_test(a, b)
    assert found.p == pytest.approx(2 / 64) and found.difference == pytest.approx(0.25)
    assert (found.wins, found.losses, found.ties) == (6, 0, 0) and found.low == found.high == pytest.approx(0.25)


def test_an_unequal_pair_is_enumerated_by_hand():
    # differences .5, .25, -.25, so a sum of .5: of the eight signings, +++, ++-, +-+ and their mirrors reach it
    found = paired_test({"x": 1.0, "y": 0.5, "z": 0.25, "t": 1.0}, {"x": 0.5, "y": 0.25, "z": 0.5, "t": 1.0})
    assert found.p == pytest.approx(6 / 8)
    assert (found.wins, found.losses, found.ties) == (2, 1, 1) and found.difference == pytest.approx(0.125)


def test_one_changed_question_could_have_gone_either_way():
    found = paired_test({"x": 1.0, "y": 0.5, "z": 0.5}, {"x": 0.5, "y": 0.5, "z": 0.5})
    assert (found.p, found.wins, found.losses, found.ties) == (1.0, 1, 0, 2)


def test_the_same_values_differ_by_nothing():
    found = paired_test({"a": 0.1 + 0.2, "b": 1.0}, {"a": 0.3, "b": 1.0})
    assert (found.difference, found.low, found.high, found.p, found.ties) == (0, 0, 0, 1, 2)


def test_many_questions_are_sampled_and_agree_with_the_t_test():
    from scipy import stats

    rng = np.random.default_rng(1)
    a = rng.random(200)
    b = a - rng.normal(0.02, 0.15, 200)
    found = paired_test(dict(enumerate(a)), dict(enumerate(b)), seed=7)
    assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.02)
    assert found == paired_test(dict(enumerate(a)), dict(enumerate(b)), seed=7)
    assert found.low < found.difference < found.high


@pytest.mark.parametrize(("wins", "losses"), [(14, 0), (20, 0), (18, 1), (21, 1), (40, 8), (79, 0), (300, 200)])
def test_a_p_below_the_floor_of_the_draws_is_that_of_the_sign_test(wins, losses):
    values = [1.0] * wins + [0.0] * losses
    found = paired_test(dict(enumerate(values)), dict(enumerate(1 - v for v in values)))
    assert found.p == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=0.05)


@pytest.mark.parametrize("k", [14, 20])
def test_a_p_near_the_floor_is_counted_over_all_signs(k):
    differences = np.random.default_rng(k).normal(0.2, 0.1, k)
    signs = 1 - 2 * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)
    expected = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9)
    found = paired_test(dict(enumerate(differences)), dict.fromkeys(range(k), 0.0))
    assert found.p == pytest.approx(expected) and found.p < 0.001


def test_tilted_draws_agree_with_a_count_by_halves():
    """All sums of 24 differences, as pairs of sums of 12 and 12: brute force that still fits into memory."""
    differences = np.random.default_rng(2).normal(0.1, 0.09, 24)
    signs = 1 - 2 * ((np.arange(2**12)[:, None] >> np.arange(12)) & 1)
    first, second = signs @ differences[:12], np.sort(signs @ differences[12:])
    above = 2**12 - np.searchsorted(second, differences.sum() - 1e-9 - first)
    found = compute_tail_p(differences, seed=0, samples=9999)
    assert found == pytest.approx(2 * above.sum() / 2**24, rel=0.05) and found < 1e-4
    assert found == compute_tail_p(differences, seed=0, samples=9999)


def test_a_p_away_from_the_floor_is_that_of_scipy():
    differences = np.random.default_rng(4).normal(0.056, 0.12, 60)
    rng = np.random.default_rng(0)
    flips = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=9999, batch=500, rng=rng
    )
    assert 0.001 <= flips.pvalue < 0.01
    assert paired_test(dict(enumerate(differences)), dict.fromkeys(range(60), 0.0)).p == flips.pvalue


def test_a_p_of_thousands_of_wins_is_small_and_not_0():
    values = np.random.default_rng(0).exponential(size=3000)
    assert 0 < compute_tail_p(values, seed=0, samples=100) < 1e-300
    values[:40] *= -1
    assert 0 < compute_tail_p(values, seed=0, samples=100) < 1e-300


def test_a_ranker_that_wins_every_question_is_significant_among_276_pairs():
    wins = paired_test(dict.fromkeys(range(79), 1.0), dict.fromkeys(range(79), 0.5))
    assert adjust_by_holm([wins.p] * 276)[0] < 1e-20


@pytest.mark.parametrize(("a", "b"), [({}, {}), ({"x": 1.0}, {"y": 1.0}), ({"x": 1.0}, {"x": 1.0, "y": 0.0})])
def test_other_questions_cannot_be_paired(a, b):
    with pytest.raises(BadSetting, match="same questions"):
        paired_test(a, b)


def test_how_many_questions_are_on_both_sides_is_said():
    with pytest.raises(BadSetting, match="here are 2 and 3, 1 of them the same"):
        paired_test({"x": 1.0, "y": 1.0}, {"x": 1.0, "z": 0.0, "t": 0.0})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_no_difference_to_test(value):
    a = {str(i): i / 20 for i in range(20)}
    for sides in ((a, {**a, "3": value}), ({**a, "3": value}, a)):
        with pytest.raises(BadSetting, match=r"question '3' has the values .*: leave it out on both sides"):
            paired_test(*sides)
    for interval in (bootstrap, bound_mean):
        with pytest.raises(BadSetting, match="not a finite number"):
            interval([0.5, value, 1.0])


@pytest.mark.parametrize("values", [[1.0, 0.5], np.array([1.0, 0.5]), []])
def test_values_without_the_ids_of_their_questions_cannot_be_paired(values):
    with pytest.raises(BadSetting, match=r"takes \{qid: value\} of both sides"):
        paired_test(values, values)


def test_ndcg_gains_by_the_grade_and_the_other_measures_by_correct_or_not():
    # grades 1, 3, 0 in this order: DCG = 1 + 3 / log2(3), at best 3 + 1 / log2(3)
    rows = tuple(Candidate(str(g), "text", int(g > 0), grade=g) for g in (1, 3, 0))
    values = measure_mean([Question("q", "?", rows)], {"q": np.array([3.0, 2.0, 1.0])})
    assert values["nDCG@10"] == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert (values["AP"], values["RR"], values["P@1"]) == (1, 1, 1)


def test_a_grade_that_the_label_contradicts_has_no_say():
    rows = (Candidate("a", "text", 0, grade=3), Candidate("b", "text", 1, grade=-2))  # ASNQ's 3 is not correct
    values = measure_mean([Question("q", "?", rows)], {"q": np.array([2.0, 1.0])})
    assert values["nDCG@10"] == pytest.approx(1 / math.log2(3)) and values["AP"] == 0.5


def test_ranks_are_the_inverse_of_an_order_and_what_has_no_score_comes_last():
    assert to_ranks(np.array([0.3, np.nan, 0.9, 0.3])).tolist() == [2, 4, 1, 3]


def test_the_detectable_difference_is_2_8_standard_errors():
    values = [0.5, -0.25, 0.0, 0.25, 0.1, -0.1, 0.0, 0.4]
    normal = statistics.NormalDist()
    z = normal.inv_cdf(0.975) + normal.inv_cdf(0.8)
    assert z == pytest.approx(2.8016, abs=1e-4)  # 1.960 + 0.842, of the tables
    assert find_detectable_difference(values) == pytest.approx(z * statistics.stdev(values) / math.sqrt(8))


def test_a_two_sided_test_finds_the_detectable_difference_four_times_in_five():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=200)
    sample /= sample.std(ddof=1)
    shift = find_detectable_difference(sample)
    draws = rng.normal(shift, 1.0, size=(4000, 200))  # experiments whose true difference is just that
    z = draws.mean(axis=1) / (draws.std(axis=1, ddof=1) / math.sqrt(200))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("values", [[], [0.3], [0.0, 0.0, 0.0]])
def test_what_never_differs_has_no_detectable_difference(values):
    assert find_detectable_difference(values) is None


def test_a_planned_number_of_questions_finds_the_difference_four_times_in_five():
    rng = np.random.default_rng(0)
    spread = rng.choice([-0.5, 0.0, 0.0, 0.5], 60)
    n = find_sample_size(spread, 0.1)
    assert n == math.ceil(((1.959964 + 0.841621) * spread.std(ddof=1) / 0.1) ** 2)
    trials = rng.choice(spread - spread.mean() + 0.1, (2000, n))
    t = trials.mean(1) / (trials.std(1, ddof=1) / math.sqrt(n))
    assert 0.77 <= (np.abs(t) > 1.96).mean() <= 0.83


def test_no_plan_has_fewer_questions_than_a_randomisation_test_can_find_anything_with():
    assert find_sample_size([0.0001, 0.0002, 0.0001], 0.02) == 6  # 2 / 2**6 = 0.03, 2 / 2**5 = 0.06


def test_a_plan_for_few_changes_finds_the_difference_four_times_in_five_too():
    """11 of 79 questions changed: seven questions hold one of them, and the test takes six."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0.05, 0.1, 11), np.zeros(68)])
    n = find_sample_size(values, 0.02)
    assert math.ceil(6 * 79 / 11) == 44 <= n < 70
    draws = rng.choice(values * 0.02 / values.mean(), (400, n))
    unchanged = dict.fromkeys(range(n), 0.0)
    power = np.mean([paired_test(dict(enumerate(row)), unchanged).p <= 0.05 for row in draws])
    assert 0.75 <= power <= 0.88


def test_fewer_changed_questions_than_the_test_takes_could_have_shown_no_difference():
    assert find_detectable_difference([0.2, 0.1, 0.3, 0.2, 0.1] + [0.0] * 20) is None
    assert find_detectable_difference([0.2, 0.1, 0.3, 0.2, 0.1, 0.2] + [0.0] * 20) is not None


def test_what_never_differs_needs_no_number_and_a_difference_is_above_nothing():
    assert find_sample_size([0.2, 0.2], 0.02) is None
    with pytest.raises(BadSetting, match="difference 0"):
        find_sample_size([0.0, 1.0], 0)


def test_the_effect_size_is_scipys_t_over_the_root_of_n_and_has_cohens_word():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.6, 0.2, 30), rng.normal(0.5, 0.2, 30)
    assert find_effect_size(a - b) == pytest.approx(stats.ttest_rel(a, b).statistic / math.sqrt(30))
    assert find_effect_size([1, 1, 0, 0, 0]) == pytest.approx(0.4 / math.sqrt(0.3))  # by hand
    assert find_effect_size([0.5]) is None and find_effect_size([0.1, 0.1]) is None
    assert [name_effect(d) for d in (0.0, -0.19, 0.2, -0.5, 0.79, 0.8, -3)] == [
        "negligible", "negligible", "small", "medium", "medium", "large", "large"]  # fmt: skip


def test_tukeys_hsd_misses_and_errs_where_rankers_vary_unlike_and_holm_does_not():
    """Why comparisons are corrected by Holm. Of four rankers only the first two differ, and the last is unsteady. HSD
    is for independent samples, so the means of the questions are taken out."""
    rng, runs, n, pairs = np.random.default_rng(5), 60, 40, list(itertools.combinations(range(4), 2))
    quantile = stats.studentized_range.ppf(0.95, 4, 4 * (n - 1))
    holm, hsd = np.zeros((4, 4)), np.zeros((4, 4))  # how often each pair is called different
    for _ in range(runs):
        noise = np.array([0.05, 0.05, 0.05, 0.4])[:, None] * rng.normal(size=(4, n))
        values = np.array([0.5, 0.53, 0.515, 0.515])[:, None] + noise + rng.normal(size=n)
        rest, means = values - values.mean(0), values.mean(1)
        limit = quantile * math.sqrt(rest.var(1, ddof=1).mean() / n)
        p_values = adjust_by_holm([stats.ttest_rel(values[i], values[j]).pvalue for i, j in pairs])
        for (i, j), p in zip(pairs, p_values, strict=True):
            holm[i, j] += p < 0.05
            hsd[i, j] += abs(means[i] - means[j]) > limit
    assert holm[0, 1] > 2 * hsd[0, 1]
    assert holm[2, 3] <= 0.05 * runs < hsd[2, 3]


def test_holm_is_the_closed_test_of_bonferroni():
    """A hypothesis falls when Bonferroni rejects every set of hypotheses that holds it."""
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 5):
        for _ in range(20):
            p = rng.random(size) ** 3
            sets = [s for k in range(1, size + 1) for s in itertools.combinations(range(size), k)]
            expected = [max(min(1, len(s) * min(p[j] for j in s)) for s in sets if i in s) for i in range(size)]
            assert adjust_by_holm(p) == pytest.approx(expected)
    assert adjust_by_holm([]) == []


def test_no_reranking_is_the_order_in_which_candidates_come():
    labels = [0, 1, 0, 1]
    question = Question("q", "?", tuple(Candidate(str(i), "", label) for i, label in enumerate(labels)))
    found = measure_unranked([question])
    assert (found["RR"], found["P@1"], found["AP"]) == (0.5, 0.0, 0.5)


@given(st.lists(st.floats(-1e30, 1e30) | st.floats(0.9999999, 1.0), max_size=8))
def test_32_bit_numbers_have_the_order_and_the_ties_of_the_scores(values):
    exact, narrow = np.array(values), to_float32(values)
    assert narrow.dtype == np.float32
    for i, j in itertools.combinations(range(len(values)), 2):
        assert np.sign(narrow[i] - np.float64(narrow[j])) == np.sign(exact[i] - exact[j])
    if len(set(exact.astype(np.float32))) == len(set(values)):
        assert narrow.tolist() == exact.astype(np.float32).tolist()
