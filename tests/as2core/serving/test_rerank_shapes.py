"""The paths, fields and answers that clients of other servers expect."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from as2core.questions.synonyms import Synonyms
from as2core.rankers.catalog import get
from as2core.serving.bodies import RerankRequest, cut
from as2core.serving.problems import NO_OBJECT
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build
from as2core.types import MAX_TEXT_CHARS, Candidate

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "The tower was finished in 1889.", "Nothing at all."]


@pytest.fixture(scope="module")
def client(served):
    return TestClient(build(served), raise_server_exceptions=False)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_every_path_gives_the_fields_of_all_clients(client, path):
    answer = client.post(path, json={"query": QUERY, "documents": TEXTS}).json()
    assert set(answer) == {"id", "model", "results", "usage", "meta"}
    assert answer["results"][0]["index"] == 1 and answer["results"][0]["document"] == {"text": TEXTS[1]}
    words = sum(len(t.split()) for t in TEXTS) + 3 * len(QUERY.split())
    assert answer["usage"] == {"total_tokens": words, "prompt_tokens": words}
    assert answer["meta"]["api_version"]["version"] == ("2" if "v2" in path else "1")
    assert answer["meta"]["billed_units"] == {"search_units": 1}


def test_texts_are_answered_with_a_bare_list(client):
    plain = client.post("/rerank", json={"query": QUERY, "texts": TEXTS}).json()
    assert [sorted(r) for r in plain] == [["index", "score"]] * 3 and plain[0]["index"] == 1
    body = {"query": QUERY, "texts": TEXTS, "return_text": True, "raw_scores": "true", "truncate": True}
    raw = client.post("/rerank", json=body).json()
    assert [r["text"] for r in raw] == [TEXTS[r["index"]] for r in plain]
    scores = get("bm25").score(QUERY, [Candidate(str(i), t) for i, t in enumerate(TEXTS)])
    assert [r["score"] for r in raw] == [float(scores[r["index"]]) for r in raw]


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens_per_doc": None, "priority": 3, "top_n": 50},
        {"return_documents": "true", "top_n": "3", "rank_fields": ["text"], "max_chunks_per_doc": 10},
        {"return_documents": None, "top_n": None, "model": None, "truncation": True, "user": "someone"},
        {"model": ""},
    ],
)
def test_fields_are_taken_as_clients_write_them(client, fields):
    plain = client.post("/v1/rerank", json={"query": QUERY, "documents": TEXTS}).json()
    answer = client.post("/v2/rerank", json={"query": QUERY, "documents": TEXTS, **fields})
    assert answer.status_code == 200 and answer.json()["results"] == plain["results"]


def test_a_document_is_read_up_to_so_many_words(client):
    documents = ["nothing nothing the tower was finished", "finished"]
    first = {None: 0, 2: 1}
    for words, best in first.items():
        body = {"query": QUERY, "documents": documents, "max_tokens_per_doc": words}
        answer = client.post("/v2/rerank", json=body).json()
        assert answer["results"][0]["index"] == best
        assert {r["document"]["text"] for r in answer["results"]} == set(documents)  # given back as they came
    assert [cut("one  two three", n) for n in (None, 1, 2, 3, 9)] == [
        *("one  two three", "one", "one  two", "one  two three", "one  two three")
    ]


@pytest.mark.parametrize("path", ["/", "/health", "/ping"])
def test_health_is_answered_where_it_is_asked_for(client, path):
    assert client.get(path).json() == {"status": "ok"}


def test_the_server_describes_itself_as_tei_does(client):
    info = client.get("/info").json()
    assert "reranker" in info["model_type"] and info["model_id"] == "bm25" and info["auto_truncate"] is True
    assert info["max_input_length"] == 512 and info["max_client_batch_size"] == 10_000


def test_the_models_are_listed_as_openai_does(client):
    models = client.get("/v1/models").json()
    assert models["object"] == "list"
    assert [(m["id"], m["object"]) for m in models["data"]] == [("bm25", "model"), ("jaccard", "model")]
    assert {m["task"] for m in models["data"]} == {"rerank"}


def test_the_description_of_the_api_lists_every_path(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/rerank", "/v2/rerank", "/rerank", "/info", "/health", "/ping", "/", "/v1/models"} <= set(paths)
    assert "/metrics" in paths


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/rerank", {"query": QUERY, "texts": [1]}, 422, "texts[0]: give a text"),
        ("/rerank", {"query": QUERY, "texts": "a"}, 422, "texts: give a list"),
        ("/rerank", {"query": QUERY}, 422, "documents: Field required: give a list of texts"),
        ("/v1/rerank", {"query": QUERY, "texts": ["a"]}, 422, "go to /rerank"),
        (
            "/v1/v1/rerank",
            {"query": QUERY, "documents": ["a"]},
            404,
            "/v1/v1/rerank is no path here. POST to /v1/rerank",
        ),
        ("/health", {}, 405, "Method Not Allowed: POST is not for /health, use GET"),
        ("/", {"query": QUERY, "documents": ["a"]}, 405, "POST is not for /, use GET. POST to /v1/rerank"),
        ("/v2/rerank", {"query": QUERY, "documents": TEXTS, "model": "grand"}, 404, "known: bm25, jaccard"),
        ("/v1/rerank", {"query": QUERY, "documents": TEXTS, "model": "m" * 5000}, 422, "model: give at most 4,096"),
        ("/v3/rerank", {}, 404, "Not Found"),
        ("/v1/rerank", {"query": QUERY, "documents": ["a", None]}, 422, "documents[1]: give a text, or an object"),
        (
            "/rerank",
            {"query": QUERY, "documents": ["a", {"title": "b"}]},
            422,
            "documents[1]: give a text, or an object",
        ),
    ],
)
def test_an_error_has_a_detail_and_a_message(client, path, body, status, message):
    answer = client.post(path, json=body)
    assert answer.status_code == status and set(answer.json()) == {"detail", "message"}
    assert message in answer.json()["message"]


def test_an_unexpected_error_says_where_to_look_and_not_what_it_was(caplog):
    class Broken:
        name = "broken"

        def score(self, question, candidates):
            raise RuntimeError("a secret")

    client = TestClient(build(ServedRankers(["broken"], load=lambda spec: Broken())), raise_server_exceptions=False)
    answer = client.post("/rerank", json={"query": QUERY, "texts": TEXTS})
    assert answer.status_code == 500 and "secret" not in answer.text
    reference = answer.json()["message"].split()[-1]
    assert any(reference in record.getMessage() for record in caplog.records) and "a secret" in caplog.text


def test_queries_are_read_with_the_synonyms_that_are_served():
    client = TestClient(build(ServedRankers(["wo"], Synonyms.parse("whale => VX-90"))))
    body = {"query": "whale", "documents": ["The whale.", "A belt of VX-90."]}
    assert [r["index"] for r in client.post("/v1/rerank", json=body).json()["results"]] == [1, 0]
    body["query"] = "the"
    assert [r["index"] for r in client.post("/v1/rerank", json=body).json()["results"]] == [0, 1]


def test_requests_and_documents_are_counted():
    pytest.importorskip("prometheus_client", reason="the extra `serve` is not complete: make setup")
    client = TestClient(build(ServedRankers(["bm25"])))
    for path in ("/v1/rerank", "/v1/rerank", "/nothing/7"):
        client.post(path, json={"query": QUERY, "documents": TEXTS})
    lines = client.get("/metrics").text.splitlines()
    assert 'as2_requests_total{route="/v1/rerank",status="200"} 2.0' in lines
    assert 'as2_requests_total{route="other",status="404"} 1.0' in lines
    assert 'as2_documents_total{key="",model="bm25"} 6.0' in lines
    assert 'as2_request_seconds_count{route="/v1/rerank"} 2.0' in lines


def test_metrics_without_their_package_say_what_to_install(monkeypatch):
    monkeypatch.setattr("as2core.serving.metrics.find_spec", lambda name: None)
    client = TestClient(build(ServedRankers(["bm25"])))
    answer = client.get("/metrics")
    assert answer.status_code == 503 and "extra `serve`" in answer.json()["message"]


@pytest.mark.parametrize("path", ["/v1/rerank", "/rerank"])
def test_a_body_that_is_no_json_object_says_what_to_send(client, path):
    headers = {"content-type": "application/x-www-form-urlencoded"}
    sent_as_form = client.post(path, content=b'{"query": "a"}', headers=headers)
    assert sent_as_form.status_code == 422 and sent_as_form.json()["message"] == NO_OBJECT
    broken = client.post(path, content=b'{"query": ', headers={"content-type": "application/json"})
    assert broken.status_code == 422 and broken.json()["message"].startswith("the body is not JSON: Expecting value")


def test_of_a_very_long_text_the_beginning_is_read_and_all_of_it_comes_back(client):
    long = "finished " * 20_000
    body = {"query": "finished", "documents": ["nothing", long]}
    results = client.post("/v1/rerank", json=body).json()["results"]
    assert [r["index"] for r in results] == [1, 0] and results[0]["document"]["text"] == long
    read = RerankRequest(**body).list_candidates()
    assert len(read[1].text) == MAX_TEXT_CHARS


@pytest.mark.parametrize("path", ["/", "/health", "/ping"])
def test_a_monitor_may_ask_for_the_head_alone(client, path):
    answer = client.head(path)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"query": "café", "documents": ["a"]}'.encode("latin-1"), "not UTF-8: send JSON in UTF-8, not compressed"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"top_n": ' + b"9" * 5000 + b"}", "a number of thousands of digits"),
    ],
)
def test_a_body_that_cannot_be_read_says_what_one_has_to_be(client, body, reason):
    answer = client.post("/v1/rerank", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and reason in answer.json()["message"]


@pytest.mark.parametrize("path", ["/v1/rerank/", "//v1/rerank", "/v2//rerank", "/rerank/"])
def test_a_slash_too_many_is_answered_as_without_it(client, path):
    answer = client.post(path, json={"query": QUERY, "documents": TEXTS}, follow_redirects=False)
    assert answer.status_code == 200 and answer.json()["results"][0]["index"] == 1
    assert client.get("/health/", follow_redirects=False).status_code == 200


def test_a_search_that_was_in_vain_is_answered_with_no_results(client):
    for path in ("/v1/rerank", "/v2/rerank"):
        answer = client.post(path, json={"query": QUERY, "documents": [], "top_n": 3})
        assert answer.status_code == 200 and answer.json()["results"] == []
        assert answer.json()["usage"]["total_tokens"] == 0
    assert client.post("/rerank", json={"query": QUERY, "texts": []}).json() == []
    assert client.post("/v1/rerank", json={"query": QUERY, "documents": [], "model": "grand"}).status_code == 404
