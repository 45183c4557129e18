"""Twenty people ask and label at once: how long they wait, and whether the probes that a container or a proxy sends are
still answered in time.

    python benchmarks/people_at_once.py                            20 people for 60 seconds
    python benchmarks/people_at_once.py --people 5 --seconds 10    prints; --write puts it into docs/performance.md

The pages' server runs as it does for `as2 app`. The people are threads in its process, as their sessions would be: each
asks a question of the starter corpus, labels three of its sentences and pauses. What a browser and the drawing of pages
cost is not in it. A probe in another process asks for /_stcore/health four times a second; a container takes one of
more than five seconds for a failure (Dockerfile).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice
from pathlib import Path

import _served
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.experiments.base import write_section

PEOPLE, SECONDS = 20, 60.0
PAUSE_SECONDS = 2.0  # of each person, after an answer and after labelling
LABELS = 3  # of an answer
PROBE_SECONDS, TIMEOUT_SECONDS = 0.25, 5.0
QUESTIONS = ROOT / "corpora" / "starter" / "test.jsonl"
HEAD = "| what | n | p50 ms | p95 ms | longest ms |\n|---|---|---|---|---|"


@dataclass(frozen=True)
class LoadResult:
    """Milliseconds of every question, label and probe; `errors` of people, as they would see them; `late`: probes that
    took longer than a container waits."""

    asks: Sequence[float]
    labels: Sequence[float]
    probes: Sequence[float]
    errors: Sequence[str]

    @property
    def late(self) -> int:
        return sum(ms > TIMEOUT_SECONDS * 1000 for ms in self.probes)

    def format(self) -> str:
        rows = [("a question, answered", self.asks), ("a label, stored", self.labels), ("a probe", self.probes)]
        lines = [
            f"| {name} | {len(ms)} | {np.percentile(ms, 50):.0f} | {np.percentile(ms, 95):.0f} | {max(ms):.0f} |"
            for name, ms in rows
            if len(ms)
        ]
        return "\n".join(
            [HEAD, *lines, "", f"Probes over {TIMEOUT_SECONDS:g} s: {self.late}. Errors: {len(self.errors)}."]
        )


def measure(home: Path, *, people: int, seconds: float) -> LoadResult:
    """Serve a home of its own, let them work, and probe meanwhile."""
    results = home / "people.json"
    command = [sys.executable, __file__, "--results", str(results), "--people", str(people), "--seconds", str(seconds)]
    environment = _served.environment(home, ROOT / "corpora")
    with _served.app(environment, command=[*command, "--serve"]) as url:
        probes = []
        while not results.exists():
            if (home / "started").exists():
                probes.append(probe(f"{url}/_stcore/health"))
            time.sleep(PROBE_SECONDS)
        content = json.loads(results.read_text())
    return LoadResult(content["asks"], content["labels"], probes, content["errors"])


def probe(url: str) -> float:
    """Milliseconds until the server says that it is well; more than the time-out where it does not in time."""
    began = time.perf_counter()
    try:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        direct.open(url, timeout=2 * TIMEOUT_SECONDS).read()
    except OSError:
        return 2000 * TIMEOUT_SECONDS
    return (time.perf_counter() - began) * 1000


# --- in the server's process -----------------------------------------------------------------------------------------


def serve(port: int, results: Path, people: int, seconds: float) -> None:
    import uvicorn

    threading.Thread(target=work, args=(results, people, seconds), daemon=True).start()
    uvicorn.Server(uvicorn.Config("streamlit_app:app", port=port, log_level="error", access_log=False)).run()


def work(results: Path, people: int, seconds: float) -> None:
    """All of them, from the moment the models are loaded; what they waited is written at once when they are done."""
    from app import bootstrap
    from app.ask import asking
    from app.exchange.starter import ensure_starter

    wb = bootstrap.open()
    corpus = ensure_starter(wb)
    assert corpus is not None
    asking.preload(wb)
    texts = [q.text for q in jsonl.read(QUESTIONS)[0]]
    asking.ask(wb, corpus.id, texts[-1])  # the first one builds the engine
    tally, until = Tally(), time.monotonic() + seconds
    (results.parent / "started").touch()
    sessions = [
        threading.Thread(target=_sit, args=(wb, corpus.id, f"person {i}", texts[i:] + texts[:i], until, tally))
        for i in range(people)
    ]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    partial = results.with_suffix(".part")
    partial.write_text(json.dumps(asdict(tally)))
    partial.rename(results)


@dataclass(frozen=True)
class Tally:
    """Of all people together, in milliseconds."""

    asks: list[float] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _sit(wb: Workbench, corpus_id: int, name: str, texts: Sequence[str], until: float, tally: Tally) -> None:
    """One person, who asks these questions in turn."""
    from app.ask import asking
    from app.labels import annotation
    from app.labels.annotation import Presentation
    from app.workbench import people
    from as2core.errors import As2Error

    me = people.sign_in(wb, name)
    for number, text in enumerate(cycle(texts)):
        if time.monotonic() > until:
            return
        try:
            began = time.perf_counter()
            view = asking.ask(wb, corpus_id, text, store_later=True)
            tally.asks.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_SECONDS)
            for sentence in islice(view.candidates, LABELS):
                pair = {"question_id": view.question_id, "sentence_id": sentence.sentence_id, "annotator_id": me.id}
                label = ("correct", "incorrect")[number % 2]
                began = time.perf_counter()
                annotation.give_label(wb, **pair, label=label, presentation=Presentation(queue="ask"))
                tally.labels.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_SECONDS)
        except As2Error as e:
            tally.errors.append(str(e))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    parser.add_argument("--serve", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.results, options.people, options.seconds)
        return
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), people=options.people, seconds=options.seconds)
    print(result.format())
    for error in sorted(set(result.errors)):
        print(error)
    if options.write:
        about = f"{options.people} people for {options.seconds:g} seconds."
        made = "Printed and written by `python benchmarks/people_at_once.py --write`."
        write_section(ROOT / "docs" / "performance.md", "people-at-once", f"{about}\n\n{result.format()}\n\n{made}")


if __name__ == "__main__":
    main()
