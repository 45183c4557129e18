"""Many vectors are put in order by the job that makes them, and again where their file is damaged."""

from __future__ import annotations

import pytest

from app import bootstrap
from app.ask import asking
from app.corpora import corpora, indexing, ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.worker import RUNNERS

QUESTION = "When was the tower finished?"


@pytest.fixture
def wb(settings, models, clock):
    opened = bootstrap.open(settings.model_copy(update={"exact_passages": 2}), models, clock)
    yield opened
    opened.close()


@pytest.fixture
def files(wb, towers):
    """The names of the corpus's files of vectors, once the job has run."""
    run_queued(wb, RUNNERS)
    index_file = wb.settings.index_file(towers.id)
    return lambda: sorted(index_file.parent.glob(f"{index_file.name}.vectors-*"))


def count_jobs(wb, corpus):
    return len(queue.list_active(wb, "embed", corpus.id))


def test_the_job_for_vectors_puts_them_in_order_and_a_question_is_answered_by_meaning(wb, towers, files):
    assert len(files()) == 1 and wb.index(towers.id).is_optimized()
    view = asking.ask(wb, towers.id, QUESTION)
    assert all(c.vector_rank for c in view.candidates)
    assert count_jobs(wb, towers) == 0


def test_a_damaged_file_is_written_anew_in_the_background_and_a_question_is_answered_meanwhile(wb, towers, files):
    before = asking.ask(wb, towers.id, QUESTION).candidates
    [old] = files()
    old.write_bytes(b"")
    wb.indexes.close()  # as a process that starts now
    wb.marks.clear()
    after = asking.ask(wb, towers.id, QUESTION).candidates
    assert [c.sentence_id for c in after] == [c.sentence_id for c in before]
    assert count_jobs(wb, towers) == 1
    run_queued(wb, RUNNERS)
    assert files() != [old] and wb.index(towers.id).find_damage() == ""


def test_the_order_is_looked_at_once_in_a_while_and_not_at_every_question(wb, towers, files, monkeypatch):
    monkeypatch.setattr(indexing, "request_vectors", lambda *_: pytest.fail("asked again"))
    wb.marks.clear()
    asking.ask(wb, towers.id, QUESTION)
    files()[0].write_bytes(b"")
    wb.indexes.close()
    assert asking.ask(wb, towers.id, QUESTION).candidates


def test_a_deleted_corpus_leaves_no_file_of_vectors(wb, towers, files):
    asking.ask(wb, towers.id, QUESTION)
    corpora.delete_corpus(wb, towers.id)
    assert files() == []


def test_a_document_that_is_added_is_found_before_and_after_the_next_order(wb, towers, files):
    ingestion.ingest(wb, towers.id, [("lift.txt", b"The lift was built by a company of engineers.")])
    for _ in range(2):
        view = asking.ask(wb, towers.id, "Who built the lift?")
        assert "The lift was built by a company of engineers." in [c.text for c in view.candidates]
        run_queued(wb, RUNNERS)
    assert len(files()) == 1 and wb.index(towers.id).is_optimized()
