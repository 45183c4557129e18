"""A migrated database of either engine, and a corpus with one document in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from as2core.types import Document, Sentence
from db.repositories import corpora, documents
from db.session import open_database

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module", autouse=True)
def migrations():
    """Here they run."""


@pytest.fixture(scope="module", autouse=True)
def fast_commits():
    """Here commits wait for the disk."""


@pytest.fixture
def database(database_url):
    opened = open_database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def now():
    return NOW


@pytest.fixture
def add_document(database):
    """Store a document of these sentences in a corpus (made on first use); returns (corpus id, document id)."""

    def add(name: str, texts: list[str], *, corpus: str = "rivers") -> tuple[int, int]:
        with database.write() as s:
            home = corpora.find_corpus(s, corpus) or corpora.add_corpus(s, corpus, NOW)
            ids = documents.add_documents(s, home.id, [(Document(name, name.title(), " ".join(texts)), "d1")], NOW)
            documents.fill_documents(s, home.id, [(ids[name], name, pieces(texts))])
            return home.id, ids[name]

    return add


def pieces(texts: list[str]) -> list[Sentence]:
    found, at = [], 0
    for text in texts:
        found.append(Sentence(text, at, at + len(text), 0))
        at += len(text) + 1
    return found


@pytest.fixture
def as_pieces():
    return pieces
