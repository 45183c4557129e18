"""`POST /v1/embeddings`, as OpenAI's clients send it and read it."""

from __future__ import annotations

import base64
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fastapi.testclient import TestClient

from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.catalog import get
from as2core.serving.embeddings import ServedEmbedder
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build

TEXTS = ["the tower was finished in 1889", "a bridge"]


@pytest.fixture
def ranker(backbone):
    return BiEncoderRanker(backbone)


@pytest.fixture
def client(ranker):
    embedder = ServedEmbedder("bi-encoder", load=lambda spec: ranker)
    return TestClient(build(ServedRankers(["bm25"]), embedder=embedder))


def test_each_text_has_its_unit_vector(client, ranker):
    answer = client.post("/v1/embeddings", json={"model": "bi-encoder", "input": TEXTS, "user": "x"}).json()
    assert (answer["object"], answer["model"], answer["usage"]["total_tokens"]) == ("list", "bi-encoder", 8)
    assert [(d["object"], d["index"]) for d in answer["data"]] == [("embedding", 0), ("embedding", 1)]
    vectors = np.array([d["embedding"] for d in answer["data"]])
    np.testing.assert_allclose(vectors, ranker.embed(TEXTS), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_numbers_come_packed_where_the_client_wants_them_so(client, ranker):
    body = {"input": TEXTS[0], "encoding_format": "base64", "dimensions": 32}
    [one] = client.post("/v1/embeddings", json=body).json()["data"]
    vector = np.frombuffer(base64.b64decode(one["embedding"]), dtype="<f4")
    np.testing.assert_allclose(vector, ranker.embed(TEXTS[:1])[0], atol=1e-6)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"input": TEXTS, "model": "text-embedding-3-small"}, 404, "known: bi-encoder"),
        ({"input": TEXTS, "dimensions": 8}, 400, "the vectors of bi-encoder have 32"),
        ({"input": []}, 422, "input: give at least 1"),
        (
            {"input": [[1, 2, 3]]},
            422,
            "input[0]: give a text, no token ids (LangChain: check_embedding_ctx_length=False)",
        ),
        ({}, 422, "input: Field required: give a text, or a list of texts"),
    ],
)
def test_what_cannot_be_embedded_is_refused_with_the_reason(client, body, status, message):
    answer = client.post("/v1/embeddings", json=body)
    assert answer.status_code == status and message in answer.json()["message"]


def test_a_ranker_without_vectors_is_named():
    embedder = ServedEmbedder("bm25", load=get)
    answer = TestClient(build(ServedRankers(["bm25"]), embedder=embedder)).post("/v1/embeddings", json={"input": "x"})
    assert answer.status_code == 400 and "bm25 gives no vectors" in answer.json()["message"]


def test_the_embedder_is_listed_and_not_loaded_before_it_is_asked():
    def load(spec):
        raise AssertionError(spec)

    embedder = ServedEmbedder("bi-encoder", load=load)
    models = TestClient(build(ServedRankers(["bm25"]), embedder=embedder)).get("/v1/models").json()["data"]
    assert [m["id"] for m in models] == ["bm25", "bi-encoder"]


def test_two_requests_that_come_first_at_once_load_one_model(ranker):
    loads = []

    def load(spec):
        loads.append(spec)
        time.sleep(0.1)  # the other one asks meanwhile
        return ranker

    embedder = ServedEmbedder("bi-encoder", load=load)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: embedder.embed(TEXTS, None), range(2))
    assert loads == ["bi-encoder"]
    np.testing.assert_array_equal(first, second)
