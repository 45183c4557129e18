"""One candidate in detail: its context, its score at every exit beside the one needed to stay, why it was dropped, and
which words of the question it explains."""

import numpy as np
import streamlit as st

from app.ask import explanation
from app.ask.asking import AskView
from app.ui.ask.answer import render_context, render_percent
from app.ui.ask.candidates import SHARE, name_share
from app.ui.ask.drop_reason import Standing, describe_drop, list_standings
from app.ui.ask.score_words import load_attribution
from app.ui.ask.word_scores import draw_word_scores
from app.ui.text import format_number, plain
from app.workbench.workbench import Workbench
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error
from as2core.metrics import to_ranks


def draw_candidate(
    wb: Workbench,
    view: AskView,
    run: CascadeTrace,
    position: int,
    generative: np.ndarray | None,
    *,
    has_context: bool,
    is_pending: bool = False,
) -> None:
    """Why it was dropped, and its context; the page draws the label buttons below it. `is_pending`: the generative
    scores are being computed; their place is held."""
    parts = [describe_drop(view.trace, run, position)]
    if position in run.exits[-1].alive and (share := name_share(view, int(run.ranking()[0]))):
        of = " among the candidates" if share == SHARE else ""
        parts.append(f"{share}{of} {render_percent(float(view.probability[position]))}.")
    if generative is not None and not np.isnan(generative[position]):
        rank, total = int(to_ranks(generative)[position]), int(np.isfinite(generative).sum())
        parts.append(f"Generative rank {rank} of {total}.")
    elif is_pending and position in view.trace.entered:
        parts.append(f"Generative rank … of {len(view.trace.entered)}.")
    if rank := view.candidates[position].document_rank:
        parts.append(f"Document rank {rank} of {max(c.document_rank for c in view.candidates)} in the search.")
    attribution = load_attribution(wb, view, position) if has_context else None
    context = render_context(view.candidates[position], quiet=True, attribution=attribution) if has_context else ""
    st.html(f'<div class="as2-details"><p class="as2-why">{" ".join(parts)}</p>{context}</div>')


def draw_standings(run: CascadeTrace, position: int) -> None:
    st.html(render_standings(list_standings(run, position)))


def render_standings(standings: list[Standing]) -> str:
    """The candidate's rank and score at every stage it reached, beside the last rank that stays and its score."""
    rows = "".join(
        f"<tr{'' if s.stays else ' class=as2-dropped'}><th scope=row>{s.title}</th><td>{s.rank:,} <small>of "
        f"{s.candidates:,}</small></td><td>{s.survivors:,}</td><td>{format_number(s.score)}</td><td>{format_number(s.cut)}</td></tr>"
        for s in standings
    )
    head = "".join(f"<th scope=col>{name}</th>" for name in ("after", "rank", "kept", "score", "score to stay"))
    return f'<table class="as2-table as2-standings"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def draw_explanation(wb: Workbench, view: AskView, position: int, *, is_pending: bool) -> None:
    """The question's words under the generative ranker, once the reader opens them; an error is shown in their place,
    and the page goes on."""
    label = "Which words of the question it explains"
    with st.expander(label, key="as2_question_words", on_change="rerun") as expander:
        if not expander.open:
            return
        if is_pending:
            st.caption("The generative scores are being computed.")
            return
        try:
            with st.spinner("Scoring the question's words …"):
                gains = explanation.compare_words(wb, view, position)
        except As2Error as error:
            st.caption(plain(f"No word scores: {error}"))
        else:
            draw_word_scores(gains, len(view.trace.entered))
