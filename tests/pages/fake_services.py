"""Services without a database or a model, in the shapes of app.services, for the tests of pages.

`Fake` holds the state a test looks at; `modules(fake)` are its functions under the names pages import.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from app.services import views
from as2core.cascade.first import with_first
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape, head_flops, layer_flops
from as2core.errors import As2Error
from as2core.types import Candidate, Progress

LAYERS = (2, 3, 4, 5, 6)
SHAPE = EncoderShape(384, 1536, 6)
HOSTILE = 'It cost $5 and $9, ![pixel](http://elsewhere.example/x.png) <img src=x onerror="alert(1)"> :red[no] **bold**'
TEXTS = (
    "The tower was finished on 31 March 1889, after two years of work.",
    "It was built as the gate of the World's Fair.",
    HOSTILE,
    "Work on the foundations began in January 1887.",
    "The lifts were replaced in 1897.",
    "Its engineer signed the plans of several railway bridges.",
    "The structure weighs about 7,300 tonnes.",
    "Some three hundred workers joined the iron pieces.",
)


def trace_of(last: np.ndarray, *, seed: int = 0, layers: tuple[int, ...] = LAYERS) -> CascadeTrace:
    """A complete trace whose last exit has these scores, noisier the earlier the exit."""
    rng = np.random.default_rng(seed)
    n = len(last)
    lengths = rng.integers(20, 60, size=n)
    exits, below = [], 0
    for i, layer in enumerate(layers):
        noise = rng.normal(scale=0.5 * (len(layers) - 1 - i), size=n)
        flops = (layer - below) * layer_flops(lengths, SHAPE) + head_flops(n, SHAPE)
        scores = (last + noise).astype(np.float32)
        exits.append(ExitRecord(layer, np.arange(n), scores, np.array([], dtype=int), 0.1, int(lengths.sum()), flops))
        below = layer
    return CascadeTrace(lengths, tuple(exits), DropSchedule.constant(0.0, exits=len(layers)), SHAPE)


@dataclass
class Fake:
    """What the services answer with, and what they were told."""

    candidates: int = 40
    threshold: float = 0.5
    best: float = 0.94
    calibrated: bool = True
    fail: Exception | None = None
    generative_fails: bool = False
    generative_prefers: int = 0  # which of the cascade's order; the others stay near
    entered: int | None = None  # those that a first look lets in; None: there is none
    corpora: tuple[str, ...] = ("Starter", "Towers")
    role: str = "admin"
    asked: list[tuple[int, str, str]] = field(default_factory=list)
    measured: list[tuple[float, ...]] = field(default_factory=list)
    brought: list[tuple] = field(default_factory=list)
    labels: dict[tuple[int, int], str] = field(default_factory=dict)
    events: list[tuple] = field(default_factory=list)
    documents: int = 64
    mends: dict[str, str] = field(default_factory=dict)

    def ask(self, corpus_id: int, question: str, version: str) -> views.AskView:
        self.asked.append((corpus_id, question, version))
        if self.fail:
            raise self.fail
        n = self.candidates
        rng = np.random.default_rng(len(question))
        last = rng.normal(-2.5, 1.0, size=n)
        if n:
            last[0] = np.log(self.best / (1 - self.best))
            last[1:] = np.minimum(last[1:], last[0] - 0.1)
        rows = tuple(
            views.CandidateView(
                id=500 + i,
                sentence_id=100 + i,
                text=TEXTS[i % len(TEXTS)] if i < len(TEXTS) else f"{TEXTS[i % len(TEXTS)]} ({i})",
                title="The tower" if i < 20 else "Other iron works",
                document_id=1 + i // 20,
                position=i % 20,
                before="" if i % 20 == 0 else TEXTS[(i - 1) % len(TEXTS)],
                after=TEXTS[(i + 1) % len(TEXTS)],
                retrieval_rank=int(rank) + 1,
                label=None,
            )
            for i, rank in enumerate(rng.permutation(n))
        )
        trace = trace_of(last) if n else trace_of(np.zeros(0))
        if self.entered is not None:
            order, everyone = np.argsort(-last), np.arange(n)
            dropped = np.sort(order[self.entered :])
            first = ExitRecord(0, everyone, last.astype(np.float32), dropped, 0.01, 0, 0, "first look")
            inside = trace_of(np.delete(last, dropped))
            trace = with_first(inside, first, [Candidate(str(r.sentence_id), r.text) for r in rows])
        seconds = {"retrieve": 0.02, "rank": 0.5, "store": 0.01, "total": 0.53}
        return views.AskView(
            question_id=7, run_id=9, corpus_id=corpus_id, question=question, version=version, candidates=rows,
            trace=trace, probability=1 / (1 + np.exp(-last)), threshold=self.threshold, calibrated=self.calibrated,
            seconds=seconds,
        )  # fmt: skip


def modules(fake: Fake) -> dict[str, types.ModuleType]:
    now = datetime(2024, 1, 1, tzinfo=UTC)

    class Workbench:
        pass

    def list_corpora(wb):
        return [
            views.CorpusView(i, name, fake.documents, 1480, 240, len(fake.labels), 10, 10, now)
            for i, name in enumerate(fake.corpora, start=1)
        ]

    class UnknownCorpus(As2Error):
        pass

    def get_corpus(wb, corpus_id):
        for corpus in list_corpora(wb):
            if corpus.id == corpus_id:
                return corpus
        raise UnknownCorpus(f"there is no corpus {corpus_id}")

    def ensure_starter(wb, on_progress=None, *, again=False):
        if on_progress:
            on_progress(Progress(1, 2, "articles"))
        return list_corpora(wb)[0] if fake.corpora else None

    def annotator(wb, name):
        return views.AnnotatorView(sum(name.encode()) % 1000, name, fake.role)

    def give_label(wb, *, question_id, sentence_id, annotator_id, label, shown=None):
        if label not in views.LABELS:
            raise As2Error(f"no label {label!r}")
        fake.labels[question_id, sentence_id] = label
        fake.events.append((question_id, sentence_id, annotator_id, label, shown))
        return views.LabelView(len(fake.events), question_id, sentence_id, annotator_id, label, now)

    def labels_of(wb, question_id, annotator_id=None):
        return {s: label for (q, s), label in fake.labels.items() if q == question_id}

    shipped = views.VersionView(1, "cascade", "cascade", None, now, "", "active", {}, "models/cascade")
    tried = views.VersionView(2, "towers-1", "cascade", "cascade", now, "", "candidate", {}, "versions/towers-1")

    def generative(wb, asked):
        if fake.generative_fails:
            raise As2Error("the generative model is damaged; fetch it again")
        scores = np.random.default_rng(1).normal(-4, 1, size=len(asked.candidates))
        scores[asked.trace.ranking()[fake.generative_prefers]] = 0.0
        scores[np.setdiff1d(np.arange(len(scores)), asked.trace.entered)] = np.nan
        return scores

    def explain(wb, question, candidate):
        known = set(candidate.text.lower().split())
        return [(w, -0.4 if w.lower() in known else -5.5) for w in question.rstrip("?").split()]

    def measure(wb, asked, schedule):
        fake.measured.append(schedule.ratios)
        return views.MeasuredView(whole=0.2, dropped=0.15)

    def ask(wb, corpus_id, question, *, version, as_typed, on_progress):
        read = question if as_typed else fake.mends.get(question, question)
        view = fake.ask(corpus_id, read, version)
        return view if read == question else replace(view, typed=question)

    def examples(wb, corpus_id, n=6):
        return ["When was the tower finished?", "What did it cost: $5 or $9?", "Who signed the plans?"][:n]

    def bring(wb, corpus_id, lines, *, by):
        if not any(map(str.strip, lines)):
            raise As2Error("there is no question yet: type one a line")
        fake.brought.append((corpus_id, list(lines), by))
        return views.BroughtView(len(lines) - 1, 0, tuple(lines[:1]))

    parts = {
        "corpora": {
            "list_corpora": list_corpora,
            "get_corpus": get_corpus,
            "UnknownCorpus": UnknownCorpus,
            "ensure_starter": ensure_starter,
        },
        "people": {"annotator": annotator, "MAX_NAME": 60, "NOBODY": "me"},
        "labelling": {"give_label": give_label, "labels_of": labels_of, "labels_seen_by": labels_of},
        "versions": {"active": lambda wb: shipped, "list_versions": lambda wb, kind="cascade": [shipped, tried]},
        "asking": {
            "warm": lambda wb: None,
            "ask": ask,
            "bring": bring,
            "generative": generative,
            "explain": explain,
            "measure": measure,
            "example_questions": examples,
        },
    }
    package = types.ModuleType("app.services")
    package.__path__ = list(__import__("app.services").services.__path__)
    package.Workbench, package.open, package.views = Workbench, Workbench, views
    made = {"app.services": package, "app.services.views": views}
    add_modules(made, parts)
    return made


def add_modules(made: dict[str, types.ModuleType], parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Modules of services, with these functions each, among those `made`."""
    for name, functions in parts.items():
        module = types.ModuleType(f"app.services.{name}")
        vars(module).update(functions)
        setattr(made["app.services"], name, module)
        made[f"app.services.{name}"] = module
