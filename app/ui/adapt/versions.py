"""Promote, reject and roll back versions; and the list of them all."""

from collections.abc import Iterator, Sequence
from typing import Literal

import streamlit as st

from app.adapt.cross_fitting import MIN_HELD_OUT_QUESTIONS
from app.adapt.settings import CALIBRATION
from app.compare import new_weights, promotions
from app.labels.queues import DISAGREE, UNLABELLED
from app.ui import errors, navigation, url
from app.ui.adapt import files, promote, selection
from app.ui.errors import catch_errors, guard
from app.ui.page import Frame, announce
from app.ui.text import count, format_time, plain
from app.ui.wording import name_version_state
from app.versions import management, promotion, registry
from app.versions.outcome import Change
from app.versions.registry import Promotion, VersionView
from app.workbench.workbench import Workbench
from as2core.evaluation import Outcome
from as2core.gate import GateFailed

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
_REFUSAL = "_adapt_refusal"  # of the session: a version, and why the last click on its card did not promote it
MAX_ARROWS = 3  # before a name: a chain of retrains gets one longer with each, and every version names its parent
DIALOG = "_adapt_dialog"  # of the session: "use", "edit" or "delete", and a version's name
CARD_CHOICE, DIALOG_CHOICE = "adapt_ignore_gates", "adapt_use_ignore_gates"
UNMEASURED = "not measured on this corpus"
CLAIM = "claimed by the import"  # of figures that were not measured here
NOT_ANSWERING = "The next retrain of its kind starts from it. Ask and Label use the cascade and the generative ranker."


def draw_decision(frame: Frame, version: VersionView) -> None:
    """Promote or reject a version, below the card's outcome. One that is worse needs a reason."""
    active = _name_active(frame.wb, version.kind)
    with st.container(key=DECISION):
        for past in version.promotions:
            st.caption(plain(describe_promotion(version, past)))
        if version.name == active:
            _draw_in_use(frame, version)
        elif version.problem:
            st.error(plain(version.problem), icon=":material/error:")
        elif not promote.draw_job(frame, version):
            _draw_offer(frame, version, active)
            _draw_refusal(version)


def _draw_refusal(version: VersionView) -> None:
    """Beside the buttons, once: on a phone the page's top is out of sight."""
    name, error = st.session_state.pop(_REFUSAL, ("", None))
    if error is not None and name == version.name:
        errors.show(error)


def _draw_in_use(frame: Frame, version: VersionView) -> None:
    answers = version.kind in registry.ANSWERING
    state = "is in use, for all corpora." if answers else f"is in use. {NOT_ANSWERING}"
    _draw_banner(frame, version, f"{plain(version.name)} {state}")
    with st.container(horizontal=True):
        if answers:
            navigation.to("ask", "Ask with it")
        navigation.to("compare", "Compare it", **_against(version.name, version.parent))


def _draw_offer(frame: Frame, version: VersionView, active: str) -> None:
    """`active`: the version in use, "" where there is none."""
    st.markdown(_ask_to_promote(version, active))
    if rejection := describe_rejection(version):
        st.caption(plain(rejection))
    elif version.state == "rejected":
        st.caption("It was rejected.")
    if promotion.needs_reason(frame.wb, version) or promote.has_missed(frame.wb, version):
        st.text_input(
            "To promote it all the same, give a reason", key="adapt_reason", max_chars=300,
            placeholder="for example: the held-out questions are from another domain",
        )  # fmt: skip
    if version.state == "former":
        st.caption("It was in use before.")
    promote.name_gates(frame, version)
    promote.offer_exception(frame, version, CARD_CHOICE)
    why, change = frame.explain_refusal("change versions"), None if version.is_imported else version.change
    sets_probabilities = registry.load_card(frame.wb, version.name).get("retrain_kind") == CALIBRATION  # not the order
    is_unclear = change is not None and change.outcome is Outcome.UNCLEAR and not sets_probabilities
    advises_labels = is_unclear and version.parent == active
    if change is not None and advises_labels:
        st.markdown(_advise(plain(version.name), plain(active), change))
    elif change is not None and active and version.parent not in (None, active):
        st.markdown(f"It was compared with {plain(version.parent or '')}, not with {plain(active)}: Compare does that.")
    is_gain = sets_probabilities or (change is not None and change.is_clear_gain and version.parent == active)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Promote", key="adapt_promote", type="primary" if is_gain else "secondary",
                  icon=":material/upgrade:", on_click=_promote, args=(frame, version), disabled=bool(why),
                  help=why)  # fmt: skip
        if version.state == "candidate":
            st.button("Reject", key="adapt_reject", icon=":material/block:", on_click=_reject,
                      args=(frame, version.name), disabled=bool(why), help=why)  # fmt: skip
        if change is not None and advises_labels:
            if change.is_full_before or change.is_full_after:
                navigation.to("label", "Label where two rankers disagree", queue=DISAGREE)
            else:
                navigation.to("label", "Label more questions", queue=UNLABELLED)


def _advise(name: str, active: str, change: Change) -> str:
    """What to do without a clear difference between the version and the one in use, which it was made from."""
    these = f"these {count(change.questions, 'question')}" if change.questions else "the held-out questions"
    remedy = "label questions that it gets wrong."
    if change.is_full_before:
        return (
            f"{active} ranks the correct sentences of {these} first already, so they cannot show a gain. "
            f"Keep it, and {remedy}"
        )
    if change.is_full_after:
        return (
            f"{name} ranks the correct sentences of {these} first, but too few of them changed to tell a gain from "
            f"chance. Keep {active}, and {remedy}"
        )
    return f"Without a clear difference, keep {active} and label more questions.{_explain_size(change)}"


def _explain_size(change: Change) -> str:
    """How many questions it takes; "" where they were enough."""
    if change.questions >= MIN_HELD_OUT_QUESTIONS:
        return ""
    few = f"Fewer than {MIN_HELD_OUT_QUESTIONS} held-out questions seldom tell"
    return f" {few}; a quarter of those labelled are held out."


def _ask_to_promote(version: VersionView, active: str) -> str:
    """As markdown, with what is in use now (`active`, or "") and what is known of the version."""
    current = f"{plain(active)} is in use" if active else f"No {version.kind} version is in use yet"
    scope = ", for all corpora" if active and version.kind in registry.ANSWERING else ""
    claim = f"{CLAIM}: {version.change.headline}. " if version.is_imported and version.change else ""
    claim = claim or (f"{plain(version.name)} is {UNMEASURED}. " if version.is_unmeasured else "")
    instead = " instead" if active else ""
    return f"{current}{scope}. {claim}Promote **{plain(version.name)}**{instead}?"


def _draw_banner(frame: Frame, version: VersionView, text: str) -> None:
    """That the version is in use, and the way back to the one before."""
    previous = promotion.find_previous(frame.wb, version.kind)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.success(text, icon=":material/check_circle:", width="stretch")
        if previous is not None and not previous.problem and promotion.is_roll_back(previous, version):
            why = frame.explain_refusal("change versions")
            st.button(name_promotion(previous, version), key="adapt_back", icon=":material/undo:",
                      on_click=_open_dialog, args=("use", previous.name), disabled=bool(why), help=why)  # fmt: skip


def describe_promotion(version: VersionView, past: Promotion) -> str:
    """`Put in use on 4 May 2024, 12:30 UTC, although it was worse: “it knows our words”`."""
    although = ", although it was worse" if version.is_worse else ""
    return f"Put in use on {format_time(past.at)}{although}: “{past.words}”"


def describe_rejection(version: VersionView) -> str:
    """`Rejected: worse on 35 questions (AP 0.702 → 0.672)`; "" for one that is not rejected, or that a person
    rejected although nothing spoke against it."""
    return f"Rejected: {version.objection}." if version.state == "rejected" and version.objection else ""


def _against(*names: str | None) -> dict[str, str]:
    """The address of a comparison of these; empty for fewer than two."""
    rankers = list(dict.fromkeys(filter(None, names)))
    return {"rankers": ",".join(rankers)} if len(rankers) > 1 else {}


def _name_active(wb: Workbench, kind: str) -> str:
    """Empty where no version of the kind is in use."""
    active = registry.find_active(wb, kind)
    return active.name if active is not None else ""


def draw_list(frame: Frame) -> None:
    """The versions of one kind as a tree: those made from a version are below it."""
    all_versions = registry.list_versions(frame.wb, kind=None)
    kinds = sorted({v.kind for v in all_versions}, key=lambda k: (k != "cascade", k))
    kind = "cascade"
    if len(kinds) > 1:
        _update_kind(kinds)
        kind = st.segmented_control("Kind", kinds, key="adapt_kind_shown") or kinds[0]
    of_kind = [v for v in all_versions if v.kind == kind]
    active = next((v for v in of_kind if v.state == "active"), None)
    usable = {v.name for v in all_versions if not v.problem}
    _draw_new_weights(frame.wb, kind)
    under_way = promotions.list_under_way(frame.wb)
    for version, depth in sort_as_tree(of_kind):
        other = version.parent if version.parent in usable else active.name if active else None
        _draw_version(frame, version, depth, _against(version.name, other), active)
        if version.name in under_way:
            st.caption(f"The gates of {plain(version.name)} are being measured; its card shows how far it is.")
    files.draw_import(frame)


def _draw_new_weights(wb: Workbench, kind: str) -> None:
    """After an upgrade: that the version in use is from older shipped weights, until it was compared with the new."""
    if (names := new_weights.find_uncompared(wb, kind)) is None:
        return
    active, shipped = names
    with st.container(horizontal=True, vertical_alignment="center", key="adapt_new_weights"):
        st.caption(
            f":material/upgrade: An update brought new weights of {plain(shipped)} after {plain(active)} was trained.",
            width="content",
        )
        navigation.to("compare", "Compare them", **_against(active, shipped))


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
                st.button("Edit", key=f"adapt_edit_{version.id}", on_click=_open_dialog, args=("edit", version.name),
                          type="tertiary", disabled=bool(why), help=why or "Rename, note, delete")  # fmt: skip
            if version.state != "active" and not version.problem:
                st.button(name_promotion(version, active), key=f"adapt_use_{version.id}", on_click=_open_dialog,
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
    parts += [f"{claim}{', '.join(figures)}"] if version.is_imported and figures else figures
    if version.note:
        parts.append(version.note)
    return outcome + plain(" · ".join(parts))


def name_promotion(version: VersionView, active: VersionView | None) -> str:
    """The button of a version that is not in use, and its dialog's."""
    is_back = active is not None and promotion.is_roll_back(version, active)
    return f"Roll back to {plain(version.name)}" if is_back else "Promote"


def _open_card(name: str) -> None:
    _bring_into_sight(CARD)
    url.put(version=name)


def _bring_into_sight(part: str) -> None:
    """In the run that follows."""
    _, clicks = st.session_state.get(SIGHT, ("", 0))
    st.session_state[SIGHT] = (part, clicks + 1)


def draw_dialogs(frame: Frame) -> None:
    """Open the dialog of the last click; called once, at the page's end."""
    kind, name = st.session_state.get(DIALOG, ("", ""))
    version = next((v for v in registry.list_versions(frame.wb, kind=None) if v.name == name), None)
    if version is not None:
        if kind != "use":
            _edit(frame, version)
            return
        act = name_promotion(version, registry.find_active(frame.wb, version.kind))
        title = f"Promote {plain(name)}" if act == "Promote" else act
        st.dialog(title, on_dismiss=_close)(_use)(frame, version, act)


def _open_dialog(kind: str, name: str) -> None:
    st.session_state[DIALOG] = (kind, name)


def _close() -> None:
    st.session_state.pop(DIALOG, None)


@st.dialog("Edit a version", on_dismiss=_close)
def _edit(frame: Frame, version: VersionView) -> None:
    name = st.text_input("Name", version.name, key="adapt_new_name", max_chars=management.MAX_NAME_CHARS)
    note = st.text_input("Note", version.note, key="adapt_new_note", max_chars=management.MAX_NOTE_CHARS)
    with st.container(horizontal=True):
        if st.button("Save", type="primary", key="adapt_edit_save"):
            with catch_errors():
                current = version.name
                if name.strip() != version.name:
                    current = management.rename(frame.wb, version.name, name, by=frame.annotator.id).name
                    if url.get("version") == version.name:
                        url.put(version=current)
                management.set_note(frame.wb, current, note, by=frame.annotator.id)
                _finish("Saved.")
        if st.button("Delete …", icon=":material/delete:", key="adapt_edit_delete"):
            _open_dialog("delete", version.name)
    if st.session_state.get(DIALOG) == ("delete", version.name):
        st.markdown(f"This deletes **{plain(version.name)}** with its weights and its card. It can't be undone.")
        if st.button("Delete for good", type="primary", key="adapt_delete_confirm"):
            with catch_errors():
                management.delete(frame.wb, version.name, by=frame.annotator.id)
                url.put(version=None)
                _finish(f"{version.name} is deleted.")


def _finish(message: str) -> None:
    _close()
    announce(message)
    st.rerun()


def _use(frame: Frame, version: VersionView, act: str) -> None:
    if DIALOG not in st.session_state:  # the click has been answered: the page below is to be drawn again
        st.rerun()
    before = _name_active(frame.wb, version.kind)
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
        _bring_into_sight(DECISION)
    _close()


@guard
def _promote(frame: Frame, version: VersionView) -> None:
    _bring_into_sight(DECISION)
    try:
        promote.promote(frame, version, st.session_state.get("adapt_reason", ""), choice=CARD_CHOICE)
    except (GateFailed, promotion.NeedsReason) as error:
        st.session_state[_REFUSAL] = (version.name, error)


@guard
def _reject(frame: Frame, name: str) -> None:
    _bring_into_sight(DECISION)
    promotion.reject(frame.wb, name, by=frame.annotator.id)
    announce(f"{name} is rejected; it can still be promoted.")
