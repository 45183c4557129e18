"""`as2 keys`: make, list, revoke."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.workbench.settings import get_settings


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("AS2_HOME", str(tmp_path))
    monkeypatch.delenv("AS2_KEYS", raising=False)
    get_settings.cache_clear()
    yield tmp_path
    get_settings.cache_clear()


def test_a_key_is_shown_once_listed_by_its_name_and_revoked(as2, as2_json):
    code, key, note = as2("keys", "add", "search")
    assert code == 0 and key.startswith("as2_") and "only time" in note
    [row] = as2_json("keys")["keys"]
    assert row["name"] == "search" and row["revoked"] is None and key.strip() not in str(row)
    assert as2("keys", "revoke", "search")[1] == "search is revoked\n"
    assert as2_json("keys")["keys"][0]["revoked"]


def test_a_key_that_is_revoked_already_is_said_to_be(as2, as2_json):
    as2("keys", "add", "reader")
    assert as2("keys", "revoke", "reader")[1] == "reader is revoked\n"
    when = as2_json("keys")["keys"][0]["revoked"]
    assert as2("keys", "revoke", "reader")[1] == f"reader was revoked already, {when}\n"


def test_a_key_may_have_days_and_its_end_is_listed(as2, as2_json):
    as2("keys", "add", "visitor", "--days", "30")
    [row] = as2_json("keys")["keys"]
    assert datetime.fromisoformat(row["expires"]) - datetime.fromisoformat(row["created"]) == timedelta(days=30)
    code, _, err = as2("keys", "add", "another", "--days", "0")
    assert code == 2 and "--days" in err and len(as2_json("keys")["keys"]) == 1


def test_without_keys_it_is_said_that_everybody_is_answered(as2, home):
    assert as2("keys")[1] == f"no keys in {home / 'keys'}: `as2 serve` answers everybody who reaches it\n"


def test_a_key_that_is_not_there_is_named_with_those_that_are(as2):
    as2("keys", "add", "search")
    code, _, err = as2("keys", "revoke", "serach")
    assert code == 1 and "no key 'serach'" in err and "known: search" in err


def test_a_server_told_of_a_folder_without_keys_does_not_start(as2, tmp_path):
    code, _, err = as2("serve", "--ranker", "bm25", "--port", "0", "--keys", tmp_path / "none")
    assert code == 1 and "as2 keys add NAME --keys" in err


def test_keys_may_be_in_a_folder_of_their_own(as2, as2_json, tmp_path):
    other = tmp_path / "other"
    as2("keys", "add", "search", "--keys", other)
    assert [p.name for p in other.iterdir()] == ["search.json"]
    assert as2_json("keys")["keys"] == [] and as2_json("keys", "--keys", other)["keys"]
