"""A workbench of its own for every test: fake models, a clock one can turn, no worker but the test itself."""

from __future__ import annotations

import pytest
from fake_models import write_version
from tower_texts import BREAD, BRIDGE, QUESTIONS, TOWER

from app import bootstrap
from app.ask import asking
from app.corpora import corpora, ingestion
from app.labels import annotation, progress, rules
from app.labels.annotation import Presentation
from app.workbench import people
from app.workbench.settings import Settings
from db.repositories import question_lists


@pytest.fixture
def settings(tmp_path, database_url):
    write_version(tmp_path / "models" / "cascade", note="shipped", metrics={"AP": 0.7})
    write_version(tmp_path / "models" / "generative", "generative")
    return Settings(
        home=tmp_path / "home",
        database_url=database_url,
        models_dir=tmp_path / "models",
        corpora_dir=tmp_path / "corpora",
        worker="external",
    )


@pytest.fixture(autouse=True)
def fresh_counts(monkeypatch):
    """On a busy machine a count may take long, and would then be shown again for some seconds."""
    monkeypatch.setattr(progress, "SLOW_COUNT_SECONDS", float("inf"))


@pytest.fixture
def wb(settings, models, clock):
    opened = bootstrap.open(settings, models, clock)
    yield opened
    opened.close()


@pytest.fixture
def towers(wb):
    """A corpus of three documents, fourteen sentences, nothing of its queues drawn at random."""
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
    """Ask a question and put it in the label queues; as `asking.ask`, without the workbench."""

    def ask(corpus_id, question, **settings):
        view = asking.ask(wb, corpus_id, question, **settings)
        with wb.write() as s:
            question_lists.set_queued(s, [view.question_id], queued=True)
        return view

    return ask


@pytest.fixture
def asked(wb, towers):
    """One question, ranked."""
    return asking.ask(wb, towers.id, QUESTIONS[0])


@pytest.fixture
def scored(wb, towers, ask_queued):
    """The corpus with all QUESTIONS ranked by both models, and in the label queues."""
    for q in QUESTIONS:
        asking.score_generative(wb, ask_queued(towers.id, q))
    return towers


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
