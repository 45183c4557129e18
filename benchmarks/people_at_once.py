"""Twenty people ask and label at once: how long they wait, whether the probes of a container or a proxy are answered in
time, and what their sessions cost in memory, while they are there and after they left.

    python benchmarks/people_at_once.py                              20 people for 120 seconds, twice
    python benchmarks/people_at_once.py --people 5 --seconds 30      prints; --write puts it into docs/performance.md

`as2 app` serves a home of its own with the starter corpus. Each person is a session of its pages (`_pages.py`: the
messages of a browser, without what a browser draws): they ask a question, read, label its answer, label two sentences
on Label and begin again. The server does everything that it does for browsers; the browsers' own work is not in it. A
probe asks for /_stcore/health four times a second; a container takes one of more than five seconds for a failure
(Dockerfile). The people and the probe run beside the server, on the same cores.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import _served
import numpy as np
from _pages import PageError, PageSession

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from as2core.data import jsonl
from as2core.experiments.base import write_section

PEOPLE, SECONDS, VISITS = 20, 120.0, 2
READ_SECONDS = 10.0  # an answer, before it is labelled
LABEL_SECONDS = 3.0  # a sentence, before a key is pressed
LEFT_SECONDS = 150.0  # Streamlit keeps a session for two minutes, for a browser that connects again
PROBE_SECONDS, TIMEOUT_SECONDS = 0.25, 5.0
QUESTIONS = ROOT / "corpora" / "starter" / "test.jsonl"
ASK, FIELD, BUTTON = "", "as2_question_", "FormSubmitter:as2_ask"
KINDS = {
    "open": "the page Ask, opened",
    "answer": "a question, until the answer is shown",
    "complete": "a question, until the page is complete",
    "label on Ask": "a label on Ask, stored and shown",
    "label": "a label on Label, stored and the next sentence shown",
    "probe": "a probe",
}
HEAD = "| what | n | p50 ms | p95 ms | longest ms |\n|---|---|---|---|---|"


@dataclass
class LoadResult:
    """`load`: processes that wanted the cores before it began. `waits`: milliseconds by kind. `errors` as people see
    them. MB of the server: `idle` before anybody came, and for each time that people came with everybody there
    (`during`) and `left` seconds after they left (`after`)."""

    people: int
    load: float
    left: float
    waits: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    errors: list[str] = field(default_factory=list)
    idle: float = 0.0
    during: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    def format(self) -> str:
        rows = [
            f"| {name} | {len(ms)} | {np.percentile(ms, 50):.0f} | {np.percentile(ms, 95):.0f} | {max(ms):.0f} |"
            for name, ms in ((name, self.waits[kind]) for kind, name in KINDS.items())
            if ms
        ]
        late = sum(ms > TIMEOUT_SECONDS * 1000 for ms in self.waits["probe"])
        each = (self.during[0] - self.idle) / self.people
        memory = (
            f"The server's memory: {self.idle:,.0f} MB before they came, {_join(self.during)} MB with them "
            f"({each:.1f} MB each the first time), {_join(self.after)} MB {self.left:.0f} seconds after they left."
        )
        load = f"When it began, {self.load:.1f} processes wanted the {os.cpu_count()} cores."
        health = f"Probes over {TIMEOUT_SECONDS:g} s: {late}. Errors: {len(self.errors)}."
        return "\n".join([f"{load} {health} {memory}", "", HEAD, *rows])


def _join(megabytes: Sequence[float]) -> str:
    return ", ".join(f"{mb:,.0f}" for mb in megabytes)


def measure(home: Path, *, people: int, seconds: float, left: float = LEFT_SECONDS, visits: int = VISITS) -> LoadResult:
    """Serve a home of its own, let them come and work, `visits` times, and probe meanwhile."""
    result = LoadResult(people, os.getloadavg()[0], left)
    texts = [q.text for q in jsonl.read(QUESTIONS)[0]]
    with _served.run_app(_served.environment(home, ROOT / "corpora")) as (url, process):
        server = _find_server(process)
        _warm_up(url, texts)
        result.idle = read_memory(server)
        for _ in range(visits):
            with _probing(url, result.waits["probe"]):
                until = time.monotonic() + seconds
                sessions = [
                    threading.Thread(target=_sit, args=(url, f"person {i}", texts[i:] + texts[:i], until, result))
                    for i in range(people)
                ]
                for session in sessions:
                    session.start()
                time.sleep(max(0.0, until - time.monotonic()))
                result.during.append(read_memory(server))
                for session in sessions:
                    session.join()
            time.sleep(left)
            result.after.append(read_memory(server))
    return result


def _warm_up(url: str, texts: Sequence[str]) -> None:
    """The first visitor imports the starter corpus, the first questions load models and build the engine."""
    session = PageSession(url, "first")
    for text in texts[:3]:
        session.open(ASK)
        session.submit(text, FIELD, BUTTON, _is_answer)
        session.rest(READ_SECONDS)
    session.close()


def _is_answer(element) -> bool:
    return element.WhichOneof("type") == "html" and 'class="as2-answer' in element.html.body


def _sit(url: str, name: str, texts: Sequence[str], until: float, result: LoadResult) -> None:
    """One person, who asks these questions in turn until it is time, and leaves."""
    try:
        session = PageSession(url, name)
        for text in cycle(texts):
            if time.monotonic() > until:
                break
            try:
                _work(session, text, result.waits)
            except PageError as e:
                result.errors.append(str(e))
        session.close()
    except Exception as e:  # the benchmark's table has to say that somebody was thrown out
        result.errors.append(f"{type(e).__name__}: {e}")


def _work(session: PageSession, text: str, waits: dict[str, list[float]]) -> None:
    """A question, a label for its answer, and two labels on the page Label."""
    with _timed(waits["open"]):
        session.open(ASK)
    with _timed(waits["complete"]):
        seconds = session.submit(text, FIELD, BUTTON, _is_answer)
    if seconds is not None:
        waits["answer"].append(seconds * 1000)
    session.rest(READ_SECONDS)
    if session.has("as2_label_answer_correct"):
        with _timed(waits["label on Ask"]):
            session.click("as2_label_answer_correct")
    session.rest(LABEL_SECONDS)
    session.open("label")
    for name in ("label_incorrect", "label_correct"):
        session.rest(LABEL_SECONDS)
        if session.has(name):  # not where a queue is empty
            with _timed(waits["label"]):
                session.click(name)
    session.rest(LABEL_SECONDS)


@contextmanager
def _timed(milliseconds: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    milliseconds.append((time.perf_counter() - began) * 1000)


@contextmanager
def _probing(url: str, milliseconds: list[float]) -> Iterator[None]:
    over = threading.Event()

    def ask() -> None:
        while not over.wait(PROBE_SECONDS):
            milliseconds.append(probe(f"{url}/_stcore/health"))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def probe(url: str) -> float:
    """Milliseconds until the server says that it is well; more than the time-out where it does not in time."""
    began = time.perf_counter()
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        direct.open(url, timeout=2 * TIMEOUT_SECONDS).read()
    except OSError:
        return 2000 * TIMEOUT_SECONDS
    return (time.perf_counter() - began) * 1000


def _find_server(app: int) -> int:
    """The process of the pages among the children of `as2 app`."""
    for status in Path("/proc").glob("[0-9]*/status"):
        command = (status.parent / "cmdline").read_bytes()
        if f"\nPPid:\t{app}\n" in status.read_text() and b"streamlit_app.py" in command:
            return int(status.parent.name)
    raise SystemExit("the server's process was not found: this benchmark reads /proc")


def read_memory(process: int) -> float:
    """MB of a process that belong to no file."""
    content = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+) kB", content)
    assert found is not None
    return int(found[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--left", type=float, default=LEFT_SECONDS, help="seconds until the memory after they left")
    parser.add_argument("--visits", type=int, default=VISITS, help="times that they come, new sessions each time")
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(
            Path(folder),
            people=options.people,
            seconds=options.seconds,
            left=options.left,
            visits=options.visits,
        )
    print(result.format())
    for error in sorted(set(result.errors)):
        print(error)
    if options.write:
        about = f"{options.people} people for {options.seconds:g} seconds, in {options.visits} visits."
        made = "Printed and written by `python benchmarks/people_at_once.py --write`."
        write_section(ROOT / "docs" / "performance.md", "people-at-once", f"{about} {made}\n\n{result.format()}")


if __name__ == "__main__":
    main()
