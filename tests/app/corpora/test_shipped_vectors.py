"""A corpus that comes with vectors is searched by meaning at once; other corpora wait for the background job."""

from __future__ import annotations

import numpy as np
import pytest
from fake_models import FAKE_WEIGHTS
from tower_texts import TOWER

from app.corpora import corpora, indexing, ingestion
from app.jobs import queue
from as2core.data.catalog import CORPORA
from as2core.documents.reading import read_documents
from as2core.nn.backbone import DEFAULT_SHA256
from as2core.retrieval.passages import split_passages
from as2core.retrieval.vector_file import VectorFile
from as2core.text import split_sentences

SHIPPED = CORPORA / "starter" / "vectors.npz"


def list_passages(name, content):
    (document,) = read_documents(name, content)
    return [p.text for p in split_passages(document.id, split_sentences(document.text), title=document.title)]


@pytest.fixture
def ship(wb, models):
    """ship(weights) writes the vectors of the tower as the fake embedder makes them; returns the file."""

    def write(weights=FAKE_WEIGHTS):
        texts = list_passages("tower.txt", TOWER.encode())
        folder = wb.settings.corpora_dir / "starter"
        folder.mkdir(parents=True)
        VectorFile(texts, models.vectors.embed(texts), weights).save(folder / "vectors.npz")
        return folder / "vectors.npz"

    return write


def ingest(wb, *names):
    corpus = corpora.create_corpus(wb, "towers")
    view = ingestion.ingest(wb, corpus.id, [(name, TOWER.encode()) for name in names])
    return corpora.get_corpus(wb, corpus.id), view


def test_shipped_vectors_are_there_after_the_ingest_and_no_job_waits(wb, ship):
    ship()
    corpus, view = ingest(wb, "tower.txt")
    assert corpus.vectors_done == corpus.vectors_total > 0
    assert view.job_id is None and queue.list_jobs(wb) == []


def test_a_rebuilt_index_takes_them_again(wb, ship):
    ship()
    corpus, _ = ingest(wb, "tower.txt")
    indexing.reindex(wb, corpus.id)
    assert corpora.get_corpus(wb, corpus.id).vectors_done == corpus.vectors_total
    assert queue.list_jobs(wb) == []


def test_passages_that_are_not_shipped_wait_for_the_job(wb, ship):
    ship()
    corpus, view = ingest(wb, "tower.txt", "another.txt")  # the title is part of a passage
    assert 0 < corpus.vectors_done < corpus.vectors_total
    assert [job.kind for job in queue.list_jobs(wb)] == ["embed"] and view.job_id is not None


def test_vectors_of_other_weights_are_passed_over(wb, ship):
    ship("other weights")
    corpus, view = ingest(wb, "tower.txt")
    assert corpus.vectors_done == 0 and view.job_id is not None


def test_a_damaged_file_stops_no_ingest(wb, ship, caplog):
    ship().write_bytes(b"no vectors")
    corpus, view = ingest(wb, "tower.txt")
    assert corpus.vectors_done == 0 and view.job_id is not None
    assert "not a file of passage vectors" in caplog.text


@pytest.mark.parametrize("name", corpora.SHIPPED_CORPORA)
def test_every_passage_of_a_shipped_corpus_is_shipped_for_the_default_weights(name):
    file = VectorFile.load(CORPORA / name / "vectors.npz")
    texts = [
        text
        for article in sorted((CORPORA / name / "articles").glob("*"))
        for text in list_passages(article.name, article.read_bytes())
    ]
    assert file.weights == DEFAULT_SHA256
    assert [t for t in texts if file.get(t) is None] == []
    assert len(file) == len(set(texts))


def test_the_shipped_vectors_are_those_of_the_default_embedder():
    from as2core.rankers.catalog import get

    texts = list_passages("eiffel-tower.md", (CORPORA / "starter" / "articles" / "eiffel-tower.md").read_bytes())[:3]
    file = VectorFile.load(SHIPPED)
    shipped = np.stack([file.get(t) for t in texts])
    np.testing.assert_allclose(shipped, get("bi-encoder").embed(texts), atol=2e-3)  # half precision, rows of one length
