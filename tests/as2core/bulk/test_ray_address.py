"""What is refused before Ray is imported, and how questions are divided."""

from __future__ import annotations

import socket
import sys
import time

import pytest

from as2core.bulk import pool
from as2core.bulk.packed_ranker import PackedRanker
from as2core.bulk.pool import MAX_TRIES, Chunk, WorkFailed, check_address, hand_out_again
from as2core.bulk.ranking import CHUNKS_PER_CORE, Scoring, divide
from as2core.errors import BadSetting
from as2core.evaluation.rankers import BATCH_CANDIDATES
from as2core.system.cores import count_cores
from as2core.types import Candidate, Question


@pytest.fixture
def has_ray(monkeypatch):
    """As if it were there: nothing here imports it."""
    monkeypatch.setattr(pool, "find_spec", lambda name: name == "ray" or None)


def ask(n: int, candidates: int = 1) -> list[Question]:
    return [Question(f"q{i}", "what", tuple(Candidate(str(j), "this") for j in range(candidates))) for i in range(n)]


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadSetting, match=r"pip install -e '\.\[ray\]'"):
        check_address("local")


@pytest.mark.parametrize(
    "address", ["", "here", "host:", ":6379", "host:0", "host:99999", "http://host:1", "ray://host"]
)
def test_what_is_no_address_is_refused(has_ray, address):
    with pytest.raises(BadSetting, match=r"give local, auto, HOST:PORT or ray://HOST:PORT"):
        check_address(address)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_port_that_nothing_listens_at_is_told_at_once(has_ray, scheme):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(BadSetting, match="nothing answers there"):
        check_address(f"{scheme}127.0.0.1:{port}")
    assert time.monotonic() - began < pool.CONNECT_SECONDS


def test_an_address_of_something_else_is_told_within_seconds(monkeypatch):
    pytest.importorskip("grpc")
    monkeypatch.setattr(pool, "find_spec", lambda name: name)
    monkeypatch.setattr(pool, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(BadSetting, match="no Ray cluster"):
        check_address(f"127.0.0.1:{server.getsockname()[1]}")


def test_chunks_hold_every_question_once_and_in_order():
    questions = ask(103, 7)
    chunks = divide(questions, 4)
    assert [q for chunk in chunks for q in chunk] == questions
    assert len(chunks) >= 4 * CHUNKS_PER_CORE


def test_a_chunk_is_no_larger_than_what_a_cascade_scores_at_a_time():
    assert max(sum(len(q.candidates) for q in chunk) for chunk in divide(ask(200, 50), 1)) == BATCH_CANDIDATES


def test_a_question_longer_than_a_chunk_is_one_of_its_own():
    assert [len(chunk) for chunk in divide(ask(3, 2 * BATCH_CANDIDATES), 1)] == [1, 1, 1]


def test_a_lost_chunk_is_tried_whole_then_question_by_question_until_the_bad_one_is_named():
    work = Scoring(PackedRanker("wo", "auto", {}, {}, None, None))
    [again] = hand_out_again(work, Chunk(5, tuple(ask(2))))
    halves = hand_out_again(work, again)
    assert [(c.start, [q.qid for q in c.items]) for c in halves] == [(5, ["q0"]), (6, ["q1"])]
    chunk = halves[1]
    for _ in range(MAX_TRIES - 1):
        [chunk] = hand_out_again(work, chunk)
    with pytest.raises(WorkFailed, match="question 'q1'"):
        hand_out_again(work, chunk)


def test_a_process_may_be_held_to_fewer_cores(monkeypatch):
    monkeypatch.setenv("AS2_CORES", "1")
    assert count_cores() == 1
    monkeypatch.setenv("AS2_CORES", "100000")
    assert count_cores() < 100_000
