"""The documents of a corpus, and one of them split into sentences. A link may name a sentence, which is marked and
scrolled to, and the question that it was opened from."""

from itertools import groupby
from pathlib import Path

import pandas as pd
import streamlit as st

from app.corpora import documents
from app.corpora.documents import DocumentView, SentenceView
from app.ui import navigation, url
from app.ui.errors import guarded
from app.ui.page import Frame
from app.ui.scripts import scroll_to
from app.ui.text import count, escape, plain

MAX_LISTED = 100
MAX_NUMBER_DIGITS = 9
_CSS = Path(__file__).with_name("data.css")


def draw(frame: Frame) -> None:
    _draw_way_back(frame)
    corpus = frame.corpus
    if not corpus.documents:
        st.info("This corpus has no documents yet. Add some under Corpora.", icon=":material/upload_file:")
        return
    st.html(_CSS)
    if "data_search" not in st.session_state:
        st.session_state["data_search"] = url.get("search")
    search = st.text_input("Search titles", key="data_search", placeholder="Part of a title or an identifier",
                           icon=":material/search:")  # fmt: skip
    url.put(search=search.strip())
    matches = _list_matches(frame, search.strip())
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
            _draw_text(frame, document)
            _draw_delete(frame, document)


def _draw_way_back(frame: Frame) -> None:
    """To the question on Ask that a document was opened from."""
    address = url.get_present(*navigation.QUESTION)
    if "q" not in address:
        return
    with st.container(key="data_way_back"):  # stays in sight: the page is scrolled to the sentence
        navigation.to("ask", "Back to the question", icon=":material/arrow_back:", corpus=frame.corpus.name, **address)


def _list_matches(frame: Frame, search: str) -> list[DocumentView]:
    """The documents that the search finds; first the one that a link names, if it is not among the first of all."""
    matches = documents.list_documents(frame.wb, frame.corpus.id, search=search, limit=MAX_LISTED)
    name = url.get("doc")
    if search or not name or any(d.external_id == name for d in matches):
        return matches
    linked = documents.find_document_by_name(frame.wb, frame.corpus.id, name)
    return matches if linked is None else [linked, *matches[: MAX_LISTED - 1]]


def _draw_text(frame: Frame, document: DocumentView) -> None:
    number = url.get("sentence")
    mark = int(number) - 1 if number.isascii() and number.isdigit() and len(number) < MAX_NUMBER_DIGITS else None
    st.html(render_document(document, documents.list_sentences(frame.wb, document.id), mark=mark))
    if mark is not None:
        scroll_to(".as2-doc .here", f"{document.id} {mark}", block="center")


def _draw_delete(frame: Frame, document: DocumentView) -> None:
    why = frame.explain_refusal("delete documents")
    with st.popover("Delete", type="tertiary", icon=":material/delete:", key="data_document_delete", disabled=bool(why),
                    help=why):  # fmt: skip
        labels = documents.count_labels(frame.wb, document.id)
        name = plain(document.title or document.external_id)
        st.caption(f"{name} will be deleted from the corpus. {_describe_labels(labels)}")
        st.button("Delete this document", key="data_document_gone", on_click=_delete, args=(frame, document, labels))


def _describe_labels(labels: int) -> str:
    """What becomes of a deleted document's labels."""
    if not labels:
        return "None of its sentences is labelled."
    is_one = labels == 1
    start = "Its label stays, and still counts" if is_one else f"Its {labels:,} labels stay, and still count"
    return (
        f"{start} in retrains, comparisons, exports and the number of labels. Ask and Label no longer show "
        f"{'it' if is_one else 'them'}, until you add the document again."
    )


@guarded
def _delete(frame: Frame, document: DocumentView, labels: int) -> None:
    documents.delete_document(frame.wb, document.id, by=frame.annotator.id)
    url.put(doc=None)
    rest = f" Its labels ({labels:,}) stay." if labels else ""
    st.toast(f"{plain(document.title or document.external_id)} was deleted.{rest}", icon=":material/delete:")


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
    name = document.external_id if document else ""
    if name != url.get("doc"):
        url.put(doc=name, sentence=None)
    return document


def render_document(document: DocumentView, sentences: list[SentenceView], *, mark: int | None = None) -> str:
    """The document's sentences by paragraph, each underlined and numbered from 1, as HTML. `mark`: the position of
    the one that is marked."""

    def render(s: SentenceView) -> str:
        text = f"<sup>{s.position + 1}</sup>{escape(s.text)}"
        return (
            f'<span class="s here"><mark>{text}</mark></span>'
            if s.position == mark
            else f'<span class="s">{text}</span>'
        )

    body = "".join("<p>" + " ".join(map(render, run)) + "</p>" for _, run in groupby(sentences, lambda s: s.paragraph))
    parts = (document.external_id, document.source, count(len(sentences), "sentence"))
    about = " · ".join(escape(part) for part in parts if part)
    title = escape(document.title or document.external_id)
    return f'<div class="as2-doc"><h2>{title}</h2><p class="about">{about}</p>{body}</div>'
