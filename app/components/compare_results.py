"""A comparison's outcome: who is better and how sure that is, what it costs, and on which questions they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app.charts.intervals import differences, intervals
from app.charts.slope import slope
from app.charts.tradeoff import tradeoff
from app.components import url
from app.components.adapt_words import METRICS, paired_in_words
from app.components.compare_cuts import draw_cuts
from app.components.compare_sweep import at_ratio, in_words, parted, sweep_chart
from app.components.text import count, escaped, plain, shorten
from app.services.views import ComparisonView

SHOWN = 6  # pairs told at once
COSTS = {"relative_cost": "Compute", "seconds": "Seconds"}


def draw(view: ComparisonView) -> None:
    names = [r["ranker"] for r in view.rows]
    st.markdown(
        f"**{plain(view.data)}** · {count(view.questions, 'question')} ({plain(view.setting)}) · "
        f"{count(len(names), 'ranker')}"
    )
    for note in view.notes:
        st.info(plain(note), icon=":material/info:")
    metric = _metric()
    _table(view.rows, metric)
    named, swept = parted(view.rows)
    if named:
        _named(named, metric)
    for cascade, rows in swept.items():
        _sweep(cascade, rows, metric)
    _paired(view.paired)
    draw_cuts(view)
    _questions(view, names, metric)
    _slope(view, [r["ranker"] for r in named] or names)


def _named(named: Sequence[Mapping[str, Any]], metric: str) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(f"{metric} with its uncertainty", anchor=False)
        st.altair_chart(intervals(named, metric=metric), width="stretch", key="compare_intervals",
                        height=38 * len(named) + 72,
                        alt=f"{metric} of every ranker with its 95 % bootstrap interval")  # fmt: skip
        st.caption(f"{metric}: {METRICS[metric]}. Bars: 95 % bootstrap intervals over questions.")
    with right:
        _cost(named, metric)


def _sweep(cascade: str, swept: Sequence[Mapping[str, Any]], metric: str) -> None:
    st.subheader(f"How much {plain(cascade)} may drop", anchor=False)
    st.markdown(plain(in_words(swept, metric=metric)))
    st.altair_chart(sweep_chart(swept, metric=metric), width="stretch", key=f"compare_sweep_chart_{cascade}",
                    alt=f"{metric} against compute at every drop ratio; the table above has the numbers")  # fmt: skip
    st.caption("Each point is a share of the candidates dropped at every exit; the band is the 95 % interval.")


def _metric() -> str:
    if "compare_metric" not in st.session_state:
        st.session_state["compare_metric"] = url.get("metric") if url.get("metric") in METRICS else "AP"
    metric = st.segmented_control("Metric", list(METRICS), key="compare_metric", required=True)
    url.put(metric=None if metric == "AP" else metric)
    return metric


def _table(rows: Sequence[Mapping[str, Any]], metric: str) -> None:
    frame = pd.DataFrame({"ranker": [r["ranker"] for r in rows]})
    for m in METRICS:
        if all(m in r for r in rows):
            frame[m] = [float(r[m]) for r in rows]
    frame[f"{metric}, 95 %"] = [_span(r, metric, "low", "high") for r in rows]
    if any(f"{metric} least" in r for r in rows):
        frame["with all labels"] = [_span(r, metric, "least", "most") for r in rows]
    frame["seconds"] = [float(r["seconds"]) for r in rows]
    together = timed_together(rows)
    if not together:
        frame["measured"] = [measured_in_words(r) for r in rows]
    frame["compute"] = [_share(r.get("relative_cost")) for r in rows]
    config = {m: st.column_config.NumberColumn(format="%.3f", help=what) for m, what in METRICS.items()}
    config["seconds"] = st.column_config.NumberColumn(format="%.1f", help="For all questions, on this machine")
    config["measured"] = st.column_config.TextColumn(
        help="When the seconds were taken; the same ranker on the same questions is not run twice"
    )
    config["with all labels"] = st.column_config.TextColumn(
        help=f"The least and the most that {metric} could be over these questions, whatever their missing labels say"
    )
    config["compute"] = st.column_config.TextColumn(
        help="FLOPs as a share of the whole model's; a dash where that means nothing"
    )
    st.dataframe(
        frame.sort_values(metric, ascending=False, kind="stable"), hide_index=True, column_config=config,
        key="compare_table",
    )  # fmt: skip
    if not together:
        st.caption(
            "Seconds with a date are remembered from an earlier run. The machine may have been busier or idler then: "
            "don't compare them with the others."
        )


def timed_together(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all seconds were taken in this comparison."""
    return all(r.get("timed_here", True) for r in rows)


def measured_in_words(row: Mapping[str, Any]) -> str:
    if row.get("timed_here", True):
        return "in this comparison"
    return f"{row['measured']:%d %b %Y, %H:%M}" if row.get("measured") else "at an unknown time"


def _share(cost: float | None) -> str:
    return "–" if cost is None else f"{cost:.2f}"


def _span(row: Mapping[str, Any], metric: str, least: str, most: str) -> str:
    low, high = row.get(f"{metric} {least}"), row.get(f"{metric} {most}")
    return "" if low is None or high is None else f"{low:.2f} – {high:.2f}"


def _cost(rows: Sequence[Mapping[str, Any]], metric: str) -> None:
    st.subheader("Accuracy against cost", anchor=False)
    has_share = sum(r.get("relative_cost") is not None for r in rows) >= 2
    cost = st.segmented_control("Cost", list(COSTS), default="relative_cost" if has_share else "seconds", required=True,
                                key="compare_cost", format_func=COSTS.get, label_visibility="collapsed")  # fmt: skip
    title = "compute, as a share of the whole model" if cost == "relative_cost" else "seconds for all questions"
    if cost == "seconds" and not timed_together(rows):
        st.caption(
            "These seconds were not all measured in this comparison, so there is no fair picture of them. The table "
            "above says when each was."
        )
        return
    chart = tradeoff(rows, metric=metric, cost=cost, cost_title=title)
    if chart is None:
        st.caption("None of these rankers counts its compute; look at seconds instead.")
        return
    st.altair_chart(chart, width="stretch", key="compare_tradeoff",
                    alt=f"{metric} against {title}; dashed, the front no other ranker beats on both")  # fmt: skip
    st.caption("Dashed: the front. Whoever is not on it is beaten on both counts by someone who is.")
    if missing := [plain(r["ranker"]) for r in rows if r.get(cost) is None]:
        st.caption(f"Not drawn, as they don't count their compute: {', '.join(missing)}.")


def _paired(paired: Sequence[Mapping[str, Any]]) -> None:
    if not paired:
        return
    st.subheader("Is the difference real?", anchor=False)
    st.caption("A paired randomisation test over the same questions. With many pairs, some come out by chance alone.")
    told = sorted(paired, key=lambda p: sum(at_ratio(p[side]) is not None for side in ("a", "b")))
    shown, rest = told[:SHOWN], told[SHOWN:]
    st.html(paired_table(shown))
    if rest:
        with st.expander(f"{count(len(rest), 'more pair')}", icon=":material/table_rows:", key="compare_more_pairs"):
            st.html(paired_table(rest))


def paired_table(paired: Sequence[Mapping[str, Any]]) -> str:
    """The tests as a table whose sentences wrap; names are escaped."""
    rows = "".join(
        f"<tr><th>{escaped(p['a'])}<br><small>against {escaped(p['b'])}</small></th>"
        f"<td>{float(p['difference']):+.3f}</td><td>{_told(p)}</td></tr>"
        for p in paired
    )
    return f'<table class="as2-table as2-paired"><tbody>{rows}</tbody></table>'


def _told(p: Mapping[str, Any]) -> str:
    return escaped(paired_in_words(p, metric=p.get("metric", "AP")))


def _questions(view: ComparisonView, names: Sequence[str], metric: str) -> None:
    st.subheader("Question by question", anchor=False)
    left, right = st.columns(2)
    first = left.selectbox("From", names, index=min(1, len(names) - 1), key="compare_from")
    second = right.selectbox("To", names, index=0, key="compare_to")
    frame = by_question(view.per_question, first, second, metric)
    if first == second or frame.empty:
        st.caption("Choose two different rankers.")
        return
    if not (frame["difference"].abs() > 1e-9).any():
        st.caption("No question changed.")
        return
    st.altair_chart(differences(frame, metric=metric), width="stretch", key="compare_differences",
                    alt=f"{metric} of {second} minus {first}, a bar a question, sorted")  # fmt: skip
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    key = f"compare_questions_{first}_{second}_{metric}"
    st.dataframe(
        frame[["question", "from", "to", "difference"]], hide_index=True, height=min(360, 38 + 35 * len(frame)),
        on_select=partial(_pick, key, frame["qid"].tolist()), selection_mode="single-row", key=key,
        column_config={"from": number, "to": number, "difference": number},
    )  # fmt: skip
    st.caption("Sort by a column's head; choose a row to see that question's ranks below.")


def _pick(key: str, qids: Sequence[str]) -> None:
    """Show the question of the row just taken below; a row stays taken, so that only a click may say it."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(qids):
        st.session_state["_compare_picked"] = qids[rows[0]]


def by_question(per_question: pd.DataFrame, first: str, second: str, metric: str) -> pd.DataFrame:
    """Columns qid, question, from, to, difference; the largest gain first."""
    both = per_question[per_question["ranker"].isin([first, second])]
    if both.empty:
        return pd.DataFrame(columns=["qid", "question", "from", "to", "difference"])
    wide = both.pivot_table(index=["qid", "question"], columns="ranker", values=metric, sort=False).reset_index()
    wide = (
        wide.rename(columns={first: "from", second: "to"}) if first != second else wide.assign(**{"from": 0, "to": 0})
    )
    wide["difference"] = wide["to"] - wide["from"]
    return wide.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)


def _slope(view: ComparisonView, names: Sequence[str]) -> None:
    if not view.ranks:
        return
    st.subheader("One question, every ranker", anchor=False)
    texts = view.per_question.drop_duplicates("qid").set_index("qid")["question"].to_dict()
    qids = [q for q in texts if q in view.ranks]
    picked = st.session_state.pop("_compare_picked", None) or st.session_state.get("compare_qid") or url.get("q")
    st.session_state["compare_qid"] = picked if picked in qids else qids[0]
    qid = st.selectbox("Question", qids, key="compare_qid", format_func=lambda q: shorten(texts[q], 140))
    url.put(q=qid)
    frame = view.ranks[qid]
    shown = [n for n in names if n in frame.columns]
    st.altair_chart(slope(frame, shown, best=3), width="stretch", key="compare_slope",
                    alt="Ranks of this question's candidates by every ranker; correct ones in green")  # fmt: skip
    with st.expander("As a table", icon=":material/table:", key="compare_rank_table"):
        told = frame.assign(label=["correct" if x == 1 else "incorrect" if x == 0 else "" for x in frame["label"]])
        st.dataframe(told[["candidate", "label", *shown]], hide_index=True, key="compare_ranks")
