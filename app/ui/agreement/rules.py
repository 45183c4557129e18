"""The labelling rules of a corpus and its guidelines. Only an admin changes them."""

import streamlit as st

from app.labels import guidelines
from app.labels.guidelines import Rules
from app.ui.errors import boundary, guarded
from app.ui.page import Frame
from app.ui.text import count, percent, plain
from app.workbench import people

state = st.session_state


def draw_rules(frame: Frame) -> None:
    if not frame.is_admin:
        admins = ", ".join(plain(p.name) for p in people.list_people(frame.wb) if p.role == "admin")
        st.caption(f"Only an admin can change these: {admins}.")
    _draw_settings(frame)
    _draw_guidelines(frame)


def _draw_settings(frame: Frame) -> None:
    now = guidelines.read_rules(frame.wb, frame.corpus.id)
    if frame.is_admin:
        _draw_form(frame, now)
    else:  # who must follow them: a field that is closed is hard to read
        st.header("Labelling rules", anchor=False)
        st.markdown("\n".join(f"- {line}" for line in describe_rules(now)))


def describe_rules(rules: Rules) -> tuple[str, ...]:
    """A sentence for each rule."""
    people_per_pair = "One person labels" if rules.overlap == 1 else f"{rules.overlap} people label"
    target = f"The target is {count(rules.target, 'pair')}." if rules.target else "There is no target number of pairs."
    return (
        f"{people_per_pair} each pair of question and sentence.",
        f"Of an adaptive queue, {percent(rules.control)} is drawn at random, as a fair sample for estimates.",
        f"Of random pairs, {percent(rules.blind)} is shown without model ranks, to measure how much ranks influence "
        "labels.",
        target,
    )


def _draw_form(frame: Frame, now: Rules) -> None:
    wb, corpus_id = frame.wb, frame.corpus.id
    with st.form(f"agreement_rules_{corpus_id}", border=False):
        st.header("Labelling rules", anchor=False)
        overlap = st.number_input("People per pair", 1, guidelines.MAX_OVERLAP, now.overlap,
                                  help="Measuring agreement takes two or more")  # fmt: skip
        control = st.number_input("Random share of adaptive queues, in %", 0, 100, round(now.control * 100), 5,
                                  help="A fair sample for estimates")  # fmt: skip
        blind = st.number_input("Of random pairs, shown without model ranks, in %", 0, 100, round(now.blind * 100), 5,
                                help="Measures how much the ranks influence labels")  # fmt: skip
        target = st.number_input("Target number of pairs (0: none)", 0, None, now.target or 0, 100)
        is_sent = st.form_submit_button("Save", icon=":material/save:")
    if is_sent:
        with boundary():
            shares = {"control": control / 100, "blind": blind / 100}
            guidelines.set_rules(wb, corpus_id, by=frame.annotator.id, overlap=overlap, target=target or None, **shares)
            st.toast("Saved. The rules apply from the next item on.", icon=":material/check:")


def _draw_guidelines(frame: Frame) -> None:
    versions = guidelines.list_guidelines(frame.wb, frame.corpus.id)
    st.header("Guidelines", anchor=False)
    st.caption(f"Version {versions[0].version}. Shown beside every item. Each label records the version in force.")
    if not frame.is_admin:
        st.markdown(versions[0].text)
    else:
        key = f"agreement_guidelines_{frame.corpus.id}_{versions[0].version}"
        st.text_area("Guidelines, in Markdown", versions[0].text, key=key, height=220, max_chars=guidelines.MAX_CHARS)
        st.button("Save as a new version", key="agreement_guidelines_save", icon=":material/save:",
                  on_click=_write, args=(frame, key))  # fmt: skip
    for old in versions[1:]:
        by = f" by {plain(old.by)}, {old.created:%Y-%m-%d}" if old.created else ""
        with st.expander(f"Version {old.version}{by}"):
            st.markdown(old.text)


@guarded
def _write(frame: Frame, key: str) -> None:
    guidelines.write_guidelines(frame.wb, frame.corpus.id, state[key], by=frame.annotator.id)
