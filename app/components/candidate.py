"""One candidate from near: its context, its way through the exits, and what it explains."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app.components.answer import in_context
from app.components.candidates import places
from app.components.heat import draw_heat
from app.components.text import percent, plain
from app.services import asking
from app.services.views import AskView
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error
from as2core.rankers.base import order


def way(run: CascadeTrace, position: int) -> list[tuple[str, int, int]]:
    """Where a candidate stood at every exit it reached: (the exit's title, rank, how many were there)."""
    out = []
    for e in run.stages:
        found = np.flatnonzero(e.alive == position)
        if not len(found):
            break
        rank = int(np.flatnonzero(order(e.scores) == found[0])[0]) + 1
        out.append((e.title, rank, len(e.alive)))
    return out


def draw_candidate(asked: AskView, run: CascadeTrace, position: int, generative: np.ndarray | None) -> None:
    """Everything but the label buttons, which the page puts under it."""
    candidate = asked.candidates[position]
    steps = way(run, position)
    stayed = len(steps) == len(run.stages)
    chips = "".join(f"<li><small>{title}</small>{rank}<small> of {of}</small></li>" for title, rank, of in steps)
    end = f"probability {percent(float(asked.probability[position]))}" if stayed else f"dropped after {steps[-1][0]}"
    if generative is not None and not np.isnan(generative[position]):
        read = int(np.isfinite(generative).sum())
        end += f", generative rank {int(places(order(generative))[position])} of {read}"
    st.html(
        f'{in_context(candidate, quiet=True)}<ol class="as2-way" aria-label="Rank at each exit">{chips}'
        f"<li class=as2-way-end>{end}</li></ol>"
    )


def draw_explained(wb: object, asked: AskView, position: int) -> None:
    """The question's words under the generative ranker; a failure is said in its place and costs nothing else."""
    known = st.session_state.setdefault("_as2_explained", {})
    at = (asked.run_id, position)
    try:
        if at not in known:
            with st.spinner("Reading the question against this sentence …"):
                known[at] = asking.explain(wb, asked.question, asked.candidates[position])
        draw_heat(known[at])
    except As2Error as error:
        st.caption(plain(f"No word scores: {error}"))
