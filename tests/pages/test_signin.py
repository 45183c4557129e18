"""Who is at the page."""

import pytest
import stored
import streamlit as st
from app_pages import MAIN, markup, open_page, texts
from streamlit.testing.v1 import AppTest

from app.ui import signin


@pytest.mark.parametrize("corpora", [True, False])
def test_where_a_provider_is_configured_nobody_gets_in_without_logging_in(wb, corpora):
    if not corpora:
        stored.delete_corpora(wb)
    at = AppTest.from_file(str(MAIN), default_timeout=30).switch_page("../pages/label.py")
    at.secrets["auth"] = {"redirect_uri": "http://localhost/oauth2callback", "cookie_secret": "x"}
    at.run()
    assert at.button(key="as2_login").label == "Log in"
    assert at.title[0].value == "Label" and "as2-item" not in markup(at)
    assert not [t for t in at.text_input if t.key == "as2_name"]
    assert not at.selectbox
    assert "Model:" not in texts(at)


def test_where_the_log_in_is_damaged_nobody_gets_in_at_all(wb, monkeypatch, tmp_path, caplog):
    secrets = tmp_path / "secrets.toml"
    secrets.write_text("[Auth]\n")
    monkeypatch.setattr(signin, "list_secret_files", lambda: [secrets])
    at = open_page("label")
    assert "nobody gets in" in at.error[0].value and str(tmp_path) not in at.error[0].value
    assert "[Auth]" in caplog.text and "line 1" in caplog.text
    assert "as2-item" not in markup(at)
    assert not at.text_input and not at.selectbox and not at.button


def test_the_name_the_browser_kept_signs_after_a_reload(wb, monkeypatch):
    monkeypatch.setattr(type(st.context), "cookies", {"as2_name": "Ada%20Lovelace"})
    at = open_page("label")
    assert at.text_input(key="as2_name").value == "Ada Lovelace"


def test_without_a_name_it_is_me(wb):
    assert open_page("label").text_input(key="as2_name").value == "me"
