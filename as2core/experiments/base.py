"""What an experiment takes and gives, and where its results are written.

A module `as2core/experiments/NAME.py` has one function, `run(options, on_progress) -> Report` (a list of rows alone
will do). A row is one finding: what the paper says, what came out here, and how our setting differs from the paper's.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from as2core.data.catalog import apply_setting, load_questions
from as2core.data.source import write_text
from as2core.errors import BadSetting, UnknownData
from as2core.experiments import EXPERIMENTS
from as2core.types import OnProgress, Progress, Question

SETS = {
    "wikiqa-train": "wikiqa/WikiQA-train.tsv",
    "wikiqa-dev": "wikiqa/WikiQA-dev.tsv",
    "trecqa-train": "trecqa/train-all.jsonl",
    "trecqa-dev": "trecqa/dev.jsonl",
    "squad-train": "squad/train-v1.1.json.gz",
    "selqa-dev": "selqa/dev.jsonl",
    "selqa-test": "selqa/test.jsonl",
    "qed-dev": "qed/dev.jsonl",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One finding. `holds`: whether it comes out here as in the paper; None where it cannot be said."""

    finding: str
    paper: str
    ours: str
    differs: str
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """`notes` are paragraphs of markdown after the table: more tables, pictures, remarks."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. `seeds`: how many seeds where training is compared, None for the experiment's own number.
    `workdir` is for checkpoints and models, thrown away afterwards. `pictures` is where pictures go, None for nowhere.
    """

    workdir: Path
    data_dir: Path | None = None
    full: bool = False
    seeds: int | None = None
    pictures: Path | None = None

    def questions(self, name: str, setting: str = "clean", *, limit: int | None = None) -> list[Question]:
        """A set of SETS, or a shipped one, without its titles: the papers' rankers read the sentence alone. Raises
        BadSetting without a `data_dir` for a set of SETS, UnknownData when it is not at hand."""
        if name not in SETS:
            return self._untitled(name, setting, limit)
        if self.data_dir is None:
            raise BadSetting(f"say where {name} is: --data-dir DIR, or AS2_DATA_DIR")
        path = self.data_dir / SETS[name]
        if not path.exists():
            raise UnknownData(f"{path} is missing: it is the file of {name}, below --data-dir")
        return self._untitled(path, setting, limit)

    @staticmethod
    def _untitled(data: str | Path, setting: str, limit: int | None) -> list[Question]:
        return [q.untitled() for q in apply_setting(load_questions(data).questions, setting)[:limit]]


Run = Callable[[Options, OnProgress | None], Report | Sequence[Row]]


def experiment(name: str) -> Run:
    """The `run` of an experiment. Raises BadSetting for a name that is none."""
    if name not in EXPERIMENTS:
        raise BadSetting(f"no experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    return import_module(f"as2core.experiments.{name}").run


def reproduce(name: str, options: Options, on_progress: OnProgress | None = None) -> tuple[Report, float]:
    """Run an experiment in a folder of its own below `options.workdir`; the report, and the seconds it took."""
    run = experiment(name)
    options.workdir.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=options.workdir) as folder:
        found = run(replace(options, workdir=Path(folder)), on_progress)
    report = found if isinstance(found, Report) else Report(tuple(found))
    return report, time.perf_counter() - started


def steps(on_progress: OnProgress | None, total: int):
    """`step(what)` begins the next of `total` steps and gives the callback that tells how far it is."""
    begun = iter(range(total))

    def step(what: str) -> OnProgress:
        at = next(begun)

        def tell(p: Progress) -> None:
            if on_progress:
                on_progress(Progress(round(100 * (at + p.done / max(1, p.total))), 100 * total, what))

        return tell

    return step


def learning(tell: OnProgress) -> Callable[[dict], None]:
    """A training's events as its progress."""
    return lambda event: tell(Progress(event.get("step", 0), event.get("steps", 1)))


def markdown(name: str, report: Report, command: str, seconds: float) -> str:
    """The section of docs/results.md for a report."""
    said = {True: "yes", False: "no", None: ""}
    lines = [
        f"## {name}: {EXPERIMENTS[name]}",
        "",
        f"Printed and written by `{command}`, in {seconds / 60:.1f} minutes.",
        "",
        "| finding | paper | ours | holds here | how ours differs |",
        "|---|---|---|---|---|",
        *(f"| {_cell(r.finding)} | {_cell(r.paper)} | {_cell(r.ours)} | {said[r.holds]} | {_cell(r.differs)} |"
          for r in report.rows),
    ]  # fmt: skip
    return "\n".join([*lines, "", *(f"{note.strip()}\n" for note in report.notes)]).rstrip() + "\n"


def write_section(path: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name -->` and `<!-- /name -->`, at the end where there are none yet; by one rename."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{opening}\n{text.strip()}\n{closing}"
    before = path.read_text(encoding="utf-8") if path.is_file() else "# Results\n"
    pattern = re.compile(rf"{re.escape(opening)}\n.*?{re.escape(closing)}", re.DOTALL)
    after = pattern.sub(lambda _: section, before) if pattern.search(before) else f"{before.rstrip()}\n\n{section}\n"
    write_text(after, path)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
