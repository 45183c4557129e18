"""What each exit cost and saved, as a table."""

from dataclasses import dataclass

import streamlit as st

from app.ask import asking
from app.ask.asking import AskView, MeasuredTimes
from app.ui import errors
from app.ui.text import format_percent
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.cost import head_flops, layer_flops
from as2core.messages import count

CLASSIFIER_NOTE = " It took more, because it has a classifier at every exit."
_REQUESTED_TIMES = "_as2_requested_times"
RESCORING_NOTE = " The last exit scores the first places a second time, in float32; that lowers its saving."


def compute_saving(run: CascadeTrace) -> float:
    """The share of one whole model's compute, for the candidates that entered, that the drops saved; below 0 if the run
    took more. This is what "compute saved" means on every page; the first stage's saving is apart."""
    return 1.0 - run.cascade_cost


@dataclass(frozen=True, slots=True)
class CostRow:
    """A stage. `saved`: the share of what its layers cost with everyone who entered the encoder; None for a first
    stage."""

    title: str
    candidates: int
    survivors: int
    ms: float
    saved: float | None


def list_costs(run: CascadeTrace) -> list[CostRow]:
    rows, below, lengths = [], 0, run.lengths[run.entered]
    for e in run.stages:
        whole = (e.layer - below) * layer_flops(lengths, run.shape) + head_flops(len(lengths), run.shape)
        saved = None if e is run.first else 1 - e.flops / whole if whole else 0.0
        rows.append(CostRow(e.title, len(e.alive), e.survivors, e.seconds * 1000, saved))
        below = e.layer
    return rows


def draw_times(times: MeasuredTimes, saving: float) -> None:
    """The time that dropping saved, beside the share of the compute (`compute_saving`)."""
    share = 1 - times.dropping / times.full if times.full else 0.0
    st.html(
        f'<p class="as2-note">Measured: {times.full * 1000:,.0f} ms without dropping, {times.dropping * 1000:,.0f} ms '
        f"with it. <b>{share * 100:.0f} %</b> of the time saved, for {describe_share(saving)} of the compute.</p>"
    )


def draw_costs(run: CascadeTrace, full: CascadeTrace) -> None:
    """`run` is `full` (measured, nothing dropped) under the chosen schedule."""
    is_measured = not any(len(e.dropped) for e in run.exits)
    run = full if is_measured else run
    rows = list_costs(run)
    body = "".join(
        f"<tr><th scope=row>{r.title}</th><td>{r.candidates:,}</td><td>{r.survivors:,}</td>"
        f"<td>{r.ms:,.0f} ms</td><td>{'' if r.saved is None else _render_bar(r.saved)}</td></tr>"
        for r in rows
    )
    total = (
        f"<tr class=as2-total><th scope=row>all</th><td>{rows[0].candidates:,}</td><td>{rows[-1].survivors:,}</td>"
        f"<td>{run.seconds * 1000:,.0f} ms</td><td>{_render_bar(compute_saving(run))}</td></tr>"
    )
    time = f"time, {'measured' if is_measured else 'estimated'}"
    head = "".join(f"<th scope=col>{name}</th>" for name in ("exit", "sentences", "kept", time, "compute saved"))
    st.html(f'<table class="as2-table as2-costs"><thead><tr>{head}</tr></thead><tbody>{body}{total}</tbody></table>')
    number = len(run.entered)
    note = f"Savings are relative to one whole model that reads the {count(number, 'sentence')} of the cascade."
    if run.first is not None:
        note += f" The {run.first.title} spared it the other {run.candidates - number:,}; that is not counted here."
    note += CLASSIFIER_NOTE if compute_saving(run) <= -0.005 else ""
    note += RESCORING_NOTE if len(run.exits[-1].again) else ""
    if is_measured:
        st.caption(f"Times are measured in this run, which dropped nothing. {note}")
    else:
        st.caption(
            "So that the slider can show any share, this page scores all sentences of the cascade at every exit. That "
            f"took {full.seconds * 1000:,.0f} ms. The times above are estimates: the measured time of each exit, "
            f"scaled by its share of the compute. {note}"
        )


def _render_bar(share: float) -> str:
    width = max(0.0, min(1.0, share)) * 100
    return f'<span class="as2-bar"><i style="width:{width:.0f}%"></i></span> {describe_share(share)}'


def describe_share(share: float) -> str:
    """`30 %`; `1 % more` for a run that took more than the full model, because of its classifiers and its rescoring."""
    return f"{-share * 100:.0f} % more" if share <= -0.005 else format_percent(max(0.0, share))


def draw_measuring(wb: Workbench, view: AskView, run: CascadeTrace) -> None:
    """A button that runs this schedule; the result stays below it as long as the schedule does."""
    if not any(len(e.dropped) for e in run.exits):
        return
    cache = st.session_state.setdefault("_as2_measured", {})
    key = (view.question_id, view.version, run.schedule.ratios)
    st.button(
        "Measure the time saved", key="as2_measure", icon=":material/timer:", type="tertiary",
        on_click=_request_times, args=(key,),
    )  # fmt: skip
    if st.session_state.get(_REQUESTED_TIMES) == key:
        with errors.catch_errors(), st.spinner("Running the cascade with and without dropping …"):
            try:
                cache[key] = asking.measure_times(wb, view, run.schedule)
            finally:
                del st.session_state[_REQUESTED_TIMES]
    if key in cache:
        draw_times(cache[key], compute_saving(run))


def _request_times(key: tuple) -> None:
    """Remember the click: a run that another one overtakes forgets it before it is here."""
    st.session_state[_REQUESTED_TIMES] = key
