"""Corpora: list, create, delete, add documents, load the starter corpus."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from app.corpora import corpora, documents
from app.corpora.corpora import CorpusView, UnknownCorpus
from app.corpora.documents import IngestView
from app.exchange import starter
from app.ui import navigation, url
from app.ui.data.progress import show_progress
from app.ui.errors import boundary
from app.ui.page import use_corpus
from app.ui.roles import barred
from app.ui.text import count, plain
from app.workbench.people import AnnotatorView
from app.workbench.workbench import Workbench
from as2core.data.documents import SUFFIXES

POLL_SECONDS = 2.0


def draw(wb: Workbench, chosen: CorpusView | None, me: AnnotatorView) -> None:
    _draw_list(wb, chosen, me)
    if chosen is not None:
        _draw_ingest(wb, chosen, me)
    left, right = st.columns(2, gap="large")
    with left:
        _draw_create(wb, me)
    with right:
        _draw_starter(wb)


def _draw_list(wb: Workbench, chosen: CorpusView | None, me: AnnotatorView) -> None:
    listed = corpora.list_corpora(wb)
    if not listed:
        st.info("No corpus yet. Create one below, or load the starter corpus.", icon=":material/folder_open:")
        return
    for corpus in listed:
        with st.container(border=True, gap="xxsmall", key=f"data_corpus_{corpus.id}"):
            _draw_row(wb, corpus, in_use=chosen is not None and corpus.id == chosen.id, admin=me.role == "admin")


def _draw_row(wb: Workbench, corpus: CorpusView, *, in_use: bool, admin: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(corpus.name)}**", width="stretch")
        if in_use:
            st.badge("in use", icon=":material/check:", color="primary")
        else:
            st.button("Use", key=f"data_use_{corpus.id}", on_click=use_corpus, args=(corpus.name,))
        st.button("Delete …", key=f"data_delete_{corpus.id}", type="tertiary", disabled=not admin,
                  help=None if admin else "Only an admin can delete a corpus: everyone's labels are deleted with it",
                  on_click=_open_delete, args=(corpus.id,))  # fmt: skip
    parts = (
        count(corpus.documents, "document"),
        count(corpus.sentences, "sentence"),
        count(corpus.questions, "question"),
        count(corpus.labels, "label"),
        f"created {corpus.created:%d %b %Y}",
    )
    st.caption(" · ".join(parts))
    if corpus.vectors_done < corpus.vectors_total:
        st.fragment(_draw_vectors, run_every=POLL_SECONDS)(wb, corpus.id)


def _draw_vectors(wb: Workbench, corpus_id: int) -> None:
    """The progress of a corpus's vectors; without buttons, because a click in a fragment redraws nothing else."""
    corpus = _find_corpus(wb, corpus_id)
    if corpus is None or corpus.vectors_done >= corpus.vectors_total:
        st.rerun()
    st.progress(
        corpus.vectors_done / corpus.vectors_total,
        text=f"Semantic search: {corpus.vectors_ready} % ready. Until then, search matches words only.",
    )


def _find_corpus(wb: Workbench, corpus_id: int) -> CorpusView | None:
    """None if it was deleted meanwhile."""
    with suppress(UnknownCorpus):
        return corpora.get_corpus(wb, corpus_id)
    return None


def _open_delete(corpus_id: int) -> None:
    st.session_state["_data_deleting"] = corpus_id


def dialogs(wb: Workbench, me: AnnotatorView) -> None:
    """Open the dialog of a clicked button; called once, at the end of the page."""
    corpus_id = st.session_state.get("_data_deleting")
    if corpus_id is not None and (corpus := _find_corpus(wb, corpus_id)) is not None:
        _draw_delete(wb, corpus, me)


def _close() -> None:
    st.session_state.pop("_data_deleting", None)


@st.dialog("Delete corpus", on_dismiss=_close)
def _draw_delete(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    parts = (count(corpus.documents, "document"), count(corpus.questions, "question"), count(corpus.labels, "label"))
    st.markdown(f"This deletes **{plain(corpus.name)}** with {', '.join(parts)}. This cannot be undone.")
    if corpus.labels:
        st.caption("To keep the labels, close this dialog and export them first, under Labels.")
    typed = st.text_input("Type the corpus's name to confirm", key="data_delete_name", placeholder=corpus.name)
    if st.button("Delete permanently", type="primary", key="data_delete_confirm"):
        if typed.strip() != corpus.name:
            st.error("The name does not match. Type it exactly as shown above.", icon=":material/edit:")
            return
        with boundary():
            with st.spinner("Deleting …"):
                corpora.delete_corpus(wb, corpus.id, by=me.id)
            _close()
            if url.get("corpus") == corpus.name:
                url.put(corpus=None)
            st.session_state.pop("_as2_corpus", None)
            st.session_state["_data_toast"] = f"The corpus {corpus.name} was deleted."
            st.rerun()


def _draw_create(wb: Workbench, me: AnnotatorView) -> None:
    why = barred(me, "create corpora")
    st.subheader("New corpus", anchor=False)
    with st.form("data_new", border=False, clear_on_submit=True):
        name = st.text_input("Name", max_chars=60, placeholder="For example: Handbooks", key="data_new_name")
        create = st.form_submit_button("Create", icon=":material/create_new_folder:", disabled=bool(why), help=why)
        if create and name.strip():
            with boundary():
                corpus = corpora.create_corpus(wb, name.strip(), by=me.id)
                use_corpus(corpus.name)
                st.session_state["_data_toast"] = f"The corpus {corpus.name} was created. Add documents to it."
                st.rerun()


def _draw_starter(wb: Workbench) -> None:
    st.subheader("Starter corpus", anchor=False)
    st.caption("Short articles with labelled questions, to try every page. Loading it again restores what is missing.")
    if st.button("Load the starter corpus", icon=":material/restart_alt:", key="data_starter"):
        with boundary(), show_progress("Loading the starter corpus …") as on_progress:
            corpus = starter.ensure_starter(wb, on_progress=on_progress, again=True)
            if corpus is None:
                st.warning("This installation does not include the starter corpus.", icon=":material/info:")
                return
            use_corpus(corpus.name)
            st.session_state["_data_toast"] = f"The corpus {corpus.name} is complete."
            st.rerun()


def _draw_ingest(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    why = barred(me, "add documents")
    st.subheader("Add documents", anchor=False)
    st.caption(f"Files are added to {plain(corpus.name)}. Adding the same document again changes nothing.")
    turn = st.session_state.setdefault("_data_upload_turn", 0)
    files = st.file_uploader(
        "Files", accept_multiple_files=True, type=sorted(s.lstrip(".") for s in SUFFIXES), key=f"data_files_{turn}",
        label_visibility="collapsed",
    )  # fmt: skip
    # keyed by the corpus: if it was deleted meanwhile, a click must not apply to the one shown in its place
    if st.button(
        f"Add {count(len(files), 'file')}" if files else "Choose files first",
        type="primary", disabled=not files or bool(why), icon=":material/upload_file:",
        key=f"data_ingest_{corpus.id}", help=why,
    ):  # fmt: skip
        with boundary(), show_progress(f"Reading {count(len(files), 'file')} …") as on_progress:
            report = documents.ingest(
                wb, corpus.id, [(f.name, f.getvalue()) for f in files], on_progress=on_progress, by=me.id
            )
            st.session_state["_data_report"] = (corpus.name, report)
            st.session_state["_data_upload_turn"] = turn + 1
            st.rerun()
    _draw_report(corpus)


def _draw_report(chosen: CorpusView) -> None:
    if "_data_report" not in st.session_state:
        return
    name, report = st.session_state["_data_report"]
    with st.container(border=True, key="data_report"):
        st.markdown(f"**{plain(describe_ingest(name, report))}**")
        if report.failed:
            files = count(len({f for f, _ in report.failed}), "file")
            st.caption(f"{files} could not be read completely. Everything that could be read was added.")
            st.dataframe(
                {"file": [f for f, _ in report.failed], "reason": [reason for _, reason in report.failed]},
                hide_index=True, key="data_failed",
            )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center"):
            if name == chosen.name:
                navigation.to("ask", "Ask a question")
            else:
                st.button(f"Use {plain(name)}", key="data_report_use", on_click=use_corpus, args=(name,))
            st.button("Dismiss", type="tertiary", on_click=_forget_report, key="data_report_away")


def _forget_report() -> None:
    st.session_state.pop("_data_report", None)


def describe_ingest(name: str, report: IngestView) -> str:
    """One sentence on the result of an ingest."""
    parts = [f"{report.added:,} added", f"{report.updated:,} updated", f"{report.unchanged:,} unchanged"]
    if report.failed:
        parts.append(f"{len({f for f, _ in report.failed}):,} with unreadable parts")
    return f"{name}: {', '.join(parts)}, in {report.seconds:.1f} s. {count(report.sentences, 'new sentence')}."
