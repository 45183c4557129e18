"""The options and the report of an experiment, and where its data are.

A module `as2core/experiments/NAME.py` has a function `run(options, on_progress) -> Report`. A row of the report is one
finding: what the paper says, what came out here with its interval, the verdict and how our setting differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from as2core.data.catalog import SHIPPED_CORPORA, apply_setting, load_questions
from as2core.errors import BadSetting, UnknownData
from as2core.experiments.report.findings import Row
from as2core.system.files import write_text
from as2core.types import OnProgress, Progress, Question

EXPERIMENTS = {
    "cascade": "exits, drop ratios, monolithic depths and the sequential reranker (Soldaini and Moschitti 2020)",
    "exit_draws": "ways to train a cascade's exits (Soldaini and Moschitti 2020, section 4.3.1)",
    "structure": "Cosinet and Compare-Aggregate, listwise and recurrent (Bonadiman and Moschitti 2020)",
    "generation": "no tuning, MLE, LUL and RLL, both directions (Nogueira dos Santos et al. 2020)",
    "tanda": "fine-tuning against transfer and adapt, with label noise (Garg et al. 2020)",
    "qnli": "QNLI against ASNQ as the set to transfer from (Garg et al. 2020, Table 7)",
    "rerank": "a cheap first ranker before the transformer (Matsubara et al. 2020)",
}
RESETTABLE = ("cascade", "exit_draws", "tanda", "qnli")  # those that train classifiers over the encoder alone
TARGETS = {
    "wikiqa": "WikiQA",
    "trecqa": "TREC-QA",
    "wikipassageqa": "WikiPassageQA",
    "insuranceqa": "InsuranceQA",
    "yahooqa": "YahooQA",
    "asnq": "ASNQ",
}
CHANCE, BASELINES = "chance", {"rr": "document order", "wo": "word overlap"}  # they stand in every table
# where a part's file is not SET/PART with one of SUFFIXES
NAMES = {
    "wikiqa-train": "wikiqa/WikiQA-train.tsv",
    "wikiqa-dev": "wikiqa/WikiQA-dev.tsv",
    "wikiqa-test": "wikiqa/WikiQA-test.tsv",
    "trecqa-train": "trecqa/train-all.jsonl",
    "squad-train": "squad/train-v1.1.json.gz",
}
SUFFIXES = (".jsonl", ".jsonl.gz", ".tsv", ".tsv.gz", ".xml", ".json", ".txt")
ASNQ_FILE = "asnq/train.tsv"
WITHOUT_ASNQ = f"ASNQ is read from {ASNQ_FILE} below --data, which is not at hand (`as2 data build asnq`)"


@dataclass(frozen=True, slots=True)
class Report:
    """`measured`: a system's measures with intervals, as text, by measure and system. `notes` are paragraphs of
    markdown after the tables: more tables, pictures, remarks. `codes`: days and digests of the programs that the cells
    are of. `measured_on` names the measured questions."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    measured: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    measured_on: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. `store` is the folder of the cells and of what is being trained. `seeds`: how many seeds where
    training is compared, None for the experiment's own number. `pictures` is the folder for pictures, None for none.
    `titles`: sentences keep their documents' titles; the papers' have none. `backbone`: a directory or a hub name, None
    for the default encoder. `reset_layers`: so many of its last layers are drawn anew, in experiments of RESETTABLE.
    `target`: one of TARGETS. `test`: a file to measure on in place of the set's test part. `minutes`: no cell is begun
    after so many. `again`: measure stored cells again.
    """

    store: Path
    data_dir: Path | None = None
    full: bool = False
    seeds: int | None = None
    pictures: Path | None = None
    titles: bool = False
    backbone: str | None = None
    reset_layers: int = 0
    target: str = "wikiqa"
    test: Path | None = None
    minutes: float | None = None
    again: bool = False

    def questions(self, name: str, setting: str = "clean") -> list[Question]:
        """A part of a set, as "wikiqa-dev", or a shipped one, without its titles unless `titles`: the papers' rankers
        read the sentence alone. Raises BadSetting without a `data_dir`, UnknownData when it is missing."""
        source: str | Path = name
        if name.partition("-")[0] not in SHIPPED_CORPORA:
            if self.data_dir is None:
                raise BadSetting(f"say where {name} is: --data DIR, or AS2_DATA_DIR")
            source = find_part(self.data_dir, name)
        return self._read(source, setting)

    def measured_questions(self) -> tuple[str, list[Question]]:
        """What the target's systems are measured on, and its name: the test part where it is at hand, else dev."""
        if self.test:
            return str(self.test.name), self._read(self.test, "clean")
        title = TARGETS[self.target]
        try:
            return f"{title} test", self.questions(f"{self.target}-test")
        except UnknownData:
            return f"{title} dev", self.questions(f"{self.target}-dev")

    def _read(self, source: str | Path, setting: str) -> list[Question]:
        questions = apply_setting(load_questions(source).questions, setting)
        if not questions:
            raise BadSetting(f"{source} has no question in the setting {setting!r}")
        return questions if self.titles else [q.drop_titles() for q in questions]


def find_part(folder: Path, name: str) -> Path:
    """The file of a set's part below `folder`. Raises UnknownData, with the names that it could have."""
    stem = folder / Path(*name.rsplit("-", 1))
    paths = [*([folder / NAMES[name]] if name in NAMES else []), *(stem.with_name(stem.name + s) for s in SUFFIXES)]
    for path in paths:
        if path.is_file():
            return path
    raise UnknownData(
        f"{paths[0]} is missing: it is the file of {name}, below --data (or {paths[1].name} and the like)"
    )


Step = Callable[[str], OnProgress]


def count_steps(on_progress: OnProgress | None, total: int) -> Step:
    """`step(what)` starts the next of `total` steps and returns the step's progress callback. What is reported never
    goes back, also where a step begins another one."""
    count = highest = 0

    def step(what: str) -> OnProgress:
        nonlocal count
        number, count = min(count, total - 1), count + 1

        def report(p: Progress) -> None:
            nonlocal highest
            highest = max(highest, round(100 * (number + p.share)))
            if on_progress:
                on_progress(Progress(highest, 100 * total, what))

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
