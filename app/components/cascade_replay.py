"""The cascade picture with the slider that replays it, and what each exit cost."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from app.charts.cascade import cascade_chart, describe, picture
from app.charts.cascade_marks import legend_html
from app.components import asked, drops, errors
from app.components.cost import draw_costs, draw_measured, draw_saved, spared
from app.services import asking
from app.services.views import CORRECT, AskView
from app.services.workbench import Workbench
from as2core.cascade.trace import CascadeTrace


def draw_cascade(wb: Workbench, view: AskView, run: CascadeTrace, labels: Mapping[int, str]) -> None:
    """`run` is the view's trace under the schedule chosen; `labels` by sentence id. A click chooses a candidate."""
    st.subheader("Where candidates left the cascade", anchor=False)
    drawn = picture(
        run,
        texts=[c.text for c in view.candidates],
        retrieval_ranks=[c.retrieval_rank for c in view.candidates],
        correct={i for i, c in enumerate(view.candidates) if labels.get(c.sentence_id) == CORRECT},
    )
    st.html(legend_html())
    spec = cascade_chart(drawn, chosen=asked.chosen())
    st.vega_lite_chart(None, spec, key="as2_cascade", on_select=_picked, selection_mode="pick", alt=describe(drawn))
    left, right = st.columns([4, 5], gap="large")
    with left:
        drops.controls(tuple(e.layer for e in run.exits))
        draw_saved(run, view.trace)
        _measure(wb, view, run)
    with right:
        draw_costs(run, view.trace)


def _measure(wb: Workbench, view: AskView, run: CascadeTrace) -> None:
    """A button that runs this schedule for real; what came of it stays beside the slider while the schedule does."""
    if not any(len(e.dropped) for e in run.exits):
        return
    known = st.session_state.setdefault("_as2_measured", {})
    at = (view.run_id, run.schedule.ratios)
    if st.button("Measure the time saved", key="as2_measure", icon=":material/timer:", type="tertiary"):
        with errors.boundary(), st.spinner("Running the cascade with and without dropping …"):
            known[at] = asking.measure(wb, view, run.schedule)
    if at in known:
        draw_measured(known[at], spared(run, view.trace))


def _picked() -> None:
    points = st.session_state["as2_cascade"].selection.get("pick") or []
    if points:
        asked.choose(int(points[0]["cand"]))
