"""Questions of one's own, a list at a time: stored, ranked in the background, and then offered by the queues."""

from __future__ import annotations

import re

import streamlit as st

from app.components import links
from app.components.errors import guarded
from app.components.roles import barred
from app.components.text import count, plain, shorten
from app.services import Workbench, asking
from app.services.views import AnnotatorView, BroughtView, CorpusView

NAMED = 5  # of those that were there already
_BROUGHT = "_data_brought"
_ITEM = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")  # what a list that is pasted has before each


def draw(wb: Workbench, corpus: CorpusView, annotator: AnnotatorView) -> None:
    st.subheader("Bring questions", anchor=False)
    why = barred(annotator)
    key = f"data_typed_{corpus.id}"
    st.text_area("Questions of your own, one a line", key=key, height=120, disabled=bool(why),
                 placeholder="As people would ask them, or a text file's lines pasted here")  # fmt: skip
    st.button("Add", key="data_typed_add", icon=":material/playlist_add:", disabled=bool(why),
              help=why, on_click=_bring, args=(wb, corpus.id, annotator.id, key))  # fmt: skip
    of, brought = st.session_state.get(_BROUGHT, (None, None))
    if of == corpus.id:
        _told(brought)


def _told(brought: BroughtView) -> None:
    said = [f"{count(brought.added, 'question')} came in."]
    if brought.added:
        said.append("They are being ranked; then Label offers them.")
    if brought.repeated:
        said.append(f"{count(brought.repeated, 'line')} repeated another.")
    if known := brought.known:
        named = "; ".join(plain(shorten(text, 80)) for text in known[:NAMED])
        more = f"; and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
        were = "was" if len(known) == 1 else "were"
        said.append(f"{count(len(known), 'question')} {were} there already: {named}{more}")
    st.info(" ".join(said), icon=":material/playlist_add_check:")
    links.to("label", "Label them")


@guarded
def _bring(wb: Workbench, corpus_id: int, annotator_id: int, key: str) -> None:
    st.session_state.pop(_BROUGHT, None)
    lines = [_ITEM.sub("", line) for line in st.session_state[key].splitlines()]
    brought = asking.bring(wb, corpus_id, lines, by=annotator_id)
    st.session_state[_BROUGHT] = (corpus_id, brought)
    st.session_state[key] = ""
