"""What may be done with a version: promote, reject, roll back; and the list of all there are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.components import adapt_choice, adapt_files, links, url
from app.components.errors import boundary, guarded
from app.components.roles import barred
from app.components.text import plain
from app.services import Workbench, version_care, versions
from app.services.views import AnnotatorView, Promotion, VersionView

TOLD = {
    "active": ("in use", "green", ":material/check_circle:"),
    "shipped": ("shipped", "gray", ":material/inventory_2:"),
    "candidate": ("candidate", "blue", ":material/hourglass_empty:"),
    "rejected": ("rejected", "orange", ":material/block:"),
    "former": ("used before", "gray", ":material/history:"),
}


ANSWERING = (versions.CASCADE, versions.GENERATIVE)
STARTS = "The next retrain of its kind starts from it; Ask and Label go by the cascade and the generative ranker."


def draw_decision(wb: Workbench, version: VersionView, me: AnnotatorView) -> None:
    """Promote or reject a candidate; a worse one only with a reason in words."""
    active = _active(wb, version.kind)
    for promotion in version.promotions:
        st.caption(plain(promoted_in_words(version, promotion)))
    if version.name == active:
        answers = version.kind in ANSWERING
        st.success(f"{plain(version.name)} is in use.{'' if answers else f' {STARTS}'}", icon=":material/check_circle:")
        with st.container(horizontal=True):
            if answers:
                links.to("ask", "Ask again with it")
            links.to("compare", "Compare it", **_against(version.name, version.parent))
        return
    if version.problem:
        st.error(plain(version.problem), icon=":material/error:")
        return
    told = f"{plain(active)} is" if active else f"no {version.kind} version is yet"
    st.markdown(f"**{plain(version.name)}** is not in use; {told}. Shall it take over?")
    if versions.worse(version.metrics):
        st.text_input(
            "It got worse on the held-out questions. To promote it all the same, say why", key="adapt_reason",
            max_chars=300, placeholder="for example: the held-out questions are of another field",
        )  # fmt: skip
    if version.state == "former":
        st.caption("It was in use before.")
    why = barred(me, "change versions")
    with st.container(horizontal=True):
        st.button("Promote", key="adapt_promote", type="primary", icon=":material/upgrade:", on_click=_promote,
                  args=(wb, version.name, me), disabled=bool(why), help=why)  # fmt: skip
        if version.state == "candidate":
            st.button("Reject", key="adapt_reject", icon=":material/block:", on_click=_reject,
                      args=(wb, version.name, me), disabled=bool(why), help=why)  # fmt: skip


def promoted_in_words(version: VersionView, promotion: Promotion) -> str:
    """`Promoted on 4 May 2024, 12:30, although it was worse: “it knows our words”`."""
    although = ", although it was worse" if versions.worse(version.metrics) else ""
    return f"Promoted on {promotion.at.day} {promotion.at:%b %Y, %H:%M}{although}: “{promotion.words}”"


def _against(*names: str | None) -> dict[str, str]:
    """The address of a comparison of these; empty for fewer than two."""
    chosen = list(dict.fromkeys(filter(None, names)))
    return {"rankers": ",".join(chosen)} if len(chosen) > 1 else {}


def _active(wb: Workbench, kind: str) -> str:
    return next((v.name for v in versions.list_versions(wb, kind=kind) if v.state == "active"), "")


def draw_list(wb: Workbench, me: AnnotatorView) -> None:
    """The versions of one kind as a tree: what was made from a version stands below it."""
    known = versions.list_versions(wb, kind=None)
    kinds = sorted({v.kind for v in known}, key=lambda k: (k != "cascade", k))
    kind = "cascade"
    if len(kinds) > 1:
        _follow(kinds)
        kind = st.segmented_control("Kind", kinds, key="adapt_kind_shown") or kinds[0]
    shown = [v for v in known if v.kind == kind]
    active = next((v.name for v in shown if v.state == "active"), None)
    usable = {v.name for v in known if not v.problem}
    for version, depth in tree(shown):
        other = version.parent if version.parent in usable else active
        _draw_version(wb, version, depth, me, _against(version.name, other))
    adapt_files.draw_import(wb, me)


def _follow(kinds: Sequence[str]) -> None:
    """Show the versions of the kind that is adapted, as soon as there are any, till another is chosen here."""
    form = st.session_state
    wanted = adapt_choice.kind() if adapt_choice.kind() in kinds else kinds[0]
    if form.get("_adapt_followed") != wanted or "adapt_kind_shown" not in form:
        form["_adapt_followed"] = form["adapt_kind_shown"] = wanted


def tree(known: Sequence[VersionView]) -> list[tuple[VersionView, int]]:
    """Each version with how deep it stands, parents before their children, the newest branch first."""
    names = {v.name for v in known}
    newest = sorted(known, key=lambda v: v.created, reverse=True)

    def below(parent: str | None, depth: int) -> list[tuple[VersionView, int]]:
        mine = [v for v in newest if (v.parent if v.parent in names else None) == parent]
        return [row for v in mine for row in [(v, depth), *below(v.name, depth + 1)]]

    return below(None, 0)


def _draw_version(wb: Workbench, version: VersionView, depth: int, me: AnnotatorView, against: dict[str, str]) -> None:
    """`against` is the address of its comparison with what it was made from."""
    active, why = version.state == "active", barred(me, "change versions")
    with st.container(border=True, gap="xxsmall", key=f"adapt_version_{version.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{'↳ ' * depth}**{plain(version.name)}**", width="stretch")
            _badge(version.state)
            st.button("Card", key=f"adapt_card_{version.id}", on_click=_open, args=(version.name,), type="tertiary")
            if against and not version.problem:
                links.to("compare", "Compare", **against)
            if not version.problem:
                adapt_files.draw_export(wb, version)
            if not version_care.is_shipped(wb, version):
                st.button("Edit", key=f"adapt_edit_{version.id}", on_click=_ask, args=("_adapt_edit", version.name),
                          type="tertiary", disabled=bool(why), help=why or "Rename, note, delete")  # fmt: skip
            if not active and not version.problem:
                st.button("Roll back to it" if version.state in ("former", "shipped") else "Use it",
                          key=f"adapt_use_{version.id}", on_click=_ask, args=("_adapt_use", version.name),
                          disabled=bool(why), help=why)  # fmt: skip
        parts = [f"{version.created:%d %b %Y, %H:%M}"]
        if version.parent:
            parts.append(f"from {version.parent}")
        parts += [f"{name} {value:.3f}" for name, value in list(version.metrics.items())[:3]]
        if version.note:
            parts.append(version.note)
        st.caption(plain(" · ".join(parts)))
        if version.promotions:
            st.caption(plain(promoted_in_words(version, version.promotions[-1])))
        if version.problem:
            st.caption(f":orange[{plain(version.problem)}]")


def _badge(state: str) -> None:
    label, colour, icon = TOLD.get(state, (state, "gray", ":material/label:"))
    st.badge(plain(label), color=colour, icon=icon)


def dialogs(wb: Workbench, me: AnnotatorView) -> None:
    """Open the dialog a click asked for; called once, at the page's end."""
    known = {v.name: v for v in versions.list_versions(wb, kind=None)}
    if version := known.get(st.session_state.get("_adapt_use", "")):
        _use(wb, version, me)
    elif version := known.get(st.session_state.get("_adapt_edit", "")):
        _edit(wb, version, me)


def _close() -> None:
    st.session_state.pop("_adapt_use", None)
    st.session_state.pop("_adapt_edit", None)
    st.session_state.pop("_adapt_sure", None)


@st.dialog("Edit a version", on_dismiss=_close)
def _edit(wb: Workbench, version: VersionView, me: AnnotatorView) -> None:
    name = st.text_input("Name", version.name, key="adapt_new_name", max_chars=60)
    note = st.text_input("Note", version.note, key="adapt_new_note", max_chars=300)
    with st.container(horizontal=True):
        if st.button("Save", type="primary", key="adapt_edit_save"):
            with boundary():
                named = version.name
                if name.strip() != version.name:
                    named = version_care.rename(wb, version.name, name, by=me.id).name
                    if url.get("version") == version.name:
                        url.put(version=named)
                version_care.set_note(wb, named, note, by=me.id)
                _done("Saved.")
        if st.button("Delete …", icon=":material/delete:", key="adapt_edit_delete"):
            st.session_state["_adapt_sure"] = version.name
    if st.session_state.get("_adapt_sure") == version.name:
        st.markdown(f"This deletes **{plain(version.name)}** with its weights and its card. It can't be undone.")
        if st.button("Delete for good", type="primary", key="adapt_delete_confirm"):
            with boundary():
                version_care.delete(wb, version.name, by=me.id)
                url.put(version=None)
                _done(f"{version.name} is deleted.")


def _done(said: str) -> None:
    _close()
    st.session_state["_adapt_said"] = said
    st.rerun()


@st.dialog("Change the version in use", on_dismiss=_close)
def _use(wb: Workbench, version: VersionView, me: AnnotatorView) -> None:
    before = _active(wb, version.kind)
    told = f" from {plain(before)}" if before else ""
    where = "on every page at once." if version.kind in ANSWERING else f"among those of its kind. {STARTS}"
    st.markdown(f"**{plain(version.name)}** takes over{told}, {where}")
    reason = st.text_input("Why", key="adapt_use_reason", max_chars=300, placeholder="kept with the version")
    if st.button("Use this version", type="primary", key="adapt_use_confirm"):
        if not reason.strip():
            st.error("Say why first: it is kept with the version.", icon=":material/edit:")
            return
        with boundary():
            versions.promote(wb, version.name, reason.strip(), by=me.id)
            _done(f"{version.name} is in use.")


@guarded
def _promote(wb: Workbench, name: str, me: AnnotatorView) -> None:
    versions.promote(wb, name, st.session_state.get("adapt_reason", "").strip(), by=me.id)
    st.session_state["_adapt_said"] = f"{name} is in use."


@guarded
def _reject(wb: Workbench, name: str, me: AnnotatorView) -> None:
    versions.reject(wb, name, by=me.id)
    st.session_state["_adapt_said"] = f"{name} is put aside; it can still be used from the list."


def _open(name: str) -> None:
    url.put(version=name)


def _ask(dialog: str, name: str) -> None:
    _close()
    st.session_state[dialog] = name
