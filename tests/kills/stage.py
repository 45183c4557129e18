"""A home, the processes over it, and what the kinds of processes that are killed have in common."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from killed_home import ROOT, KilledHome

AS2 = ["-m", "as2core.cli"]
PATIENCE_SECONDS = 600.0  # a busy machine may take
ENDING_SECONDS = 120.0  # within which what a killed process had started has to end
LABEL_PAUSE, LABEL_PAUSE_AT_WORK = 0.1, 0.02


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> bool:
    give_up = time.monotonic() + seconds
    while not (is_met := bool(condition())) and time.monotonic() < give_up:
        time.sleep(0.2)
    return is_met


@dataclass
class Stage:
    """A home and the processes over it. `problems`: what should not have happened, in words."""

    home: KilledHome
    folder: Path
    rng: random.Random
    retrains: int = 0
    problems: list[str] = field(default_factory=list)
    port: int = 0

    def start(self, name: str, arguments: Sequence[str], **variables: str) -> subprocess.Popen:
        """A python process; its output is added to a file of that name."""
        environment = {**self.home.environment, **variables}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

    def start_labeller(self, pause: float = LABEL_PAUSE) -> subprocess.Popen:
        home, script = self.home, Path(__file__).with_name("labelling_for_ever.py")
        given = home.corpus_id, home.confirmed, self.retrains, pause
        return self.start("labeller", [str(script), *map(str, given)])

    def read_log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-1500:]

    def list_processes(self) -> list[psutil.Process]:
        """All that work on this home, whoever started them."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                is_ours = process.environ().get("AS2_HOME") == str(self.home.wb.settings.home)
                if is_ours and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                    found.append(process)
        return found

    def pause(self, seconds: float) -> None:
        time.sleep(self.rng.uniform(0, seconds))


@dataclass
class Victim:
    """One kind. `start` begins a life; `wait` ends at a moment for a kill, or is False where the life ended in order;
    after the last kill, a life more comes to its `end`. `check` looks at its own work after each kill. `confirmed`:
    labels, besides those of the labeller; `lost`: those of them that are not stored."""

    stage: Stage
    confirmed: int = 0
    lost: int = 0
    process: subprocess.Popen = field(init=False)

    def __post_init__(self) -> None: ...

    def start(self) -> None:
        raise NotImplementedError

    def wait(self) -> bool:
        raise NotImplementedError

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def check(self) -> None: ...
