"""Where a cascade dropped correct candidates, stage by stage, and which questions were left with none."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.components.text import count, plain
from app.services.views import ComparisonView


def draw_cuts(view: ComparisonView) -> None:
    """Nothing where no ranker dropped anybody."""
    dropping = {r["ranker"]: r["cuts"] for r in view.rows if r.get("cuts")}
    if not dropping:
        return
    st.subheader("Where correct answers were dropped", anchor=False)
    names = list(dropping)
    chosen = st.selectbox("Ranker that drops", names, key="compare_cuts") if len(names) > 1 else names[0]
    cuts = dropping[chosen]
    frame = pd.DataFrame(cuts)[["stage", "entered", "dropped", "correct"]]
    frame["questions left without"] = [len(cut["lost"]) for cut in cuts]
    st.dataframe(
        frame, hide_index=True, key="compare_cuts_table",
        column_config={
            "correct": st.column_config.NumberColumn(help="Of those dropped here"),
            "questions left without": st.column_config.NumberColumn(
                help="Questions whose last correct candidate was dropped here"
            ),
        },
    )  # fmt: skip
    lost = [(cut["stage"], qid) for cut in cuts for qid in cut["lost"]]
    correct = count(int(frame["correct"].sum()), "correct candidate")
    st.caption(
        f"{plain(chosen)}, {count(view.questions, 'question')}: {correct} dropped on the way, "
        f"{count(len(lost), 'question')} left without any."
    )
    if lost:
        texts = view.per_question.drop_duplicates("qid").set_index("qid")["question"].to_dict()
        with st.expander(count(len(lost), "question"), icon=":material/list:", key="compare_lost"):
            told = [(stage, texts.get(qid, qid)) for stage, qid in lost]
            st.dataframe(
                pd.DataFrame(told, columns=["dropped at", "question"]), hide_index=True, key="compare_lost_list"
            )
