"""Corpora: what is there, a new one, more documents, the starter again, and deletion by typing the name."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from app.components import links, url
from app.components.data_progress import reporter
from app.components.errors import boundary
from app.components.page import use_corpus
from app.components.roles import barred
from app.components.text import count, plain
from app.services import Workbench, corpora
from app.services.corpora import UnknownCorpus
from app.services.views import AnnotatorView, CorpusView, IngestView
from as2core.data.documents import SUFFIXES

POLL = 2.0  # seconds between looks at the vectors' progress


def draw(wb: Workbench, chosen: CorpusView | None, me: AnnotatorView) -> None:
    _list(wb, chosen, me)
    if chosen is not None:
        _ingest(wb, chosen, me)
    left, right = st.columns(2, gap="large")
    with left:
        _create(wb, me)
    with right:
        _starter(wb)


def _list(wb: Workbench, chosen: CorpusView | None, me: AnnotatorView) -> None:
    known = corpora.list_corpora(wb)
    if not known:
        st.info("No corpus yet: make one below, or load the starter corpus.", icon=":material/folder_open:")
        return
    for corpus in known:
        with st.container(border=True, gap="xxsmall", key=f"data_corpus_{corpus.id}"):
            _row(wb, corpus, in_use=chosen is not None and corpus.id == chosen.id, admin=me.role == "admin")


def _row(wb: Workbench, corpus: CorpusView, *, in_use: bool, admin: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(corpus.name)}**", width="stretch")
        if in_use:
            st.badge("in use", icon=":material/check:", color="primary")
        else:
            st.button("Use", key=f"data_use_{corpus.id}", on_click=use_corpus, args=(corpus.name,))
        st.button("Delete …", key=f"data_delete_{corpus.id}", type="tertiary", disabled=not admin,
                  help=None if admin else "Takes an admin: everybody's labels go along",
                  on_click=_ask_delete, args=(corpus.id,))  # fmt: skip
    parts = (
        count(corpus.documents, "document"),
        count(corpus.sentences, "sentence"),
        count(corpus.questions, "question"),
        count(corpus.labels, "label"),
        f"since {corpus.created:%d %b %Y}",
    )
    st.caption(" · ".join(parts))
    if corpus.vectors_done < corpus.vectors_total:
        st.fragment(_vectors, run_every=POLL)(wb, corpus.id)


def _vectors(wb: Workbench, corpus_id: int) -> None:
    """The progress of one corpus's vectors; without buttons, since a click in a fragment redraws nothing else."""
    corpus = _found(wb, corpus_id)
    if corpus is None or corpus.vectors_done >= corpus.vectors_total:
        st.rerun()
    st.progress(
        corpus.vectors_done / corpus.vectors_total,
        text=f"Search by meaning: {corpus.vectors_ready} % ready. Until then search goes by words.",
    )


def _found(wb: Workbench, corpus_id: int) -> CorpusView | None:
    """None if it was deleted meanwhile."""
    with suppress(UnknownCorpus):
        return corpora.get_corpus(wb, corpus_id)
    return None


def _ask_delete(corpus_id: int) -> None:
    st.session_state["_data_deleting"] = corpus_id


def dialogs(wb: Workbench, me: AnnotatorView) -> None:
    """Open the dialog a click asked for; called once, at the page's end."""
    corpus_id = st.session_state.get("_data_deleting")
    if corpus_id is not None and (corpus := _found(wb, corpus_id)) is not None:
        _delete(wb, corpus, me)


def _close() -> None:
    st.session_state.pop("_data_deleting", None)


@st.dialog("Delete a corpus", on_dismiss=_close)
def _delete(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    parts = (count(corpus.documents, "document"), count(corpus.questions, "question"), count(corpus.labels, "label"))
    st.markdown(f"This deletes **{plain(corpus.name)}** with {', '.join(parts)}. It can't be undone.")
    if corpus.labels:
        st.caption("To keep the labels, close this and export them first (Labels, Export).")
    typed = st.text_input("Type the corpus's name to confirm", key="data_delete_name", placeholder=corpus.name)
    if st.button("Delete for good", type="primary", key="data_delete_confirm"):
        if typed.strip() != corpus.name:
            st.error("That is not its name: type it as it stands above.", icon=":material/edit:")
            return
        with boundary():
            with st.spinner("Deleting …"):
                corpora.delete_corpus(wb, corpus.id, by=me.id)
            _close()
            if url.get("corpus") == corpus.name:
                url.put(corpus=None)
            st.session_state.pop("_as2_corpus", None)
            st.session_state["_data_said"] = f"The corpus {corpus.name} is gone."
            st.rerun()


def _create(wb: Workbench, me: AnnotatorView) -> None:
    why = barred(me, "make corpora")
    st.subheader("A new corpus", anchor=False)
    with st.form("data_new", border=False, clear_on_submit=True):
        name = st.text_input("Name", max_chars=60, placeholder="for example: Handbooks", key="data_new_name")
        create = st.form_submit_button("Create", icon=":material/create_new_folder:", disabled=bool(why), help=why)
        if create and name.strip():
            with boundary():
                made = corpora.create_corpus(wb, name.strip(), by=me.id)
                use_corpus(made.name)
                st.session_state["_data_said"] = f"The corpus {made.name} is ready for documents."
                st.rerun()


def _starter(wb: Workbench) -> None:
    st.subheader("The starter corpus", anchor=False)
    st.caption(
        "Short articles with labelled questions, to try everything at once. Loading it again mends what is gone."
    )
    if st.button("Load the starter corpus", icon=":material/restart_alt:", key="data_starter"):
        with boundary(), reporter("Loading the starter corpus …") as tell:
            made = corpora.ensure_starter(wb, on_progress=tell, again=True)
            if made is None:
                st.warning("This installation came without the starter corpus.", icon=":material/info:")
                return
            use_corpus(made.name)
            st.session_state["_data_said"] = f"The corpus {made.name} is complete."
            st.rerun()


def _ingest(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    why = barred(me, "bring in documents")
    st.subheader("Bring in documents", anchor=False)
    st.caption(f"They go into {plain(corpus.name)}. The same document twice changes nothing.")
    turn = st.session_state.setdefault("_data_upload_turn", 0)
    files = st.file_uploader(
        "Files", accept_multiple_files=True, type=sorted(s.lstrip(".") for s in SUFFIXES), key=f"data_files_{turn}",
        label_visibility="collapsed",
    )  # fmt: skip
    # keyed by the corpus: if it was deleted elsewhere meanwhile, the click must not mean the one shown in its place
    if st.button(
        f"Bring in {count(len(files), 'file')}" if files else "Choose files first",
        type="primary", disabled=not files or bool(why), icon=":material/upload_file:",
        key=f"data_ingest_{corpus.id}", help=why,
    ):  # fmt: skip
        with boundary(), reporter(f"Reading {count(len(files), 'file')} …") as tell:
            report = corpora.ingest(wb, corpus.id, [(f.name, f.getvalue()) for f in files], on_progress=tell, by=me.id)
            st.session_state["_data_report"] = (corpus.name, report)
            st.session_state["_data_upload_turn"] = turn + 1
            st.rerun()
    _report(corpus)


def _report(chosen: CorpusView) -> None:
    told = st.session_state.get("_data_report")
    if told is None:
        return
    name, report = told
    with st.container(border=True, key="data_report"):
        st.markdown(f"**{plain(report_in_words(name, report))}**")
        if report.failed:
            files = count(len({f for f, _ in report.failed}), "file")
            st.caption(f"{files} could not be read, or not every line of it; what could went in.")
            st.dataframe(
                {"file": [f for f, _ in report.failed], "why": [why for _, why in report.failed]},
                hide_index=True, key="data_failed",
            )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center"):
            if name == chosen.name:
                links.to("ask", "Ask about it")
            else:
                st.button(f"Use {plain(name)}", key="data_report_use", on_click=use_corpus, args=(name,))
            st.button("Put the report away", type="tertiary", on_click=_forget_report, key="data_report_away")


def _forget_report() -> None:
    st.session_state.pop("_data_report", None)


def report_in_words(name: str, report: IngestView) -> str:
    """One sentence on what an ingest did."""
    parts = [f"{report.added:,} added", f"{report.updated:,} changed", f"{report.unchanged:,} as before"]
    if report.failed:
        parts.append(f"{len({f for f, _ in report.failed}):,} not readable, or not all of it")
    return f"{name}: {', '.join(parts)}, in {report.seconds:.1f} s. {count(report.sentences, 'new sentence')}."
