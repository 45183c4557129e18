"""The result of a comparison: which ranker is better, how certain that is, what it costs, and where they differ."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from app.compare.comparison import ComparisonView, RankerResult
from app.compare.pairs import WANTED_DIFFERENCE, PairedResult
from app.compare.timing import MAX_TIMED_QUESTIONS
from app.ui import navigation, url
from app.ui.charts.intervals import build_difference_chart, build_interval_chart
from app.ui.charts.slope import build_slope_chart
from app.ui.charts.spec import make_spec
from app.ui.charts.tradeoff import COST_TITLES, Cost, build_tradeoff_chart
from app.ui.compare.cuts import draw_cuts
from app.ui.compare.headline import MEANING, choose_pairs, describe_headline
from app.ui.compare.names import count_questions, count_rankers, describe_raw_names, name_dataset
from app.ui.compare.sweep import build_sweep_chart, describe_sweep, split_sweeps
from app.ui.text import escape, format_number, format_signed, format_time, plain, render_notes, shorten
from app.ui.wording import UNRANKED, describe_p, describe_test
from as2core.evaluation.rankers import is_clear
from as2core.evaluation.training_record import merge_overlaps
from as2core.messages import count
from as2core.metrics import MEANINGS, name_effect

Column = tuple[Sequence[object], ColumnConfig | None]
CHANGE = 1e-9  # of a question's figure; less is rounding
VISIBLE_PAIRS = 6  # the others, and those of a sweep beside the rankers chosen, are in an expander
SECONDS = (
    f"Seconds per question: the median over the first {MAX_TIMED_QUESTIONS}, all rankers measured in turns; empty "
    "for a ranking that was made elsewhere"
)
COMPUTE = "FLOPs, in percent of the whole model's; a dash where there is no whole model to compare with"
COSTS: dict[Cost, str] = {"relative_cost": "Compute", "seconds": "Seconds"}


def draw(view: ComparisonView, draw_below_table: Callable[[], None]) -> None:
    names = [r.ranker for r in view.distinct_results]
    st.markdown(
        f"**{plain(name_dataset(view.data))}** · {count_questions(view.questions, view.setting)} · "
        f"{plain(count_rankers([r.ranker for r in view.results]))}"
        + (" · sentences without a label count as incorrect" if view.with_unlabelled else "")
        + (f" · {format_time(view.finished)}" if view.finished else ""),
        help=describe_raw_names(view.data, view.setting),
    )
    metric = url.choose("compare", "metric", "Metric", {m: m for m in MEANINGS})
    if view.warning:
        st.warning(plain(view.warning), icon=":material/warning:")
    with st.spinner("Testing the differences …"):  # those of an older comparison, the first time
        headline = describe_headline(view, metric)
    if headline:
        with st.container(key="compare_headline"):  # the keys' script has it read out
            st.markdown(f"**{plain(headline)}**", help=MEANING)
    if notes := merge_overlaps(view.notes):
        st.info(render_notes(notes), icon=":material/info:")
    _draw_table(view.distinct_results, metric)
    if view.full_names:
        st.caption("; ".join(f"{plain(name)}: {plain(full_name)}" for name, full_name in view.full_names.items()))
    for twin, name in view.twins.items():
        st.caption(
            f"{plain(twin)} is {plain(name)} with its default share dropped at each exit, so it is not listed again."
        )
    if metric in view.unranked:
        order = UNRANKED.get(view.unranked_order, "the order in which the candidates come")
        st.caption(f"No reranking, {order}: {metric} {view.unranked[metric]:.3f}.")
    draw_below_table()
    singles, sweeps = split_sweeps(view.results)
    if singles:
        left_column, right_column = st.columns(2, gap="large")
        with left_column:
            _draw_intervals(singles, metric)
        with right_column:
            if sweeps and not list_costs(singles):  # the sweep is what shows a cost
                _draw_sweep(*sweeps.popitem(), metric, view.twins)
            else:
                _draw_cost(singles, metric)
    for cascade, sweep in sweeps.items():
        _draw_sweep(cascade, sweep, metric, view.twins)
    pairs = view.list_distinct_pairs(metric)
    _draw_pairs(pairs, metric, view.full_names)
    draw_cuts(view)
    _draw_questions(view, names, metric)
    _draw_slope(view, [r.ranker for r in singles] or names)


def _draw_intervals(results: Sequence[RankerResult], metric: str) -> None:
    st.header(f"{metric} with its 95 % interval", anchor=False)
    st.vega_lite_chart(
        spec=make_spec(build_interval_chart, results, metric=metric),
        width="stretch",
        height=38 * len(results) + 72,
        key="compare_intervals",
        alt=f"{metric} of every ranker with its 95 % bootstrap interval",
    )
    st.caption(f"{metric}: {MEANINGS[metric]}. Bars: 95\u00a0% bootstrap intervals over questions.")


def _draw_sweep(cascade: str, sweep: Sequence[RankerResult], metric: str, defaults: Collection[str]) -> None:
    st.header(f"Share dropped at each exit: {plain(cascade)}", anchor=False)
    st.markdown(plain(describe_sweep(sweep, metric=metric)))
    st.vega_lite_chart(
        spec=make_spec(build_sweep_chart, sweep, metric=metric, defaults=sorted(defaults)),
        width="stretch",
        key=f"compare_sweep_chart_{cascade}",
        alt=f"{metric} against compute at every share dropped, as in the table above",
    )
    st.caption("Each point is a share of the candidates dropped at every exit; the band is the 95 % interval.")


def _draw_table(results: Sequence[RankerResult], metric: str) -> None:
    best_first = sorted(results, key=lambda r: r.figures[metric].value, reverse=True)
    columns = list_columns(best_first, metric)
    frame = pd.DataFrame({name: values for name, (values, _) in columns.items()})
    configs = {name: config for name, (_, config) in columns.items() if config}  # Streamlit hides a column with None
    st.dataframe(frame, hide_index=True, column_config=configs, key="compare_table", placeholder="–")


def list_columns(results: Sequence[RankerResult], metric: str) -> dict[str, Column]:
    """The columns of the table by their headings: a value a ranker, and how they are shown."""
    text = st.column_config.TextColumn
    number = partial(st.column_config.NumberColumn, alignment="left")  # as headings are in any case
    columns: dict[str, Column] = {"ranker": ([r.ranker for r in results], None)}
    for m in (m for m in MEANINGS if all(m in r.figures for r in results)):
        columns[m] = [r.figures[m].value for r in results], number(format="%.3f", help=MEANINGS[m])
    figures = [r.figures[metric] for r in results]
    columns[f"{metric}, 95 %"] = [_format_range(f.low, f.high) for f in figures], None
    if any(f.least is not None for f in figures):
        meaning = f"The lowest and the highest {metric} possible on these questions, whatever their missing labels are"
        columns["with all labels"] = [_format_range(f.least, f.most) for f in figures], text(help=meaning)
    if is_timed(results):
        columns["seconds"] = [r.seconds for r in results], number(format="%.3g", help=SECONDS)
    if any(r.relative_cost is not None for r in results):
        percents = [None if r.relative_cost is None else 100 * r.relative_cost for r in results]
        columns["compute"] = percents, number(format="%.0f %%", help=COMPUTE)
    return columns


def list_costs(results: Sequence[RankerResult]) -> list[Cost]:
    """Those that two or more of the rankers have: one point compares nothing."""
    return [cost for cost in COSTS if sum(getattr(r, cost) is not None for r in results) > 1]


def is_timed(results: Sequence[RankerResult]) -> bool:
    """Whether seconds were measured, side by side, which alone makes them comparable. Those of a run and of a reranker
    elsewhere never are."""
    return any(r.seconds is not None for r in results)


def _format_range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.2f} – {high:.2f}"


def _draw_cost(results: Sequence[RankerResult], metric: str) -> None:
    """Nothing where there is no cost to compare."""
    if not (options := list_costs(results)):
        return
    st.header("Accuracy against cost", anchor=False)
    cost = options[0]
    if len(options) > 1:
        cost = st.segmented_control(
            "Cost",
            options,
            default=cost,
            required=True,
            key="compare_cost",
            format_func=COSTS.__getitem__,
            label_visibility="collapsed",
        )
    spec = make_spec(build_tradeoff_chart, results, metric=metric, cost=cost)
    if spec is None:
        return
    alt = f"{metric} against {COST_TITLES[cost]}; dashed, the rankers that no other beats on both"
    st.vega_lite_chart(spec=spec, width="stretch", key="compare_tradeoff", alt=alt)
    st.caption(
        "Dashed line: the Pareto front. For each ranker off the line, one on it is at least as good and no more "
        "expensive."
    )
    if cost == "seconds":
        st.caption("The time is that of this machine, with whatever else it did during the comparison.")
    if missing := [plain(r.ranker) for r in results if getattr(r, cost) is None]:
        why = "Not timed here, so not shown"
        if cost == "relative_cost":
            why = "Not shown, because they do not count their compute"
        st.caption(f"{why}: {', '.join(missing)}.")


def _draw_pairs(pairs: Sequence[PairedResult], metric: str, full_names: Mapping[str, str]) -> None:
    """`full_names`: those that Decide finds the rankers by."""
    if not pairs:
        return
    st.header("Is the difference significant?", anchor=False)
    st.caption(
        f"A paired randomisation test of {metric} over the same questions. With many pairs, some differences are "
        "chance, so p is corrected for all pairs by Holm's method; pairs of a cascade's shares dropped are "
        "corrected among themselves. The effect size is the mean difference over its standard deviation between "
        "questions (Cohen's d): it says how large a difference is, and p how certain."
    )
    visible = choose_pairs(pairs)[:VISIBLE_PAIRS]
    rest = [p for p in pairs if p not in visible]
    st.html(render_pairs(visible, full_names))
    first = visible[0]
    navigation.to("label", "Decide with few labels on your own questions", queue="decide",
                  a=full_names.get(first.a, first.a), b=full_names.get(first.b, first.b))  # fmt: skip
    if rest:
        with st.expander(count(len(rest), "more pair"), icon=":material/table_rows:", key="compare_more_pairs"):
            st.html(render_pairs(rest, full_names))


def render_pairs(pairs: Sequence[PairedResult], full_names: Mapping[str, str] = MappingProxyType({})) -> str:
    """The tests as an HTML table whose sentences wrap; names are escaped."""
    rows = "".join(
        f"<tr><th{_format_names(p, full_names)}>{escape(p.a)}<br><small>against {escape(p.b)}</small></th>"
        f"<td>{format_signed(p.test.difference)}</td>"
        f"<td{_format_title(p)}>{escape(_describe_pair(p))}</td>"
        "</tr>"
        for p in pairs
    )
    return f'<table class="as2-table as2-paired"><tbody>{rows}</tbody></table>'


def _format_names(pair: PairedResult, full_names: Mapping[str, str]) -> str:
    """What short names stand for, as the attribute of a cell; "" where there is none."""
    paths = [full_names[name] for name in (pair.a, pair.b) if name in full_names]
    return f' title="{escape(", ".join(paths))}"' if paths else ""


def _describe_pair(pair: PairedResult) -> str:
    sides = (pair.a, pair.b)
    return describe_test(pair.test, metric=pair.metric, holm=pair.holm, sides=sides, pairs=pair.family_size) + (
        _describe_power(pair)
    )


def _format_title(pair: PairedResult) -> str:
    """p before its correction as the attribute of a cell; "" where the correction changes nothing."""
    if pair.holm is None or pair.holm == pair.test.p:
        return ""
    return f' title="{escape(describe_p(pair.test.p))} before the correction for all pairs"'


def _describe_power(pair: PairedResult) -> str:
    """How large it is; where it may be chance, also what these questions could have shown, and what others would."""
    text = "" if pair.effect is None else f" Effect size {format_number(pair.effect)} ({name_effect(pair.effect)})."
    if pair.test.has_few_changes:
        return f"{text} Too few questions changed to say how many it would take."
    if pair.detectable is None or pair.sample_size is None or is_clear(pair.test, pair.holm):
        return text
    questions = count(pair.test.questions, "question")
    difference = f"{pair.detectable:.{2 if pair.detectable >= 0.01 else 3}f}"
    return (
        f"{text} {questions} would show a difference of {difference} in 80 of 100 cases. "
        f"For {WANTED_DIFFERENCE:g} you need about {count(round_size(pair.sample_size), 'question')}."
    )


def round_size(number: int) -> int:
    """To two digits: 5,697 is about 5,700."""
    return int(float(f"{number:.1e}"))


def _draw_questions(view: ComparisonView, names: Sequence[str], metric: str) -> None:
    st.header("Question by question", anchor=False)
    left_column, right_column = st.columns(2)
    first = left_column.selectbox("From", names, index=min(1, len(names) - 1), key="compare_from")
    second = right_column.selectbox("To", names, index=0, key="compare_to")
    if first == second:
        st.caption("Choose two different rankers.")
        return
    frame = sort_by_difference(view.per_question, first, second, metric)
    if not (frame["difference"].abs() > CHANGE).any():
        st.caption(f"No question has another {metric} with one than with the other.")
        return
    st.vega_lite_chart(
        spec=make_spec(build_difference_chart, frame[["question", "difference"]], metric=metric),
        width="stretch",
        key="compare_differences",
        alt=f"{metric} of {second} minus {first}, a bar a question, sorted",
    )
    frame, kind = _choose_kind(frame)
    number = st.column_config.NumberColumn(format="%.3f", width="small", alignment="left")
    key = f"compare_questions_{first}_{second}_{metric}_{kind}"
    st.dataframe(
        frame[["question", "from", "to", "difference"]], hide_index=True, height=min(360, 38 + 35 * len(frame)),
        on_select=partial(_select, key, frame["qid"].tolist()), selection_mode="single-row", key=key,
        column_config={"from": number, "to": number, "difference": number},
    )  # fmt: skip
    st.caption("Click a column heading to sort. Select a row to see that question's ranks below.")


def _choose_kind(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The questions of the chosen kind, those that changed most first, and which kind that is."""
    difference = frame["difference"]
    kinds = {
        "All": difference.notna(),
        "Better": difference > CHANGE,
        "Worse": difference < -CHANGE,
        "Equal": difference.abs() <= CHANGE,
    }
    kind = st.segmented_control("Show", list(kinds), default="All", key="compare_kind",
                                format_func=lambda name: f"{name}: {kinds[name].sum():,}") or "All"  # fmt: skip
    rows = frame[kinds[kind]]
    return (rows[::-1] if kind == "Worse" else rows), kind


def _select(key: str, qids: Sequence[str]) -> None:
    """Show the question of the selected row below. A row stays selected, so only a click counts."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(qids):
        st.session_state["_compare_selected"] = qids[rows[0]]


def sort_by_difference(per_question: pd.DataFrame, first: str, second: str, metric: str) -> pd.DataFrame:
    """Columns qid, question, from, to, difference; the largest gain first."""
    wide = per_question.pivot_table(index=["qid", "question"], columns="ranker", values=metric, sort=False)
    wide = wide[[first, second]].set_axis(["from", "to"], axis=1).reset_index()
    wide["difference"] = wide["to"] - wide["from"]
    return wide.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)


def _draw_slope(view: ComparisonView, names: Sequence[str]) -> None:
    if not view.ranks:
        return
    st.header("One question, every ranker", anchor=False)
    texts = view.question_texts
    qids = [q for q in texts if q in view.ranks]
    selected = st.session_state.pop("_compare_selected", None) or st.session_state.get("compare_qid") or url.get("q")
    st.session_state["compare_qid"] = selected if selected in qids else qids[0]
    qid = st.selectbox("Question", qids, key="compare_qid", format_func=lambda q: shorten(texts[q], 140))
    url.put(q=qid)
    frame = view.ranks[qid]
    columns = [n for n in names if n in frame.columns]
    st.vega_lite_chart(
        spec=make_spec(build_slope_chart, frame, columns, best=3),
        width="stretch",
        key="compare_slope",
        alt="Ranks of this question's candidates by every ranker; correct ones in green",
    )
    with st.expander("As a table", icon=":material/table:", key="compare_rank_table"):
        table = frame.assign(label=frame["label"].map({1: "correct", 0: "incorrect"}).fillna(""))
        st.dataframe(table[["candidate", "label", *columns]], hide_index=True, key="compare_ranks")
