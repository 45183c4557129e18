"""A real server over a home of its own, and a real browser that may speak to nothing else.

def test_something(page, server):
    page.goto(f"{server}/ask?q=...")
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --disable-component-update "
    "--disable-default-apps --disable-sync --no-first-run --no-default-browser-check"
)
PATIENCE = 60_000  # milliseconds a busy machine may take


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ended(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """AS2_HOME of the server and the worker."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "AS2_HOME": str(home), "AS2_WORKER": "external", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def server(home: Path, environment: dict[str, str]) -> Iterator[str]:
    """The app as `as2 app` serves it, without a worker; its address."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.port", str(port)]
    said = home / "server.log"
    with said.open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        give_up = time.monotonic() + 90
        while not _healthy(url):
            if process.poll() is not None or time.monotonic() > give_up:
                pytest.fail(f"the server did not start:\n{said.read_text()[-3000:]}")
            time.sleep(0.2)
        yield url
    finally:
        ended(process)


def _healthy(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope="session")
def worker(home: Path, environment: dict[str, str], server: str) -> Iterator[subprocess.Popen]:
    """The background worker beside the server, for tests that start jobs."""
    with (home / "worker-test.log").open("wb") as log:
        command = [sys.executable, "-m", "app.worker"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        ended(process)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            pytest.fail(
                f"no browser: none of {', '.join(BROWSERS)} is on the path and Playwright has none. Install one "
                "(`make browser`), or leave these tests out with `-m 'not browser'`."
            )
        started = playwright.chromium.launch(executable_path=path, args=QUIET.split())
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    """A fresh session. The test fails if the page asked another host for anything, or a script of it broke."""
    page = context.new_page()
    elsewhere, broken = [], []
    page.on("request", lambda r: None if r.url.startswith((server, "data:", "blob:")) else elsewhere.append(r.url))
    page.on("pageerror", lambda e: broken.append(str(e)))
    yield page
    assert not elsewhere, f"asked another host: {elsewhere}"
    assert not broken, f"a script broke: {broken}"
