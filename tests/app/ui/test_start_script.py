"""The middleware that gives every page its script, over an app that answers with what is set here."""

import json

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from app.ui.navigation import PAGES
from app.ui.start import StartScript

HTML = "<!DOCTYPE html><html><head><title>é</title></head><body>b</body></html>"


@pytest.fixture
def client():
    seen = {}

    async def page(request):
        seen["headers"] = dict(request.headers)
        return HTMLResponse(HTML, headers={"etag": '"1"', "cache-control": "no-cache"})

    async def data(request):
        return JSONResponse({"html": "<head>"})

    app = Starlette(routes=[Route("/label", page), Route("/data.json", data)])
    client = TestClient(StartScript(app))
    client.seen = seen
    return client


def test_a_page_has_the_script_first_in_its_head_and_its_own_length(client):
    response = client.get("/label", headers={"accept": "text/html", "if-none-match": '"1"', "accept-encoding": "gzip"})
    before, _, after = response.text.partition("</script>")
    assert before.startswith("<!DOCTYPE html><html><head><script>")
    assert json.dumps(list(PAGES)) in before and "__PAGES__" not in before and "__PLACES__" not in before
    assert after == "<title>é</title></head><body>b</body></html>"
    assert int(response.headers["content-length"]) == len(response.content)
    assert response.headers["cache-control"] == "no-cache"


def test_what_would_make_the_answer_another_than_the_file_stays_away_in_both_directions(client):
    response = client.get("/label", headers={"accept": "text/html", "if-none-match": '"1"', "accept-encoding": "gzip"})
    assert not {"if-none-match", "accept-encoding"} & client.seen["headers"].keys()
    assert "etag" not in response.headers


def test_all_else_passes_as_it_is(client):
    assert client.get("/data.json", headers={"accept": "text/html"}).json() == {"html": "<head>"}
    assert client.get("/label", headers={"accept": "*/*"}).text == HTML
