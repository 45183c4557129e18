"""The Label page over a corpus that nobody has asked, with services in memory."""

import sys
from dataclasses import replace

import fake_work
import pytest


@pytest.fixture
def unasked(monkeypatch):
    """unasked(sentences): the page over a corpus of so many sentences and no question."""
    fake = fake_work.Work()
    fake.pairs = []
    fake_work.install(monkeypatch, fake)
    corpora = sys.modules["app.services.corpora"]
    known = corpora.list_corpora

    def page(sentences):
        empty = [replace(c, questions=0, sentences=sentences) for c in known(None)]
        monkeypatch.setattr(corpora, "list_corpora", lambda wb: empty)
        return fake_work.page("label")

    return page


def links(at):
    """Label -> address of the links on the page."""
    found = [e.proto for e in at.get("page_link")]
    return {p.label: f"{p.page}?{p.query_string}" for p in found}


def test_a_corpus_nobody_has_asked_offers_proposed_questions_first(unasked):
    at = unasked(1480)
    assert "accept questions proposed from its sentences" in fake_work.markup(at)
    assert links(at)["Propose questions"] == "data?view=proposals"


def test_nothing_is_proposed_for_a_corpus_without_sentences(unasked):
    assert "Propose questions" not in links(unasked(0))
