"""Labelling and training, killed at random fifty times: nothing confirmed is lost, nothing half made is seen, and every
job comes to its end. AS2_TEST_KILLS says how often instead of 50."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text
from tiny_models import tiny_models

from app import bootstrap
from app.corpora import corpora
from app.exchange import imports
from app.jobs import queue, supervisor
from app.labels import annotation
from app.versions import registry
from app.workbench import people
from app.workbench.settings import Settings
from as2core.data import jsonl
from as2core.rankers.catalog import load_version

ROOT = Path(__file__).parents[3]
STARTER = ROOT / "corpora" / "starter"
KILLS = int(os.environ.get("AS2_TEST_KILLS", "50"))
QUESTIONS, LABELLED = 20, 4  # and so many labelled candidates of each; the others are open
EVERY = 10_000  # jobs, where a page lists the newest
COMMANDS = {"worker": ["-m", "app.worker"], "person": [str(Path(__file__).with_name("labelling_for_ever.py"))]}


@dataclass
class Processes:
    """A worker and a person, started again as often as they are killed."""

    environment: dict[str, str]
    folder: Path
    arguments: list[str]
    running: dict[str, subprocess.Popen] = field(default_factory=dict)
    kills: Counter = field(default_factory=Counter)

    def start(self, name: str) -> None:
        command = [sys.executable, *COMMANDS[name], *(self.arguments if name == "person" else [])]
        with (self.folder / f"{name}.log").open("ab") as said:
            self.running[name] = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=said, stderr=subprocess.STDOUT
            )

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        assert process.poll() is None, f"the {name} ended by itself: {self.said(name)}"
        process.kill()
        process.wait()
        self.kills[name] += 1

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-2000:]


@pytest.fixture
def wb(tmp_path):
    kept = list(jsonl.read(STARTER / "train.jsonl")[0])[:QUESTIONS]
    (tmp_path / "corpora" / "starter").mkdir(parents=True)
    judges = [q for q in jsonl.read(STARTER / "test.jsonl")[0] if q.positives][:4]
    jsonl.write([_few_labels(q) for q in judges], tmp_path / "corpora" / "starter" / "test.jsonl")
    settings = Settings(
        home=tmp_path / "home",
        models_dir=tiny_models(tmp_path / "tiny", [t for q in kept for t in (q.text, *(c.text for c in q.candidates))]),
        corpora_dir=tmp_path / "corpora",
        worker="external",
    )
    opened = bootstrap.open(settings)
    yield opened
    opened.close()


@pytest.fixture
def corpus(wb):
    """Articles with questions of which a few candidates are labelled."""
    made = corpora.create_corpus(wb, "notes")
    asked = list(jsonl.read(STARTER / "train.jsonl")[0])[:QUESTIONS]
    content = jsonl.dumps([_few_labels(q) for q in asked]).encode()
    imports.import_labels(wb, made.id, "some.jsonl", content, annotator="book")
    return made


def _few_labels(q):
    correct = [c.id for c in q.candidates if c.label == 1]
    known = {*correct, *[c.id for c in q.candidates if c.label == 0][: LABELLED - len(correct)]}
    return replace(q, candidates=tuple(c if c.id in known else replace(c, label=None) for c in q.candidates[:30]))


@pytest.fixture
def processes(wb, corpus, tmp_path):
    told = {f"AS2_{k.upper()}": str(v) for k, v in wb.settings.model_dump().items()}
    made = Processes(
        {**os.environ, **told, "PYTHONPATH": str(ROOT)}, tmp_path, [str(corpus.id), str(tmp_path / "confirmed.jsonl")]
    )
    for name in COMMANDS:
        made.start(name)
    yield made
    for process in made.running.values():
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_kills_at_random_lose_no_label_leave_no_half_version_and_end_every_job(wb, corpus, processes, tmp_path):
    rng = random.Random(0)
    for _ in range(KILLS):
        victim = rng.choice(list(COMMANDS))
        if victim == "worker":
            _wait_for(partial(_has_come, wb, rng.random()), 60)
        time.sleep(rng.uniform(0, 3))
        processes.kill(victim)
        processes.start(victim)
    processes.kill("person")
    supervisor.reap(wb)
    for job in queue.list_jobs(wb, limit=EVERY):
        if job.state == "lost":  # killed as often as a job may be: a person says "run again"
            queue.retry(wb, job.id)
    assert _wait_for(lambda: _all_over(wb), 600), processes.said("worker")

    ended = queue.list_jobs(wb, limit=EVERY)
    assert {j.state for j in ended} == {"done"}, [j.error for j in ended] + [processes.said("worker")]
    retrains = [j for j in ended if j.kind == "retrain"]
    assert sum(e["kind"] == "lost" for j in retrains for e in j.events) > 0.1 * KILLS  # they did hit the training
    _every_version_is_whole(wb, retrains)
    _check_confirmed_events(wb, corpus.id, tmp_path / "confirmed.jsonl", processes.kills["person"])


def _wait_for(condition, seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if condition():
            return True
        time.sleep(0.2)
    return False


def _has_come(wb, share: float) -> bool:
    """Whether a job at work is so far: worked out by share and not by time, a kill falls anywhere on any machine."""
    return any(j.state == "running" and j.progress >= share for j in queue.list_jobs(wb, limit=EVERY)) or _all_over(wb)


def _all_over(wb) -> bool:
    there = queue.list_jobs(wb, limit=EVERY)
    return any(j.kind == "retrain" for j in there) and not any(j.is_active for j in there)


def _every_version_is_whole(wb, retrains) -> None:
    made = {v.name: v for v in registry.list_versions(wb) if v.state == "candidate"}
    assert set(made) == {j.result["version"] for j in retrains}
    assert {p.name for p in wb.settings.versions_dir.iterdir()} == set(made)  # and nothing begun beside them
    for job in retrains:
        view = made[job.result["version"]]
        load_version(Path(view.path))  # compares the hash
        assert registry.load_card(wb, view.name)["data"]["sha256"] == job.result["snapshot"]


def _check_confirmed_events(wb, corpus_id: int, file: Path, kills: int) -> None:
    """Each once, as it was; what is stored without having been confirmed is at most the act in flight at each kill, and
    that act as a whole."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    confirmed = [tuple(e) for line in lines for e in line.get("confirmed", ())]
    undone = {line["undid"] for line in lines if "undid" in line}
    willed = {(q, tuple(s)) for q, s in (line["will"] for line in lines if "will" in line)}
    me = people.sign_in(wb, "ann").id
    with wb.read() as s:
        rows = s.execute(
            text("SELECT id, question_id, sentence_id, label, act, undoes FROM label_event WHERE annotator_id = :me"),
            {"me": me},
        ).all()
        assert s.scalar(text("PRAGMA integrity_check")) == "ok"
    stored = {r.id: r for r in rows}
    assert len(confirmed) > 10 * KILLS
    assert len({i for i, *_ in confirmed}) == len(confirmed)
    for i, question, sentence, label in confirmed:
        assert (stored[i].question_id, stored[i].sentence_id, stored[i].label) == (question, sentence, label)
    assert undone <= set(stored)

    taken_back = {r.undoes for r in rows}
    lists: dict[str, list] = {}
    for r in rows:
        if r.act:
            lists.setdefault(r.act, []).append(r)
    for of_one in lists.values():
        assert (of_one[0].question_id, tuple(sorted(r.sentence_id for r in of_one))) in willed
        assert len(taken_back & {r.id for r in of_one}) in (0, len(of_one))
    act_of = {r.id: r.act or r.id for r in rows}
    told = {i for i, *_ in confirmed} | undone
    acts = {("undo", act_of[r.undoes]) if r.undoes else ("label", act_of[r.id]): set() for r in rows}
    for r in rows:
        acts["undo" if r.undoes else "label", act_of[r.undoes or r.id]].add(r.id)
    assert sum(not ids & told for ids in acts.values()) <= kills

    newest = {(r.question_id, r.sentence_id): r.label for r in sorted(rows)}
    for question in {r.question_id for r in rows}:
        expected = {s: x for (q, s), x in newest.items() if q == question and x != "withdrawn"}
        assert annotation.read_labels(wb, question, me) == expected
