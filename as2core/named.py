"""What the names on a command line mean: rankers, versions, labelled questions, files of candidates.

The library must not import the workbench, so what only the workbench knows (labels in its database, versions made
there) is found through entry-point groups; where it is not installed, those names mean nothing.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import as2core
from as2core.errors import UnknownData, UnreadableFile
from as2core.terminal import note
from as2core.types import Candidate, Question

COMMANDS, DATA, VERSIONS = "as2.commands", "as2.data", "as2.versions"


def ranker_named(spec: str) -> Any:
    """The ranker of a spec, a version's name, or its directory, on the engine of `AS2_ENGINE`. Raises UnknownRanker,
    BadSetting, DamagedModel."""
    from as2core.rankers.catalog import get

    return get(spec, versions=versions, engine=os.environ.get("AS2_ENGINE") or "auto")


def cite(spec: str) -> dict[str, str | None]:
    """`version`: the name on a trained ranker's card, else the release of the code; `weights`: their SHA-256."""
    from as2core.rankers.catalog import CATALOG, MODELS_DIR, shipped_model, version_and_settings

    if spec.partition(":")[0] in CATALOG:
        model = shipped_model(spec)
        path = None if model is None else MODELS_DIR / model
    else:
        name, _ = version_and_settings(spec)
        path = versions().get(name, Path(name))
    try:
        card = json.loads((path / "card.json").read_text()) if path else {}
    except (OSError, ValueError):
        card = {}
    return {"version": card.get("name", f"as2core {as2core.__version__}"), "weights": card.get("sha256")}


def versions() -> dict[str, Path]:
    """The versions made here, by name, from whoever registered in the group `as2.versions`."""
    return {name: Path(path) for give in registered(VERSIONS).values() for name, path in give().items()}


def questions_of(spec: str) -> list[Question]:
    """The questions of a file, of a shipped set, or of `<name>[:<which>]` registered in the group `as2.data`.
    Raises UnknownData, or UnreadableFile."""
    from as2core.data.catalog import load_questions

    name, _, which = spec.partition(":")
    givers = registered(DATA)
    if name in givers and not Path(spec).exists():
        return givers[name](which)
    if name == "labels" and not Path(spec).exists():
        raise UnknownData(
            "labels are in the workbench's database: run this in a checkout, with its `app` extra installed"
        )
    loaded = load_questions(spec)
    if loaded.problems:
        lines = f"{len(loaded.problems)} line{'s' if len(loaded.problems) > 1 else ''}"
        note(f"as2: {spec}: {lines} left out, the first: {loaded.problems[0]}")
    return loaded.questions


def read_candidates(path: Path) -> list[Candidate]:
    """Texts to rank: plain lines, or JSON lines that are strings or objects with "text" and perhaps "title".
    Raises UnreadableFile."""
    from as2core.data.source import numbered_lines

    source = sys.stdin.buffer.read() if str(path) == "-" else path
    found: list[Candidate] = []
    for number, line in numbered_lines(source):
        record: Any = line.strip()
        if record.startswith(("{", '"')):
            try:
                record = json.loads(line)
            except (json.JSONDecodeError, RecursionError):
                if path.suffix == ".jsonl":
                    raise UnreadableFile(f"{path}: line {number}: not JSON") from None
        if isinstance(record, str):
            record = {"text": record}
        if not isinstance(record.get("text"), str):
            raise UnreadableFile(f'{path}: line {number}: "text" is missing')
        title = record.get("title") or ""
        if not isinstance(title, str):
            raise UnreadableFile(f'{path}: line {number}: "title" is not a text')
        given = record.get("id")
        found.append(Candidate(str(len(found) if given is None else given), record["text"], title=title))
    if not found:
        raise UnreadableFile(f"{path}: holds no candidates: write one text a line")
    return found


def registered(group: str) -> dict[str, Callable[..., Any]]:
    """What installed packages offer in an entry-point group; one whose module is not there offers nothing."""
    found = {}
    for point in importlib.metadata.entry_points(group=group):
        try:
            found[point.name] = point.load()
        except (ImportError, AttributeError) as error:
            if getattr(error, "name", None) not in (point.module, point.module.partition(".")[0]):
                note(f"as2: {point.value} ({group}) left out: {error}")
    return found
