"""What is asked about a label file before it is imported: who its annotators are, if it has only their numbers, and
what becomes of sentences that the corpus lacks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import streamlit as st

from app.exchange import file_annotators, imports
from app.exchange.label_files import LabelFile
from app.ui.page import Frame
from app.ui.text import plain, shorten
from app.workbench import people
from app.workbench.names import tidy_name
from as2core.messages import count

MIN_STRANGE_SENTENCES = 10  # more are no typing errors if they are most of the file's
MAX_LISTED_SENTENCES, MAX_SENTENCE_CHARS = 5, 120  # of those that the corpus lacks
MAX_ANNOTATORS = 20  # to be asked about; of more, the rest keep their numbers


@dataclass(frozen=True, slots=True)
class UnknownSentences:
    """Those of a file that the corpus of this name does not have; `total`: of how many in the file."""

    corpus: str
    texts: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True)
class NumberedAnnotators:
    """`labels`: how many each has."""

    file: str
    labels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Answers:
    """None: not asked yet. `names`: who the numbered annotators are; `add_sentences`: whether those that the corpus
    lacks are added."""

    names: Mapping[str, str] | None = None
    add_sentences: bool | None = None


NO_ANSWERS = Answers()


def find_question(
    frame: Frame, labels: LabelFile, corpus: tuple[int | None, str], answers: Answers
) -> UnknownSentences | NumberedAnnotators | None:
    """The next one; `corpus`: the id, None for a new one, and the name of where the labels go."""
    if answers.names is None and (numbered := file_annotators.count_numbered(frame.wb, labels)):
        return NumberedAnnotators(labels.name, numbered)
    corpus_id, name = corpus
    if answers.add_sentences is None and corpus_id is not None and frame.corpus.sentences:
        texts = imports.list_unknown_sentences(frame.wb, corpus_id, labels)
        if texts:
            return UnknownSentences(name, texts, len({c.text for q in labels.questions for c in q.candidates}))
    return None


def draw_question(
    frame: Frame, about: UnknownSentences | NumberedAnnotators, answers: Answers, cancel: Callable[[], None]
) -> Answers | None:
    """The question with its buttons; what is known once one of them was clicked."""
    if isinstance(about, NumberedAnnotators):
        names = _draw_names(frame, about)
        shared = file_annotators.find_shared_name(names, names)
        why = f"Two annotators have the name {shared}: give each their own" if shared else None
        buttons = {"Import": ("go", replace(answers, names=names))}
    else:
        _draw_sentences(about)
        why = None
        buttons = {
            "Add them as documents": ("add", replace(answers, add_sentences=True)),
            "Leave them out": ("leave", replace(answers, add_sentences=False)),
        }
    with st.container(horizontal=True):
        clicked = [
            answer
            for label, (key, answer) in buttons.items()
            if st.button(label, key=f"data_import_{key}", disabled=bool(why), help=why)
        ]
        st.button("Cancel", type="tertiary", key="data_import_cancel", on_click=cancel)
    return clicked[0] if clicked else None


def _draw_names(frame: Frame, annotators: NumberedAnnotators) -> dict[str, str]:
    one = len(annotators.labels) == 1
    who = "its annotator’s number, not the name" if one else "its annotators’ numbers, not their names"
    st.markdown(f"**{plain(annotators.file)} has {who}. Whose labels are they?** Nothing is imported yet.")
    people_here = _list_names(frame)
    return {name: _choose_name(name, n, people_here) for name, n in [*annotators.labels.items()][:MAX_ANNOTATORS]}


def _choose_name(name: str, labels: int, people_here: list[str]) -> str:
    choice = st.selectbox(
        f"{plain(name)}, {count(labels, 'label')}",
        [name, *(n for n in people_here if n != name)],
        key=f"data_import_annotator_{name}",
        format_func=plain,
        accept_new_options=True,
        help="Choose somebody known here, or type a name. If the number stays, it becomes a person of its own.",
    )
    return tidy_name(choice or name)


def _list_names(frame: Frame) -> list[str]:
    """Those whose labels may be imported: everybody here for an admin, for others their own."""
    if frame.annotator.role != people.ADMIN:
        return [frame.annotator.name]
    return [p.name for p in people.list_people(frame.wb)]


def _draw_sentences(unknown: UnknownSentences) -> None:
    st.markdown(f"**{plain(_describe_sentences(unknown))}** Nothing is imported yet.")
    st.markdown("\n".join(f"- {plain(shorten(t, MAX_SENTENCE_CHARS))}" for t in unknown.texts[:MAX_LISTED_SENTENCES]))
    if (more := len(unknown.texts) - MAX_LISTED_SENTENCES) > 0:
        st.caption(f"and {more:,} more")


def _describe_sentences(unknown: UnknownSentences) -> str:
    missing, total = len(unknown.texts), unknown.total
    if missing >= MIN_STRANGE_SENTENCES and 2 * missing > total:
        share = f"Only {total - missing:,}" if missing < total else "None"
        return f"{share} of the file’s {total:,} sentences are in {unknown.corpus}: it may be a file of another corpus."
    number = count(missing, "sentence of the file is", "sentences of the file are")
    return f"{number} not in {unknown.corpus}, perhaps by a typing error."
