"""A workbench of its own for every test: fake models, a clock one can turn, no worker but the test itself."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from functools import cache, partial

import pytest
from fake_clock import Clock
from fake_models import FakeModels, write_version
from tower_texts import BREAD, BRIDGE, QUESTIONS, TOWER

from app import bootstrap
from app.ask import asking, stored_questions
from app.corpora import corpora, ingestion
from app.labels import annotation, progress, rules
from app.labels.annotation import Presentation
from app.workbench import people
from app.workbench.settings import Settings
from db.repositories import question_lists


@pytest.fixture
def settings(tmp_path, database_url):
    return write_settings(tmp_path, database_url)


@pytest.fixture
def sqlite_settings(tmp_path):
    """With the database in the home."""
    return write_settings(tmp_path, "")


def write_settings(folder, database_url):
    """Of a home in this folder, with two shipped versions there."""
    write_version(folder / "models" / "cascade", note="shipped", metrics={"AP": 0.7})
    write_version(folder / "models" / "generative", "generative")
    return Settings(
        home=folder / "home",
        database_url=database_url,
        models_dir=folder / "models",
        corpora_dir=folder / "corpora",
        worker="external",
    )


@pytest.fixture(autouse=True)
def fresh_counts(monkeypatch):
    """On a busy machine a count may take long, and would then be shown again for some seconds."""
    monkeypatch.setattr(progress, "SLOW_COUNT_SECONDS", float("inf"))


@pytest.fixture
def wb(settings, models, clock, request):
    stage = next((name for name in ("scored", "towers") if name in request.fixturenames), None)
    if stage and settings.database_file:
        copy_stage(request.getfixturevalue("stages")(stage), settings)
    opened = bootstrap.open(settings, models, clock)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def stages(tmp_path_factory, migrated_file):
    """Stage -> the folder of a workbench brought there once for all tests, which get copies of it."""

    @cache
    def bring(stage):
        folder = tmp_path_factory.mktemp(stage)
        shutil.copy(migrated_file, folder / "as2.db")
        wb = bootstrap.open(write_settings(folder, f"sqlite:///{folder / 'as2.db'}"), FakeModels(), Clock())
        corpus = add_towers(wb)
        if stage == "scored":
            score_questions(wb, corpus.id)
        wb.close()
        return folder

    return bring


def copy_stage(folder, settings):
    shutil.copytree(folder / "home", settings.home)
    shutil.copy(folder / "as2.db", settings.database_file)
    with closing(sqlite3.connect(settings.database_file)) as database, database:  # paths are stored in full
        database.execute(
            "UPDATE model_version SET path = replace(path, ?, ?)", (str(folder), str(settings.models_dir.parent))
        )


@pytest.fixture
def towers(wb):
    """A corpus of three documents, fourteen sentences, nothing of its queues drawn at random."""
    return next((c for c in corpora.list_corpora(wb) if c.name == "towers"), None) or add_towers(wb)


def add_towers(wb):
    corpus = corpora.create_corpus(wb, "towers")
    files = [("tower.txt", TOWER.encode()), ("bridge.txt", BRIDGE.encode()), ("bread.txt", BREAD.encode())]
    ingestion.ingest(wb, corpus.id, files)
    rules.set_rules(wb, corpus.id, by=people.sign_in(wb, "ann").id, control=0.0, blind=0.0)
    return corpora.get_corpus(wb, corpus.id)


@pytest.fixture
def ann(wb):
    return people.sign_in(wb, "ann")


@pytest.fixture
def bob(wb):
    return people.sign_in(wb, "bob")


@pytest.fixture
def ask_queued(wb):
    """`queue_question` without the workbench."""
    return partial(queue_question, wb)


def queue_question(wb, corpus_id, question, **settings):
    """Ask a question and put it in the label queues; as `asking.ask`."""
    view = asking.ask(wb, corpus_id, question, **settings)
    with wb.write() as s:
        question_lists.set_queued(s, [view.question_id], queued=True)
    return view


@pytest.fixture
def asked(wb, towers):
    """One question, ranked."""
    return asking.ask(wb, towers.id, QUESTIONS[0])


@pytest.fixture
def scored(wb, towers):
    """The corpus with all QUESTIONS ranked by both models, and in the label queues."""
    if not stored_questions.count_queued(wb, towers.id):
        score_questions(wb, towers.id)
    return towers


def score_questions(wb, corpus_id):
    for q in QUESTIONS:
        asking.score_generative(wb, queue_question(wb, corpus_id, q))


@pytest.fixture
def give_signs(wb, asked):
    """give_signs(annotator, "+-? ...", queue=...) labels the first candidates, a sign each: correct, incorrect, unsure,
    none."""

    def act(who, signs, **shown):
        for candidate, sign in zip(asked.candidates, signs, strict=False):
            if sign != " ":
                annotation.give_label(
                    wb,
                    question_id=asked.question_id,
                    sentence_id=candidate.sentence_id,
                    annotator_id=who.id,
                    label={"+": "correct", "-": "incorrect", "?": "unsure"}[sign],
                    presentation=Presentation(**shown) if shown else None,
                )

    return act
