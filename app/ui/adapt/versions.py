"""The list of all versions, and the dialogs that promote, roll back, rename and delete one of them."""

from collections.abc import Iterator, Sequence
from typing import Literal

import streamlit as st

from app.compare import new_weights, promotions
from app.ui import errors, navigation, url
from app.ui.adapt import files, promote, selection
from app.ui.errors import catch_errors, guard
from app.ui.page import Frame, announce
from app.ui.session import acts
from app.ui.text import format_time, plain
from app.ui.wording import name_version_state
from app.versions import management, promotion, registry
from app.versions.registry import Promotion, VersionView
from app.workbench.workbench import Workbench
from as2core.evaluation.rankers import Outcome
from as2core.messages import count

Colour = Literal["green", "gray", "blue", "orange"]
BADGES: dict[str, tuple[Colour, str]] = {
    "active": ("green", ":material/check_circle:"),
    "shipped": ("gray", ":material/inventory_2:"),
    "candidate": ("blue", ":material/hourglass_empty:"),
    "rejected": ("orange", ":material/block:"),
    "former": ("gray", ":material/history:"),
}
COLOURS: dict[Outcome, Colour] = {Outcome.BETTER: "green", Outcome.WORSE: "orange", Outcome.UNCLEAR: "gray"}
CARD, DECISION = "adapt_card", "adapt_decision"  # keys of parts of the page
SIGHT = "_adapt_sight"  # of the session: the part that the last click brings into sight, and how many such clicks
MAX_ARROWS = 3  # before a name: a chain of retrains gets one longer with each, and every version names its parent
DIALOG = "_adapt_dialog"  # of the session: "use", "edit" or "delete", and a version's name
DIALOG_CHOICE = "adapt_use_ignore_gates"
UNMEASURED = "not measured on this corpus"
CLAIM = "claimed by the import"  # of figures that were not measured here
NOT_ANSWERING = "The next retrain of its kind starts from it. Ask and Label use the cascade and the generative ranker."


def describe_promotion(version: VersionView, past: Promotion) -> str:
    """`Put in use on 4 May 2024, 12:30 UTC, although it was worse: “it knows our words”`."""
    although = ", although it was worse" if version.is_worse else ""
    return f"Put in use on {format_time(past.at)}{although}: “{past.words}”"


def describe_rejection(version: VersionView) -> str:
    """`Rejected: worse on 35 questions (AP 0.702 → 0.672)`; "" for one that is not rejected, or that a person
    rejected although nothing spoke against it."""
    return f"Rejected: {version.objection}." if version.state == "rejected" and version.objection else ""


def make_comparison_address(*names: str | None) -> dict[str, str]:
    """The address of a comparison of these; empty for fewer than two."""
    rankers = list(dict.fromkeys(filter(None, names)))
    return {"rankers": ",".join(rankers)} if len(rankers) > 1 else {}


def name_active(wb: Workbench, kind: str) -> str:
    """Empty where no version of the kind is in use."""
    active = registry.find_active(wb, kind)
    return active.name if active is not None else ""


def draw_list(frame: Frame, all_versions: Sequence[VersionView]) -> None:
    """The versions of one kind as a tree: those made from a version are below it. `all_versions`: newest first."""
    kinds = sorted({v.kind for v in all_versions}, key=lambda k: (k != registry.CASCADE, k))
    kind = registry.CASCADE
    if len(kinds) > 1:
        _update_kind(kinds)
        kind = st.segmented_control("Kind", kinds, key="adapt_kind_shown") or kinds[0]
    of_kind = [v for v in all_versions if v.kind == kind]
    active = next((v for v in of_kind if v.state == "active"), None)
    usable = {v.name for v in all_versions if not v.problem}
    _draw_new_weights(frame.wb, of_kind)
    under_way = promotions.list_under_way(frame.wb)
    for version, depth in sort_as_tree(of_kind):
        other = version.parent if version.parent in usable else active.name if active else None
        _draw_version(frame, version, depth, make_comparison_address(version.name, other), active)
        if version.name in under_way:
            st.caption(f"The gates of {plain(version.name)} are being measured; its card shows how far it is.")
    if kind == registry.CASCADE and active:
        st.caption("For other programs, `as2 serve` ranks with the version in use: docs/clients.md shows how.")
    files.draw_import(frame)


def _draw_new_weights(wb: Workbench, of_kind: Sequence[VersionView]) -> None:
    """After an upgrade: that the version in use is from older shipped weights, until it was compared with the new."""
    if (names := new_weights.find_uncompared(wb, of_kind)) is None:
        return
    active, shipped = names
    with st.container(horizontal=True, vertical_alignment="center", key="adapt_new_weights"):
        st.caption(
            f":material/upgrade: An update brought new weights of {plain(shipped)} after {plain(active)} was trained.",
            width="content",
        )
        navigation.to("compare", "Compare them", **make_comparison_address(active, shipped))


def _update_kind(kinds: Sequence[str]) -> None:
    """Show the versions of the kind that is adapted, if there are any, until another is chosen here."""
    form = st.session_state
    kind = selection.read_kind() if selection.read_kind() in kinds else kinds[0]
    if form.get("_adapt_followed") != kind or "adapt_kind_shown" not in form:
        form["_adapt_followed"] = form["adapt_kind_shown"] = kind


def sort_as_tree(views: Sequence[VersionView]) -> list[tuple[VersionView, int]]:
    """Each version with how deep it stands, parents before their children, the newest branch first."""
    names = {v.name for v in views}
    newest = sorted(views, key=lambda v: v.created, reverse=True)

    def below(parent: str | None, depth: int) -> Iterator[tuple[VersionView, int]]:
        for version in newest:
            if (version.parent if version.parent in names else None) == parent:
                yield version, depth
                yield from below(version.name, depth + 1)

    return list(below(None, 0))


def _draw_version(
    frame: Frame, version: VersionView, depth: int, against: dict[str, str], active: VersionView | None
) -> None:
    """`against` is the address of its comparison with what it was made from."""
    why = frame.explain_refusal("change versions")
    with st.container(border=True, gap="xxsmall", key=f"adapt_version_{version.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{'↳ ' * min(depth, MAX_ARROWS)}**{plain(version.name)}**", width="stretch")
            colour, icon = BADGES[version.state]
            st.badge(name_version_state(version.state), color=colour, icon=icon)
            st.button("Card", key=f"adapt_card_{version.id}", on_click=_open_card, args=(version.name,),
                      type="tertiary")  # fmt: skip
            if against and not version.problem:
                navigation.to("compare", "Compare", **against)
            if not version.problem:
                files.draw_export(frame, version)
            if not management.is_shipped(frame.wb, version):
                st.button("Edit", key=f"adapt_edit_{version.id}", on_click=open_dialog, args=("edit", version.name),
                          type="tertiary", disabled=bool(why), help=why or "Rename, note, delete")  # fmt: skip
            if version.state != "active" and not version.problem:
                st.button(name_promotion(version, active), key=f"adapt_use_{version.id}", on_click=open_dialog,
                          args=("use", version.name), disabled=bool(why), help=why)  # fmt: skip
        st.caption(_describe_version(version))
        if rejection := describe_rejection(version):
            st.caption(plain(rejection))
        if version.promotions:
            st.caption(plain(describe_promotion(version, version.promotions[-1])))
        if version.problem:
            st.caption(f":orange[{plain(version.problem)}]")


def _describe_version(version: VersionView) -> str:
    """As Markdown: whether it is better than its parent, when it was made and from what, figures, and the note."""
    claim = f"{CLAIM}: " if version.is_imported else ""
    outcome = f"{UNMEASURED} · " if version.is_unmeasured else ""
    if version.change:
        outcome = f":{COLOURS[version.change.outcome]}[{claim}{version.change.outcome}] · "
    parts = [format_time(version.created)]
    if version.parent:
        parts.append(f"from {version.parent}")
    figures = [f"{name} {value:.3f}" for name, value in list(version.metrics.items())[:3]]
    if figures and version.change and version.change.questions:
        figures[-1] += f" on {count(version.change.questions, 'question')}"
    parts += [f"{claim}{', '.join(figures)}"] if version.is_imported and figures else figures
    if version.note:
        parts.append(version.note)
    return outcome + plain(" · ".join(parts))


def name_promotion(version: VersionView, active: VersionView | None) -> str:
    """The button of a version that is not in use, and its dialog's."""
    is_back = active is not None and promotion.is_roll_back(version, active)
    return f"Roll back to {plain(version.name)}" if is_back else "Promote"


def _open_card(name: str) -> None:
    bring_into_sight(CARD)
    url.put(version=name)


def bring_into_sight(part: str) -> None:
    """In the run that follows."""
    _, clicks = st.session_state.get(SIGHT, ("", 0))
    st.session_state[SIGHT] = (part, clicks + 1)


def draw_dialogs(frame: Frame, all_versions: Sequence[VersionView]) -> None:
    """Open the dialog of the last click; called once, at the page's end."""
    kind, name = st.session_state.get(DIALOG, ("", ""))
    version = next((v for v in all_versions if v.name == name), None)
    if version is not None:
        if kind != "use":
            _edit(frame, version)
            return
        active = registry.find_active(frame.wb, version.kind)
        if active is not None and active.name == name:  # since the page with the button was drawn
            _close()
            st.toast(f"{plain(name)} is in use already.", icon=":material/check:")
            return
        act = name_promotion(version, active)
        title = f"Promote {plain(name)}" if act == "Promote" else act
        st.dialog(title, on_dismiss=_close)(_use)(frame, version, act)


def open_dialog(kind: str, name: str) -> None:
    st.session_state[DIALOG] = (kind, name)


def _close() -> None:
    st.session_state.pop(DIALOG, None)


@st.dialog("Edit a version", on_dismiss=_close)
def _edit(frame: Frame, version: VersionView) -> None:
    name = st.text_input("Name", version.name, key="adapt_new_name", max_chars=management.MAX_NAME_CHARS)
    note = st.text_input("Note", version.note, key="adapt_new_note", max_chars=management.MAX_NOTE_CHARS)
    with st.container(horizontal=True):
        if st.button("Save", type="primary", key="adapt_edit_save"):
            with acts.finish(), catch_errors():
                current = version.name
                if name.strip() != version.name:
                    current = management.rename(frame.wb, version.name, name, by=frame.annotator.id).name
                    if url.get("version") == version.name:
                        url.put(version=current)
                management.set_note(frame.wb, current, note, by=frame.annotator.id)
                _finish("Saved.")
        if st.button("Delete …", icon=":material/delete:", key="adapt_edit_delete"):
            open_dialog("delete", version.name)
    if st.session_state.get(DIALOG) == ("delete", version.name):
        st.markdown(f"This deletes **{plain(version.name)}** with its weights and its card. It can't be undone.")
        if st.button("Delete for good", type="primary", key="adapt_delete_confirm"):
            with acts.finish(), catch_errors():
                management.delete(frame.wb, version.name, by=frame.annotator.id)
                url.put(version=None)
                _finish(f"{version.name} is deleted.")
    if DIALOG not in st.session_state:
        st.rerun()


def _finish(message: str) -> None:
    _close()
    announce(message)


def _use(frame: Frame, version: VersionView, act: str) -> None:
    if DIALOG not in st.session_state:  # the click has been answered: the page below is to be drawn again
        st.rerun()
    before = name_active(frame.wb, version.kind)
    if before == version.name:  # the page says so, and closes the dialog
        st.rerun()
    instead = f" instead of {plain(before)}" if before else ""
    answers = version.kind in registry.ANSWERING
    where = ", on every page and for all corpora, at once." if answers else f". {NOT_ANSWERING}"
    st.markdown(f"**{plain(version.name)}** will be in use{instead}{where}")
    if version.is_unmeasured:
        st.markdown(f"{plain(version.name)} is {UNMEASURED}: **Compare** measures it.")
    if needs_reason := promotion.needs_reason(frame.wb, version):
        st.markdown(plain(f"{version.name}: {version.objection}."))
    st.text_input("Reason" if needs_reason else "Reason (optional)", key="adapt_use_reason", max_chars=300,
                  placeholder="saved with the version")  # fmt: skip
    promote.name_gates(frame, version)
    st.button(act, type="primary", key="adapt_use_confirm", on_click=_confirm_use, args=(frame, version))
    errors.show_pending()
    promote.offer_exception(frame, version, DIALOG_CHOICE)  # below what the click says


@guard
def _confirm_use(frame: Frame, version: VersionView) -> None:
    """Closes the dialog; where gates have to be measured first, the card shows it."""
    if promote.promote(frame, version, st.session_state.get("adapt_use_reason", ""), choice=DIALOG_CHOICE) is not None:
        url.put(version=version.name)
        bring_into_sight(DECISION)
    _close()
