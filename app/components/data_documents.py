"""Documents of a corpus, and one of them as the workbench cut it into sentences."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import streamlit as st

from app.components import url
from app.components.errors import guarded
from app.components.roles import barred
from app.components.text import count, escaped, plain
from app.services import Workbench, corpora
from app.services.views import AnnotatorView, CorpusView, DocumentView, SentenceView

LIMIT = 100
_CSS = Path(__file__).with_name("data.css")


def draw(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    if not corpus.documents:
        st.info("This corpus has no documents yet. Bring some in under Corpora.", icon=":material/upload_file:")
        return
    st.html(_CSS)
    if "data_search" not in st.session_state:
        st.session_state["data_search"] = url.get("search")
    search = st.text_input("Search titles", key="data_search", placeholder="part of a title or an identifier",
                           icon=":material/search:")  # fmt: skip
    url.put(search=search.strip())
    found = corpora.list_documents(wb, corpus.id, search=search.strip(), limit=LIMIT)
    if not found:
        st.info("No document has that in its title. Try fewer letters.", icon=":material/search_off:")
        return
    left, right = st.columns([1, 1.35], gap="large")
    with left:
        chosen = _choose(found)
        if len(found) == LIMIT < corpus.documents:
            st.caption(f"The first {LIMIT} are listed of {corpus.documents:,}; search to find others.")
        else:
            st.caption(count(len(found), "document"))
    with right:
        if chosen is None:
            st.info("Choose a document to read how it was cut into sentences.", icon=":material/article:")
        else:
            st.html(as_markup(chosen, corpora.document_sentences(wb, chosen.id)))
            _offer_deleting(wb, chosen, me)


def _offer_deleting(wb: Workbench, document: DocumentView, me: AnnotatorView) -> None:
    why = barred(me, "delete documents")
    with st.popover("Delete", type="tertiary", icon=":material/delete:", key="data_document_delete", disabled=bool(why),
                    help=why):  # fmt: skip
        st.caption(
            f"{plain(document.title or document.external_id)} is taken out of the corpus. Labels of its sentences "
            "stay, out of sight, and are back when it is brought in again."
        )
        st.button("Delete this document", key="data_document_gone", on_click=_delete, args=(wb, document, me.id))


@guarded
def _delete(wb: Workbench, document: DocumentView, by: int) -> None:
    corpora.delete_document(wb, document.id, by=by)
    url.put(doc=None)
    st.toast(f"{plain(document.title or document.external_id)} is deleted.", icon=":material/delete:")


def _choose(found: list[DocumentView]) -> DocumentView | None:
    ids = [d.id for d in found]
    wanted = url.get("doc")
    start = next((i for i, d in enumerate(found) if d.external_id == wanted), None)
    told = st.dataframe(
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
    rows = told["selection"]["rows"]
    chosen = found[rows[0]] if rows and rows[0] < len(found) else None
    url.put(doc=chosen.external_id if chosen else None)
    return chosen


def as_markup(document: DocumentView, sentences: list[SentenceView]) -> str:
    """The document's sentences by paragraph, each underlined on its own and numbered from 1; all text escaped."""
    body = "".join(
        "<p>" + " ".join(_sentence(s) for s in run) + "</p>" for _, run in groupby(sentences, lambda s: s.paragraph)
    )
    about = " · ".join(
        x for x in (escaped(document.external_id), escaped(document.source), count(len(sentences), "sentence")) if x
    )
    title = escaped(document.title or document.external_id)
    return f'<div class="as2-doc"><h3>{title}</h3><p class="about">{about}</p>{body}</div>'


def _sentence(s: SentenceView) -> str:
    return f'<span class="s"><sup>{s.position + 1}</sup>{escaped(s.text)}</span>'
