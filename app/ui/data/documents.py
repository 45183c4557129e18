"""The documents of a corpus, and one of them split into sentences."""

from itertools import groupby
from pathlib import Path

import pandas as pd
import streamlit as st

from app.corpora import documents
from app.corpora.documents import DocumentView, SentenceView
from app.ui import url
from app.ui.errors import guarded
from app.ui.page import Frame
from app.ui.text import count, escape, plain

MAX_LISTED = 100
_CSS = Path(__file__).with_name("data.css")


def draw(frame: Frame) -> None:
    wb, corpus = frame.wb, frame.corpus
    if not corpus.documents:
        st.info("This corpus has no documents yet. Add some under Corpora.", icon=":material/upload_file:")
        return
    st.html(_CSS)
    if "data_search" not in st.session_state:
        st.session_state["data_search"] = url.get("search")
    search = st.text_input("Search titles", key="data_search", placeholder="Part of a title or an identifier",
                           icon=":material/search:")  # fmt: skip
    url.put(search=search.strip())
    matches = documents.list_documents(wb, corpus.id, search=search.strip(), limit=MAX_LISTED)
    if not matches:
        st.info("No document matches. Try a shorter part of its title.", icon=":material/search_off:")
        return
    left, right = st.columns([1, 1.35], gap="large")
    with left:
        document = _choose(matches)
        if len(matches) == MAX_LISTED < corpus.documents:
            st.caption(f"Showing the first {MAX_LISTED} of {corpus.documents:,} documents. Search to find others.")
        else:
            st.caption(count(len(matches), "document"))
    with right:
        if document is None:
            st.info("Choose a document to see how it is split into sentences.", icon=":material/article:")
        else:
            st.html(render_document(document, documents.list_sentences(wb, document.id)))
            _draw_delete(frame, document)


def _draw_delete(frame: Frame, document: DocumentView) -> None:
    why = frame.explain_refusal("delete documents")
    with st.popover("Delete", type="tertiary", icon=":material/delete:", key="data_document_delete", disabled=bool(why),
                    help=why):  # fmt: skip
        st.caption(
            f"{plain(document.title or document.external_id)} will be deleted from the corpus. Labels of its sentences "
            "are hidden, and return if you add the document again."
        )
        st.button("Delete this document", key="data_document_gone", on_click=_delete, args=(frame, document))


@guarded
def _delete(frame: Frame, document: DocumentView) -> None:
    documents.delete_document(frame.wb, document.id, by=frame.annotator.id)
    url.put(doc=None)
    st.toast(f"{plain(document.title or document.external_id)} was deleted.", icon=":material/delete:")


def _choose(matches: list[DocumentView]) -> DocumentView | None:
    start = next((i for i, d in enumerate(matches) if d.external_id == url.get("doc")), None)
    rows = [(d.title or d.external_id, d.sentences, d.source) for d in matches]
    event = st.dataframe(
        pd.DataFrame(rows, columns=["title", "sentences", "source"]),
        hide_index=True, on_select="rerun", selection_mode="single-row", height=min(560, 38 + 35 * len(matches)),
        key=f"data_documents_{hash(tuple(d.id for d in matches))}",
        selection_default={"selection": {"rows": [start], "columns": [], "cells": []}} if start is not None else None,
        column_config={"sentences": st.column_config.NumberColumn(width="small")},
    )  # fmt: skip
    selection = event["selection"]["rows"]
    document = matches[selection[0]] if selection and selection[0] < len(matches) else None
    url.put(doc=document.external_id if document else None)
    return document


def render_document(document: DocumentView, sentences: list[SentenceView]) -> str:
    """The document's sentences by paragraph, each underlined and numbered from 1, as HTML."""
    body = "".join(
        "<p>" + " ".join(f'<span class="s"><sup>{s.position + 1}</sup>{escape(s.text)}</span>' for s in run) + "</p>"
        for _, run in groupby(sentences, lambda s: s.paragraph)
    )
    parts = (document.external_id, document.source, count(len(sentences), "sentence"))
    about = " · ".join(escape(part) for part in parts if part)
    title = escape(document.title or document.external_id)
    return f'<div class="as2-doc"><h2>{title}</h2><p class="about">{about}</p>{body}</div>'
