"""Rankings that people upload: runs (`as2core.data.runs`) of the search engine that they have, to compare with ours.

Each is a file of the home, and a ranker by the file's name, for everybody who may see comparisons. A name never gets
another content: the figures of earlier comparisons are by names. The reasons:
docs/decisions/0093-an-uploaded-ranking-is-a-file-of-the-home.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path

from app.versions import registry
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.data.run_matching import RunMatch, match_run
from as2core.data.runs import read_run_scores
from as2core.errors import BadSetting, UnknownRanker, UnreadableFile
from as2core.rankers.run import RunRanker
from as2core.sources.content import name_file, read_bytes
from as2core.system.files import is_file, replace_file
from as2core.types import Question

MAX_RUN_BYTES = 50_000_000  # unpacked: some million lines
MAX_RUNS = 100  # in a home
MAX_NAME_CHARS = 60
ENDINGS = (".run", ".trec")  # of a stored one, whose form is found by its content
UPLOAD, DELETE = "upload a ranking", "delete a ranking"


def list_runs(wb: Workbench) -> list[str]:
    """The newest first."""
    files = [f for f in wb.settings.rankings_dir.glob("[!.]*") if f.suffix in ENDINGS]
    return [f.name for f in sorted(files, key=lambda f: (-f.stat().st_mtime, f.name))]


def find_run(wb: Workbench, name: str) -> Path | None:
    """The file of an uploaded ranking; None for what is none, or a version of that name."""
    if not (name.endswith(ENDINGS) and re.fullmatch(r"[\w-][\w.-]*", name)):
        return None
    file = wb.settings.rankings_dir / name
    return file if is_file(file) else None


def add_run(wb: Workbench, file_name: str, content: bytes, *, by: int | None = None) -> str:
    """Store an uploaded run; returns the name it has as a ranker: that of its file, with a number where another content
    has that name. The same content is stored once. Raises NotAllowed for a viewer, BadSetting for a file that is too
    large or one too many, UnreadableFile with the line that is wrong."""
    with wb.read() as s:
        people.allow(s, by, UPLOAD)
    _check_content(Path(file_name).name, content)
    names, folder = list_runs(wb), wb.settings.rankings_dir
    versions = {v.name for v in registry.list_versions(wb, kind=None)}
    for name in _number_names(_tidy_name(file_name)):
        if name in names and (folder / name).read_bytes() == content:
            return name
        if name not in names and name not in versions:
            break
    if len(names) >= MAX_RUNS:
        raise BadSetting(f"{MAX_RUNS} rankings are stored here already: delete some of them")
    with replace_file(folder / name) as part:
        part.write_bytes(content)
    audit.write(wb, by, UPLOAD, name, f"{len(content):,} bytes")
    return name


def delete_run(wb: Workbench, name: str, *, by: int | None = None) -> None:
    """Comparisons that are done keep their figures. Raises NotAllowed for a viewer, UnknownRanker."""
    with wb.read() as s:
        people.allow(s, by, DELETE)
    if (file := find_run(wb, name)) is None:
        raise UnknownRanker(f"the ranking {name} no longer exists; reload the page")
    file.unlink(missing_ok=True)
    audit.write(wb, by, DELETE, name)


def load_run(wb: Workbench, name: str) -> RunRanker | None:
    file = find_run(wb, name)
    return None if file is None else RunRanker(file, name=name)


def count_matches(wb: Workbench, name: str, questions: Sequence[Question]) -> RunMatch:
    """Raises UnknownRanker where it was deleted, UnreadableFile."""
    if (file := find_run(wb, name)) is None:
        raise UnknownRanker(f"the ranking {name} no longer exists: choose another ranker, or upload it again")
    return match_run(file, questions)


def _check_content(name: str, content: bytes) -> None:
    """Raises UnreadableFile for what is no run, with the line that is wrong and what to do, BadSetting for what is too
    large."""
    with name_file(name):
        text = read_bytes(content)
        if len(text) > MAX_RUN_BYTES:
            raise BadSetting(
                f"{name} has {len(text) / 1e6:,.0f} MB of text, and {MAX_RUN_BYTES / 1e6:,.0f} are taken: keep the "
                "first 100 candidates of each question"
            )
        run = read_run_scores(text)
    if not any(run.values()):
        raise UnreadableFile(f"{name}: it {'ranks no candidate' if text.strip() else 'is empty'}")


def _tidy_name(file_name: str) -> str:
    """What a ranker can be called after a file: specs and addresses divide names by some characters."""
    name = re.split(r"[/\\]", file_name)[-1].removesuffix(".gz")
    stem = re.sub(r"[^\w.-]+", "-", re.sub(r"\.(run|trec|json|csv|txt|tsv|res|out)$", "", name))
    return f"{stem[:MAX_NAME_CHARS].strip('-.') or 'ranking'}{'.trec' if name.endswith('.trec') else '.run'}"


def _number_names(name: str) -> Iterator[str]:
    """`a.run`, `a-2.run`, `a-3.run` and so on."""
    stem, _, ending = name.rpartition(".")
    return chain([name], (f"{stem}-{n}.{ending}" for n in count(2)))
