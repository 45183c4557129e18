"""What the labels bring besides a retrain: the way to the synonyms that they suggest."""

import streamlit as st

from app.corpora.synonyms import read_synonyms
from app.ranking.synonym_proposals import propose_from_labels
from app.ui import navigation
from app.ui.page import Frame
from app.ui.text import count
from app.workbench.workbench import Workbench
from as2core.synonyms import Synonyms


def draw(frame: Frame) -> None:
    """Nothing where the labels suggest none."""
    synonyms = read_synonyms(frame.wb, frame.corpus.id)
    if number := _count_proposals(frame.wb, frame.corpus.id, frame.corpus.labels, synonyms):
        label = f"The labels suggest {count(number, 'synonym')}: these work at once, without a retrain"
        navigation.to("data", label, view="synonyms")


@st.cache_data(ttl=10, show_spinner=False)
def _count_proposals(_wb: Workbench, corpus_id: int, labels: int, synonyms: Synonyms) -> int:
    """A change of the number of labels or of the synonyms is seen at once, others in 10 s: a page is drawn often."""
    return len(propose_from_labels(_wb, corpus_id))
