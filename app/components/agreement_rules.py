"""The rules a corpus is labelled by, its guidelines, and who may do what; an admin changes them, others read."""

from __future__ import annotations

import streamlit as st

from app.components.errors import boundary, guarded
from app.components.text import plain
from app.services import Workbench, people, rules
from app.services.label_views import Rules
from app.services.views import ROLES, AnnotatorView, CorpusView

MAY = {
    "admin": "labels, settles conflicts, writes the rules, gives roles",
    "annotator": "labels",
    "viewer": "looks",
}
state = st.session_state


def draw_rules(wb: Workbench, corpus: CorpusView, me: AnnotatorView) -> None:
    admin = me.role == "admin"
    if not admin:
        admins = ", ".join(plain(p.name) for p in people.everybody(wb) if p.role == "admin")
        st.caption(f"An admin can change these: {admins}.")
    _settings(wb, corpus, me, rules.rules(wb, corpus.id), admin=admin)
    _guidelines(wb, corpus, me, admin=admin)


def _settings(wb: Workbench, corpus: CorpusView, me: AnnotatorView, now: Rules, *, admin: bool) -> None:
    with st.form(f"agreement_rules_{corpus.id}", border=False):
        st.subheader("How it is labelled", anchor=False)
        overlap = st.number_input("People a pair", 1, rules.MAX_OVERLAP, now.overlap, disabled=not admin,
                                  help="With two or more, agreement can be measured")  # fmt: skip
        control = st.number_input("Random share of the adaptive queues, in %", 0, 100, round(now.control * 100), 5,
                                  disabled=not admin, help="Tells the share of correct: a fair sample")  # fmt: skip
        blind = st.number_input("Of that, shown without scores, in %", 0, 100, round(now.blind * 100), 5,
                                disabled=not admin, help="Measures how much a score sways people")  # fmt: skip
        target = st.number_input("Pairs wanted (0: no target)", 0, None, now.target or 0, 100, disabled=not admin)
        sent = st.form_submit_button("Keep these", disabled=not admin, icon=":material/save:")
    if sent:
        made = {"overlap": overlap, "control": control / 100, "blind": blind / 100, "target": target or None}
        with boundary():
            rules.set_rules(wb, corpus.id, by=me.id, **made)
            st.toast("Kept: they hold from the next item on.", icon=":material/check:")


def _guidelines(wb: Workbench, corpus: CorpusView, me: AnnotatorView, *, admin: bool) -> None:
    versions = rules.all_guidelines(wb, corpus.id)
    st.subheader("Guidelines", anchor=False)
    st.caption(f"Version {versions[0].version}. They stand beside every item; a label keeps the version it was given "
               "under.")  # fmt: skip
    if not admin:
        st.markdown(versions[0].text)
    else:
        key = f"agreement_guidelines_{corpus.id}_{versions[0].version}"
        st.text_area("Guidelines, in Markdown", versions[0].text, key=key, height=220, max_chars=rules.MAX_TEXT)
        st.button("Make it the next version", key="agreement_guidelines_save", icon=":material/save:",
                  on_click=_write, args=(wb, corpus.id, me.id, key))  # fmt: skip
    for old in versions[1:]:
        by = f" by {plain(old.by)}, {old.created:%Y-%m-%d}" if old.created else ""
        with st.expander(f"Version {old.version}{by}"):
            st.markdown(old.text)


@guarded
def _write(wb: Workbench, corpus_id: int, by: int, key: str) -> None:
    rules.write_guidelines(wb, corpus_id, state[key], by=by)


def draw_people(wb: Workbench, me: AnnotatorView) -> None:
    st.caption(" ".join(f"**{role.capitalize()}**: {MAY[role]}." for role in ROLES))
    if me.local:
        st.caption("Names typed here prove nothing: whoever reaches this page can type any. For roles that bind, "
                   "configure a log-in (docs/labelling.md).")  # fmt: skip
    for person in people.everybody(wb):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{plain(person.name)}**" + (" (you)" if person.id == me.id else ""))
            key = f"agreement_role_{person.id}_{person.role}"
            st.selectbox("Role", ROLES, ROLES.index(person.role), key=key, label_visibility="collapsed", width=180,
                         disabled=me.role != "admin", on_change=_give_role,
                         args=(wb, person.id, key, me.id))  # fmt: skip


@guarded
def _give_role(wb: Workbench, person_id: int, key: str, by: int) -> None:
    people.set_role(wb, person_id, state.pop(key), by=by)
