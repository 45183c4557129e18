"""Where a cascade dropped correct candidates, stage by stage, and which questions were left with none."""

from functools import partial

import pandas as pd
import streamlit as st

from app.compare.comparison import ComparisonView
from app.ui.text import plain
from as2core.messages import count

CORRECT_DROPPED = "correct ones dropped"


def draw_cuts(view: ComparisonView) -> None:
    """Nothing where no ranker dropped a candidate."""
    dropping = {r.ranker: r.cuts for r in view.distinct_results if r.cuts}
    if not dropping:
        return
    st.header("Where correct answers were dropped", anchor=False)
    names = list(dropping)
    ranker = st.selectbox("Ranker", names, key="compare_cuts") if len(names) > 1 else names[0]
    cuts = dropping[ranker]
    frame = pd.DataFrame(cuts)[["stage", "entered", "dropped", "correct"]]
    frame = frame.rename(columns={"correct": CORRECT_DROPPED})
    frame["questions lost"] = [len(cut.lost) for cut in cuts]
    number = partial(st.column_config.NumberColumn, format="localized", alignment="left")  # as the headings are
    st.dataframe(
        frame, hide_index=True, key="compare_cuts_table",
        column_config={
            "entered": number(),
            "dropped": number(),
            CORRECT_DROPPED: number(),
            "questions lost": number(help="Questions whose last correct candidate was dropped here"),
        },
    )  # fmt: skip
    losses = [(cut.stage, qid) for cut in cuts for qid in cut.lost]
    correct = count(int(frame[CORRECT_DROPPED].sum()), "correct candidate")
    st.caption(
        f"{plain(ranker)}, {count(view.questions, 'question')}: {correct} dropped before the last exit, "
        f"{count(len(losses), 'question')} left without a correct candidate."
    )
    if losses:
        texts = view.question_texts
        with st.expander(count(len(losses), "question"), icon=":material/list:", key="compare_lost"):
            lines = [(stage, texts.get(qid, qid)) for stage, qid in losses]
            st.dataframe(
                pd.DataFrame(lines, columns=["dropped at", "question"]), hide_index=True, key="compare_lost_list"
            )
