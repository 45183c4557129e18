"""Requests as applications send them, and the fields that each reads from the answer.

The applications themselves are no Python packages to install; their requests are written down from their documentation.
"""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from as2core.serving.routes import build

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "The tower was finished in 1889.", "Nothing at all."]
DOCUMENTS = {"query": QUERY, "documents": TEXTS}


def read_results(answer):
    return {r["index"]: r["relevance_score"] for r in answer["results"]}


def read_results_with_texts(answer):
    assert all(r["document"]["text"] == TEXTS[r["index"]] for r in answer["results"])
    return read_results(answer)


def read_list(answer):
    return {r["index"]: r["score"] for r in answer}


def read_list_with_texts(answer):
    assert all(r["text"] == TEXTS[r["index"]] for r in answer)
    return read_list(answer)


def in_order_of_places(answer):
    """Open WebUI takes the scores by place, and so needs all of them."""
    return dict(enumerate(r["relevance_score"] for r in sorted(answer["results"], key=lambda r: r["index"])))


REQUESTS = {  # application -> (path, body, how it reads the answer)
    "open-webui": ("/v1/rerank", {"model": "bm25", **DOCUMENTS, "top_n": 3}, in_order_of_places),
    "dify-cohere": ("/v1/rerank", {"model": "bm25", **DOCUMENTS, "return_documents": True}, read_results_with_texts),
    "dify-openai": (
        "/v1/rerank",
        {"model": "bm25", **DOCUMENTS, "top_n": 3, "return_documents": True},
        read_results_with_texts,
    ),
    "dify-tei": ("/rerank", {"query": QUERY, "texts": TEXTS, "return_text": True}, read_list_with_texts),
    "ragflow-cohere": (
        "/v1/rerank",
        {"model": "bm25", **DOCUMENTS, "top_n": 3, "return_documents": False},
        read_results,
    ),
    "ragflow-openai": ("/rerank", {"model": "bm25", **DOCUMENTS, "top_n": 3}, read_results),
    "ragflow-xinference": (
        "/v1/rerank",
        {"model": "bm25", **DOCUMENTS, "return_documents": "true", "return_len": "true"},
        read_results,
    ),
    "ragflow-huggingface": (
        "/rerank",
        {"query": QUERY, "texts": TEXTS, "raw_scores": False, "truncate": True},
        read_list,
    ),
}


@pytest.fixture(scope="module")
def client(served):
    return TestClient(build(served))


@pytest.mark.parametrize("application", REQUESTS)
def test_an_applications_request_is_answered_as_it_reads_it(client, application):
    path, body, read = REQUESTS[application]
    answer = client.post(path, json=body, headers={"authorization": "Bearer not-looked-at"})
    assert answer.status_code == 200, answer.text
    scores = read(answer.json())
    assert sorted(scores) == [0, 1, 2] and max(scores, key=scores.get) == 1
    assert all(0 < s < 1 for s in scores.values())  # RAGFlow would rescale others by the least and most of the batch


def test_dify_finds_a_reranker_behind_info(client):
    info = client.get("/info").json()
    assert "reranker" in info["model_type"]
    assert isinstance(info["max_input_length"], int) and info["max_client_batch_size"] >= 32
