"""A session of the identity provider in a real browser: Streamlit's own cookie, and when it stops counting."""

import contextlib
import json
import time
import urllib.error
import urllib.request

import pytest
import small_corpus
from playwright.sync_api import expect
from serving import serving
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from app import bootstrap
from app.workbench import people, sessions
from app.workbench.settings import Settings

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SECRET = "0123456789abcdef0123456789abcdef"
SECRETS = f"""
[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "{SECRET}"
client_id = "as2"
client_secret = "x"
server_metadata_url = "http://127.0.0.1:9/.well-known/openid-configuration"
"""


@pytest.fixture
def own_home(tmp_path):
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(SECRETS)
    return tmp_path / "home"


@pytest.fixture
def login_server(own_home, environment, tmp_path):
    corpora = small_corpus.write(tmp_path / "corpora")
    own_home.mkdir()
    own = {
        "HOME": str(tmp_path),
        "AS2_HOME": str(own_home),
        "AS2_CORPORA_DIR": str(corpora),
        "AS2_ADMIN": "ada@lab.example",
    }
    with serving(own_home, {**environment, **own}) as url:
        yield url


def give_cookie(context, url, *, hours_ago=0.0, secret=SECRET):
    claims = {
        "iss": "https://id.example",
        "sub": "1",
        "name": "Ada",
        "email": "ada@lab.example",
        "email_verified": True,
    }
    claims |= {"iat": int(time.time() - hours_ago * 3600), "origin": url, "is_logged_in": True, "provider": "default"}
    value = create_signed_value(secret, USER_COOKIE_NAME, json.dumps(claims)).decode()
    context.add_cookies([{"name": USER_COOKIE_NAME, "value": value, "url": url, "httpOnly": True}])


def read_status(url):
    try:
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10).status
    except urllib.error.HTTPError as e:
        return e.code


def test_a_cookie_counts_for_some_hours_and_until_somebody_ends_the_session(login_server, own_home, open_page):
    page = open_page()
    page.goto(login_server)
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    for route in ("metrics", "agent/openapi.json"):
        assert read_status(f"{login_server}/_stcore/{route}") == 404
    give_cookie(page.context, login_server, hours_ago=13)
    page.reload()
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    give_cookie(page.context, login_server, secret="another secret of the same length")
    page.reload()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    give_cookie(page.context, login_server)
    page.goto(f"{login_server}/agreement?view=people")
    expect(page.get_by_text("Signed in as Ada (admin)")).to_be_visible()
    expect(page.get_by_text("become the first admin")).to_be_visible()

    time.sleep(1.1)  # the time of a log-in is in whole seconds
    settings = Settings(home=own_home, worker="external")
    with contextlib.closing(bootstrap.open(settings)) as wb:
        sessions.end_sessions(wb, people.find_person(wb, "Ada").id, by=None)
    page.get_by_text("Rules", exact=True).click()
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    expect(page.get_by_text("Signed in as")).to_have_count(0)


def test_a_log_in_without_the_provider_leads_back_to_the_link_and_says_so(login_server, open_page):
    page = open_page()
    page.goto(f"{login_server}/label?corpus=starter&queue=random&mode=one")
    page.get_by_role("button", name="Log in").click()  # nothing listens at the provider's address
    expect(page.get_by_text("You were not logged in.")).to_be_visible()
    expect(page).to_have_url(f"{login_server}/label?corpus=starter&queue=random&mode=one")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("You were not logged in.")).to_be_visible()
