"""A home in which processes are killed: a few questions and models of random weights, and what has to be true of it
whatever was killed when.

What a labeller was told is a line of a file beside the home, synced to the disk by a process that nobody kills with
the database: the oracle of every label.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from label_files import import_labels
from sqlalchemy import text
from tiny_models import tiny_models

from app import bootstrap
from app.corpora import corpora
from app.jobs import queue
from app.jobs.queue import JobView
from app.labels import consensus
from app.upkeep.check import check_home
from app.versions import registry
from app.workbench import people
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.errors import As2Error
from as2core.rankers.catalog import load_version
from as2core.types import Question

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "corpora" / "starter"
QUESTIONS, LABELLED = 20, 4  # and so many labelled candidates of each; the others are open
CORPUS, PERSON = "notes", "ann"
EVERY = 10_000  # jobs, where a page lists the newest


@dataclass(frozen=True)
class KilledHome:
    """`confirmed`: the file of what the labeller was told."""

    wb: Workbench
    corpus_id: int
    confirmed: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of the processes to be killed."""
        values = {f"AS2_{k.upper()}": str(v) for k, v in self.wb.settings.model_dump(exclude_none=True).items()}
        return {**os.environ, **values, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def open_home(folder: Path, database_url: str = "") -> KilledHome:
    """A new one below `folder`; the caller closes its workbench. Without an address it has a SQLite file."""
    kept = list(jsonl.read(STARTER / "train.jsonl")[0])[:QUESTIONS]
    (folder / "corpora" / "starter").mkdir(parents=True)
    judges = [q for q in jsonl.read(STARTER / "test.jsonl")[0] if q.positives][:4]
    jsonl.write([_keep_few_labels(q) for q in judges], folder / "corpora" / "starter" / "test.jsonl")
    texts = [t for q in kept for t in (q.text, *(c.text for c in q.candidates))]
    settings = Settings(
        home=folder / "home",
        database_url=database_url,
        models_dir=tiny_models(folder / "tiny", texts),
        corpora_dir=folder / "corpora",
        worker="external",
    )
    wb = bootstrap.open(settings)
    corpus = corpora.create_corpus(wb, CORPUS)
    content = jsonl.dumps([_keep_few_labels(q) for q in kept]).encode()
    import_labels(wb, corpus.id, "some.jsonl", content, annotator="book")
    return KilledHome(wb, corpus.id, folder / "confirmed.jsonl")


def _keep_few_labels(q: Question) -> Question:
    correct = [c.id for c in q.candidates if c.label == 1]
    known = {*correct, *[c.id for c in q.candidates if c.label == 0][: LABELLED - len(correct)]}
    return replace(q, candidates=tuple(c if c.id in known else replace(c, label=None) for c in q.candidates[:30]))


# --- after every kill, whatever goes on meanwhile ---------------------------------------------------------------------


def read_confirmed(home: KilledHome) -> list[tuple[int, int, int, str]]:
    """(event, question, sentence, label) of all that the labeller was told."""
    lines = home.confirmed.read_text().splitlines() if home.confirmed.exists() else []
    return [tuple(event) for line in lines for event in json.loads(line).get("confirmed", ())]


def find_lost_labels(home: KilledHome) -> list[tuple[int, int, int, str]]:
    """Confirmed events that are not stored as they were."""
    confirmed = read_confirmed(home)  # first: more are added meanwhile
    with home.wb.read() as s:
        stored = set(map(tuple, s.execute(text("SELECT id, question_id, sentence_id, label FROM label_event"))))
    return [event for event in confirmed if event not in stored]


def find_partial_versions(home: KilledHome) -> list[str]:
    """Directories under a version's name that cannot be loaded; what is being built has a name with a dot."""
    folder, partial = home.wb.settings.versions_dir, []
    for path in sorted(folder.glob("[!.]*")) if folder.is_dir() else ():
        try:
            load_version(path)
        except As2Error as error:
            partial.append(f"{path.name}: {error}")
    return partial


def find_problems(home: KilledHome) -> list[str]:
    """What `as2 check` reports, but that a worker was killed or is not there."""
    found = [f for f in check_home(home.wb) if f.problem and f.part != "worker"]
    return [f"{f.part}: {f.problem}" for f in found if not f.problem.endswith("its worker is gone")]


# --- when everything has ended ----------------------------------------------------------------------------------------


def find_leftovers(home: KilledHome) -> list[str]:
    """Files that were to be renamed or deleted by a process that is no more."""
    folder = home.wb.settings.home
    return [str(p.relative_to(folder)) for p in sorted(folder.rglob("*")) if p.name[0] == "." or p.suffix == ".part"]


def list_jobs(home: KilledHome, kind: str | None = None) -> list[JobView]:
    return queue.list_jobs(home.wb, kind, limit=EVERY)


def check_every_version_is_whole(home: KilledHome) -> None:
    """One of each retrain that is done, registered, of the labels that were frozen."""
    wb, retrains = home.wb, [j for j in list_jobs(home, "retrain") if j.state == "done"]
    made = {v.name: v for v in registry.list_versions(wb) if v.state == "candidate"}
    assert set(made) == {j.result["version"] for j in retrains}
    folder = wb.settings.versions_dir
    names = {p.name for p in folder.iterdir()} if folder.is_dir() else set()
    assert names == {Path(v.path).name for v in made.values()}  # and nothing begun beside them
    for job in retrains:
        view = made[job.result["version"]]
        load_version(Path(view.path))  # compares the hash
        assert registry.load_card(wb, view.name)["data"]["sha256"] == job.result["snapshot"]


def check_confirmed_events(home: KilledHome, *, kills: int, least: int) -> None:
    """Each once, as it was; what is stored without having been confirmed is at most the act in flight at each kill of
    the labeller, and that act as a whole. At least so many were confirmed."""
    lines = [json.loads(line) for line in home.confirmed.read_text().splitlines()]
    undone = {line["undid"] for line in lines if "undid" in line}
    willed = {(q, tuple(s)) for q, s in (line["will"] for line in lines if "will" in line)}
    confirmed = read_confirmed(home)
    me = people.sign_in(home.wb, PERSON).id
    with home.wb.read() as s:
        rows = s.execute(
            text("SELECT id, question_id, sentence_id, label, act, undoes FROM label_event WHERE annotator_id = :me"),
            {"me": me},
        ).all()
        if home.wb.database.sqlite:
            assert s.scalar(text("PRAGMA integrity_check")) == "ok"
    stored = {r.id: r for r in rows}
    assert len(confirmed) > least
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
    told = {i for i, *_ in confirmed} | undone
    assert sum(not ids & told for ids in _group_by_act(stored).values()) <= kills

    newest = {(r.question_id, r.sentence_id): r.label for r in sorted(rows)}
    for question in {r.question_id for r in rows}:
        expected = {s: x for (q, s), x in newest.items() if q == question and x != "withdrawn"}
        assert consensus.read_labels(home.wb, question, me) == expected


def _group_by_act(stored: Mapping[int, object]) -> dict[tuple[str, object], set[int]]:
    """The ids of the events that one act wrote."""
    rows: Sequence = list(stored.values())
    act_of = {r.id: r.act or r.id for r in rows}
    acts: dict[tuple[str, object], set[int]] = {}
    for r in rows:
        acts.setdefault(("undo" if r.undoes else "label", act_of[r.undoes or r.id]), set()).add(r.id)
    return acts
