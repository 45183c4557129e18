"""Labelling and training, killed at random fifty times: nothing confirmed is lost, nothing half made is seen, and every
job comes to its end. AS2_TEST_OFTEN_KILLS says how often instead of 50. Other processes: test_killed_anywhere.py."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from killed_home import (
    ROOT,
    KilledHome,
    check_confirmed_events,
    check_every_version_is_whole,
    list_jobs,
    open_home,
)

from app.jobs import queue, supervisor

KILLS = int(os.environ.get("AS2_TEST_OFTEN_KILLS", "50"))
RETRAINS = 1000  # so that a kill seldom finds none at work
PAUSE = 0.02
COMMANDS = {"worker": ["-m", "app.worker"], "person": [str(Path(__file__).with_name("labelling_for_ever.py"))]}


@dataclass
class Processes:
    """A worker and a person, started again as often as they are killed."""

    environment: dict[str, str]
    folder: Path
    arguments: list[str]
    running: dict[str, subprocess.Popen] = field(default_factory=dict)
    kills: Counter = field(default_factory=Counter)

    def start(self, name: str) -> None:
        command = [sys.executable, *COMMANDS[name], *(self.arguments if name == "person" else [])]
        with (self.folder / f"{name}.log").open("ab") as said:
            self.running[name] = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=said, stderr=subprocess.STDOUT
            )

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        assert process.poll() is None, f"the {name} ended by itself: {self.said(name)}"
        process.kill()
        process.wait()
        self.kills[name] += 1

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-2000:]


@pytest.fixture
def home(tmp_path):
    opened = open_home(tmp_path)
    yield opened
    opened.wb.close()


@pytest.fixture
def processes(home, tmp_path):
    made = Processes(home.environment, tmp_path, [str(home.corpus_id), str(home.confirmed), str(RETRAINS), str(PAUSE)])
    for name in COMMANDS:
        made.start(name)
    yield made
    for process in made.running.values():
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_kills_at_random_lose_no_label_leave_no_half_version_and_end_every_job(home, processes):
    rng = random.Random(0)
    for _ in range(KILLS):
        victim = rng.choice(list(COMMANDS))
        if victim == "worker":
            _wait_for(partial(_has_come, home, rng.random()), 60)
        time.sleep(rng.uniform(0, 3))
        processes.kill(victim)
        processes.start(victim)
    processes.kill("person")
    supervisor.reap(home.wb)
    assert _wait_for(lambda: _all_over(home), 600), processes.said("worker")
    for job in list_jobs(home):
        if job.state == "lost":  # killed as often as a job may be: a person says "run again", of one retrain at a time
            queue.retry(home.wb, job.id)
            assert _wait_for(lambda: _all_over(home), 600), processes.said("worker")

    ended = list_jobs(home)
    assert {j.state for j in ended} == {"done"}, [j.error for j in ended] + [processes.said("worker")]
    retrains = [j for j in ended if j.kind == "retrain"]
    assert sum(e["kind"] == "lost" for j in retrains for e in j.events) > 0.1 * KILLS  # they did hit the training
    check_every_version_is_whole(home)
    check_confirmed_events(home, kills=processes.kills["person"], least=10 * KILLS)


def _wait_for(condition, seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        if condition():
            return True
        time.sleep(0.2)
    return False


def _has_come(home: KilledHome, share: float) -> bool:
    """Whether a job at work is so far: worked out by share and not by time, a kill falls anywhere on any machine."""
    return any(j.state == "running" and j.progress >= share for j in list_jobs(home)) or _all_over(home)


def _all_over(home: KilledHome) -> bool:
    there = list_jobs(home)
    return any(j.kind == "retrain" for j in there) and not any(j.is_active for j in there)
