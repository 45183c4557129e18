"""Labels whose sentence is in no document any more: what stands in its place now, and moving labels to it, one's own
and, by an admin, everyone's."""

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from app.corpora import successors
from app.corpora.successors import Successor
from app.labels import guidelines, label_list
from app.labels.items import Presentation
from app.labels.label_list import LabelRecord, LabelSearch
from app.labels.queues import OWN
from app.ui.errors import guard
from app.ui.page import Frame, announce
from app.ui.text import name_document, plain
from as2core.messages import count

MAX_MOVES = 1000  # labels moved at once
STATE = "Sentence is gone"  # of a label's state
DESCRIPTION = (
    "These sentences were reworded or removed, or their document was deleted. Retrains, comparisons and exports still "
    "use their labels, Ask and Label do not. Select one to see what stands there now."
)


def _can_move(frame: Frame, record: LabelRecord) -> bool:
    return frame.is_admin or record.annotator_id == frame.annotator.id


def find_movable(frame: Frame, records: Sequence[LabelRecord]) -> tuple[list[LabelRecord], Mapping[int, Successor]]:
    """Those whose sentence stands elsewhere in the same words, where their giver has not labelled it yet; and where, by
    the sentence's id."""
    orphans = [r for r in records if r.is_gone and _can_move(frame, r)]
    same = successors.find_same_sentences(frame.wb, frame.corpus.id, {r.sentence_id for r in orphans})
    others = label_list.find_labels_there(frame.wb, orphans, _get_targets(same))
    return [r for r in orphans if r.sentence_id in same and r not in others], same


def _get_targets(new: Mapping[int, Successor]) -> dict[int, int]:
    return {i: successor.sentence_id for i, successor in new.items()}


def count_movable(frame: Frame) -> int:
    """How many labels of the corpus `offer_same_sentences` would move."""
    which = LabelSearch(is_gone=True)
    view = label_list.list_labels(frame.wb, frame.corpus.id, by=frame.annotator.id, which=which, limit=MAX_MOVES)
    return len(find_movable(frame, view.page)[0])


def offer_same_sentences(frame: Frame, records: Sequence[LabelRecord]) -> None:
    """A button for all of `find_movable`, as after a file was renamed."""
    movable, same = find_movable(frame, records)
    if not movable:
        return
    why = frame.explain_refusal(label_list.MOVE)
    those = "1 label" if len(movable) == 1 else f"{len(movable):,} labels"
    st.button(f"Move {those} to the same sentence elsewhere", key="data_labels_move_same", disabled=bool(why),
              icon=":material/move_down:", on_click=_move, args=(frame, movable, same),
              help=why or "Another document took the place of theirs, for example after a file was renamed. They keep "
              f"who gave them: {_name_givers(movable)}")  # fmt: skip


def draw_successor(frame: Frame, record: LabelRecord, records: Sequence[LabelRecord]) -> None:
    """Below a selected label whose sentence is gone. `records`: the labels that are listed; those of the same question
    and sentence are moved with it."""
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
    of_pair = (r for r in records if (r.question_id, r.sentence_id) == (record.question_id, record.sentence_id))
    own = [r for r in of_pair if _can_move(frame, r)]
    others = label_list.find_labels_there(frame.wb, own, {record.sentence_id: new.sentence_id})
    if record in others:
        who = "You" if record.annotator_id == frame.annotator.id else plain(record.annotator)
        st.caption(
            f"{who} labelled that sentence {others[record]} already, so this label cannot be "
            "moved there. Withdraw it if it is no longer needed."
        )
    movable = [r for r in own if r not in others]
    if not movable:
        return
    why, those = frame.explain_refusal(label_list.MOVE), "the label" if len(movable) == 1 else f"{len(movable)} labels"
    st.button(f"Move {those} to this sentence", key="data_label_move", icon=":material/move_down:",
              disabled=bool(why), on_click=_move, args=(frame, movable, {record.sentence_id: new}),
              help=why or f"They keep who gave them: {_name_givers(movable)}")  # fmt: skip


def _name_givers(records: Sequence[LabelRecord]) -> str:
    """`2 of ann, 1 of bob`, as Markdown."""
    return ", ".join(f"{n:,} of {plain(name)}" for name, n in Counter(r.annotator for r in records).most_common())


@guard
def _move(frame: Frame, records: Sequence[LabelRecord], new: Mapping[int, Successor]) -> None:
    targets = _get_targets(new)
    version = guidelines.read_guidelines(frame.wb, frame.corpus.id).version
    display = Presentation(scores_visible=False, queue=OWN, guideline=version)
    by = frame.annotator.id
    n = label_list.shift_labels(frame.wb, frame.corpus.id, records, targets, by=by, presentation=display)
    rest = len(records) - n
    left = f" {count(rest, 'label stays', 'labels stay')}: the new sentence is labelled already." if rest else ""
    is_own = [r.annotator_id == by for r in records]
    undo = " Undo on Label takes this back." if all(is_own) else " Undo on Label takes your own back." * any(is_own)
    announce(f"{count(n, 'label was', 'labels were')} moved.{undo}{left}")
