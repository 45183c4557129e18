"""The documents of a corpus, and one of them split into sentences. A link may name a sentence, which is marked and
scrolled to, and the question that it was opened from."""

from itertools import groupby
from pathlib import Path
from typing import Literal

import pandas as pd
import streamlit as st

from app.corpora import documents
from app.corpora.documents import DocumentView, SentenceView
from app.ui import navigation, url
from app.ui.data import document_deletion
from app.ui.landing.shipped import draw_reading
from app.ui.page import Frame
from app.ui.scripts import scroll_to
from app.ui.text import escape, plain, shorten
from as2core.messages import count

MAX_LISTED_DOCUMENTS = 100
MAX_SENTENCES = 300  # drawn at once: a page of a whole book takes long, and its end is out of reach
MAX_NUMBER_DIGITS = 9
MAX_NAME_CHARS = 60
TITLE_WIDTH = 176  # pixels at least: without one, the longest title pushes the other columns out of sight
WINDOW = "_data_window"  # of the session: a place in a document and the sentences drawn around it
_CSS = Path(__file__).with_name("data.css")


def draw(frame: Frame) -> None:
    draw_way_back(frame)
    corpus = frame.corpus
    if not corpus.documents:
        if draw_reading(frame.wb, corpus.name):
            return
        st.info("This corpus has no documents yet. Add some under Corpora.", icon=":material/upload_file:")
        return
    st.html(_CSS)
    if "data_search" not in st.session_state:
        st.session_state["data_search"] = url.get("search")
    search = st.text_input("Search titles and files", key="data_search", placeholder="Part of a title or a file name",
                           icon=":material/search:")  # fmt: skip
    url.put(search=search.strip())
    matches = _list_matches(frame, search.strip())
    if not matches:
        st.info("No document matches. Try a shorter part of its title or file name.", icon=":material/search_off:")
        return
    left, right = st.columns([1.1, 1], gap="large")
    with left:
        is_several = corpus.documents > 1 and document_deletion.choose_several(frame)
        selection = _choose_several(matches) if is_several else []
        document = None if is_several else _choose(matches)
        if len(matches) == MAX_LISTED_DOCUMENTS < corpus.documents:
            st.caption(
                f"Showing the first {MAX_LISTED_DOCUMENTS} of {corpus.documents:,} documents. Search to find others."
            )
        else:
            st.caption(count(len(matches), "document"))
    with right:
        if is_several:
            document_deletion.draw_several(frame, selection, search.strip())
        elif document is None:
            st.info("Choose a document to see how it is split into sentences.", icon=":material/article:")
        else:
            with st.container(horizontal=True, vertical_alignment="top", key="data_document_head"):
                st.html(render_title(document), width="stretch")
                document_deletion.draw_one(frame, document)
            _draw_text(frame, document)
            if not url.get("sentence"):  # on a phone the list fills the screen
                scroll_to(".st-key-data_document_head", str(document.id), block="nearest")


def draw_way_back(frame: Frame) -> None:
    """To the question on Ask that the documents or the synonyms were opened from."""
    address = url.get_present(*navigation.QUESTION)
    if "q" not in address:
        return
    with st.container(key="data_way_back"):  # stays in sight: the page is scrolled to the sentence
        navigation.to("ask", "Back to the question", icon=":material/arrow_back:", corpus=frame.corpus.name, **address)


def _list_matches(frame: Frame, search: str) -> list[DocumentView]:
    """The documents that the search finds; first the one that a link names, if it is not among the first of all."""
    matches = documents.list_documents(frame.wb, frame.corpus.id, search=search, limit=MAX_LISTED_DOCUMENTS)
    name = url.get("doc")
    if search or not name or any(d.external_id == name for d in matches):
        return matches
    document = documents.find_document_by_name(frame.wb, frame.corpus.id, name)
    return matches if document is None else [document, *matches[: MAX_LISTED_DOCUMENTS - 1]]


def _draw_text(frame: Frame, document: DocumentView) -> None:
    number = url.get("sentence")
    mark = int(number) - 1 if number.isascii() and number.isdigit() and len(number) < MAX_NUMBER_DIGITS else None
    sentences = documents.list_sentences(frame.wb, document.id)
    place = (document.id, mark)
    window = _find_window(place, len(sentences))
    before, after = window.start, len(sentences) - window.stop
    if before:
        earlier = (place, max(0, before - MAX_SENTENCES), window.stop)
        st.button(f"Show earlier sentences ({before:,})", key="data_document_earlier", icon=":material/expand_less:",
                  type="tertiary", on_click=_widen, args=earlier)  # fmt: skip
    st.html(render_text(sentences[window.start : window.stop], mark=mark))
    if after:
        st.button(f"Show more ({after:,} left)", key="data_document_more", icon=":material/expand_more:",
                  type="tertiary", on_click=_widen, args=(place, before, window.stop + MAX_SENTENCES))  # fmt: skip
    if mark is not None:
        scroll_to(".as2-doc .here", f"{document.id} {mark}", block="center")


def _find_window(place: tuple[int, int | None], sentences: int) -> range:
    """Which sentences of a document are drawn: `MAX_SENTENCES` around the marked one, or the first, until the reader
    asks for more. `place`: the document's id and the position of the mark."""
    start = max(0, min((place[1] or 0) - MAX_SENTENCES // 2, sentences - MAX_SENTENCES))
    last_place, *bounds = st.session_state.get(WINDOW, (None, 0, 0))
    start, stop = bounds if last_place == place and bounds[0] < sentences else (start, start + MAX_SENTENCES)
    return range(start, min(stop, sentences))


def _widen(place: tuple[int, int | None], start: int, stop: int) -> None:
    st.session_state[WINDOW] = (place, start, stop)


def _choose_several(matches: list[DocumentView]) -> list[DocumentView]:
    return [matches[i] for i in _draw_table(matches, "multi-row", None) if i < len(matches)]


def _choose(matches: list[DocumentView]) -> DocumentView | None:
    start = next((i for i, d in enumerate(matches) if d.external_id == url.get("doc")), None)
    selection = _draw_table(matches, "single-row", start)
    document = matches[selection[0]] if selection and selection[0] < len(matches) else None
    name = document.external_id if document else ""
    if start is None and not name and url.get("doc") and not url.get("search"):
        absent = plain(shorten(url.get("doc"), MAX_NAME_CHARS))
        st.toast(f"There is no document “{absent}” here any more.", icon=":material/link_off:")
    if name != url.get("doc"):
        url.put(doc=name, sentence=None)
    return document


def _draw_table(matches: list[DocumentView], mode: Literal["single-row", "multi-row"], start: int | None) -> list[int]:
    """The rows that are selected; `start` at first."""
    rows = [(d.title or d.external_id, d.source, d.sentences) for d in matches]
    event = st.dataframe(
        pd.DataFrame(rows, columns=["title", "source", "sentences"]),
        hide_index=True, on_select="rerun", selection_mode=mode, height=min(560, 38 + 35 * len(matches)),
        key=f"data_documents_{mode}_{hash(tuple(d.id for d in matches))}",
        selection_default={"selection": {"rows": [start], "columns": [], "cells": []}} if start is not None else None,
        column_config={
            "title": st.column_config.TextColumn("Title", width=TITLE_WIDTH),
            "source": st.column_config.TextColumn("File", width=130),
            "sentences": st.column_config.NumberColumn("Sentences", width=86),
        },
    )  # fmt: skip
    return list(event.selection.rows)


def render_title(document: DocumentView) -> str:
    """The document's title, and below it its name, its file and its size, as HTML."""
    parts = (document.external_id, document.source, count(document.sentences, "sentence"))
    about = " · ".join(escape(part) for part in parts if part)
    title = escape(document.title or document.external_id)
    return f'<div class="as2-doc"><h2 dir="auto">{title}</h2><p class="about">{about}</p></div>'


def render_text(sentences: list[SentenceView], *, mark: int | None = None) -> str:
    """Sentences by paragraph, each underlined and numbered from 1, as HTML. `mark`: the position of the one that is
    marked."""

    def render(s: SentenceView) -> str:
        text = f"<sup>{s.position + 1}</sup>{escape(s.text)}"
        return (
            f'<span class="s here"><mark>{text}</mark></span>'
            if s.position == mark
            else f'<span class="s">{text}</span>'
        )

    runs = [" ".join(map(render, run)) for _, run in groupby(sentences, lambda s: s.paragraph)]
    body = "".join(f'<p dir="auto">{run}</p>' for run in runs)
    return f'<div class="as2-doc">{body}</div>'
