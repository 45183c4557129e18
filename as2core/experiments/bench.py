"""Where an experiment runs: its target set, its cells, and the trainings in them.

A cell is measured once and then read from disk; a training in one that was stopped goes on from its last checkpoint.
Every system is measured on the same questions, beside chance, the document order and the number of shared words.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.chance import expect_by_chance
from as2core.data import jsonl
from as2core.evaluation.rankers import evaluate
from as2core.experiments.base import BASELINES, CHANCE, Options, Report, Step
from as2core.experiments.cells import Cell, CellStore
from as2core.experiments.report.findings import Finding, Row, Samples, format_estimate
from as2core.experiments.uncertainty import estimate_mean
from as2core.metrics import MEASURES
from as2core.nn.backbone import Backbone, load_backbone
from as2core.rankers.base import HasWeights, Ranker
from as2core.rankers.catalog import get, load_version
from as2core.rankers.versions import save_version
from as2core.system.files import is_folder, sha256
from as2core.training.fine_tune import TrainingResult, fine_tune, override
from as2core.training.learners import R
from as2core.training.loop import RunControl
from as2core.training.settings import UNLIMITED, TrainSettings
from as2core.types import Json, OnProgress, Progress, Question

if TYPE_CHECKING:
    from collections.abc import Iterable

# as the papers; more evaluations in vain than any run has
ALL_PAIRS = TrainSettings(max_tokens=2000, positives=UNLIMITED, negatives=UNLIMITED, patience=UNLIMITED)


@dataclass(frozen=True, slots=True)
class Target:
    """Questions to learn from, to choose the state by, and to measure on. `dev` is empty where `test` is the dev part:
    nothing is selected by what it is reported on."""

    train: list[Question]
    dev: list[Question]
    test: list[Question]
    title: str

    @property
    def note(self) -> str:
        return self.title if self.dev else f"{self.title}, not test; the last state, none selected"


def read_target(options: Options, questions: int | None = None) -> Target:
    """The set of the options, with a sample of its train questions. Where the set's test part is not at hand, the other
    train questions are measured beside the dev part. Raises UnknownData when its files are missing."""
    name = options.target
    train = sample(options.questions(f"{name}-train", "no-all-neg"), questions, seed=0)
    title, test = options.measured_questions()
    if not title.endswith(" dev"):
        return Target(train, options.questions(f"{name}-dev"), test, title)
    learnt = {q.qid for q in train}
    others = [q for q in options.questions(f"{name}-train") if q.qid not in learnt]
    if others:
        title = f"{title} and the {len(others)} train questions that nothing is trained on"
    return Target(train, [], [*test, *others], title)


def sample(questions: Sequence[Question], n: int | None, seed: int) -> list[Question]:
    """At most n of them; None: all, in their order."""
    return list(questions) if n is None else random.Random(seed).sample(list(questions), min(n, len(questions)))


def untuned(make: Callable[[Backbone], R], options: Options, *, seed: int) -> R:
    """A ranker over the encoder of the options before any training."""
    import torch

    backbone = load_backbone(options.backbone)
    if options.reset_layers:
        torch.manual_seed(0)  # what is pretrained is the same for all seeds
        backbone.reset_last(options.reset_layers)
    torch.manual_seed(seed)  # the heads' first values
    return place(make(backbone))


def place(ranker: R) -> R:
    """The ranker on the GPU, where there is one: it is measured there, too."""
    import torch

    return ranker.to("cuda") if torch.cuda.is_available() else ranker


def score(system: str, ranker: Ranker, questions: Sequence[Question], **numbers: float) -> Cell:
    """A ranker's measures under a system's name."""
    result = evaluate(ranker, questions)
    return Cell({system: result.per_question}, {**numbers, "seconds": result.seconds})


@dataclass(frozen=True, slots=True)
class Work:
    """The trainings of one cell, below a folder that lasts until the cell is written."""

    folder: Path
    report: OnProgress

    def train(
        self,
        name: str,
        base: R,
        train: Sequence[Question],
        settings: TrainSettings,
        dev: Sequence[Question] = (),
        **values: object,
    ) -> TrainingResult[R]:
        """Fine-tune by `settings` with some of them changed; an earlier attempt's checkpoint is resumed."""
        control = RunControl(lambda event: self.report(Progress(event.get("step", 0), event.get("steps", 1), name)))
        return fine_tune(
            base,
            train,
            dev,
            override(settings, **values),
            workdir=self.folder / name.replace(" ", "-"),
            control=control,
            restart=True,
        )


@dataclass(slots=True)
class Bench:
    """The cells of one experiment on one target. `sizes` are part of what names a cell."""

    experiment: str
    options: Options
    target: Target
    sizes: Mapping[str, int]
    step: Step
    samples: Samples = field(default_factory=Samples)
    numbers: dict[str, dict[int | None, Mapping[str, float]]] = field(default_factory=dict)
    lists: dict[str, dict[int | None, Mapping[str, list[float]]]] = field(default_factory=dict)
    codes: dict[str, None] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    _digest: str = ""
    _new_models: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        parts = (self.target.train, self.target.dev, self.target.test)
        text = "".join(jsonl.dumps(part) for part in parts).encode("utf-8", "surrogatepass")
        self._digest = hashlib.sha256(text).hexdigest()
        self._measure_baselines()

    @property
    def store(self) -> CellStore:
        return CellStore(self.options.store)

    @property
    def is_out_of_time(self) -> bool:
        minutes = self.options.minutes
        return minutes is not None and time.monotonic() - self.started > 60 * minutes

    def cell(
        self, name: str, seed: int | None, measure: Callable[[Work], Cell], *settings: TrainSettings
    ) -> Cell | None:
        """The cell, from disk or measured now; None where there is no time left to begin it. `settings`: those that it
        trains with."""
        key, report = self._key(name, seed, settings), self.step(f"{name}{'' if seed is None else f', seed {seed}'}")
        cell = None if self.options.again else self.store.read(key)
        if cell is None:
            if self.is_out_of_time:
                return None
            work = Work(self.store.work_folder(key), report)
            cell = self.store.write(key, measure(work))
            shutil.rmtree(work.folder, ignore_errors=True)
        self.codes[f"{cell.day} {cell.code}"] = None
        self.numbers.setdefault(name, {})[seed] = cell.numbers
        self.lists.setdefault(name, {})[seed] = cell.lists
        for system, values in cell.values.items():
            self.samples.add(system, seed, values)
        return cell

    def model(
        self, name: str, seed: int | None, make: Callable[[Work], HasWeights], *settings: TrainSettings
    ) -> HasWeights:
        """A model that several cells begin with: trained once, kept in the store."""
        key = self._key(name, seed, settings)
        folder = self.store.work_folder(key).with_suffix(".model")
        if not folder.is_dir() or (self.options.again and folder not in self._new_models):
            shutil.rmtree(folder, ignore_errors=True)
            work = Work(self.store.work_folder(key), self.step(name))
            save_version(make(work), folder, {"note": f"{self.experiment}: {name}"})
            self._new_models.add(folder)
            shutil.rmtree(work.folder, ignore_errors=True)
        return place(load_version(folder))

    def report(self, rows: Iterable[Row], notes: Iterable[str] = ()) -> Report:
        """With every system's measures and their intervals."""
        intervals = {
            measure: {system: self._format(system, measure) for system in self.samples.systems} for measure in MEASURES
        }
        return Report(tuple(rows), tuple(notes), intervals, tuple(sorted(self.codes)), self.target.title)

    def judge(self, findings: Iterable[Finding], setting: str) -> list[Row]:
        return [finding.judge(self.samples, setting) for finding in findings]

    def mean_number(self, name: str, number: str) -> float | None:
        """Over the seeds of a cell; None where it was not run, or has no such number."""
        values = [numbers[number] for numbers in self.numbers.get(name, {}).values() if number in numbers]
        return sum(values) / len(values) if values else None

    def _format(self, system: str, measure: str) -> str:
        seeds = self.samples.seeds([system])
        text = format_estimate(estimate_mean(self.samples.table(system, measure, seeds)), sign="-")
        return text if seeds == [None] else f"{text}, {len(seeds)} seed{'s' * (len(seeds) > 1)}"

    def _measure_baselines(self) -> None:
        questions = self.target.test
        chance = {q.qid: expect_by_chance(q) for q in questions}
        self.samples.add(CHANCE, None, {m: {qid: v[m] for qid, v in chance.items()} for m in MEASURES})
        for spec, name in BASELINES.items():
            self.samples.add(name, None, evaluate(get(spec), questions).per_question)

    def _key(self, name: str, seed: int | None, settings: Sequence[TrainSettings]) -> dict[str, Json]:
        return {
            "experiment": self.experiment,
            "cell": name,
            "seed": seed,
            "questions": self._digest,
            "backbone": _identify(self.options.backbone),
            **({"reset layers": self.options.reset_layers} if self.options.reset_layers else {}),
            "full": self.options.full,
            "sizes": dict(self.sizes),
            "settings": [list_changes(s) for s in settings],
        }


@cache
def _identify(backbone: str | None) -> Json:
    """By which a cell knows its encoder: the name, and of a directory, whose weights may change, those too."""
    if backbone is None or not is_folder(backbone):
        return backbone
    folder = Path(backbone)
    weights = sorted(p for pattern in ("*.safetensors", "*.bin") for p in folder.glob(pattern))
    return {p.name: sha256(p) for p in (folder / "config.json", *weights) if p.is_file()}


def list_changes(settings: TrainSettings) -> dict[str, Json]:
    """The values that are not the defaults, so that a setting added to the program later leaves a cell its name."""
    default = asdict(TrainSettings())
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(settings).items() if v != default[k]}


def describe_setting(bench: Bench) -> str:
    """What is special about all of an experiment's figures here."""
    encoder, reset = bench.options.backbone or "MiniLM of 6 layers", bench.options.reset_layers
    encoder += f", its last {reset} drawn anew" if reset else ""
    return f"{encoder}; {len(bench.target.train):,} train questions; {bench.target.note}"
