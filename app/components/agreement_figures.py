"""Agreement in figures: everyone's, pair by pair, over time, by kind of question; the share of correct; the anchoring
meter; second looks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.charts.agreement import over_time
from app.components.errors import guarded
from app.components.text import count, escaped, percent, plain
from app.services import Workbench, adapting, agreement, doubts, shares
from app.services.label_views import AgreementView, AnchoringView, Estimate, SharesView
from app.services.views import CorpusView


def draw(wb: Workbench, corpus: CorpusView) -> None:
    found = _computed(wb, corpus.id)
    if not found.annotators:
        st.info(
            "No pair was judged by two people yet. Under Rules, let every pair be labelled by two or more.",
            icon=":material/group:",
        )
    else:
        _agreement(found)
    _shares(_shares_computed(wb, corpus.id))
    _anchoring(agreement.anchoring(wb, corpus.id))
    _second_looks(wb, corpus)


@st.cache_resource(ttl=60, show_spinner="Resampling questions …")
def _computed(_wb: Workbench, corpus_id: int) -> AgreementView:
    return agreement.agreement(_wb, corpus_id)


@st.cache_resource(ttl=60, show_spinner=False)
def _shares_computed(_wb: Workbench, corpus_id: int) -> SharesView:
    return shares.shares(_wb, corpus_id)


def _agreement(found: AgreementView) -> None:
    st.subheader("Everyone", anchor=False)
    _number("Krippendorff's alpha", found.alpha, f"{count(found.alpha.n, 'pair')} judged by two or more people")
    st.caption(
        "1 is perfect agreement, 0 is what chance gives. Above 0.8 labels are usually called reliable, below 0.67 not. "
        "Unsure counts as missing; the interval (95 %) comes from resampling questions. Computed anew once a minute."
    )
    _table("Two people", "Cohen's kappa", [(f"{a} and {b}", e) for a, b, e in found.kappas])
    st.subheader("Over time", anchor=False)
    points = [(day, e.value, e.low, e.high, e.n) for day, e in found.over_time if e.value is not None]
    if len(points) > 1:
        st.altair_chart(over_time(points), width="stretch",
                        alt="Alpha by the day the second label came; the table below has the numbers")  # fmt: skip
    _table("Day the second label came", "Alpha", list(found.over_time))
    st.subheader("By kind of question", anchor=False)
    _table("Kind", "Alpha", [(kind.replace("-", " "), e) for kind, e in found.per_kind])


def _shares(found: SharesView) -> None:
    st.subheader("Share of correct", anchor=False)
    st.caption(
        "Told from the pairs drawn at random, the random share of the adaptive queues: a fair sample of what is open. "
        "Of a whole list only its first row counts, the one drawn. What a queue chose itself is no sample, and its "
        "share is biased. Interval: Wilson's, 95 %."
    )
    if found.fair.value is None:
        st.info("Not measured yet: no pair that was drawn at random is labelled.", icon=":material/casino:")
    else:
        _number("Share of correct", found.fair, f"{count(found.fair.n, 'pair')} drawn at random")
    if found.chosen:
        _table("Chosen by a queue (biased)", "Correct", list(found.chosen))


def _anchoring(found: AnchoringView) -> None:
    st.subheader("Anchoring", anchor=False)
    st.caption(
        "Part of what is drawn at random is shown without scores. The shift is how much more often labels say what the "
        "model says when its score is on the screen."
    )
    if found.shift.value is None:
        st.info(
            f"Not measured yet: {count(found.shown, 'label')} with scores and {found.blind:,} without, where chance "
            "decided which. They come by themselves with the queue random and the random share of uncertain, disagree, "
            "early and dropped.",
            icon=":material/visibility_off:",
        )
        return
    _number("Shift", found.shift,
            f"{percent(found.agree_shown)} of {count(found.shown, 'label')} given with scores say what the model "
            f"says, {percent(found.agree_blind)} of {found.blind:,} without"
            + ("" if found.shift.low is not None else ": too few to tell"))  # fmt: skip


def _second_looks(wb: Workbench, corpus: CorpusView) -> None:
    st.subheader("Second looks", anchor=False)
    waiting = doubts.waiting(wb, corpus.id)
    st.caption(
        "A model of all the other labels says which ones it would not have given. They wait in the queue Second look: "
        f"{count(waiting, 'label')} now."
    )
    job = adapting.newest_job(wb, "doubt", corpus.id)
    if job is not None and job.error:
        st.warning(plain(job.error), icon=":material/info:")
    running = job is not None and job.active
    if running:
        st.fragment(_wait, run_every=2.0)(wb, job.id)
    st.button("Look for suspicious labels", key="agreement_doubt", icon=":material/troubleshoot:", disabled=running,
              on_click=_start, args=(wb, corpus.id))  # fmt: skip


def _wait(wb: Workbench, job_id: int) -> None:
    job = adapting.job(wb, job_id)
    if not job.active:
        st.rerun()
    st.progress(min(1.0, job.progress), text=plain(job.message or "waiting for the worker"))


@guarded
def _start(wb: Workbench, corpus_id: int) -> None:
    doubts.start_doubting(wb, corpus_id)


def _number(name: str, e: Estimate, about: str) -> None:
    value = "undefined" if e.value is None else f"{e.value:.2f}"
    between = f" <small>95 % interval: {_interval(e)}</small>" if e.low is not None else ""
    st.html(
        f'<div class="as2-figures" data-testid="as2-estimate"><span><small>{escaped(name)}</small>'
        f"<b>{value}</b>{between}</span></div><p>{escaped(about)}.</p>"
    )


def _interval(e: Estimate) -> str:
    return f"{e.low:.2f} to {e.high:.2f}" if e.low is not None else "–"


def _table(first: str, measure: str, rows: list[tuple[str, Estimate]]) -> None:
    st.dataframe(
        pd.DataFrame(
            {
                first: [name for name, _ in rows],
                measure: ["undefined" if e.value is None else f"{e.value:.2f}" for _, e in rows],
                "95 % interval": [_interval(e) for _, e in rows],
                "Pairs": [e.n for _, e in rows],
            }
        ),
        hide_index=True,
        column_config={measure: st.column_config.TextColumn(alignment="right")},
    )
