"""What the words of the pages mean, in the side bar of every page. A test holds that the table in docs/index.md has the
same rows, which images of containers lack."""

import streamlit as st

from app.ui.text import escape

TERMS = {
    "corpus": "documents that are searched together, with their questions and labels",
    "candidate": "a sentence that may answer a question",
    "label": "an annotator's judgement of a candidate: correct, incorrect or unsure",
    "labelled pair": "a question and one of its candidates, with a label; some corpora come with labels",
    "queue": "the candidates to label next, in an order that suits a purpose",
    "ranker": "what puts candidates in order, such as the cascade",
    "score": "a ranker's output for a candidate; not a label",
    "first stage": "a cheap ranker that selects what the cascade reads",
    "exit": "a layer of the encoder after which a classifier scores the candidates and a share of them is dropped",
    "share dropped at each exit": "how many of its candidates an exit drops; the setting drop_ratio",
    "generative rank": "the rank by a second ranker, which scores how likely the question is after the sentence",
    "calibration": "fitting scores so that they can be read as probabilities",
    "version": "a trained ranker in a directory, with a card that records how it was made",
    "promote": "make a version the one in use",
    "validation (dev) questions": "decide when a training stops; not trained on",
    "held-out questions": "never trained on; before and after a retrain are compared on them",
    "frozen benchmark": "a fixed set of questions that shows what a retrain forgets",
    "gate": "a condition that a version has to meet before it is promoted",
    "P@1": "the share of questions whose first candidate is correct",
    "AP": "average precision: 1 if all correct candidates come first; its mean over questions is also called MAP",
    "RR": "1 divided by the rank of the first correct candidate",
    "nDCG@10": "what the first ten candidates gain, less the lower they rank, as a share of the best order",
    "run": "a file of what a search engine ranked: for each question its candidates with their scores",
    "qrels": "a file of labels by the ids of questions and candidates, as trec_eval reads it",
}
DOCUMENTATION = "The documentation is in the folder docs of the program’s source; begin with docs/index.md."


def draw_glossary() -> None:
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in TERMS.items())
    with st.popover("Glossary", icon=":material/menu_book:", type="tertiary", key="as2_glossary"):
        st.html(f'<dl class="as2-glossary">{rows}</dl><p class="as2-note">{DOCUMENTATION}</p>')
