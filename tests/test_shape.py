"""How large a folder and a function may be, and how many parameters a function may have."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ("app", "as2core", "db", "pages")
MAX_MODULES_PER_FOLDER = 15
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8
MAX_EXCEPTIONS = 5
EXCEPTIONS = {  # "path:function" -> why it may be larger
    "app/cli/adapt.py:adapt": "a parameter is an option of `as2 adapt`, and there is one for each choice of the form",
    "app/cli/ask.py:ask": "a parameter is an option of `as2 ask`",
    "as2core/commands/train.py:train": "a parameter is an option of `as2 train`",
    "as2core/commands/tune.py:tune": "a parameter is an option of `as2 tune`",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions() -> list[tuple[str, Function]]:
    """`("path:function", its source)`."""
    return [
        (f"{path.relative_to(ROOT)}:{node.name}", node)
        for package in OURS
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, Function)
    ]


def lines(function: Function) -> int:
    """From `def` to the last line, without decorators."""
    return (function.end_lineno or 0) - function.lineno + 1


def parameters(function: Function) -> int:
    """Keyword-only and starred ones included, `self` and `cls` not."""
    a = function.args
    named = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if p.arg not in ("self", "cls")]
    return len(named) + bool(a.vararg) + bool(a.kwarg)


def test_no_folder_of_the_app_has_more_modules_than_a_reader_surveys():
    folders = {p.parent for p in (ROOT / "app").rglob("*.py")}
    sizes = {str(f.relative_to(ROOT)): sum(p.name != "__init__.py" for p in f.glob("*.py")) for f in folders}
    assert {name: n for name, n in sizes.items() if n > MAX_MODULES_PER_FOLDER} == {}


def test_no_function_is_longer_than_a_page():
    long = {name: lines(f) for name, f in functions() if lines(f) > MAX_FUNCTION_LINES}
    assert {name: n for name, n in long.items() if name not in EXCEPTIONS} == {}


def test_no_function_has_more_parameters_than_a_caller_remembers():
    many = {name: parameters(f) for name, f in functions() if parameters(f) > MAX_PARAMETERS}
    assert {name: n for name, n in many.items() if name not in EXCEPTIONS} == {}


def test_the_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= MAX_EXCEPTIONS and all(EXCEPTIONS.values())
    large = {name for name, f in functions() if lines(f) > MAX_FUNCTION_LINES or parameters(f) > MAX_PARAMETERS}
    assert EXCEPTIONS.keys() <= large


def test_lines_and_parameters_are_counted_as_a_reader_does():
    function = ast.parse("@decorated\ndef f(self, a, /, b, *rest, c=1, **options):\n    pass\n").body[0]
    assert isinstance(function, Function)
    assert (lines(function), parameters(function)) == (2, 5)
