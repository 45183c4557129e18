"""API keys: made once, kept as a hash, revoked at once."""

from __future__ import annotations

import json
import os
import resource
import stat
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from as2core.errors import BadSetting, UnreadableFile
from as2core.serving.keys import KeyRing, add_key, read_keys, revoke_key
from as2core.serving.rankers import ServedRankers
from as2core.serving.routes import build

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
BODY = {"query": "the tower", "documents": ["a bridge", "the tower"]}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "keys"


def serve(folder):
    return TestClient(build(ServedRankers(["bm25"]), keys=KeyRing(folder)))


def ask(client, key=None):
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return client.post("/v1/rerank", json=BODY, headers=headers).status_code


def test_without_keys_everybody_is_answered_and_from_the_first_one_on_only_who_has_one(folder):
    client = serve(folder)
    assert ask(client) == ask(client, "anything") == 200
    key = add_key(folder, "search", NOW)
    assert ask(client) == ask(client, "anything") == 401
    assert ask(client, key) == 200


def test_a_revoked_key_is_refused_at_once_and_the_last_one_leaves_nobody(folder):
    first, second = add_key(folder, "first", NOW), add_key(folder, "second", NOW)
    client = serve(folder)
    assert ask(client, first) == ask(client, second) == 200
    revoke_key(folder, "first", NOW)
    assert (ask(client, first), ask(client, second)) == (401, 200)
    revoke_key(folder, "second", NOW)
    assert ask(client, second) == ask(client) == 401
    assert ask(serve(folder)) == 401  # a restart opens nothing


def test_a_key_expires_after_its_days_without_a_restart(folder):
    now = NOW
    ending, lasting = add_key(folder, "ending", NOW, days=2), add_key(folder, "lasting", NOW)
    assert read_keys(folder)["ending"].expires == "2026-11-27T12:00:00+00:00"
    ring = KeyRing(folder, lambda: now)
    now = NOW + timedelta(days=2, seconds=-1)
    assert (ring.find_client(ending), ring.find_client(lasting)) == ("ending", "lasting")
    now = NOW + timedelta(days=2)
    assert (ring.find_client(ending), ring.find_client(lasting)) == (None, "lasting")


def test_a_key_whose_end_cannot_be_read_lets_nobody_in(folder):
    key = add_key(folder, "search", NOW, days=2)
    file = folder / "search.json"
    for end in ("tomorrow", "2026-11-27T12:00:00"):  # without a time zone it cannot be compared
        file.write_text(json.dumps({**json.loads(file.read_text()), "expires": end}))
        with pytest.raises(UnreadableFile, match=r"search\.json is not a key's file"):
            read_keys(folder)
        assert ask(serve(folder), key) == 401


def test_keys_that_disappear_open_nothing(folder):
    key = add_key(folder, "search", NOW)
    client = serve(folder)
    (folder / "search.json").unlink()
    assert ask(client) == ask(client, key) == 401


def test_a_damaged_file_lets_nobody_in_and_is_named(folder, capsys):
    key = add_key(folder, "search", NOW)
    (folder / "other.json").write_text("{")
    client = serve(folder)
    assert ask(client, key) == ask(client) == 401
    assert "other.json" in capsys.readouterr().err


def test_a_folder_that_cannot_be_read_lets_nobody_in_until_it_can(tmp_path, capsys):
    folder = tmp_path / "keys"
    folder.touch()  # root may read any folder, but no file as one
    client = serve(folder)
    assert ask(client) == ask(client) == 401
    assert capsys.readouterr().err.count("give it to the user who runs `as2 serve`") == 1
    with pytest.raises(UnreadableFile, match="cannot be read"):
        read_keys(folder / "below")
    folder.unlink()
    assert ask(client, add_key(folder, "search", NOW)) == 200


def test_what_root_makes_in_a_home_belongs_to_the_homes_owner(folder, monkeypatch):
    owners = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, uid, _: owners.append((path.suffix, uid)))
    uid = folder.parent.stat().st_uid
    add_key(folder, "search", NOW)
    assert owners == [("", uid), (".part", uid)]


def test_the_key_itself_is_nowhere_on_disk_and_its_file_is_its_owners(folder):
    key = add_key(folder, "search", NOW)
    file = folder / "search.json"
    assert key not in file.read_text() and json.loads(file.read_text())["name"] == "search"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, file)] == [0o700, 0o600]
    assert len(key) > 40 and key != add_key(folder, "another", NOW)


def test_a_key_that_finds_no_room_on_the_disk_leaves_no_file(folder):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))  # a file may have ten bytes
    try:
        with pytest.raises(OSError, match="too large"):
            add_key(folder, "search", NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [*folder.iterdir()] == []


def test_a_revoked_key_stays_on_record_and_its_name_is_not_given_again(folder):
    add_key(folder, "search", NOW)
    revoke_key(folder, "search", NOW)
    revoked = read_keys(folder)["search"]
    assert (revoked.created, revoked.revoked) == ("2026-11-25T12:00:00+00:00",) * 2
    with pytest.raises(BadSetting, match="there is, or was, a key 'search'"):
        add_key(folder, "search", NOW)


@pytest.mark.parametrize("name", ["", "../other", "a b", "x" * 65, ".hidden"])
def test_a_name_that_would_be_no_file_is_refused(folder, name):
    with pytest.raises(BadSetting, match="cannot be a key's name"):
        add_key(folder, name, NOW)
    assert not folder.exists()


def test_health_needs_no_key_and_a_refusal_says_what_to_do(folder):
    key = add_key(folder, "search", NOW)
    client = serve(folder)
    assert [client.get(path).status_code for path in ("/", "/health", "/ping")] == [200] * 3
    refusal = client.get("/v1/models")
    assert refusal.status_code == 401 and refusal.headers["www-authenticate"] == "Bearer"
    assert "as2 keys add" in refusal.json()["detail"] and refusal.json()["message"] == refusal.json()["detail"]
    assert refusal.json()["detail"].startswith("no API key came")
    for headers in ({"x-api-key": "wrong"}, {"authorization": "Bearer wrong"}):
        assert "not valid, has expired or was revoked" in client.get("/v1/models", headers=headers).json()["message"]
    for headers in ({"x-api-key": key}, {"authorization": f"bearer {key}"}):
        assert client.get("/v1/models", headers=headers).status_code == 200
    assert client.get("/v1/models", headers={"authorization": f"Basic {key}"}).status_code == 401


def test_documents_are_counted_by_the_name_of_the_key(folder):
    pytest.importorskip("prometheus_client", reason="the extra `serve` is not complete: make setup")
    key = add_key(folder, "search", NOW)
    client = serve(folder)
    ask(client, key)
    ask(client, "wrong")
    text = client.get("/metrics", headers={"x-api-key": key}).text
    assert 'as2_requests_total{route="/v1/rerank",status="401"} 1.0' in text
    assert 'as2_documents_total{key="search",model="bm25"} 2.0' in text and "as2_queue 0.0" in text


def test_a_gateways_own_authorization_does_not_hide_the_key_beside_it(folder):
    key = add_key(folder, "ben", NOW)
    client = serve(folder)
    body = {"query": "who", "documents": ["a", "b"]}
    headers = {"Authorization": "Bearer of-the-gateway", "X-API-Key": key}
    assert client.post("/v1/rerank", json=body, headers=headers).status_code == 200
    assert client.post("/v1/rerank", json=body, headers=headers | {"X-API-Key": "wrong"}).status_code == 401


def test_the_description_of_the_api_has_a_place_for_the_key(folder):
    add_key(folder, "ben", NOW)
    client = serve(folder)
    key = {"X-API-Key": add_key(folder, "cy", NOW)}
    described = client.get("/openapi.json", headers=key).json()
    assert set(described["components"]["securitySchemes"]) == {"HTTPBearer", "APIKeyHeader"}
    assert described["paths"]["/v1/rerank"]["post"]["security"] == [{"HTTPBearer": []}, {"APIKeyHeader": []}]
