"""The synonyms of a corpus: what people call a thing, and what the documents call it."""

import streamlit as st

from app.ranking.synonyms import read_prepared, read_synonyms, write_synonyms
from app.ui import navigation
from app.ui.errors import guarded
from app.ui.page import Frame, announce
from app.ui.text import count

_FIRST = "_data_synonyms_first"  # of the session: those that the text was begun with


def draw(frame: Frame) -> None:
    now = read_synonyms(frame.wb, frame.corpus.id)
    why = frame.explain_refusal("change the synonyms")
    st.header("Synonyms", anchor=False)
    st.caption(
        "If people say “whale” and the documents say “VX-90”, write `whale => VX-90`. A question with the word is then "
        "read with its meaning: for search, for every ranker, in training and in comparisons."
    )
    key = f"data_synonyms_{frame.corpus.id}"
    if key not in st.session_state:
        st.session_state[key], st.session_state[_FIRST] = str(now), now
    st.text_area("One per line: word => meaning", key=key, height=320, disabled=bool(why),
                 placeholder="whale => VX-90\nbelly, tummy => outer tub")  # fmt: skip
    with st.container(horizontal=True):
        st.button("Save", key="data_synonyms_save", icon=":material/save:", disabled=bool(why), help=why,
                  on_click=_save, args=(frame, key))  # fmt: skip
        offer = read_prepared(frame.wb, frame.corpus.name)
        if offer and not now:
            st.button(f"Fill in the {count(len(offer.words), 'synonym')} prepared for this corpus",
                      key="data_synonyms_prepared", disabled=bool(why), help=why,
                      on_click=st.session_state.__setitem__, args=(key, str(offer)))  # fmt: skip
    if now:
        navigation.to("ask", "Ask a question")


@guarded
def _save(frame: Frame, key: str) -> None:
    text, before = st.session_state[key], st.session_state[_FIRST]
    new = write_synonyms(frame.wb, frame.corpus.id, text, by=frame.annotator.id, before=before)
    st.session_state[key], st.session_state[_FIRST] = str(new), new
    announce(f"{count(len(new.words), 'synonym')} saved. Questions are read with them from now on.")
