"""Ask: a question over the corpus, its answer, and what every layer of the cascade made of the candidates."""

import pandas as pd
import streamlit as st

from app.components import asked, drops, errors, links
from app.components.answer import draw_answer, draw_facts, in_context
from app.components.candidate import draw_candidate, draw_explained
from app.components.candidates import candidate_table, draw_candidates, together
from app.components.cascade_replay import draw_cascade
from app.components.label_buttons import label_buttons
from app.components.page import page
from app.components.text import plain, shorten
from app.services import asking, labelling

question = asked.question()
frame = page(
    "Ask" if question else "What would you like to know?",
    ""
    if question
    else "The answer is a sentence of your documents. Below it you see how each layer of the model chose.",
    choose_model=True,
)


def question_box(question: str) -> None:
    with st.form("as2_ask", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Question",
            question,
            key=asked.box_key(),
            placeholder="Ask the documents something",
            label_visibility="collapsed",
        )
        st.form_submit_button("Ask", type="primary", on_click=submitted, width=96)


def submitted() -> None:
    asked.submit(st.session_state[asked.box_key()])


def example_taken() -> None:
    if text := st.session_state.get("as2_example"):
        asked.submit(text)
        asked.new_box()


def empty_corpus() -> None:
    st.info("This corpus is empty: bring in some documents first.", icon=":material/upload_file:")
    links.to("data", "Bring in documents")


def examples() -> None:
    known = asking.example_questions(frame.wb, frame.corpus.id)
    if frame.corpus.documents == 0:
        empty_corpus()
    elif known:
        st.pills("Try one of these", known, format_func=plain, key="as2_example", on_change=example_taken)
    else:
        st.caption("Type a question the documents might answer, and press Enter.")


@st.fragment
def results(found: asked.Result) -> None:
    """Everything that follows the schedule: a replay reruns this alone."""
    errors.show_pending()
    view, generative = found.asked, found.generative_scores  # once: they may come while the page is drawn
    run = view.trace.replay(drops.schedule(len(view.trace.exits)))
    best_first = run.ranking().tolist()
    best, chosen = best_first[0], asked.chosen()
    labels = labelling.labels_seen_by(frame.wb, view.question_id, frame.annotator.id)
    mine = labelling.labels_of(frame.wb, view.question_id, frame.annotator.id)

    def buttons(position: int, where: str) -> None:
        label = mine.get(view.candidates[position].sentence_id)
        label_buttons(frame, view, position, rank=best_first.index(position) + 1, mine=label, where=where)

    draw_answer(view, best)
    buttons(best, "answer")
    draw_facts(view)
    with st.container():  # there in every run, or all that follows would move by one place and be built anew
        both = [] if generative is None else together(run, generative).tolist()
        if both and both[0] != best:
            other = view.candidates[both[0]]
            with st.expander(f"Both rankers together would answer: “{plain(shorten(other.text, 90))}”"):
                st.html(in_context(other, quiet=True))
                buttons(both[0], "together")
    draw_cascade(frame.wb, view, run, labels)
    candidates(found, candidate_table(view, run, generative, labels))

    near = best if chosen is None else chosen
    st.subheader("A closer look", anchor=False)
    this = "This is the best candidate. " if near == best else ""
    st.caption(f"{this}Choose another by its line in the picture or its row in the table.")
    draw_candidate(view, run, near, generative)
    if near != best:
        buttons(near, "near")
    if generative is not None:
        st.markdown("**Which words of the question it explains**")
        draw_explained(frame.wb, view, near)


def candidates(found: asked.Result, table: pd.DataFrame) -> None:
    """The table; the generative ranks join it when they are there."""
    st.subheader("Candidates", anchor=False)
    draw_candidates(table, chosen=asked.chosen(), choose=asked.choose)
    with st.container():
        if not found.generative.done():
            st.caption(":material/hourglass_empty: Generative scores are on their way.")
        elif (failure := found.generative.exception()) is not None:
            errors.show(failure)


def how_read(text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Read as **{plain(text)}**", width="content")
        st.button("Read it as typed", type="tertiary", key="as2_as_typed", on_click=asked.read_as_typed)


question_box(question)
if not question:
    asked.no_question()
    examples()
elif frame.corpus.documents == 0:
    empty_corpus()
else:
    found = asked.result(frame, question)
    if found.asked.typed:
        how_read(found.asked.question)
    if found.asked.candidates:
        complete = found.generative.done()
        results(found)
        if not complete:
            asked.await_generative(found)
    else:
        st.info(
            f"Nothing in {plain(frame.corpus.name)} comes near “{plain(shorten(question, 80))}”. "
            "Ask in other words, or choose another corpus.",
            icon=":material/search_off:",
        )
