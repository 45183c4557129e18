"""Six kinds of processes, each killed with SIGKILL at random moments again and again, over SQLite and PostgreSQL: no
confirmed label is lost, no version and no document is there by half, every job ends, and what was interrupted is
completed by the same command again.

    make kills                                                    a hundred kills; prints the table
    python tests/kills/kill_processes.py --kills 3 --kinds ingest app --databases sqlite

While the kinds are killed, somebody labels. What is checked after every kill and at the end: `killed_home.py`; of the
work of each kind: `victims.py`.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "e2e")]
os.environ |= {"AS2_ENGINE": "torch", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

import killed_home
from killed_home import list_jobs
from postgres_server import find_postgres, own_schema, serve_postgres
from serving import free_port
from stage import PATIENCE_SECONDS, Stage, Victim, wait_for
from victims import KINDS

from app.jobs import queue, supervisor
from app.labels import rules
from app.workbench import people
from as2core.experiments.base import write_section

DATABASES = ("sqlite", "postgres")
KILLS = 100  # in all, over the kinds and databases
RETRAINS = {"worker": 1000, "app": 1000}  # at most, that the labeller starts: a kill seldom finds none at work
SETTLING_SECONDS = 1800.0
HEAD = (
    "| process | database | kills | labels confirmed | lost | versions | partial | jobs | stuck | other problems |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Outcome:
    """What is left after the kills of one kind. `problems`: everything else that should not have happened."""

    kills: int
    confirmed: int
    lost: int
    versions: int
    partial: int
    jobs: int
    stuck: int
    problems: tuple[str, ...]

    def format(self, kind: str, database: str) -> str:
        numbers = self.kills, self.confirmed, self.lost, self.versions, self.partial, self.jobs, self.stuck
        return f"| {' | '.join([kind, database, *map(str, numbers), str(len(self.problems))])} |"


def kill_again_and_again(kind: str, folder: Path, database_url: str, *, kills: int, seed: int) -> Outcome:
    """Kill a process of that kind so many times, over a new home below `folder`, and let everything come to its end."""
    home = killed_home.open_home(folder, database_url)
    ann = people.sign_in(home.wb, killed_home.PERSON)  # the first person is an admin
    rules.set_rules(home.wb, home.corpus_id, by=ann.id, overlap=2)  # or nothing is left for the page
    for job in list_jobs(home):  # the vectors of its sentences would take longer than the kills
        queue.cancel(home.wb, job.id)
    stage = Stage(home, folder, random.Random(seed), RETRAINS.get(kind, 0), port=free_port())
    try:
        return _Ordeal(stage, kind, KINDS[kind](stage)).run(kills)
    finally:
        for process in stage.list_processes():
            process.kill()
        home.wb.close()


@dataclass
class _Ordeal:
    stage: Stage
    kind: str
    victim: Victim
    lost: int = 0
    partial: int = 0

    def run(self, kills: int) -> Outcome:
        stage, home, victim = self.stage, self.stage.home, self.victim
        labeller = None if self.kind == "labeller" else stage.start_labeller()
        for _ in range(kills):
            victim.start()
            while not victim.wait():
                victim.start()
            victim.kill()
            self._check()
        victim.start()
        victim.end()
        if labeller is not None:
            if labeller.poll() is not None:
                stage.problems.append(f"the labeller ended: {stage.read_log('labeller')}")
            labeller.kill()
            labeller.wait()
        stuck = self._settle()
        self._check()
        self._check_end(kills + 1 if labeller is None else 1)
        confirmed = len(killed_home.read_confirmed(home)) + victim.confirmed
        jobs = [j for j in list_jobs(home) if j.state != "cancelled"]
        versions = sum(j.kind == "retrain" and j.state == "done" for j in jobs)
        lost = self.lost + victim.lost
        return Outcome(kills, confirmed, lost, versions, self.partial, len(jobs), stuck, tuple(stage.problems))

    def _check(self) -> None:
        """After a kill, while the labeller goes on."""
        home, problems = self.stage.home, self.stage.problems
        lost, partial = killed_home.find_lost_labels(home), killed_home.find_partial_versions(home)
        self.lost, self.partial = max(self.lost, len(lost)), max(self.partial, len(partial))
        problems.extend([*map(str, lost), *partial, *killed_home.find_problems(home)])
        self.victim.check()

    def _settle(self) -> int:
        """Let a worker run all that waits; returns how many jobs did not come to their end."""
        stage, home = self.stage, self.stage.home
        supervisor.reap(home.wb)
        for job in list_jobs(home):
            if job.state == "lost":  # killed as often as a job may be: a person says "run again"
                queue.retry(home.wb, job.id)
        if any(j.is_active for j in list_jobs(home)):
            worker = stage.start("last-worker", ["-m", "app.worker"])
            wait_for(lambda: not any(j.is_active for j in list_jobs(home)), SETTLING_SECONDS)
            worker.terminate()
            worker.wait(PATIENCE_SECONDS)
        unfinished = [j for j in list_jobs(home) if j.state not in ("done", "cancelled")]
        stage.problems.extend(f"job {j.id} ({j.kind}) is {j.state}: {j.error or j.message}" for j in unfinished)
        return len(unfinished)

    def _check_end(self, labeller_kills: int) -> None:
        home, problems = self.stage.home, self.stage.problems
        problems.extend(f"{file} is left over" for file in killed_home.find_leftovers(home))
        problems.extend(f"{' '.join(p.cmdline())} is still there" for p in self.stage.list_processes())
        for check in (
            lambda: killed_home.check_every_version_is_whole(home),
            lambda: killed_home.check_confirmed_events(home, kills=labeller_kills, least=0),
        ):
            try:
                check()
            except AssertionError:
                problems.append(traceback.format_exc())


@contextmanager
def open_databases(names: list[str], folder: Path) -> Iterator[dict[str, str]]:
    """The address of each; of SQLite "", a file in the home. PostgreSQL is left out where there is none."""
    with ExitStack() as stack:
        urls = {"sqlite": ""} if "sqlite" in names else {}
        if "postgres" in names:
            if binaries := find_postgres():
                urls["postgres"] = stack.enter_context(serve_postgres(binaries))
            else:
                print("PostgreSQL is not installed: left out (apt-get install postgresql)", file=sys.stderr)
        yield urls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, help=f"of each kind on each database; {KILLS} in all if not given")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=[*DATABASES])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="into docs/running.md")
    options = parser.parse_args()
    problems, lines, began = [], [], time.monotonic()
    with tempfile.TemporaryDirectory() as top, open_databases(options.databases, Path(top)) as urls:
        rows = [(kind, name) for name in urls for kind in options.kinds]
        print(HEAD, flush=True)
        for i, (kind, name) in enumerate(rows):
            kills = options.kills or KILLS // len(rows) + (i < KILLS % len(rows))
            folder = Path(top) / f"{kind}-{name}"
            folder.mkdir()
            with ExitStack() as stack:
                url = stack.enter_context(own_schema(urls[name])) if urls[name] else ""
                outcome = kill_again_and_again(kind, folder, url, kills=kills, seed=options.seed + i)
            lines.append(outcome.format(kind, name))
            print(lines[-1], *outcome.problems, sep="\n", flush=True)
            problems += outcome.problems
    if options.write:
        minutes, load = (time.monotonic() - began) / 60, os.getloadavg()[2]
        how = f"In {minutes:.0f} minutes on {os.cpu_count()} cores, for which {load:.0f} processes waited at the end."
        write_section(TESTS.parent / "docs" / "running.md", "kills", "\n".join([how, "", HEAD, *lines]))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
