"""The upload of a ranking of the search engine that a person has, and what it has of the chosen questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from app.compare import exports, question_sets
from app.ui import errors
from app.ui.compare import ranker_choice
from app.ui.text import plain
from app.ui.uploads import offer_upload
from app.versions import uploaded_runs
from app.versions.uploaded_runs import MAX_RUN_BYTES
from app.workbench.workbench import Workbench
from as2core.data.run_matching import describe_candidates, describe_match
from as2core.sources.spreadsheet import mark_utf_8
from as2core.types import Question

TITLE = "Add your own ranking"
TURN, NEW_RUN, FAILURE = "_compare_upload_turn", "_compare_upload_new", "_compare_upload_failure"  # of the session
IDS_FILE = "questions-and-candidates.csv"


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """Which questions the form compares on, `labels`: what tells that a corpus has others by now."""

    data: str
    setting: str
    with_unlabelled: bool
    labels: tuple[int, int] | None = None


def choose_upload() -> None:
    """Choose the ranking that was uploaded in the run before; called before the choice is drawn."""
    if (name := st.session_state.pop(NEW_RUN, None)) is not None:
        ranker_choice.add_ranker(name)


def draw(wb: Workbench, choice: QuestionChoice, *, by: int, refusal: str | None) -> None:
    """`refusal`: why this person may not upload one; None if they may. An upload closes it: what the ranking has of the
    questions is behind it."""
    turn = st.session_state.setdefault(TURN, 0)
    with st.popover(TITLE, icon=":material/upload_file:", type="tertiary", key=f"compare_own_{turn}"):
        st.markdown(
            "The ranking of a search engine that you have, in one of these forms, gzipped or not:\n\n"
            "- a TREC run, as trec_eval and PyTerrier write it: `question-id Q0 candidate-id rank score name`\n"
            "- JSON, as ranx writes it: `{question-id: {candidate-id: score}}`\n"
            "- a table (CSV or TSV) with the columns `qid`, `docno` and `score`\n\n"
            "The ids are those of the labelled set. This file has them with their texts; with a column `score` it is "
            "such a table:"
        )
        st.download_button("Questions and candidates with their ids", partial(_make_ids, wb, choice), IDS_FILE,
                           "text/csv", key="compare_own_ids", icon=":material/download:", type="tertiary",
                           on_click="ignore")  # fmt: skip
        messages = st.container()
        file = offer_upload("Your ranking", is_allowed=not refusal, key=f"compare_own_file_{turn}",
                            max_upload_size=MAX_RUN_BYTES // 1_000_000)  # fmt: skip
        if file is None:
            st.session_state.pop(FAILURE, None)
        elif st.session_state.get(FAILURE, ("", None))[0] != file.file_id:
            _store(wb, file.file_id, file.name, file.getvalue(), by)
        if FAILURE in st.session_state:
            with messages:
                errors.show(st.session_state[FAILURE][1])
        st.caption(refusal or "It is stored in this workbench, where everybody can compare with it.")
        _draw_list(wb, by, refusal)


def _store(wb: Workbench, file_id: str, name: str, content: bytes, by: int) -> None:
    """A file that fails is read once, though the page is drawn again and again."""
    st.session_state.pop(FAILURE, None)
    try:
        with st.spinner(plain(f"Reading {name} …")):
            st.session_state[NEW_RUN] = uploaded_runs.add_run(wb, name, content, by=by)
    except Exception as error:
        st.session_state[FAILURE] = (file_id, error)
    else:
        st.session_state[TURN] += 1
        st.rerun()


def _draw_list(wb: Workbench, by: int, refusal: str | None) -> None:
    for name in uploaded_runs.list_runs(wb):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(plain(name), width="stretch")
            st.button("Delete", key=f"compare_own_delete_{name}", type="tertiary", icon=":material/delete:",
                      disabled=bool(refusal), on_click=_delete, args=(wb, name, by),
                      help=refusal or "Comparisons that are done keep its figures.")  # fmt: skip


@errors.guard
def _delete(wb: Workbench, name: str, by: int) -> None:
    uploaded_runs.delete_run(wb, name, by=by)
    ranker_choice.set_ranker(name)


def _make_ids(wb: Workbench, choice: QuestionChoice) -> bytes:
    return mark_utf_8(exports.export_candidates(_load_questions(wb, choice)).encode())


def _load_questions(wb: Workbench, choice: QuestionChoice) -> list[Question]:
    questions = question_sets.load_questions(wb, choice.data, with_unlabelled=choice.with_unlabelled)
    return question_sets.select_questions(questions, choice.setting, with_unlabelled=choice.with_unlabelled)


def draw_matches(wb: Workbench, rankers: Sequence[str], choice: QuestionChoice) -> bool:
    """What the uploaded rankings among these have of the questions. Returns whether they can be compared on them."""
    can_compare = True
    for name in (r for r in rankers if uploaded_runs.find_run(wb, r)):
        with errors.catch_errors():
            is_usable, is_complete, text = _describe_match(wb, name, choice)
            can_compare &= is_usable
            if not is_usable:
                st.error(plain(text), icon=":material/error:")
            elif not is_complete:
                st.warning(plain(text), icon=":material/warning:")
            else:
                st.caption(plain(text))
    return can_compare


@st.cache_data(ttl=60, show_spinner="Matching the ranking …")
def _describe_match(_wb: Workbench, name: str, choice: QuestionChoice) -> tuple[bool, bool, str]:
    """(whether it has any of the questions, whether it has all, both in words). A name has one content for ever, unless
    it is deleted."""
    questions = _load_questions(_wb, choice)
    if not questions:
        return True, True, ""
    match = uploaded_runs.count_matches(_wb, name, questions)
    text = describe_match(name, match, questions)
    text += f" {describe_candidates(match)}" if match.is_usable else f" Download them under “{TITLE}”."
    return match.is_usable, not match.missing, text
