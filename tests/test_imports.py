"""No circle among our modules, whether they import each other at the top or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("app", "as2core", "db", "pages")


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def trees() -> dict[str, ast.Module]:
    """`{module: its source}`."""
    files = [p for package in OURS for p in sorted((ROOT / package).rglob("*.py"))]
    return {module_name(p): ast.parse(p.read_text()) for p in files}


def walk_executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below but for those that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from walk_executed(other)
        else:
            yield child
            yield from walk_executed(child)


def import_graph(modules: dict[str, ast.Module]) -> dict[str, set[str]]:
    """`{module: the modules of ours that it imports}`, function-level imports included."""
    graph: dict[str, set[str]] = {}
    for name, tree in modules.items():
        targets: set[str] = set()
        for node in walk_executed(tree):
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= named & modules.keys()
                if named - modules.keys():
                    targets.add(node.module)
        graph[name] = targets & modules.keys() - {name}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one circle in the order of their imports, [] where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def test_no_module_imports_itself_through_others():
    cycle = find_cycle(import_graph(trees()))
    assert not cycle, " -> ".join(cycle)


def test_no_module_is_imported_by_its_name_in_a_string():
    calls = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
    ]
    # the catalog finds the modules of rankers by walking their folder; it names none
    assert [call for call in calls if not call.startswith("as2core.rankers.catalog:")] == []


def test_no_module_is_imported_relatively():
    relative = [
        f"{name}:{node.lineno}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


@pytest.mark.parametrize(
    ("first", "cycle"),
    [
        ("import app.b", True),
        ("from app import b", True),
        ("from app.b import name", True),
        ("def run():\n    from app.b import name", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.b import name", False),
        ("import json", False),
    ],
)
def test_a_circle_is_found_wherever_the_import_is_written(first, cycle):
    modules = {"app": ast.parse(""), "app.a": ast.parse(first), "app.b": ast.parse("from app.a import other")}
    found = find_cycle(import_graph(modules))
    assert set(found) == ({"app.a", "app.b"} if cycle else set())
