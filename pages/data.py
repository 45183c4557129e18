"""Data: corpora, their documents and questions, import and export of labels."""

import streamlit as st

from app.ui import url
from app.ui.data import corpora, documents, labels, proposals
from app.ui.page import page

frame = page("Data", "Corpora, documents, questions and labels.", needs_corpus=False)

VIEWS = {"corpora": "Corpora", "documents": "Documents", "proposals": "Questions", "labels": "Labels"}
view = url.choose("data", "view", "View", VIEWS, has_label=False)
if view != "documents":
    url.put(doc=None, search=None)

if view == "corpora":
    corpora.draw(frame)
elif view == "labels":
    labels.draw(frame)
elif frame.corpus is not None:
    (documents if view == "documents" else proposals).draw(frame)
else:
    st.info("There is no corpus yet. Create one under Corpora.", icon=":material/folder_open:")
corpora.dialogs(frame)
