"""A home as one file, and back."""

import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fake_models import write_version
from label_files import import_labels
from tower_texts import QUESTIONS

from app import bootstrap
from app.ask import asking
from app.compare import comparison, comparison_job
from app.corpora import corpora, ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.jobs.process import AlreadyRunning, hold_lock, hold_worker_lock
from app.labels import annotation, consensus
from app.upkeep import backup, database_copy
from app.upkeep.backup import NoBackup, back_up, restore
from app.upkeep.backup_folder import make_folder
from app.upkeep.check import check_home
from app.versions import registry
from app.workbench import audit_log, people, sessions
from app.workbench.indexes import SqliteIndexes
from app.workbench.sessions import Login, SessionEnded
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.errors import As2Error, BadSetting, UnreadableFile
from as2core.retrieval.milvus import IndexUnavailable
from as2core.serving.keys import KeyRing, add_key, revoke_key
from as2core.types import Candidate, Question
from db.models import Job
from db.session import Database

REPO = Path(__file__).parents[3]
SIGNS = ("correct", "incorrect", "unsure")


@pytest.fixture
def settings(sqlite_settings):
    return sqlite_settings


@contextmanager
def opened(settings, models, clock):
    wb = bootstrap.open(settings, models, clock)
    try:
        yield wb
    finally:
        wb.close()


def label_all(wb, view, ann, label):
    for candidate in view.candidates[:5]:
        annotation.give_label(
            wb, question_id=view.question_id, sentence_id=candidate.sentence_id, annotator_id=ann.id, label=label
        )


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


def test_a_backup_of_the_older_format_is_still_read(wb, towers, settings, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(backup, "FORMAT", 1)
        back_up(wb, tmp_path / "older.tar")
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restore(elsewhere, tmp_path / "older.tar")
    assert (elsewhere.home / "as2.db").is_file()


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
    keep_database, answers = database_copy._keep_database, []

    def try_to_label(database):
        is_whole = keep_database(database)
        with closing(sqlite3.connect(database, timeout=0)) as page, pytest.raises(sqlite3.OperationalError) as refusal:
            answers.append(page.execute("SELECT count(*) FROM label_event").fetchone())  # a reader does not wait
            page.execute("BEGIN IMMEDIATE")
        answers.append(str(refusal.value))
        return is_whole

    monkeypatch.setattr(database_copy, "_keep_database", try_to_label)
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


def make_questions(word, n=4):
    return [
        Question(f"{word}{i}", f"What is {word} {i}?", (Candidate("a", f"{word} {i}.", 1), Candidate("b", "No.", 0)))
        for i in range(n)
    ]


def test_after_a_restore_a_new_job_works_on_its_own_files(wb, settings, models, clock, tmp_path):
    for word in ("apples", "pears"):
        import_labels(wb, None, f"{word}.jsonl", jsonl.dumps(make_questions(word)).encode())
    run_queued(wb, RUNNERS)
    back_up(wb, tmp_path / "monday.tar")
    before = comparison_job.start_compare(wb, ["rr", "bm25"], "labels:apples")
    run_queued(wb, RUNNERS)
    restore(settings, tmp_path / "monday.tar")
    with opened(settings, models, clock) as other:
        after = comparison_job.start_compare(other, ["rr", "bm25"], "labels:pears")
        run_queued(other, RUNNERS)
        view = comparison.load_comparison(other, after.id)
    assert after.id > before.id
    assert set(view.by_id) == {q.qid for q in make_questions("pears")}


@pytest.mark.parametrize("state", ["as it was", "without its database", "with a damaged database"])
def test_after_a_restore_no_number_of_a_job_is_given_again(wb, towers, settings, tmp_path, models, clock, state):
    run_queued(wb, RUNNERS)
    back_up(wb, tmp_path / "monday.tar")
    (settings.jobs_dir / "40").mkdir(parents=True)
    (settings.jobs_dir / "notes").mkdir()
    write_version(settings.versions_dir / "towers-50 2", job=50)
    write_version(settings.versions_dir / "towers-2024", job=7)  # from elsewhere, by somebody's name for it
    write_version(settings.versions_dir / "towers-60")
    (settings.versions_dir / "towers-70").mkdir()
    wb.close()
    if state != "as it was":
        for file in settings.home.glob("as2.db*"):
            file.unlink()
    if state == "with a damaged database":
        (settings.home / "as2.db").write_bytes(b"no database" * 1000)
    restore(settings, tmp_path / "monday.tar")
    with opened(settings, models, clock) as other:
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id == 51


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_new_database_in_a_home_that_lost_its_own_gives_no_number_of_a_job_again(
    settings, models, clock, caplog, is_empty
):
    with opened(settings, models, clock) as first:
        towers = corpora.create_corpus(first, "towers")
        assert queue.enqueue(first, "score", {}, corpus_id=towers.id).id == 1
        assert not caplog.messages
    (settings.jobs_dir / "40").mkdir(parents=True)
    for file in settings.home.glob("as2.db*"):
        file.unlink()
    if is_empty:
        settings.database_file.touch()
    with opened(settings, models, clock) as other:
        towers = corpora.create_corpus(other, "towers")
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id == 41
    assert "if that was lost, put it back" in caplog.text
    caplog.clear()
    with opened(settings, models, clock):
        assert not caplog.messages


def test_after_a_restore_a_job_without_a_folder_keeps_its_number_too(wb, towers, settings, tmp_path):
    back_up(wb, tmp_path / "monday.tar")
    later = [queue.enqueue(wb, "score", {}, corpus_id=towers.id) for _ in range(3)]
    restore(settings, tmp_path / "monday.tar")
    assert queue.enqueue(wb, "score", {}, corpus_id=towers.id).id == later[-1].id + 1


def test_an_empty_home_counts_on_from_the_backup(wb, towers, settings, tmp_path, models, clock):
    last = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    back_up(wb, tmp_path / "monday.tar")
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    restore(elsewhere, tmp_path / "monday.tar")
    with opened(elsewhere, models, clock) as other:
        assert queue.enqueue(other, "score", {}, corpus_id=towers.id).id == last.id + 1


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


def test_postgresql_is_left_to_its_own_tool_with_an_address_that_it_takes(wb, settings, tmp_path, monkeypatch):
    database = Database("postgresql+psycopg://ada:secret@db:5433/as2?sslmode=require")
    with pytest.raises(BadSetting) as error:
        back_up(replace(wb, database=database), tmp_path / "x.tar")
    assert 'pg_dump --format=custom --file=as2.dump "postgresql://ada@db:5433/as2?sslmode=require"' in str(error.value)
    monkeypatch.setattr(backup, "open_database", lambda _: Database(settings.database))  # one with rows
    elsewhere = settings.model_copy(update={"database_url": "postgresql+psycopg://u:p@h/n"})
    with pytest.raises(BadSetting, match="pg_restore"):
        restore(elsewhere, tmp_path / "x.tar")
