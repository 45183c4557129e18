"""Ask: a question over the corpus, its answer, and how the cascade ranked and dropped the candidates."""

from app.ui.ask.page import draw
from app.ui.ask.result import read_question
from app.ui.page import open_page
from app.ui.text import shorten

MAX_TAB_CHARS = 60

question = read_question()
frame = open_page(
    "Ask" if question else "What would you like to know?",
    "" if question else "Ask a question. The answer is a sentence from the documents, with the steps that led to it.",
    tab=shorten(question, MAX_TAB_CHARS) or "Ask",
    choose_model=True,
    focus_field=not question,
)
draw(frame, question)
