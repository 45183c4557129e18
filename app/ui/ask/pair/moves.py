"""What moved between the two orders: in numbers, as a picture, and as a table."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from app.ask.pair import MAX_SHOWN_RANK, Move, PairSide, RankMoves, compare_orders
from app.labels.consensus import BINARY
from app.ui.charts.slope import build_move_chart
from app.ui.charts.spec import make_spec
from app.ui.text import escape, format_number, shorten
from as2core.types import CORRECT

MAX_TEXT_CHARS = 110  # of a sentence among the numbers
MAX_CORRECT = 3  # sentences whose ranks are written out


def draw_moves(
    sides: tuple[PairSide, PairSide], ranks: tuple[np.ndarray, np.ndarray], labels: Mapping[int, str]
) -> None:
    """`ranks`, int `(n,)` each, of the candidates that both sides have; `labels` by sentence id."""
    names, candidates = (sides[0].name, sides[1].name), sides[0].view.candidates
    texts = [c.text for c in candidates]
    judgements = [labels.get(c.sentence_id, "") for c in candidates]
    correct = [i for i, label in enumerate(judgements) if label == CORRECT]
    moves = compare_orders(*ranks)
    st.header("What moved", anchor=False)
    st.html(render_moves(moves, texts, [Move(i, int(ranks[0][i]), int(ranks[1][i])) for i in correct]))
    table = pd.DataFrame(
        {
            "candidate": texts,
            "label": [BINARY.get(label) for label in judgements],
            names[0]: ranks[0],
            names[1]: ranks[1],
        }
    )
    st.vega_lite_chart(
        spec=make_spec(build_move_chart, table, names, highest=MAX_SHOWN_RANK),
        width="stretch",
        key="as2_pair_slope",
        alt=f"Ranks of the candidates by {names[0]} at the left and by {names[1]} at the right; correct ones in green",
    )
    with st.expander("As a table", icon=":material/table:", key="as2_pair_table"):
        up = ranks[0] - ranks[1]
        rows = table.assign(label=judgements, up=up)[["candidate", "label", *names, "up"]].sort_values(names[1])
        st.dataframe(
            rows,
            hide_index=True,
            key="as2_pair_ranks",
            column_config={"up": st.column_config.NumberColumn("Up", help="Ranks gained; negative: lost")},
        )


def render_moves(moves: RankMoves, texts: list[str], correct: list[Move]) -> str:
    """Figures, then a line for each sentence that stands out, as HTML."""
    figures = [
        ("First answer", "the same" if moves.is_first_same else "different", "Whether both put one sentence first"),
        (f"In both first {moves.depth}", f"{moves.shared} of {moves.depth}", "Sentences that both rank so high"),
    ]
    if moves.tau is not None:
        about = "Kendall's tau of the two orders: 1 is the same order, 0 is chance, −1 is reversed"
        figures.append(("Agreement of the orders", format_number(moves.tau), about))
    cells = "".join(
        f'<span title="{escape(about)}"><small>{escape(name)}</small><b>{value}</b></span>'
        for name, value, about in figures
    )
    best_first = sorted(correct, key=lambda move: move.after)
    lines = [
        *(("Labelled correct", move) for move in best_first[:MAX_CORRECT]),
        ("Rose most", moves.rise),
        ("Fell most", moves.fall),
    ]
    rows = "".join(_render_line(title, move, texts) for title, move in lines if move is not None)
    more = len(best_first) - MAX_CORRECT
    note = f'<p class="as2-why">{more} more labelled correct are in the table.</p>' if more > 0 else ""
    return f'<div class="as2-figures" data-testid="as2-moves">{cells}</div><ul class="as2-moves">{rows}</ul>{note}'


def _render_line(title: str, move: Move, texts: list[str]) -> str:
    text = escape(shorten(texts[move.position], MAX_TEXT_CHARS))
    return f"<li><b>{title}, {move.before} → {move.after}</b> <span dir=auto>{text}</span></li>"
