"""One of the two answers: who gives it, the sentence, the label buttons, and what a cascade dropped."""

import streamlit as st

from app.ask.pair import PairSide
from app.ui.ask.answer import draw_answer
from app.ui.ask.labelling import draw_labels
from app.ui.label.buttons import draw_label_buttons
from app.ui.page import Frame
from app.ui.text import plain
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.messages import count
from as2core.types import CORRECT, INCORRECT


def draw_side(frame: Frame, side: PairSide, run: CascadeTrace, mine: dict[int, str], visible: dict[int, str], *,
              where: str) -> None:  # fmt: skip
    """`mine` and `visible`: sentence id -> label. `where` tells the two apart in widget keys."""
    view, best = side.view, int(run.ranking()[0])
    order = "first" if where == "base" else "second"
    sentence_id = view.candidates[best].sentence_id
    verdict, label = visible.get(sentence_id), mine.get(sentence_id)
    note = f"labelled {verdict}" if verdict in (CORRECT, INCORRECT) else ""
    draw_answer(view, best, name=f"{order}, {side.name}", own_label=note, is_confirmed=verdict == CORRECT)
    draw_label_buttons(frame, view, sentence_id, rank=1, mine=label, where=where)
    draw_labels(frame, view, sentence_id, mine=label, where=where)
    correct = {i for i, c in enumerate(view.candidates) if visible.get(c.sentence_id) == CORRECT}
    lines = [describe_cuts(side.list_cuts(run), correct), *side.notes]
    st.caption(" ".join(plain(line) for line in lines if line))


def describe_cuts(stages: list[ExitRecord], correct: set[int]) -> str:
    """`25 of 100 reach the end: 30 were dropped after layer 2, 21 after layer 3.` Nothing if none was dropped.
    `correct`: positions."""
    if not stages:
        return ""
    first, *others = [f"{len(e.dropped):,} {{}}after {e.title}" for e in stages]
    parts = ", ".join([first.format("were dropped "), *(p.format("") for p in others)])
    text = f"{stages[-1].survivors:,} of {len(stages[0].alive):,} reach the end: {parts}."
    if missing := sum(int(i) in correct for e in stages for i in e.dropped):
        text += f" Among them {count(missing, 'sentence')} labelled correct."
    return text
