"""A workbench of its own for every test: fake models, a clock one can turn, no worker but the test itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fake_models import FakeModels, write_version
from tower_texts import BREAD, BRIDGE, QUESTIONS, TOWER

from app import services
from app.services import asking, corpora, labelling, people, rules
from app.services.views import Shown
from app.settings import Settings


class Clock:
    """Stands still until told."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **of_time: float) -> None:
        self.now += timedelta(**of_time)


@pytest.fixture
def clock():
    return Clock()


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


@pytest.fixture
def models():
    return FakeModels()


@pytest.fixture
def wb(settings, models, clock):
    opened = services.open(settings, models, clock)
    yield opened
    opened.close()


@pytest.fixture
def towers(wb):
    """A corpus of three documents, fourteen sentences, nothing of its queues drawn at random."""
    corpus = corpora.create_corpus(wb, "towers")
    files = [("tower.txt", TOWER.encode()), ("bridge.txt", BRIDGE.encode()), ("bread.txt", BREAD.encode())]
    corpora.ingest(wb, corpus.id, files)
    rules.set_rules(wb, corpus.id, by=people.annotator(wb, "ann").id, control=0.0, blind=0.0)
    return corpora.get_corpus(wb, corpus.id)


@pytest.fixture
def ann(wb):
    return people.annotator(wb, "ann")


@pytest.fixture
def bob(wb):
    return people.annotator(wb, "bob")


@pytest.fixture
def asked(wb, towers):
    """One question, ranked."""
    return asking.ask(wb, towers.id, QUESTIONS[0])


@pytest.fixture
def scored(wb, towers):
    """The corpus with all QUESTIONS ranked by both models."""
    for q in QUESTIONS:
        asking.generative(wb, asking.ask(wb, towers.id, q))
    return towers


@pytest.fixture
def give_signs(wb, asked):
    """give_signs(annotator, "+-? ...", queue=...) labels the first candidates, a sign each: correct, incorrect, unsure,
    none."""

    def act(who, signs, **shown):
        for candidate, sign in zip(asked.candidates, signs, strict=False):
            if sign != " ":
                labelling.give_label(
                    wb,
                    question_id=asked.question_id,
                    sentence_id=candidate.sentence_id,
                    annotator_id=who.id,
                    label={"+": "correct", "-": "incorrect", "?": "unsure"}[sign],
                    shown=Shown(**shown) if shown else None,
                )

    return act
