"""What to compare: rankers, a labelled set, and which of its questions count."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.components import links, url
from app.components.adapt_words import seconds_in_words
from app.components.compare_sweep import RATIOS, spec
from app.components.errors import guarded
from app.components.text import percent, plain
from app.services import Workbench, comparing
from app.services.views import JobView

FIRST = ("cascade", "bi-encoder", "bm25")  # what a new comparison proposes, where present
SETTINGS = {
    "clean": "Those with correct and incorrect candidates.",
    "no-all-neg": "Those with a correct candidate; where all are correct, every order is right.",
    "raw": "All; a question without a correct candidate counts as 0.",
}


def asked() -> list[str]:
    """The rankers that a link brought in its address."""
    return [name for name in url.get("rankers").split(",") if name]


def draw(wb: Workbench, *, corpus_name: str) -> None:
    """The form; starting puts the job into the address."""
    known, sets = comparing.rankers(wb), comparing.datasets(wb)
    if not sets:
        st.info("There is no labelled set yet. Label some sentences, or import a set under Data.",
                icon=":material/checklist:")  # fmt: skip
        with st.container(horizontal=True):
            links.to("label", "Label")
            links.to("data", "Import a set")
        return
    own = f"labels:{corpus_name}"
    left, right = st.columns([1.4, 1], gap="large")
    with left:
        chosen = st.multiselect(
            "Rankers",
            known,
            default=[n for n in asked() or FIRST if n in known],
            key="compare_rankers",
            accept_new_options=True,
            help="Techniques, and versions made here. Choose two or more. One with settings "
            "can be typed as on the command line: `bm25:k1=1.5`, `sequential:stages=wo@20+cascade`, or "
            "`active:drop_ratio=0.5`; so can the directory that `as2 train` wrote.",
        )
        sweep = st.toggle("Sweep the cascade's drop ratio", key="compare_sweep",
                          help=f"Adds the cascade that answers now, with {', '.join(map(percent, RATIOS))} of the "
                          "candidates dropped at each exit, to see what saving compute costs in accuracy.")  # fmt: skip
    with right:
        st.selectbox("Labelled set", sets, key="compare_data", index=sets.index(own) if own in sets else 0)
        setting = st.selectbox("Questions that count", list(SETTINGS), key="compare_setting")
        st.caption(SETTINGS[setting])
        st.number_input("Questions at most", 0, 100_000, 0, step=50, key="compare_limit",
                        help="0 takes all; fewer is quicker and less certain.")  # fmt: skip
    enough = len(with_sweep(chosen, sweep)) >= 2
    st.button("Compare", type="primary", icon=":material/stacked_line_chart:", key="compare_start", disabled=not enough,
              on_click=_start, args=(wb,))  # fmt: skip
    if not enough:
        st.caption("Choose two rankers or more.")


def with_sweep(chosen: Sequence[str], sweep: bool) -> list[str]:
    """The chosen specs, and the answering cascade's at every ratio of the sweep."""
    return [*chosen, *(spec("active", ratio) for ratio in RATIOS)] if sweep else list(chosen)


@guarded
def _start(wb: Workbench) -> None:
    """Reads the form as it is now: what was chosen just before the click had no run of its own."""
    form = st.session_state
    job = comparing.start_compare(
        wb,
        with_sweep(form["compare_rankers"], form["compare_sweep"]),
        form["compare_data"],
        setting=form["compare_setting"],
        limit=int(form["compare_limit"]) or None,
    )
    url.put(job=job.id, rankers=None)


def draw_earlier(jobs: Sequence[JobView], current: int | None) -> None:
    """Comparisons made before, each a click away."""
    others = [j for j in jobs if j.id != current]
    if not others:
        return
    with st.expander("Earlier comparisons", icon=":material/history:", key="compare_earlier"):
        for job in others:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(plain(title(job)), width="stretch")
                st.caption(f"{job.created:%d %b, %H:%M}")
                st.button("Open", key=f"compare_open_{job.id}", on_click=_open, args=(job.id,))


def title(job: JobView) -> str:
    """`cascade, bm25 on starter-dev (failed)`."""
    names = ", ".join(map(str, job.settings.get("rankers", ())))
    state = "" if job.state == "done" else f" ({job.state})"
    took = ""
    if job.state == "done" and job.started and job.finished:
        took = f", {seconds_in_words((job.finished - job.started).total_seconds())}"
    return f"{names} on {job.settings.get('data', '?')}{took}{state}"


def _open(job_id: int) -> None:
    st.query_params["job"] = str(job_id)
