"""People, their roles, and the audit log. Only an admin gives roles and sees the log."""

from collections.abc import Sequence
from datetime import timedelta

import streamlit as st

from app.labels import label_list
from app.ui.data.reasons import draw_reasons
from app.ui.errors import guard
from app.ui.page import Frame, announce
from app.ui.text import format_time, plain
from app.workbench import audit_log, people, sessions
from app.workbench.people import BLOCKED, NOBODY, ROLES, AnnotatorView
from as2core.messages import count, join

PERMISSIONS = {
    "admin": "does what annotators do; settles conflicts, edits rules and guidelines, withdraws and moves others' "
    "labels, gives roles, deletes corpora",
    "annotator": "does what viewers do; labels, imports, changes documents, questions and synonyms, renames corpora, "
    "retrains, promotes and deletes versions",
    "viewer": "reads, asks, compares, requests proposals, exports labels",
    "blocked": "sees no page",
}
TITLES = {"admin": "an admin", "annotator": "an annotator", "viewer": "a viewer", "blocked": "blocked"}
NO_NAME = "whoever typed no name"
MAX_EVENTS = 200
HEAD = ("when (UTC)", "who", "what", "on what", "detail")
state = st.session_state


def draw(frame: Frame) -> None:
    me = frame.annotator
    st.caption(" ".join(f"**{role.capitalize()}**: {PERMISSIONS[role]}." for role in ROLES))
    if me.local:
        st.caption("Names are not verified: anyone here can use any name. To enforce roles, configure "
                   "a log-in: docs/sharing.md, section Log-in.")  # fmt: skip
    persons = people.list_people(frame.wb)
    accounts = sessions.list_accounts(frame.wb, by=me.id) if frame.is_admin else {}
    if frame.is_admin:
        _draw_waiting([p for p in persons if p.is_waiting])
    for person in persons:
        with st.container(horizontal=True, vertical_alignment="center"):
            since = f", last log-in {format_time(person.login_at)}" if person.login_at else ""
            since = ", waits to be let in" if person.is_waiting else since
            you = " (you)" if person.id == me.id else ""
            account = f", {plain(account)}" if (account := accounts.get(person.id)) else ""
            account = f", {NO_NAME}" if person.name == NOBODY else account
            st.markdown(f"**{plain(person.name)}**{you}{account}{since}", width="stretch")
            if frame.is_admin and not person.local:
                st.button(f"End sessions of {plain(person.name)}", key=f"agreement_sessions_{person.id}",
                          type="tertiary", icon=":material/logout:",
                          help="In all browsers; they can log in again unless blocked",
                          on_click=_end_sessions, args=(frame, person))  # fmt: skip
            _draw_role(frame, person)
    if frame.is_admin:
        _draw_handover(frame, persons)
        _draw_progress(frame)
        _draw_log(frame)


def _draw_role(frame: Frame, person: AnnotatorView) -> None:
    """The box has the role that is stored: after a refusal, and after another admin has changed it. The state is set
    only then; a run that overtakes the one that made the box needs the default."""
    key, index = f"agreement_role_{person.id}", ROLES.index(person.role)
    if state.get(key, person.role) != person.role:
        state[key], index = person.role, 0
    st.selectbox(f"Role of {plain(person.name)}", ROLES, index, key=key, label_visibility="collapsed", width=180,
                 disabled=not frame.is_admin, on_change=_give_role, args=(frame, person, key))  # fmt: skip


def _draw_waiting(persons: Sequence[AnnotatorView]) -> None:
    with st.container():  # in every run, so that nothing below moves
        if persons:
            start = "1 person waits" if len(persons) == 1 else f"{len(persons):,} people wait"
            names = join([plain(p.name) for p in persons])
            st.info(f"{start} to be let in: {names}. Give a role to let them in.", icon=":material/person_add:")


@guard
def _give_role(frame: Frame, person: AnnotatorView, key: str) -> None:
    people.set_role(frame.wb, person.id, state[key], by=frame.annotator.id)
    announce(f"{person.name} is {TITLES[state[key]]} now.")


@guard
def _end_sessions(frame: Frame, person: AnnotatorView) -> None:
    sessions.end_sessions(frame.wb, person.id, by=frame.annotator.id)
    announce(f"The sessions of {person.name} are ended.")


def _draw_handover(frame: Frame, persons: Sequence[AnnotatorView]) -> None:
    """A name on imported labels, and the account of the same person, count as two."""
    names = {p.id: f"{p.name}, {NO_NAME}" if p.name == NOBODY else p.name for p in persons}
    givers = [p.id for p in persons if p.local or (p.role == BLOCKED and not p.is_waiting)]
    if not givers or len(persons) < 2:
        return
    with st.popover("Hand over labels", icon=":material/merge:", type="tertiary", key="agreement_handover"):
        st.caption("For a name on imported labels, one that nobody types any more, labels given without a name, or a "
                   "blocked account that a new one replaces: its labels in all corpora become those of somebody else. "
                   "To rename a person who types a name, have them type the new one first. Where both labelled a "
                   "sentence, the other's label stays. This cannot be undone.")  # fmt: skip
        giver = st.selectbox("Labels of", givers, None, format_func=names.__getitem__, key="agreement_giver")
        heirs = [p.id for p in persons if p.id != giver and p.role != BLOCKED]
        heir = st.selectbox("To", heirs, None, format_func=names.__getitem__, key="agreement_heir")
        if giver:
            labels = label_list.count_labels_to_give(frame.wb, giver, by=frame.annotator.id)
            st.caption(f"{plain(names[giver])} has {count(labels, 'label')} in all corpora together.")
        st.button("Hand over", type="primary", key="agreement_hand_over", disabled=not (giver and heir),
                  on_click=_hand_over, args=(frame, giver, heir))  # fmt: skip


@guard
def _hand_over(frame: Frame, giver: int, heir: int) -> None:
    view = label_list.give_labels_to(frame.wb, giver, heir, by=frame.annotator.id)
    state["agreement_giver"] = state["agreement_heir"] = None
    announce(f"{view.describe()}.")


def _draw_progress(frame: Frame) -> None:
    """How far each person is with the corpus."""
    ahead = timedelta(minutes=-(st.context.timezone_offset or 0))
    counts = label_list.count_by_person(frame.wb, frame.corpus.id, by=frame.annotator.id, ahead=ahead)
    if not counts:
        return
    st.header(f"Labels in {plain(frame.corpus.name)}", anchor=False)
    st.dataframe(
        [
            {
                "Person": p.name,
                "Today": p.today,
                "All": p.labels,
                "Correct": p.correct,
                "Incorrect": p.incorrect,
                "Unsure": p.unsure,
                "Newest": format_time(p.newest),
            }
            for p in counts
        ],
        hide_index=True,
        key="agreement_progress",
    )


def _draw_log(frame: Frame) -> None:
    days = frame.wb.settings.audit_days
    st.header("Audit log", anchor=False)
    st.caption(
        "Promotions, changes of roles, rules, guidelines, synonyms and label queues, verdicts, proposals, new corpora, "
        "documents and questions, deletions, log-ins, exports, imports, backups, restores, retrains, comparisons and "
        f"control of jobs, API keys, and what was refused. The newest {MAX_EVENTS} events; `as2 audit` lists all. "
        "Nobody can change them here, and " + (f"they are kept for {days} days." if days else "they are kept for good.")
    )
    events = audit_log.list_events(frame.wb, by=frame.annotator.id, limit=MAX_EVENTS)
    rows = [(f"{e.created:%Y-%m-%d %H:%M}", e.actor, e.what, e.target, e.detail) for e in events]
    draw_reasons(HEAD, rows)
