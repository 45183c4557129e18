"""A version as a file: out of the workbench, and back in."""

from __future__ import annotations

import streamlit as st

from app.components.errors import boundary
from app.components.roles import barred
from app.components.text import plain
from app.services import Workbench, version_files
from app.services.views import AnnotatorView, VersionView

MADE = "_adapt_export"  # version, format and content of the zip made last: one a session, for it is large
FORMATS = {"as2": "As it is kept here", "hf": "Hugging Face", "cross-encoder": "sentence-transformers", "onnx": "ONNX"}


def draw_export(wb: Workbench, version: VersionView) -> None:
    popover = st.popover("Export", type="tertiary", key=f"adapt_export_{version.id}", on_change="rerun")
    if not popover.open:
        return
    with popover:
        to = st.selectbox("Format", [f for f in FORMATS if f in version_files.FORMATS], format_func=FORMATS.get,
                          key=f"adapt_export_to_{version.id}")  # fmt: skip
        st.caption(plain(version_files.FORMATS[to]))
        if st.button("Make the file", key=f"adapt_export_make_{version.id}"):
            st.session_state.pop(MADE, None)
            with boundary(), st.spinner("Writing the version …", show_time=True):
                st.session_state[MADE] = (version.id, to, version_files.pack(wb, version.name, to))
        of, made, content = st.session_state.get(MADE, (None, None, b""))
        if (of, made) == (version.id, to):
            st.download_button(f"Download, {len(content) / 1e6:,.1f} MB", content, f"{version.name}.{to}.zip",
                               "application/zip", key=f"adapt_export_get_{version.id}", on_click="ignore",
                               icon=":material/download:")  # fmt: skip


def draw_import(wb: Workbench, me: AnnotatorView) -> None:
    """It comes in as a candidate, as one that was made here does."""
    why = barred(me, "change versions")
    with st.expander("Import a version", icon=":material/upload_file:", key="adapt_import"):
        st.caption("A zip that Export made, here or elsewhere. It comes in as a candidate.")
        turn = st.session_state.setdefault("_adapt_import_turn", 0)
        file = st.file_uploader("A version's zip", key=f"adapt_import_file_{turn}", type="zip", disabled=bool(why),
                                help=why)  # fmt: skip
        name = st.text_input("Its name here", key=f"adapt_import_name_{turn}", max_chars=60, disabled=bool(why))
        ready = file is not None and bool(name.strip())
        if st.button("Import", type="primary", key="adapt_import_start", disabled=not ready or bool(why), help=why):
            with boundary(), st.spinner(plain(f"Reading {file.name} …"), show_time=True):
                made = version_files.bring_in(wb, file, called=file.name, name=name, by=me.id)
                st.session_state["_adapt_import_turn"] = turn + 1
                st.session_state["_adapt_said"] = f"{made.name} is a candidate now."
                st.rerun()
