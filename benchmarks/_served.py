"""The app as processes of its own: started over a home, asked in a real browser, asked from the shell."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

ROOT = Path(__file__).resolve().parents[1]
AS2 = [sys.executable, "-c", "import sys; from as2core.cli import main; sys.exit(main())"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
PATIENCE = 600.0  # seconds a start or an answer may take on a busy machine
QUESTION = "When did the Eiffel Tower open?"
LOADING = """
import time
began = time.perf_counter()
from as2core.rankers.catalog import get
import torch, transformers
print("importing torch, transformers and the library", time.perf_counter() - began, sep="\\t")
for spec in ("cascade:engine=onnx", "bi-encoder", "generative"):
    began = time.perf_counter()
    get(spec)
    print(f"loading `{spec}`", time.perf_counter() - began, sep="\\t")
"""


def environment(home: Path, corpora: Path) -> dict[str, str]:
    variables = {k: v for k, v in os.environ.items() if not k.startswith("AS2_")}
    return {**variables, "AS2_HOME": str(home), "AS2_CORPORA_DIR": str(corpora)}


def starter(folder: Path, questions: tuple[int, int, int] | None) -> Path:
    """A folder for AS2_CORPORA_DIR: the shipped one, or `questions` of train, dev and test with only their own
    articles."""
    shipped = ROOT / "corpora"
    if questions is None:
        return shipped
    target = folder / "corpora" / "starter"
    (target / "articles").mkdir(parents=True)
    articles: set[str] = set()
    for part, limit in zip(("train", "dev", "test"), questions, strict=True):
        lines = []
        for line in (shipped / "starter" / f"{part}.jsonl").read_text(encoding="utf-8").splitlines():
            q = json.loads(line)
            own = {_article(c) for c in q["candidates"] if c["label"] == 1}
            if own and len(lines) < limit:
                lines.append(json.dumps({**q, "candidates": [c for c in q["candidates"] if _article(c) in own]}))
                articles |= own
        (target / f"{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in articles:
        shutil.copy(shipped / "starter" / "articles" / f"{name}.md", target / "articles")
    return folder / "corpora"


def _article(candidate: dict) -> str:
    return candidate["id"].rpartition("-")[0]


# --- the app ---------------------------------------------------------------------------------------------------------


@contextmanager
def app(environment: Mapping[str, str], root: Path = ROOT, command: Sequence[str] | None = None) -> Iterator[str]:
    """`as2 app` of the checkout `root` over the environment's home, from the first answer of its server on; its
    address. `command` is another server, to which the port is added."""
    with run_app(environment, root, command) as (url, _):
        yield url


@contextmanager
def run_app(
    environment: Mapping[str, str], root: Path = ROOT, command: Sequence[str] | None = None
) -> Iterator[tuple[str, int]]:
    """The same, with the process's id."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [*(command or [*AS2, "app", "--port"]), str(port)]
    with TemporaryFile("w+") as errors:  # a pipe that nobody reads would hold the server up
        process = subprocess.Popen(command, cwd=root, env={**environment, "PYTHONPATH": str(root)}, stderr=errors)
        try:
            until = time.monotonic() + PATIENCE
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > until:
                    errors.seek(0)
                    raise SystemExit(f"the app did not start:\n{errors.read()[-2000:]}")
                time.sleep(0.02)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(60)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _answers(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


# --- the browser -----------------------------------------------------------------------------------------------------


def no_browser() -> str | None:
    """Why there is none; None if there is one."""
    if not find_spec("playwright"):
        return "Playwright is not installed"
    return None if _chromium() else f"no browser: none of {', '.join(BROWSERS)} is on the path"


def _chromium() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_chromium(), args=QUIET)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def ready(browser, url: str) -> Iterator:
    """A page of a new session, its question box there to be typed in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    context.set_default_timeout(PATIENCE * 1000)
    try:
        page = context.new_page()
        page.goto(url)
        page.get_by_label("Question").wait_for()
        yield page
    finally:
        context.close()


def wait_for_generative(page) -> None:
    """Until the scores stand in the table, which is drawn before they are there."""
    page.get_by_role("heading", name="Candidates", exact=True).wait_for()
    page.get_by_text("Computing the generative scores").wait_for(state="detached")


def time_answer(browser, url: str, question: str) -> tuple[float, float]:
    """Seconds from Enter until the answer is seen, and until the generative ranks are there, too."""
    with ready(browser, url) as page:
        page.get_by_text("Try one of these").wait_for()  # the page has come to its end
        box = page.get_by_label("Question")
        box.fill(question)
        started_at = time.perf_counter()
        box.press("Enter")
        page.locator(".as2-answer").wait_for()
        answered = time.perf_counter() - started_at
        wait_for_generative(page)
        return answered, time.perf_counter() - started_at


# --- from nothing running --------------------------------------------------------------------------------------------


def cold_starts(folder: Path, corpora: Path, *, with_browser: bool) -> Iterator[tuple[str, float]]:
    """What was waited for and its seconds, each from a process that was not there before; homes are below `folder`."""
    with browser() if with_browser else nullcontext() as started:
        started_at = time.perf_counter()
        with app(environment(folder / "app", corpora)) as url:
            yield "`as2 app`: the server answers", time.perf_counter() - started_at
            if started:
                with ready(started, url):
                    yield "`as2 app`: the Ask page is drawn in a browser", time.perf_counter() - started_at
    started_at = time.perf_counter()
    _run([*AS2, "ask", QUESTION], {**environment(folder / "ask", corpora), "AS2_WORKER": "external"})
    yield "`as2 ask`: the answer is printed", time.perf_counter() - started_at
    for line in _run([sys.executable, "-c", LOADING], environment(folder / "load", corpora)).splitlines():
        name, seconds = line.split("\t")
        yield name, float(seconds)


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout
