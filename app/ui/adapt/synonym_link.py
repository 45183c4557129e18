"""What the labels bring besides a retrain: the way to the synonyms that they suggest."""

from app.ranking.synonym_proposals import propose_from_labels
from app.ui import navigation
from app.ui.page import Frame
from as2core.messages import count


def draw(frame: Frame) -> None:
    """Nothing where the labels suggest none."""
    if proposals := propose_from_labels(frame.wb, frame.corpus.id):
        label = f"The labels suggest {count(len(proposals), 'synonym')}: these work at once, without a retrain"
        navigation.to("data", label, view="synonyms")
