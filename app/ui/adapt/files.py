"""A version as a file: export and import."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.ui.errors import catch_errors
from app.ui.page import Frame, announce
from app.ui.session import acts
from app.ui.text import capitalize, plain
from app.ui.uploads import offer_upload
from app.versions import archive
from app.versions.management import MAX_NAME_CHARS
from app.versions.registry import VersionView

EXPORT_KEY = "_adapt_export"  # version, format, exit and content of the last zip: one a session, since it is large
_ROUND = "_adapt_import_round"  # of the session: how many versions it has imported
FORMATS = {
    "as2": "This workbench",
    "hf": "Hugging Face",
    "cross-encoder": "sentence-transformers",
    "onnx": "ONNX",
    "onnx-int8": "ONNX, int8",
}


def draw_export(frame: Frame, version: VersionView) -> None:
    popover = st.popover("Export", type="tertiary", key=f"adapt_export_{version.id}", on_change="rerun")
    if not popover.open:
        return
    with popover:
        to = st.selectbox("Format", list(FORMATS), format_func=FORMATS.__getitem__,
                          key=f"adapt_export_to_{version.id}")  # fmt: skip
        st.caption(plain(capitalize(archive.FORMATS[to])))
        depth = _choose_depth(version) if to != "as2" else None
        _draw_file(frame, version, to, depth, st.empty())


def _draw_file(frame: Frame, version: VersionView, to: str, depth: int | None, place: DeltaGenerator) -> None:
    """One button in `place`, to create the file and then to download it: below the first, a second would be out of
    sight where the popover is cut by the window."""
    if not _has_file(version, to, depth) and place.button("Create the file", key=f"adapt_export_make_{version.id}"):
        st.session_state.pop(EXPORT_KEY, None)
        with catch_errors(), st.spinner("Writing the version …", show_time=True):
            content = archive.export_zip(frame.wb, version.name, to, depth=depth, by=frame.annotator.id)
            st.session_state[EXPORT_KEY] = (version.id, to, depth, content)
    if _has_file(version, to, depth):
        content = st.session_state[EXPORT_KEY][-1]
        part = f".exit-{depth}" if depth else ""
        place.download_button(f"Download, {len(content) / 1e6:,.1f} MB", content, f"{version.name}{part}.{to}.zip",
                              "application/zip", key=f"adapt_export_get_{version.id}", on_click="ignore",
                              icon=":material/download:")  # fmt: skip


def _has_file(version: VersionView, to: str, depth: int | None) -> bool:
    return st.session_state.get(EXPORT_KEY, ())[:-1] == (version.id, to, depth)


def _choose_depth(version: VersionView) -> int | None:
    """The layer whose exit is exported: None for the last, and for what has no exits."""
    exits = archive.list_exits(version)
    if len(exits) < 2:
        return None
    depth = st.selectbox("Layers", exits, len(exits) - 1, key=f"adapt_export_depth_{version.id}",
                         help="Fewer layers make a smaller and faster version that ranks less well")  # fmt: skip
    return None if depth == exits[-1] else depth


def draw_import(frame: Frame) -> None:
    """An imported version answers once it is promoted, like one that was made here."""
    why = frame.explain_refusal("change versions")
    with st.expander("Import a version", icon=":material/upload_file:", key="adapt_import"):
        st.caption("A zip from Export, made here or elsewhere. Nothing changes until you promote the version.")
        round_ = st.session_state.setdefault(_ROUND, 0)
        file = offer_upload("Zip file", is_allowed=not why, key=f"adapt_import_file_{round_}", help=why)
        suggestion = archive.infer_name(file.name) if file else ""
        entry = st.text_input("Name", key=f"adapt_import_name_{round_}", max_chars=MAX_NAME_CHARS, disabled=bool(why),
                              placeholder=suggestion)  # fmt: skip
        name = entry.strip() or suggestion
        is_ready = file is not None and bool(name) and not why
        is_clicked = st.button("Import", type="primary", key="adapt_import_start", disabled=not is_ready, help=why)
        acts.await_end(_ROUND)  # of a click before this one, which may have been for the same file
        if is_clicked and file and round_ == st.session_state[_ROUND]:
            _import(frame, file, name)


def _import(frame: Frame, file: UploadedFile, name: str) -> None:
    round_ = st.session_state[_ROUND]
    with acts.finish(_ROUND), catch_errors(), st.spinner(plain(f"Reading {file.name} …"), show_time=True):
        version = archive.import_zip(frame.wb, file, filename=file.name, name=name, by=frame.annotator.id)
        st.session_state[_ROUND] = round_ + 1
        announce(f"{version.name} is imported. It answers once you promote it.")
    if st.session_state[_ROUND] != round_:
        st.rerun()
