"""Two servers of pages behind nginx with the configuration of docs/sharing.md, over PostgreSQL: a person on each, whose
labels, jobs and promotions agree; one server is killed, and both people go on."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import small_corpus
from conftest import PATIENCE, QUIET, find_browser
from keyboard import RANK, WORKER_MS, open_queue, sign, wait_until_idle
from playwright.sync_api import Browser, Page, expect
from postgres_server import find_postgres, serve_postgres
from serving import ROOT, free_port, server_process, working
from sqlalchemy import create_engine, text

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.postgres, pytest.mark.timeout(1200)]

AS2 = Path(sys.executable).with_name("as2")
NAME = "labels.example.org"  # as in the documentation
SITE = f"https://{NAME}"
CERTIFICATE = f"/etc/letsencrypt/live/{NAME}"
ITEM, ACT = '[data-testid="as2-item"]', '[data-testid="as2-act"]'
AROUND = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    log_format upstream '$remote_addr|$upstream_addr';
    access_log {folder}/access.log upstream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/as2.conf;
}}
"""


@dataclass(frozen=True)
class Site:
    """What runs: the ports of nginx, the processes of the servers by their addresses, and where things are."""

    port: int
    servers: dict[str, subprocess.Popen]
    environment: dict[str, str]
    folder: Path

    def find_server(self, remote: str) -> str:
        """The server that answered the newest request from an address."""
        lines = [line.split("|") for line in (self.folder / "access.log").read_text().splitlines()]
        answered = [upstream for address, upstream in lines if address == remote]
        return f"http://{answered[-1].split(', ')[-1]}"

    def read(self, query: str) -> list[tuple]:
        engine = create_engine(self.environment["AS2_DATABASE_URL"])
        with engine.connect() as connection:
            rows = [tuple(row) for row in connection.execute(text(query))]
        engine.dispose()
        return rows


def write_configuration(folder: Path, port: int, servers: Sequence[str]) -> Path:
    """docs/deploy/nginx.conf with the servers of docs/sharing.md, as it tells to; other ports and certificates."""
    sharing = (ROOT / "docs" / "sharing.md").read_text()
    upstream = re.search(r"^upstream as2 \{\n.*?^\}\n", sharing, re.MULTILINE | re.DOTALL)
    assert upstream and "ip_hash;" in upstream[0]
    given = upstream[0] + (ROOT / "docs" / "deploy" / "nginx.conf").read_text().replace(
        "http://127.0.0.1:8501", "http://as2"
    )
    for old, new in {
        "127.0.0.1:8501": servers[0].removeprefix("http://"),
        "127.0.0.1:8503": servers[1].removeprefix("http://"),
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen [::]:443 ssl": f"listen [::1]:{port} ssl",
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen [::]:80;": "",
        CERTIFICATE: str(folder),
    }.items():
        assert old in given
        given = given.replace(old, new)
    (folder / "as2.conf").write_text(given)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    return folder / "nginx.conf"


@contextmanager
def proxying(folder: Path, port: int, servers: Sequence[str]) -> Iterator[None]:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}",
         "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"], check=True, capture_output=True,
    )  # fmt: skip
    configuration = write_configuration(folder, port, servers)
    directives = "daemon off; user root;"  # as root it would work as a user who may not read the test's folder
    process = subprocess.Popen(["nginx", "-c", configuration, "-e", folder / "error.log", "-g", directives])
    try:
        yield
        assert process.poll() is None, (folder / "error.log").read_text()
    finally:
        process.terminate()
        process.wait(15)


@pytest.fixture
def site(environment: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    binaries = find_postgres()
    if binaries is None or not shutil.which("nginx") or not shutil.which("openssl"):
        pytest.skip("needs PostgreSQL, nginx and openssl: apt-get install postgresql nginx-light openssl")
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("needs IPv6: nginx tells the two people apart by their addresses")
    home, port, servers = tmp_path / "home", free_port(), {}
    with ExitStack() as stack:
        shared = {
            **environment,
            "AS2_HOME": str(home),
            "AS2_DATABASE_URL": stack.enter_context(serve_postgres(binaries)),
            "AS2_CORPORA_DIR": str(small_corpus.write(tmp_path / "corpora")),
            "AS2_ALLOWED_HOSTS": NAME,
        }
        for name in ("first", "second", "worker"):
            local = tmp_path / name
            local.mkdir()
            own = {**shared, "AS2_LOCAL_DIR": str(local)}
            if name == "worker":
                stack.enter_context(working(local, own))
            else:
                url, process = stack.enter_context(server_process(local, own))
                servers[url] = process
        stack.enter_context(proxying(tmp_path, port, [*servers]))
        yield Site(port, servers, shared, tmp_path)


@contextmanager
def person(browser: Browser, site: Site, address: str) -> Iterator[Page]:
    """A browser of their own, for which the site's name is nginx at this address of the loopback."""
    mapped = f"--host-resolver-rules=MAP {NAME}:443 {address}:{site.port}"
    own = browser.browser_type.launch(executable_path=find_browser(), args=[*QUIET.split(), mapped])
    page = own.new_page(ignore_https_errors=True)
    page.set_default_timeout(PATIENCE)
    yield page
    own.close()


def press(page: Page, key: str) -> None:
    before = page.locator(ITEM).inner_text()
    page.keyboard.press(key)
    expect(page.locator(ITEM)).not_to_have_text(before, use_inner_text=True)
    wait_until_idle(page)


def read_labels(site: Site) -> list[tuple[str, str]]:
    return site.read(
        "select annotator.name, label from current_label join annotator on annotator.id = annotator_id "
        "where annotator.name in ('Ada', 'Bob') order by current_label.id"
    )


def test_two_people_on_two_servers_agree_and_go_on_when_one_is_killed(site: Site, browser: Browser):
    with person(browser, site, "127.0.0.1") as ada, person(browser, site, "[::1]") as bob:
        open_queue(ada, f"{SITE}/label?queue=tops&mode=one", ITEM)
        sign(ada, "Ada")
        bob.goto(f"{SITE}/label?queue=tops&mode=one")
        expect(bob.locator(ITEM)).to_be_visible()  # the job that Ada's click started ranked the questions for all
        sign(bob, "Bob")
        assert site.read("select count(*) from job where kind = 'score'") == [(1,)]
        hers, his = site.find_server("127.0.0.1"), site.find_server("::1")
        assert {hers, his} == set(site.servers)

        shown = f"{ITEM} mark"
        assert bob.locator(shown).inner_text() != ada.locator(shown).inner_text()  # leased in the database
        press(ada, "a")
        press(bob, "x")
        assert read_labels(site) == [("Ada", "correct"), ("Bob", "incorrect")]

        command = [AS2, "versions", "import", ROOT / "models" / "cascade", "--name", "other"]
        subprocess.run(command, env=site.environment, check=True, capture_output=True)
        ada.goto(f"{SITE}/adapt")
        row = ada.locator("[class*='st-key-adapt_version_']").filter(has_text="other")
        row.get_by_role("button", name="Promote").click()
        ada.get_by_role("dialog").get_by_role("button", name="Promote").click()
        expect(ada.get_by_text("Ranker: other")).to_be_visible()
        expect(bob.get_by_text("Ranker: other")).to_have_count(0)
        press(bob, "x")
        bob.goto(f"{SITE}/adapt")
        expect(bob.get_by_text("Ranker: other")).to_be_visible()
        bob.goto(f"{SITE}/?q=Who+made+it%3F")
        expect(bob.locator(".as2-answer")).to_be_visible(timeout=WORKER_MS)
        expect(bob.get_by_role("combobox", name="Ranker")).to_have_value("other (in use)")
        bob.goto(f"{SITE}/label?queue=tops&mode=one")
        wait_until_idle(bob)

        while site.read("select state from job order by id limit 1") != [("done",)]:
            time.sleep(0.5)  # the job of her click, until the test's time is over
        site.servers[hers].kill()
        site.servers[hers].wait()
        press(bob, "a")  # his page was not disturbed
        ada.goto(f"{SITE}/label?queue=tops&mode=one")
        expect(ada.get_by_title("Sentences labelled by Ada")).to_be_visible()
        expect(ada.locator(ACT)).to_have_count(1)  # what she did before is still there to be undone
        wait_until_idle(ada)
        press(ada, "a")
        assert site.find_server("127.0.0.1") == his
        expect(ada.get_by_role("button", name=RANK, exact=True)).to_have_count(0)
        assert sorted(read_labels(site)) == [("Ada", "correct")] * 2 + [("Bob", "correct")] + [("Bob", "incorrect")] * 2
