"""Documents searched by words alone, in an index that lasts for a `with`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from as2core.retrieval.passages import PASSAGE_SENTENCES, find_first_sentence, split_passages
from as2core.retrieval.sqlite import SqliteIndex
from as2core.types import Document, Sentence

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
