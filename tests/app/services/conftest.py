"""A workbench of its own for every test: fake models, a clock one can turn, no worker but the test itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from fake_models import FakeModels, write_version

from app import services
from app.services import corpora, people, rules
from app.settings import Settings

TOWER = """The Eiffel Tower was finished on 31 March 1889. It stands in Paris. Gustave Eiffel's company built the tower.

The tower is 330 metres high. Its lifts were replaced in 1897. Two hundred million people have visited it."""
BRIDGE = """The Forth Bridge was opened on 4 March 1890. Its steel weighs 53,000 tonnes. Sir John Fowler designed it.

Trains cross the bridge every day. It was painted for the last time in 2011."""
BREAD = "Bread is baked from flour and water. Yeast makes the dough rise. Sourdough needs no yeast from a shop."


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
