"""Export of labels, beside their import."""

import re
from contextlib import AbstractContextManager
from functools import partial

import streamlit as st

from app.corpora.synonyms import read_synonyms
from app.exchange import exports
from app.labels import consensus
from app.ui import signin
from app.ui.data.exchange import label_import
from app.ui.data.exchange.label_import import NAMES
from app.ui.data.progress import show_progress
from app.ui.errors import catch_errors
from app.ui.page import Frame
from app.ui.text import capitalize, plain
from app.versions import registry
from app.workbench import sessions
from app.workbench.sessions import Login
from as2core.data.catalog import TOOLS
from as2core.messages import count
from as2core.sources.spreadsheet import mark_utf_8
from as2core.types import OnProgress

SUFFIXES = {"jsonl": ".jsonl", "csv": ".csv", "qrels": ".qrels", "run": ".run", "wikiqa": ".tsv", "beir": ".beir.zip",
           "table": ".table.csv", "pairs": ".pairs.jsonl", "triplets": ".triplets.jsonl",
           "label-studio": ".label-studio.json", "argilla": ".argilla.json", "prodigy": ".prodigy.jsonl"}  # fmt: skip
FOR_SPREADSHEETS = ("csv", "table")
RUN = "run"


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
    st.caption("JSONL and the files for other tools have every label with its annotator. The other formats have one "
               "label per sentence, without unsure and evenly disputed ones. Quepid reads Ratings (CSV).")  # fmt: skip
    if not frame.is_admin:
        st.caption("Not exported: others' labels of pairs that still wait for yours.")
    missing = exports.find_needs(frame.wb, corpus.id)
    login = _read_login()
    for fmt, about in exports.FORMATS.items():
        if fmt in TOOLS:
            continue
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
    _draw_tool_export(frame)


def _read_login() -> Login | None:
    """Of whoever is at the page; None where no log-in is configured."""
    return Login.from_claims(signin.read_claims()) if signin.has_provider() else None


def _export(frame: Frame, fmt: str, login: Login | None, on_progress: OnProgress | None = None) -> bytes:
    """For a click, which Streamlit serves without a run of the page and without its session: `login` is that of the run
    that drew the button. Raises SessionEnded, NotAllowed."""
    if login is not None:
        sessions.admit(frame.wb, login)
    content = exports.export_labels(frame.wb, frame.corpus.id, fmt, by=frame.annotator.id, on_progress=on_progress)
    return mark_utf_8(content) if fmt in FOR_SPREADSHEETS else content


def _draw_run_export(frame: Frame) -> None:
    _draw_request(frame, RUN, "run", ("Make a run file", "Run file"))


def _draw_tool_export(frame: Frame) -> None:
    """For other labelling tools, one of which is chosen."""
    tool = st.selectbox("For another tool", list(TOOLS), key="data_export_to", format_func=TOOLS.__getitem__)
    duration = " Takes a while." if tool in exports.SCORED_WRITERS else ""
    st.caption(f"{capitalize(exports.FORMATS[tool])}.{duration}")
    _draw_request(frame, tool, "tool", (f"Make a file for {TOOLS[tool]}", f"File for {TOOLS[tool]}"))


def _draw_request(frame: Frame, fmt: str, name: str, texts: tuple[str, str]) -> None:
    """A file that is made on request: the model in use ranks every labelled question for most of them, which takes a
    while. `texts`: of the button that makes it, and of the one that saves it."""
    corpus = frame.corpus
    key, file = st.session_state.get(f"_data_{name}", (None, b""))
    synonyms = str(read_synonyms(frame.wb, corpus.id))
    labels = corpus.labels if fmt == RUN else consensus.mark_outcomes(frame.wb, corpus.id)
    current = (fmt, corpus.id, labels, registry.get_active(frame.wb).name, frame.annotator.id, frame.is_admin, synonyms)
    if key != current:
        if st.button(texts[0], key=f"data_make_{name}", icon=":material/sort:", width="stretch"):
            with catch_errors(), _show_wait(fmt, corpus.questions) as on_progress:
                st.session_state[f"_data_{name}"] = (current, _export(frame, fmt, _read_login(), on_progress))
                st.rerun()
        return
    st.download_button(
        texts[1], file, file_name=_to_file_name(corpus.name, fmt), mime="application/octet-stream",
        icon=":material/download:", key=f"data_export_{name}", on_click="ignore", width="stretch", type="primary",
    )  # fmt: skip


def _show_wait(fmt: str, questions: int) -> AbstractContextManager[OnProgress | None]:
    """Until the file is there: minutes where the model scores tens of thousands of sentences."""
    if fmt in exports.SCORED_WRITERS:
        return show_progress("Scoring sentences with the ranker in use …")
    act = f"Ranking {count(questions, 'question')} with the ranker in use" if fmt == RUN else "Writing labels"
    return st.spinner(f"{act} …", show_time=True)


def _to_file_name(corpus: str, fmt: str) -> str:
    stem = re.sub(r"[^\w.-]+", "-", corpus).strip("-.").lower() or "labels"
    return stem + SUFFIXES.get(fmt, ".txt")
