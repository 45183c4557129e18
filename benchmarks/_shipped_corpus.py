"""A shipped corpus in a home of its own, and what the app's search finds in it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import bootstrap
from app.corpora.corpora import CorpusView
from app.corpora.indexing import reindex
from app.exchange import starter
from app.jobs.attempt import run_queued
from app.ranking import retrieval
from app.ranking.retrieval import RetrievedSentence
from app.ranking.scoring import RankLimits
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from app.worker import RUNNERS

ENSURE = {"starter": starter.ensure_starter, "handbook": starter.ensure_handbook}


@contextmanager
def open_shipped(name: str) -> Iterator[tuple[Workbench, CorpusView]]:
    """With the corpus of this name, a key of ENSURE, indexed by words and by vectors."""
    with tempfile.TemporaryDirectory() as home:
        wb = bootstrap.open(Settings(home=Path(home), worker="external"))
        try:
            corpus = ENSURE[name](wb)
            assert corpus is not None
            reindex(wb, corpus.id)
            run_queued(wb, RUNNERS)  # the passages' vectors
            yield wb, corpus
        finally:
            wb.close()


def retrieve_sentences(wb: Workbench, corpus: CorpusView, question: str) -> tuple[RetrievedSentence, ...]:
    """All that the first stage chooses from."""
    limits = RankLimits.from_settings(wb.settings)
    documents, candidates = limits.documents, limits.candidates
    return retrieval.retrieve(wb, corpus.id, question, documents=documents, candidates=candidates).candidates
