"""What a replica does with a batch, and replicas on a Ray of this machine: the same answers, also when some die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import polling
import psutil
import pytest
from fastapi.testclient import TestClient
from tiny_models import tiny_models

from as2core.bulk.packed_ranker import PackedRanker
from as2core.commands.serve import Placement
from as2core.errors import BadSetting
from as2core.evaluation.rankers import BATCH_CANDIDATES
from as2core.lookup import ACTIVE
from as2core.rankers.catalog import get
from as2core.relevance import score_relevance
from as2core.serving import replicas
from as2core.serving.rankers import LocalScorer, ServedRankers, Unavailable
from as2core.serving.replicas import BATCH_REQUESTS, MAX_TRIES, RemoteScorer, Replica, group_requests
from as2core.serving.routes import build
from as2core.types import Candidate
from as2core.version import __version__

TEXTS = ["the tower stands in paris", "rain and bread", "a tower of bread", "paris"]
CANDIDATES = [Candidate(str(i), text) for i, text in enumerate(TEXTS)]
PATIENCE = 120.0  # seconds
until = partial(polling.until, seconds=PATIENCE, pause=0.1)


def pack(spec: str, tmp_path) -> PackedRanker:
    return PackedRanker(spec, "torch", {}, {}, None, tmp_path)


@pytest.fixture
def replica(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AS2_CORES", "OMP_NUM_THREADS", "OMP_WAIT_POLICY"):  # which a replica sets for its process
            patch.setenv(name, os.environ.get(name, ""))
        yield Replica([pack("wo", tmp_path)], __version__)


def test_a_batch_of_several_rankers_is_answered_in_its_order(replica, tmp_path):
    specs = ["wo", "jaccard", "wo", "jaccard"]
    queries = ["tower", "paris", "the bread", "the tower of paris"]
    answers = replica.score_batch([(pack(s, tmp_path), q, CANDIDATES) for s, q in zip(specs, queries, strict=True)])
    for spec, query, answer in zip(specs, queries, answers, strict=True):
        [expected] = score_relevance(get(spec), [(query, CANDIDATES)])
        assert np.array_equal(answer.values, expected.values) and answer.tokens == expected.tokens


def test_what_a_request_raises_is_its_own_answer_and_the_others_get_theirs(replica, tmp_path):
    class Fussy:
        name = "fussy"

        def score(self, question, candidates):
            if question == "bad":
                raise BadSetting("not this one")
            return np.ones(len(candidates), np.float32)

    replica._rankers["wo"] = Fussy()
    good, bad, fine = replica.score_batch([(pack("wo", tmp_path), q, CANDIDATES) for q in ("good", "bad", "fine")])
    assert good.scores.tolist() == fine.scores.tolist() == [1.0] * 4
    assert isinstance(bad, BadSetting) and str(bad) == "not this one"
    [unknown] = replica.score_batch([(pack("nothing", tmp_path), "q", CANDIDATES)])
    assert "nothing" in str(unknown)


def test_a_group_is_of_one_ranker_and_no_larger_than_a_batch(tmp_path):
    sizes = [("wo", 10), ("bm25", 10), ("wo", BATCH_CANDIDATES - 10), ("wo", 1), ("wo", 3 * BATCH_CANDIDATES)]
    assert group_requests([(pack(s, tmp_path), "q", CANDIDATES[:1] * n) for s, n in sizes]) == [[0, 2], [1], [3], [4]]
    assert group_requests([(pack("wo", tmp_path), "q", []), (pack("wo", tmp_path), "q", CANDIDATES)]) == [[0, 1]]


def test_rankers_that_were_replaced_do_not_fill_the_memory(replica, tmp_path):
    for spec in ("bm25", "jaccard", "rr"):
        replica.score_batch([(pack(spec, tmp_path), "q", CANDIDATES)])
    assert [*replica._rankers] == ["jaccard", "rr"]  # one was served from the start, and one more has room


def test_another_release_on_a_node_is_refused():
    with pytest.raises(BadSetting, match="install the same on all"):
        Replica([], "0.0.0")


def test_replicas_without_ray_and_addresses_of_another_cluster_are_refused():
    with pytest.raises(BadSetting, match="--replicas needs --ray"), Placement(replicas=2).open(0):
        pass
    with pytest.raises(BadSetting, match="on a machine of the cluster"), Placement(ray="ray://host:1").open(0):
        pass


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadSetting, match=r"pip install -e '\.\[ray-serve\]'"), Placement(ray="local").open(0):
        pass


def make_replicas(count: int | None, free: float) -> replicas.Replicas:
    """Of a Ray with so many free cores; nothing is started."""
    return replicas.Replicas(SimpleNamespace(available_resources=lambda: {"CPU": free}, put=None), None, count, "name")


def test_what_sends_texts_to_an_address_scores_in_this_process():
    ranker = get("wo")
    assert make_replicas(1, 2.0).place("http:url=http://127.0.0.1:9/rerank", ranker) == LocalScorer(ranker)


@pytest.mark.parametrize(("count", "free"), [(3, 2.0), (1, 0.5), (None, 0.0)])
def test_more_replicas_than_free_cores_are_refused(count, free):
    with pytest.raises(BadSetting, match="need a free core each"):
        make_replicas(count, free)


def test_there_is_a_replica_for_each_free_core_and_a_turn_for_each_of_its_batch():
    assert make_replicas(None, 3.0).count == 3 and make_replicas(2, 3.0).turns == 2 * BATCH_REQUESTS


def test_a_request_before_the_replicas_are_there_is_to_come_again():
    scorer = make_replicas(1, 1.0).place("wo", get("wo"))
    assert isinstance(scorer, RemoteScorer)
    with pytest.raises(Unavailable, match="not started yet"):
        scorer.send((scorer.ranker, "q", CANDIDATES))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return tiny_models(tmp_path_factory.mktemp("home"), TEXTS)


@pytest.fixture
def two_replicas(monkeypatch):
    from as2core.bulk import pool

    monkeypatch.setattr(pool, "count_cores", lambda: 2)
    with replicas.open_replicas("local", 2, 0) as opened:
        yield opened


def find_replicas() -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it may end meanwhile
            if "ray::ServeReplica" in " ".join(process.cmdline()):
                found.append(process)
    return found


def post(client, query="where is the tower", documents=TEXTS):
    return client.post("/v1/rerank", json={"query": query, "documents": list(documents)})


@pytest.mark.ray
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray-serve")
class TestOnRay:
    def test_a_version_answers_as_without_ray_also_when_replicas_are_killed(self, two_replicas, models):
        spec = f"{models / 'cascade'}:engine=torch"
        here = TestClient(build(ServedRankers([spec])))
        rankers = ServedRankers([spec], place=two_replicas.place)
        two_replicas.start()
        client = TestClient(build(rankers))
        queries = [" ".join(TEXTS[i % 4].split()[: 1 + i % 3]) for i in range(12)]
        expected = {q: post(here, q).json() for q in queries}
        is_over = threading.Event()

        def ask_on() -> list[tuple[str, object]]:
            answers = []
            while not is_over.is_set():
                answers += [(q, post(client, q)) for q in queries]
            return answers

        with ThreadPoolExecutor(6) as threads:
            try:
                running = [threads.submit(ask_on) for _ in range(6)]
                first, second = until(lambda: len(find_replicas()) == 2 and find_replicas())
                first.kill()
                until(lambda: len({p.pid for p in find_replicas()} - {first.pid}) == 2)
                second.kill()
                until(lambda: len({p.pid for p in find_replicas()} - {first.pid, second.pid}) == 2)
            finally:
                is_over.set()
        answers = [pair for thread in running for pair in thread.result()]
        assert len(answers) > 100
        for query, answer in answers:
            assert answer.status_code == 200, answer.text
            results, known = answer.json()["results"], expected[query]["results"]
            assert [r["index"] for r in results] == [r["index"] for r in known]
            relevance = [r["relevance_score"] for r in results]
            assert np.allclose(relevance, [r["relevance_score"] for r in known], atol=1e-5)
            assert answer.json()["usage"] == expected[query]["usage"]

    def test_a_promotion_is_followed(self, two_replicas, models, monkeypatch, tmp_path):
        versions = {ACTIVE: models / "cascade"}
        for name in ("as2core.bulk.packed_ranker", "as2core.serving.replicas", "as2core.lookup"):
            monkeypatch.setattr(f"{name}.list_versions", lambda: versions)
        rankers = ServedRankers([ACTIVE], versions=lambda: versions, place=two_replicas.place)
        two_replicas.start()
        client = TestClient(build(rankers))
        for name in ("cascade", "generative"):
            versions[ACTIVE] = models / name
            rankers.follow()
            expected = post(TestClient(build(ServedRankers([str(models / name)])))).json()["results"]
            results = post(client).json()["results"]
            assert np.allclose([r["relevance_score"] for r in results], [r["relevance_score"] for r in expected])

    def test_requests_that_wait_for_a_replica_are_scored_together(self, monkeypatch, tmp_path):
        class Recorder(Replica):
            def score_batch(self, requests):
                time.sleep(0.5)  # the others come meanwhile
                (tmp_path / f"batch {time.monotonic_ns()} {len(requests)}").touch()
                return super().score_batch(requests)

        monkeypatch.setattr(replicas, "Replica", Recorder)
        with replicas.open_replicas("local", 1, 0) as opened:
            scorer = opened.place("wo", get("wo"))
            opened.start()
            with ThreadPoolExecutor(12) as threads:
                answers = list(threads.map(lambda i: scorer.score("tower", CANDIDATES[: 1 + i % 4]), range(12)))
        assert [len(a.scores) for a in answers] == [1 + i % 4 for i in range(12)]
        sizes = [int(path.name.split()[-1]) for path in tmp_path.iterdir() if path.name.startswith("batch")]
        assert sum(sizes) == 12 and 1 < max(sizes) <= BATCH_REQUESTS

    def test_a_request_is_sent_again_where_its_replica_died_and_not_for_ever(self, tmp_path):
        from ray.exceptions import ActorDiedError

        expected = score_relevance(get("wo"), [("q", CANDIDATES)])[0]

        def make_scorer(*results):
            script = iter(results)

            def answer(timeout_s):
                if isinstance(result := next(script), type):
                    raise result
                return result

            response = SimpleNamespace(result=answer, cancel=lambda: cancelled.append(1))
            return RemoteScorer(pack("wo", tmp_path), lambda request: response)

        cancelled = []
        assert make_scorer(ActorDiedError, ActorDiedError, expected).score("q", CANDIDATES) is expected
        with pytest.raises(Unavailable, match=f"{MAX_TRIES} replicas died"):
            make_scorer(*[ActorDiedError] * MAX_TRIES).score("q", CANDIDATES)
        with pytest.raises(BadSetting, match="not so"):
            make_scorer(BadSetting("not so")).score("q", CANDIDATES)
        assert not cancelled
        with pytest.raises(Unavailable, match="no replica answered"):
            make_scorer(TimeoutError).score("q", CANDIDATES)
        assert cancelled

    @pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_the_command_and_leaves_no_process(self, kind, tmp_path):
        """Ctrl-C goes to the whole group of the command, as a terminal sends it, SIGTERM to the command alone."""
        log = tmp_path / "log"
        command = [sys.executable, "-m", "as2core.cli", "serve", "--ranker", "wo", "--port", "0", "--ray", "local"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, start_new_session=True, stderr=out, env={**os.environ, "AS2_HOME": str(tmp_path / "home")}
            )
        try:
            until(lambda: "POST http" in log.read_text() or process.poll() is not None)
            assert process.poll() is None, log.read_text()
            url = log.read_text().split()[1]
            body = b'{"query": "tower", "documents": ["a tower", "bread"]}'
            request = urllib.request.Request(url, body, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                assert answer.status == 200
            children = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, kind) if kind == signal.SIGINT else process.send_signal(kind)
            assert process.wait(PATIENCE) == (130 if kind == signal.SIGINT else -signal.SIGTERM)
            _, alive = psutil.wait_procs(children, timeout=20)
            assert children and not alive
        finally:
            process.kill()
