"""Label: one sentence at a time, or one question with its whole list; a key for every label."""

from app.ui.label.item import draw_style
from app.ui.label.page import draw
from app.ui.page import open_page

frame = open_page("Label", "Which sentences answer the question?")
draw_style()
draw(frame)
