"""Foreign text on a page leads nowhere, and no table offers it to a spreadsheet."""

import os
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect
from serving import ROOT, free_port, is_healthy

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FOREIGN = (
    "see https://evil.example/a?b=c, HTTP://EVIL.EXAMPLE and (http://evil.example) "
    "or www.evil.example, mail ann@evil.example, mailto:ann@evil.example, xmpp:ann@evil.example, "
    "<https://evil.example>, [here](https://evil.example) and [here][1] ![x](https://evil.example/x.png), "
    "press :material/delete: or :cat:"
)
SCRIPT = f"""
import altair as alt
import pandas as pd
import streamlit as st
from app.ui.text import plain
from app.ui.theme import apply
apply()
st.markdown(plain({FOREIGN!r}))
st.caption(plain({FOREIGN!r}))
st.dataframe(pd.DataFrame({{"a": ["=1+1"]}}))
st.altair_chart(alt.Chart(pd.DataFrame({{"a": ["=1+1"]}})).mark_bar().encode(x="a"), alt="bars")
st.markdown("[a link of ours](https://ours.example)")
"""


@pytest.fixture
def script_server(tmp_path):
    (tmp_path / "page.py").write_text(SCRIPT)
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(tmp_path / "page.py"), "--server.port", str(port)]
    more = ["--server.address", "127.0.0.1", "--server.headless", "true", "--browser.gatherUsageStats", "false"]
    process = subprocess.Popen([*command, *more], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        url, give_up = f"http://127.0.0.1:{port}", time.monotonic() + 90
        while not is_healthy(url):
            assert process.poll() is None and time.monotonic() < give_up
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def test_foreign_text_leads_nowhere_and_no_table_offers_a_download(script_server, open_page):
    page = open_page()
    page.goto(script_server)
    expect(page.get_by_role("link", name="a link of ours")).to_be_visible()
    hrefs = page.eval_on_selector_all("[data-testid=stMain] a", "links => links.map(a => a.href)")
    assert hrefs == ["https://ours.example/"]
    for container in ("stMarkdownContainer", "stCaptionContainer"):
        text = page.get_by_test_id(container).first.inner_text()
        assert text.replace("\u2060", "") == FOREIGN
    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_role("button", name="Search")).to_be_visible()
    expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
    page.get_by_test_id("stVegaLiteChart").hover()
    page.get_by_role("button", name="Show data").click()
    page.get_by_test_id("stDataFrame").nth(1).hover()
    expect(page.get_by_role("button", name="Search")).to_have_count(2)
    expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
