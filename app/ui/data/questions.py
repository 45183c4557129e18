"""The questions of a corpus: adding your own, a list at a time, and the list of all of them.

Those added are stored, ranked in the background, and then offered by the queues.
"""

import streamlit as st

from app.ask import questions
from app.ask.questions import AddedQuestionsView
from app.exchange.question_files import MAX_FILE_BYTES, QUESTION_SUFFIXES, read_questions, split_list
from app.labels.queues import UNLABELLED
from app.ranking.retrieval import EmptyQuestion
from app.ui import navigation
from app.ui.data import question_list
from app.ui.errors import catch_errors, guard
from app.ui.page import Frame
from app.ui.session.unsaved import register_field
from app.ui.text import capitalize, plain, shorten
from app.ui.uploads import offer_upload
from as2core.errors import BadSetting
from as2core.messages import count

MAX_LISTED_QUESTIONS = 5  # of the questions that existed already
_REPORT = "_data_added_questions"  # of the session: the key of the field, and what became of what was in it
_FILE_TURN = "_data_question_file_turn"  # of the session: an uploader is emptied by drawing another


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
    left, right = st.columns([2, 1], gap="medium")
    with right, catch_errors():
        _read_upload(key, is_allowed=not why)
    with left:
        st.text_area("One question per line", key=key, height=140, disabled=bool(why),
                     placeholder="Type questions as people would ask them, or paste a list")  # fmt: skip
    st.button("Add", key="data_typed_add", icon=":material/playlist_add:", disabled=bool(why),
              help=why, on_click=_add, args=(frame, key))  # fmt: skip
    about, report = st.session_state.get(_REPORT, (None, None))
    if about == key and isinstance(report, str):
        st.info(plain(report), icon=":material/playlist_add:")
    elif about == key:
        _draw_report(report)


def _read_upload(key: str, *, is_allowed: bool) -> None:
    """What a file has goes below what is in the field `key`, to be read and changed there before it is added."""
    turn = st.session_state.setdefault(_FILE_TURN, 0)
    file = offer_upload(
        "Or from a file", is_allowed=is_allowed, key=f"data_question_file_{turn}", type=QUESTION_SUFFIXES,
        max_upload_size=MAX_FILE_BYTES // 1_000_000,
        help="A text with one question per line, or a table (CSV, Excel) or JSONL with a column question or query.",
    )  # fmt: skip
    if file is not None:
        questions = read_questions(file.name, file.getvalue())
        above = str(st.session_state.get(key) or "").rstrip()
        st.session_state[key] = "\n".join([*filter(None, [above]), *questions])
        st.session_state[_FILE_TURN] = turn + 1
        has = f"The field has {count(len(questions), 'question')} from {file.name}"
        st.session_state[_REPORT] = key, f"{has}. Look through them, then click Add."
        st.rerun()


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
    st.session_state[_REPORT] = (key, report)
    st.session_state[key] = ""
