"""What `as2 eval` prints for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from as2core.commands.eval_result import EvalResult, count_measured_questions
from as2core.evaluation.runs import JUDGED_SHARE
from as2core.messages import count, format_p
from as2core.terminal import echo, print_table

if TYPE_CHECKING:
    from as2core.evaluation.rankers import Evaluation

LOW, HIGH = "95 % from", "to"  # the ends of an interval


def print_result(r: EvalResult) -> None:
    """Ranker by ranker, then the pairs, then the gate."""
    for spec, result in r.results.items():
        _print_ranker(spec, result, r)
        _print_slices(result, r)
    if any(result.metrics.get(JUDGED_SHARE, 1) < 1 for result in r.results.values()):
        echo(f"{JUDGED_SHARE}: the share of the first ten that the qrels have; the others count as not relevant")
    if r.unranked:
        values = ", ".join(f"{name} {value:.3f}" for name, value in r.unranked.items())
        echo(f"no reranking, the order in the data: {values}")
    for pair, by_name in r.tests.items():
        _print_comparison(pair, by_name, r.difference)
    if len(r.tests) > 1:
        echo(f"holm: p corrected for these {len(r.tests)} comparisons (Holm)")
    for check in r.checks:
        echo(f"gate: {check.requirement}: {check.value:.3f}, {check.describe()}")


def _print_ranker(spec: str, result: Evaluation, r: EvalResult) -> None:
    from as2core.evaluation.rankers import compute_intervals
    from as2core.metrics import bound_metrics

    measured_count = count_measured_questions(result)
    some = "" if measured_count == result.questions else f", {measured_count} with a label,"
    echo(f"{spec} on {r.source.describe()}: {count(result.questions, 'question')}{some} in {result.seconds:.1f} s")
    intervals = compute_intervals(result.per_question)
    rows = [{"measure": n, "mean": result.metrics[n], LOW: low, HIGH: high} for n, (low, high) in intervals.items()]
    print_table(rows, ["measure", "mean", LOW, HIGH])
    if unlabelled := r.unlabelled_candidates:
        limits = bound_metrics(r.questions, result.scores)
        ranges = ", ".join(f"{name} {low:.3f} to {high:.3f}" for name, (low, high) in limits.items())
        what = count(unlabelled, "candidate")
        echo(f"{what} without a label count as not correct; with all labels it could be {ranges}")
    for cut in (c for c in result.cuts if c.dropped):
        echo(
            f"{cut.stage}: dropped {cut.dropped:,} of {cut.entered:,}, {cut.correct:,} of them correct; "
            f"questions left without a correct one: {len(cut.lost):,}"
        )
    if result.relative_cost is not None:
        echo(f"compute: {result.relative_cost:.2f} of the whole model's")


def _print_slices(result: Evaluation, r: EvalResult) -> None:
    from as2core.evaluation.error_slices import measure_slices

    if not r.slices:
        return
    measures = measure_slices(r.slices, result.per_question["P@1"])
    rows = [{"slice": f"{m.group}: {m.name}", "P@1": m.share, **asdict(m), LOW: m.low, HIGH: m.high} for m in measures]
    print_table(rows, ["slice", "questions", "P@1", LOW, HIGH])
    names = {(m.group, m.name) for m in measures}
    if empty := [row.name for row in r.slices if (row.group, row.name) not in names]:
        echo(f"no question is in {', '.join(map(repr, empty))}")


def _print_comparison(pair: tuple[str, str], tests: dict[str, dict[str, Any]], difference: float) -> None:
    from as2core.metrics import name_effect

    echo()
    echo(f"{pair[0]} minus {pair[1]}, the mean of the differences over the same questions:")
    columns = ["difference", LOW, HIGH, "p", "holm", "effect", "wins", "losses", "ties", "detectable"]
    sizes = f"questions needed for {difference:g}"
    rows = [{"measure": name, sizes: t["sample_size"], **t, **_format_cells(t)} for name, t in tests.items()]
    print_table(rows, ["measure", *columns, sizes])
    if (effect := tests["AP"]["effect"]) is not None:
        echo(f"effect size of AP: {effect:.2f} standard deviations ({name_effect(effect)})")


def _format_cells(t: dict[str, Any]) -> dict[str, object]:
    """p as a number where the table can show it as one."""
    p_values = {name: t[name] if t[name] >= 0.001 else format_p(t[name]) for name in ("p", "holm")}
    return {**p_values, LOW: t["low"], HIGH: t["high"]}
