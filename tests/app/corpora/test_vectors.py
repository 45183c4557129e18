"""Passages get their vectors once, wherever they are computed and however often it is interrupted."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from app.corpora import corpora, indexing, ingestion
from app.corpora.indexing import BATCH_PASSAGES, READ_PASSAGES, embed_on_ray, store_vectors
from app.jobs import queue
from as2core.retrieval.sqlite import SqliteIndex
from as2core.types import Passage

TOTAL = READ_PASSAGES + 3 * BATCH_PASSAGES + 5


class Interrupted(Exception):
    pass


@pytest.fixture
def index(tmp_path):
    with closing(SqliteIndex(tmp_path / "index.db")) as opened:
        opened.upsert_docs([("d", [Passage(f"p{i}", "d", f"text {i}", i, i) for i in range(TOTAL)])])
        yield opened


class Workers:
    """As a pool: takes `width` batches before it gives the first, the last one first, and one of them in parts."""

    def __init__(self, width: int = 5) -> None:
        self.width, self.times = width, Counter()

    def __call__(self, batches):
        while running := list(islice(batches, self.width)):
            for batch in [*running[1:], *([p] for p in running[0])][::-1]:
                self.times.update(p.id for p in batch)
                yield batch, np.array([[float(p.id[1:]), 1.0] for p in batch], dtype=np.float32)


def read_vectors(index) -> dict[str, np.ndarray]:
    with index._connection() as db:
        rows = db.execute("SELECT text, vector FROM passage WHERE vector IS NOT NULL").fetchall()
    return {text: np.frombuffer(vector, dtype="<f4") for text, vector in rows}


def test_every_passage_gets_its_own_vector_once_when_several_batches_are_under_way(index):
    workers, progress = Workers(), []
    assert store_vectors(index, workers, progress.append) == TOTAL
    assert set(workers.times.values()) == {1} and len(workers.times) == TOTAL
    assert all(vector.tolist() == [float(text.split()[1]), 1.0] for text, vector in read_vectors(index).items())
    assert (progress[-1].done, progress[-1].total) == (TOTAL, TOTAL)


def test_what_is_stored_is_not_computed_again_after_an_interruption(index):
    def interrupt(progress):
        if progress.done > 100:
            raise Interrupted

    with pytest.raises(Interrupted):
        store_vectors(index, Workers(), interrupt)
    stored = index.count_vectors()
    assert 100 < stored < TOTAL
    workers = Workers()
    assert store_vectors(index, workers, lambda _: None) == TOTAL - stored == len(workers.times)
    assert index.list_pending(1) == []


def test_a_passage_that_is_added_meanwhile_gets_its_vector_too(index):
    def add(progress):
        if progress.done == BATCH_PASSAGES:
            index.upsert_docs([("e", [Passage("p9000", "e", "text 9000", 0, 0)])])

    def embed(batches):
        for batch in batches:
            yield batch, np.ones((len(batch), 2), dtype=np.float32)

    assert store_vectors(index, embed, add) == TOTAL + 1


@pytest.fixture
def corpus(wb, tmp_path):
    """Some hundred passages without vectors, and a job queued for them."""
    made = corpora.create_corpus(wb, "many")
    file = tmp_path / "many.txt"
    file.write_text("\n\n".join(f"Bridge {i} was opened to traffic in {1500 + i}." for i in range(900)))
    ingestion.ingest(wb, made.id, [(file.name, file)])
    return made


@pytest.mark.ray
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_vectors_of_ray_are_those_of_the_embedder_and_an_interrupted_run_is_continued(wb, corpus, monkeypatch):
    from as2core.bulk import pool
    from as2core.rankers.catalog import get

    monkeypatch.setattr(pool, "count_cores", lambda: 2)
    [job] = queue.list_active(wb, "embed", corpus.id)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_on_ray(wb, corpus.id, "local", interrupt)
    index = wb.index(corpus.id)
    stored, total = index.count_vectors(), index.count()
    assert 0 < stored < total
    assert queue.load_job(wb, job.id).state == "cancelled"
    [again] = queue.list_active(wb, "embed", corpus.id)  # the background job goes on
    assert again.id != job.id
    assert embed_on_ray(wb, corpus.id, "local", lambda _: None) == total - stored
    assert queue.list_active(wb, "embed", corpus.id) == []
    vectors = read_vectors(index)
    assert len(vectors) == total
    expected = get(indexing.EMBEDDER).embed(list(vectors))
    assert np.allclose(list(vectors.values()), expected, atol=1e-5)
    assert embed_on_ray(wb, corpus.id, "nowhere:1", lambda _: None) == 0  # nothing to do: no Ray is asked
