"""All questions of a corpus: where each comes from, when it was last asked, its labels, whether it is label work."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from app.ask import stored_questions
from app.ask.stored_questions import DeletionView, QuestionsView, QuestionView
from app.ui import navigation, url
from app.ui.ask import result
from app.ui.data import pages
from app.ui.data.choice import Choice
from app.ui.errors import guard, show_pending
from app.ui.page import Frame, announce
from app.ui.text import format_time, plain, shorten
from app.workbench.people import Gone
from as2core.messages import count

PAGE_QUESTIONS = 20
MAX_CHARS = 160  # of a question in the list
FROM_ASK = "asked"
ORIGINS = {
    "": "All",
    FROM_ASK: "Typed on Ask",
    "listed": "From a list",
    "proposed": "Proposed",
    "imported": "Imported",
    "starter": "Starter corpus",
    "handbook": "Handbook corpus",
}
STATES = {
    "": "All",
    "queued": "In the label queue",
    "removed": "Not in the label queue",
    "unlabelled": "Without labels",
    "labelled": "With labels",
    "unanswered": "No answer found",
}
NAME = "question"  # of this list
DELETION = Choice("data_question_delete")  # of a question's id
LEFTOVERS = Choice("data_question_leftovers")  # of ids of questions


def draw(frame: Frame) -> None:
    st.header("All questions", anchor=False)
    with st.container(horizontal=True, vertical_alignment="top"):  # their labels are in one line
        search = _draw_search()
        origin = url.choose("data", "origin", "Origin", ORIGINS)
        state = url.choose("data", "state", "State", STATES)
    key = (frame.corpus.id, search, origin, state)
    view, number, total = pages.load_page(NAME, key, PAGE_QUESTIONS, partial(_list_from, frame, search, origin, state))
    if not view.total:
        text = "No question matches. Try fewer words, or another origin or state." if view.origins else (
            "This corpus has no questions yet. Add some above, ask one, or have some proposed.")  # fmt: skip
        st.info(text, icon=":material/search_off:" if view.origins else ":material/forum:")
        return
    st.caption(
        f"{count(view.total, 'question')}, last asked first. A question typed on Ask enters the label queue when "
        "somebody labels one of its candidates or adds it."
    )
    if not search and not state and origin in ("", FROM_ASK):
        _draw_leftovers(frame)
    for question in view.page:
        _draw_question(frame, question)
    pages.draw_buttons(NAME, key, number, total)


def _list_from(frame: Frame, search: str, origin: str, state: str, offset: int) -> QuestionsView:
    return stored_questions.list_questions(
        frame.wb, frame.corpus.id, search=search, origin=origin, state=state, limit=PAGE_QUESTIONS, offset=offset
    )


def _draw_search() -> str:
    if "data_question_search" not in st.session_state:
        st.session_state["data_question_search"] = url.get("find")
    search = st.text_input("Search questions", key="data_question_search", placeholder="Words of a question",
                           icon=":material/search:").strip()  # fmt: skip
    url.put(find=search)
    return search


def _draw_question(frame: Frame, question: QuestionView) -> None:
    why, key = frame.explain_refusal("change questions"), f"data_question_{question.id}"
    with st.container(border=True, key=key, horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(gap=None):
            st.markdown(plain(shorten(question.text, MAX_CHARS)))
            st.caption(describe(question))
        if result.fits_link(question.text):
            navigation.to("ask", "Open on Ask", q=question.text)
        st.button(
            "Remove from the queue" if question.queued else "Add to the queue",
            key=f"{key}_queue__{'out' if question.queued else 'in'}", type="tertiary", disabled=bool(why), help=why,
            icon=":material/playlist_remove:" if question.queued else ":material/playlist_add:",
            on_click=_set_queued, args=(frame, question.id, not question.queued),
        )  # fmt: skip
        st.button("Delete …", key=f"{key}_delete", type="tertiary", disabled=bool(why), help=why,
                  on_click=DELETION.store, args=(frame, [question.id]))  # fmt: skip


def describe(question: QuestionView) -> str:
    """`Typed on Ask · last asked 24 Nov 2026, 14:05 UTC · 3 labelled sentences · in the label queue`."""
    parts = [ORIGINS.get(question.origin, question.origin.capitalize())]
    if question.asked_at:
        parts.append(f"last asked {format_time(question.asked_at)}")
    parts.append(count(question.labels, "labelled sentence") if question.labels else "no labels")
    if question.orphans:
        parts[-1] += f", {question.orphans:,} of them gone" if question.labels > 1 else ", which is gone"
    parts.append("in the label queue" if question.queued else "not in the label queue")
    return plain(" · ".join(parts))


def _draw_leftovers(frame: Frame) -> None:
    leftovers = stored_questions.list_leftovers(frame.wb, frame.corpus.id)
    why = frame.explain_refusal("change questions")
    if leftovers:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Typed on Ask, without labels: {len(leftovers):,}")
            st.button("Add all to the queue", key="data_question_leftovers_queue", type="tertiary",
                      icon=":material/playlist_add:", disabled=bool(why), help=why,
                      on_click=add_leftovers, args=(frame, leftovers))  # fmt: skip
            st.button("Delete all …", key="data_question_leftovers", type="tertiary", icon=":material/delete_sweep:",
                      disabled=bool(why), help=why, on_click=LEFTOVERS.store,
                      args=(frame, leftovers))  # fmt: skip


@guard
def _set_queued(frame: Frame, question_id: int, queued: bool) -> None:
    stored_questions.set_queued(frame.wb, [question_id], queued=queued, by=frame.annotator.id)


@guard
def add_leftovers(frame: Frame, leftovers: tuple[int, ...]) -> None:
    """Those that the button counted, without what was deleted or added since."""
    ids = set(leftovers).intersection(stored_questions.list_leftovers(frame.wb, frame.corpus.id))
    stored_questions.set_queued(frame.wb, ids, queued=True, by=frame.annotator.id)
    announce(f"{count(len(ids), 'question was', 'questions were')} added to the queue.")


def draw_dialog(frame: Frame) -> None:
    """The confirmation of a deletion, for a clicked button; called once, at the end of the page."""
    if question_ids := DELETION.read(frame):
        _confirm(frame, *question_ids)
    elif leftovers := LEFTOVERS.read(frame):
        _confirm_leftovers(frame, leftovers)


@st.dialog("Delete questions without labels", on_dismiss=LEFTOVERS.close)
def _confirm_leftovers(frame: Frame, leftovers: Sequence[int]) -> None:
    LEFTOVERS.rerun_if_closed()
    show_pending()
    st.markdown(
        f"This deletes {count(len(leftovers), 'question')} of **{plain(frame.corpus.name)}** that somebody typed on "
        "Ask, without a label or a flag and not in the label queue. If somebody asks one again, it starts anew."
    )
    LEFTOVERS.draw_buttons("Delete permanently", _delete_leftovers, (frame, leftovers), keep="Keep them")


@guard
def _delete_leftovers(frame: Frame, leftovers: Sequence[int]) -> None:
    """Those of which the dialog told; what has a label by now stays."""
    by = frame.annotator.id
    ids = stored_questions.delete_leftovers(frame.wb, frame.corpus.id, leftovers, by=by)
    LEFTOVERS.close()
    for question_id in ids:
        result.close(question_id)
    announce(f"{count(len(ids), 'question was', 'questions were')} deleted.")


@st.dialog("Delete question", on_dismiss=DELETION.close)
def _confirm(frame: Frame, question_id: int) -> None:
    """Each run of it reads the labels anew: they may have changed since the last one."""
    DELETION.rerun_if_closed()
    show_pending()
    try:
        view = stored_questions.preview_deletion(frame.wb, question_id, by=frame.annotator.id)
    except Gone as error:  # somebody else deleted it
        st.info(plain(str(error)), icon=":material/info:")
        return
    st.markdown(f"**{plain(shorten(view.text, MAX_CHARS))}**")
    st.markdown(describe_deletion(view))
    if view.refusal:
        st.error(plain(f"{view.refusal[:1].upper()}{view.refusal[1:]}."), icon=":material/lock:")
    is_refused = bool(view.refusal)
    DELETION.draw_buttons("Delete permanently", _delete, (frame, view), keep="Keep it", disabled=is_refused)


@guard
def _delete(frame: Frame, view: DeletionView) -> None:
    """With the labels that the dialog told of: a callback gets what the click was made on."""
    stored_questions.delete_question(frame.wb, view.id, labels=view.labels, by=frame.annotator.id)
    DELETION.close()
    result.close(view.id)
    announce("The question was deleted.")


def describe_deletion(view: DeletionView) -> str:
    """What happens to its labels, before they go."""
    if not view.labels:
        return "It has no labels. It is deleted with its ranking; if somebody asks it again, it starts anew."
    by = ", ".join(f"{n:,} by {plain(name)}" for name, n in view.by_name)
    return (
        f"This also deletes {count(view.labels, 'label')} ({by}) and any verdicts on them: no retrain, comparison or "
        "export uses them any more. It cannot be undone. To keep the labels, export them first, or only remove the "
        "question from the queue."
    )
