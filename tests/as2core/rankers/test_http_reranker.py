"""A reranker behind an address: our own server as one, and servers that answer wrongly."""

import json
import threading

import numpy as np
import pytest
from fake_reranker import answer, listening, rank_by_length, reply_with
from fastapi.testclient import TestClient

from as2core.errors import BadSetting, DamagedModel, EndpointFailed
from as2core.evaluation.rankers import evaluate
from as2core.metrics import order
from as2core.rankers import fusion, http
from as2core.rankers.catalog import get, list_destinations, load_version
from as2core.rankers.http import Endpoint, HttpRanker, Reply, read_scores
from as2core.rankers.versions import save_version
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build
from as2core.types import Candidate, Question

QUESTION = "when was the tower built ?"
TEXTS = ["iron", "the tower was built in 1889 .", "the bridge is long", "a tower", "", "the tower was built in 1889 ."]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]


def served(*specs, **settings):
    """A ranker that asks our own server, without a socket."""
    client = TestClient(build(ServedRankers(list(specs))))

    def post(body):
        reply = client.post("/v2/rerank", content=body, headers={"Content-Type": "application/json"})
        return Reply(reply.status_code, reply.content)

    return HttpRanker(post, "ours", **settings)


@pytest.mark.parametrize("spec", ["jaccard", "bm25", "wo-rr"])
def test_our_own_server_gives_the_order_of_the_ranker_it_serves(spec):
    scores = served(spec).score(QUESTION, CANDIDATES)
    assert scores.dtype == np.float32
    assert order(scores).tolist() == order(get(spec).score(QUESTION, CANDIDATES)).tolist()


def test_the_model_is_the_one_that_is_named_and_an_unknown_one_is_the_server_s_error():
    two = served("bm25", "jaccard", model="jaccard").score(QUESTION, CANDIDATES)
    assert order(two).tolist() == order(get("jaccard").score(QUESTION, CANDIDATES)).tolist()
    with pytest.raises(EndpointFailed, match=r"ours refused \(404\): the model 'gpt' is not served here; known: bm25"):
        served("bm25", model="gpt").score(QUESTION, CANDIDATES)


def test_a_long_list_goes_in_parts_and_an_empty_one_asks_nobody():
    bodies = []

    def post(body):
        bodies.append(json.loads(body))
        return Reply(200, answer(*((i, float(len(t))) for i, t in enumerate(bodies[-1]["documents"]))))

    ranker = HttpRanker(post, "there", batch=4, model="m")
    assert ranker.score(QUESTION, CANDIDATES).tolist() == [len(t) for t in TEXTS]
    assert [b["documents"] for b in bodies] == [TEXTS[:4], TEXTS[4:]]
    assert bodies[1] == {"model": "m", "query": QUESTION, "documents": TEXTS[4:], "top_n": 2}
    assert ranker.score(QUESTION, []).shape == (0,) and len(bodies) == 2


def test_a_title_is_sent_before_its_sentence():
    bodies = []
    ranker = HttpRanker(lambda body: bodies.append(json.loads(body)) or Reply(200, answer((0, 1.0))), "there")
    ranker.score(QUESTION, [Candidate("0", "It is iron.", title="Tower")])
    assert bodies[0]["documents"] == ["Tower: It is iron."] and "model" not in bodies[0]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", 'no list "results"'),
        (b'{"results": {}}', 'no list "results"'),
        (b'{"results": [3, 4]}', "no relevance_score"),
        (answer((0, 0.5)), "1 of 2 documents have no score"),
        (answer(), "2 of 2 documents"),
        (answer((0, 0.5), (0, 0.4)), "document 0 comes twice"),
        (answer((0, 0.5), (2, 0.4)), "index 2 is none of 2"),
        (answer((0, 0.5), (-1, 0.4)), "index -1 is none of 2"),
        (answer((0, 0.5), (1.0, 0.4)), "index 1.0 is none"),
        (answer((0, 0.5), (True, 0.4)), "index True is none"),
        (answer((0, 0.5), ("1", 0.4)), "index 1 is none"),
        (answer((0, 0.5), (None, 0.4)), "index None is none"),
        (answer((0, 0.5), (1, None)), "document 1 has no relevance_score"),
        (answer((0, 0.5), (1, "0.4")), "document 1 has no relevance_score"),
        (answer((0, 0.5), (1, True)), "document 1 has no relevance_score"),
        (answer((0, 0.5), (1, float("nan"))), "score of document 1 is no finite"),
        (answer((0, 0.5), (1, float("-inf"))), "score of document 1 is no finite"),
        (answer((0, 0.5), (1, 1e39)), "score of document 1 is no finite"),
        (answer((0, 0.5), (1, 10**400)), "score of document 1 is no finite"),
    ],
)
def test_an_answer_without_one_finite_score_a_document_is_refused(body, reason):
    with pytest.raises(EndpointFailed, match=f"there gave no rerank answer: .*{reason}"):
        HttpRanker(lambda _: Reply(200, body), "there").score(QUESTION, CANDIDATES[:2])


def test_results_in_any_order_and_with_more_fields_are_read():
    body = {"results": [{"index": 1, "relevance_score": 1, "document": {"text": "x"}}, {"index": 0} | {
        "relevance_score": -2.5}], "usage": None}  # fmt: skip
    assert read_scores(json.dumps(body).encode(), 2).tolist() == [-2.5, 1.0]


def test_scores_that_a_server_tells_apart_beyond_32_bits_stay_in_its_order():
    """As ours gives them for a ranker with large scores: s / (1 + |s|)."""
    results = [{"index": i, "relevance_score": 1 - (i + 1) * 1e-12} for i in range(4)]
    assert order(read_scores(json.dumps({"results": results[::-1]}).encode(), 4)).tolist() == [0, 1, 2, 3]
    results = [{"index": i, "relevance_score": 1 - (4 - i) * 1e-12} for i in range(4)]
    assert order(read_scores(json.dumps({"results": results}).encode(), 4)).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_tried_again_and_waited_for_as_it_asks(status):
    replies = [Reply(status, b""), Reply(status, b"", 7.0), Reply(status, b"", 9e9), Reply(200, answer((0, 3.0)))]
    seconds = []
    ranker = HttpRanker(lambda _: replies.pop(0), "there", sleep=seconds.append)
    assert ranker.score(QUESTION, CANDIDATES[:1]).tolist() == [3.0]
    assert seconds == [1.0, 7.0, 30.0]


def test_a_server_that_stays_busy_is_given_up_and_a_refusal_is_not_tried_again():
    for status, tries in ((503, 4), (401, 1), (400, 1), (500, 1)):
        posts = []
        reply = Reply(status, b'{"message": "no\\u0007 entry\\n"}')
        with pytest.raises(EndpointFailed, match=rf"there refused \({status}\): no entry$"):
            HttpRanker(lambda b, r=reply, p=posts: p.append(b) or r, "there", sleep=lambda _: None).score(
                QUESTION, CANDIDATES
            )
        assert len(posts) == tries


def test_over_a_socket_the_key_is_in_the_header_and_a_retry_after_is_read(monkeypatch):
    heard = []

    def respond(handler, body):
        heard.append((handler.headers["Authorization"], handler.headers["Content-Type"], json.loads(body)["query"]))
        reply_with(handler, 429, b"", Retry_After="0") if len(heard) == 1 else reply_with(handler, 200, answer((0, 2)))

    monkeypatch.setenv("AS2_RERANK_KEY_MINE", "secret\n")
    monkeypatch.setattr(http, "FIRST_WAIT_SECONDS", 0.0)
    with listening(respond) as url:
        ranker = get(f"http:url={url},key=AS2_RERANK_KEY_MINE")
        assert ranker.score(QUESTION, CANDIDATES[:1]).tolist() == [2.0]
    assert heard == [("Bearer secret", "application/json", QUESTION)] * 2
    assert "secret" not in repr(Endpoint(url, "secret"))


def test_a_redirect_takes_neither_sentences_nor_key_elsewhere():
    elsewhere = []
    with listening(lambda h, body: elsewhere.append(body)) as other:
        for status in (301, 302, 307, 308):
            with (
                listening(lambda h, body, s=status: reply_with(h, s, b"", Location=other)) as url,
                pytest.raises(EndpointFailed, match=rf"refused \({status}\)"),
            ):
                HttpRanker(Endpoint(url, "secret").post, "there").score(QUESTION, CANDIDATES)
    assert elsewhere == []


def test_an_answer_that_drips_or_has_no_end_is_given_up(monkeypatch):
    stop = threading.Event()

    def drip(handler, body):
        handler.send_response(200)
        handler.end_headers()
        while not stop.wait(0.02):
            try:
                handler.wfile.write(b" " * 1000)
            except OSError:
                return

    with listening(drip) as url:
        with pytest.raises(EndpointFailed, match=r"no answer in 0\.2 s"):
            Endpoint(url, timeout=0.2).post(b"{}")
        monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 3000)
        with pytest.raises(EndpointFailed, match="more than 3,000 bytes"):
            Endpoint(url, timeout=30.0).post(b"{}")
        stop.set()


def test_a_server_that_is_not_there_or_speaks_otherwise_is_said():
    with (
        listening(lambda h, body: h.wfile.write(b"SSH-2.0\r\n")) as url,
        pytest.raises(EndpointFailed, match="cannot be reached"),
    ):
        Endpoint(url).post(b"{}")
    with pytest.raises(EndpointFailed, match=r"127\.0\.0\.1:\d+ cannot be reached \(.*refused"):
        Endpoint(url).post(b"{}")


@pytest.mark.parametrize(
    "url",
    ["", "5", "file:///etc/passwd", "ftp://x/y", "api.example.org/rerank", "https://", "https:///x", "http://x:99999/",
     "https://exa mple.org/", "https://example.org/\n", "https://ex\u00e4mple.org/", "http://[::1/"],
)  # fmt: skip
def test_what_is_no_web_address_is_refused(url):
    with pytest.raises(BadSetting):
        get(f"http:url={url}")


def test_a_key_comes_from_a_variable_for_it_alone_and_goes_over_https(monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "x")
    with pytest.raises(BadSetting, match="name the variable AS2_RERANK_KEY"):
        get("http:url=https://example.org/,key=DATABASE_PASSWORD")
    with pytest.raises(BadSetting, match="set this environment variable"):
        get("http:url=https://example.org/,key=AS2_RERANK_KEY_UNSET")
    monkeypatch.setenv("AS2_RERANK_KEY", "x")
    with pytest.raises(BadSetting, match="a key over http can be read on its way"):
        get("http:url=http://example.org/,key=AS2_RERANK_KEY")
    for url in ("https://example.org/", "http://localhost:8502/v2/rerank", "http://[::1]:8502/"):
        assert get(f"http:url={url},key=AS2_RERANK_KEY").destination in url
    with pytest.raises(BadSetting, match="holds no password"):
        get("http:url=https://me:word@example.org/")
    for bad in ("key=5", "batch=0", "batch=1001", "timeout=0", "timeout=nan"):
        with pytest.raises(BadSetting, match=bad.partition("=")[0]):
            get(f"http:url=https://example.org/,{bad}")


def test_where_sentences_go_is_known_before_anything_is_built():
    far = "http:url=https://example.org:8443/v2/rerank,model=m"
    assert list_destinations(f"sequential:stages=bm25@20+[fusion:rankers=wo+{far}]@5+{far}") == ("example.org:8443",)
    assert list_destinations("cascade") == list_destinations("sequential") == list_destinations("/some/where") == ()
    assert list_destinations("http:url=https://me:word@example.org/") == ("example.org",)


def test_it_is_a_stage_and_a_part_of_a_fusion():
    with listening(rank_by_length) as url:
        staged = get(f"sequential:stages=http:url={url}@3+jaccard")
        assert sorted(order(staged.score(QUESTION, CANDIDATES))[:3].tolist()) == [1, 2, 5]  # the longest three
        question = Question("q", QUESTION, tuple(Candidate(str(i), t, int(i == 1)) for i, t in enumerate(TEXTS)))
        assert evaluate(staged, [question]).metrics["P@1"] == 1.0


def test_no_version_holds_one_that_asks_another_machine(tmp_path, monkeypatch):
    ranker = get("fusion:rankers=wo+http:url=https://example.org/")
    with pytest.raises(BadSetting, match=r"asks example\.org cannot be saved"):
        save_version(ranker, tmp_path / "mine", {})
    assert not (tmp_path / "mine").exists()
    monkeypatch.setattr(fusion, "list_hosts", lambda _: ())  # as somebody's own program might write it
    save_version(ranker, tmp_path / "theirs", {})
    with pytest.raises((BadSetting, DamagedModel), match=r"sends sentences to example\.org"):
        load_version(tmp_path / "theirs")
