"""The card of a retrained version: the outcome and the decision about it, then before and after on held-out questions,
question by question, exit by exit."""

from collections.abc import Callable, Mapping

import streamlit as st

from app.adapt.report import RetrainReport
from app.ui.adapt.card.figures import draw_benchmarks, draw_exits, draw_metrics, draw_reliability
from app.ui.adapt.card.outcome import draw_outcome
from app.ui.adapt.card.questions import FindExample, HiddenLabels, draw_excluded_labels, draw_questions
from app.ui.adapt.card.training import describe_training
from app.ui.text import escape
from as2core.evaluation.training_record import TRAINED_ON, VALIDATED_ON
from as2core.types import Json

LONG_KEYS = (TRAINED_ON, VALIDATED_ON, "per_question", "left_out")  # of a card; shown above, or too long to read


def draw_card(
    card: Mapping[str, Json], hidden: HiddenLabels, decide: Callable[[], None], find_example: FindExample
) -> None:
    """A version's card: its figures if it was made here, and its full content. The others are as in `draw`. Raises
    DamagedModel."""
    report = RetrainReport.from_card(card)
    if card.get("imported_from"):
        st.info("This version was imported. Its figures are the importer's claim; none was measured here. Compare "
                "measures it.", icon=":material/move_to_inbox:")  # fmt: skip
    if report is not None:
        draw(report, hidden, decide, find_example)
    else:
        if not card.get("imported_from"):
            st.caption("This version came with the program; it was not retrained here.")
        decide()
    with st.expander("Full card", icon=":material/data_object:", expanded=report is None, key="adapt_whole_card"):
        st.json({k: v for k, v in card.items() if k not in LONG_KEYS}, expanded=2)


def draw(report: RetrainReport, hidden: HiddenLabels, decide: Callable[[], None], find_example: FindExample) -> None:
    """`decide` draws the decision, which stands between the outcome and what it rests on. `find_example` chooses from
    the questions whose first sentence became correct one that this version answers correctly on Ask."""
    draw_outcome(report)
    decide()
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        draw_metrics(report)
    with right:
        draw_exits(report)
        draw_benchmarks(report)
        draw_reliability(report)
    draw_questions(report, hidden, find_example)
    draw_excluded_labels(report, hidden)
    if facts := describe_training(report):
        st.html(f'<p class="as2-facts">{escape(facts)}</p>')
