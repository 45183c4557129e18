"""Documents searched by words alone, in an index that lasts for a `with`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from as2core.metrics import order
from as2core.rankers.base import Ranker
from as2core.retrieval.passages import PASSAGE_SENTENCES, find_first_sentence, split_passages
from as2core.retrieval.sqlite import SqliteIndex
from as2core.types import Candidate, Document, Sentence

Pages = Mapping[str, tuple[Document, list[Sentence]]]  # by id


@contextmanager
def index_words(pages: Pages) -> Iterator[SqliteIndex]:
    with TemporaryDirectory() as folder, closing(SqliteIndex(Path(folder) / "index.db")) as index:
        index.upsert_docs([(i, split_passages(i, sentences, title=d.title)) for i, (d, sentences) in pages.items()])
        yield index


def search(pages: Pages, index: SqliteIndex, question: str, limit: int) -> list[tuple[Document, Sentence]]:
    """The first sentences of the passages that have the question's words, best passage first."""
    places: dict[tuple[str, int], None] = {}
    for hit in index.search_words(question, limit):
        first = find_first_sentence(hit.passage_id)
        last = min(first + PASSAGE_SENTENCES, len(pages[hit.doc_id][1]))
        places |= dict.fromkeys((hit.doc_id, position) for position in range(first, last))
    return [(pages[i][0], pages[i][1][position]) for i, position in list(places)[:limit]]


def search_and_rank(
    pages: Pages, index: SqliteIndex, ranker: Ranker, question: str, limit: int
) -> list[tuple[Document, Sentence]]:
    """What `search` finds, best first."""
    found = search(pages, index, question, limit)
    if not found:
        return []
    candidates = [Candidate(str(n), s.text, None, d.title) for n, (d, s) in enumerate(found)]
    return [found[n] for n in order(np.asarray(ranker.score(question, candidates)))]
