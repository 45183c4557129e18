"""The glossary of the side bar, and that of the documentation."""

import ast
import re
from pathlib import Path

from app.ui.landing.glossary import TERMS
from as2core.metrics import MEASURES

ROOT = Path(__file__).parents[4]
INDEX = ROOT / "docs" / "index.md"
# what the glossary calls a ranker or a version, held out, and ranks
OTHER_NAMES = re.compile(r"\bthe model\b|\b(?:kept|set) apart\b|\bmodel ranks\b", re.IGNORECASE)


def test_the_documentation_has_every_term_in_the_same_words():
    rows = [line.strip("|").split("|") for line in INDEX.read_text().splitlines() if line.startswith("| ")]
    documented = {term.strip(): text.strip().replace("`", "") for term, text in rows}
    assert {term: documented.get(term) for term in TERMS} == TERMS


def test_the_glossary_has_every_measure_of_compare():
    assert set(MEASURES) <= TERMS.keys()


def test_the_pages_and_commands_use_no_other_name_for_a_thing():
    texts = (
        (path.name, text)
        for folder in ("app", "pages")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if OTHER_NAMES.search(source := path.read_text())
        for text in list_texts(ast.parse(source))
    )
    assert [x for x in texts if OTHER_NAMES.search(x[1])] == []


def list_texts(tree: ast.AST) -> list[str]:
    """Of a module, without its docstrings."""
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in statements)
    return [node.value for node in constants if isinstance(node.value, str)]
