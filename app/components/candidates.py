"""The table of candidates: where each ranker and both together put them, how their score went, where they disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import streamlit as st

from app.services.views import AskView
from as2core.cascade.trace import CascadeTrace
from as2core.rankers.base import order
from as2core.rankers.fusion import paired

FAR = 4.0  # ranks this many times apart, one of them near the top, count as disagreement
NEAR_TOP = 10
ROW, HEAD = 36, 40  # pixels


def places(best_first: np.ndarray) -> np.ndarray:
    """Ranks from an order: `best_first[0]` gets 1. int `(n,)` -> int `(n,)`."""
    return 1 + np.argsort(best_first)


def disagreement(discriminative: int, generative: int) -> str:
    """Who puts a candidate much higher, or nothing: one has it in the first ten, the other four times as far down."""
    high, low = sorted((discriminative, generative))
    if high > NEAR_TOP or low < FAR * high or low - high < 3:
        return ""
    return "cascade higher" if discriminative < generative else "generative higher"


def together(run: CascadeTrace, generative: np.ndarray) -> np.ndarray:
    """Those who stayed to the end and were read by both rankers, best first by what the two say together;
    docs/results.md measures it where nobody is dropped. float `(n,)`, NaN unread -> positions, int `(m,)`."""
    last = run.exits[-1]
    theirs = generative[last.alive]
    read = np.isfinite(theirs)
    return last.alive[read][order(paired(last.scores[read], theirs[read]))]


def candidate_table(
    asked: AskView, run: CascadeTrace, generative: np.ndarray | None, labels: Mapping[int, str]
) -> pd.DataFrame:
    """One row a candidate, best first by `run`; `position` is its place in `asked.candidates`.

    Columns: position, cascade, generative (ranks; none for a sentence it did not read), together (the rank by both),
    differ, sentence, document, by exit (logits up to where it was dropped), left, probability (of those who stayed to
    the end), label. `labels` by sentence id.
    """
    best_first = run.ranking()
    discriminative = places(best_first)
    other = None if generative is None else places(order(generative))  # NaN comes last
    both = {} if generative is None else {int(i): rank for rank, i in enumerate(together(run, generative), start=1)}
    lines: list[list[float]] = [[] for _ in asked.candidates]
    for e in run.exits:
        for i, score in zip(e.alive.tolist(), e.scores.tolist(), strict=True):
            lines[i].append(round(score, 3))
    dropped = run.dropped_at()
    rows = []
    for i in best_first.tolist():
        c = asked.candidates[i]
        rows.append(
            {
                "position": i,
                "cascade": int(discriminative[i]),
                "generative": (theirs := None if other is None or np.isnan(generative[i]) else int(other[i])),
                "together": both.get(i),
                "differ": "" if theirs is None else disagreement(int(discriminative[i]), theirs),
                "sentence": c.text,
                "document": c.title,
                "by exit": lines[i],
                "left": run.stages[dropped[i]].title if dropped[i] >= 0 else "stayed",
                "probability": None if dropped[i] >= 0 else float(asked.probability[i]),
                "label": labels.get(c.sentence_id, ""),
            }
        )
    return pd.DataFrame(rows)


def table_height(rows: int) -> int:
    """Pixels: the head and every row, scrolling after some ten."""
    return min(388, HEAD + ROW * rows)


def draw_candidates(table: pd.DataFrame, *, chosen: int | None, choose: Callable[[int], None]) -> None:
    """Draw it; `choose` gets the position of the candidate whose row was taken."""
    scores = [s for line in table["by exit"] for s in line]
    rows = table["position"].tolist()
    key = "as2_candidates"

    def taken() -> None:
        selected = st.session_state[key]["selection"]["rows"]
        if selected and selected[0] < len(rows):
            choose(rows[selected[0]])

    wanted = [rows.index(chosen)] if chosen in rows else []
    if key in st.session_state and st.session_state[key]["selection"]["rows"] != wanted:
        st.session_state[key] = {"selection": {"rows": wanted}}
    shown = ["cascade", "generative", "together", "sentence", "differ", "by exit", "probability", "left", "label",
             "document"]  # fmt: skip
    if table["generative"].isna().all():
        shown = [c for c in shown if c not in ("generative", "together", "differ")]
    if not table["label"].any():
        shown.remove("label")
    st.dataframe(
        table.assign(probability=table["probability"].astype(float) * 100),
        key=key,
        hide_index=True,
        placeholder="",
        column_order=shown,
        height=table_height(len(table)),
        row_height=ROW,
        on_select=taken,
        selection_mode="single-row",
        selection_default={"selection": {"rows": wanted}},
        column_config={
            "cascade": st.column_config.NumberColumn("Cascade", help="Rank by the cascade", width=70),
            "generative": st.column_config.NumberColumn(
                "Generative", help="Rank by how well the sentence explains the question", width=82
            ),
            "together": st.column_config.NumberColumn(
                "Together", help="Rank by both rankers' scores, of the sentences that stayed to the end", width=78
            ),
            "differ": st.column_config.TextColumn("Differ", help="Where the two rankers disagree most", width=118),
            "sentence": st.column_config.TextColumn("Sentence", width=350),
            "by exit": st.column_config.LineChartColumn(
                "Score by exit", y_min=min(scores), y_max=max(scores), width=110, help="Ends where it was dropped"
            ),
            "probability": st.column_config.ProgressColumn(
                "Probability", min_value=0, max_value=100, format="%.0f %%", width=110
            ),
            "left": st.column_config.TextColumn("Dropped after", width=96),
            "label": st.column_config.TextColumn("Label", width=84),
            "document": st.column_config.TextColumn("Document", width=160),
        },
    )
