"""Export of labels, beside their import."""

import re
from functools import partial

import streamlit as st

from app.corpora.synonyms import read_synonyms
from app.exchange import exports
from app.ui import signin
from app.ui.data import label_import
from app.ui.data.label_import import NAMES
from app.ui.page import Frame
from app.ui.text import capitalize, count, plain
from app.versions import registry
from app.workbench import sessions
from app.workbench.sessions import Login
from as2core.data.spreadsheet import mark_utf_8

SUFFIXES = {"jsonl": ".jsonl", "csv": ".csv", "qrels": ".qrels", "run": ".run", "wikiqa": ".tsv", "beir": ".beir.zip",
           "table": ".table.csv", "pairs": ".pairs.jsonl", "triplets": ".triplets.jsonl"}  # fmt: skip
FOR_SPREADSHEETS = ("csv", "table")
RUN, RUN_FILE = "run", "_data_run"  # the format; its file in the session


def draw(frame: Frame) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        label_import.draw(frame)
    with right:
        _draw_export(frame)


def _draw_export(frame: Frame) -> None:
    corpus = frame.corpus
    st.header("Export", anchor=False)
    if corpus is None or not corpus.labels:
        st.info("There are no labels to export yet. Label sentences, or import a set.", icon=":material/checklist:")
        return
    st.caption(f"The current labels of {plain(corpus.name)}: {count(corpus.labels, 'labelled pair')}.")
    st.caption("JSONL keeps every label with its annotator, the verdicts on conflicts, and which questions are for "
               "training, validation and test; importing it again changes nothing, but takes an admin where others "
               "gave labels or verdicts. Flags, times and removals from the "
               "label queue are only in a backup. The other formats have one label per sentence: they omit unsure "
               "and evenly disputed labels.")  # fmt: skip
    if not frame.is_admin:
        st.caption("Not exported: others' labels of pairs that still wait for yours.")
    missing = exports.find_missing(frame.wb, corpus.id)
    login = _read_login()
    for fmt, about in exports.FORMATS.items():
        with st.container(gap="xxsmall", key=f"data_export_of_{fmt}"):  # nearer to each other than to the next
            if fmt == RUN:
                _draw_run_export(frame)
                st.caption(f"{capitalize(about)}. Takes a while.")
                continue
            st.download_button(
                NAMES.get(fmt, fmt),
                partial(_export, frame, fmt, login),  # called for a click
                file_name=_to_file_name(corpus.name, fmt),
                mime="application/octet-stream",
                icon=":material/download:",
                key=f"data_export_{fmt}",
                on_click="ignore",
                disabled=fmt in missing,
                width="stretch",
            )
            st.caption(f"{capitalize(about)}. {missing.get(fmt, '')}")


def _read_login() -> Login | None:
    """Of whoever is at the page; None where no log-in is configured."""
    return Login.from_claims(signin.read_claims()) if signin.has_provider() else None


def _export(frame: Frame, fmt: str, login: Login | None) -> bytes:
    """For a click, which Streamlit serves without a run of the page and without its session: `login` is that of the run
    that drew the button. Raises SessionEnded, NotAllowed."""
    if login is not None:
        sessions.admit(frame.wb, login)
    content = exports.export_labels(frame.wb, frame.corpus.id, fmt, by=frame.annotator.id)
    return mark_utf_8(content) if fmt in FOR_SPREADSHEETS else content


def _draw_run_export(frame: Frame) -> None:
    """A run file ranks every labelled question with the model in use, which takes a while: it is made on request."""
    corpus = frame.corpus
    key, file = st.session_state.get(RUN_FILE, (None, b""))
    synonyms = str(read_synonyms(frame.wb, corpus.id))
    current = (corpus.id, corpus.labels, registry.get_active(frame.wb).name, frame.annotator.id, synonyms)
    if key != current:
        if st.button("Make a run file", key="data_make_run", icon=":material/sort:", width="stretch"):
            ranking = f"Ranking {count(corpus.questions, 'question')} with the model in use …"
            with st.spinner(ranking, show_time=True):
                st.session_state[RUN_FILE] = (current, _export(frame, RUN, _read_login()))
            st.rerun()
        return
    st.download_button(
        "Run file", file, file_name=_to_file_name(corpus.name, RUN), mime="application/octet-stream",
        icon=":material/download:", key="data_export_run", on_click="ignore", width="stretch", type="primary",
    )  # fmt: skip


def _to_file_name(corpus: str, fmt: str) -> str:
    stem = re.sub(r"[^\w.-]+", "-", corpus).strip("-.").lower() or "labels"
    return stem + SUFFIXES.get(fmt, ".txt")
