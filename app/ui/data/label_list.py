"""The labels of a corpus in a table: look them up, see what became of one, and withdraw some."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from app.labels import annotation, guidelines, label_list
from app.labels.consensus import count_annotators
from app.labels.items import Presentation
from app.labels.label_list import LabelRecord, LabelSearch, LabelsView
from app.labels.queues import OWN
from app.ui import url
from app.ui.data import gone_labels, pages
from app.ui.data.choice import Choice
from app.ui.errors import guard, show_pending
from app.ui.label.buttons import STYLES
from app.ui.page import Frame, announce
from app.ui.text import capitalize, format_time, name_document, plain
from as2core.messages import count
from as2core.types import LABELS

PAGE_LABELS = 100
# Streamlit's own height has no room for the bar below a table that is wider than the page: it would lie on the last row
MAX_TABLE_PIXELS, ROW_PIXELS, BAR_PIXELS = 400, 35, 13
NAME = "labels"  # of this list
WITHDRAWAL = Choice("data_labels_withdraw")  # of LabelRecords
NAMES = {"": "All", **{label: STYLES[label][0] for label in LABELS}}
STATES = {"": "All", "gone": gone_labels.STATE}
EVERYONE = "Everyone"


def draw(frame: Frame) -> None:
    st.header("All labels" if frame.is_admin else "Your labels", anchor=False)
    if not frame.is_admin:
        is_viewer = frame.explain_refusal() is not None
        st.caption(f"{'' if is_viewer else 'These are your own labels. '}An admin sees everyone's.")
    with st.container(horizontal=True, vertical_alignment="top"):  # their labels are in one line
        url.follow("words", "data_label_search", str)
        search = st.text_input("Search labels", key="data_label_search", icon=":material/search:",
                               placeholder="Words of the question or the sentence").strip()  # fmt: skip
        url.put(words=search)
        label = url.choose("data", "label", "Label", NAMES)
        is_gone = bool(url.choose("data", "where", "State", STATES))
        annotator = _choose_annotator(frame)
    which = LabelSearch(annotator=annotator, label=label, search=search, is_gone=is_gone)
    find = partial(label_list.list_labels, frame.wb, frame.corpus.id, by=frame.annotator.id, which=which)
    key = (frame.corpus.id, search, label, annotator, is_gone)
    view, number, total = pages.load_page(NAME, key, PAGE_LABELS, lambda offset: find(limit=PAGE_LABELS, offset=offset))
    if not view.total:
        st.info("No label matches." if any(key[1:]) else "There are no labels here yet.", icon=":material/checklist:")
        return
    if is_gone:
        st.caption(gone_labels.DESCRIPTION)
    st.caption(
        f"{count(view.total, 'label')}, the newest first. Select rows to withdraw them, or one to see its history or "
        "to change a label of yours."
    )
    records = find(limit=gone_labels.MAX_MOVES).page if is_gone else view.page
    selection = _draw_table(view, f"{key} {number}")
    with st.container(horizontal=True, vertical_alignment="center"):
        _offer_withdrawal(frame, "selected", len(selection), partial(tuple, selection))
        if any(key[1:]):
            _offer_withdrawal(frame, "found", view.total, lambda: find(limit=view.total).page)
        gone_labels.offer_same_sentences(frame, records)
        pages.draw_buttons(NAME, key, number, total)
    if len(selection) == 1:
        _draw_history(frame, selection[0], records)


def _choose_annotator(frame: Frame) -> str:
    """An admin's choice; "" for everyone."""
    if not frame.is_admin:
        return ""
    names = {"": EVERYONE}
    names |= {name: f"{name} ({n:,})" for name, n in count_annotators(frame.wb, frame.corpus.id).items()}
    return st.selectbox("Annotator", list(names), format_func=names.__getitem__, key="data_label_annotator")


def _draw_table(view: LabelsView, key: str) -> list[LabelRecord]:
    """The rows that are selected."""
    table = st.dataframe(
        [
            {
                "label": STYLES[r.label][0] if r.label in STYLES else capitalize(r.label),
                "annotator": r.annotator,
                "question": r.question,
                "sentence": r.sentence,
                "document": name_document(r.title) + (" (no longer in it)" if r.is_gone else ""),
                "given": format_time(r.created),
            }
            for r in view.page
        ],
        height=min(MAX_TABLE_PIXELS, ROW_PIXELS * (len(view.page) + 1) + BAR_PIXELS),
        key=f"data_labels {key} {hash(tuple(r.created for r in view.page))}",  # other rows: another selection
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
    )
    return [view.page[i] for i in table.selection.rows if i < len(view.page)]


def _offer_withdrawal(frame: Frame, which: str, n: int, find: Callable[[], tuple[LabelRecord, ...]]) -> None:
    why = frame.explain_refusal("withdraw labels") or (None if n else "Select rows first")
    title = f"Withdraw the {n:,} {which} …" if n else "Withdraw …"
    st.button(title, key=f"data_labels_withdraw_{which}", icon=":material/undo:", disabled=bool(why), help=why,
              on_click=lambda: WITHDRAWAL.store(frame, find()))  # fmt: skip


def _draw_history(frame: Frame, record: LabelRecord, records: Sequence[LabelRecord]) -> None:
    if record.annotator_id == frame.annotator.id:
        _draw_changes(frame, record)
    if record.is_gone:
        gone_labels.draw_successor(frame, record, records)
    st.subheader("History", anchor=False)
    st.markdown(f"**{plain(record.question)}**  \n{plain(record.sentence)}")
    events = label_list.list_history(frame.wb, record.question_id, record.sentence_id, by=frame.annotator.id)
    st.dataframe(
        [
            {
                "when": format_time(e.created),
                "annotator": e.annotator,
                "what": capitalize(e.describe()),
            }
            for e in events
        ],
        hide_index=True,
        key="data_label_history",
    )


def _draw_changes(frame: Frame, record: LabelRecord) -> None:
    """One's own label that was looked up is corrected where it stands."""
    why = frame.explain_refusal("change labels")
    with st.container(horizontal=True):
        for label in LABELS:
            if label != record.label:
                st.button(f"Change to {label}", key=f"data_label_change_{label}", icon=STYLES[label][1],
                          disabled=bool(why), help=why, on_click=_change, args=(frame, record, label))  # fmt: skip


@guard
def _change(frame: Frame, record: LabelRecord, label: str) -> None:
    version = guidelines.read_guidelines(frame.wb, frame.corpus.id).version
    annotation.give_label(
        frame.wb,
        question_id=record.question_id,
        sentence_id=record.sentence_id,
        annotator_id=frame.annotator.id,
        label=label,
        presentation=Presentation(scores_visible=False, queue=OWN, guideline=version),
    )
    announce(f"The label is {label} now.")


def draw_dialog(frame: Frame) -> None:
    """The confirmation of a withdrawal, for a clicked button; called once, at the end of the page."""
    if records := WITHDRAWAL.read(frame):
        _confirm(frame, records)


@st.dialog("Withdraw labels", on_dismiss=WITHDRAWAL.close)
def _confirm(frame: Frame, records: Sequence[LabelRecord]) -> None:
    WITHDRAWAL.rerun_if_closed()
    show_pending()
    numbers = Counter(r.annotator for r in records)
    st.markdown(
        f"This withdraws {count(len(records), 'label')} of **{plain(frame.corpus.name)}** "
        f"({', '.join(f'{n:,} by {plain(name)}' for name, n in numbers.items())}): no retrain, comparison or export "
        "uses them any more. The history keeps them. Your own come back with Undo on Label, one by one; others' do not."
    )
    WITHDRAWAL.draw_buttons("Withdraw", _withdraw, (frame, records), keep="Keep them")


@guard
def _withdraw(frame: Frame, records: Sequence[LabelRecord]) -> None:
    n = label_list.withdraw_labels(frame.wb, frame.corpus.id, records, by=frame.annotator.id)
    WITHDRAWAL.close()
    left = (
        f" {count(len(records) - n, 'label was', 'labels were')} changed meanwhile and stay."
        if n < len(records)
        else ""
    )
    announce(f"{count(n, 'label was', 'labels were')} withdrawn.{left}")
