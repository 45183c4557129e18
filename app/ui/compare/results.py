"""The result of a comparison: which ranker is better, how certain that is, what it costs, and where they differ."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from app.compare.comparison import ComparisonView, PairedResult, RankerResult
from app.ui import url
from app.ui.charts.intervals import differences, intervals
from app.ui.charts.slope import slope
from app.ui.charts.tradeoff import COST_TITLES, Cost, tradeoff
from app.ui.compare.cuts import draw_cuts
from app.ui.compare.sweep import describe_sweep, parse_ratio, split_sweeps, sweep_chart
from app.ui.text import count, escape, plain, shorten
from app.ui.wording import METRICS, describe_test

VISIBLE_PAIRS = 6  # the others are in an expander
COSTS = {"relative_cost": "Compute", "seconds": "Seconds"}


def draw(view: ComparisonView) -> None:
    names = [r.ranker for r in view.results]
    st.markdown(
        f"**{plain(view.data)}** · {count(view.questions, 'question')} ({plain(view.setting)}) · "
        f"{count(len(names), 'ranker')}"
    )
    for note in view.notes:
        st.info(plain(note), icon=":material/info:")
    metric = url.choose("compare", "metric", "Metric", {m: m for m in METRICS})
    _draw_table(view.results, metric)
    singles, sweeps = split_sweeps(view.results)
    if singles:
        _draw_pictures(singles, metric)
    for cascade, sweep in sweeps.items():
        _draw_sweep(cascade, sweep, metric)
    _draw_pairs(view.paired)
    draw_cuts(view)
    _draw_questions(view, names, metric)
    _draw_slope(view, [r.ranker for r in singles] or names)


def _draw_pictures(results: Sequence[RankerResult], metric: str) -> None:
    left_column, right_column = st.columns(2, gap="large")
    with left_column:
        st.subheader(f"{metric} with its 95 % interval", anchor=False)
        st.altair_chart(intervals(results, metric=metric), width="stretch", key="compare_intervals",
                        height=38 * len(results) + 72,
                        alt=f"{metric} of every ranker with its 95 % bootstrap interval")  # fmt: skip
        st.caption(f"{metric}: {METRICS[metric]}. Bars: 95 % bootstrap intervals over questions.")
    with right_column:
        _draw_cost(results, metric)


def _draw_sweep(cascade: str, sweep: Sequence[RankerResult], metric: str) -> None:
    st.subheader(f"Drop ratio of {plain(cascade)}", anchor=False)
    st.markdown(plain(describe_sweep(sweep, metric=metric)))
    st.altair_chart(sweep_chart(sweep, metric=metric), width="stretch", key=f"compare_sweep_chart_{cascade}",
                    alt=f"{metric} against compute at every drop ratio; the table above has the numbers")  # fmt: skip
    st.caption("Each point is a share of the candidates dropped at every exit; the band is the 95 % interval.")


def _draw_table(results: Sequence[RankerResult], metric: str) -> None:
    common = [m for m in METRICS if all(m in r.figures for r in results)]
    frame = pd.DataFrame([{"ranker": r.ranker, **{m: r.figures[m].value for m in common}} for r in results])
    figures = [r.figures[metric] for r in results]
    frame[f"{metric}, 95 %"] = [_format_range(f.low, f.high) for f in figures]
    if any(f.least is not None for f in figures):
        frame["with all labels"] = [_format_range(f.least, f.most) for f in figures]
    frame["seconds"] = [r.seconds for r in results]
    together = is_timed_together(results)
    if not together:
        frame["measured"] = [describe_time(r) for r in results]
    frame["compute"] = ["–" if r.relative_cost is None else f"{r.relative_cost:.2f}" for r in results]
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    config = {
        **{m: number(format="%.3f", help=meaning) for m, meaning in METRICS.items()},
        "seconds": number(format="%.1f", help="For all questions, on this machine"),
        "measured": text(
            help="When the seconds were measured. The same ranker does not run twice on the same questions."
        ),
        "with all labels": text(
            help=f"The lowest and the highest {metric} possible on these questions, whatever their missing labels are"
        ),
        "compute": text(
            help="FLOPs as a share of the whole model's; a dash where there is no whole model to compare with"
        ),
    }
    frame = frame.sort_values(metric, ascending=False, kind="stable")
    st.dataframe(frame, hide_index=True, column_config=config, key="compare_table")
    if not together:
        st.caption(
            "Seconds with a date are from an earlier run, when the machine may have been more or less busy. Do not "
            "compare them with the others."
        )


def is_timed_together(results: Sequence[RankerResult]) -> bool:
    return all(r.timed_here for r in results)


def describe_time(result: RankerResult) -> str:
    if result.timed_here:
        return "in this comparison"
    return f"{result.measured:%d %b %Y, %H:%M}" if result.measured else "at an unknown time"


def _format_range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.2f} – {high:.2f}"


def _draw_cost(results: Sequence[RankerResult], metric: str) -> None:
    st.subheader("Accuracy against cost", anchor=False)
    has_share = sum(r.relative_cost is not None for r in results) >= 2
    options: tuple[Cost, ...] = ("relative_cost", "seconds")
    cost = st.segmented_control(
        "Cost",
        options,
        default=options[0 if has_share else 1],
        required=True,
        key="compare_cost",
        format_func=COSTS.__getitem__,
        label_visibility="collapsed",
    )
    if cost == "seconds" and not is_timed_together(results):
        st.caption(
            "These seconds were not all measured in this comparison, so a picture of them would not be fair. The "
            "table above says when each was measured."
        )
        return
    chart = tradeoff(results, metric=metric, cost=cost)
    if chart is None:
        st.caption("None of these rankers counts its compute. Choose seconds instead.")
        return
    alt = f"{metric} against {COST_TITLES[cost]}; dashed, the rankers that no other beats on both"
    st.altair_chart(chart, width="stretch", key="compare_tradeoff", alt=alt)
    st.caption("Dashed line: the Pareto front. A ranker off the line is both worse and more expensive than one on it.")
    if missing := [plain(r.ranker) for r in results if getattr(r, cost) is None]:
        st.caption(f"Not shown, because they do not count their compute: {', '.join(missing)}.")


def _draw_pairs(pairs: Sequence[PairedResult]) -> None:
    if not pairs:
        return
    st.subheader("Is the difference significant?", anchor=False)
    st.caption("A paired randomisation test over the same questions. With many pairs, some differences are chance.")
    by_ratio = sorted(pairs, key=lambda p: sum(parse_ratio(name) is not None for name in (p.a, p.b)))
    rest = by_ratio[VISIBLE_PAIRS:]
    st.html(paired_table(by_ratio[:VISIBLE_PAIRS]))
    if rest:
        with st.expander(count(len(rest), "more pair"), icon=":material/table_rows:", key="compare_more_pairs"):
            st.html(paired_table(rest))


def paired_table(pairs: Sequence[PairedResult]) -> str:
    """The tests as an HTML table whose sentences wrap; names are escaped."""
    rows = "".join(
        f"<tr><th>{escape(p.a)}<br><small>against {escape(p.b)}</small></th>"
        f"<td>{p.test.difference:+.3f}</td><td>{escape(describe_test(p.test, metric=p.metric))}</td></tr>"
        for p in pairs
    )
    return f'<table class="as2-table as2-paired"><tbody>{rows}</tbody></table>'


def _draw_questions(view: ComparisonView, names: Sequence[str], metric: str) -> None:
    st.subheader("Question by question", anchor=False)
    left_column, right_column = st.columns(2)
    first = left_column.selectbox("From", names, index=min(1, len(names) - 1), key="compare_from")
    second = right_column.selectbox("To", names, index=0, key="compare_to")
    if first == second:
        st.caption("Choose two different rankers.")
        return
    frame = by_question(view.per_question, first, second, metric)
    if not (frame["difference"].abs() > 1e-9).any():
        st.caption("No question changed.")
        return
    st.altair_chart(differences(frame, metric=metric), width="stretch", key="compare_differences",
                    alt=f"{metric} of {second} minus {first}, a bar a question, sorted")  # fmt: skip
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    key = f"compare_questions_{first}_{second}_{metric}"
    st.dataframe(
        frame[["question", "from", "to", "difference"]], hide_index=True, height=min(360, 38 + 35 * len(frame)),
        on_select=partial(_select, key, frame["qid"].tolist()), selection_mode="single-row", key=key,
        column_config={"from": number, "to": number, "difference": number},
    )  # fmt: skip
    st.caption("Click a column heading to sort. Select a row to see that question's ranks below.")


def _select(key: str, qids: Sequence[str]) -> None:
    """Show the question of the selected row below. A row stays selected, so only a click counts."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(qids):
        st.session_state["_compare_selected"] = qids[rows[0]]


def by_question(per_question: pd.DataFrame, first: str, second: str, metric: str) -> pd.DataFrame:
    """Columns qid, question, from, to, difference; the largest gain first."""
    wide = per_question.pivot_table(index=["qid", "question"], columns="ranker", values=metric, sort=False)
    wide = wide[[first, second]].set_axis(["from", "to"], axis=1).reset_index()
    wide["difference"] = wide["to"] - wide["from"]
    return wide.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)


def _draw_slope(view: ComparisonView, names: Sequence[str]) -> None:
    if not view.ranks:
        return
    st.subheader("One question, every ranker", anchor=False)
    texts = view.per_question.drop_duplicates("qid").set_index("qid")["question"].to_dict()
    qids = [q for q in texts if q in view.ranks]
    selected = st.session_state.pop("_compare_selected", None) or st.session_state.get("compare_qid") or url.get("q")
    st.session_state["compare_qid"] = selected if selected in qids else qids[0]
    qid = st.selectbox("Question", qids, key="compare_qid", format_func=lambda q: shorten(texts[q], 140))
    url.put(q=qid)
    frame = view.ranks[qid]
    columns = [n for n in names if n in frame.columns]
    st.altair_chart(slope(frame, columns, best=3), width="stretch", key="compare_slope",
                    alt="Ranks of this question's candidates by every ranker; correct ones in green")  # fmt: skip
    with st.expander("As a table", icon=":material/table:", key="compare_rank_table"):
        table = frame.assign(label=frame["label"].map({1: "correct", 0: "incorrect"}).fillna(""))
        st.dataframe(table[["candidate", "label", *columns]], hide_index=True, key="compare_ranks")
