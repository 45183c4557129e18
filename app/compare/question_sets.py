"""The labelled sets that rankers are compared on: the shipped ones, and the labels of every corpus."""

from __future__ import annotations

from contextlib import suppress

from app.corpora.corpora import CORPUS_PREFIX, CorpusView, UnknownCorpus, find_corpus, list_corpora
from app.corpora.synonyms import read_synonyms
from app.exchange.exports import load_labelled_questions
from app.workbench.workbench import Workbench
from as2core.data import catalog as datasets
from as2core.synonyms import Synonyms
from as2core.types import Question


def list_datasets(wb: Workbench) -> list[str]:
    """The shipped sets that are there, and the labels of every corpus that has some."""
    names = [n for n in datasets.SHIPPED_SETS if datasets.find_shipped(n, wb.settings.corpora_dir).is_file()]
    return [*names, *(f"{CORPUS_PREFIX}{c.name}" for c in list_corpora(wb) if c.labels)]


def get_own_corpus(wb: Workbench, data: str) -> CorpusView | None:
    """The corpus whose labels these are; None for a shipped set or a file. Raises UnknownCorpus."""
    return find_corpus(wb, data.removeprefix(CORPUS_PREFIX)) if data.startswith(CORPUS_PREFIX) else None


def find_own_corpus(wb: Workbench, data: str) -> CorpusView | None:
    """The same; None also where it was deleted or renamed since."""
    with suppress(UnknownCorpus):
        return get_own_corpus(wb, data)
    return None


def load_questions(wb: Workbench, data: str) -> list[Question]:
    """A shipped set, a corpus's labels, or a file. Raises UnknownData, UnknownCorpus, UnreadableFile."""
    corpus = get_own_corpus(wb, data)
    if corpus is not None:
        return load_labelled_questions(wb, corpus.id)
    return list(datasets.load_questions(data, corpora=wb.settings.corpora_dir).questions)


def read_synonyms_of(wb: Workbench, data: str) -> Synonyms:
    """A corpus's; a shipped set and a file have none. Raises UnknownCorpus."""
    corpus = get_own_corpus(wb, data)
    return Synonyms() if corpus is None else read_synonyms(wb, corpus.id)
