"""A real server over a home of its own, and a real browser that may speak to nothing else.

def test_something(page, server):
    page.goto(f"{server}/ask?q=...")
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import small_corpus
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright
from serving import serving, working

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUICK_BROWSERS = ("chromium-headless-shell", *BROWSERS)  # it takes less of the processor, and sets text less well
QUIET = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --disable-component-update "
    "--disable-default-apps --disable-sync --no-first-run --no-default-browser-check"
)
STORAGE = "cookies,file_systems,indexeddb,local_storage,service_workers,cache_storage"
PATIENCE = int(os.environ.get("AS2_TEST_PATIENCE", "120")) * 1000  # milliseconds a busy machine may take
expect.set_options(timeout=PATIENCE)


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
    with serving(home, environment) as url:
        yield url


@pytest.fixture(scope="session")
def worker(home: Path, environment: dict[str, str], server: str) -> Iterator[subprocess.Popen]:
    """The background worker beside the server, for tests that start jobs."""
    with working(home, environment) as process:
        yield process


@dataclass(frozen=True)
class Small:
    """A server of its own over a small corpus, for tests that label and retrain. Few candidates pass the first stage:
    what is done with the labels is alike for any number, and a hundred take a second to rank."""

    url: str
    home: Path
    environment: dict[str, str]


@pytest.fixture(scope="session")
def small(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    home = tmp_path_factory.mktemp("small-home")
    corpora = small_corpus.write(tmp_path_factory.mktemp("small-corpora"))
    own = {**environment, "AS2_HOME": str(home), "AS2_CORPORA_DIR": str(corpora), "AS2_FIRST_KEEP": "20"}
    with serving(home, own) as url:
        yield Small(url, home, own)


@pytest.fixture(scope="session")
def small_worker(small: Small) -> Iterator[subprocess.Popen]:
    with working(small.home, small.environment) as process:
        yield process


def find_browser(names: Sequence[str] = QUICK_BROWSERS) -> str | None:
    """The first of these on the path; None: Playwright's own, if it has one."""
    return next((found for name in names if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    with sync_playwright() as playwright:
        if path is None and not Path(playwright.chromium.executable_path).exists():
            pytest.fail(
                f"no browser: none of {', '.join(QUICK_BROWSERS)} is on the path and Playwright has none. Install one "
                "(`make browser`), or leave these tests out with `-m 'not browser'`."
            )
        started = playwright.chromium.launch(executable_path=path, args=QUIET.split())
        yield started
        started.close()


@pytest.fixture(scope="session")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """One for all tests: the browser compiles the app's scripts, some megabytes, once a profile. Nothing moves on its
    pages, which would take a quarter of a core: `test_cascade_picture` asks for the animation."""
    made = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB", reduced_motion="reduce")
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


@pytest.fixture(scope="session")
def opener(profile: BrowserContext) -> Page:
    """An empty page of the servers' site. What it opens runs in its process, where the app's scripts are compiled
    already: a page with a process of its own takes twice the processor's time to load."""
    page = profile.new_page()
    page.route("**/*", lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto("http://127.0.0.1")
    return page


@pytest.fixture
def context(profile: BrowserContext, opener: Page) -> Iterator[BrowserContext]:
    """The profile as a new one: without pages but the opener, cookies, permissions, and all that a page has stored."""
    origins = set()

    def note(request: Request) -> None:
        origins.add("{0.scheme}://{0.netloc}".format(urlsplit(request.url)))

    profile.on("request", note)
    yield profile
    profile.remove_listener("request", note)
    for page in profile.pages:
        if page is not opener:
            page.close()
    opener.evaluate("() => {}")  # the pages ran in its process: once it answers, none of them stores anything more
    profile.clear_cookies()
    profile.clear_permissions()
    session = profile.new_cdp_session(opener)
    for origin in origins:
        session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGE})
    session.detach()


@pytest.fixture
def open_page(context: BrowserContext, opener: Page) -> Callable[[], Page]:
    """open_page() is a new page of the context that knows no other."""

    def open_page() -> Page:
        with context.expect_page() as opened:
            opener.evaluate("() => { window.open('about:blank').opener = null }")
        return opened.value

    return open_page


@pytest.fixture
def page(open_page: Callable[[], Page], server: str) -> Iterator[Page]:
    """A fresh session. The test fails if the page asked another host for anything, or a script of it broke."""
    with watch_page(open_page(), server) as page:
        yield page


@pytest.fixture
def small_page(open_page: Callable[[], Page], small: Small) -> Iterator[Page]:
    """As `page`, of the small server."""
    with watch_page(open_page(), small.url) as page:
        yield page


@contextmanager
def watch_page(page: Page, server: str) -> Iterator[Page]:
    elsewhere, broken = [], []
    page.on("request", lambda r: None if r.url.startswith((server, "data:", "blob:")) else elsewhere.append(r.url))
    page.on("pageerror", lambda e: broken.append(str(e)))
    yield page
    assert not elsewhere, f"asked another host: {elsewhere}"
    assert not broken, f"a script broke: {broken}"
