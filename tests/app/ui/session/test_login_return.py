"""Where a log-in leads: Streamlit's own routes behind the middleware, with a provider that answers as is set here."""

from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import RedirectResponse
from starlette.testclient import TestClient
from streamlit.web.server.starlette import starlette_auth_routes as routes

from app.ui.session import login_return
from app.ui.session.login_return import COOKIE, MAX_PLACE_CHARS, LoginReturn

ORIGIN, PROVIDER = "http://testserver", "https://id.example/authorize"
LINK = f"{ORIGIN}/label?corpus=hand%20book&queue=random"
PLACE = "/label?corpus=hand+book&queue=random"


@pytest.fixture
def provider(monkeypatch):
    """`token`: what it answers to a code; None refuses it. `is_reachable`: whether anybody gets to its form."""
    state = SimpleNamespace(token={"userinfo": {"sub": "1", "name": "Ada"}}, is_reachable=True)

    class Client:
        async def authorize_redirect(self, request, redirect_uri):
            if not state.is_reachable:
                raise OSError("no route to host")
            return RedirectResponse(PROVIDER, 302)

        async def authorize_access_token(self, request):
            if state.token is None:
                raise ValueError("bad code")
            return state.token

    monkeypatch.setattr(routes, "_create_oauth_client", lambda name: (Client(), f"{ORIGIN}/oauth2callback"))
    monkeypatch.setattr(routes, "_parse_provider_token", lambda token: token)
    monkeypatch.setattr(routes, "_get_provider_by_state", lambda request, code: code and "default")
    monkeypatch.setattr(routes, "_get_origin_from_secrets", lambda: ORIGIN)
    monkeypatch.setattr(routes, "get_cookie_secret", lambda: "0123456789abcdef")
    return state


@pytest.fixture
def browser(provider):
    return make_browser()


def make_browser(base=""):
    app = Starlette(
        routes=routes.create_auth_routes(base or "/"),
        middleware=[Middleware(LoginReturn, base=base), Middleware(SessionMiddleware, secret_key="x")],
    )
    return TestClient(app, follow_redirects=False)


def log_in(browser, referer=LINK, answer="state=1&code=2", base=""):
    """Where the browser is after it went to the provider and back."""
    headers = {"referer": referer} if referer else {}
    start = browser.get(f"{base}/auth/login?provider=default", headers=headers)
    assert (start.status_code, start.headers["location"]) == (302, PROVIDER)
    return browser.get(f"{base}/oauth2callback?{answer}").headers["location"]


def test_a_log_in_leads_back_to_the_page_and_the_query_it_began_at(browser):
    assert log_in(browser) == PLACE
    assert "_streamlit_user" in browser.cookies and COOKIE not in browser.cookies


@pytest.mark.parametrize(
    ("referer", "place"),
    [
        ("", "/"),
        (f"{ORIGIN}/?q=When%3F", "/?q=When%3F"),
        (f"{ORIGIN}/label?q=%C3%A9%0D%0ALocation:%20x", "/label?q=%C3%A9%0D%0ALocation%3A+x"),
        (f"{ORIGIN}/label?login=failed&corpus=a", "/label?corpus=a"),
        (f"{ORIGIN}/label?q={'why+' * 1000}", "/label"),
        (f"{ORIGIN}/label/../elsewhere", "/"),
        (f"{ORIGIN}/oauth2callback?code=1", "/"),
        (f"{ORIGIN}//evil.example/label", "/"),
        ("https://evil.example/label?corpus=a", "/"),
        ("http://[", "/"),
    ],
)
def test_only_a_page_of_this_app_is_led_to(browser, referer, place):
    assert len(place) <= MAX_PLACE_CHARS
    assert log_in(browser, referer) == place


@pytest.mark.parametrize(
    ("cookie", "place"), [("//evil.example/label", "/label"), ("https://evil.example/", "/"), ("/evil", "/"), ("", "/")]
)
def test_a_cookie_that_somebody_else_set_leads_to_no_other_site(browser, cookie, place):
    answer = browser.get("/oauth2callback?state=1&code=2", headers={"cookie": f"{COOKIE}={cookie}"})
    assert answer.headers["location"] == place


def test_who_cancels_is_led_back_and_told(browser):
    assert log_in(browser, answer="error=access_denied&state=1") == f"{PLACE}&login=failed"
    assert COOKIE not in browser.cookies
    assert log_in(browser, f"{ORIGIN}/", "error=access_denied") == "/?login=failed"


@pytest.mark.parametrize("token", [None, {}])
def test_a_log_in_that_the_provider_does_not_confirm_is_told(browser, provider, token):
    provider.token = token
    assert log_in(browser) == f"{PLACE}&login=failed"


def test_a_provider_that_cannot_be_reached_is_told_at_the_place(browser, provider, caplog):
    provider.is_reachable = False
    answer = browser.get("/auth/login?provider=default", headers={"referer": LINK})
    assert (answer.status_code, answer.headers["location"]) == (302, f"{PLACE}&login=failed")
    assert [r.message for r in caplog.records if r.name == login_return.__name__] == [login_return.UNREACHABLE]
    answer = browser.get("/auth/login", headers={"referer": LINK})  # a page that is out of date
    assert answer.headers["location"] == f"{PLACE}&login=failed"
    assert len([r for r in caplog.records if r.name == login_return.__name__]) == 1


def test_the_way_back_from_a_log_out_is_streamlits(browser):
    browser.get("/auth/login?provider=default", headers={"referer": LINK})  # and never finished
    assert browser.get("/oauth2callback").headers["location"] == "/"


def test_below_a_path_its_pages_alone_are_places(provider):
    browser = make_browser("lab")
    assert log_in(browser, f"{ORIGIN}/lab/label?corpus=a", base="/lab") == "/lab/label?corpus=a"
    assert log_in(browser, f"{ORIGIN}/label?corpus=a", base="/lab") == "/lab/"
    assert browser.get("//evil.example/auth/login").status_code == 404


def test_the_cookie_is_short_lived_and_no_script_reads_it(browser):
    cookie = browser.get("/auth/login?provider=default", headers={"referer": LINK}).headers["set-cookie"]
    assert parse_qs(urlsplit(cookie.split(";")[0].partition("=")[2]).query)["queue"] == ["random"]
    assert {"Max-Age=900", "Path=/", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
