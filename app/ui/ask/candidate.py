"""One candidate in detail: its context, its rank at every exit, and which words of the question it explains."""

import numpy as np
import streamlit as st

from app.ask import asking
from app.ask.asking import AskView
from app.ui.ask.answer import render_context
from app.ui.ask.word_scores import draw_word_scores
from app.ui.text import percent, plain
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error
from as2core.metrics import to_ranks


def list_ranks(run: CascadeTrace, position: int) -> list[tuple[str, int, int]]:
    """The candidate's rank at every exit it reached: (the exit's title, rank, candidates there)."""
    ranks = []
    for e in run.stages:
        if position not in e.alive:
            break
        index = int(np.flatnonzero(e.alive == position)[0])
        ranks.append((e.title, int(to_ranks(e.scores)[index]), len(e.alive)))
    return ranks


def draw_candidate(view: AskView, run: CascadeTrace, position: int, generative: np.ndarray | None) -> None:
    """Everything but the label buttons, which the page draws below it."""
    candidate = view.candidates[position]
    ranks = list_ranks(run, position)
    stayed = len(ranks) == len(run.stages)
    chips = "".join(f"<li><small>{title}</small>{rank}<small> of {of}</small></li>" for title, rank, of in ranks)
    end = f"probability {percent(float(view.probability[position]))}" if stayed else f"dropped after {ranks[-1][0]}"
    if generative is not None and not np.isnan(generative[position]):
        end += f", generative rank {int(to_ranks(generative)[position])} of {int(np.isfinite(generative).sum())}"
    st.html(
        f'{render_context(candidate, quiet=True)}<ol class="as2-way" aria-label="Rank at each exit">{chips}'
        f"<li class=as2-way-end>{end}</li></ol>"
    )


def draw_explanation(wb: Workbench, view: AskView, position: int) -> None:
    """The question's words under the generative ranker; an error is shown in its place, and the page goes on."""
    cache = st.session_state.setdefault("_as2_explained", {})
    key = (view.run_id, position)
    try:
        if key not in cache:
            with st.spinner("Scoring the question's words …"):
                cache[key] = asking.explain(wb, view.question, view.candidates[position])
        draw_word_scores(cache[key])
    except As2Error as error:
        st.caption(plain(f"No word scores: {error}"))
