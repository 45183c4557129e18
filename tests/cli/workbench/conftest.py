"""The commands that need the database, over a home of their own and the shipped models."""

from __future__ import annotations

import json

import pytest
from kestrel import QUESTION

ARTICLES = {
    "tower.md": "# Kestrel Tower\n\nThe tower was finished in 1889. It has three lifts. Rain stops nobody.\n",
    "bread.txt": "Bread rises because yeast makes gas. A loaf needs an hour in the oven.\n",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty AS2_HOME, without the starter corpus, whose jobs nobody runs."""
    from app.workbench.settings import get_settings

    monkeypatch.setenv("AS2_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AS2_CORPORA_DIR", str(tmp_path / "no-corpora"))
    monkeypatch.setenv("AS2_WORKER", "external")
    get_settings.cache_clear()
    yield tmp_path / "home"
    get_settings.cache_clear()


@pytest.fixture
def as2(home, as2):
    return as2


@pytest.fixture
def articles(tmp_path):
    folder = tmp_path / "articles"
    folder.mkdir()
    for name, text in ARTICLES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def label_file(tmp_path):
    path = tmp_path / "kestrel.jsonl"
    path.write_text(json.dumps(QUESTION) + "\n")
    return path
