"""A home from its backup: what comes back, what stays, and what a restore that fails leaves alone."""

import os
import shutil
import sqlite3
import tarfile
from contextlib import closing

import pytest
from fake_models import write_version
from restored_homes import label_all, opened
from tower_texts import QUESTIONS

from app import bootstrap
from app.ask import asking
from app.corpora import corpora, ingestion
from app.jobs import queue
from app.jobs.process import AlreadyRunning, hold_lock, hold_worker_lock
from app.labels import consensus
from app.upkeep import backup, database_copy
from app.upkeep.backup import NoBackup, back_up, restore
from app.versions import registry
from app.workbench import audit_log, people, sessions
from app.workbench.indexes import SqliteIndexes
from app.workbench.sessions import Login, SessionEnded
from as2core.errors import BadSetting
from as2core.retrieval.milvus import IndexUnavailable
from as2core.serving.keys import KeyRing, add_key, revoke_key


@pytest.fixture
def settings(sqlite_settings):
    return sqlite_settings


def add_made_version(wb, name="spring"):
    folder = write_version(wb.settings.versions_dir / name)
    with wb.write() as s:
        registry.add_candidate(s, wb, name, folder)


def test_a_restored_home_has_the_labels_versions_and_answers_it_had(
    wb, towers, asked, ann, settings, models, clock, tmp_path
):
    label_all(wb, asked, ann, "correct")
    add_made_version(wb)
    (wb.settings.home / "handbook-removed").touch()
    view = back_up(wb, tmp_path / "monday.tar")
    assert view.files == 4 and (tmp_path / "monday.tar").stat().st_mode & 0o077 == 0
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restore(elsewhere, tmp_path / "monday.tar")
    with opened(elsewhere, models, clock) as other:
        assert consensus.read_labels(other, asked.question_id) == consensus.read_labels(wb, asked.question_id) != {}
        assert {v.name for v in registry.list_versions(other) if not v.problem} == {"spring", "cascade"}
        assert not other.has_index(towers.id)
        again = asking.ask(other, towers.id, QUESTIONS[0])
        assert [c.sentence_id for c in again.candidates] == [c.sentence_id for c in asked.candidates]
        assert other.settings.removed_mark("handbook").exists()


@pytest.mark.parametrize("name", ["Q&A #1", "what?", "50%25 more"])
def test_a_home_may_have_any_name(wb, towers, settings, models, clock, tmp_path, name):
    back_up(wb, tmp_path / "monday.tar")
    elsewhere = settings.model_copy(update={"home": tmp_path / "homes" / name})
    restore(elsewhere, tmp_path / "monday.tar")
    restore(elsewhere, tmp_path / "monday.tar")
    with opened(elsewhere, models, clock) as other:
        assert [c.name for c in corpora.list_corpora(other)] == ["towers"]
    assert elsewhere.database_file == elsewhere.home / "as2.db" and elsewhere.database_file.is_file()
    assert [path.name for path in (tmp_path / "homes").iterdir()] == [name]


def test_a_restore_needs_no_filter_of_tarfile_which_debian_12_has_not(wb, towers, settings, tmp_path, monkeypatch):
    """Python 3.11.2; filters came with 3.11.4."""
    back_up(wb, tmp_path / "monday.tar")
    extract = tarfile.TarFile.extract
    monkeypatch.setattr(tarfile.TarFile, "extract", lambda self, member, path="": extract(self, member, path))
    assert restore(settings.model_copy(update={"home": tmp_path / "elsewhere"}), tmp_path / "monday.tar").files == 0


def test_gates_slices_and_keys_are_restored_and_a_key_revoked_since_stays_revoked(wb, settings, clock, tmp_path):
    home, keys = settings.home, settings.home / "keys"
    (home / "gates").mkdir()
    (home / "gates" / "frozen.toml").write_text("a gate")
    (home / "rankings").mkdir()
    (home / "rankings" / "theirs.run").write_text("q Q0 d 1 1 t")
    (home / "slices.toml").write_text("a slice")
    token = add_key(keys, "chat", clock())
    back_up(wb, tmp_path / "monday.tar")

    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restore(elsewhere, tmp_path / "monday.tar")
    assert (elsewhere.home / "gates" / "frozen.toml").read_text() == "a gate"
    assert (elsewhere.home / "rankings" / "theirs.run").read_text() == "q Q0 d 1 1 t"
    assert (elsewhere.home / "slices.toml").read_text() == "a slice"
    ring = KeyRing(elsewhere.home / "keys")
    assert ring.is_required and ring.find_client(token) == "chat"

    (home / "slices.toml").write_text("another slice")
    revoke_key(keys, "chat", clock())
    restore(settings, tmp_path / "monday.tar")
    assert (home / "slices.toml").read_text() == "a slice"
    assert KeyRing(keys).find_client(token) is None


def test_a_restore_undoes_what_came_after_the_backup_and_keeps_the_database_before(
    wb, towers, asked, ann, settings, tmp_path
):
    label_all(wb, asked, ann, "correct")
    back_up(wb, tmp_path / "monday.tar")
    label_all(wb, asked, ann, "incorrect")
    corpora.create_corpus(wb, "later")
    restore(settings, tmp_path / "monday.tar")  # while the workbench is open
    assert set(consensus.read_labels(wb, asked.question_id).values()) == {"correct"}
    assert [c.name for c in corpora.list_corpora(wb)] == ["towers"]
    assert (settings.home / "as2.db.before-restore").exists()
    event = audit_log.list_events(wb, by=None)[0]  # what came later is missing from the log: it says why
    assert (event.actor, event.act, event.target) == ("command line", "restore a backup", "monday.tar")
    assert event.detail.startswith(f"written {wb.clock():%Y-%m-%d %H:%M} UTC")


def test_nobody_writes_between_the_copy_of_the_present_database_and_its_replacement(
    wb, towers, asked, ann, settings, tmp_path, monkeypatch
):
    back_up(wb, tmp_path / "monday.tar")
    write_whole_copy, answers = database_copy._write_whole_copy, []

    def try_to_label(database, copy):
        is_whole = write_whole_copy(database, copy)
        with closing(sqlite3.connect(database, timeout=0)) as page, pytest.raises(sqlite3.OperationalError) as refusal:
            answers.append(page.execute("SELECT count(*) FROM label_event").fetchone())  # a reader does not wait
            page.execute("BEGIN IMMEDIATE")
        answers.append(str(refusal.value))
        return is_whole

    monkeypatch.setattr(database_copy, "_write_whole_copy", try_to_label)
    label_all(wb, asked, ann, "correct")
    restore(settings, tmp_path / "monday.tar")
    assert answers == [(5,), "database is locked"]
    assert not consensus.read_labels(wb, asked.question_id)
    with closing(sqlite3.connect(settings.home / "as2.db.before-restore")) as kept:
        assert kept.execute("SELECT count(*) FROM label_event").fetchone() == (5,)


def test_who_was_blocked_or_logged_out_since_the_backup_stays_so(wb, towers, ann, settings, tmp_path):
    for name in ("carl", "dora"):
        people.sign_in_subject(wb, f"https://id.example|{name}", name)
    people.sign_in(wb, "eve")
    back_up(wb, tmp_path / "monday.tar")
    for name in ("carl", "eve"):
        people.set_role(wb, people.find_person(wb, name).id, "blocked", by=ann.id)
    restore(settings, tmp_path / "monday.tar")
    roles = {p.name: p.role for p in people.list_people(wb)}
    assert roles == {"ann": "admin", "carl": "blocked", "dora": "annotator", "eve": "blocked"}
    assert audit_log.list_events(wb, by=None)[0].detail.endswith("; still blocked: carl, eve")
    claims = {"is_logged_in": True, "iss": "https://id.example", "sub": "dora", "name": "dora"}
    with pytest.raises(SessionEnded):
        sessions.admit(wb, Login.from_claims(claims | {"iat": wb.clock().timestamp()}))


def test_a_restore_empties_the_indexes_outside_the_home_too(wb, towers, settings, models, clock, tmp_path, monkeypatch):
    server = settings.model_copy(update={"home": tmp_path / "server"})
    for module in (bootstrap, backup):
        monkeypatch.setattr(module, "open_indexes", lambda _: SqliteIndexes(server))
    with opened(settings, models, clock) as other:
        back_up(other, tmp_path / "monday.tar")
        later = corpora.create_corpus(other, "later")
        for corpus_id in (towers.id, later.id):
            ingestion.ingest(other, corpus_id, [("tower.txt", b"The tower was built by giants.")])
        restore(settings, tmp_path / "monday.tar")
        assert not other.has_index(towers.id) and not other.has_index(later.id)
        again = asking.ask(other, towers.id, QUESTIONS[0])
        assert "The tower was built by giants." not in {c.text for c in again.candidates} != set()


def test_an_index_that_a_running_app_opens_during_a_restore_is_filled_all_the_same(wb, towers, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    texts = {c.text for c in asking.ask(wb, towers.id, QUESTIONS[0]).candidates}
    restore(settings, tmp_path / "monday.tar")
    assert wb.index(towers.id).count() == 0  # as a page that is open looks into it
    assert {c.text for c in asking.ask(wb, towers.id, QUESTIONS[0]).candidates} == texts != set()


def test_a_restore_changes_nothing_while_the_index_server_does_not_answer(wb, towers, settings, tmp_path, monkeypatch):
    class Down(SqliteIndexes):
        def exists(self, corpus_id):
            raise IndexUnavailable("it does not answer")

    back_up(wb, tmp_path / "monday.tar")
    later = corpora.create_corpus(wb, "later")
    monkeypatch.setattr(backup, "open_indexes", Down)
    with pytest.raises(IndexUnavailable):
        restore(settings, tmp_path / "monday.tar")
    assert later.name in {c.name for c in corpora.list_corpora(wb)}


def test_a_damaged_database_is_moved_away_by_a_restore(wb, towers, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    wb.close()
    file = settings.home / "as2.db"
    file.write_bytes(b"\xff" * 10_000)
    restore(settings, tmp_path / "monday.tar")
    again = bootstrap.open(settings)
    assert [c.name for c in corpora.list_corpora(again)] == ["towers"]
    again.close()
    assert (settings.home / "as2.db.before-restore").read_bytes() == b"\xff" * 10_000


def fail_to_copy(monkeypatch, code, *, into):
    """Have SQLite end the copy of a database into a file of that name with an error."""
    write_copy = database_copy.write_copy

    def fail(source, target, on_progress=None):
        if target.name.startswith(into):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = code
            raise error
        write_copy(source, target, on_progress)

    for module in (backup, database_copy):
        monkeypatch.setattr(module, "write_copy", fail)


def test_a_restore_that_cannot_keep_the_present_database_changes_nothing(
    wb, towers, asked, ann, settings, tmp_path, monkeypatch
):
    back_up(wb, tmp_path / "monday.tar")
    job = settings.jobs_dir / str(queue.enqueue(wb, "compare", {}).id) / "result.json"
    job.parent.mkdir(parents=True)
    job.touch()
    label_all(wb, asked, ann, "correct")
    fail_to_copy(monkeypatch, sqlite3.SQLITE_FULL, into=".as2.db.before-restore")
    with pytest.raises(NoBackup, match="disk is full"):
        restore(settings, tmp_path / "monday.tar")
    assert set(consensus.read_labels(wb, asked.question_id).values()) == {"correct"}
    with sqlite3.connect(settings.home / "as2.db") as s:  # as whoever opens it next
        assert s.execute("SELECT count(*) FROM label_event").fetchone() == (5,)
    assert job.exists() and not list(settings.home.glob("*.before-restore*"))


def test_a_restore_without_room_for_both_databases_changes_nothing(wb, towers, settings, tmp_path, monkeypatch):
    back_up(wb, tmp_path / "monday.tar")
    corpora.create_corpus(wb, "later")
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1000))
    with pytest.raises(NoBackup, match="free some space"):
        restore(settings, tmp_path / "monday.tar")
    assert "later" in {c.name for c in corpora.list_corpora(wb)}
    assert not list(settings.home.glob("*.before-restore*"))


def test_a_restore_during_another_is_refused_and_leaves_its_folder_alone(wb, towers, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    (settings.home / ".restore-first").mkdir()
    with hold_lock(settings.home / backup.LOCK, ""), pytest.raises(AlreadyRunning, match="wait until it ends"):
        restore(settings, tmp_path / "monday.tar")
    assert (settings.home / ".restore-first").exists()


def test_a_restore_that_was_killed_leaves_nothing_behind_the_next_one(wb, towers, settings, tmp_path, monkeypatch):
    back_up(wb, tmp_path / "monday.tar")
    (settings.home / ".restore-x").mkdir()
    (settings.home / ".restore-x" / "as2.db").touch()
    (settings.home / ".as2.db.before-restore.part").write_bytes(b"half of a copy")
    (settings.home / ".as2.db.before-restore.part-journal").touch()
    names = []
    write_copy = database_copy.write_copy
    monkeypatch.setattr(database_copy, "write_copy", lambda *a: (names.append(a[1].name), write_copy(*a)))
    restore(settings, tmp_path / "monday.tar")
    assert names == [".as2.db.before-restore.part"]  # so that a half copy never has the name of a whole one
    assert not list(settings.home.glob(".*"))
    with sqlite3.connect(settings.home / "as2.db.before-restore") as s:
        assert s.execute("SELECT count(*) FROM corpus").fetchone() == (1,)


def test_a_second_restore_keeps_what_the_first_one_kept(wb, towers, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    corpora.create_corpus(wb, "later")
    restore(settings, tmp_path / "monday.tar")
    restore(settings, tmp_path / "monday.tar")
    counts = []
    for file in sorted(settings.home.glob("as2.db.before-restore*")):
        with sqlite3.connect(file) as s:
            counts.append((file.name, *s.execute("SELECT count(*) FROM corpus").fetchone()))
    assert counts == [("as2.db.before-restore", 2), ("as2.db.before-restore-2", 1)]


def test_a_database_that_is_kept_gets_a_name_of_its_own_whatever_it_is_called(tmp_path):
    database = tmp_path / "as2[1].db"
    for number in ("", "-2", "-3", "-4"):
        copy = database_copy._find_free(database)
        assert copy.name == f"as2[1].db.before-restore{number}"
        copy.touch()


def test_a_restore_that_finds_no_room_to_unpack_says_so_and_changes_nothing(
    wb, towers, asked, ann, settings, tmp_path, monkeypatch
):
    back_up(wb, tmp_path / "monday.tar")
    label_all(wb, asked, ann, "correct")

    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_extract", fail)
    with pytest.raises(NoBackup, match=r"monday\.tar could not be restored \(the disk is full: free some space"):
        restore(settings, tmp_path / "monday.tar")
    assert set(consensus.read_labels(wb, asked.question_id).values()) == {"correct"}
    assert not [p for p in settings.home.iterdir() if p.name.startswith(backup.UNPACKED)]


def test_a_home_with_a_running_job_is_not_restored(wb, towers, settings, tmp_path):
    from sqlalchemy import text

    back_up(wb, tmp_path / "monday.tar")
    queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    with hold_worker_lock(settings):
        restore(settings, tmp_path / "monday.tar")
        queue.enqueue(wb, "score", {}, corpus_id=towers.id)
        with wb.write() as s:
            s.execute(text("UPDATE job SET state = 'running'"))
        with pytest.raises(BadSetting, match="a job runs"):
            restore(settings, tmp_path / "monday.tar")


def test_a_home_that_cannot_be_written_is_to_be_restored_by_its_owner(wb, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    settings.worker_lock.unlink(missing_ok=True)
    settings.worker_lock.mkdir()  # as a file in a folder of somebody else, it cannot be opened
    with pytest.raises(NoBackup, match=r"cannot be written .*: run this as the owner"):
        backup.check_restore(settings, tmp_path / "monday.tar")


def test_root_restores_nobody_elses_home(wb, settings, tmp_path, monkeypatch):
    back_up(wb, tmp_path / "monday.tar")
    if os.geteuid() == 0:
        os.chown(settings.home, 54321, 54321)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(NoBackup, match=r"belongs to .*, who could not read what root restores: run this as the owner"):
        backup.check_restore(settings, tmp_path / "monday.tar")
