"""The endpoint, in the shape that clients of other rerankers send and expect."""

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from as2core.errors import DamagedModel
from as2core.lookup import ACTIVE
from as2core.rankers.base import rank
from as2core.rankers.catalog import get
from as2core.relevance import to_relevance
from as2core.serving import limits
from as2core.serving.rankers import ServedRankers, Unavailable, score_here
from as2core.serving.routes import build
from as2core.types import Candidate

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "The tower was finished in 1889.", "Nothing at all."]


@pytest.fixture
def client(served):
    return TestClient(build(served))


def ask(client, **changes):
    return client.post("/v1/rerank", json={"query": QUERY, "documents": TEXTS, **changes})


def test_documents_come_back_best_first_with_numbers_from_0_to_1(client):
    answer = ask(client).json()
    assert answer["model"] == "bm25" and answer["id"]
    best = answer["results"][0]
    assert (best["index"], best["document"]) == (1, {"text": TEXTS[1]})
    scores = [r["relevance_score"] for r in answer["results"]]
    assert sorted(scores, reverse=True) == scores and all(0 <= s <= 1 for s in scores)
    assert [r["index"] for r in answer["results"]] == [r["corpus_id"] for r in rank(get("bm25"), QUERY, TEXTS)]


def test_another_model_fewer_results_and_no_texts_when_asked_for(client):
    answer = ask(client, model="jaccard", top_n=2, return_documents=False).json()
    assert answer["model"] == "jaccard"
    assert [sorted(r) for r in answer["results"]] == [["index", "relevance_score"]] * 2


def test_a_title_is_read_before_its_text():
    read = []

    class Reader:
        name = "reader"

        def score(self, question, candidates):
            read.extend(c.titled_text for c in candidates)
            return np.zeros(len(candidates), dtype=np.float32)

    client = TestClient(build(ServedRankers(["reader"], load=lambda spec: Reader())))
    ask(client, documents=[{"text": "It was finished in 1889.", "title": "Eiffel Tower"}, "Plain."])
    assert "Eiffel Tower" in read[0] and read[1] == "Plain."


def test_a_calibrated_ranker_gives_probabilities(tiny):
    cascade = get(f"cascade:backbone={tiny()}")
    cascade.calibration, cascade.is_calibrated = ((0.5, -1.0),) * len(cascade.exits), True
    scores = cascade.score(QUERY, [Candidate(str(i), t) for i, t in enumerate(TEXTS)])
    answer = ask(TestClient(build(ServedRankers(["cascade"], load=lambda spec: cascade)))).json()
    told = {r["index"]: r["relevance_score"] for r in answer["results"]}
    np.testing.assert_allclose([told[i] for i in range(3)], 1 / (1 + np.exp(1.0 - 0.5 * scores)), rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "status", "says"),
    [
        ({"query": ""}, 422, "query: give at least 1 character"),
        ({"query": ["a"]}, 422, "query: give a text"),
        ({"top_n": 0}, 422, "top_n: give 1 or more"),
        ({"top_n": 1.5}, 422, "top_n: give a whole number"),
        ({"priority": 1000}, 422, "priority: give 999 or less"),
        ({"return_documents": "maybe"}, 422, "return_documents: give true or false"),
        ({"documents": ["x"] * 10_001}, 422, "documents: give at most 10,000, not 10,001"),
        ({"documents": [{"title": "no text"}]}, 422, "documents[0]: give a text"),
        ({"model": "grand"}, 404, "the model 'grand' is not served here; known: bm25, jaccard"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(client, changes, status, says):
    answer = ask(client, **changes)
    assert answer.status_code == status and says in answer.text


def test_the_models_there_are_are_told_with_their_versions(client):
    first, _ = client.get("/v1/models").json()["data"]
    assert first["id"] == "bm25" and first["version"].startswith("as2core ")


def test_numbers_without_a_probability_keep_the_order_of_large_scores():
    scores = np.array([40.0, 39.0, 1e4, -60.0, -61.0], dtype=np.float32)
    told = to_relevance(scores)
    assert np.argsort(told).tolist() == np.argsort(scores).tolist() and len(set(told)) == 5
    assert told.min() > 0 and told.max() < 1


@pytest.mark.parametrize(
    "body", [rb'{"query": "a", "documents": ["x \ud800"]}', rb'{"query": "\udfff", "documents": ["x"]}']
)
def test_half_a_surrogate_pair_is_refused(client, body):
    answer = client.post("/v1/rerank", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422 and "half a surrogate pair" in answer.json()["message"]
    assert "give a text" not in answer.json()["message"]


def test_a_refusal_does_not_send_the_request_back(client):
    body = b'{"query": "a", "documents": ["x"], "top_n": NaN}'
    answer = client.post("/v1/rerank", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == [{"loc": ["body", "top_n"], "msg": "give a whole number"}]
    assert len(ask(client, documents=[{"title": "x" * 1000}] * 5000).content) < 10_000


def test_a_request_too_large_is_refused_before_it_is_read(client, monkeypatch):
    monkeypatch.setattr(limits, "MAX_REQUEST_BYTES", 1000)
    answer = ask(client, documents=["x" * 400] * 3)
    assert answer.status_code == 413 and "at most 1,000 bytes" in answer.text
    assert ask(client).status_code == 200


def test_a_promotion_is_followed_and_a_version_that_cannot_be_loaded_changes_nothing(capsys):
    where = {}

    def promote(name):
        where[ACTIVE] = Path(name)

    def load(spec):
        if where[ACTIVE].name == "broken":
            raise DamagedModel("broken: restore it")
        ranker, told = get("bm25"), len(where[ACTIVE].name)
        ranker.score = lambda question, candidates: np.full(len(candidates), told, dtype=np.float32)
        return ranker

    def cited(spec):
        return {"version": where[ACTIVE].name, "weights": f"of {where[ACTIVE].name}"}

    promote("one")
    rankers = ServedRankers([ACTIVE, "bm25"], load=load, versions=lambda: where, cite=cited)
    client = TestClient(build(rankers))
    for promoted, answers in (("three", "three"), ("broken", "three"), ("broken", "three"), ("fifth one", "fifth one")):
        promote(promoted)
        rankers.follow()
        first, _ = client.get("/v1/models").json()["data"]
        assert (first["version"], first["weights"]) == (answers, f"of {answers}")
        score = ask(client).json()["results"][0]["relevance_score"]
        assert score == pytest.approx(0.5 + len(answers) / (2 * (1 + len(answers))))
    assert capsys.readouterr().err.count("the version before goes on: broken: restore it") == 1


def test_a_version_that_cannot_be_used_is_the_servers_fault():
    class Broken:
        name = "broken"

        def score(self, question, candidates):
            raise DamagedModel("its weights are missing")

    answer = ask(TestClient(build(ServedRankers(["broken"], load=lambda spec: Broken()))))
    assert answer.status_code == 503 and "weights are missing" in answer.text


def test_where_nothing_scores_at_present_a_client_is_told_to_try_again():
    class Gone:
        def score(self, query, candidates):
            raise Unavailable("no replica is there")

    answer = ask(TestClient(build(ServedRankers(["bm25"], place=lambda spec, ranker: Gone()))))
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
    assert answer.json()["message"] == "no replica is there"


def test_what_cannot_be_loaded_is_said_before_anything_is_served():
    def load(spec):
        raise DamagedModel("its weights are missing")

    with pytest.raises(DamagedModel, match="weights are missing"):
        ServedRankers([ACTIVE], load=load, versions=lambda: {ACTIVE: Path("one")})


def test_a_lost_active_version_is_replaced_by_the_shipped_one_until_it_is_back(capsys):
    is_lost = True

    def load(spec):
        if spec.startswith(ACTIVE) and is_lost:
            raise DamagedModel("spring/model.safetensors is missing")
        ranker, number = get("bm25"), 1.0 if spec == "cascade" else 3.0
        ranker.score = lambda question, candidates: np.full(len(candidates), number, dtype=np.float32)
        return ranker

    loaded, places = [], []

    def watch(spec):
        loaded.append(spec)
        return load(spec)

    def place(spec, ranker):
        places.append(spec)
        return score_here(spec, ranker)

    rankers = ServedRankers(
        [ACTIVE, f"{ACTIVE}:drop_ratio=0.5"],
        load=watch,
        versions=lambda: {ACTIVE: Path("spring")},
        cite=lambda spec: {"version": spec, "weights": None},
        place=place,
    )
    assert places == ["cascade", "cascade:drop_ratio=0.5"]  # what is loaded, not what is lost
    assert loaded == [ACTIVE, "cascade", "active:drop_ratio=0.5", "cascade:drop_ratio=0.5"]
    client = TestClient(build(rankers))
    models = client.get("/v1/models").json()["data"]
    assert (models[0]["id"], models[0]["version"]) == (ACTIVE, "cascade")
    assert ask(client).json()["results"][0]["relevance_score"] == pytest.approx(0.75)
    assert "The shipped cascade answers instead" in capsys.readouterr().err
    is_lost = False
    rankers.follow()
    assert ask(client).json()["results"][0]["relevance_score"] == pytest.approx(0.875)


def test_another_version_that_is_lost_is_an_error_at_the_start():
    def load(spec):
        raise DamagedModel("spring is missing")

    with pytest.raises(DamagedModel, match="spring"):
        ServedRankers(["spring"], load=load, versions=dict)
