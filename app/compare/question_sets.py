"""The labelled sets that rankers are compared on: the shipped ones, and the labels of every corpus."""

from __future__ import annotations

from app.corpora.corpora import CORPUS_PREFIX, find_corpus, list_corpora
from app.exchange.exports import labelled_questions
from app.ranking.synonyms import read_synonyms
from app.workbench.workbench import Workbench
from as2core.data import catalog as datasets
from as2core.synonyms import Synonyms
from as2core.types import Question


def list_datasets(wb: Workbench) -> list[str]:
    """The shipped sets that are there, and the labels of every corpus that has some."""
    names = [n for n in datasets.SHIPPED_SETS if datasets.find_shipped(n, wb.settings.corpora_dir).is_file()]
    return [*names, *(f"{CORPUS_PREFIX}{c.name}" for c in list_corpora(wb) if c.labels)]


def load_questions(wb: Workbench, data: str) -> list[Question]:
    """A shipped set, a corpus's labels, or a file. Raises UnknownData, UnknownCorpus, UnreadableFile."""
    if data.startswith(CORPUS_PREFIX):
        return labelled_questions(wb, find_corpus(wb, data.removeprefix(CORPUS_PREFIX)).id)
    return list(datasets.load_questions(data, corpora=wb.settings.corpora_dir).questions)


def read_synonyms_of(wb: Workbench, data: str) -> Synonyms:
    """A corpus's; a shipped set and a file have none. Raises UnknownCorpus."""
    if not data.startswith(CORPUS_PREFIX):
        return Synonyms()
    return read_synonyms(wb, find_corpus(wb, data.removeprefix(CORPUS_PREFIX)).id)
