"""Who is at the page."""

import ast
import json
from pathlib import Path

import pytest
import stored
import streamlit as st
from app_pages import MAIN, button, markup, open_page, texts
from streamlit.testing.v1 import AppTest

from app.corpora import corpora
from app.labels import annotation
from app.ui import page, signin
from app.ui.data.exchange import labels
from app.ui.page import Frame
from app.ui.text import WORD_JOINER
from app.workbench import people, sessions
from app.workbench.sessions import Login, SessionEnded


@pytest.mark.parametrize("corpora", [True, False])
def test_where_a_provider_is_configured_nobody_gets_in_without_logging_in(wb, corpora):
    if not corpora:
        stored.delete_corpora(wb)
    at = AppTest.from_file(str(MAIN), default_timeout=120).switch_page("../pages/label.py")
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


def test_a_log_in_that_only_the_database_knows_of_closes_the_first_page_already(wb, monkeypatch):
    people.sign_in_subject(wb, "https://id.example.org|1", "Ada")
    wb.settings.login_mark.unlink()
    monkeypatch.setattr(signin, "get_settings", lambda: wb.settings)
    monkeypatch.setattr(page, "open_workbench", lambda: people.note_login(wb) or wb)
    at = open_page("label")
    assert "nobody gets in" in at.error[0].value
    assert not at.text_input and not at.selectbox and not at.button


def test_the_name_the_browser_kept_signs_after_a_reload(wb, monkeypatch):
    monkeypatch.setattr(type(st.context), "cookies", {"as2_name": "Ada%20Lovelace"})
    at = open_page("label")
    assert at.text_input(key="as2_name").value == "Ada Lovelace"


def test_a_log_in_that_failed_is_told_once_and_where_the_link_led_stays(wb, monkeypatch):
    monkeypatch.setattr(signin, "has_provider", lambda: True)
    at = open_page("label", {"corpus": "Works", "login": "failed"})
    assert "You were not logged in. Try again" in at.warning[0].value
    assert at.button(key="as2_login") and dict(at.query_params) == {"corpus": "Works"}
    assert not at.run().warning


@pytest.mark.parametrize(
    ("kept", "query", "corpus"),
    [
        ("Works", {}, "Works"),
        ("Works", {"corpus": "Towers"}, "Towers"),
        ("of%20another%20home", {}, "Towers"),
        ("", {}, "Towers"),
    ],
)
def test_an_address_without_a_corpus_opens_the_one_the_browser_used_last(wb, monkeypatch, kept, query, corpus):
    monkeypatch.setattr(type(st.context), "cookies", {"as2_corpus": kept})
    at = open_page("data", query)
    assert at.selectbox(key="as2_corpus").value == corpus
    assert "no corpus called" not in texts(at)
    assert at.session_state["_as2_remembered"]["as2_corpus"] == corpus


def test_what_stands_in_for_a_corpus_that_is_not_here_is_not_remembered(wb):
    at = open_page("label", {"corpus": "Gone"})
    assert "no corpus called" in texts(at)
    assert "_as2_remembered" not in at.session_state


def test_without_a_name_it_is_me(wb):
    assert open_page("label").text_input(key="as2_name").value == "me"


def test_who_takes_the_name_me_again_is_me_after_a_reload(wb, monkeypatch):
    monkeypatch.setattr(type(st.context), "cookies", {"as2_name": "Ada"})
    at = open_page("label").text_input(key="as2_name").set_value("me").run()
    sent = next(json.loads(c.proto.json) for c in at.get("bidi_component") if c.proto.component_name == "as2_kept")
    assert ["as2_name", "me", signin.EXPIRED] in sent["cookies"]


def test_who_clears_the_name_goes_on_under_it_and_is_told(wb):
    at = open_page("label")
    at = at.text_input(key="as2_name").set_value("Ada").run()
    assert "You are still" not in texts(at)
    at = at.text_input(key="as2_name").set_value("  ").run()
    assert "You are still “Ada”, and nothing has changed." in texts(at)
    at.button(key="label_unsure").click().run()
    assert [e.annotator_id for e in stored.label_events(wb)] == [people.sign_in(wb, "Ada").id]


def test_a_name_that_is_refused_is_not_kept(wb):
    at = open_page("label")
    at = at.text_input(key="as2_name").set_value("Ada").run()
    at = at.text_input(key="as2_name").set_value("starter").run()
    assert "starter is what imported labels are signed with" in texts(at)
    at = at.text_input(key="as2_name").set_value("").run()
    assert "You are still “Ada”, and nothing has changed." in texts(at)


ROOT = Path(__file__).parents[2]


@pytest.fixture
def ada(wb, monkeypatch):
    """Somebody who logged in just now, an annotator beside the admin "ann"."""
    claims = {
        "is_logged_in": True,
        "iss": "https://id.example",
        "sub": "1",
        "name": "ada",
        "iat": wb.clock().timestamp(),
    }
    people.sign_in(wb, "ann")
    monkeypatch.setattr(signin, "has_provider", lambda: True)
    monkeypatch.setattr(signin, "read_claims", lambda: claims)
    monkeypatch.setattr(st, "logout", lambda: None)
    open_page("data")
    return people.find_person(wb, "ada")


def test_who_logs_out_here_is_logged_out_everywhere(wb, ada, clock):
    other, at = open_page("data"), open_page("data")
    assert "Signed in as ada (annotator)" in texts(other)
    clock.advance(seconds=1)
    at.button(key="as2_logout").click().run()
    other = other.run()
    assert "Your session has ended: log in again." in texts(other)
    assert other.button(key="as2_login").label == "Log in"
    assert not other.selectbox and "Towers" not in texts(other)


@pytest.mark.parametrize("end", ["sessions", "role"])
def test_a_click_on_an_open_page_does_nothing_once_the_session_was_ended(wb, ada, clock, end):
    at = open_page("data", {"view": "questions"})
    before = len(stored.questions(wb, stored.TOWERS))
    at.text_area[0].set_value("Who paid for the tower?")
    clock.advance(seconds=1)
    if end == "sessions":
        sessions.end_sessions(wb, ada.id, by=None)
    else:
        people.set_role(wb, ada.id, "blocked", by=None)
    at = next(b for b in at.button if b.label == "Add").click().run()
    assert len(stored.questions(wb, stored.TOWERS)) == before
    assert ("log in again" if end == "sessions" else "ada is blocked") in texts(at)
    assert not at.selectbox and "Towers" not in texts(at)


def test_what_was_typed_when_the_session_ended_is_shown_to_be_copied_before_the_next_log_in(wb, ada, clock):
    at, other = (open_page("data", {"view": view, "corpus": "Towers"}) for view in ("questions", "synonyms"))
    clock.advance(seconds=1)
    sessions.end_sessions(wb, ada.id, by=None)
    at.text_area(key=f"data_typed_{stored.TOWERS}").set_value("Who paid for the tower?\nWho built it?")
    at = at.button(key="data_typed_add").click().run()
    assert [c.value for c in at.code] == ["Who paid for the tower?\nWho built it?"]
    assert "This was not saved. Copy it before you log in:" in texts(at) and "Questions" in texts(at)
    assert [c.value for c in at.run().code] == ["Who paid for the tower?\nWho built it?"]
    other = other.button(key="data_synonyms_save").click().run()
    assert "log in again" in texts(other) and not other.code and "was not saved" not in texts(other)


def test_a_question_that_was_asked_when_the_session_ended_is_in_the_address(wb, ada, clock):
    at = open_page("ask", {"corpus": "Towers"})
    clock.advance(seconds=1)
    sessions.end_sessions(wb, ada.id, by=None)
    at.text_input(key="as2_question_0").set_value("who paid for the tower?")
    at = button(at, "Ask").click().run()
    assert "log in again" in texts(at) and at.query_params["q"] == "who paid for the tower?"


def test_an_act_after_the_end_of_the_session_is_answered_once_and_with_what_became_of_it(wb, ada, clock):
    at = open_page("label")
    clock.advance(seconds=1)
    sessions.end_sessions(wb, ada.id, by=None)
    at = at.button(key="label_correct").click().run()
    assert [i.value for i in at.info] == ["Your session has ended: log in again. Nothing was recorded."]
    assert not at.error and not stored.label_events(wb)
    assert "Nothing was recorded" not in texts(at.run())


def test_who_logs_in_goes_on_in_a_second_browser_with_what_is_open_in_the_first(wb, ada, monkeypatch):
    items = []
    for browser in "ab":
        monkeypatch.setattr(type(st.context), "cookies", {signin.DESK: 16 * browser})
        items.append(open_page("label", {"queue": "tops", "mode": "one"}).session_state["_label_desk"].item)
    assert items[0].token == items[1].token


def test_who_became_a_viewer_reads_that_the_label_was_not_recorded(wb, ada):
    at = open_page("label")
    people.set_role(wb, ada.id, "viewer", by=None)
    at = at.button(key="label_correct").click().run()
    assert [e.value.partition(": ")[2] for e in at.error] == ["ask an admin. Nothing was recorded."]


def test_a_question_typed_after_the_end_of_the_session_stays_in_the_address(wb, ada, clock):
    at = open_page("ask")
    clock.advance(seconds=1)
    sessions.end_sessions(wb, ada.id, by=None)
    at.text_input(key="as2_question_0").set_value("When was the tower finished?")
    at = button(at, "Ask").click().run()
    assert at.button(key="as2_login").label == "Log in"
    assert at.query_params["q"] == "When was the tower finished?"


def test_somebody_who_is_not_on_the_list_sees_nothing(wb, ada, monkeypatch):
    object.__setattr__(wb.settings, "login_allowed", "lab.example")
    at = open_page("data")
    assert "is not on the list of those who may log in" in texts(at)
    assert at.button(key="as2_logout").label == "Log out"
    assert not at.selectbox and "Towers" not in texts(at)


def test_an_address_that_a_refusal_opens_with_is_shown_as_it_is(wb, ada):
    object.__setattr__(wb.settings, "login_allowed", "lab.example")
    signin.read_claims().update(email="out@evil.example", email_verified=True)
    at = open_page("data")
    assert at.error[0].value.replace(WORD_JOINER, "").startswith("out\\@evil.example is not on the list")


def test_an_admin_ends_somebodys_sessions_on_the_page_of_people(wb, ada, clock):
    people.set_role(wb, ada.id, "admin", by=None)
    eve = people.sign_in_subject(wb, "https://id.example|2", "eve")
    at = open_page("agreement", {"view": "people"})
    assert "last log-in" in texts(at)
    at.button(key=f"agreement_sessions_{eve.id}").click().run()
    claims = {"iss": "https://id.example", "sub": "2", "iat": wb.clock().timestamp() - 1}
    with pytest.raises(sessions.SessionEnded):
        sessions.admit(wb, sessions.Login.from_claims(claims))


def test_every_part_that_is_drawn_by_itself_asks_whether_the_session_counts():
    """`st.fragment` runs without the frame; `signin.fragment` is the one place that calls it."""
    for path in [*(ROOT / "app").rglob("*.py"), *(ROOT / "pages").glob("*.py")]:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)]
        bare = [n for n in calls if n.attr == "fragment" and getattr(n.value, "id", "") == "st"]
        assert bool(bare) == (path.name == "signin.py"), path


def test_an_open_page_exports_nothing_after_its_session_has_ended(wb, clock):
    """Streamlit serves the click in a thread that knows of no session."""
    login = Login("https://id.example.org|ada", "Ada", "ada@lab.example", wb.clock())
    person = sessions.admit(wb, login)
    annotation.give_label(wb, question_id=1, sentence_id=1, annotator_id=person.id, label="correct")
    frame = Frame(wb, corpora.get_corpus(wb, stored.TOWERS), person, "cascade", None)
    assert labels._export(frame, "jsonl", login)
    clock.advance(minutes=1)
    sessions.end_sessions(wb, person.id, by=person.id)
    with pytest.raises(SessionEnded):
        labels._export(frame, "jsonl", login)
