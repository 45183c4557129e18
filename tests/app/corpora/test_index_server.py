"""The search indexes on a server that AS2_INDEX_URL names."""

from __future__ import annotations

import pytest

from app import bootstrap
from app.ask import asking
from app.corpora import corpora, indexing, ingestion
from app.jobs.attempt import run_queued
from app.worker import RUNNERS
from as2core.errors import BadSetting
from as2core.retrieval import milvus
from as2core.retrieval.milvus import IndexUnavailable, MilvusIndexes, split_credentials

QUESTION = "When was the tower finished?"
MISSING = "needs the extra `milvus-test`"


def test_a_password_is_no_part_of_the_address_that_messages_show():
    assert split_credentials("http://ada:p%40ss@host:19530/db") == ("http://host:19530/db", "ada:p@ss")
    assert split_credentials("http://host:19530") == ("http://host:19530", "")
    assert split_credentials("lite.db") == ("lite.db", "")


def test_an_index_server_without_its_client_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(milvus, "find_spec", lambda name: None)
    with pytest.raises(BadSetting, match=r"pip install -e '\.\[milvus\]'") as error:
        MilvusIndexes("http://ada:secret@host:19530", width=4)
    assert "secret" not in str(error.value)


@pytest.mark.milvus
def test_a_server_that_does_not_answer_is_an_error_with_the_remedy():
    pytest.importorskip("pymilvus", reason=MISSING)
    with pytest.raises(IndexUnavailable, match="AS2_INDEX_URL") as error:
        MilvusIndexes("http://ada:secret@127.0.0.1:1", width=4).open(1)
    assert "secret" not in str(error.value)


@pytest.fixture
def wb(settings, models, clock, tmp_path, monkeypatch):
    pytest.importorskip("milvus_lite", reason=MISSING)
    monkeypatch.setattr("app.workbench.indexes.VECTOR_WIDTH", models.vectors.embed(["a"]).shape[1])
    opened = bootstrap.open(settings.model_copy(update={"index_url": str(tmp_path / "lite.db")}), models, clock)
    yield opened
    opened.close()


@pytest.mark.milvus
def test_a_corpus_is_searched_emptied_and_filled_on_the_server(wb, towers):
    run_queued(wb, RUNNERS)
    view = asking.ask(wb, towers.id, QUESTION)
    assert "tower" in view.candidates[0].text.lower() and all(c.vector_rank for c in view.candidates)
    assert not wb.settings.index_file(towers.id).exists()
    ingestion.ingest(wb, towers.id, [("lift.txt", b"The lift was built by a company of engineers.")])
    lift = asking.ask(wb, towers.id, "Who built the lift?").candidates
    assert "The lift was built by a company of engineers." in [c.text for c in lift]
    passages = wb.index(towers.id).count()
    assert indexing.reindex(wb, towers.id) == 4 and wb.index(towers.id).count() == passages
    corpora.delete_corpus(wb, towers.id)
    assert not wb.has_index(towers.id)
