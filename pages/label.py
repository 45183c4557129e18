"""Label: one sentence at a time, or one question with its whole list; a key for every label."""

from app.ui.label.item import style
from app.ui.label.page import draw
from app.ui.page import page

frame = page("Label", "Which sentences answer the question?")
style()
draw(frame)
