"""Adapt: retrain from labels, compare before and after, and decide."""

from app.ui.adapt.page import draw
from app.ui.page import open_page

draw(open_page("Adapt", "Retrain the ranker on your labels, and promote the result if it is better."))
