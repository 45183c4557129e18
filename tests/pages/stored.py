"""Writes rows that take real work to come about: jobs at any stage, retrained versions, their cards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from fake_models import write_version
from sqlalchemy import select

from app.corpora import corpora
from app.jobs.process import name_worker
from app.workbench import people
from app.workbench.workbench import Workbench
from db.models import WITHDRAWN, Job, LabelEvent, ModelVersion, Question, Run, Sentence
from db.repositories import jobs as job_rows
from db.repositories import questions as question_rows
from db.repositories import reviews
from db.repositories import versions as version_rows

TOWERS, WORKS = 1, 2  # corpora of the prepared home
THINGS, OTHERS = 3, 4  # of the labelled one
SECOND, THIRD = 3, 4  # the versions "starter-2" and "starter-3" in both
QUESTIONS = (
    "When was the tower finished?",
    "What did it cost: $5 or $9?",
    "Who designed the Forth Bridge?",
)


def put_job(
    wb: Workbench,
    kind: str = "retrain",
    state: str = "running",
    *,
    corpus_id: int | None = TOWERS,
    settings: Mapping[str, Any] | None = None,
    events: Iterable[dict[str, Any]] = (),
    finished: datetime | None = None,
    **columns: Any,
) -> int:
    """A job's row as its run would have left it: taken up when it was queued, over 75 seconds later."""
    now = wb.clock()
    with wb.write() as s:
        row = job_rows.add_job(s, kind, settings or {}, now, corpus_id=corpus_id)
        if state != "queued":
            row.attempt, row.worker, row.heartbeat, row.started = 1, name_worker(), now, now
        if state not in ("queued", "running"):
            row.finished = finished or now + timedelta(seconds=75)
        row.state = state
        for name, value in columns.items():
            setattr(row, name, value)
        for event in events:
            job_rows.add_event(s, row.id, event, now)
        return row.id


def jobs(wb: Workbench) -> list[Job]:
    """All of them, the oldest first."""
    with wb.read() as s:
        return list(s.scalars(select(Job).order_by(Job.id)))


def change_job(wb: Workbench, job_id: int, **columns: Any) -> None:
    with wb.write() as s:
        row = s.get_one(Job, job_id)
        for name, value in columns.items():
            setattr(row, name, value)


def put_version(wb: Workbench, name: str, *, parent: str | None = "cascade", kind: str = "cascade",
                state: str = "candidate", note: str = "", metrics: Mapping[str, float] | None = None,
                card: Mapping[str, Any] | None = None) -> int:  # fmt: skip
    """A version made here, its directory included."""
    folder = write_version(wb.settings.versions_dir / name, kind, parent=parent, seed=0, **(card or {}))
    with wb.write() as s:
        return version_rows.add_version(
            s, name, kind=kind, path=str(folder), state=state, parent=parent, note=note, metrics=metrics or {},
            now=wb.clock(),
        ).id  # fmt: skip


def change_version(wb: Workbench, name: str, **columns: Any) -> None:
    with wb.write() as s:
        row = s.scalars(select(ModelVersion).where(ModelVersion.name == name)).one()
        for column, value in columns.items():
            setattr(row, column, value)


def change_card(wb: Workbench, name: str, **content: Any) -> None:
    file = wb.settings.versions_dir / name / "card.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | content))


def set_role(wb: Workbench, role: str, name: str = "me") -> None:
    """There is another admin then, so that this one may go."""
    people.sign_in(wb, "ann")
    people.set_role(wb, people.sign_in(wb, name).id, role, by=None)


def delete_corpora(wb: Workbench) -> None:
    for corpus in corpora.list_corpora(wb):
        corpora.delete_corpus(wb, corpus.id)


def questions(wb: Workbench, corpus_id: int) -> list[str]:
    with wb.read() as s:
        return [q.text for q in question_rows.list_questions(s, corpus_id)]


def set_split(wb: Workbench, question_id: int, split: str) -> None:
    with wb.write() as s:
        s.get_one(Question, question_id).split = split


def list_asked(wb: Workbench) -> list[tuple[int, str, str]]:
    """(corpus, question, version) of every question asked since the home was prepared."""
    wb.later.finish()
    with wb.read() as s:
        found = select(Question.corpus_id, Question.text, ModelVersion.name).join(Run, Run.question_id == Question.id)
        since = found.join(ModelVersion, ModelVersion.id == Run.version_id).where(Run.created >= wb.clock())
        return [tuple(row) for row in s.execute(since.order_by(Run.id))]


def thing_question(wb: Workbench, qid: str) -> str:
    """The text of a question of "things", by the id it came with."""
    with wb.read() as s:
        wanted = (Question.corpus_id == THINGS, Question.external_id == qid)
        return s.scalars(select(Question.text).where(*wanted)).one()


def sentence(wb: Workbench, sentence_id: int) -> str:
    with wb.read() as s:
        return s.get_one(Sentence, sentence_id).text


def label_events(wb: Workbench) -> list[LabelEvent]:
    with wb.read() as s:
        return list(s.scalars(select(LabelEvent).order_by(LabelEvent.id)))


def labels(wb: Workbench, name: str = "me") -> dict[tuple[int, int], str]:
    """(question, sentence) -> this person's label."""
    me = people.sign_in(wb, name).id
    newest = {(e.question_id, e.sentence_id): e.label for e in label_events(wb) if e.annotator_id == me}
    return {pair: label for pair, label in newest.items() if label != WITHDRAWN}


def flags(wb: Workbench, pair: tuple[int, int]) -> list[tuple[str, str]]:
    """(name, note) of those on a (question, sentence) that nobody cleared."""
    with wb.read() as s:
        return [(row.name, row.note) for row in reviews.list_flags(s, pair)]


def retrain_result(*, wins: int = 12, losses: int = 3, ties: int = 20, difference: float = 0.041, p: float = 0.03):
    """What a retrain leaves in its job's row."""
    rng = np.random.default_rng(1)
    rows = []
    for i in range(wins + losses + ties):
        before = float(np.round(rng.uniform(0.2, 0.7), 3))
        change = 0.25 if i < wins else -0.2 if i < wins + losses else 0.0
        first = {"text": "It rained.", "correct": False}
        now = {"text": "The tower was finished in 1889.", "correct": True} if i < wins else first
        rows.append({"qid": f"q{i}", "question": f"{QUESTIONS[i % 3]} ({i})", "before": before,
                     "after": before + change, "top_before": first, "top_after": now})  # fmt: skip
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


def training_events(steps: int, of: int = 200, exits: tuple[str, ...] = ("2", "3", "4", "5", "6")) -> list[dict]:
    rng = np.random.default_rng(0)
    dev = {exit_: 0.58 + place / 60 for place, exit_ in enumerate(exits)}
    events: list[dict] = [{"kind": "start", "steps": of, "questions": 100, "dev_ap": dev}]
    for step in range(1, steps + 1):
        loss = float(0.5 * np.exp(-step / 90) + 0.15 + rng.normal(0, 0.05))
        events.append({"kind": "step", "step": step, "steps": of, "loss": loss, "seconds_left": (of - step) * 0.9})
        if step % 25 == 0:
            events.append(
                {"kind": "eval", "step": step, "steps": of, "dev_ap": {e: ap + 0.02 for e, ap in dev.items()}}
            )
    return events
