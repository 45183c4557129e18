"""Agreement in figures: everyone's, pair by pair, over time, by kind of question; the share of correct; the anchoring
meter; second looks."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.adapt import second_looks
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.labels import agreement, conflicts, consensus, prevalence
from app.labels.agreement import AgreementView, AnchoringView, Estimate
from app.labels.conflicts import ConflictView
from app.labels.prevalence import PrevalenceView
from app.labels.queues import QUEUES
from app.ui.charts.agreement import build_agreement_chart
from app.ui.charts.spec import make_spec
from app.ui.errors import guard
from app.ui.job import WAIT_SECONDS, draw_live, draw_progress
from app.ui.page import Frame
from app.ui.text import escape, format_number, format_percent, plain
from app.workbench.workbench import Workbench
from as2core.messages import count

RELIABLE, UNRELIABLE = 0.8, 0.67  # Krippendorff's alpha: above, and below


def draw(frame: Frame) -> None:
    wb, corpus_id = frame.wb, frame.corpus.id
    mark = consensus.mark_outcomes(wb, corpus_id)
    view = _measure_agreement(wb, corpus_id, mark)
    if view.annotators:
        _draw_summary(view, [c for c in conflicts.list_conflicts(wb, corpus_id, frame.annotator.id) if not c.verdict])
        _draw_agreement(view)
    else:
        st.info(
            "No pair was labelled by two people yet. Under Rules, set two or more people per pair.",
            icon=":material/group:",
        )
    _draw_shares(_estimate_prevalence(wb, corpus_id, mark))
    _draw_anchoring(_measure_anchoring(wb, corpus_id, mark))
    _draw_second_looks(wb, corpus_id, frame.annotator.id)


# `mark` is what the figures are of: older ones would stand beside conflicts that they do not count
@st.cache_resource(ttl=60, show_spinner="Resampling questions …")
def _measure_agreement(_wb: Workbench, corpus_id: int, mark: tuple[object, ...]) -> AgreementView:
    return agreement.measure_agreement(_wb, corpus_id)


@st.cache_resource(ttl=60, show_spinner=False)
def _estimate_prevalence(_wb: Workbench, corpus_id: int, mark: tuple[object, ...]) -> PrevalenceView:
    return prevalence.estimate_prevalence(_wb, corpus_id)


@st.cache_resource(ttl=60, show_spinner=False)
def _measure_anchoring(_wb: Workbench, corpus_id: int, mark: tuple[object, ...]) -> AnchoringView:
    return agreement.measure_anchoring(_wb, corpus_id)


def _draw_summary(view: AgreementView, open_conflicts: Sequence[ConflictView]) -> None:
    """`15 of 18 pairs (83 %) have the same label from all who labelled them`, with the way to the others."""
    alpha, share = view.alpha, format_percent(view.alike / max(1, view.alpha.n))
    text = f"**{view.alike:,} of {count(alpha.n, 'pair')} ({share}) have the same label from all who labelled them.**"
    if alpha.low is None or alpha.high is None or (alpha.low < UNRELIABLE and alpha.high >= RELIABLE):
        text += " That is too few pairs to tell whether the labels are reliable."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(text, width="stretch")
        if open_conflicts:
            st.button(f"Open {count(len(open_conflicts), 'conflict')}", key="agreement_to_conflicts",
                      icon=":material/arrow_forward:", on_click=st.session_state.__setitem__,
                      args=("agreement_view", "conflicts"))  # fmt: skip


def _draw_agreement(view: AgreementView) -> None:
    st.header("Everyone", anchor=False)
    _draw_number("Krippendorff's alpha", view.alpha, f"{count(view.alpha.n, 'pair')} labelled by two or more people")
    st.caption(
        "1 is perfect agreement, 0 is chance level. Labels are usually considered reliable above "
        f"{RELIABLE} and unreliable below {UNRELIABLE}. Unsure counts as missing. The 95 % interval is resampled over "
        "questions."
    )
    _draw_number("Gwet's AC1", view.ac1, "The same pairs")
    st.caption("AC1 stays high where nearly all labels are the same and people agree on them; alpha and kappa do not.")
    _draw_table("Two people", "Cohen's kappa", [(f"{a} and {b}", e) for a, b, e in view.kappas])
    st.header("Over time", anchor=False)
    points = [(day, e.value, e.low, e.high, e.n) for day, e in view.over_time if e.value is not None]
    if len(points) > 1:
        st.vega_lite_chart(
            spec=make_spec(build_agreement_chart, points),
            width="stretch",
            alt="Alpha by the day of the second label; the table below has the numbers",
        )
    _draw_table("Day of the second label", "Alpha", list(view.over_time))
    st.header("By kind of question", anchor=False)
    _draw_table("Kind", "Alpha", [(kind.replace("-", " "), e) for kind, e in view.per_kind])


def _draw_shares(view: PrevalenceView) -> None:
    st.header("Share of correct candidates", anchor=False)
    st.caption(
        "Estimated from pairs drawn at random: the queue Random, and a share of the queues that a ranker fills. Of a "
        "whole list only the first row was drawn, and counts. What a ranker chose is no fair sample. 95 % interval by "
        "Wilson."
    )
    if view.fair.value is None:
        st.info("Not measured yet: no randomly drawn pair is labelled.", icon=":material/casino:")
    else:
        _draw_number("Share of correct candidates", view.fair, f"{count(view.fair.n, 'pair')} drawn at random")
    if view.by_queue:
        rows = [(QUEUES[name].display_name, e) for name, e in view.by_queue]
        _draw_table("Chosen by a queue (biased)", "Correct", rows)


def _draw_anchoring(view: AnchoringView) -> None:
    st.header("Influence of visible ranks", anchor=False)
    st.caption(
        "A share of the randomly drawn pairs is shown without ranks. The shift is how much more often labels "
        "agree with the ranker when its ranks are visible."
    )
    if view.shift.value is None or view.agree_visible is None or view.agree_blind is None:
        st.info(
            f"Not measured yet: {count(view.visible, 'label')} with ranks and {view.blind:,} without, on randomly "
            "drawn pairs. They come from the queue Random, and from a share of the queues that a ranker fills.",
            icon=":material/visibility_off:",
        )
        return
    note = "" if view.shift.low is not None else ": too few for an interval"
    _draw_number(
        "Shift",
        view.shift,
        f"{format_percent(view.agree_visible)} of {count(view.visible, 'label')} with ranks agree with the ranker, "
        f"{format_percent(view.agree_blind)} of {view.blind:,} without{note}",
    )


def _draw_second_looks(wb: Workbench, corpus_id: int, by: int) -> None:
    st.header("Second looks", anchor=False)
    waiting = second_looks.count_second_looks(wb, corpus_id)
    st.caption(
        "A model of all the other labels finds labels that look wrong. Review them in the queue Second look: "
        f"{count(waiting, 'label')} now."
    )
    job = queue.find_newest(wb, JobKind.SECOND_LOOKS, corpus_id)
    if job is not None and job.error:
        st.warning(plain(job.error), icon=":material/info:")
    is_running = job is not None and job.is_active
    if job is not None and is_running:
        draw_live(wb, job, draw_progress, seconds=WAIT_SECONDS)
    st.button("Find suspicious labels", key="agreement_doubt", icon=":material/troubleshoot:", disabled=is_running,
              on_click=guard(second_looks.start_second_looks), args=(wb, corpus_id),
              kwargs={"by": by})  # fmt: skip


def _draw_number(name: str, e: Estimate, about: str) -> None:
    between = f" <small>95 % interval: {_format_interval(e)}</small>" if e.low is not None else ""
    st.html(
        f'<div class="as2-figures" data-testid="as2-estimate"><span><small>{escape(name)}</small>'
        f"<b>{_format_value(e)}</b>{between}</span></div><p>{escape(about)}.</p>"
    )


def _format_value(e: Estimate) -> str:
    return "undefined" if e.value is None else format_number(e.value)


def _format_interval(e: Estimate) -> str:
    return "–" if e.low is None or e.high is None else f"{format_number(e.low)} to {format_number(e.high)}"


def _draw_table(first: str, measure: str, rows: list[tuple[str, Estimate]]) -> None:
    frame = pd.DataFrame(
        [(name, _format_value(e), _format_interval(e), e.n) for name, e in rows],
        columns=[first, measure, "95 % interval", "Pairs"],
    )
    config = {measure: st.column_config.TextColumn(alignment="right")}
    st.dataframe(frame, hide_index=True, column_config=config)
