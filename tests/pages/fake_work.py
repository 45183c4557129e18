"""The rest of the services in memory, for the pages Label, Adapt, Compare and Data; on top of `fake_services`."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fake_labelling
import fake_services
import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.services import adapt_views, choosing, views
from app.services.label_views import Rules
from app.services.proposal_views import ProposalsView, ProposalView
from as2core.errors import As2Error
from as2core.types import Progress

MAIN = Path(__file__).parents[2] / "app" / "main.py"
NOW = datetime(2024, 5, 4, 12, 30, tzinfo=UTC)
QUESTIONS = (
    "When was the tower finished?",
    "What did it cost: $5 or $9?",
    "Who signed the plans of the railway bridges before the tower was begun?",
)


def retrain_result(*, wins: int = 12, losses: int = 3, ties: int = 20, difference: float = 0.041, p: float = 0.03):
    rng = np.random.default_rng(1)
    rows = []
    for i in range(wins + losses + ties):
        before = float(np.round(rng.uniform(0.2, 0.7), 3))
        change = 0.25 if i < wins else -0.2 if i < wins + losses else 0.0
        asked = f"{QUESTIONS[i % 3]} ({i})"
        first = {"text": "It rained.", "correct": False}
        now = {"text": "The tower was finished in 1889.", "correct": True} if i < wins else first
        rows.append({"qid": f"q{i}", "question": asked, "before": before, "after": before + change,
                     "top_before": first, "top_after": now})  # fmt: skip
    return {
        "version": "starter-3",
        "before": {"AP": 0.702, "RR": 0.731, "P@1": 0.610, "nDCG@10": 0.760},
        "after": {"AP": 0.702 + difference, "RR": 0.765, "P@1": 0.640, "nDCG@10": 0.788},
        "intervals": {
            "before": {"AP": [0.64, 0.76], "RR": [0.67, 0.79], "P@1": [0.50, 0.72], "nDCG@10": [0.70, 0.82]},
            "after": {"AP": [0.69, 0.80], "RR": [0.71, 0.82], "P@1": [0.53, 0.75], "nDCG@10": [0.73, 0.84]},
        },
        "paired": {"difference": difference, "low": difference - 0.03, "high": difference + 0.03, "p": p, "wins": wins,
                   "losses": losses, "ties": ties},
        "per_question": rows,
        "per_exit": {
            "before": {"2": 0.61, "3": 0.65, "4": 0.68, "5": 0.69, "6": 0.702},
            "after": {"2": 0.63, "3": 0.68, "4": 0.70, "5": 0.735, "6": 0.702 + difference},
        },
        "reliability": {
            "before": [{"confidence": 0.3, "frequency": 0.1, "candidates": 40}],
            "after": [{"confidence": 0.3, "frequency": 0.3, "candidates": 40}],
        },
        "frozen": {"before": {"AP": 0.81}, "after": {"AP": 0.808}},
        "labels": {"questions": 100, "correct": 160, "incorrect": 540},
        "snapshot": "ab12cd34ef56ab12cd34",
    }  # fmt: skip


def training_events(steps: int, of: int = 200) -> tuple[dict, ...]:
    rng = np.random.default_rng(0)
    dev = {str(n): 0.55 + n / 60 for n in (2, 3, 4, 5, 6)}
    events = [{"kind": "start", "steps": of, "questions": 100, "dev_ap": dev}]
    for s in range(1, steps + 1):
        loss = 0.5 * np.exp(-s / 90) + 0.15 + rng.normal(0, 0.05)
        events.append({"kind": "step", "step": s, "steps": of, "loss": float(loss), "seconds_left": (of - s) * 0.9})
        if s % 25 == 0:
            dev = {str(n): 0.55 + n / 60 + 0.06 * (1 - np.exp(-s / 60)) for n in (2, 3, 4, 5, 6)}
            events.append({"kind": "eval", "step": s, "steps": of, "dev_ap": dev})
    return tuple(events)


def a_job(id: int = 1, kind: str = "retrain", state: str = "running", **changes) -> views.JobView:
    job = views.JobView(
        id=id, kind=kind, state=state, progress=0.5 if state == "running" else 1.0, message="", events=(), result={},
        error="", log="", settings={}, corpus_id=1, attempt=1, cancelling=False, created=NOW, started=NOW,
        finished=None if state in views.JOB_ACTIVE else NOW + timedelta(seconds=75),
    )  # fmt: skip
    return replace(job, **changes)


def a_comparison() -> views.ComparisonView:
    rng = np.random.default_rng(4)
    names = ["cascade", "bi-encoder", "bm25", "generative"]
    values = {"cascade": 0.78, "bi-encoder": 0.70, "bm25": 0.62, "generative": 0.68}
    cost = {"cascade": 0.61, "bi-encoder": None, "bm25": None, "generative": 1.02}
    rows, per, ranks = [], [], {}
    for n in names:
        row = {"ranker": n, "questions": 40, "seconds": {"bm25": 0.3}.get(n, 12.4), "relative_cost": cost[n]}
        for m, shift in (("AP", 0), ("RR", 0.03), ("P@1", -0.1), ("nDCG@10", 0.05)):
            row |= {m: values[n] + shift, f"{m} low": values[n] + shift - 0.05, f"{m} high": values[n] + shift + 0.05,
                    f"{m} least": values[n] + shift - 0.1, f"{m} most": values[n] + shift + 0.2}  # fmt: skip
        cuts = (("layer 2", 480, 144, 3, ["q0"]), ("layer 6", 336, 0, 0, []))
        row["cuts"] = [
            {"stage": s, "entered": e, "dropped": d, "correct": c, "lost": lost} for s, e, d, c, lost in cuts
        ] if n == "cascade" else []  # fmt: skip
        rows.append(row)
    for q in range(40):
        for n in names:
            ap = float(np.clip(rng.normal(values[n], 0.2), 0.05, 1))
            per.append({"qid": f"q{q}", "question": f"{QUESTIONS[q % 3]} ({q})", "ranker": n, "AP": ap, "RR": ap,
                        "P@1": float(ap > 0.7), "nDCG@10": ap})  # fmt: skip
        size = 12
        frame = pd.DataFrame({"candidate": [fake_services.TEXTS[i % 8] for i in range(size)],
                              "label": [1 if i in (0, 4) else 0 for i in range(size)]})  # fmt: skip
        for n in names:
            frame[n] = rng.permutation(size) + 1
        ranks[f"q{q}"] = frame
    paired = [
        {"a": "cascade", "b": b, "metric": "AP", "difference": values["cascade"] - values[b], "low": 0.02, "high": 0.1,
         "p": p, "wins": w, "losses": lost, "ties": 40 - w - lost}
        for b, p, w, lost in (("bi-encoder", 0.02, 20, 8), ("bm25", 0.0004, 29, 5), ("generative", 0.2, 3, 2))
    ]  # fmt: skip
    notes = ("12 of 480 candidates carry no label; they count as incorrect.",)
    per_question = pd.DataFrame(per)
    return views.ComparisonView("starter-dev", "clean", 40, tuple(rows), tuple(paired), per_question, ranks, notes)


def a_rule(after=None, at_night=False, refused=""):
    return types.SimpleNamespace(after=after, at_night=at_night, refused=refused)


FORMATS = ("jsonl", "csv", "qrels", "wikiqa", "beir", "run", "pairs")
READY = adapt_views.Readiness(120, 700, 160, 520, 20, 80, 10, 30, (), ())


@dataclass
class Work(fake_services.Fake):
    """State of the fake and what it was told. `pairs` is the queue's material: (question, sentence) ids."""

    pairs: list[tuple[int, int]] = field(default_factory=lambda: [(q, 100 + s) for s in range(6) for q in (1, 2, 3)])
    leases: dict[tuple[int, int], str] = field(default_factory=dict)
    undone: list = field(default_factory=list)
    left: list = field(default_factory=list)
    proposals: dict[int, ProposalView] = field(default_factory=dict)
    decided: list[tuple] = field(default_factory=list)
    flags: list = field(default_factory=list)
    arm: str = ""
    peers: tuple = ()
    rules: Rules = field(default_factory=Rules)
    guidelines: list[str] = field(default_factory=lambda: ["- **Correct**: it answers the question."])
    conflicts: list = field(default_factory=list)
    settled: list = field(default_factory=list)
    jobs: dict[int, views.JobView] = field(default_factory=dict)
    ready: adapt_views.Readiness = READY
    versions: dict[str, views.VersionView] = field(default_factory=dict)
    active: str = "cascade"
    promoted: list[tuple[str, str]] = field(default_factory=list)
    previewed: list[tuple] = field(default_factory=list)
    brought: list[tuple] = field(default_factory=list)
    waiting: str = ""
    cards: dict[str, dict] = field(default_factory=dict)
    hidden: set[tuple[str, str]] = field(default_factory=set)
    automatic: types.SimpleNamespace = field(default_factory=a_rule)
    started: list[dict] = field(default_factory=list)
    ingested: list = field(default_factory=list)
    imported: list = field(default_factory=list)
    deleted: list[tuple[int, int | None]] = field(default_factory=list)  # a corpus, and by whom
    ids: itertools.count = field(default_factory=lambda: itertools.count(10))

    def __post_init__(self) -> None:
        for i, (name, parent, state) in enumerate(
            (("cascade", None, "shipped"), ("starter-2", "cascade", "former"), ("starter-3", "cascade", "candidate"))
        ):
            self.versions[name] = views.VersionView(
                i, name, "cascade", parent, NOW + timedelta(days=i), "first labels" if i else "", state,
                {"AP": 0.7 + i / 50}, f"versions/{name}",
            )  # fmt: skip


def modules(fake: Work) -> dict[str, types.ModuleType]:
    made = fake_services.modules(fake)
    package = made["app.services"]
    made["app.services.adapt_views"] = package.adapt_views = adapt_views
    made["app.services.choosing"] = package.choosing = choosing

    fake_labelling.add(fake, made)

    def view(v):
        return replace(v, state="active" if v.name == fake.active else v.state)

    def promote(wb, name, reason="", *, by=None):
        fake.promoted.append((name, reason))
        fake.active = name
        return view(fake.versions[name])

    def reject(wb, name, *, by=None):
        fake.versions[name] = replace(fake.versions[name], state="rejected")
        return view(fake.versions[name])

    def get_version(wb, name, kind="cascade"):
        if name not in fake.versions:
            raise As2Error(f"no version {name}")
        return view(fake.versions[name])

    versions = made["app.services.versions"]
    vars(versions).update(
        list_versions=lambda wb, kind="cascade": [view(v) for v in fake.versions.values()],
        active=lambda wb, kind="cascade": view(fake.versions[fake.active]),
        promote=promote,
        reject=reject,
        worse=lambda metrics: metrics.get("AP", 0.0) < metrics.get("before AP", 0.0),
        CASCADE="cascade",
        GENERATIVE="generative",
        kind_learnt=lambda what: {"calibration": "cascade"}.get(what, what),
        get_version=get_version,
        card=lambda wb, name: (
            {"name": name, "parent": fake.versions[name].parent, "seed": 0} | fake.cards.get(name, {})
        ),
    )

    def job(wb, id):
        if id not in fake.jobs:
            raise As2Error(f"no job {id}")
        return fake.jobs[id]

    def start_retrain(wb, corpus_id, *, by, **asked):
        made_job = a_job(next(fake.ids), state="queued", progress=0.0, corpus_id=corpus_id)
        fake.started.append(asked)
        fake.jobs[made_job.id] = made_job
        return made_job

    def cancel(wb, id):
        fake.jobs[id] = replace(job(wb, id), cancelling=True)

    def pause(wb, id):
        fake.jobs[id] = replace(job(wb, id), paused=True)

    def resume(wb, id):
        fake.jobs[id] = replace(job(wb, id), paused=False)

    def ready(wb, corpus_id, choice=None, **of):
        fake.previewed.append((choice, of))
        return fake.ready

    def rename(wb, name, new, *, by=None):
        new = " ".join(new.split())
        fake.versions[new] = replace(fake.versions.pop(name), name=new)
        return fake.versions[new]

    def set_note(wb, name, note, *, by=None):
        fake.versions[name] = replace(fake.versions[name], note=note)

    def delete(wb, name, *, by=None):
        if any(v.parent == name for v in fake.versions.values()):
            raise As2Error(f"{name} cannot be deleted: another was made from it")
        fake.versions.pop(name)

    def pack(wb, name, to):
        if to == "onnx":
            raise As2Error("an ONNX file needs the package onnx")
        return f"{name} as {to}".encode()

    def bring_in(wb, file, *, called, name, by=None):
        if file.read() != b"zip":
            raise As2Error(f"{called}: it is no zip")
        fake.versions[name] = replace(fake.versions["starter-3"], id=next(fake.ids), name=name, metrics={})
        fake.brought.append((called, name, by))
        return fake.versions[name]

    def set_automatic(wb, corpus_id, *, by, **rule):
        fake.automatic = a_rule(**rule)

    def retry(wb, id):
        again = replace(job(wb, id), id=next(fake.ids), state="queued", progress=0.0, error="")
        fake.jobs[again.id] = again
        return again

    def start_compare(wb, rankers, data, setting="clean", limit=None):
        made_job = a_job(next(fake.ids), kind="compare", state="queued", progress=0.0,
                         settings={"rankers": rankers, "data": data, "setting": setting, "limit": limit})  # fmt: skip
        fake.jobs[made_job.id] = made_job
        return made_job

    def jobs(wb, kind=None, limit=20):
        return [j for j in reversed(fake.jobs.values()) if kind in (None, j.kind)][:limit]

    def active_jobs(wb, kind=None, corpus_id=None):
        known = [j for j in fake.jobs.values() if j.active and kind in (None, j.kind)]
        return [j for j in known if corpus_id in (None, j.corpus_id)]

    def newest_job(wb, kind, corpus_id):
        return next((j for j in reversed(fake.jobs.values()) if (j.kind, j.corpus_id) == (kind, corpus_id)), None)

    def recent_jobs(wb, corpus_id, limit=10):
        return [j for j in reversed(fake.jobs.values()) if j.corpus_id == corpus_id][:limit]

    def start_proposing(wb, corpus_id, *, wanted=20, seed=None):
        made_job = replace(a_job(next(fake.ids), state="queued", progress=0.0, corpus_id=corpus_id), kind="propose")
        fake.started.append({"wanted": wanted})
        fake.jobs[made_job.id] = made_job
        return made_job

    def waiting(wb, corpus_id):
        done = [d[0] for d in fake.decided]
        shown = tuple(p for p in fake.proposals.values())
        return ProposalsView(shown, len(shown), done.count("accepted"), done.count("rejected"))

    def accept(wb, proposal_id, *, annotator_id, text=None):
        if not (text or "").strip():
            raise As2Error("a question needs words: write one, or reject the proposal")
        fake.proposals.pop(proposal_id)
        fake.decided.append(("accepted", proposal_id, text))

    def reject(wb, proposal_id, *, annotator_id):
        fake.proposals.pop(proposal_id)
        fake.decided.append(("rejected", proposal_id, None))

    def create_corpus(wb, name, *, by):
        if name in fake.corpora:
            raise As2Error(f"there is a corpus called {name} already: choose another name")
        fake.corpora = (*fake.corpora, name)
        return package.corpora.list_corpora(wb)[-1]

    def delete_corpus(wb, corpus_id, *, by=None):
        fake.deleted.append((corpus_id, by))
        fake.corpora = tuple(n for i, n in enumerate(fake.corpora, 1) if i != corpus_id)

    def ingest(wb, corpus_id, files, on_progress=None, *, by):
        files = list(files)
        fake.ingested.append((corpus_id, [n for n, _ in files]))
        for i, (name, _) in enumerate(files, 1):
            on_progress(Progress(i, len(files), name))
        bad = tuple((n, "not UTF-8 text") for n, _ in files if n.startswith("bad"))
        return views.IngestView(len(files) - len(bad), 0, 0, bad, len(files) - len(bad), 40, 0.4, None)

    def list_documents(wb, corpus_id, search="", limit=100):
        titles = enumerate(("The tower", "Iron works"), 1)
        known = [views.DocumentView(i, f"doc-{i}", t, "starter", 8) for i, t in titles]
        return [d for d in known if search.lower() in d.title.lower() and d.id not in fake.deleted]

    def document_sentences(wb, document_id):
        return [views.SentenceView(100 + i, t, i, i // 4) for i, t in enumerate(fake_services.TEXTS)]

    def delete_document(wb, document_id, *, by=None):
        fake.deleted.append(document_id)

    def import_labels(wb, corpus_id, name, data, fmt="auto", annotator="import", *, split="", by=None):
        fake.imported.append((corpus_id, name, data, fmt, annotator, split, by))
        bad, clashes = ((4, "no rating in this line"),), ("q1 s2: was correct",)
        return views.ImportView(3, 1, 1, bad, 2, corpus_id or 3, "csv", clashes, moved=(("", split, 2),))

    vars(package.corpora).update(
        create_corpus=create_corpus, delete_corpus=delete_corpus, ingest=ingest, list_documents=list_documents,
        document_sentences=document_sentences, delete_document=delete_document,
    )  # fmt: skip

    def start_scoring(wb, corpus_id, limit=40):
        made_job = a_job(next(fake.ids), kind="score", state="queued", progress=0.0)
        fake.jobs[made_job.id] = made_job
        return made_job

    parts = {
        "scoring": {"start_scoring": start_scoring},
        "proposing": {"WANTED": 20, "MOST": 200, "start": start_proposing, "cancel": cancel, "waiting": waiting,
                      "accept": accept, "reject": reject,
                      "newest_job": lambda wb, corpus_id: next(iter(jobs(wb, "propose")), None)},
        "version_care": {"rename": rename, "set_note": set_note, "delete": delete,
                         "is_shipped": lambda wb, version: version.name == "cascade"},
        "version_files": {"FORMATS": dict.fromkeys(("hf", "onnx", "as2"), "what it is"), "pack": pack,
                          "bring_in": bring_in},
        "automatic": {"automatic": lambda wb, corpus_id: fake.automatic, "set_automatic": set_automatic,
                      "new_labels": lambda wb, corpus_id: 7,
                      "waiting": lambda wb: fake.versions.get(fake.waiting)},
        "adapting": {"readiness": ready, "KINDS": {"cascade": "the cascade", "generative": "the generative ranker",
                                               "calibration": "probabilities alone"},
                     "FITTED": ("fusion", "calibration"), "hidden": lambda wb, by: fake.hidden,
                     "pause": pause, "resume": resume, "job": job, "jobs": jobs, "cancel": cancel,
                     "active_jobs": active_jobs, "newest_job": newest_job, "recent_jobs": recent_jobs, "retry": retry,
                     "start_retrain": start_retrain},
        "comparing": {"rankers": lambda wb: ["cascade", "bi-encoder", "bm25", "generative", "starter-2", "starter-3"],
                      "datasets": lambda wb: ["starter-dev", "starter-test", "labels:Starter"],
                      "start_compare": start_compare, "comparison": lambda wb, job_id, by: a_comparison()},
        "exchange": {"FORMATS": dict.fromkeys(FORMATS, "what it keeps"), "IMPORTS": FORMATS[:4],
                     "SPLITS": {"": "divided here", "train": "learnt from"},
                     "import_labels": import_labels,
                     "export_labels": lambda wb, corpus_id, fmt, annotator=None, *, by=None: f"{fmt}\n".encode()},
    }  # fmt: skip
    fake_services.add_modules(made, parts)
    return made


def install(monkeypatch: pytest.MonkeyPatch, fake: Work) -> None:
    """Put the fake where pages import services from; undone with the test."""
    import app

    for name in ("components", "services"):
        monkeypatch.setattr(app, name, getattr(app, name, None), raising=False)
    for name in [m for m in sys.modules if m.startswith(("app.components", "app.services"))]:
        monkeypatch.delitem(sys.modules, name)
    made = modules(fake)
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(app, "services", made["app.services"])
    monkeypatch.setattr(type(st.context), "cookies", {})  # AppTest has a mock for it
    st.cache_resource.clear()
    st.cache_data.clear()


def page(name: str, query: Mapping[str, str] | None = None) -> AppTest:
    """A page of the app as a fresh session opens it."""
    at = AppTest.from_file(str(MAIN), default_timeout=30)
    at.run()
    at.switch_page(f"../pages/{name}.py")
    for key, value in (query or {}).items():
        at.query_params[key] = value
    return at.run()


def markup(at: AppTest) -> str:
    """All `st.html` of the page."""
    return "\n".join(h.proto.body for h in at.get("html"))


def texts(at: AppTest) -> str:
    """All Markdown, captions and messages of the page."""
    parts = [*at.markdown, *at.caption, *at.info, *at.warning, *at.error, *at.success]
    return "\n".join(p.value for p in parts)
