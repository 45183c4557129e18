"""Ask: a question over the corpus, its answer, and what every layer of the cascade made of the candidates."""

from app.components.page import page

frame = page("Ask", choose_model=True)
