"""A finding holds, does not hold or is undecided by its interval, never by a bare difference."""

import numpy as np
import pytest

from as2core.experiments.report.findings import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Finding,
    Part,
    Samples,
    combine,
    exceeds,
    is_close,
)


def make_samples(**systems: list[list[float]]) -> Samples:
    """Each system's AP by seed and question; one row alone is a system that nothing was drawn for."""
    samples = Samples()
    for name, rows in systems.items():
        for seed, row in enumerate(rows):
            values = {"AP": {f"q{i}": float(v) for i, v in enumerate(row)}}
            samples.add(name, None if len(rows) == 1 else seed, values)
    return samples


def judge(part: Part, **systems: list[list[float]]) -> str:
    return Finding("f", "p", (part,)).judge(make_samples(**systems), "").verdict


def spread(mean: float, seeds: int = 1, questions: int = 40, width: float = 0.1) -> list[list[float]]:
    rng = np.random.default_rng(questions)
    return (mean + width * rng.normal(size=(seeds, questions))).tolist()


LEVEL = [[0.5] * 40]


@pytest.mark.parametrize(("mean", "verdict"), [(0.6, HOLDS), (0.51, UNDECIDED), (0.4, FAILS)])
def test_better_holds_if_the_whole_interval_is_above_and_fails_if_it_is_below(mean, verdict):
    assert judge(exceeds("a", "b"), a=spread(mean), b=LEVEL) == verdict


@pytest.mark.parametrize(("mean", "verdict"), [(0.5, HOLDS), (0.55, UNDECIDED), (0.7, FAILS)])
def test_alike_holds_only_if_the_interval_lies_within_the_margin(mean, verdict):
    assert judge(is_close("a", "b", 0.05), a=spread(mean), b=LEVEL) == verdict


def test_no_difference_found_is_not_alike():
    assert judge(is_close("a", "b", 0.05), a=spread(0.5, questions=6, width=0.3), b=[[0.5] * 6]) == UNDECIDED


def test_trainings_of_one_seed_decide_nothing():
    samples = make_samples(b=LEVEL)
    samples.add("a", 0, {"AP": {f"q{i}": 0.9 for i in range(40)}})
    row = Finding("f", "p", (exceeds("a", "b"),)).judge(samples, "here")
    assert (row.verdict, row.why) == (UNDECIDED, "one seed says nothing about another training")
    assert row.ours == "AP a .900, b .500: +.400 (+.400 to +.400), 1 seed" and row.differs == "here"


def test_seeds_that_disagree_leave_undecided_what_one_seed_seemed_to_show():
    two = [[0.9] * 40, [0.3] * 40]
    assert judge(exceeds("a", "b"), a=two, b=LEVEL) == UNDECIDED


def test_an_undecided_finding_says_what_could_have_been_seen():
    values = spread(0.51)
    row = Finding("f", "p", (exceeds("a", "b"),)).judge(make_samples(a=values, b=LEVEL), "")
    error = np.std(values[0], ddof=1) / np.sqrt(40)
    detectable = (2.0227 + 0.8512) * error  # Student's t, 39 degrees
    assert f"{detectable:.3f} away from it would have been detected" in row.why


def test_all_parts_have_to_hold_and_their_intervals_are_simultaneous():
    parts = (exceeds("a", "b"), exceeds("a", "c"))
    finding = Finding("f", "p", parts)
    assert finding.judge(make_samples(a=spread(0.7), b=LEVEL, c=LEVEL), "").verdict == HOLDS
    assert finding.judge(make_samples(a=spread(0.7), b=LEVEL, c=[[0.9] * 40]), "").verdict == FAILS
    alone, both = (
        Finding("f", "p", p).judge(make_samples(a=spread(0.6), b=LEVEL, c=LEVEL), "").ours for p in (parts[:1], parts)
    )
    assert float(alone.split("(")[1].split()[0]) > float(both.split("(")[1].split()[0])


def test_a_difference_of_differences_is_paired_by_seed_and_question():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(3, 40))
    systems = {"a": base, "b": base - 0.1, "c": base * 1.0, "d": base - 0.3}
    part = Part({"a": 1.0, "b": -1.0, "c": -1.0, "d": 1.0})  # (a - b) - (c - d) = .1 - .3 everywhere
    estimate = part.estimate(make_samples(**{k: v.tolist() for k, v in systems.items()}), 0.95)
    assert (estimate.low, estimate.mean, estimate.high) == pytest.approx((-0.2, -0.2, -0.2))


def test_what_a_missing_system_would_say_is_not_run():
    row = Finding("f", "p", (exceeds("a", "b"),)).judge(make_samples(b=LEVEL), "here")
    assert (row.verdict, row.ours, row.why) == (NOT_RUN, NOT_RUN, "no figures yet of a")
    other = Finding("f", "p", missing="it is not public").judge(make_samples(b=LEVEL), "here")
    assert (other.verdict, other.why) == (NOT_RUN, "it is not public")


def test_one_part_that_does_not_hold_outweighs_the_undecided_ones():
    assert combine([(HOLDS, "x"), (UNDECIDED, "y"), (FAILS, "z"), (FAILS, "z")]) == (FAILS, "z")
    assert combine([(HOLDS, "x"), (UNDECIDED, "y")]) == (UNDECIDED, "y")
