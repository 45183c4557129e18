"""Bulk work on a Ray of this machine, and what is lost when parts of it are killed: nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pytest
from tiny_models import tiny_models

from as2core.bulk import pool as pools
from as2core.bulk.pool import WorkFailed, open_pool
from as2core.bulk.ranking import evaluate_on_pool, score_on_ray
from as2core.errors import BadSetting, DamagedModel
from as2core.evaluation.rankers import evaluate
from as2core.lookup import load_ranker, read_questions
from as2core.rankers.catalog import get
from as2core.types import Question

pytestmark = [pytest.mark.ray, pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")]


@pytest.fixture(scope="module", autouse=True)
def token():
    """So that a Ray started here, by whatever means, is open to nobody else. Ray reads it as it is imported."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The workers import this module."""
    folders = [Path(__file__).parent, Path(__file__).parents[2], *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(str(f) for f in folders if str(f)))
        yield


@pytest.fixture(scope="module", autouse=True)
def two_cores():
    """Also on a machine that has one, so that there is always a second worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "count_cores", lambda: 2)
        yield


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return read_questions("starter-test")[:24]


@pytest.fixture(scope="module")
def models(questions, tmp_path_factory) -> Path:
    return tiny_models(tmp_path_factory.mktemp("home"), [q.text for q in questions])


@dataclass(frozen=True)
class Slow:
    """Writes who begins and who ends which item into a folder, and takes its time between. `deadly` ends its worker,
    `wrong` is an error of the work."""

    folder: Path
    seconds: float = 0.3
    deadly: int | None = None
    wrong: int | None = None

    def prepare(self, fetch):
        def run(items):
            return [self.take(item) for item in items]

        return run

    def take(self, item: int) -> int:
        record = f"{item} {os.getpid()} {os.getppid()} {time.monotonic_ns()}"
        (self.folder / f"begin {record}").touch()
        time.sleep(self.seconds)
        if item == self.deadly:
            os._exit(1)
        if item == self.wrong:
            raise KeyError(f"item {item}")
        (self.folder / f"end {record}").touch()
        return item * item

    def name_item(self, item: int) -> str:
        return f"item {item}"

    def find(self, kind: str) -> list[tuple[int, int, int]]:
        """(item, worker, node) of each begin or end."""
        rows = [path.name.split() for path in self.folder.iterdir()]
        return [(int(item), int(pid), int(parent)) for k, item, pid, parent, _ in rows if k == kind]

    def find_busy(self) -> list[tuple[int, int, int]]:
        return list((Counter(self.find("begin")) - Counter(self.find("end"))).elements())


class KillOnce:
    """Waits, after a result, until a worker is in the middle of an item, and kills one that `kill` takes. Not for ever,
    since there may be no other worker yet."""

    def __init__(self, work: Slow, kill) -> None:
        self.work, self.kill, self.victims, self.items = work, kill, [], []

    def __call__(self, items) -> None:
        self.items += items
        give_up = time.monotonic() + 5.0
        while not self.victims and time.monotonic() < give_up:
            self.victims += [row for row in [next(filter(self.kill, self.work.find_busy()), None)] if row]
            time.sleep(0.01)


def is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # it may end meanwhile
        return "ray::Worker" in " ".join(process.cmdline())
    return False


def divide(n: int, size: int) -> list[range]:
    return [range(i, min(i + size, n)) for i in range(0, n, size)]


def flatten(results) -> list[int]:
    return [value for part in results for value in part]


@pytest.mark.parametrize("spec", ["wo-rr", "cascade"])
def test_scores_and_figures_are_those_of_this_process(spec, questions, models):
    spec = str(models / spec) if spec == "cascade" else spec
    expected = evaluate(load_ranker(spec), questions)
    with open_pool("local") as pool:
        result = evaluate_on_pool(pool, spec, questions)
    assert result.scores.keys() == expected.scores.keys()
    for qid, scores in expected.scores.items():
        assert np.allclose(result.scores[qid], scores, atol=1e-5)
    assert result.metrics == pytest.approx(expected.metrics, abs=1e-6)
    assert (result.ranker, result.questions) == (expected.ranker, expected.questions)
    assert result.relative_cost == pytest.approx(expected.relative_cost)
    assert result.cuts == expected.cuts


def test_a_worker_killed_in_the_middle_loses_nothing_and_nothing_counts_twice(tmp_path):
    work = Slow(tmp_path)

    def kill(row):
        os.kill(row[1], signal.SIGKILL)
        return True

    with open_pool("local") as pool:
        killing = KillOnce(work, kill)
        results = pool.map(work, divide(24, 3), killing)
    assert flatten(results) == [i * i for i in range(24)]
    assert sorted(killing.items) == [*range(24)]  # each is told of once
    [(item, pid, _)] = killing.victims
    assert {worker for i, worker, _ in work.find("end") if i == item} - {pid}  # another worker did it


def test_a_ranker_goes_on_when_one_of_its_workers_is_killed(questions, models):
    spec, kills = str(models / "cascade"), []

    def kill_one(progress):
        if progress.done and not kills:
            worker = next(p for p in psutil.Process().children(recursive=True) if is_worker(p))
            kills.append(worker.pid)
            worker.kill()

    with open_pool("local") as pool:
        result = evaluate_on_pool(pool, spec, questions, on_progress=kill_one)
    expected = evaluate(load_ranker(spec), questions)
    assert len(kills) == 1 and result.scores.keys() == expected.scores.keys()
    assert all(np.allclose(result.scores[q], s, atol=1e-5) for q, s in expected.scores.items())
    assert result.cuts == expected.cuts


def test_a_node_killed_in_the_middle_loses_nothing(tmp_path):
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        raylet = node.all_processes["raylet"][0].process.pid
        work = Slow(tmp_path)

        def kill(row):
            if row[2] == raylet:
                cluster.remove_node(node, allow_graceful=False)
            return row[2] == raylet

        with open_pool(cluster.address) as pool:
            killing = KillOnce(work, kill)
            results = pool.map(work, divide(30, 3), killing)
        assert flatten(results) == [i * i for i in range(30)]
        assert sorted(killing.items) == [*range(30)] and killing.victims
        assert {node for _, _, node in work.find("end")} - {raylet}
    finally:
        cluster.shutdown()


def test_chunks_are_taken_from_a_stream_as_workers_become_free(tmp_path):
    taken, done = [], []

    def give():
        for chunk in divide(24, 2):
            taken.append(chunk)
            yield chunk

    with open_pool("local") as pool:
        for chunk, result in pool.stream(Slow(tmp_path, seconds=0.01), give()):
            done += zip(chunk.items, result, strict=True)
            assert len(taken) <= len(done) / 2 + pool.count_workers()
    assert sorted(done) == [(i, i * i) for i in range(24)]


def test_an_item_that_ends_every_worker_is_named_and_the_others_are_done(tmp_path):
    work = Slow(tmp_path, seconds=0.01, deadly=4)
    with open_pool("local") as pool, pytest.raises(WorkFailed, match="of item 4"):
        pool.map(work, divide(9, 3))
    begins = Counter(item for item, _, _ in work.find("begin"))
    assert begins[4] == pools.MAX_CHUNK_TRIES + pools.MAX_TRIES


def test_an_error_of_the_work_is_raised_as_it_is(tmp_path):
    with open_pool("local") as pool, pytest.raises(KeyError, match="item 4"):
        pool.map(Slow(tmp_path, seconds=0.01, wrong=4), divide(9, 3))


def test_a_ranker_that_cannot_be_loaded_is_told_as_without_ray(questions, models, tmp_path):
    path = tmp_path / "broken"
    path.mkdir()
    for file in (models / "cascade").iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    (path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(DamagedModel) as here:
        get(str(path))
    with pytest.raises(DamagedModel) as there:
        score_on_ray(str(path), questions, "local")
    assert str(there.value) == str(here.value)


def test_auto_without_a_cluster_is_told_within_seconds():
    began = time.monotonic()
    with pytest.raises(BadSetting, match="--ray auto"), open_pool("auto"):
        pass
    assert time.monotonic() - began < 30


def test_a_run_is_read_here_beside_a_ranker_on_ray(tmp_path):
    command = [sys.executable, "-m", "as2core.cli", "eval"]
    run = tmp_path / "wo.run"
    subprocess.run([*command, "wo", "starter-test", "--run", run], check=True, capture_output=True)
    done = subprocess.run(
        [*command, "wo", run, "starter-test", "--ray", "local", "--json"], check=True, capture_output=True, text=True
    )
    a, b = json.loads(done.stdout)["rankers"]
    assert a["AP"] == pytest.approx(b["AP"]) and "scored on this machine" in done.stderr


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_leaves_no_process(kind, tmp_path):
    """Ctrl-C goes to the whole group of the command, as a terminal sends it, SIGTERM to the command alone."""
    script = (
        "import pathlib\n"
        "from test_ray_pool import Slow, divide\n"
        "from as2core.bulk.pool import open_pool\n"
        "with open_pool('local') as pool:\n"
        f"    pool.map(Slow(pathlib.Path({str(tmp_path)!r})), divide(1000, 3))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, stderr=subprocess.PIPE)
    try:
        while not list(tmp_path.iterdir()):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, kind) if kind == signal.SIGINT else process.send_signal(kind)
        codes = {signal.SIGINT: [-signal.SIGINT], signal.SIGTERM: [128 + signal.SIGTERM, 1]}  # 1: Ray was being called
        assert process.wait(30) in codes[kind]  # and it is not aborted
        _, alive = psutil.wait_procs(children, timeout=20)
        assert children and not alive
    finally:
        process.kill()
