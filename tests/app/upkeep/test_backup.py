"""A home as one file: what is in it, while people work, and what is no backup."""

import io
import sqlite3
import subprocess
import sys
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from restored_homes import label_all

from app.corpora import corpora
from app.jobs import queue
from app.upkeep import backup
from app.upkeep.backup import NoBackup, back_up, restore
from app.upkeep.backup_folder import make_folder
from app.upkeep.check import check_home
from as2core.errors import As2Error, BadSetting, UnreadableFile
from db.models import Job
from db.session import Database

REPO = Path(__file__).parents[3]


SIGNS = ("correct", "incorrect", "unsure")


@pytest.fixture
def settings(sqlite_settings):
    return sqlite_settings


def test_checkpoints_of_a_training_are_left_out(wb, tmp_path):
    work = wb.settings.jobs_dir / "7" / "work"
    for file in (work / "run.json", work / "checkpoint-5" / "model.bin", work / "folds" / "0" / "checkpoint-9" / "x"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    version = wb.settings.versions_dir / "checkpoint-500" / "card.json"  # named after the folder that it came from
    version.parent.mkdir(parents=True)
    version.write_text("{}")
    back_up(wb, tmp_path / "monday.tar")
    with tarfile.open(tmp_path / "monday.tar") as archive:
        names = archive.getnames()
    assert [name for name in names if name.startswith("jobs/")] == ["jobs/7/work/run.json"]
    assert "versions/checkpoint-500/card.json" in names


def test_a_backup_of_the_older_format_is_still_read(wb, towers, settings, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(backup, "FORMAT", 1)
        back_up(wb, tmp_path / "older.tar")
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restore(elsewhere, tmp_path / "older.tar")
    assert (elsewhere.home / "as2.db").is_file()


def test_a_job_that_the_backup_has_as_not_done_goes_on_from_the_backup(wb, towers, settings, tmp_path):
    done, waiting = (queue.enqueue(wb, "compare", {}) for _ in range(2))
    folders = {job.id: settings.jobs_dir / str(job.id) for job in (done, waiting)}
    with wb.write() as s:
        s.get_one(Job, done.id).state = "done"
    for folder in folders.values():
        folder.mkdir(parents=True)
        (folder / "data.jsonl").write_text("before")
    back_up(wb, tmp_path / "monday.tar")
    for folder in folders.values():
        (folder / "data.jsonl").write_text("after")
        (folder / "result.json").write_text("after")
    restore(settings, tmp_path / "monday.tar")
    contents = {i: {f.name: f.read_text() for f in folder.iterdir()} for i, folder in folders.items()}
    assert contents[waiting.id] == {"data.jsonl": "before"}
    assert contents[done.id] == {"data.jsonl": "before", "result.json": "after"}


def test_a_backup_while_people_label_holds_every_label_that_was_confirmed_before_it(wb, towers, asked, ann, tmp_path):
    confirmed, stop = [], threading.Event()

    def label_on():
        while not stop.is_set():
            for sign in SIGNS:
                label_all(wb, asked, ann, sign)
                confirmed.append(sign)

    thread = threading.Thread(target=label_on)
    thread.start()
    try:
        while len(confirmed) < 3:
            pass
        before = 5 * len(confirmed)
        back_up(wb, tmp_path / "busy.tar")
    finally:
        stop.set()
        thread.join()
    restore(wb.settings.model_copy(update={"home": tmp_path / "elsewhere"}), tmp_path / "busy.tar")
    with sqlite3.connect(tmp_path / "elsewhere" / "as2.db") as s:
        assert s.execute("SELECT count(*) FROM label_event").fetchone()[0] >= before
        assert s.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def make_tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content, kind in members:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content), kind
            info.linkname = "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


FILE, LINK = tarfile.REGTYPE, tarfile.SYMTYPE
GOOD = ("backup.json", b'{"format": 1, "program": "x", "created": "2026-01-01T00:00:00+00:00"}', FILE)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no tar",
        make_tar(GOOD),
        make_tar(("as2.db", b"x", FILE)),
        make_tar(GOOD, ("../evil", b"x", FILE)),
        make_tar(GOOD, ("/etc/evil", b"x", FILE)),
        make_tar(GOOD, ("versions/../../evil", b"x", FILE)),
        make_tar(GOOD, ("as2.db", b"", LINK)),
        make_tar(GOOD, ("versions/a", b"", LINK)),
        make_tar(GOOD, ("as2.db", b"no database" * 99, FILE)),
        make_tar(("backup.json", b'{"format": 9}', FILE)),
        make_tar(("backup.json", b"[1]", FILE)),
    ],
)
def test_what_is_no_backup_changes_nothing(wb, towers, settings, tmp_path, content):
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises((UnreadableFile, NoBackup)):
        restore(settings, tmp_path / "x.tar")
    assert [c.name for c in corpora.list_corpora(wb)] == ["towers"]
    assert not list(settings.home.glob(".restore-*")) and not (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["{}/evil-removed", "{}/versions", "versions/../../evil-removed", "", "."])
def test_a_member_of_a_backup_is_unpacked_nowhere_else(wb, towers, settings, tmp_path, name):
    """The mark of a corpus that somebody deleted, as "starter-removed", is a file of any beginning."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "x.tar").write_bytes(make_tar(GOOD, (name.format(outside), b"x", FILE), ("as2.db", b"x", FILE)))
    with pytest.raises(UnreadableFile, match="it holds '"):
        restore(settings, tmp_path / "x.tar")
    assert not list(outside.iterdir())


def test_a_backup_of_a_newer_program_is_refused(wb, towers, settings, tmp_path, monkeypatch):
    from sqlalchemy import text

    with wb.write() as s:
        before = s.execute(text("SELECT version_num FROM alembic_version")).scalar()
        s.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    back_up(wb, tmp_path / "newer.tar")
    with wb.write() as s:
        s.execute(text("UPDATE alembic_version SET version_num = :old"), {"old": before})
    with pytest.raises(As2Error, match="newer version"):
        restore(settings, tmp_path / "newer.tar")


def test_a_backup_never_replaces_a_file_and_a_full_disk_leaves_none(wb, towers, tmp_path, monkeypatch):
    (tmp_path / "there.tar").touch()
    with pytest.raises(BadSetting, match="exists already"):
        back_up(wb, tmp_path / "there.tar")

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_write", fail)
    with pytest.raises(NoBackup, match="the disk is full: free some space"):
        back_up(wb, tmp_path / "full.tar")
    assert [p.name for p in tmp_path.glob("*full*")] == [] and not list(tmp_path.glob("as2-backup-*"))


def kill_backup(home, parent):
    """What a backup leaves that is killed while it writes."""
    code = (
        "import os, sys; from pathlib import Path; from app.upkeep.backup_folder import make_folder\n"
        "with make_folder(*map(Path, sys.argv[1:])):\n    os._exit(9)"
    )
    before = {*parent.glob("as2-backup-*")}
    subprocess.run([sys.executable, "-c", code, home, parent], cwd=REPO, check=False)
    (folder,) = {*parent.glob("as2-backup-*")} - before
    return folder


def test_what_a_killed_backup_left_is_named_and_removed_by_the_next(wb, tmp_path):
    other = tmp_path / "as2-backup-other"  # of another home
    other.mkdir()
    left = kill_backup(wb.settings.home, tmp_path)
    (finding,) = (f for f in check_home(wb) if f.part == "backup")
    assert finding.problem == f"{left} is of a backup that was killed"
    with make_folder(wb.settings.home, tmp_path) as running:
        assert not left.exists()
        back_up(wb, tmp_path / "monday.tar")
        assert running.exists() and not [f for f in check_home(wb) if f.part == "backup"]
    assert other.exists() and not list(wb.settings.home.glob(".*"))


def test_postgresql_is_left_to_its_own_tool_with_an_address_that_it_takes(wb, settings, tmp_path, monkeypatch):
    database = Database("postgresql+psycopg://ada:secret@db:5433/as2?sslmode=require")
    with pytest.raises(BadSetting) as error:
        back_up(replace(wb, database=database), tmp_path / "x.tar")
    assert 'pg_dump --format=custom --file=as2.dump "postgresql://ada@db:5433/as2?sslmode=require"' in str(error.value)
    monkeypatch.setattr(backup, "open_database", lambda _: Database(settings.database))  # one with rows
    elsewhere = settings.model_copy(update={"database_url": "postgresql+psycopg://u:p@h/n"})
    with pytest.raises(BadSetting, match="pg_restore"):
        restore(elsewhere, tmp_path / "x.tar")
