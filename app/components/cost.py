"""What each exit cost and saved, as a table."""

from __future__ import annotations

import streamlit as st

from as2core.cascade.trace import CascadeTrace


def saved(trace: CascadeTrace) -> float:
    """The share of the monolithic model's compute that this run did without; below 0 if it took more."""
    return 1.0 - trace.relative_cost


def cost_rows(run: CascadeTrace, full: CascadeTrace) -> list[dict[str, float | int]]:
    """A row an exit: layer, entered, kept, milliseconds, and the share of this stretch's compute that was saved."""
    return [
        {
            "layer": e.layer,
            "entered": len(e.alive),
            "kept": e.kept,
            "ms": e.seconds * 1000,
            "saved": 1 - e.flops / whole.flops if whole.flops else 0.0,
        }
        for e, whole in zip(run.exits, full.exits, strict=True)
    ]


def draw_saved(run: CascadeTrace) -> None:
    """The two numbers that go with the slider."""
    kept = f"<b>{len(run.exits[-1].alive):,}</b> of {run.candidates:,} reach the end"
    share = saved(run)
    spared = f"<b>{share * 100:.0f} %</b> of the compute saved" if share > 0 else "nothing saved"
    st.html(f'<p class="as2-saved">{spared} <span>·</span> {kept}</p>')


def draw_costs(run: CascadeTrace, full: CascadeTrace) -> None:
    """`run` is `full` (measured, nothing dropped) under the chosen schedule."""
    measured = not any(run.schedule.ratios)
    if measured:
        run = full
    rows = cost_rows(run, full)
    body = "".join(
        f"<tr><th scope=row>layer {r['layer']}</th><td>{r['entered']:,}</td><td>{r['kept']:,}</td>"
        f"<td>{r['ms']:,.0f} ms</td><td>{_bar(float(r['saved']))}</td></tr>"
        for r in rows
    )
    total = (
        f"<tr class=as2-total><th scope=row>all</th><td>{rows[0]['entered']:,}</td><td>{rows[-1]['kept']:,}</td>"
        f"<td>{run.seconds * 1000:,.0f} ms</td><td>{_bar(saved(run))}</td></tr>"
    )
    head = "<tr><th scope=col>exit</th><th scope=col>in</th><th scope=col>out</th>"
    head += f"<th scope=col>time, {'measured' if measured else 'estimated'}</th><th scope=col>compute saved</th></tr>"
    st.html(f'<table class="as2-table as2-costs"><thead>{head}</thead><tbody>{body}{total}</tbody></table>')
    if measured:
        st.caption(
            "Times were measured in this run, which dropped nothing. The last line compares with one whole model."
        )
    else:
        st.caption(
            f"This page scores every candidate at every exit, so that the slider can replay the run; that took "
            f"{full.seconds * 1000:,.0f} ms. The times above are estimates: the measured time of each stretch, scaled "
            "by its share of compute. The last line compares with one whole model."
        )


def _bar(share: float) -> str:
    width = max(0.0, min(1.0, share)) * 100
    return f'<span class="as2-bar"><i style="width:{width:.0f}%"></i></span> {share * 100:.0f} %'
