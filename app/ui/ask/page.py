"""The page Ask: the question box, and below it the start page or the answered question."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.ask.asking import Answer
from app.ask.examples import LOSING_DROP_RATIO, Examples, list_examples
from app.ask.pins import arrange, compare_pins, find_pins
from app.corpora.corpora import SHIPPED_CORPORA
from app.labels import consensus
from app.ui import errors, navigation, url
from app.ui.ask import cost, drops, result
from app.ui.ask.answer import draw_facts
from app.ui.ask.candidates import draw_candidates, fill_columns, make_table, name_share, order_rows
from app.ui.ask.cascade import draw_cascade
from app.ui.ask.details import draw_details
from app.ui.ask.history import draw_history, draw_link_limit
from app.ui.ask.labelling import draw_hints, draw_label_count, draw_labels, draw_queue_state
from app.ui.ask.notes import pinned
from app.ui.ask.notes.document_link import draw_document_link
from app.ui.ask.notes.meaning import draw_meaning_state
from app.ui.ask.notes.overlooked import draw_overlooked_note
from app.ui.ask.notes.synonym_link import draw_link_to_synonyms, draw_synonym_link, make_address
from app.ui.ask.notes.together import draw_together
from app.ui.ask.pair import choice
from app.ui.ask.pair.page import draw_pair
from app.ui.ask.score_words import draw_toggle, load_attribution
from app.ui.label.buttons import draw_label_buttons
from app.ui.landing import tour
from app.ui.landing.miniature import draw_cascade_miniature
from app.ui.landing.shipped import draw_reading
from app.ui.page import Frame
from app.ui.session.unsaved import register_field
from app.ui.signin import fragment
from app.ui.text import format_percent, plain, shorten
from as2core.messages import count

MAX_EXAMPLES = 4
MAX_ROW_CHARS = 120  # of a chosen row's sentence, below the table


@dataclass(frozen=True, slots=True)
class AskPage:
    """One drawing of an answered question. `above` and `answer_slot`: the places for what was made of the question, and
    for its answer, which come before the rest is known."""

    frame: Frame
    question: str
    above: DeltaGenerator
    answer_slot: DeltaGenerator


def draw(frame: Frame, question: str) -> None:
    with st.sidebar:
        tour.draw_link(frame.annotator.name, has_question=bool(question))
    _draw_question_box(question)
    if not question:
        _draw_start(frame)
    elif frame.corpus.documents == 0:
        _draw_empty_corpus(frame)
    else:
        _draw_question(AskPage(frame, question, st.container(), st.empty()))


def _draw_question_box(question: str) -> None:
    register_field(result.name_box(), "Question", saved=question)
    with st.form("as2_ask", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Question",
            question,
            key=result.name_box(),
            placeholder="Ask a question about the documents",
            label_visibility="collapsed",
        )
        st.form_submit_button("Ask", type="primary", on_click=_submit_text, width=96)


def _submit_text() -> None:
    result.submit(st.session_state[result.name_box()])


def _submit_example(key: str) -> None:
    if text := st.session_state.get(key):
        result.submit(text)
        result.renew_box()


def _draw_start(frame: Frame) -> None:
    """The page without a question."""
    url.put(q=None, as_typed=None)
    choice.leave()
    examples = list_examples(frame.wb, frame.corpus.id, MAX_EXAMPLES)
    left, right = st.columns([1.35, 1], gap="large")
    with left:
        _draw_examples(frame, examples)
    with right:
        draw_cascade_miniature()
    tour.draw(frame.wb, frame.annotator.name, frame.corpus.name)
    draw_history(frame, besides=examples.questions)


def _draw_empty_corpus(frame: Frame) -> None:
    if draw_reading(frame.wb, frame.corpus.name):
        return
    st.info("This corpus has no documents yet. Add some first.", icon=":material/upload_file:")
    navigation.to("data", "Add documents")


def _draw_examples(frame: Frame, examples: Examples) -> None:
    if frame.corpus.name in SHIPPED_CORPORA:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("These documents come with the program.", width="content")
            navigation.to("data", "Use my own documents", icon=":material/upload_file:", view="corpora")
    if frame.corpus.documents == 0:
        _draw_empty_corpus(frame)
    elif not examples.questions:
        st.caption("Type a question about the documents and press Enter.")
    for title, texts, key in (
        ("Try one of these", examples.questions, "as2_example"),
        ("The documents do not answer this one", (examples.unanswerable,), "as2_unanswerable"),
        (
            f"Drop {format_percent(LOSING_DROP_RATIO)} at each exit, and this answer is lost",
            (examples.dropped,),
            "as2_dropped",
        ),
    ):
        if any(texts):
            st.pills(title, texts, format_func=plain, key=key, on_change=_submit_example, args=(key,))


def _draw_question(page: AskPage) -> None:
    early_answers: list[Answer] = []

    def show_early(answer: Answer) -> None:
        early_answers.append(answer)
        _draw_early_answer(page, answer)

    current = result.load_result(page.frame, page.question, show_early)
    if not early_answers:
        _draw_above(page, current.view)
    if current.view.candidates and choice.read(choice.AGAINST):
        current.is_drawn.set()
        page.answer_slot.empty()
        draw_pair(page.frame, current.view)
    elif current.view.candidates:
        is_complete = current.generative.done()
        _draw_result(page.frame, page.answer_slot, current)
        current.is_drawn.set()
        if not is_complete:
            result.await_generative(current)
    else:
        st.info(
            f"Nothing in {plain(page.frame.corpus.name)} matches “{plain(shorten(page.question, 80))}”. "
            "Rephrase the question, or choose another corpus.",
            icon=":material/search_off:",
        )
        draw_link_to_synonyms(page.frame)


def _draw_above(page: AskPage, answer: Answer) -> None:
    """What was made of the question: its correction, and hints on it. Without the question mark that nobody typed."""

    def show(text: str) -> str:
        return text if page.question.rstrip().endswith("?") else text.removesuffix("?")

    with page.above:
        if answer.spelling_before:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"Showing results for **{plain(show(answer.question))}**", width="content")
                st.button("Search as typed", type="tertiary", key="as2_as_typed", on_click=result.search_as_typed)
        if answer.expanded_question != answer.question:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"Read as: {plain(show(answer.expanded_question))}", width="content")
                navigation.to("data", "Synonyms", **make_address(page.frame))
        draw_hints(answer)
        draw_link_limit(page.question)
        draw_meaning_state(page.frame, answer)


def _draw_early_answer(page: AskPage, answer: Answer) -> None:
    """The answer at once; the picture needs the complete trace."""
    frame = page.frame
    _draw_above(page, answer)
    with page.answer_slot.container():
        pins = result.load_pins(frame, answer) if pinned.read_is_on() else {}
        pinned.draw_arranged(answer, answer.trace, arrange(frame.wb, answer, answer.trace, pins), frame.annotator.name)


@fragment()
def _draw_result(frame: Frame, answer_slot: DeltaGenerator, current: result.Result) -> None:
    """Everything that depends on the schedule: a release of the slider reruns this alone."""
    errors.show_pending()
    frame.refresh_sizes()
    view, is_complete, generative = current.view, current.generative.done(), current.generative_scores
    is_pending = generative is None and not is_complete  # read once: they may arrive while the page is drawn
    percents = drops.read_percents(len(view.trace.exits))
    run = view.trace.replay(drops.make_schedule(percents, len(view.trace.exits)))
    best_first = run.ranking().tolist()
    best, selection = best_first[0], result.get_selection()
    labels = consensus.read_visible_labels(frame.wb, view.question_id, frame.annotator.id)
    mine = consensus.read_labels(frame.wb, view.question_id, frame.annotator.id)

    present = find_pins(frame.wb, frame.corpus.id, view, frame.annotator.id)
    pins = compare_pins(result.load_pins(frame, view), present) if pinned.read_is_on() else {}
    arrangement = arrange(frame.wb, view, run, pins)
    first = arrangement.sentence(view)

    def draw_buttons(sentence_id: int, position: int | None, where: str) -> None:
        rank = None if position is None else best_first.index(position) + 1
        draw_label_buttons(frame, view, sentence_id, rank=rank, mine=mine.get(sentence_id), where=where)

    def draw_state(sentence_id: int, where: str) -> None:
        draw_labels(frame, view, sentence_id, mine=mine.get(sentence_id), where=where,
                    has_other_wording=sentence_id in pins)  # fmt: skip

    def draw_buttons_at(position: int, where: str) -> None:
        sentence_id = view.candidates[position].sentence_id
        draw_buttons(sentence_id, position, where)
        draw_state(sentence_id, where)

    with answer_slot.container():
        pinned.draw_arranged(view, run, arrangement, frame.annotator.name, partial(load_attribution, frame.wb, view),
                             own_label=mine.get(first.sentence_id), labels=labels)  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_buttons(first.sentence_id, arrangement.first, "answer")
        draw_document_link(frame, first.document_id, first.position)
        draw_queue_state(frame, view.question_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="as2-answer-state"):
        draw_state(first.sentence_id, "answer")
        draw_label_count(frame, view.question_id)
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_toggle(view)
        draw_facts(view)
        pinned.draw_switch(frame, view, run, arrangement, present)  # last: it is not there before the first label
    draw_overlooked_note(frame, view, run, best, {} if arrangement.top else labels)  # these go when a label is given
    draw_synonym_link(frame, view, arrangement, labels.values())
    picture, details = st.columns([2, 1], gap="medium")
    with picture:
        draw_cascade(view, current.record, percents=percents, answer=first, labels=labels)
    with details:
        draw_details(frame, view, run, best if selection is None else selection, arrangement.first, generative,
                     is_pending=is_pending, draw_buttons=draw_buttons_at)  # fmt: skip
    draw_together(view, run, generative, is_pending=is_pending, draw_buttons=draw_buttons_at)
    with st.expander("What each exit cost and saved"):
        cost.draw_costs(run, view.trace)
        cost.draw_measuring(frame.wb, view, run)
    table = order_rows(make_table(view, run, generative, labels), arrangement.order)
    table = table if generative is not None else fill_columns(table, view, is_pending=is_pending)
    _draw_table(current, table, draw_buttons_at, share=name_share(view, best))


def _draw_table(
    current: result.Result, table: pd.DataFrame, draw_buttons: Callable[[int, str], None], *, share: str
) -> None:
    """Below it the chosen row's label buttons, and a line that is always there."""
    st.header("Candidates", anchor=False)
    selection = result.get_selection()
    draw_candidates(table, position=selection, choose=result.choose, share=share)
    if selection is not None:
        st.markdown(f"“{plain(shorten(current.view.candidates[selection].text, MAX_ROW_CHARS))}”")
        draw_buttons(selection, "table")
    with st.container():
        if (scores := current.generative_scores) is not None:
            st.caption(f"Generative scores: computed for {count(int(np.isfinite(scores).sum()), 'candidate')}.")
        elif current.generative.done() and isinstance(failure := current.generative.exception(), Exception):
            errors.show(failure)
        else:
            st.caption(":material/hourglass_empty: Computing the generative scores …")
