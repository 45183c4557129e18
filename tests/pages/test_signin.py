"""Who is at the page, with services in memory."""

import fake_work
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest


@pytest.mark.parametrize("corpora", [("Starter", "Towers"), ()])
def test_where_a_provider_is_configured_nobody_gets_in_without_logging_in(work, corpora):
    work.corpora = corpora
    at = AppTest.from_file(str(fake_work.MAIN), default_timeout=30)
    at.secrets["auth"] = {"redirect_uri": "http://localhost/oauth2callback", "cookie_secret": "x"}
    at.run()
    at.switch_page("../pages/label.py").run()
    assert at.button(key="as2_login").label == "Log in"
    assert "as2-item" not in fake_work.markup(at)
    assert not [t for t in at.text_input if t.key == "as2_name"]
    assert not at.selectbox
    assert "Model:" not in fake_work.texts(at)


def test_the_name_the_browser_kept_signs_after_a_reload(work, monkeypatch):
    monkeypatch.setattr(type(st.context), "cookies", {"as2_name": "Ada%20Lovelace"})
    at = fake_work.page("label")
    assert at.text_input(key="as2_name").value == "Ada Lovelace"


def test_without_a_name_it_is_me(work):
    assert fake_work.page("label").text_input(key="as2_name").value == "me"
