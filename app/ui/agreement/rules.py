"""The labelling rules of a corpus, its guidelines, and people's roles. Only an admin changes them."""

from __future__ import annotations

import streamlit as st

from app.corpora.corpora import CorpusView
from app.labels import guidelines
from app.labels.guidelines import Rules
from app.ui.errors import boundary, guarded
from app.ui.text import plain
from app.workbench import people
from app.workbench.people import ROLES, AnnotatorView
from app.workbench.workbench import Workbench

PERMISSIONS = {
    "admin": "labels, settles conflicts, edits rules and roles",
    "annotator": "labels",
    "viewer": "can only view",
}
state = st.session_state


def draw_rules(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    admin = me.role == "admin"
    if not admin:
        admins = ", ".join(plain(p.name) for p in people.list_people(wb) if p.role == "admin")
        st.caption(f"Only an admin can change these: {admins}.")
    _settings(wb, corpus, me, guidelines.read_rules(wb, corpus.id), admin=admin)
    _guidelines(wb, corpus, me, admin=admin)


def _settings(wb: Workbench, corpus: CorpusView, me: AnnotatorView, now: Rules, *, admin: bool) -> None:
    with st.form(f"agreement_rules_{corpus.id}", border=False):
        st.subheader("Labelling rules", anchor=False)
        overlap = st.number_input("People per pair", 1, guidelines.MAX_OVERLAP, now.overlap, disabled=not admin,
                                  help="Measuring agreement takes two or more")  # fmt: skip
        control = st.number_input("Random share of adaptive queues, in %", 0, 100, round(now.control * 100), 5,
                                  disabled=not admin, help="A fair sample for estimates")  # fmt: skip
        blind = st.number_input("Of random pairs, shown without scores, in %", 0, 100, round(now.blind * 100), 5,
                                disabled=not admin, help="Measures how much scores influence labels")  # fmt: skip
        target = st.number_input("Target number of pairs (0: none)", 0, None, now.target or 0, 100, disabled=not admin)
        sent = st.form_submit_button("Save", disabled=not admin, icon=":material/save:")
    if sent:
        with boundary():
            guidelines.set_rules(wb, corpus.id, by=me.id, overlap=overlap, control=control / 100, blind=blind / 100,
                                 target=target or None)  # fmt: skip
            st.toast("Saved. The rules apply from the next item on.", icon=":material/check:")


def _guidelines(wb: Workbench, corpus: CorpusView, me: AnnotatorView, *, admin: bool) -> None:
    versions = guidelines.list_guidelines(wb, corpus.id)
    st.subheader("Guidelines", anchor=False)
    st.caption(f"Version {versions[0].version}. Shown beside every item. Each label records the version in force.")
    if not admin:
        st.markdown(versions[0].text)
    else:
        key = f"agreement_guidelines_{corpus.id}_{versions[0].version}"
        st.text_area("Guidelines, in Markdown", versions[0].text, key=key, height=220, max_chars=guidelines.MAX_TEXT)
        st.button("Save as a new version", key="agreement_guidelines_save", icon=":material/save:",
                  on_click=_write, args=(wb, corpus.id, me.id, key))  # fmt: skip
    for old in versions[1:]:
        by = f" by {plain(old.by)}, {old.created:%Y-%m-%d}" if old.created else ""
        with st.expander(f"Version {old.version}{by}"):
            st.markdown(old.text)


@guarded
def _write(wb: Workbench, corpus_id: int, by: int, key: str) -> None:
    guidelines.write_guidelines(wb, corpus_id, state[key], by=by)


def draw_people(wb: Workbench, me: AnnotatorView) -> None:
    st.caption(" ".join(f"**{role.capitalize()}**: {PERMISSIONS[role]}." for role in ROLES))
    if me.local:
        st.caption("Names are not verified: anyone here can use any name. To enforce roles, configure "
                   "a log-in (docs/labelling.md).")  # fmt: skip
    for person in people.list_people(wb):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(person.name)}**" + (" (you)" if person.id == me.id else ""))
            key = f"agreement_role_{person.id}_{person.role}"
            st.selectbox("Role", ROLES, ROLES.index(person.role), key=key, label_visibility="collapsed", width=180,
                         disabled=me.role != "admin", on_change=_give_role,
                         args=(wb, person.id, key, me.id))  # fmt: skip


@guarded
def _give_role(wb: Workbench, person_id: int, key: str, by: int) -> None:
    people.set_role(wb, person_id, state.pop(key), by=by)
