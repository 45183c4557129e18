"""The labelling rules of a corpus and its guidelines. Only an admin changes them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import streamlit as st

from app.labels import guidelines, rules
from app.labels.guidelines import GuidelineView
from app.labels.rules import Rules
from app.ui.errors import guard
from app.ui.page import Frame, announce
from app.ui.session.unsaved import register_field
from app.ui.text import format_day, format_percent, plain
from app.workbench import people
from as2core.messages import count

state = st.session_state


@dataclass(frozen=True, slots=True)
class Draft:
    """Guidelines in the text box, kept while other views are open. `start`: the version that the box opened with;
    `base`: the newest that the writer was told of."""

    start: int
    base: int
    text: str


def draw_rules(frame: Frame) -> None:
    if not frame.is_admin:
        admins = [p for p in people.list_people(frame.wb) if p.role == "admin"]
        askable = [p for p in admins if p.name != people.NOBODY and p.local <= frame.annotator.local]
        names = ", ".join(plain(p.name) for p in askable or admins)
        st.caption(f"Only an admin can change these: {names}.")
    _draw_settings(frame)
    _draw_guidelines(frame)


def _draw_settings(frame: Frame) -> None:
    now = rules.read_rules(frame.wb, frame.corpus.id)
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
        f"Of the queues that a ranker fills, {format_percent(rules.control)} is drawn at random, as a fair sample.",
        f"Of random pairs, {format_percent(rules.blind)} is shown without ranks, to measure how much ranks influence "
        "labels.",
        target,
    )


def _draw_form(frame: Frame, now: Rules) -> None:
    corpus_id, values = frame.corpus.id, _to_fields(now)
    with st.form(f"agreement_rules_{corpus_id}", border=False):
        st.header("Labelling rules", anchor=False)
        keys = {name: f"agreement_rule_{name}_{corpus_id}_{value}" for name, value in values.items()}
        st.number_input("People per pair", 1, rules.MAX_OVERLAP, values["overlap"], key=keys["overlap"],
                        help="Measuring agreement takes two or more")  # fmt: skip
        st.number_input("Drawn at random in queues that a ranker fills, in %", 0, 100, values["control"], 5,
                        key=keys["control"],
                        help="Random pairs give fair estimates, such as of the share of correct ones")  # fmt: skip
        st.number_input("Of random pairs, shown without ranks, in %", 0, 100, values["blind"], 5,
                        key=keys["blind"], help="Measures how much the ranks influence labels")  # fmt: skip
        st.number_input("Target number of pairs (0: none)", 0, None, values["target"], 100, key=keys["target"],
                        help="Label shows a bar of how many have a label")  # fmt: skip
        st.form_submit_button("Save", icon=":material/save:", on_click=_save, args=(frame, values, keys))


def _to_fields(rules: Rules) -> dict[str, int]:
    """The rules as the form has them: shares in %, 0 for no target."""
    shares = {"control": round(rules.control * 100), "blind": round(rules.blind * 100)}
    return {"overlap": rules.overlap, **shares, "target": rules.target or 0}


def _to_rules(fields: Mapping[str, int]) -> Rules:
    return Rules(fields["overlap"], fields["control"] / 100, fields["blind"] / 100, fields["target"] or None)


@guard
def _save(frame: Frame, before: Mapping[str, int], keys: Mapping[str, str]) -> None:
    """What differs from what the form began with: the rest may have been changed by somebody else since."""
    fields = {name: int(state[key]) for name, key in keys.items()}
    values = asdict(_to_rules(fields))
    changes = {name: value for name, value in values.items() if fields[name] != before[name]}
    rules.set_rules(frame.wb, frame.corpus.id, by=frame.annotator.id, **changes)
    announce("Saved. The rules apply from the next item on.")


def _draw_guidelines(frame: Frame) -> None:
    versions = guidelines.list_guidelines(frame.wb, frame.corpus.id)
    newest, former = versions[0], versions[1:]
    st.header("Guidelines", anchor=False)
    st.caption(f"{newest.name}. Shown beside every item. Each label is stored with the version shown.")
    if frame.is_admin:
        draft = _draw_editor(frame, versions)
        if draft.start != newest.version:
            _draw_version(newest, expanded=True)
    else:
        st.markdown(newest.text)
    for old in former:
        _draw_version(old)


def _draw_version(version: GuidelineView, *, expanded: bool = False) -> None:
    by = f" by {plain(version.by)}, {format_day(version.created)}" if version.created else ""
    with st.expander(f"{version.name}{by}", expanded=expanded):
        st.markdown(version.text)


def _draw_editor(frame: Frame, versions: Sequence[GuidelineView]) -> Draft:
    """What nobody has typed in follows the version in force."""
    slot, newest = _name_draft(frame.corpus.id), versions[0]
    draft: Draft | None = state.get(slot)
    if draft is None or any(v.version == draft.start and v.text.strip() == draft.text.strip() for v in versions):
        draft = state[slot] = Draft(newest.version, newest.version, newest.text)
    key = f"agreement_guidelines_{frame.corpus.id}_{draft.start}"
    register_field(key, "Guidelines", saved=newest.text)
    st.text_area("Guidelines, in Markdown", draft.text, key=key, height=220, max_chars=guidelines.MAX_CHARS,
                 on_change=_keep, args=(slot, key))  # fmt: skip
    st.button("Save as a new version", key="agreement_guidelines_save", icon=":material/save:",
              on_click=_write, args=(frame, slot, key, draft.base))  # fmt: skip
    return draft


def _name_draft(corpus_id: int) -> str:
    """Of the session state."""
    return f"_agreement_draft_{corpus_id}"


def _keep(slot: str, key: str) -> None:
    """Also where the click that ends the typing opens another view. A save may come first and end the draft."""
    if slot in state:
        state[slot] = replace(state[slot], text=state[key])


@guard
def _write(frame: Frame, slot: str, key: str, base: int) -> None:
    wb, corpus_id, text = frame.wb, frame.corpus.id, state[key]
    try:
        view = guidelines.write_guidelines(wb, corpus_id, text, by=frame.annotator.id, base=base)
    except guidelines.EditConflict as e:
        newest = guidelines.read_guidelines(wb, corpus_id)
        state[slot] = replace(state[slot], base=newest.version, text=text)
        remedy = "your text is still in the box, theirs is below it; save again to put yours in its place"
        raise guidelines.EditConflict(f"{e}: {remedy}") from e
    del state[slot]
    announce(f"Saved as version {view.version}." if view.version != base else f"No change: this is version {base}.")
