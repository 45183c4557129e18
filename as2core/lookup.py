"""What the names on a command line mean: rankers, versions, labelled questions, files of candidates.

The library must not import the workbench, so what only the workbench knows (labels in its database, versions made
there) is found through entry-point groups; where it is not installed, those names are unknown.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2core.errors import As2Error, UnknownData, UnreadableFile
from as2core.messages import count
from as2core.rankers.base import Ranker
from as2core.system.files import is_file, is_folder
from as2core.terminal import print_note
from as2core.types import Candidate, Question
from as2core.version import __version__

if TYPE_CHECKING:
    from as2core.data.catalog import QuestionSet
    from as2core.data.run_matching import RunMatch
    from as2core.sources.content import Problem

COMMANDS, DATA, VERSIONS = "as2.commands", "as2.data", "as2.versions"
ACTIVE = "active"  # the name of the version that answers in the workbench: another one after a promotion


def load_ranker(spec: str, *, versions: Callable[[], Mapping[str, Path]] | None = None, engine: str = "") -> Ranker:
    """The ranker of a spec, a version's name, its directory or what `as2 versions export` made of it, on that engine,
    by default the one of `AS2_ENGINE`; one that sends texts away says so. `versions` are the names known beside the
    catalog's, by default those of versions made here. Raises UnknownRanker, BadSetting, DamagedModel."""
    from as2core.export import import_ranker
    from as2core.rankers.base import ChoosesEngine
    from as2core.rankers.catalog import get, list_destinations
    from as2core.rankers.versions import is_own_kind

    engine = engine or read_engine()
    if is_own_kind(Path(spec)):
        ranker = import_ranker(Path(spec))[0]
        if isinstance(ranker, ChoosesEngine):
            ranker.use(engine)
        return ranker
    for host in list_destinations(spec):
        print_note(f"as2: questions and sentences are sent to {host}")
    return get(spec, versions=versions or list_versions, engine=engine)


def read_engine() -> str:
    """Of cascades whose spec names none, from `AS2_ENGINE`."""
    return os.environ.get("AS2_ENGINE") or "auto"


def cite(spec: str) -> dict[str, str | None]:
    """`version`: the name here of a version, else that on a trained ranker's card, else the release of the code, which
    may be another package's; `weights`: their SHA-256."""
    from as2core.rankers.catalog import CATALOG, INSTALLED, MODELS_DIR, find_shipped_model, split_spec

    if spec.partition(":")[0] in CATALOG:
        model = find_shipped_model(spec)
        path, alias = None if model is None else MODELS_DIR / model, None
    else:
        name, _ = split_spec(spec)
        versions = list_versions()
        path = versions.get(name, Path(name))
        alias = next((n for n, folder in versions.items() if folder == path and n != ACTIVE), None)
    try:
        card = json.loads((path / "card.json").read_text()) if path else {}
    except (OSError, ValueError):
        card = {}
    release = INSTALLED.get(spec.partition(":")[0], f"as2core {__version__}")
    return {"version": alias or card.get("name", release), "weights": card.get("sha256")}


def list_versions() -> dict[str, Path]:
    """The versions made here, by name, as the entry points of the group `as2.versions` list them."""
    return {name: Path(path) for list_ in load_entry_points(VERSIONS).values() for name, path in list_().items()}


def keep_common_questions(specs: Collection[str], questions: Sequence[Question]) -> tuple[list[Question], list[str]]:
    """The questions that every run which these rankers are, or have as a part, has a candidate of, and a note on each
    run that lacks some. A run that has none of them, or cannot be read, does not count: its ranker raises when it is
    used. Raises BadSetting where no question is left."""
    from as2core.data.run_matching import keep_common, match_run
    from as2core.rankers.catalog import list_run_files

    matches: dict[str, RunMatch] = {}
    for spec in specs:
        with suppress(As2Error):
            matches |= {str(file): match_run(file, questions) for file in list_run_files(spec)}
    return keep_common({name: match for name, match in matches.items() if match.is_usable}, questions)


def note_trained_on(spec: str, questions: Collection[str]) -> list[str]:
    """What it means for the figures that a ranker was trained, or validated, on some of the questions; nothing if on
    none. Raises BadSetting."""
    from as2core.evaluation.training_record import describe_overlap, list_trained_on, list_validated_on
    from as2core.rankers.catalog import split_spec

    def find_folder(version: str) -> Path:
        name, _ = split_spec(version)
        return list_versions().get(name, Path(name))

    trained_on, validated_on = list_trained_on(spec, find_folder), list_validated_on(spec, find_folder)
    return describe_overlap(spec, trained_on, questions, validated_on=validated_on)


def read_questions(spec: str, *, titles: bool = True) -> list[Question]:
    """The questions of a file, of a shipped set, or of `<name>[:<which>]` registered in the group `as2.data`; without
    the titles of their sentences' documents if not `titles`. Raises UnknownData, or UnreadableFile."""
    return list(open_questions(spec, titles=titles, min_bytes=inf))


def read_question_set(spec: str, *, titles: bool = True) -> QuestionSet:
    """As `read_questions`, with a problem for each line that could not be read, which the caller has to tell of."""
    from as2core.data.catalog import QuestionSet

    questions, problems = _open_questions(spec, inf)
    return QuestionSet([q if titles else q.drop_titles() for q in questions], list(problems))


def open_questions(spec: str, *, titles: bool = True, min_bytes: float | None = None) -> Sequence[Question]:
    """As `read_questions`; those of a large file stay there (as2core.data.catalog.open_questions)."""
    from as2core.data.catalog import LARGE_BYTES
    from as2core.data.lazy_questions import map_questions

    questions, problems = _open_questions(spec, LARGE_BYTES if min_bytes is None else min_bytes)
    if problems:
        print_note(f"as2: {spec}: {describe_problems(problems)}")
    return questions if titles else map_questions(questions, lambda _, q: q.drop_titles())


def describe_problems(problems: Sequence[Problem]) -> str:
    """`2 lines left out, the first: line 3: not JSON ...`"""
    return f"{count(len(problems), 'line')} left out, the first: {problems[0]}"


def _open_questions(spec: str, min_bytes: float) -> tuple[Sequence[Question], Sequence[Problem]]:
    from as2core.data import catalog

    name, _, which = spec.partition(":")
    readers = load_entry_points(DATA)
    if name in readers and not (is_file(spec) or is_folder(spec)):
        return readers[name](which), ()
    if name == "labels" and not (is_file(spec) or is_folder(spec)):
        raise UnknownData(
            "labels are in the workbench's database: run this in a checkout, with its `app` extra installed"
        )
    return catalog.open_questions(spec, min_bytes=min_bytes)


def read_candidates(path: Path) -> list[Candidate]:
    """Texts to rank: plain lines, or JSON lines that are strings or objects with "text" and perhaps "title". Where one
    line is an object, all have to be JSON: a broken one would pass for a text. Raises UnreadableFile."""
    from as2core.sources.content import read_lines

    source = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes() if path.is_fifo() else path
    rows = [(number, line.strip(), _parse_line(line)) for number, line in read_lines(source)]
    is_json = path.suffix == ".jsonl" or any(isinstance(record, dict) for _, _, record in rows)
    ids = {str(record["id"]) for _, _, record in rows if isinstance(record, dict) and record.get("id") is not None}
    candidates: list[Candidate] = []
    for number, line, record in rows:
        if record is None and is_json:
            raise UnreadableFile(f"{path}: line {number}: not JSON")
        record = line if record is None else record
        if isinstance(record, str):
            record = {"text": record}
        if not isinstance(record, dict) or not isinstance(record.get("text"), str):
            raise UnreadableFile(f'{path}: line {number}: "text" is missing')
        title = record.get("title") or ""
        if not isinstance(title, str):
            raise UnreadableFile(f'{path}: line {number}: "title" is not a text')
        key = record.get("id")
        candidate_id = _number(len(candidates), ids) if key is None else str(key)
        candidates.append(Candidate(candidate_id, record["text"], title=title))
    if not candidates:
        raise UnreadableFile(f"{path}: holds no candidates: write one text a line")
    return candidates


def _number(position: int, ids: Collection[str]) -> str:
    """The id of a text without one: its position, marked where another text has that as its id."""
    name = str(position)
    while name in ids:
        name += "~"
    return name


def _parse_line(line: str) -> object:
    """The JSON that a line is, None if it is none."""
    if not line.strip().startswith(("{", '"')):
        return None
    try:
        return json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        return None


def load_entry_points(group: str) -> dict[str, Callable[..., Any]]:
    """What installed packages offer in an entry-point group, by name; one that cannot be loaded is left out, with a
    note unless its module is missing."""
    loaded = {}
    for point in importlib.metadata.entry_points(group=group):
        try:
            loaded[point.name] = point.load()
        except Exception as error:  # of code that may not be ours
            missing = error.name if isinstance(error, ImportError) else None
            if missing not in (point.module, point.module.partition(".")[0]):
                print_note(f"as2: {point.value} ({group}) left out: {error}")
    return loaded
