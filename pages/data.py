"""Data: corpora, their documents and questions, import and export of labels."""

import streamlit as st

from app.ui import navigation, url
from app.ui.data import (
    corpora,
    document_deletion,
    documents,
    label_list,
    proposals,
    question_list,
    questions,
    synonyms,
)
from app.ui.data.exchange import labels
from app.ui.page import draw_missing, open_page

frame = open_page("Data", "Corpora, documents, questions and labels.", needs_corpus=False)

VIEWS = {"corpora": "Corpora", "documents": "Documents", "synonyms": "Synonyms", "questions": "Questions",
         "proposals": "Proposed questions", "list": "Labels", "labels": "Import and export"}  # fmt: skip
CORPUS_VIEWS = {"documents": documents, "synonyms": synonyms, "questions": questions, "proposals": proposals,
                "list": label_list}  # fmt: skip
view = url.choose("data", "view", "View", VIEWS, has_label=False)
if view != "documents":
    url.put(doc=None, search=None, sentence=None)
if view not in ("documents", "synonyms"):
    url.put(**dict.fromkeys(navigation.QUESTION))

if frame.missing:
    draw_missing(frame)
    if view != "corpora":  # what is typed or chosen there was meant for the one that is missing
        st.stop()
if view == "corpora":
    corpora.draw(frame)
elif view == "labels":
    labels.draw(frame)
elif frame.corpus is not None:
    CORPUS_VIEWS[view].draw(frame)
else:
    st.info("There is no corpus yet. Create one under Corpora.", icon=":material/folder_open:")
corpora.draw_dialogs(frame)
document_deletion.draw_dialog(frame)
question_list.draw_dialog(frame)
label_list.draw_dialog(frame)
