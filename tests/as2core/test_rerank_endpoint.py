"""The endpoint, in the shape that clients of other rerankers send and expect."""

from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from as2core import serving
from as2core.errors import DamagedModel
from as2core.rankers.base import rank
from as2core.rankers.catalog import get
from as2core.serving import ACTIVE, LOOK, Rankers, build

QUERY = "when was the tower finished"
TEXTS = ["A bridge crosses the river.", "The tower was finished in 1889.", "Nothing at all."]


@pytest.fixture
def client():
    return TestClient(build(Rankers(["bm25", "jaccard"])))


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
            read.extend(c.reading for c in candidates)
            return np.zeros(len(candidates), dtype=np.float32)

    client = TestClient(build(Rankers(["reader"], load=lambda spec: Reader())))
    ask(client, documents=[{"text": "It was finished in 1889.", "title": "Eiffel Tower"}, "Plain."])
    assert "Eiffel Tower" in read[0] and read[1] == "Plain."


def test_a_calibrated_ranker_gives_probabilities(tiny):
    cascade = get(f"cascade:backbone={tiny()}")
    cascade.calibration, cascade.calibrated = ((0.5, -1.0),) * len(cascade.exits), True
    scores = cascade.score(QUERY, [serving.Candidate(str(i), t) for i, t in enumerate(TEXTS)])
    answer = ask(TestClient(build(Rankers(["cascade"], load=lambda spec: cascade)))).json()
    told = {r["index"]: r["relevance_score"] for r in answer["results"]}
    np.testing.assert_allclose([told[i] for i in range(3)], 1 / (1 + np.exp(1.0 - 0.5 * scores)), rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "status", "says"),
    [
        ({"documents": []}, 422, "at least 1 item"),
        ({"query": ""}, 422, "at least 1 character"),
        ({"top_n": 0}, 422, "greater than or equal to 1"),
        ({"documents": [{"title": "no text"}]}, 422, "Field required"),
        ({"model": "grand"}, 404, "the model 'grand' is not served here; known: bm25, jaccard"),
    ],
)
def test_a_request_that_cannot_be_answered_says_why(client, changes, status, says):
    answer = ask(client, **changes)
    assert answer.status_code == status and says in answer.text


def test_the_models_there_are_are_told_with_their_versions(client):
    first, _ = client.get("/v1/models").json()["data"]
    assert first["id"] == "bm25" and first["version"].startswith("as2core ")


def test_a_promotion_is_followed_and_a_version_that_cannot_be_loaded_changes_nothing():
    now, where, loaded = [0.0], {ACTIVE: Path("one")}, []

    def load(spec):
        if where[ACTIVE] == Path("broken"):
            raise DamagedModel("broken")
        loaded.append(where[ACTIVE])
        return get("bm25")

    client = TestClient(build(Rankers([ACTIVE], load=load, versions=lambda: where, clock=lambda: now[0])))
    for then, path in ((0.0, "two"), (LOOK, "two"), (2 * LOOK, "broken"), (3 * LOOK, "three")):
        now[0], where[ACTIVE] = then, Path(path)
        assert ask(client).status_code == 200
    assert loaded == [Path("one"), Path("two"), Path("three")]  # not at once: a look is taken every few seconds


def test_what_cannot_be_loaded_is_said_before_anything_is_served():
    def load(spec):
        raise DamagedModel("its weights are missing")

    with pytest.raises(DamagedModel, match="weights are missing"):
        Rankers([ACTIVE], load=load, versions=lambda: {ACTIVE: Path("one")})
