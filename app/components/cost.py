"""What each exit cost and saved, as a table."""

from __future__ import annotations

import streamlit as st

from app.components.text import percent
from app.services.views import MeasuredView
from as2core.cascade.trace import CascadeTrace
from as2core.cost import head_flops, layer_flops

CLASSIFIERS = " It took more, for it has a classifier at every exit."
AGAIN = " The last exit reads the first places a second time, in full precision; its saving is less by that."


def saved(trace: CascadeTrace) -> float:
    """The share of the monolithic model's compute that this run did without; below 0 if it took more."""
    return 1.0 - trace.relative_cost


def spared(run: CascadeTrace, full: CascadeTrace) -> float:
    """The share of the encoder's compute over those who entered it that dropping did without: what it promises."""
    whole = sum(e.flops for e in full.exits)
    return 1.0 - sum(e.flops for e in run.exits) / whole if whole else 0.0


def cost_rows(run: CascadeTrace) -> list[dict[str, str | float | int | None]]:
    """A row a stage: its title, entered, kept, milliseconds, and the share saved of what this stretch costs with every
    candidate in it; None for a stage that is no stretch of the encoder."""
    rows: list[dict[str, str | float | int | None]] = []
    below = 0
    for e in run.stages:
        whole = (e.layer - below) * layer_flops(run.lengths, run.shape) + head_flops(run.candidates, run.shape)
        share = None if e is run.first else 1 - e.flops / whole if whole else 0.0
        rows.append({"title": e.title, "entered": len(e.alive), "kept": e.kept, "ms": e.seconds * 1000, "saved": share})
        below = e.layer
    return rows


def draw_saved(run: CascadeTrace, full: CascadeTrace) -> None:
    """The numbers that go with the slider."""
    kept = f"<b>{len(run.exits[-1].alive):,}</b> of {run.candidates:,} reach the end"
    share = saved(run)
    told = f"<b>{percent(share)}</b> of the compute saved" if share > 0 else "nothing saved"
    st.html(f'<p class="as2-saved">{told} <span>·</span> {kept}</p>')
    if run.first is not None:
        st.caption(
            f"The {run.first.title} left {run.first.kept:,} of {run.candidates:,} sentences; dropping saves "
            f"{spared(run, full) * 100:.0f} % of what those cost."
        )


def draw_measured(measured: MeasuredView, promised: float) -> None:
    """What dropping saved in time, beside what it saved in compute (`spared`)."""
    share = 1 - measured.dropped / measured.whole if measured.whole else 0.0
    kept = f", {share / promised * 100:.0f} % of the promise" if promised > 0 else ""
    st.html(
        f'<p class="as2-note">Run for real: {measured.whole * 1000:,.0f} ms without dropping, '
        f"{measured.dropped * 1000:,.0f} ms with it. <b>{share * 100:.0f} %</b> of the time saved for "
        f"{promised * 100:.0f} % of the encoder's compute without dropping{kept}.</p>"
    )


def draw_costs(run: CascadeTrace, full: CascadeTrace) -> None:
    """`run` is `full` (measured, nothing dropped) under the chosen schedule."""
    measured = not any(len(e.dropped) for e in run.exits)
    if measured:
        run = full
    rows = cost_rows(run)
    body = "".join(
        f"<tr><th scope=row>{r['title']}</th><td>{r['entered']:,}</td><td>{r['kept']:,}</td>"
        f"<td>{r['ms']:,.0f} ms</td><td>{'' if r['saved'] is None else _bar(r['saved'])}</td></tr>"
        for r in rows
    )
    total = (
        f"<tr class=as2-total><th scope=row>all</th><td>{rows[0]['entered']:,}</td><td>{rows[-1]['kept']:,}</td>"
        f"<td>{run.seconds * 1000:,.0f} ms</td><td>{_bar(saved(run))}</td></tr>"
    )
    head = "<tr><th scope=col>exit</th><th scope=col>in</th><th scope=col>out</th>"
    head += f"<th scope=col>time, {'measured' if measured else 'estimated'}</th><th scope=col>compute saved</th></tr>"
    st.html(f'<table class="as2-table as2-costs"><thead>{head}</thead><tbody>{body}{total}</tbody></table>')
    why = CLASSIFIERS if saved(run) <= -0.005 else ""
    why += AGAIN if len(run.exits[-1].again) else ""
    if measured:
        st.caption(
            "Times were measured in this run, which dropped nothing on the way. Savings are told against one whole "
            f"model that reads every candidate.{why}"
        )
    else:
        st.caption(
            f"This page scores everyone in the encoder at every exit, so that the slider can replay the run; that took "
            f"{full.seconds * 1000:,.0f} ms. The times above are estimates: the measured time of each stretch, scaled "
            f"by its share of compute. Savings are told against one whole model that reads every candidate.{why}"
        )


def _bar(share: float) -> str:
    width = max(0.0, min(1.0, share)) * 100
    return f'<span class="as2-bar"><i style="width:{width:.0f}%"></i></span> {share_in_words(share)}'


def share_in_words(share: float) -> str:
    """`30 %`; a run that took more than the whole model, for its classifiers and the second look, says `1 % more`."""
    return f"{-share * 100:.0f} % more" if share <= -0.005 else percent(max(0.0, share))
