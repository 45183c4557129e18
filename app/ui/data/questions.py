"""The questions of a corpus: adding your own, a list at a time, and the list of all of them.

Those added are stored, ranked in the background, and then offered by the queues.
"""

import re

import streamlit as st

from app.ask import questions
from app.ask.questions import AddedQuestionsView
from app.labels.queues import UNLABELLED
from app.ranking.retrieval import EmptyQuestion
from app.ui import navigation
from app.ui.data import question_list
from app.ui.errors import guard
from app.ui.page import Frame
from app.ui.session.unsaved import register_field
from app.ui.text import capitalize, plain, shorten
from as2core.errors import BadSetting
from as2core.messages import count

MAX_LISTED_QUESTIONS = 5  # of the questions that existed already
_REPORT = "_data_added_questions"
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")  # before each line of a pasted list


def draw(frame: Frame) -> None:
    if not frame.corpus.sentences:
        st.info("This corpus has no sentences yet. Add documents under Corpora.", icon=":material/description:")
        return
    _draw_adding(frame)
    question_list.draw(frame)


def _draw_adding(frame: Frame) -> None:
    st.header("Add your questions", anchor=False)
    why = frame.explain_refusal()
    key = f"data_typed_{frame.corpus.id}"
    register_field(key, "Questions")
    st.text_area("One question per line", key=key, height=120, disabled=bool(why),
                 placeholder="Type questions as people would ask them, or paste a list")  # fmt: skip
    st.button("Add", key="data_typed_add", icon=":material/playlist_add:", disabled=bool(why),
              help=why, on_click=_add, args=(frame, key))  # fmt: skip
    corpus_id, report = st.session_state.get(_REPORT, (None, None))
    if corpus_id == frame.corpus.id:
        _draw_report(report)


def _draw_report(report: AddedQuestionsView) -> None:
    sentences = [f"{count(report.new_count, 'question')} added."]
    if report.new_count:
        sentences.append("Their candidates are being ranked; then they appear in Label.")
    if report.repeat_count:
        sentences.append(f"{count(report.repeat_count, 'repeated line')} skipped.")
    if old_texts := report.existing_questions:
        texts = "; ".join(plain(shorten(text, 80)) for text in old_texts[:MAX_LISTED_QUESTIONS])
        more = f"; and {len(old_texts) - MAX_LISTED_QUESTIONS:,} more" if len(old_texts) > MAX_LISTED_QUESTIONS else ""
        sentences.append(f"{count(len(old_texts), 'question')} existed already: {texts}{more}.")
    if report.queued_count:
        only = "Some of them had" if report.queued_count > 1 else "One of them had"
        sentences.append(f"{only} only been asked, and entered the label queue now.")
    st.info(" ".join(sentences), icon=":material/playlist_add_check:")
    navigation.to("label", "Label them", queue=UNLABELLED)


@guard
def _add(frame: Frame, key: str) -> None:
    st.session_state.pop(_REPORT, None)
    lines = split_list(st.session_state[key])
    try:
        report = questions.add_questions(frame.wb, frame.corpus.id, lines, by=frame.annotator.id)
    except (BadSetting, EmptyQuestion) as error:
        raise BadSetting(f"Nothing was added. {capitalize(str(error))}.") from error
    st.session_state[_REPORT] = (frame.corpus.id, report)
    st.session_state[key] = ""


def split_list(text: str) -> list[str]:
    """The lines without their marks. In a list with marks, a question that goes on in the next line is one."""
    lines: list[str] = []
    is_open = False  # whether the line before has a mark, or goes on with one that has, and is no whole question yet
    for line in text.splitlines():
        mark, question = _LIST_MARK.match(line), _LIST_MARK.sub("", line).strip()
        if is_open and question and not mark:
            lines[-1] += f" {question}"
        else:
            lines.append(question)
        is_open = bool(question) and (is_open or bool(mark)) and not question.endswith("?")
    return lines
