"""The glossary of the side bar, and that of the documentation."""

from pathlib import Path

from app.ui.landing.glossary import TERMS

INDEX = Path(__file__).parents[4] / "docs" / "index.md"


def test_the_documentation_has_every_term_in_the_same_words():
    rows = [line.strip("|").split("|") for line in INDEX.read_text().splitlines() if line.startswith("| ")]
    documented = {term.strip(): text.strip().replace("`", "") for term, text in rows}
    assert {term: documented.get(term) for term in TERMS} == TERMS
