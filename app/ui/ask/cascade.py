"""The cascade picture with the slider that replays it, and what each exit cost."""

from collections.abc import Mapping

import streamlit as st

from app.ask import asking
from app.ask.asking import AskView
from app.labels.consensus import CORRECT
from app.ui import errors
from app.ui.ask import drops, result
from app.ui.ask.cost import compute_encoder_saving, draw_costs, draw_saving, draw_times
from app.ui.charts.cascade import cascade_chart, describe_picture, make_picture
from app.ui.charts.cascade_marks import render_legend
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace


def draw_cascade(wb: Workbench, view: AskView, run: CascadeTrace, labels: Mapping[int, str]) -> None:
    """`run` is the view's trace under the schedule chosen; `labels` by sentence id. A click chooses a candidate."""
    st.subheader("Where candidates were dropped", anchor=False)
    picture = make_picture(
        run,
        texts=[c.text for c in view.candidates],
        retrieval_ranks=[c.retrieval_rank for c in view.candidates],
        correct={i for i, c in enumerate(view.candidates) if labels.get(c.sentence_id) == CORRECT},
    )
    st.html(render_legend())
    spec = cascade_chart(picture, chosen=result.get_selection())
    st.vega_lite_chart(
        None, spec, key="as2_cascade", on_select=_choose_point, selection_mode="pick", alt=describe_picture(picture)
    )
    left, right = st.columns([4, 5], gap="large")
    with left:
        drops.draw_controls(tuple(e.layer for e in run.exits))
        draw_saving(run, view.trace)
        _draw_measuring(wb, view, run)
    with right:
        draw_costs(run, view.trace)


def _draw_measuring(wb: Workbench, view: AskView, run: CascadeTrace) -> None:
    """A button that runs this schedule; the result stays beside the slider as long as the schedule does."""
    if not any(len(e.dropped) for e in run.exits):
        return
    cache = st.session_state.setdefault("_as2_measured", {})
    key = (view.run_id, run.schedule.ratios)
    if st.button("Measure the time saved", key="as2_measure", icon=":material/timer:", type="tertiary"):
        with errors.boundary(), st.spinner("Running the cascade with and without dropping …"):
            cache[key] = asking.measure_times(wb, view, run.schedule)
    if key in cache:
        draw_times(cache[key], compute_encoder_saving(run, view.trace))


def _choose_point() -> None:
    points = st.session_state["as2_cascade"].selection.get("pick") or []
    if points:
        result.choose(int(points[0]["cand"]))
