"""The docs are complete: every command with its options, every page, every setting, and no link into nothing."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).resolve().parents[1]
TEXTS = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]


def commands():
    """`("as2 labels import", {"--format", ...})` for every command there is."""
    from app.cli import register
    from as2core.cli import build

    def walk(command, path):
        for name, sub in getattr(command, "commands", {}).items():
            yield from walk(sub, f"{path} {name}")
        if path != "as2":
            yield (
                path,
                {
                    o
                    for p in command.params
                    for o in (*p.opts, *p.secondary_opts)
                    if o.startswith("--") and o != "--help"
                },
            )

    yield from walk(typer.main.get_command(build([register])), "as2")


def sections(text: str) -> dict[str, str]:
    """The text under each second-level heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def make_anchor(heading: str) -> str:
    """As GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def parts_by_anchor(path: Path) -> dict[str, str]:
    """The text from each heading to the next one of its level or above it."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.M | re.S)
    heads = list(re.finditer(r"^(#{1,6}) (.+)$", text, re.M))
    parts: dict[str, str] = {}
    for i, head in enumerate(heads):
        later = (h.start() for h in heads[i + 1 :] if len(h[1]) <= len(head[1]))
        anchor = make_anchor(head[2])
        n = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", known) is not None for known in parts)
        parts[f"{anchor}-{n}" if n else anchor] = text[head.end() : next(later, len(text))]
    return parts


def read_summary(page: Path) -> Iterator[tuple[str, str]]:
    """The figures of each row of "In short", with the tables that it links to."""
    for row in sections(page.read_text())["In short"].strip().splitlines()[2:]:
        if not row.startswith("|"):
            return
        _, figures, where = (cell.strip() for cell in row.strip("|").split(" | "))
        links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", where)
        yield figures, "\n".join(parts_by_anchor(page.parent / (f or page.name))[a] for f, a in links if a)


def top_level_names(path: Path) -> set[str]:
    """Functions, classes and constants of a module."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {x.id for t in targets for x in ast.walk(t) if isinstance(x, ast.Name)}
    return names


@pytest.mark.parametrize(("command", "options"), list(commands()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_command_is_documented_with_all_its_options(command, options):
    documented = sections((ROOT / "docs/cli.md").read_text())
    assert command in documented
    missing = {o for o in options if not re.search(rf"{o}(?![\w-])", documented[command])}
    assert not missing


def test_the_table_of_commands_has_each_under_the_heading_of_the_help():
    from app.cli import register
    from as2core.cli import build

    text = (ROOT / "docs/cli.md").read_text().partition("\n`as2 COMMAND --help`")[0]
    rows = re.findall(r"^\| (\w.*) \| (\[.*) \|$", text, re.M)
    documented = {name: panel for panel, names in rows for name in re.findall(r"\[([\w-]+)\]\(#as2-", names)}
    mounted = typer.main.get_command(build([register])).commands
    assert documented == {name: command.rich_help_panel for name, command in mounted.items()}


def test_the_docs_name_no_command_or_option_that_is_gone():
    known = dict(commands())
    for heading, text in sections((ROOT / "docs/cli.md").read_text()).items():
        assert heading in known
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
        everywhere = {o for options in known.values() for o in options} | {"--help", "--verbose"}
        assert named <= everywhere, heading


def test_the_help_of_adapt_names_its_defaults():
    from app.adapt.label_selection import PRESUMED_COUNT
    from app.adapt.settings import REPLAY
    from app.cli import register
    from as2core.cli import build

    adapt = typer.main.get_command(build([register])).commands["adapt"]
    texts = {p.name: p.help for p in adapt.params}
    assert f"; {REPLAY} by default." in texts["replay"]
    assert f"; {PRESUMED_COUNT} by default." in texts["presumed"]


def list_places(heading: str) -> list[str]:
    """The lines of a section of architecture.md that name a module."""
    text = sections((ROOT / "docs/architecture.md").read_text())[heading]
    return [line for line in text.splitlines() if ".py" in line]


def test_the_rules_and_the_way_of_a_label_are_where_the_docs_say():
    rules, way = list_places("Where a rule lives"), list_places("The way of a label")
    assert len(rules) >= 12 and len(way) >= 9
    for row in (*rules, *way):
        places = re.findall(r"`([\w/]+\.py):(\w+)`", row)
        assert places and len(places) == row.count(".py"), row
        for file, name in places:
            assert name in top_level_names(ROOT / file), f"{file} has no {name}"


def test_the_table_of_layers_has_every_module_of_the_library():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [layers] = [c["layers"] for c in contracts if c["id"] == "core"]
    modules = set(re.findall(r"\w+", " ".join(layers)))
    table = sections((ROOT / "docs/architecture.md").read_text())["Import rules"]
    assert "metrics" in modules and not [m for m in modules if f"`{m}`" not in table]


def test_what_a_list_prints_as_json_is_documented():
    from app.jobs.queue import JobView
    from app.upkeep.backup import BackupView
    from app.upkeep.check import Finding
    from app.versions.registry import VersionView
    from app.workbench.people import AnnotatorView

    documented = sections((ROOT / "docs/cli.md").read_text())
    views = {"jobs": JobView, "versions": VersionView, "people": AnnotatorView, "check": Finding, "backup": BackupView}
    for name, view in views.items():
        words = set(re.findall(r"\w+", documented[f"as2 {name}"].partition("The JSON has")[2]))
        assert not {field.name for field in fields(view)} - words, name


def test_every_technique_has_its_line_in_the_list():
    folder = ROOT / "docs/techniques"
    pages = {p.name for p in folder.glob("*.md")} - {"README.md"}
    assert pages == set(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text()))


def test_every_page_is_documented():
    documented = sections((ROOT / "docs/pages.md").read_text())
    pages = [p.stem for p in (ROOT / "pages").glob("*.py") if p.stem != "__init__"]
    assert len(pages) == 6
    assert {p.capitalize() for p in pages} == set(documented)


def test_every_kind_of_document_is_documented():
    from as2core.documents.reading import SUFFIXES

    formats = re.search(r"Formats: ([a-z, ]+),", sections((ROOT / "docs/cli.md").read_text())["as2 ingest"])
    assert formats and {".markdown", ".htm", *(f".{name}" for name in formats[1].split(", "))} == set(SUFFIXES)


def test_every_measure_is_documented():
    from as2core.metrics import MEASURES

    assert f", {', '.join(MEASURES)}, seconds" in sections((ROOT / "docs/cli.md").read_text())["as2 eval"]
    *first, last = MEASURES
    assert f"- {', '.join(first)} and {last} on the frozen benchmark" in (ROOT / "docs/adapting.md").read_text()


def test_every_setting_is_documented_with_its_variable():
    from app.workbench.settings import Settings

    text = (ROOT / "docs/running.md").read_text()
    missing = [f for f in Settings.model_fields if f"| `AS2_{f.upper()}` |" not in text]
    assert not missing


def test_the_settings_that_compose_passes_on_are_those_that_the_docs_name():
    passed_on = set(re.findall(r"\$\{(AS2_\w+):?-", (ROOT / "compose.yaml").read_text()))
    page = parts_by_anchor(ROOT / "docs/sharing.md")
    listed = page["steps"] + page["container"].partition("with them; Compose")[0]
    assert passed_on and passed_on == set(re.findall(r"`(AS2_\w+)`", listed))


def test_every_extra_is_documented():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    listed = sections((ROOT / "docs/running.md").read_text())["Without make"]
    assert not [extra for extra in extras if f"`{extra}`" not in listed]


def test_every_training_setting_is_documented():
    from as2core.training.settings import TrainSettings

    text = "\n".join(p.read_text() for p in TEXTS)
    assert not [f for f in TrainSettings.__dataclass_fields__ if not re.search(rf"`{f}`|\b{f}=", text)]


def test_every_setting_of_the_catalog_is_documented():
    from as2core.rankers.catalog import CATALOG

    text = "\n".join(p.read_text() for p in TEXTS)
    assert not [(e.name, s) for e in CATALOG.values() for s in e.settings if f"`{s}`" not in text]


def test_the_models_that_rank_by_generation_are_listed():
    from as2core.nn.backbone import SUPPORTED
    from as2core.nn.question_lm import CAUSAL, SEQ2SEQ

    text = " ".join((ROOT / "docs/techniques/generative.md").read_text().split())
    for kind, known in (("Encoders", SUPPORTED), ("Causal", CAUSAL), ("Seq2seq", SEQ2SEQ)):
        listed = re.search(rf"{kind}: ([^.]+)\.", text)
        assert listed and set(listed[1].split(", ")) == set(known)


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    links = [x for x in re.findall(r"\]\(([^)#\s]+)", path.read_text()) if "://" not in x]
    gone = [x for x in links if not (path.parent / x).exists()]
    assert not gone


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_anchor_is_a_heading(path):
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.M | re.S)
    links = [x for x in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text) if "://" not in x[0]]
    pages = {file: parts_by_anchor(path.parent / file if file else path) for file, _ in links}
    assert not [f"{file}#{anchor}" for file, anchor in links if anchor not in pages[file]]


@pytest.mark.parametrize("page", ["performance.md", "results.md"])
def test_the_figures_in_short_are_those_of_the_tables(page):
    rows = list(read_summary(ROOT / "docs" / page))
    assert len(rows) >= 7
    for figures, tables in rows:
        numbers = re.findall(r"\d(?:[\d,.]*\d)?", figures)
        assert not [n for n in numbers if not re.search(rf"(?<![\d.,]){re.escape(n)}(?![\d]|[.,]\d)", tables)], figures


def test_the_table_of_the_readme_has_the_figures_of_the_results():
    measured = re.split(r"^## ", parts_by_anchor(ROOT / "docs/results.md")["the-shipped-rankers"], flags=re.M)[1:]
    rows = re.findall(r"^\| [^|]+ \| (\.\d{3}.*) \|$", (ROOT / "README.md").read_text(), re.M)
    assert len(rows) == 6 and len(measured) == 3
    for row in rows:
        figures = [figure.strip() for figure in row.split("|")]
        for i, section in enumerate(measured):
            ap, p_at_1 = (f"0{x}" for x in figures[2 * i : 2 * i + 2])
            assert re.search(rf"^\| .* \| {ap} \(.*\) \| [\d.]+ \| {p_at_1} \|", section, re.M), (row, i)


def test_the_readme_holds_what_a_reader_looks_for_first():
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text and "make test" in text
    assert "http://127.0.0.1:8501" in text
    assert "Apache-2.0" in text


def test_every_make_target_the_texts_name_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {
        t
        for path in TEXTS
        for t in re.findall(r"\bmake ([a-z-]+)", path.read_text(), re.M)
        if f"`make {t}" in path.read_text() or f"$ make {t}" in path.read_text()
    }
    assert {"demo", "test", "lint"} <= named <= targets
