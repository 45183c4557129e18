"""The form for the training data and the training: read as `RetrainSettings`."""

from collections.abc import Mapping
from datetime import date

import streamlit as st

from app.adapt.label_selection import CONFLICTS, LABEL_KINDS, MAX_PRESUMED_COUNT, PRESUMED_COUNT, LabelSelection
from app.adapt.settings import FITTED, KINDS, REPLAY, RetrainSettings
from app.ui import url
from app.ui.text import plain
from app.versions.registry import CASCADE


def read_kind() -> str:
    return st.session_state.get("adapt_kind", CASCADE)


def read_settings(corpus_id: int, base: str) -> RetrainSettings:
    """As the form is now, or was when the page was left. People are chosen for each corpus anew, and questions by the
    address alone: who comes back later is to train on all labels."""
    form = st.session_state
    since, kind = form.get("adapt_since"), read_kind()
    choice = LabelSelection(
        annotators=tuple(form.get(f"adapt_annotators_{corpus_id}", ())),
        kinds=tuple(form.get("adapt_label_kinds") or LABEL_KINDS),
        since=since.isoformat() if isinstance(since, date) else "",
        conflicts=form.get("adapt_conflicts", "majority"),
        unsure_incorrect=form.get("adapt_unsure", False),
        presumed=int(form.get("adapt_presumed", PRESUMED_COUNT)),
        doubtful=not form.get("adapt_slips", True),
        questions=url.get_numbers("only"),
    )
    return RetrainSettings(
        kind=kind,
        base=base,
        choice=choice,
        replay=form.get("adapt_replay", round(REPLAY * 100)) / 100,
        epochs=None if kind in FITTED else form.get("adapt_epochs"),
        learning_rate=None if kind in FITTED else form.get("adapt_rate"),
        seed=int(form.get("adapt_seed", 0)),
        note=form.get("adapt_note", "").strip(),
    )


def draw(corpus_id: int, by_annotator: Mapping[str, int]) -> None:
    """`by_annotator`: who gave how many labels."""
    st.selectbox(
        "Ranker", list(KINDS), key="adapt_kind", format_func=lambda k: KINDS[k],
        help="Each kind has its own versions. The cascade is the ranker that answers.",
    )  # fmt: skip
    with st.expander("Training data", icon=":material/filter_list:", key="adapt_goes_in"):
        left, right = st.columns(2)
        with left:
            st.multiselect(
                "Annotators", sorted(by_annotator), key=f"adapt_annotators_{corpus_id}", placeholder="everyone",
                format_func=lambda n: f"{plain(n)} ({by_annotator.get(n, 0):,})",
            )  # fmt: skip
            st.pills(
                "Labels", list(LABEL_KINDS), selection_mode="multi", default=list(LABEL_KINDS),
                key="adapt_label_kinds", format_func=lambda k: LABEL_KINDS[k],
            )  # fmt: skip
            if not st.session_state.get("adapt_label_kinds"):
                st.caption("None selected: both are used.")
            st.date_input("Labelled since", None, key="adapt_since",
                          help="Empty: all labels. The day begins at midnight UTC.")  # fmt: skip
        with right:
            st.selectbox(
                "Conflicting labels", list(CONFLICTS), key="adapt_conflicts", format_func=lambda c: CONFLICTS[c]
            )
            st.toggle("Count unsure as incorrect", key="adapt_unsure")
            st.toggle(
                "Leave out labels that look wrong", True, key="adapt_slips",
                help="Only if an estimated one in twenty or more is wrong. The card lists those left out.",
            )  # fmt: skip
            st.number_input(
                "Unlabelled sentences counted as incorrect, per question", 0, MAX_PRESUMED_COUNT, PRESUMED_COUNT,
                key="adapt_presumed",
                help="Of questions with a correct sentence, and for training only. Some of them may be correct.",
            )  # fmt: skip
            st.slider(
                "Shipped questions mixed in", 0, 100, round(REPLAY * 100), 5, format="%d %%", key="adapt_replay",
                help="A share of the questions that came with the program. They make the ranker forget less of what it "
                "knows.",
            )  # fmt: skip
