"""The cascade picture with the slider that replays it, as a component: it gets the record once a question.

cascade.js       the component: the animation, the slider, the keys, what is under the pointer
picture.js       the drawing
replay.js        the arithmetic of the cascade
save.js          the picture as a file, texts for the clipboard
cascade_state.js what may change: the shares, the chosen candidate, the labels
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.ask.asking import AskView
from app.ranking.retrieval import RetrievedSentence
from app.ui.ask import drops, result
from app.ui.ask.record import Record
from app.ui.scripts import load_script, load_text
from app.ui.text import name_document
from as2core.types import CORRECT

_SEQ = "_as2_drop_seq"  # number of the slider's newest release that arrived
KEY = "as2_cascade"


def draw_cascade(
    view: AskView, record: Record, *, percents: list[int], answer: RetrievedSentence, labels: Mapping[int, str]
) -> None:
    """`answer` is what the page answers, for the clipboard; `labels` by sentence id. A click chooses a candidate."""
    state = {
        "id": record["id"],
        "percents": percents,
        "seq": st.session_state.get(_SEQ, 0),
        "chosen": result.get_selection(),
        "correct": [i for i, c in enumerate(view.candidates) if labels.get(c.sentence_id) == CORRECT],
        "answer": f"“{answer.text}” ({name_document(answer.title, answer.heading)}, sentence {answer.position + 1})",
    }
    script = load_script("ask/replay", "ask/picture", "ask/save", "ask/cascade")
    picture = st.components.v2.component(
        "as2_cascade", js=script, css=load_text("ask/cascade.css"), html=load_text("ask/cascade.html")
    )
    picture(key=KEY, data=record, on_drop_change=_receive_drop, on_pick_change=_receive_pick)
    st.components.v2.component("as2_cascade_state", js=load_script("ask/cascade_state"))(
        key="as2_cascade_state", data=state
    )
    drops.draw_reset(percents)


def _receive_drop() -> None:
    release: Mapping[str, Any] = st.session_state[KEY].drop
    st.session_state[_SEQ] = release["seq"]
    drops.choose_percents([int(p) for p in release["percents"]])


def _receive_pick() -> None:
    result.choose(int(st.session_state[KEY].pick["candidate"]))
