"""The options and the report of an experiment, and where its results are written.

A module `as2core/experiments/NAME.py` has a function `run(options, on_progress) -> Report`. A row of the report is one
finding: what the paper says, what came out here, and how our setting differs from the paper's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from as2core.data.catalog import apply_setting, load_questions
from as2core.data.source import write_text
from as2core.errors import BadSetting, UnknownData
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
    """One finding. `holds`: whether it comes out here as in the paper; None where that is open."""

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
    `workdir` is for checkpoints and models, deleted afterwards. `pictures` is the folder for pictures, None for none.
    `titles`: sentences keep their documents' titles; the papers' have none.
    """

    workdir: Path
    data_dir: Path | None = None
    full: bool = False
    seeds: int | None = None
    pictures: Path | None = None
    titles: bool = False

    def questions(self, name: str, setting: str = "clean") -> list[Question]:
        """A set of SETS, or a shipped one, without its titles unless `titles`: the papers' rankers read the sentence
        alone. Raises BadSetting without a `data_dir` for a set of SETS, UnknownData when it is missing."""
        source: str | Path = name
        if name in SETS:
            if self.data_dir is None:
                raise BadSetting(f"say where {name} is: --data-dir DIR, or AS2_DATA_DIR")
            source = self.data_dir / SETS[name]
            if not source.exists():
                raise UnknownData(f"{source} is missing: it is the file of {name}, below --data-dir")
        questions = apply_setting(load_questions(source).questions, setting)
        return questions if self.titles else [q.drop_titles() for q in questions]


Step = Callable[[str], OnProgress]


def count_steps(on_progress: OnProgress | None, total: int) -> Step:
    """`step(what)` starts the next of `total` steps and returns the step's progress callback."""
    numbers = iter(range(total))

    def step(what: str) -> OnProgress:
        number = next(numbers)

        def report(p: Progress) -> None:
            if on_progress:
                on_progress(Progress(round(100 * (number + p.done / max(1, p.total))), 100 * total, what))

        return report

    return step


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table below its title."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([title, "", lines[0], f"|{'---|' * len(heads)}", *lines[1:]])


def write_section(path: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- name -->` and `<!-- /name -->`, at the end where there are none yet; by one rename."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{opening}\n{text.strip()}\n{closing}"
    before = path.read_text(encoding="utf-8") if path.is_file() else "# Results\n"
    pattern = re.compile(rf"{re.escape(opening)}\n.*?{re.escape(closing)}", re.DOTALL)
    after = pattern.sub(lambda _: section, before) if pattern.search(before) else f"{before.rstrip()}\n\n{section}\n"
    write_text(after, path)
