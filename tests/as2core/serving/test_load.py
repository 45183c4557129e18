"""A server under load: who waits for whom, and what becomes of those who send nothing or go away."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from fastapi import HTTPException
from polling import until

from as2core.serving import connections, limits
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build
from as2core.system.pauses import pause

PATIENCE = 60.0  # seconds
HEAD = b"POST /v1/rerank HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
SLICE = 50


class Slow:
    """Scores in slices; the second slice of a long list lets others go first until `gate` is open."""

    name = "slow"

    def __init__(self):
        self.gate, self.has_begun, self.slices = threading.Event(), threading.Event(), []

    def score(self, question, candidates):
        for first in range(0, len(candidates), SLICE):
            pause(min(SLICE, len(candidates) - first))
            self.slices.append(len(candidates))
            if len(candidates) > SLICE:
                self.has_begun.set()
                while first and not self.gate.wait(0.01):
                    pause(SLICE)
        return np.zeros(len(candidates), np.float32)


@pytest.fixture
def slow():
    ranker = Slow()
    yield ranker
    ranker.gate.set()


def post(port, documents):
    body = json.dumps({"query": "q", "documents": documents}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/rerank", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def connect(port, text=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall(text)
    return connection


def test_a_short_request_and_health_are_answered_before_a_long_one_that_came_first(serve, slow):
    port = serve(build(ServedRankers(["slow"], load=lambda spec: slow)))
    long = threading.Thread(target=post, args=(port, ["x"] * 500))
    slow.gate.set()
    long.start()
    slow.has_begun.wait(PATIENCE)
    assert len(post(port, ["x", "y"])["results"]) == 2
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=PATIENCE) as health:
        assert health.status == 200
    long.join()
    assert slow.slices.count(500) == 10 and 2 in slow.slices


def test_health_is_answered_while_a_ranker_computes(serve, slow):
    port = serve(build(ServedRankers(["slow"], load=lambda spec: slow)))
    long = threading.Thread(target=post, args=(port, ["x"] * 500))
    long.start()
    slow.has_begun.wait(PATIENCE)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=PATIENCE) as health:
        assert health.status == 200
    assert long.is_alive()
    slow.gate.set()
    long.join()


def test_a_request_whose_client_goes_away_is_not_ranked_to_its_end(serve, slow, monkeypatch):
    monkeypatch.setattr("as2core.serving.queued_work.POLL_SECONDS", 0.05)
    from as2core.serving.fair_queue import FairQueue

    queue = FairQueue()
    port = serve(build(ServedRankers(["slow"], load=lambda spec: slow), queue=queue))
    body = json.dumps({"query": "q", "documents": ["x"] * 500}).encode()
    client = connect(port, HEAD % len(body) + body)
    slow.has_begun.wait(PATIENCE)
    client.close()
    until(lambda: len(queue) == 0)
    assert len(slow.slices) <= 3  # of ten


def test_connections_on_which_nothing_or_half_a_header_comes_are_closed(serve, monkeypatch):
    monkeypatch.setattr(connections, "MAX_HEADER_SECONDS", 0.2)
    port = serve(build(ServedRankers(["bm25"])))
    for text in (b"", b"POST /v1/rerank HTTP/1.1\r\nhost: loc"):
        with connect(port, text) as silent:
            assert silent.recv(100) == b""


@pytest.mark.parametrize(
    ("version", "length"), [(b"1.1", b"content-length: 5\r\n"), (b"1.0", b"connection: keep-alive\r\n")]
)
def test_of_a_request_with_two_lengths_nothing_is_read_and_its_rest_is_no_request(serve, version, length):
    port = serve(build(ServedRankers(["bm25"])))
    head = HEAD.replace(b"1.1", version).replace(b"content-length: %d\r\n", b"transfer-encoding: chunked\r\n" + length)
    health = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with connect(port, head + b"0\r\n\r\n" + health) as smuggler:
        answer = b"".join(iter(partial(smuggler.recv, 10_000), b""))
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1
    assert b"both Content-Length and Transfer-Encoding" in answer


def test_a_client_that_takes_the_server_for_a_proxy_is_answered(serve):
    port = serve(build(ServedRankers(["bm25"])))
    with connect(port, b"GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\n\r\n") as client:
        assert client.recv(10_000).startswith(b"HTTP/1.1 200 ")


def test_a_request_that_asks_for_a_websocket_is_answered_without_one(serve):
    port = serve(build(ServedRankers(["bm25"])))
    body = json.dumps({"query": "q", "documents": ["x"]}).encode()
    head = HEAD.replace(b"\r\n\r\n", b"\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
    with connect(port, head % len(body) + body) as client:
        assert client.recv(10_000).startswith(b"HTTP/1.1 200 ")


def test_a_request_that_came_with_the_one_before_does_not_make_room_while_it_is_answered(serve, slow, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    port = serve(build(ServedRankers(["slow"], load=lambda spec: slow)))
    body = json.dumps({"query": "q", "documents": ["x"] * 2 * SLICE}).encode()
    with connect(port, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" + HEAD % len(body) + body) as both:
        assert slow.has_begun.wait(PATIENCE)
        idle = [connect(port) for _ in range(2)]
        assert idle[0].recv(100) == b""
        slow.gate.set()
        until(lambda: b"results" in both.recv(10_000))
    idle[1].close()


def test_a_body_that_never_ends_is_refused(serve, monkeypatch):
    monkeypatch.setattr(limits, "MAX_BODY_SECONDS", 0.2)
    port = serve(build(ServedRankers(["bm25"])))
    with connect(port, HEAD % 500 + b"{") as slow_one:
        assert b" 408 " in slow_one.recv(100)


def test_a_body_that_is_half_sent_does_not_keep_the_server_from_ending(serve_briefly, monkeypatch):
    monkeypatch.setattr(connections, "MAX_ENDING_SECONDS", 0.2)
    with serve_briefly(build(ServedRankers(["bm25"]))) as port:
        half = connect(port, HEAD % 500 + b"{")
        connect(port, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").recv(100)  # half was read before
        begun = time.monotonic()
    assert half.recv(100) == b"" and time.monotonic() - begun < limits.MAX_BODY_SECONDS / 2


@pytest.mark.parametrize(("bound", "status"), [("MAX_CLIENT_BYTES", 429), ("MAX_TOGETHER_BYTES", 503)])
def test_bodies_have_a_bound_together_until_their_answers_are_written(serve, slow, monkeypatch, bound, status):
    monkeypatch.setattr(limits, "FREE_BYTES", 1000)
    monkeypatch.setattr(limits, bound, 2000)
    port = serve(build(ServedRankers(["slow"], load=lambda name: slow)))
    large = ["a" * 10] * (2 * SLICE)  # 1.4 kB with the marks of JSON
    thread = threading.Thread(target=post, args=(port, large))
    thread.start()
    assert slow.has_begun.wait(PATIENCE)
    assert len(post(port, ["a"])["results"]) == 1  # a short one has room always
    with pytest.raises(urllib.error.HTTPError) as refusal:
        post(port, large)
    assert (refusal.value.code, refusal.value.headers["retry-after"]) == (status, "5")
    assert "2,000 bytes" in json.load(refusal.value)["message"]
    slow.gate.set()
    thread.join()
    assert len(post(port, large)["results"]) == len(large)


def test_of_bodies_that_come_at_the_same_time_those_that_fit_are_taken_and_the_others_told(monkeypatch):
    monkeypatch.setattr(limits, "FREE_BYTES", 0)
    monkeypatch.setattr(limits, "MAX_CLIENT_BYTES", 250)
    sizes, refusals = [], []

    async def app(scope, receive, send):
        try:
            sizes.append(len((await receive())["body"]))
            await asyncio.sleep(0.05)
        except HTTPException as refusal:
            refusals.append(refusal.status_code)

    async def receive_pieces(pieces):
        await asyncio.sleep(0)  # another body's piece comes in between
        return {"type": "http.request", "body": b"x" * 10, "more_body": next(pieces) < 9}

    async def send_all():
        bodies, count = limits.BodyLimit(app), itertools.count
        await asyncio.gather(*(bodies({"type": "http"}, partial(receive_pieces, count()), None) for _ in range(4)))
        assert not bodies._bytes

    with ThreadPoolExecutor(1) as pool:  # where browser tests ran before, a loop runs in this thread
        pool.submit(asyncio.run, send_all()).result()
    assert (sizes, refusals) == ([100, 100], [429, 429])


def test_a_client_that_does_not_read_its_answer_is_left(serve, monkeypatch):
    monkeypatch.setattr(connections, "MAX_UNREAD_SECONDS", 0.1)
    port = serve(build(ServedRankers(["bm25"])))
    body = json.dumps({"query": "q", "documents": ["x" * 1_000_000] * 10}).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.sendall(HEAD % len(body) + body)
        client.settimeout(PATIENCE)
        assert client.recv(10).startswith(b"HTTP/1.1")
        time.sleep(0.5)
        received = sum(map(len, iter(lambda: client.recv(1_000_000), b"")))
        assert received < len(body)  # of an answer that has all its documents


def test_idle_connections_make_room_for_the_next(serve, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    port = serve(build(ServedRankers(["bm25"])))
    idle = [connect(port) for _ in range(12)]
    assert len(post(port, ["x"])["results"]) == 1
    assert idle[0].recv(100) == b""  # the one that waited the longest
    for connection in idle:
        connection.close()
