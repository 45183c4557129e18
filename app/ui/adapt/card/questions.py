"""The compared questions one by one, and the labels left out. What the reader has to label first is hidden."""

from collections.abc import Callable, Collection, Sequence

import pandas as pd
import streamlit as st

from app.adapt.report import ExcludedLabel, QuestionChange, RetrainReport, TopSentence
from app.ui import navigation
from app.ui.adapt.card.outcome import count_questions
from app.ui.text import escape, shorten
from app.versions.registry import CASCADE
from as2core.messages import count
from as2core.types import CORRECT, INCORRECT

HiddenLabels = Collection[tuple[str, str]]  # (question, sentence) that the reader has to label first
FindExample = Callable[[Sequence[QuestionChange], str], QuestionChange | None]
MAX_QUESTIONS, MAX_SENTENCE_CHARS = 6, 140
CLASSES = {CORRECT: "up", INCORRECT: "down"}


def draw_questions(report: RetrainReport, hidden: HiddenLabels, find_example: FindExample) -> None:
    questions = sorted(report.per_question, key=lambda q: (-abs(q.turn), -abs(q.change)))
    if not questions:
        return
    st.markdown("**The same questions, before and after**")
    st.caption(
        "Here each question has a fixed list of candidates, those that its labels were given on. On Ask, the search "
        "has to find the sentence among all documents first."
    )
    if report.version and (better := [q for q in questions if q.turn > 0 and not is_hidden(q, hidden)]):
        _draw_example(report, find_example(better, report.version))
    left, right = st.columns(2, gap="large")
    with left:
        _draw_list("Better", [q for q in questions if q.change > 0], hidden, "No question improved.")
    with right:
        _draw_list("Worse", [q for q in questions if q.change < 0], hidden, "No question got worse.")
    title = f"{'The' if len(report.per_question) == 1 else 'All'} {count_questions(report)}"
    with st.expander(title, icon=":material/list:", key="adapt_all_questions"):
        number = st.column_config.NumberColumn(format="%.3f", width="small")
        st.dataframe(
            make_frame(report.per_question, hidden), hide_index=True,
            key="adapt_questions", column_config={"before": number, "after": number, "change": number},
        )  # fmt: skip


def _draw_example(report: RetrainReport, best: QuestionChange | None) -> None:
    if best is not None:
        pair = {"base": report.base, "against": report.version}
        navigation.to("ask", "Ask one of them, before and after side by side", q=best.question, **pair)
    elif report.kind == CASCADE:  # another ranker does not answer on Ask
        st.caption("On Ask, where all documents are searched, none of those that were tried has its correct sentence "
                   "first yet. Ask one to see whether the search or the ranker misses it.")  # fmt: skip


def is_hidden(question: QuestionChange, hidden: HiddenLabels) -> bool:
    """Whether the reader may not see yet which of its first sentences are correct."""
    tops = (question.top_before, question.top_after)
    return any(top is not None and (question.question, top.text) in hidden for top in tops)


def make_frame(questions: Sequence[QuestionChange], hidden: HiddenLabels) -> pd.DataFrame:
    """Every held-out question with what was first before and after, where the report has it."""
    frame = pd.DataFrame([{k: getattr(q, k) for k in ("question", "before", "after", "change")} for q in questions])
    for when in ("before", "after"):
        tops = [(q.question, getattr(q, f"top_{when}")) for q in questions]
        if any(top for _, top in tops):
            frame[f"first {when}"] = [top and f"{top.text} ({describe_label(q, top, hidden)})" for q, top in tops]
    return frame


def _draw_list(title: str, questions: Sequence[QuestionChange], hidden: HiddenLabels, none: str) -> None:
    st.markdown(f"**{title}** · {count(len(questions), 'question')}")
    if not questions:
        st.caption(none)
        return
    items = "".join(
        f'<div class="q"><span class="n {"up" if q.change > 0 else "down"}">{q.before:.2f} → {q.after:.2f}</span>'
        f"<span>{escape(q.question)}{_format_tops(q, hidden)}</span></div>"
        for q in questions[:MAX_QUESTIONS]
    )
    st.html(f'<div class="as2-wins">{items}</div>')
    if len(questions) > MAX_QUESTIONS:
        st.caption(f"and {len(questions) - MAX_QUESTIONS:,} more below")


def _format_tops(q: QuestionChange, hidden: HiddenLabels) -> str:
    """The sentences that were first before and after; "" where the first stayed."""
    if not q.top_before or not q.top_after or q.top_before.text == q.top_after.text:
        return ""
    lines = []
    for when, top in (("before", q.top_before), ("now", q.top_after)):
        label = describe_label(q.question, top, hidden)
        text = escape(shorten(top.text, MAX_SENTENCE_CHARS))
        lines.append(f'<small class="{CLASSES.get(label, "")}">{when}, {label}: {text}</small>')
    return "".join(lines)


def draw_excluded_labels(report: RetrainReport, hidden: HiddenLabels) -> None:
    labels = report.left_out
    if labels is None:
        return
    title = f"{count(labels.labels, 'label')} left out, more likely wrong than right"
    with st.expander(title, icon=":material/rule:", key="adapt_left_out"):
        st.caption(
            f"An estimated {labels.rate:.0%} of the labels are wrong. Of those left out, {labels.correct:,} are "
            "“correct”. The labels stay as they are; to check such labels, use Second looks on the page Agreement."
        )
        rows = [
            {"Question": x.question, "Sentence": x.text, "Labelled": describe_label(x.question, x, hidden)}
            for x in labels.to_read
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", key="adapt_left_out_list")
        if len(rows) < labels.labels:
            st.caption(f"The {len(rows):,} least likely to be right.")


def describe_label(question: str, sentence: TopSentence | ExcludedLabel, hidden: HiddenLabels) -> str:
    if (question, sentence.text) in hidden:
        return "shown once you have labelled it"
    return CORRECT if sentence.correct else INCORRECT
