"""A corpus in a home of its own, and what the app's search finds in it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from app import bootstrap
from app.corpora.corpora import CorpusView, list_corpora
from app.corpora.indexing import reindex
from app.exchange import starter
from app.exchange.imports import store_labels
from app.exchange.label_files import read_labels
from app.jobs.attempt import run_queued
from app.ranking import retrieval
from app.ranking.retrieval import RetrievedSentence
from app.ranking.scoring import RankLimits
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from app.worker import RUNNERS
from as2core.types import Candidate, Question

ENSURE = {"starter": starter.ensure_starter, "handbook": starter.ensure_handbook}


@contextmanager
def open_shipped(name: str) -> Iterator[tuple[Workbench, CorpusView]]:
    """With the corpus of this name, a key of ENSURE, indexed by words and by vectors."""
    with _open_home(ENSURE[name]) as opened:
        yield opened


@contextmanager
def open_labels(file: Path) -> Iterator[tuple[Workbench, CorpusView]]:
    """With a corpus of the sentences of a file of labels, by their documents, indexed as `open_shipped`."""

    def add(wb: Workbench) -> CorpusView:
        name = store_labels(wb, None, read_labels(file.name, file)).corpus
        return next(c for c in list_corpora(wb) if c.name == name)

    with _open_home(add) as opened:
        yield opened


@contextmanager
def _open_home(add: Callable[[Workbench], CorpusView | None]) -> Iterator[tuple[Workbench, CorpusView]]:
    with tempfile.TemporaryDirectory() as home:
        wb = bootstrap.open(Settings(home=Path(home), worker="external"))
        try:
            corpus = add(wb)
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


def with_labels(q: Question, candidates: Sequence[Candidate], texts: Sequence[str]) -> Question:
    """The question over what was found; correct sentences that were not found stand at the end."""
    correct = [c for c in q.candidates if c.label == 1]
    correct_texts = {c.text for c in correct}
    labelled = [replace(c, label=int(t in correct_texts)) for c, t in zip(candidates, texts, strict=True)]
    return replace(q, candidates=(*labelled, *(c for c in correct if c.text not in set(texts))))
