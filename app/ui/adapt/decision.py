"""The decision on a version, below the outcome on its card: promote it, reject it, or go back to the one before."""

import streamlit as st

from app.adapt.cross_fitting import MIN_HELD_OUT_QUESTIONS
from app.adapt.settings import CALIBRATION
from app.labels.queues import DISAGREE, UNLABELLED
from app.ui import errors, navigation
from app.ui.adapt import promote
from app.ui.adapt.versions import (
    CLAIM,
    DECISION,
    NOT_ANSWERING,
    UNMEASURED,
    bring_into_sight,
    describe_promotion,
    describe_rejection,
    make_comparison_address,
    name_active,
    name_promotion,
    open_dialog,
)
from app.ui.errors import guard
from app.ui.page import Frame, announce
from app.ui.text import plain
from app.versions import promotion, registry
from app.versions.outcome import Change
from app.versions.registry import VersionView
from as2core.evaluation.gate import GateFailed
from as2core.evaluation.rankers import Outcome

CHOICE = "adapt_ignore_gates"
_REFUSAL = "_adapt_refusal"  # of the session: a version, and why the last click on its card did not promote it


def draw_decision(frame: Frame, version: VersionView) -> None:
    """Promote or reject a version, below the card's outcome. One that is worse needs a reason."""
    active = name_active(frame.wb, version.kind)
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
        navigation.to("compare", "Compare it", **make_comparison_address(version.name, version.parent))


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
    promote.offer_exception(frame, version, CHOICE)
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
    these = f"these {change.questions:,} questions" if change.questions else "the held-out questions"
    these, they = ("the one question", "that question") if change.questions == 1 else (these, "they")
    remedy = "label questions that it gets wrong."
    if change.is_full_before:
        return (
            f"{active} ranks the correct sentences of {these} first already, so {they} cannot show a gain. "
            f"Keep it, and {remedy}"
        )
    if change.is_full_after:
        return (
            f"{name} ranks the correct sentences of {these} first, but too few questions changed to tell a gain from "
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
                      on_click=open_dialog, args=("use", previous.name), disabled=bool(why), help=why)  # fmt: skip


@guard
def _promote(frame: Frame, version: VersionView) -> None:
    bring_into_sight(DECISION)
    try:
        promote.promote(frame, version, st.session_state.get("adapt_reason", ""), choice=CHOICE)
    except (GateFailed, promotion.NeedsReason) as error:
        st.session_state[_REFUSAL] = (version.name, error)


@guard
def _reject(frame: Frame, name: str) -> None:
    bring_into_sight(DECISION)
    promotion.reject(frame.wb, name, by=frame.annotator.id)
    announce(f"{name} is rejected; it can still be promoted.")
