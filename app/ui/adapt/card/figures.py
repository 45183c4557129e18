"""The figures of a card: every measure before and after, every exit, the frozen benchmarks, the probabilities."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app.adapt.report import SHIPPED, Baseline, BeforeAfter, Metrics, RetrainReport
from app.ui.charts.intervals import Change, build_before_after_chart
from app.ui.charts.reliability import build_reliability_chart
from app.ui.charts.spec import make_spec
from app.ui.text import escape, format_signed, plain
from app.ui.wording import UNRANKED
from app.versions.benchmarks import TITLES
from app.versions.outcome import MAX_FORGOTTEN_POINTS, count_lost_points, is_forgetting
from app.versions.registry import ANSWERING
from as2core.evaluation.rankers import Outcome, find_outcome
from as2core.messages import count
from as2core.metrics import MEANINGS

BASELINES = {  # name -> heading, explanation, what it is in a sentence
    **{name: ("not reranked", text, "the order without reranking") for name, text in UNRANKED.items()},
    SHIPPED: ("shipped", "the version that came with the program", "the shipped version"),
}
BETTER_BASELINE = (
    "On these questions, {} is better than this version. Promote it only if people ask other questions than these."
)

WEIGHING = {
    Outcome.BETTER: "; weigh that against the gain.",
    Outcome.UNCLEAR: ", and no clear gain makes up for it.",
    Outcome.WORSE: ", too.",
}


def draw_metrics(report: RetrainReport) -> None:
    st.markdown(f"**Before and after, on the same {count(report.change.questions, 'question')}**")
    names = [m for m in MEANINGS if m in report.before and m in report.after]
    before, after = report.intervals.before, report.intervals.after
    rows = [Change(m, report.before[m], report.after[m], *after.get(m, (None, None))) for m in names]
    alt = "Each metric before (grey) and after (coloured) with its 95 % interval"
    _draw_changes(rows, report.outcome, "adapt_before_after", alt)
    fixed = [b for b in report.baselines if b.metrics != report.before]
    head = "".join(f"<th title='{BASELINES[b.name][1]}'>{BASELINES[b.name][0]}</th>" for b in fixed)
    cells = "".join(
        f"<tr><th title='{MEANINGS[m]}'>{m}</th>{''.join(f'<td>{b.metrics[m]:.3f}</td>' for b in fixed)}"
        f"<td>{_format_interval(report.before[m], before.get(m))}</td>"
        f"<td>{_format_interval(report.after[m], after.get(m))}</td>"
        f"<td>{format_signed(report.after[m] - report.before[m])}</td>"
        "</tr>"
        for m in names
    )
    st.html(
        f'<table class="as2-table as2-wraps"><thead><tr><th></th>{head}'
        f"<th>before</th><th>after</th><th>change</th></tr></thead><tbody>{cells}</tbody></table>"
    )
    for name in (b.name for b in report.baselines if b.gain is not None and find_outcome(b.gain) is Outcome.WORSE):
        st.warning(BETTER_BASELINE.format(BASELINES[name][2]), icon=":material/info:")
    st.caption(describe_baselines(report))


def describe_baselines(report: RetrainReport) -> str:
    """What the columns beside before and after are, and whether the version is better."""
    is_constant = any(value in (0, 1) for value in (*report.before.values(), *report.after.values()))
    wilson = "; where all of them have the same value, by Wilson's method" if is_constant else ""
    texts = [f"In small print: the 95 % interval, from resampling the questions{wilson}."]
    for baseline in report.baselines:
        heading, explanation, _ = BASELINES[baseline.name]
        if baseline.metrics != report.before or baseline.name != SHIPPED:
            texts.append(f"{heading.capitalize()}: {explanation}.{_describe_gain(baseline)}")
        elif report.base in ANSWERING:  # shipped versions are called as their kinds
            texts.append("Before is the shipped version.")
        else:
            texts.append("The shipped version has the same figures as before.")
    return " ".join(texts)


def _describe_gain(baseline: Baseline) -> str:
    """With a blank before it; "" of an older program's card."""
    if (gain := baseline.gain) is None:
        return ""
    interval = f"95 %: {format_signed(gain.low)} to {format_signed(gain.high)}"
    if find_outcome(gain) is Outcome.UNCLEAR:
        return (
            f" The difference to AP after the retrain ({format_signed(gain.difference)}, {interval}) could be chance."
        )
    direction = "higher" if gain.difference > 0 else "lower"
    return f" After the retrain, AP is {direction} by {abs(gain.difference):.3f} ({interval})."


def _draw_changes(rows: Sequence[Change], outcome: Outcome, key: str, alt: str) -> None:
    spec = make_spec(build_before_after_chart, rows, outcome)
    st.vega_lite_chart(spec=spec, width="stretch", height=44 * len(rows) + 48, key=key, alt=alt)


def _format_interval(value: float, interval: tuple[float, float] | None) -> str:
    small = f"<small>{interval[0]:.2f} – {interval[1]:.2f}</small>" if interval else ""
    return f"{value:.3f}{small}"


def draw_exits(report: RetrainReport) -> None:
    before, after = report.per_exit.before, report.per_exit.after
    rows = [Change(f"layer {n}", before[n], after[n]) for n in sorted(after, key=int) if n in before]
    if rows:
        st.markdown("**At every exit**")
        _draw_scope(report)
        alt = "Average precision at every exit of the cascade, before and after"
        _draw_changes(rows, report.outcome, "adapt_exits", alt)
        st.caption(
            "The small grey dot is before, the large one after, with the change above it. Here nothing is dropped: "
            "every exit ranks all candidates, so the last one may differ from the AP above."
        )


def _draw_scope(report: RetrainReport) -> None:
    """Which questions a figure is of that the copies have no part in."""
    if report.labels.cross_fitted_questions:
        st.caption(f"On the {count(report.labels.held_out_questions, 'held-out question')} only")


def draw_benchmarks(report: RetrainReport) -> None:
    if report.benchmarks:
        st.markdown("**On the frozen benchmarks**")
        st.markdown(describe_forgetting(report.benchmarks, report.outcome))
        st.html(render_benchmarks(report.benchmarks))


def describe_forgetting(benchmarks: Mapping[str, BeforeAfter[Metrics]], outcome: Outcome = Outcome.UNCLEAR) -> str:
    """How AP changed on every benchmark, or only where some was forgotten; Markdown. `outcome`: on the corpus's own
    questions."""
    both = [(name, b) for name, b in benchmarks.items() if "AP" in b.before and "AP" in b.after]
    changes = [(name, b.before["AP"], b.after["AP"]) for name, b in both]
    fell = [(n, before, after) for n, before, after in changes if is_forgetting(count_lost_points(before, after))]
    values = " and ".join(
        f"{_describe_values(before, after)} ({plain(TITLES.get(name, name))})"
        for name, before, after in fell or changes
    )
    end = f"nothing of note was forgotten (a fall by up to {MAX_FORGOTTEN_POINTS / 100:g} does not count)."
    if fell:
        end = f"some of it was **forgotten**{WEIGHING[outcome]}"
    noun = "benchmark" if len(changes) == 1 else "benchmarks"
    return f"On the frozen {noun}, which no retrain trains on, AP {values}: {end}"


def _describe_values(before: float, after: float) -> str:
    """`fell from 0.810 to 0.770`, `stayed at 0.810`"""
    sides = f"{before:.3f}", f"{after:.3f}"
    if sides[0] == sides[1]:
        return f"stayed at {sides[0]}"
    return f"{'fell' if after < before else 'rose'} from {sides[0]} to {sides[1]}"


def render_benchmarks(benchmarks: Mapping[str, BeforeAfter[Metrics]]) -> str:
    """A row a benchmark, before and after by every metric that both have."""

    def format_change(sides: BeforeAfter[Metrics], metric: str) -> str:
        if metric not in sides.before or metric not in sides.after:
            return "<td></td>"
        return f"<td>{sides.before[metric]:.3f} → {sides.after[metric]:.3f}</td>"

    head = "".join(f"<th title='{title}'>{m}</th>" for m, title in MEANINGS.items())
    rows = "".join(
        f"<tr><th>{escape(TITLES.get(name, name))}</th>{''.join(format_change(sides, m) for m in MEANINGS)}</tr>"
        for name, sides in benchmarks.items()
    )
    return f'<table class="as2-table as2-wraps"><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>'


def draw_reliability(report: RetrainReport) -> None:
    spec = make_spec(build_reliability_chart, report.reliability.before, report.reliability.after)
    if spec is not None:
        st.markdown("**Calibration of its probabilities**")
        _draw_scope(report)
        alt = "Share of correct sentences by probability, before and after"
        st.vega_lite_chart(spec=spec, width="stretch", key="adapt_reliability", alt=alt)
