"""What goes into a retrain, to choose: the ranker, whose labels, how conflicts are settled, what is presumed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import streamlit as st

from app.components.text import plain
from app.services import adapting
from app.services.choosing import CONFLICTS, KINDS, Choice

BOTH = tuple(KINDS)


def kind() -> str:
    return st.session_state.get("adapt_kind", "cascade")


def replay() -> float:
    return st.session_state.get("adapt_replay", 25) / 100


def choice(corpus_id: int) -> Choice:
    """As the form is now, or was when the page was left; people are chosen for each corpus anew."""
    form = st.session_state
    since = form.get("adapt_since")
    return Choice(
        annotators=tuple(form.get(f"adapt_annotators_{corpus_id}", ())),
        kinds=tuple(form.get("adapt_label_kinds") or BOTH),
        since=since.isoformat() if isinstance(since, date) else "",
        conflicts=form.get("adapt_conflicts", "majority"),
        unsure_incorrect=form.get("adapt_unsure", False),
        presumed=int(form.get("adapt_presumed", 0)),
        doubtful=not form.get("adapt_slips", True),
    )


def draw(corpus_id: int, by_annotator: Mapping[str, int] | None) -> None:
    """`by_annotator`: who gave how many labels."""
    known = by_annotator or {}
    st.selectbox(
        "What is adapted", list(adapting.KINDS), key="adapt_kind", format_func=lambda k: adapting.KINDS[k],
        help="Each kind has versions of its own. The cascade is the ranker that answers.",
    )  # fmt: skip
    with st.expander("What goes in", icon=":material/filter_list:", key="adapt_goes_in"):
        left, right = st.columns(2)
        with left:
            st.multiselect(
                "Labels of", sorted(known), key=f"adapt_annotators_{corpus_id}", placeholder="everyone",
                format_func=lambda n: f"{plain(n)} ({known.get(n, 0):,})",
            )  # fmt: skip
            st.pills(
                "Labels that", list(KINDS), selection_mode="multi", default=list(KINDS), key="adapt_label_kinds",
                format_func=lambda k: {"people": "people gave here", "imported": "came with a file"}[k],
            )  # fmt: skip
            if not st.session_state.get("adapt_label_kinds"):
                st.caption("None chosen: both go in.")
            st.date_input("Given since", None, key="adapt_since", help="Empty: all of them.")
        with right:
            st.selectbox(
                "Where people disagree", list(CONFLICTS), key="adapt_conflicts", format_func=lambda c: CONFLICTS[c]
            )
            st.toggle("Unsure counts as incorrect", key="adapt_unsure")
            st.toggle(
                "Leave out labels that look wrong", True, key="adapt_slips",
                help="Only if one in twenty or more seems to be wrong; the card then says which were left out.",
            )  # fmt: skip
            st.number_input(
                "Presumed incorrect, a question", 0, 50, 0, key="adapt_presumed",
                help="So many candidates that nobody labelled are taken for incorrect. Some may answer after all, "
                "so it is 0 unless you say otherwise; nothing presumed is ever judged by.",
            )  # fmt: skip
            st.slider(
                "Shipped questions mixed in", 0, 100, 25, 5, format="%d %%", key="adapt_replay",
                help="They remind the ranker of what it knew, so that it forgets less.",
            )  # fmt: skip
