"""The documents of a corpus, and one of them split into sentences."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import streamlit as st

from app.corpora import documents
from app.corpora.corpora import CorpusView
from app.corpora.documents import DocumentView, SentenceView
from app.ui import url
from app.ui.errors import guarded
from app.ui.roles import barred
from app.ui.text import count, escaped, plain
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench

MAX_LISTED = 100
_CSS = Path(__file__).with_name("data.css")


def draw(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    if not corpus.documents:
        st.info("This corpus has no documents yet. Add some under Corpora.", icon=":material/upload_file:")
        return
    st.html(_CSS)
    if "data_search" not in st.session_state:
        st.session_state["data_search"] = url.get("search")
    search = st.text_input("Search titles", key="data_search", placeholder="Part of a title or an identifier",
                           icon=":material/search:")  # fmt: skip
    url.put(search=search.strip())
    found = documents.list_documents(wb, corpus.id, search=search.strip(), limit=MAX_LISTED)
    if not found:
        st.info("No document matches. Try a shorter part of its title.", icon=":material/search_off:")
        return
    left, right = st.columns([1, 1.35], gap="large")
    with left:
        chosen = _choose(found)
        if len(found) == MAX_LISTED < corpus.documents:
            st.caption(f"Showing the first {MAX_LISTED} of {corpus.documents:,} documents. Search to find others.")
        else:
            st.caption(count(len(found), "document"))
    with right:
        if chosen is None:
            st.info("Choose a document to see how it is split into sentences.", icon=":material/article:")
        else:
            st.html(render_document(chosen, documents.list_sentences(wb, chosen.id)))
            _draw_delete(wb, chosen, me)


def _draw_delete(wb: Workbench, document: DocumentView, me: AnnotatorView) -> None:
    why = barred(me, "delete documents")
    with st.popover("Delete", type="tertiary", icon=":material/delete:", key="data_document_delete", disabled=bool(why),
                    help=why):  # fmt: skip
        st.caption(
            f"{plain(document.title or document.external_id)} will be deleted from the corpus. Labels of its sentences "
            "are hidden, and return if you add the document again."
        )
        st.button("Delete this document", key="data_document_gone", on_click=_delete, args=(wb, document, me.id))


@guarded
def _delete(wb: Workbench, document: DocumentView, by: int) -> None:
    documents.delete_document(wb, document.id, by=by)
    url.put(doc=None)
    st.toast(f"{plain(document.title or document.external_id)} was deleted.", icon=":material/delete:")


def _choose(found: list[DocumentView]) -> DocumentView | None:
    ids = [d.id for d in found]
    linked = url.get("doc")
    start = next((i for i, d in enumerate(found) if d.external_id == linked), None)
    event = st.dataframe(
        {
            "title": [d.title or d.external_id for d in found],
            "sentences": [d.sentences for d in found],
            "source": [d.source for d in found],
        },
        hide_index=True, on_select="rerun", selection_mode="single-row", height=min(560, 38 + 35 * len(found)),
        key=f"data_documents_{hash(tuple(ids))}",
        selection_default={"selection": {"rows": [start], "columns": [], "cells": []}} if start is not None else None,
        column_config={"sentences": st.column_config.NumberColumn(width="small")},
    )  # fmt: skip
    rows = event["selection"]["rows"]
    chosen = found[rows[0]] if rows and rows[0] < len(found) else None
    url.put(doc=chosen.external_id if chosen else None)
    return chosen


def render_document(document: DocumentView, sentences: list[SentenceView]) -> str:
    """The document's sentences by paragraph, each underlined and numbered from 1, as HTML."""
    body = "".join(
        "<p>" + " ".join(_render_sentence(s) for s in run) + "</p>"
        for _, run in groupby(sentences, lambda s: s.paragraph)
    )
    about = " · ".join(
        x for x in (escaped(document.external_id), escaped(document.source), count(len(sentences), "sentence")) if x
    )
    title = escaped(document.title or document.external_id)
    return f'<div class="as2-doc"><h3>{title}</h3><p class="about">{about}</p>{body}</div>'


def _render_sentence(s: SentenceView) -> str:
    return f'<span class="s"><sup>{s.position + 1}</sup>{escaped(s.text)}</span>'
