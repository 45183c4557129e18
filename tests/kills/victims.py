"""The kinds of processes that are killed: how one is started, when a kill may hit something, and what has to be true of
its own work afterwards."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import psutil
from killed_home import CORPUS, ROOT, KilledHome, list_jobs
from sqlalchemy import text
from stage import AS2, ENDING_SECONDS, LABEL_PAUSE_AT_WORK, PATIENCE_SECONDS, Victim, wait_for
from websockets.exceptions import WebSocketException

from app.corpora import corpora, documents
from as2core.rankers.catalog import load_version
from as2core.types import Candidate
from db.repositories import sentences as rows

sys.path.insert(0, str(ROOT / "benchmarks"))

from _pages import PageError, PageSession


class Labeller(Victim):
    """The one that labels by the services, and undoes."""

    def start(self) -> None:
        self.before = self._count()
        self.process = self.stage.start_labeller(LABEL_PAUSE_AT_WORK)

    def wait(self) -> bool:
        if not wait_for(lambda: self._count() > self.before):
            self.stage.problems.append(f"the labeller does not label: {self.stage.read_log('labeller')}")
        self.stage.pause(2)
        return True

    def end(self) -> None:
        self.kill()  # it goes on for ever

    def _count(self) -> int:
        file = self.stage.home.confirmed
        return file.stat().st_size if file.exists() else 0


class Worker(Victim):
    """`as2 worker`, while retrains are asked for."""

    def start(self) -> None:
        self.process = self.stage.start("worker", [*AS2, "worker"])

    def wait(self) -> bool:
        wait_for(partial(has_come, self.stage.home, self.stage.rng.random()), 60)
        self.stage.pause(1)
        return True


def has_come(home: KilledHome, share: float) -> bool:
    """Whether a retrain at work is so far: by share and not by time, a kill falls anywhere on any machine."""
    return any(j.state == "running" and j.progress >= share for j in list_jobs(home, "retrain"))


class Ingest(Victim):
    """`as2 ingest` of a folder, run again until it has ended; then of another one."""

    DOCUMENTS, NAME = 500, "documents"

    def __post_init__(self) -> None:
        self.sets: list[dict[str, list[str]]] = []
        self._write_documents()

    def start(self) -> None:
        self.process = self._start()

    def _start(self) -> subprocess.Popen:
        return self.stage.start("ingest", [*AS2, "ingest", str(self.target), "--corpus", self.NAME])

    def wait(self) -> bool:
        process, before = self.process, self._count()
        remaining = sum(map(len, self.sets)) - before
        wanted = before + int(self.stage.rng.random() * remaining)
        wait_for(lambda: process.poll() is not None or (remaining and self._count() >= wanted))
        self.stage.pause(0.7)
        if process.poll() is None:
            return True
        self._expect_end(process)
        self._write_documents()
        return False

    def kill(self) -> None:
        super().kill()
        self._expect_no_parser()

    def end(self) -> None:
        """The same command again completes it, and once more finds nothing to do."""
        self.process.wait(PATIENCE_SECONDS)
        self._expect_end(self.process)
        self._expect_end(self._start())
        last = self.stage.read_log("ingest").rpartition(f"{self.NAME}: ")[2]
        if not last.startswith(f"0 added, 0 updated, {self.DOCUMENTS} unchanged, 0 failed"):
            self.stage.problems.append(f"ingested once more: {last}")
        wb = self.stage.home.wb
        corpus = corpora.find_corpus(wb, self.NAME)
        if wb.index(corpus.id).count() < corpus.documents or corpus.documents != self.DOCUMENTS * len(self.sets):
            self.stage.problems.append(f"{corpus.documents} documents, {wb.index(corpus.id).count()} passages indexed")

    def check(self) -> None:
        """Each document is whole or not there."""
        whole = {name: sentences for of_one in self.sets for name, sentences in of_one.items()}
        for name, sentences in self._read():
            if sentences != whole[name]:
                self.stage.problems.append(f"{name} has the sentences {sentences}")

    def _write_documents(self) -> None:
        at = len(self.sets)
        self.target, suffixes = self.stage.folder / f"documents{at}", ["txt"] * 97 + ["md", "html"]
        self.target.mkdir()
        made = {}
        for i in range(self.DOCUMENTS):
            n, suffix = at * self.DOCUMENTS + i, suffixes[i % len(suffixes)]
            sentences = [f"Bridge {n} is red.", f"It carries {2 * n} trains a day.", "Nobody lives on it."]
            body = " ".join(sentences)
            content = f"<html><body><p>{body}</p></body></html>" if suffix == "html" else body
            (self.target / f"bridge{n}.{suffix}").write_text(content)
            made[f"bridge{n}"] = sentences
        self.sets.append(made)

    def _expect_end(self, process: subprocess.Popen) -> None:
        if process.wait(PATIENCE_SECONDS) != 0:
            self.stage.problems.append(f"as2 ingest ended with {process.returncode}: {self.stage.read_log('ingest')}")

    def _expect_no_parser(self) -> None:
        def has_parser() -> bool:
            return any("parser" in " ".join(p.cmdline()) for p in self.stage.list_processes())

        if not wait_for(lambda: not has_parser(), ENDING_SECONDS):
            self.stage.problems.append("the parser outlives as2 ingest")

    def _count(self) -> int:
        with self.stage.home.wb.read() as s:
            query = "SELECT count(*) FROM document JOIN corpus ON corpus.id = corpus_id WHERE name = :name"
            return int(s.scalar(text(query), {"name": self.NAME}) or 0)

    def _read(self) -> Iterator[tuple[str, list[str]]]:
        """Name and sentences of each that is stored."""
        wb = self.stage.home.wb
        found = next((c for c in corpora.list_corpora(wb) if c.name == self.NAME), None)
        names = {d.id: d.external_id for d in documents.list_documents(wb, found.id, limit=10**6)} if found else {}
        sentences: dict[int, list[str]] = {i: [] for i in names}
        with wb.read() as s:
            for at in range(0, len(names), 400):
                for row in rows.list_sentences(s, list(names)[at : at + 400]):
                    sentences[row.document_id].append(row.text)
        for i, name in names.items():
            yield name, sentences[i]


class Adapt(Victim):
    """`as2 adapt` with the worker that it starts: the command is killed, its worker, or both. The same command again
    goes on with the retrain."""

    def start(self) -> None:
        command = [*AS2, "adapt", "--corpus", CORPUS, "--epochs", "2"]
        self.process = self.stage.start("adapt", command, AS2_WORKER="auto")

    def wait(self) -> bool:
        process = self.process
        share = self.stage.rng.random()
        wait_for(lambda: process.poll() is not None or has_come(self.stage.home, share))
        self.stage.pause(1)
        if process.poll() is None:
            return True
        self._expect_end()
        return False

    def kill(self) -> None:
        targets = self.stage.rng.choice(["command", "worker", "both"])
        if targets != "command":
            for worker in self._list_workers():
                worker.kill()
        if targets == "worker":  # the command goes on: it starts another one
            self.process.wait(PATIENCE_SECONDS)
            self._expect_end()
        else:
            super().kill()

    def end(self) -> None:
        self.process.wait(PATIENCE_SECONDS)
        self._expect_end()
        for worker in self._list_workers():
            worker.terminate()
        psutil.wait_procs(self._list_workers(), PATIENCE_SECONDS)

    def _list_workers(self) -> list[psutil.Process]:
        return [p for p in self.stage.list_processes() if "app.worker" in p.cmdline()]

    def _expect_end(self) -> None:
        if self.process.returncode != 0:
            said = self.stage.read_log("adapt")
            self.stage.problems.append(f"as2 adapt ended with {self.process.returncode}: {said}")


class App(Victim):
    """`as2 app` with its server and its worker, while somebody labels on its pages: one of the three is killed, or all
    at once. The next one comes up at the same port."""

    PERSON = "page"

    def start(self) -> None:
        arguments = [*AS2, "app", "--port", str(self.stage.port)]
        self.process = self.stage.start("app", arguments, AS2_WORKER="auto")
        self.before, self.is_over = self.confirmed, threading.Event()
        self.person = threading.Thread(target=self._label)
        self.person.start()

    def __post_init__(self) -> None:
        self.acts: list[tuple[str, bool]] = []  # (label, whether the page was drawn after it)

    def wait(self) -> bool:
        process = self.process
        if not wait_for(lambda: self.confirmed > self.before + 1 or process.poll() is not None):
            self.stage.problems.append("nobody can label on the page")
        if process.poll() is not None:
            self.stage.problems.append(f"as2 app ended by itself: {self.stage.read_log('app')}")
        self.stage.pause(3)
        return True

    def kill(self) -> None:
        target = self.stage.rng.choice(["app", "streamlit", "app.worker", "all"])
        family = self._list_family()
        for process in family:
            with suppress(psutil.Error):
                is_parent = self.process is not None and process.pid == self.process.pid
                if target == "all" or (is_parent if target == "app" else target in process.cmdline()):
                    process.kill()
        if target == "app.worker":
            self.process.terminate()  # it would bring another worker
        self._expect_nothing(family, f"{target} killed")

    def end(self) -> None:
        wait_for(lambda: self.confirmed > self.before + 1)
        family = self._list_family()
        self.process.terminate()
        self._expect_nothing(family, "as2 app ended")

    def _list_family(self) -> list[psutil.Process]:
        parent = psutil.Process(self.process.pid)
        return [*parent.children(recursive=True), parent]

    def _expect_nothing(self, family: list[psutil.Process], event: str) -> None:
        """Everything that belongs to the app is gone soon."""
        self.is_over.set()
        self.process.wait(ENDING_SECONDS)
        _, alive = psutil.wait_procs(family, ENDING_SECONDS)
        for process in alive:
            self.stage.problems.append(f"{event}: {' '.join(process.cmdline())} goes on")
            process.kill()
        self.person.join()

    def _label(self) -> None:
        """A session of the pages that labels until the server is gone."""
        url, session = f"http://127.0.0.1:{self.stage.port}", None
        while not self.is_over.is_set():
            try:
                session = session or PageSession(url, self.PERSON)
                session.open("", "")  # tells the paths of the pages
                session.open("label", f"?corpus={CORPUS}&queue=random")
                while not self.is_over.is_set() and session.has("label_correct"):
                    self._give(session)
                time.sleep(0.3)
            except (OSError, WebSocketException):  # it is not there yet, or not any more
                session = None
                time.sleep(0.3)
            except PageError as error:
                session = None
                if "connection" not in str(error):
                    self.stage.problems.append(f"on the page: {error}")

    def _give(self, session: PageSession) -> None:
        label = random.choice(["correct", "incorrect", "unsure"])
        self.acts.append((label, False))
        session.click(f"label_{label}")
        self.acts[-1] = label, True
        self.confirmed += 1

    def check(self) -> None:
        """The labels of the page, in order, are the confirmed ones; of each that a kill interrupted one more or not."""
        with self.stage.home.wb.read() as s:
            query = "SELECT label FROM label_event JOIN annotator ON annotator.id = annotator_id WHERE name = :name"
            stored = list(s.scalars(text(f"{query} ORDER BY label_event.id"), {"name": self.PERSON}))
        pattern = "".join(f"{label} " if is_confirmed else f"({label} )?" for label, is_confirmed in self.acts)
        if not re.fullmatch(pattern, "".join(f"{label} " for label in stored)):
            self.lost = max(1, self.confirmed - len(stored))
            self.stage.problems.append(f"on the page {self.acts}, stored {stored}")


class Serve(Victim):
    """`as2 serve` under requests: whoever is answered gets what the library computes, and the next one comes up at the
    same port."""

    QUERY = "When was the bridge built?"
    TEXTS = tuple(f"The bridge over the {river} was built in {1900 + i}." for i, river in enumerate(("Elbe", "Oder")))

    def __post_init__(self) -> None:
        ranker = load_version(self.stage.home.wb.settings.models_dir / "cascade")
        scores = ranker.score(self.QUERY, [Candidate(str(i), t) for i, t in enumerate(self.TEXTS)])
        self.places = sorted(range(len(scores)), key=lambda i: -scores[i])
        self.answers = 0

    def start(self) -> None:
        self.before = self.answers
        self.process = self.stage.start("serve", [*AS2, "serve", "--port", str(self.stage.port)])

    def wait(self) -> bool:
        over = time.monotonic() + self.stage.rng.uniform(0, 2)
        if not wait_for(lambda: self._ask() and time.monotonic() > over):
            self.stage.problems.append(f"as2 serve does not answer: {self.stage.read_log('serve')}")
        threading.Thread(target=self._ask).start()  # one is under way
        self.stage.pause(0.05)
        return True

    def end(self) -> None:
        wait_for(self._ask)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_SECONDS)

    def _ask(self) -> bool:
        """Whether it answered."""
        body = json.dumps({"query": self.QUERY, "documents": self.TEXTS}).encode()
        url = f"http://127.0.0.1:{self.stage.port}/v1/rerank"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(request, timeout=PATIENCE_SECONDS) as answer:
                places = [result["index"] for result in json.load(answer)["results"]]
        except (OSError, EOFError, ValueError, urllib.request.HTTPError) as error:
            if isinstance(error, urllib.request.HTTPError):
                self.stage.problems.append(f"as2 serve answered {error}")
            return False
        self.answers += 1
        if places != self.places:
            self.stage.problems.append(f"as2 serve ranked {places}, the library {self.places}")
        return True


KINDS: dict[str, type[Victim]] = {
    "labeller": Labeller,
    "worker": Worker,
    "ingest": Ingest,
    "adapt": Adapt,
    "app": App,
    "serve": Serve,
}
