import ast
from pathlib import Path

import pytest

from as2core.types import LABELS, SPLITS, Candidate, Question


@pytest.mark.parametrize(
    ("labels", "has_both"), [((1, 0), True), ((0, None, 1, 1), True), ((1, None), False), ((0, 0), False), ((), False)]
)
def test_a_question_has_both_labels_with_a_correct_and_an_incorrect_candidate(labels, has_both):
    candidates = (Candidate(str(i), "a sentence", label) for i, label in enumerate(labels))
    assert Question("q", "why ?", tuple(candidates)).has_both_labels is has_both


def list_constants(tree: ast.AST) -> list[tuple]:
    """The tuples and lists of constants, but for those of an annotation, which can name no other."""
    annotations = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    return [
        tuple(element.value for element in node.elts if isinstance(element, ast.Constant))
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple | ast.List) and id(node) not in annotations
    ]


def test_the_names_of_labels_and_of_splits_are_written_once():
    root = Path(__file__).resolve().parents[2]
    files = [path for package in ("app", "as2core", "db", "pages") for path in (root / package).rglob("*.py")]
    places = [
        str(path.relative_to(root))
        for path in files
        for values in list_constants(ast.parse(path.read_text()))
        if values in (LABELS, LABELS[:2], SPLITS)
    ]
    assert places == ["as2core/types.py"] * 2
