"""Data: corpora and their documents, and labels in and out."""

import streamlit as st

from app.components import data_corpora, data_documents, data_labels, data_proposals, url
from app.components.page import page
from app.components.text import plain

state = st.session_state
frame = page("Data", "What you ask about, and what people said about it.", needs_corpus=False)
said = state.pop("_data_said", "")
if said:
    st.toast(plain(said), icon=":material/check:")

VIEWS = {"corpora": "Corpora", "documents": "Documents", "proposals": "Questions", "labels": "Labels"}
if "data_view" not in state:
    state["data_view"] = url.get("view") if url.get("view") in VIEWS else "corpora"
view = st.segmented_control("View", list(VIEWS), key="data_view", required=True, format_func=VIEWS.get,
                            label_visibility="collapsed")  # fmt: skip
url.put(view=None if view == "corpora" else view)
if view != "documents":
    url.put(doc=None, search=None)

if view == "corpora":
    data_corpora.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "documents" and frame.corpus is not None:
    data_documents.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "proposals" and frame.corpus is not None:
    data_proposals.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "labels":
    data_labels.draw(frame.wb, frame.corpus, frame.annotator)
else:
    st.info("There is no corpus yet: make one under Corpora.", icon=":material/folder_open:")
data_corpora.dialogs(frame.wb, frame.annotator)
