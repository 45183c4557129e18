"""What may be done with a version: promote, reject, roll back; and the list of all there are."""

from __future__ import annotations

import streamlit as st

from app.components import links, url
from app.components.errors import boundary, guarded
from app.components.text import plain
from app.services import Workbench, versions
from app.services.views import VersionView

TOLD = {
    "active": ("in use", "green", ":material/check_circle:"),
    "shipped": ("shipped", "gray", ":material/inventory_2:"),
    "candidate": ("candidate", "blue", ":material/hourglass_empty:"),
    "rejected": ("rejected", "orange", ":material/block:"),
    "former": ("used before", "gray", ":material/history:"),
}


def draw_decision(wb: Workbench, version: VersionView, *, worse: bool) -> None:
    """Promote or reject a candidate; a worse one only with a reason in words."""
    active = versions.active(wb)
    if version.name == active.name:
        st.success(f"{plain(version.name)} is in use.", icon=":material/check_circle:")
        with st.container(horizontal=True):
            links.to("ask", "Ask again with it")
            links.to("compare", "Compare it")
        return
    if version.problem:
        st.error(plain(version.problem), icon=":material/error:")
        return
    st.markdown(f"**{plain(version.name)}** is not in use; {plain(active.name)} is. Shall it take over?")
    reason = ""
    if worse:
        reason = st.text_input(
            "It got worse on the held-out questions. To promote it all the same, say why", key="adapt_reason",
            max_chars=300, placeholder="for example: the held-out questions are of another field",
        )  # fmt: skip
    if version.state == "former":
        st.caption("It was in use before.")
    with st.container(horizontal=True):
        st.button("Promote", key="adapt_promote", type="primary", icon=":material/upgrade:", on_click=_promote,
                  args=(wb, version.name), disabled=worse and not reason.strip())  # fmt: skip
        if version.state == "candidate":
            st.button("Reject", key="adapt_reject", icon=":material/block:", on_click=_reject, args=(wb, version.name))


def draw_list(wb: Workbench) -> None:
    """All versions, newest first."""
    known = sorted(versions.list_versions(wb, kind="cascade"), key=lambda v: v.created, reverse=True)
    active = versions.active(wb).name
    for version in known:
        with st.container(border=True, gap="xxsmall", key=f"adapt_version_{version.id}"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{plain(version.name)}**", width="stretch")
                _badge("active" if version.name == active else version.state)
                st.button("Card", key=f"adapt_card_{version.id}", on_click=_open, args=(version.name,), type="tertiary")
                if version.name != active and not version.problem:
                    st.button("Roll back to it" if version.state in ("former", "shipped") else "Use it",
                              key=f"adapt_use_{version.id}", on_click=_ask_use, args=(version.name,))  # fmt: skip
            parts = [f"{version.created:%d %b %Y, %H:%M}"]
            if version.parent:
                parts.append(f"from {version.parent}")
            parts += [f"{name} {value:.3f}" for name, value in list(version.metrics.items())[:3]]
            if version.note:
                parts.append(version.note)
            st.caption(plain(" · ".join(parts)))
            if version.problem:
                st.caption(f":orange[{plain(version.problem)}]")


def _badge(state: str) -> None:
    label, colour, icon = TOLD.get(state, (state, "gray", ":material/label:"))
    st.badge(plain(label), color=colour, icon=icon)


def dialogs(wb: Workbench) -> None:
    """Open the dialog a click asked for; called once, at the page's end."""
    name = st.session_state.get("_adapt_use")
    version = next((v for v in versions.list_versions(wb, kind="cascade") if v.name == name), None)
    if version is not None:
        _use(wb, version)


def _close() -> None:
    st.session_state.pop("_adapt_use", None)


@st.dialog("Change the version in use", on_dismiss=_close)
def _use(wb: Workbench, version: VersionView) -> None:
    st.markdown(f"**{plain(version.name)}** takes over from {plain(versions.active(wb).name)}, on every page at once.")
    reason = st.text_input("Why", key="adapt_use_reason", max_chars=300, placeholder="kept with the version")
    if st.button("Use this version", type="primary", key="adapt_use_confirm", disabled=not reason.strip()):
        with boundary():
            versions.promote(wb, version.name, reason.strip())
            _close()
            st.session_state["_adapt_said"] = f"{version.name} is in use."
            st.rerun()


@guarded
def _promote(wb: Workbench, name: str) -> None:
    versions.promote(wb, name, st.session_state.get("adapt_reason", "").strip())
    st.session_state["_adapt_said"] = f"{name} is in use."


@guarded
def _reject(wb: Workbench, name: str) -> None:
    versions.reject(wb, name)
    st.session_state["_adapt_said"] = f"{name} is put aside; it can still be used from the list."


def _open(name: str) -> None:
    url.put(version=name)


def _ask_use(name: str) -> None:
    st.session_state["_adapt_use"] = name
