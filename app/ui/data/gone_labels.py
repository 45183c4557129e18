"""Labels whose sentence is in no document any more: what stands in its place now, and moving one's labels to it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from app.corpora import successors
from app.corpora.successors import Successor
from app.labels import guidelines, label_list
from app.labels.items import Presentation
from app.labels.label_list import LabelRecord
from app.labels.queues import OWN
from app.ui.errors import guard
from app.ui.page import Frame, announce
from app.ui.text import count, name_document, plain

ACT = "move labels"
STATE = "Sentence is gone"  # of a label's state
DESCRIPTION = (
    "These sentences were reworded or removed, or their document was deleted. Retrains, comparisons and exports still "
    "use their labels, Ask and Label do not. Select one to see what stands there now."
)


def offer_same_sentences(frame: Frame, records: Sequence[LabelRecord]) -> None:
    """A button for all of one's own whose sentence stands elsewhere in the same words, as after a file was renamed."""
    own = [r for r in records if r.is_gone and r.annotator_id == frame.annotator.id]
    same = successors.find_same_sentences(frame.wb, frame.corpus.id, {r.sentence_id for r in own})
    movable = [r for r in own if r.sentence_id in same]
    if not movable:
        return
    why = frame.explain_refusal(ACT)
    those = "1 label" if len(movable) == 1 else f"{len(movable):,} labels"
    st.button(f"Move {those} to the same sentence elsewhere", key="data_labels_move_same", disabled=bool(why),
              icon=":material/move_down:", on_click=_move, args=(frame, movable, same),
              help=why or "The same words are in another document, for example after a file was renamed")  # fmt: skip


def draw_successor(frame: Frame, record: LabelRecord) -> None:
    """Below a selected label whose sentence is gone."""
    new = successors.find_successor(frame.wb, frame.corpus.id, record.sentence_id)
    if new is None:
        st.info(
            "This sentence is in no document any more, and none like it is in its document. If you add the old "
            "document again, the label is back on it.",
            icon=":material/label_off:",
        )
        return
    where = plain(name_document(new.title))
    intro = "The same sentence stands in" if new.is_same else "Most of its words are in this sentence of"
    st.info(
        f"This sentence is in no document any more. {intro} **{where}**:\n\n{plain(new.text)}",
        icon=":material/label_off:",
    )
    if record.annotator_id == frame.annotator.id:
        why = frame.explain_refusal(ACT)
        st.button("Move the label to this sentence", key="data_label_move", icon=":material/move_down:",
                  disabled=bool(why), help=why, on_click=_move,
                  args=(frame, [record], {record.sentence_id: new}))  # fmt: skip


@guard
def _move(frame: Frame, records: Sequence[LabelRecord], new: Mapping[int, Successor]) -> None:
    targets = {i: successor.sentence_id for i, successor in new.items()}
    version = guidelines.read_guidelines(frame.wb, frame.corpus.id).version
    display = Presentation(scores_visible=False, queue=OWN, guideline=version)
    n = label_list.shift_labels(frame.wb, records, targets, by=frame.annotator.id, presentation=display)
    rest = len(records) - n
    left = f" {count(rest, 'label stays', 'labels stay')}: the new sentence is labelled already." if rest else ""
    announce(f"{count(n, 'label was', 'labels were')} moved. Undo on Label takes this back.{left}")
