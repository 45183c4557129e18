"""The table of candidates: their rank by each ranker and by both together, their scores, where the rankers disagree."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from app.ask.asking import AskView
from app.ask.together import describe_disagreement, rank_together
from app.ui.text import name_document
from as2core.cascade.trace import CascadeTrace
from as2core.metrics import to_ranks

ROW_PIXELS, HEAD_PIXELS, MAX_TABLE_PIXELS = 36, 40, 388
COLUMNS = ["cascade", "sentence", "probability", "generative", "together", "by exit", "dropped", "label", "differ",
           "document"]  # on a phone the first two are in sight  # fmt: skip
WITH_GENERATIVE = ("generative", "together", "differ")
SHARE, PROBABILITY = "Share", "Probability"


def make_table(
    view: AskView, run: CascadeTrace, generative: np.ndarray | None, labels: Mapping[int, str]
) -> pd.DataFrame:
    """One row a candidate, best first by `run`; `position` is its place in `view.candidates`.

    Columns: position, cascade, generative (ranks; none if not scored), together (the rank by both), differ, sentence,
    document, by exit (logits until it was dropped), dropped (after which exit), probability (if not dropped), label.
    `labels` by sentence id.
    """
    ranks = to_ranks(run.scores())
    scores = np.full(len(ranks), np.nan) if generative is None else generative
    generative_ranks = to_ranks(scores)  # NaN comes last
    both = [] if generative is None else rank_together(run, generative).tolist()
    together = {i: rank for rank, i in enumerate(both, start=1)}
    by_exit: list[list[float]] = [[] for _ in view.candidates]
    for e in run.exits:
        for i, score in zip(e.alive.tolist(), e.scores.tolist(), strict=True):
            by_exit[i].append(round(score, 3))
    dropped = run.dropped_at()
    rows = []
    for i in run.ranking().tolist():
        candidate, rank = view.candidates[i], int(ranks[i])
        generative_rank = None if np.isnan(scores[i]) else int(generative_ranks[i])
        rows.append(
            {
                "position": i,
                "cascade": rank,
                "generative": generative_rank,
                "together": together.get(i),
                "differ": "" if generative_rank is None else describe_disagreement(rank, generative_rank),
                "sentence": candidate.text,
                "document": name_document(candidate.title, candidate.heading),
                "by exit": by_exit[i],
                "dropped": run.stages[dropped[i]].title if dropped[i] >= 0 else "not dropped",
                "probability": None if dropped[i] >= 0 else float(view.probability[i]),
                "label": labels.get(candidate.sentence_id, ""),
            }
        )
    return pd.DataFrame(rows)


def name_share(view: AskView, best: int) -> str:
    """What the percentages of the candidates are called: no candidate is probable where the best, at this position, is
    no answer. "" where the scores are not calibrated."""
    if not view.is_calibrated:
        return ""
    return PROBABILITY if view.is_answer[best] else SHARE


def order_rows(table: pd.DataFrame, positions: Sequence[int]) -> pd.DataFrame:
    """The rows of the candidates in this order; their ranks stay the model's."""
    rows = table.set_index("position", drop=False).loc[list(positions)]
    return rows.reset_index(drop=True)


def fill_columns(table: pd.DataFrame, view: AskView, *, is_pending: bool) -> pd.DataFrame:
    """The table without generative scores, with words in their columns, so that these are there from the start: "…"
    while the scores are computed, else "failed". Empty where no score will be."""
    is_in_cascade = table["position"].isin(view.trace.entered)
    words = np.where(is_in_cascade, "…" if is_pending else "failed", "")
    return table.assign(**dict.fromkeys(WITH_GENERATIVE, words))


def compute_table_height(rows: int) -> int:
    """Pixels: the head and every row; it scrolls from some ten rows on."""
    return min(MAX_TABLE_PIXELS, HEAD_PIXELS + ROW_PIXELS * rows)


def draw_candidates(table: pd.DataFrame, *, position: int | None, choose: Callable[[int], None], share: str) -> None:
    """`choose` gets the position of the candidate whose row is clicked. `share`: what the percentages are called, as
    `name_share` has it."""
    positions = table["position"].tolist()
    key = "as2_candidates"

    def on_select() -> None:
        selected = st.session_state[key]["selection"]["rows"]
        if selected and selected[0] < len(positions):
            choose(positions[selected[0]])

    selection = [positions.index(position)] if position in positions else []
    if key in st.session_state and st.session_state[key]["selection"]["rows"] != selection:
        st.session_state[key] = {"selection": {"rows": selection}}
    hidden = {name for name, has_any in (("label", table["label"].any()), ("probability", share)) if not has_any}
    st.dataframe(
        table.assign(probability=table["probability"].astype(float) * 100),
        key=key,
        hide_index=True,
        placeholder="",
        column_order=[c for c in COLUMNS if c not in hidden],
        height=compute_table_height(len(table)),
        row_height=ROW_PIXELS,
        on_select=on_select,
        selection_mode="single-row",
        selection_default={"selection": {"rows": selection}},
        column_config=_column_config(table, share),
    )


def _column_config(table: pd.DataFrame, share: str) -> dict[str, ColumnConfig]:
    scores = [s for by_exit in table["by exit"] for s in by_exit]
    column = st.column_config
    likelihood = "Rank by how likely the question is, given the sentence"
    both = "Rank by both scores, among the sentences not dropped"
    share_help = "Compares the candidates with each other" if share == SHARE else None
    has_words = pd.api.types.is_string_dtype(table["generative"])
    rank_column = partial(column.TextColumn, alignment="right") if has_words else column.NumberColumn
    return {
        "cascade": column.NumberColumn("Cascade", help="Rank by the cascade", width=70),
        "generative": rank_column("Generative", help=likelihood, width=82),
        "together": rank_column("Together", help=both, width=78),
        "differ": column.TextColumn("Differ", help="Where the two rankers disagree most", width=118),
        "sentence": column.TextColumn("Sentence", width=330),
        "by exit": column.LineChartColumn(
            "Score by exit", y_min=min(scores), y_max=max(scores), width=110, help="Ends where the sentence was dropped"
        ),
        "probability": column.ProgressColumn(
            share, help=share_help, min_value=0, max_value=100, format="%.0f %%", width=104
        ),
        "dropped": column.TextColumn("Dropped after", width=96),
        "label": column.TextColumn("Label", width=84),
        "document": column.TextColumn("Document", width=160),
    }
