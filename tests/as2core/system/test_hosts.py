"""Which names a server answers to, and which pages may speak to it."""

import lxml.html
import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from as2core.system.hosts import HostGuard, parse_hosts


async def answer(_request):
    return PlainTextResponse("the page")


async def talk(websocket):
    await websocket.accept()
    await websocket.send_text("hello")
    await websocket.close()


def client(address="127.0.0.1", names=""):
    app = Starlette(routes=[Route("/", answer, methods=["GET", "POST"]), WebSocketRoute("/ws", talk)])
    return TestClient(HostGuard(app, address, parse_hosts(names)))


def get_status(host, origin=None, **bound):
    headers = {"host": host} | ({"origin": origin} if origin else {})
    return client(**bound).post("/", headers=headers).status_code


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST", "localhost."])
def test_loopback_names_are_answered(host):
    assert get_status(host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:8501", "192.168.0.7", "a@localhost", "localhost:x", ""]
)
def test_every_other_name_is_refused(host):
    assert get_status(host) == 403


@pytest.mark.parametrize(("origin", "is_refused"), [(None, False), ("null", True), ("http://evil.example", True)])
def test_a_probe_in_http_1_0_has_no_host_and_is_answered_unless_a_page_sent_it(origin, is_refused):
    headers = Headers({"origin": origin} if origin else {})
    assert bool(HostGuard(None, "127.0.0.1").find_refusal(headers)) is is_refused


def test_a_server_answers_to_its_bound_address_and_bound_to_all_to_numbers_only():
    assert get_status("192.168.0.7:8501", address="192.168.0.7") == 200
    assert get_status("192.168.0.7:8501", address="0.0.0.0") == 200
    assert get_status("[fd00::7]:8501", address="::") == 200
    assert get_status("evil.example:8501", address="0.0.0.0") == 403


def test_listed_names_are_answered_with_their_subdomains_where_it_says_so():
    names = "labels.example.org, *.lab.example"
    assert get_status("labels.example.org", names=names) == 200
    assert get_status("a.lab.example:8501", names=names) == 200
    assert get_status("lab.example", names=names) == get_status("x.labels.example.org", names=names) == 403
    assert get_status("any.example", names="*") == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8501", 200),
        ("https://localhost:8501", 200),  # a proxy adds TLS
        ("https://labels.example.org", 200),  # a proxy replaces the host
        ("http://localhost:3000", 403),  # another program of this machine
        ("http://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_a_page_of_another_site_is_refused(origin, status):
    assert get_status("localhost:8501", origin, names="labels.example.org") == status


def test_a_websocket_is_refused_alike():
    with client().websocket_connect("/ws", headers={"host": "localhost", "origin": "http://localhost"}) as own:
        assert own.receive_text() == "hello"
    for headers in ({"host": "evil.example"}, {"host": "localhost", "origin": "http://evil.example"}):
        with pytest.raises(WebSocketDisconnect), client().websocket_connect("/ws", headers=headers):
            pass


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_browser_gets_a_page_that_says_what_was_refused_and_which_setting_allows_it():
    response = client().get("/", headers={**BROWSER, "host": "labels.example.org:8501"})
    assert response.status_code == 403 and response.headers["content-type"] == "text/html; charset=utf-8"
    page = lxml.html.fromstring(response.text)
    assert [code.text for code in page.iter("code")] == ["labels.example.org:8501", "AS2_ALLOWED_HOSTS"]
    other = client().get("/", headers={**BROWSER, "host": "localhost", "origin": "http://evil.example"})
    assert "<code>http://evil.example</code>" in other.text and "pages of another site" in other.text


def test_the_page_runs_and_loads_nothing_whatever_the_name_is():
    hostile = "<script src=//evil.example/x></script>&\"'" + 1000 * "x"
    response = client().get("/", headers={**BROWSER, "host": hostile})
    page = lxml.html.fromstring(response.text)
    assert next(page.iter("code")).text == hostile[:253]
    assert {e.tag for e in page.iter()} == {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "p", "code"),
    }
    assert not {"src", "href", "action"} & {name for e in page.iter() for name in e.attrib}
    assert "url(" not in response.text and "@import" not in response.text
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_client_gets_json():
    for accept in ({}, {"accept": "application/json"}, {"accept": "*/*"}):
        response = client().get("/", headers={**accept, "host": "labels.example.org"})
        assert response.status_code == 403
        message = response.json()["message"]
        assert "'labels.example.org'" in message and "AS2_ALLOWED_HOSTS" in message == response.json()["detail"]


def test_a_refusal_names_the_setting_of_the_server_that_refuses():
    guard = HostGuard(Starlette(), "127.0.0.1", setting="--allowed-hosts or AS2_ALLOWED_HOSTS")
    for accept in ("*/*", "text/html"):
        refusal = TestClient(guard).get("/", headers={"host": "rank.example.org", "accept": accept})
        assert refusal.status_code == 403 and "--allowed-hosts or AS2_ALLOWED_HOSTS" in refusal.text
