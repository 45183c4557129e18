"""Data: corpora, their documents and questions, import and export of labels."""

import streamlit as st

from app.ui import url
from app.ui.data import corpora, documents, labels, proposals
from app.ui.page import page
from app.ui.text import plain

state = st.session_state
frame = page("Data", "Corpora, documents, questions and labels.", needs_corpus=False)
if toast := state.pop("_data_toast", ""):
    st.toast(plain(toast), icon=":material/check:")

VIEWS = {"corpora": "Corpora", "documents": "Documents", "proposals": "Questions", "labels": "Labels"}
if "data_view" not in state:
    state["data_view"] = url.get("view") if url.get("view") in VIEWS else "corpora"
view = st.segmented_control("View", list(VIEWS), key="data_view", required=True, format_func=lambda name: VIEWS[name],
                            label_visibility="collapsed")  # fmt: skip
url.put(view=None if view == "corpora" else view)
if view != "documents":
    url.put(doc=None, search=None)

if view == "corpora":
    corpora.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "documents" and frame.corpus is not None:
    documents.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "proposals" and frame.corpus is not None:
    proposals.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "labels":
    labels.draw(frame.wb, frame.corpus, frame.annotator)
else:
    st.info("There is no corpus yet. Create one under Corpora.", icon=":material/folder_open:")
corpora.dialogs(frame.wb, frame.annotator)
