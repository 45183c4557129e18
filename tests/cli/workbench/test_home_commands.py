"""People, the audit log, and the upkeep of a home."""

from __future__ import annotations

import contextlib
import io
import json

from app.workbench.settings import get_settings


def test_people_are_listed_and_given_roles(as2, as2_json, home, monkeypatch):
    from app import bootstrap
    from app.workbench import people

    as2("people")
    with contextlib.closing(bootstrap.open()) as wb:
        people.sign_in(wb, "me")
        people.sign_in_subject(wb, "https://id.example|1", "cara")
    assert as2_json("people", "role", "cara", "admin")["role"] == "admin"
    assert [(p["name"], p["role"], p["local"]) for p in as2_json("people")["people"]] == [
        ("me", "admin", True),
        ("cara", "admin", False),
    ]
    assert as2("people")[1].splitlines()[-1].split() == ["cara", "admin", "logs", "in", "https://id.example|1"]
    assert as2("people")[1].splitlines()[-2].split() == ["me", "admin", "without", "a", "name"]
    assert [p["account"] for p in as2_json("people")["people"]] == [None, "https://id.example|1"]
    code, _, err = as2("people", "role", "dan", "admin")
    assert code == 1 and "known: me, cara" in err
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, _, err = as2("people", "hand-over", "me", "cara")
    assert code == 1 and "nothing was handed over (--yes does not ask)" in err
    assert "Make the 0 labels of me, in all corpora, those of cara?" in err
    assert as2("people", "hand-over", "me", "cara", "--yes")[1] == "me to cara: there was no label to hand over\n"
    assert "me twice: name two people" in as2("people", "hand-over", "me", "me", "--yes")[2]
    view = as2_json("people", "hand-over", "me", "cara", "--yes")
    assert view == {"moved": 0, "same": 0, "different": 0}


def test_who_did_what_is_listed_newest_first_and_by_act(as2, as2_json, home):
    from app import bootstrap
    from app.workbench import people

    assert as2("audit")[1].strip() == "nothing is recorded"
    with contextlib.closing(bootstrap.open()) as wb:
        people.sign_in(wb, "ann")
        people.sign_in(wb, "bob")
    as2("people", "role", "bob", "viewer")
    events = as2_json("audit", "--limit", 1)["events"]
    assert [(e["actor"], e["act"], e["target"], e["detail"]) for e in events] == [
        ("command line", "change a role", "bob", "annotator to viewer")
    ]
    assert as2("audit", "--who", "ann")[1].splitlines()[-1].split()[2:] == "ann become the first admin ann".split()
    assert as2_json("audit", "--act", "first")["events"][0]["act"] == "become the first admin"
    assert as2_json("audit", "--since", "2999-01-01")["events"] == []
    code, _, err = as2("audit", "--since", "yesterday")
    assert code == 1 and "give a day as 2024-05-01" in err


def test_a_home_is_checked_backed_up_and_restored(as2, as2_json, articles, home, tmp_path, monkeypatch):
    code, _, err = as2("backup", tmp_path / "empty.tar")  # of a home that the app does not use
    assert code == 1 and "so nothing was backed up: name the home in AS2_HOME" in err
    as2("ingest", articles)
    as2("ingest", articles)  # nothing new
    acts = [(e["actor"], e["act"], e["target"]) for e in as2_json("audit")["events"]]
    assert acts == [("command line", act, "documents") for act in ("add documents", "create a corpus")]
    for job in as2_json("jobs")["jobs"]:
        as2("jobs", "cancel", job["id"])
    assert as2_json("check")["sound"]
    assert as2("check")[1].startswith(f"{home}: ")
    view = as2_json("backup", tmp_path / "monday.tar")
    assert view["file"] == str(tmp_path / "monday.tar")
    _, out, _ = as2("backup", tmp_path / "tuesday.tar")
    assert f"other files, {(tmp_path / 'tuesday.tar').stat().st_size / 1e6:.1f} MB" in out
    newest = as2_json("audit", "--limit", 1)["events"][0]
    assert (newest["act"], newest["detail"]) == ("write a backup", str(tmp_path / "tuesday.tar"))
    as2("ingest", articles, "--corpus", "later")
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        code, _, err = as2("restore", tmp_path / "monday.tar")
        assert code == 1 and "as2: nothing was restored (--yes does not ask)" in err
    whole = (tmp_path / "monday.tar").read_bytes()
    (tmp_path / "part.tar").write_bytes(whole[: len(whole) // 2])
    for name, reason in (("part.tar", "is no backup of a home"), ("none.tar", "No such file")):
        code, _, err = as2("restore", tmp_path / name)
        assert code == 1 and reason in err and "Replace" not in err
    assert as2("restore", tmp_path / "monday.tar", "--yes")[0] == 0
    code, _, err = as2("ask", "who", "--corpus", "later")
    assert code == 1 and "'later'" in err
    assert as2("ask", "who", "--corpus", "documents")[0] == 0


def test_in_a_new_folder_nothing_is_asked_before_a_restore(as2, articles, home, tmp_path, monkeypatch):
    as2("ingest", articles)
    as2("backup", tmp_path / "monday.tar")
    (tmp_path / "new").mkdir()
    monkeypatch.setenv("AS2_HOME", str(tmp_path / "new"))
    get_settings.cache_clear()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, out, err = as2("restore", tmp_path / "monday.tar")
    assert code == 0 and "Replace" not in err and out.startswith(f"{tmp_path / 'new'} is as it was on")
    assert as2("restore", tmp_path / "monday.tar")[0] == 1


def test_a_damaged_home_is_described_with_its_remedy(as2, articles, home):
    as2("ingest", articles)
    for file in (home / "index").iterdir():
        file.unlink()
    code, out, _ = as2("check", "--json")
    problems = {f["part"]: f for f in json.loads(out)["findings"] if f["problem"]}
    assert code == 1 and "as2 reindex" in problems["index of documents"]["remedy"]
    (home / "as2.db").write_bytes(b"x" * 9999)
    code, out, _ = as2("check")
    assert code == 1 and "is not a SQLite database" in out and "as2 restore FILE" in out


def test_keys_made_and_revoked_are_in_the_audit_log_of_a_home_with_a_database(as2, as2_json, home):
    as2("keys", "add", "before")
    assert not (home / "as2.db").exists()
    assert as2_json("audit")["events"] == []
    code, key, _ = as2("keys", "add", "search")
    as2("keys", "revoke", "search")
    as2("keys", "revoke", "unknown")
    events = [(e["actor"], e["act"], e["target"], e["detail"]) for e in as2_json("audit")["events"]]
    assert events == [
        ("command line", "revoke an API key", "search", ""),
        ("command line", "make an API key", "search", ""),
    ]
    assert code == 0 and key.startswith("as2_")
