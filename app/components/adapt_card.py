"""The card of a retrained version: before and after on questions it never saw, question by question, exit by exit.

`result` is a retrain job's: version, before, after (metric -> value), intervals (before, after: metric -> low, high),
paired, per_question, per_exit (before, after: layer -> AP), frozen (before, after), frozen_others (benchmark ->
before, after; not in older ones), labels, snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.charts.intervals import before_after
from app.charts.reliability import reliability
from app.components.adapt_words import HEADLINES, METRICS, paired_in_words, seconds_in_words, verdict
from app.components.text import count, escaped, plain, shorten

Result = Mapping[str, Any]
Hidden = Collection[tuple[str, str]]
LISTED, READ = 6, 140
CLASS = {"correct": "up", "incorrect": "down"}
FELL = 0.01  # AP lost on a frozen benchmark that is worth a word
KEPT = ("intervals", "per_exit", "reliability", "per_question", "frozen", "frozen_others", "choice", "replay",
        "weights", "left_out", "settings", "seconds", "training_seconds")  # fmt: skip
BENCHMARKS = {"starter-test": "Starter, test", "wikiqa-dev": "WikiQA, dev"}
ORIGINS = {"asked": "typed", "starter": "of the starter corpus"}  # the others are called what they are
HIDDEN = ("trained_on", "per_question", "left_out")  # too long to be read, and shown above


def of_version(card: Mapping[str, Any]) -> Result | None:
    """What a version's card keeps of its retrain, None if it was not made here; the rest is the job's."""
    if not card.get("before") or not card.get("paired"):
        return None
    data = card.get("data", {})
    return {
        "version": card.get("name", ""),
        "before": card["before"],
        "after": card["metrics"],
        "paired": card["paired"],
        **{key: card.get(key, {}) for key in KEPT},
        "base": card.get("parent", ""),
        "labels": {k: v for k, v in data.items() if k != "sha256"},
        "snapshot": data.get("sha256", ""),
    }


def draw_card(card: Mapping[str, Any], hidden: Hidden) -> None:
    """A version's card: its figures if it was made here, and everything it says of itself."""
    result = of_version(card)
    if result is not None:
        draw(result, hidden)
    else:
        came = "was brought in" if card.get("imported_from") else "came with the program"
        st.caption(f"This one {came}; it was not made from labels here.")
    with st.expander("The whole card", icon=":material/data_object:", expanded=result is None, key="adapt_whole_card"):
        st.json({k: v for k, v in card.items() if k not in HIDDEN}, expanded=2)


def draw(result: Result, hidden: Hidden) -> None:
    """`hidden`: (question, sentence) whose label the reader may not know before having given one."""
    _headline(result)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _metrics(result)
    with right:
        _exits(result)
        _frozen(result)
        _reliability(result)
    _questions(result, hidden)
    _left_out(result, hidden)
    _facts(result)


def _headline(result: Result) -> None:
    kind = verdict(result["paired"])
    before, after = result["before"]["AP"], result["after"]["AP"]
    st.html(
        f'<div class="as2-outcome {kind}" data-testid="as2-outcome"><b>{HEADLINES[kind]}</b>'
        f"<span>AP {before:.3f} → {after:.3f}</span></div>"
    )
    st.markdown(plain(paired_in_words(result["paired"])))


def _metrics(result: Result) -> None:
    st.markdown("**Before and after, on held-out questions**")
    names = [m for m in METRICS if m in result["before"] and m in result["after"]]
    spans = result.get("intervals", {})
    rows = []
    for m in names:
        low, high = _span(spans, "after", m)
        rows.append({"name": m, "before": result["before"][m], "after": result["after"][m], "low": low, "high": high})
    _dots(rows, "adapt_before_after", "Each metric before (grey) and after (coloured) with its 95 % interval")
    cells = "".join(
        f"<tr><th title='{METRICS[m]}'>{m}</th><td>{_with_span(result['before'][m], _span(spans, 'before', m))}</td>"
        f"<td>{_with_span(result['after'][m], _span(spans, 'after', m))}</td>"
        f"<td>{result['after'][m] - result['before'][m]:+.3f}</td></tr>"
        for m in names
    )
    st.html(
        '<table class="as2-table"><thead><tr><th></th><th>before</th><th>after</th><th>change</th></tr></thead>'
        f"<tbody>{cells}</tbody></table>"
    )
    st.caption("Small: the 95 % interval, where the figure could lie had other questions been held out.")


def _dots(rows: Sequence[Mapping[str, Any]], key: str, alt: str) -> None:
    st.altair_chart(before_after(rows), width="stretch", height=44 * len(rows) + 48, key=key, alt=alt)


def _span(spans: Mapping[str, Any], side: str, metric: str) -> tuple[float | None, float | None]:
    low, high = spans.get(side, {}).get(metric, (None, None))
    return low, high


def _with_span(value: float, span: tuple[float | None, float | None]) -> str:
    return f"{value:.3f}" if span[0] is None else f"{value:.3f}<small>{span[0]:.2f} – {span[1]:.2f}</small>"


def _exits(result: Result) -> None:
    per_exit = result.get("per_exit") or {}
    if not per_exit.get("after"):
        return
    st.markdown("**At every exit**")
    layers = sorted(per_exit["after"], key=int)
    rows = [
        {"name": f"layer {n}", "before": per_exit["before"][n], "after": per_exit["after"][n]}
        for n in layers
        if n in per_exit.get("before", {})
    ]
    _dots(rows, "adapt_exits", "Average precision at every exit of the cascade, before and after")
    st.caption("The small grey dot is before, the large one after, with the change above it.")


def _frozen(result: Result) -> None:
    frozen = result.get("frozen") or {}
    if not frozen.get("before") or not frozen.get("after"):
        return
    benchmarks = {"starter-test": frozen, **(result.get("frozen_others") or {})}
    st.markdown("**What it knew before**")
    st.markdown(kept_in_words(benchmarks))
    st.html(benchmarks_table(benchmarks))


def kept_in_words(benchmarks: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """How AP moved on every benchmark, or where it fell by more than a hundredth on those where it did; Markdown."""
    moved = {
        name: (sides["before"]["AP"], sides["after"]["AP"])
        for name, sides in benchmarks.items()
        if all("AP" in sides[side] for side in ("before", "after"))
    }
    fell = {name: (before, after) for name, (before, after) in moved.items() if after < before - FELL}
    told = " and ".join(
        f"from {before:.3f} to {after:.3f} ({plain(BENCHMARKS.get(name, name))})"
        for name, (before, after) in (fell or moved).items()
    )
    end = "some of it was **forgotten**; weigh that against the gain." if fell else "nothing of note was forgotten."
    known = "benchmark" if len(moved) == 1 else "benchmarks"
    return f"On the frozen {known}, which no label of yours touches, AP {'fell' if fell else 'went'} {told}: {end}"


def benchmarks_table(benchmarks: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """A row a benchmark, before and after by every metric that both have."""
    head = "".join(f"<th title='{told}'>{m}</th>" for m, told in METRICS.items())
    rows = "".join(
        f"<tr><th>{escaped(BENCHMARKS.get(name, name))}</th>{''.join(_change(sides, m) for m in METRICS)}</tr>"
        for name, sides in benchmarks.items()
    )
    return f'<table class="as2-table as2-wraps"><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _change(sides: Mapping[str, Mapping[str, float]], metric: str) -> str:
    before, after = (sides[side].get(metric) for side in ("before", "after"))
    return "<td></td>" if before is None or after is None else f"<td>{before:.3f} → {after:.3f}</td>"


def _reliability(result: Result) -> None:
    curves = result.get("reliability") or {}
    chart = reliability(curves.get("before") or (), curves.get("after") or ())
    if chart is None:
        return
    st.markdown("**Do its probabilities hold?**")
    st.altair_chart(chart, width="stretch", key="adapt_reliability",
                    alt="Share of correct sentences by probability, before and after")  # fmt: skip


def _questions(result: Result, hidden: Hidden) -> None:
    rows = [{**_told(q, hidden), "change": q["after"] - q["before"]} for q in result.get("per_question", ())]
    if not rows:
        return
    better = sorted((q for q in rows if q["change"] > 0), key=lambda q: -q["change"])
    worse = sorted((q for q in rows if q["change"] < 0), key=lambda q: q["change"])
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**Won** · {count(len(better), 'question')}")
        _list(better, "Nothing rose.")
    with right:
        st.markdown(f"**Lost** · {count(len(worse), 'question')}")
        _list(worse, "Nothing fell.")
    with st.expander(f"All {count(len(rows), 'held-out question')}", icon=":material/list:", key="adapt_all_questions"):
        number = st.column_config.NumberColumn(format="%.3f", width="small")
        st.dataframe(
            all_questions(rows), hide_index=True,
            key="adapt_questions", column_config={"before": number, "after": number, "change": number},
        )  # fmt: skip


def _told(row: Mapping[str, Any], hidden: Hidden) -> dict[str, Any]:
    """The row with the verdict on its first sentences in words."""

    def told(top: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return top and {**top, "told": _verdict(row["question"], top, hidden)}

    return {**row, "top_before": told(row.get("top_before")), "top_after": told(row.get("top_after"))}


def _verdict(question: str, sentence: Mapping[str, Any], hidden: Hidden) -> str:
    if (question, sentence["text"]) in hidden:
        return "its label shows once yours is in"
    return "correct" if sentence["correct"] else "incorrect"


def all_questions(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Every held-out question with what was first before and after, where the card keeps it."""
    frame = pd.DataFrame(rows, columns=["question", "before", "after", "change"])
    for column, top in (("first before", "top_before"), ("first after", "top_after")):
        told = [r.get(top) for r in rows]
        if any(told):
            frame[column] = [t and f"{t['text']} ({t['told']})" for t in told]
    return frame


def _list(rows: Sequence[Mapping[str, Any]], none: str) -> None:
    if not rows:
        st.caption(none)
        return
    items = "".join(
        f'<div class="q"><span class="n {_way(q)}">{q["before"]:.2f} → {q["after"]:.2f}</span>'
        f"<span>{escaped(q['question'])}{_tops(q)}</span></div>"
        for q in rows[:LISTED]
    )
    st.html(f'<div class="as2-wins">{items}</div>')
    if len(rows) > LISTED:
        st.caption(f"and {len(rows) - LISTED:,} more below")


def _tops(row: Mapping[str, Any]) -> str:
    """The sentences that were first before and after, to be read; "" where the first stayed."""
    was, now = row.get("top_before"), row.get("top_after")
    if not was or not now or was["text"] == now["text"]:
        return ""
    lines = (
        f'<small class="{CLASS.get(top["told"], "")}">{when}, {top["told"]}: '
        f"{escaped(shorten(top['text'], READ))}</small>"
        for when, top in (("before", was), ("now", now))
    )
    return "".join(lines)


def _way(row: Mapping[str, Any]) -> str:
    return "up" if row["change"] > 0 else "down"


def _left_out(result: Result, hidden: Hidden) -> None:
    """Labels that looked wrong and were not learnt from, to be read."""
    found = result.get("left_out") or {}
    if not found:
        return
    title = f"{count(found['labels'], 'label')} left out, more likely wrong than right"
    with st.expander(title, icon=":material/rule:", key="adapt_left_out"):
        st.caption(
            f"It looks as if {found['rate']:.0%} of the labels were wrong. Of those left out {found['correct']:,} say "
            "correct. The labels stay as they are: Second looks, on the Agreement page, brings such ones back."
        )
        shown = [{"Question": x["question"], "Sentence": x["text"],
                  "Labelled": _verdict(x["question"], x, hidden)} for x in found["to_read"]]  # fmt: skip
        st.dataframe(pd.DataFrame(shown), hide_index=True, width="stretch", key="adapt_left_out_list")
        if len(shown) < found["labels"]:
            st.caption(f"The {len(shown):,} least likely to be right.")


def _facts(result: Result) -> None:
    told = facts_in_words(result)
    if told:
        st.html(f'<p class="as2-facts">{escaped(told)}</p>')


def facts_in_words(result: Result) -> str:
    """`Trained on 12 questions (9 typed, 3 proposed; 13 correct, 36 incorrect labels), steered by 2, judged by 4.
    Labels given by ann (40), bob (9).` and the snapshot."""
    n = result.get("labels") or {}
    parts = []
    if n.get("questions"):
        came = ", ".join(f"{k:,} {ORIGINS.get(origin, origin)}" for origin, k in (n.get("origins") or {}).items())
        labels = f"{n['correct']:,} correct, {n['incorrect']:,} incorrect labels" if "correct" in n else ""
        inside = "; ".join(filter(None, (came, labels)))
        parts.append(f"Trained on {count(n['questions'], 'question')}" + (f" ({inside})" if inside else ""))
    if n.get("dev_questions"):
        parts.append(f"steered by {n['dev_questions']:,}")
    if n.get("held_out_questions"):
        parts.append(f"judged by {n['held_out_questions']:,}")
    told = ", ".join(parts) + "." if parts else ""
    told = " ".join([told, *_made_of(result)]).strip()
    return f"{told} Snapshot of the labels: {str(result['snapshot'])[:12]}".strip() if result.get("snapshot") else told


def _made_of(result: Result) -> list[str]:
    """Sentences on what else went in, what was told, and how long it took."""
    told = []
    if givers := (result.get("labels") or {}).get("givers"):
        told.append(f"Labels given by {', '.join(f'{who} ({k:,})' for who, k in givers.items())}.")
    replayed = (result.get("labels") or {}).get("replayed_questions")
    if replayed:
        told.append(f"{count(replayed, 'shipped question')} mixed in.")
    if left_out := result.get("left_out"):
        told.append(f"{count(left_out['labels'], 'label')} of these left out.")
    chosen = result.get("choice") or {}
    if chosen.get("annotators"):
        told.append(f"Labels of {', '.join(chosen['annotators'])} alone.")
    if chosen.get("since"):
        told.append(f"Labels since {chosen['since']}.")
    if chosen.get("conflicts", "majority") != "majority":
        told.append(f"Conflicts: {chosen['conflicts']}.")
    if chosen.get("presumed"):
        told.append(f"Up to {chosen['presumed']:,} sentences a question presumed incorrect.")
    if result.get("weights"):
        told.append(
            "Weights: " + ", ".join(f"{n.rpartition('/')[2]} {w:.2f}" for n, w in result["weights"].items()) + "."
        )
    settings = result.get("settings") or {}
    if settings.get("epochs"):
        told.append(
            f"{count(settings['epochs'], 'epoch')} at {settings['learning_rate']:.1e}, seed {settings['seed']}."
        )
    if result.get("base"):
        told.append(f"Made from {result['base']}.")
    if result.get("seconds"):
        told.append(
            f"{seconds_in_words(result['seconds'])} in all, {seconds_in_words(result['training_seconds'])} of training."
        )
    return told
