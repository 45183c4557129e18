"""Agreement in figures: everyone's, pair by pair, over time, by kind of question; the share of correct; the anchoring
meter; second looks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.adapt import label_noise
from app.corpora.corpora import CorpusView
from app.jobs import queue
from app.labels import agreement, prevalence
from app.labels.agreement import AgreementView, AnchoringView, Estimate
from app.labels.prevalence import PrevalenceView
from app.labels.strategies import QUEUES
from app.ui.charts.agreement import over_time
from app.ui.errors import guarded
from app.ui.text import count, escaped, percent, plain
from app.workbench.workbench import Workbench


def draw(wb: Workbench, corpus: CorpusView) -> None:
    found = _computed(wb, corpus.id)
    if not found.annotators:
        st.info(
            "No pair was labelled by two people yet. Under Rules, set two or more people per pair.",
            icon=":material/group:",
        )
    else:
        _agreement(found)
    _shares(_shares_computed(wb, corpus.id))
    _anchoring(agreement.measure_anchoring(wb, corpus.id))
    _second_looks(wb, corpus)


@st.cache_resource(ttl=60, show_spinner="Resampling questions …")
def _computed(_wb: Workbench, corpus_id: int) -> AgreementView:
    return agreement.measure_agreement(_wb, corpus_id)


@st.cache_resource(ttl=60, show_spinner=False)
def _shares_computed(_wb: Workbench, corpus_id: int) -> PrevalenceView:
    return prevalence.estimate_prevalence(_wb, corpus_id)


def _agreement(found: AgreementView) -> None:
    st.subheader("Everyone", anchor=False)
    _number("Krippendorff's alpha", found.alpha, f"{count(found.alpha.n, 'pair')} labelled by two or more people")
    st.caption(
        "1 is perfect agreement, 0 is chance level. Labels are usually considered reliable above 0.8 and unreliable "
        "below 0.67. Unsure counts as missing. The 95 % interval is resampled over questions. Updated once a "
        "minute."
    )
    _table("Two people", "Cohen's kappa", [(f"{a} and {b}", e) for a, b, e in found.kappas])
    st.subheader("Over time", anchor=False)
    points = [(day, e.value, e.low, e.high, e.n) for day, e in found.over_time if e.value is not None]
    if len(points) > 1:
        st.altair_chart(over_time(points), width="stretch",
                        alt="Alpha by the day of the second label; the table below has the numbers")  # fmt: skip
    _table("Day of the second label", "Alpha", list(found.over_time))
    st.subheader("By kind of question", anchor=False)
    _table("Kind", "Alpha", [(kind.replace("-", " "), e) for kind, e in found.per_kind])


def _shares(found: PrevalenceView) -> None:
    st.subheader("Share of correct", anchor=False)
    st.caption(
        "Estimated from pairs drawn at random: the queue Random and the random share of the adaptive queues. Of a "
        "whole list only the drawn first row counts. What an adaptive queue chose itself is a biased sample. 95 % "
        "interval by Wilson."
    )
    if found.fair.value is None:
        st.info("Not measured yet: no randomly drawn pair is labelled.", icon=":material/casino:")
    else:
        _number("Share of correct", found.fair, f"{count(found.fair.n, 'pair')} drawn at random")
    if found.chosen:
        _table("Chosen by a queue (biased)", "Correct", [(QUEUES[name].display_name, e) for name, e in found.chosen])


def _anchoring(found: AnchoringView) -> None:
    st.subheader("Anchoring", anchor=False)
    st.caption(
        "A share of the randomly drawn pairs is shown without scores. The shift is how much more often labels agree "
        "with the model when its score is visible."
    )
    if found.shift.value is None or found.agree_shown is None or found.agree_blind is None:
        st.info(
            f"Not measured yet: {count(found.shown, 'label')} with scores and {found.blind:,} without, on randomly "
            "drawn pairs. They come from the queue Random and the random share of the adaptive queues.",
            icon=":material/visibility_off:",
        )
        return
    _number("Shift", found.shift,
            f"{percent(found.agree_shown)} of {count(found.shown, 'label')} with scores agree with the model, "
            f"{percent(found.agree_blind)} of {found.blind:,} without"
            + ("" if found.shift.low is not None else ": too few for an interval"))  # fmt: skip


def _second_looks(wb: Workbench, corpus: CorpusView) -> None:
    st.subheader("Second looks", anchor=False)
    waiting = label_noise.count_second_looks(wb, corpus.id)
    st.caption(
        "A model of all the other labels finds labels that look wrong. Review them in the queue Second look: "
        f"{count(waiting, 'label')} now."
    )
    job = queue.find_newest(wb, "doubt", corpus.id)
    if job is not None and job.error:
        st.warning(plain(job.error), icon=":material/info:")
    running = job is not None and job.active
    if job is not None and running:
        st.fragment(_wait, run_every=2.0)(wb, job.id)
    st.button("Find suspicious labels", key="agreement_doubt", icon=":material/troubleshoot:", disabled=running,
              on_click=_start, args=(wb, corpus.id))  # fmt: skip


def _wait(wb: Workbench, job_id: int) -> None:
    job = queue.load_job(wb, job_id)
    if not job.active:
        st.rerun()
    st.progress(min(1.0, job.progress), text=plain(job.message or "waiting for the worker"))


@guarded
def _start(wb: Workbench, corpus_id: int) -> None:
    label_noise.start_second_looks(wb, corpus_id)


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
