"""What is damaged is found, and named with its remedy."""

import os
import shutil
import time
from contextlib import closing

import pytest
from fake_models import write_version
from sqlalchemy import text
from tower_texts import QUESTIONS

from app import bootstrap
from app.ask import asking
from app.corpora import ingestion
from app.corpora.indexing import reindex
from app.jobs import process, queue
from app.upkeep.check import CORRECT, RESTORE, check_closed, check_home
from app.versions import registry
from app.workbench.settings import Settings
from as2core.errors import As2Error
from db.repositories import jobs


def find_problems(wb):
    return {f.part: f for f in check_home(wb) if f.problem}


def test_a_sound_home_has_no_problem(wb, towers, asked):
    for version in ("cascade", "generative"):
        (wb.settings.models_dir / version / "card.json").write_text("{}")
    for job in queue.list_active(wb):
        queue.cancel(wb, job.id)
    assert find_problems(wb) == {}
    assert {f.part for f in check_home(wb)} >= {"disk", "database", "index of towers", "version cascade", "worker"}


@pytest.mark.parametrize("damage", [b"\xff" * 5000, b"", None])
def test_a_damaged_index_is_found_and_mends_itself_at_the_next_question(wb, towers, asked, damage):
    file = wb.settings.index_file(towers.id)
    wb.index(towers.id).close()
    wb.forget_index(towers.id) if damage is None else None
    if damage is not None:
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        file.write_bytes(damage)
    assert "as2 reindex" in find_problems(wb)["index of towers"].remedy or damage == b""
    again = asking.ask(wb, towers.id, QUESTIONS[0])
    assert [c.sentence_id for c in again.candidates] == [c.sentence_id for c in asked.candidates]
    assert "index of towers" not in find_problems(wb)


def test_an_index_that_is_damaged_in_the_middle_is_built_anew(wb, towers, asked):
    file = wb.settings.index_file(towers.id)
    wb.indexes.close()
    import sqlite3

    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DROP TABLE change")
    assert "no such table" in find_problems(wb)["index of towers"].problem
    again = asking.ask(wb, towers.id, QUESTIONS[0])
    assert [c.sentence_id for c in again.candidates] == [c.sentence_id for c in asked.candidates]


def test_an_index_that_is_older_than_the_database_is_to_be_built_anew(wb, towers):
    """It was copied from elsewhere, or a copy of the home ended halfway."""
    file = wb.settings.index_file(towers.id)
    wb.indexes.close()
    older = file.read_bytes()
    ingestion.ingest(wb, towers.id, [("long.txt", b"A tower stands. " * 12)])
    assert "index of towers" not in find_problems(wb)
    wb.indexes.close()
    file.write_bytes(older)
    finding = find_problems(wb)["index of towers"]
    assert "passages: some documents are not found" in finding.problem
    assert finding.remedy == "`as2 reindex --corpus 'towers'`"
    reindex(wb, towers.id)
    assert "index of towers" not in find_problems(wb)


def test_an_index_that_cannot_be_opened_is_not_to_be_built_anew(wb, towers, asked):
    file = wb.settings.index_file(towers.id)
    wb.indexes.close()
    file.unlink()
    file.mkdir()
    assert find_problems(wb)["index of towers"].remedy == CORRECT


def test_a_backup_is_to_be_restored_for_a_damaged_database_alone(tmp_path):
    settings = Settings(home=tmp_path / "home", corpora_dir=tmp_path / "none")

    def find_remedy():
        with pytest.raises(As2Error) as error:
            bootstrap.open(settings)
        return check_closed(settings, error.value)[-1].remedy

    bootstrap.open(settings).close()
    file = settings.database_file
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * 8192 + whole[12288:])
    assert find_remedy() == RESTORE
    file.write_bytes(b"a letter to nobody in particular " * 200)
    assert find_remedy() == RESTORE
    file.unlink()
    file.mkdir()
    assert find_remedy() == CORRECT


def test_a_version_that_was_changed_or_lost_is_found(wb, towers):
    folder = write_version(wb.settings.versions_dir / "spring", sha256="0" * 64)
    with wb.write() as s:
        registry.add_candidate(s, wb, "spring", folder)
    assert "not the one that its card describes" in find_problems(wb)["version spring"].problem
    (folder / "card.json").write_text("{}")  # of an older program, without hashes
    (folder / "config.json").write_text("")
    assert "is not JSON" in find_problems(wb)["version spring"].problem
    (folder / "config.json").unlink()
    assert "config.json missing" in find_problems(wb)["version spring"].problem


@pytest.mark.parametrize("parent", ["", registry.IMPORTS_FOLDER])
def test_the_folder_of_no_version_is_named_once_it_is_old(wb, towers, clock, parent):
    """An import was killed, or an older backup restored."""
    versions = wb.settings.versions_dir / parent
    known = write_version(versions / "ours-1a2b3c4d")
    with wb.write() as s:
        registry.add_candidate(s, wb, "ours", known)
    left = write_version(versions / "spring-5e6f7a8b")
    then = (clock().timestamp(),) * 2
    for folder in (known, left):
        os.utime(folder, times=then)
    assert "versions" not in find_problems(wb)
    clock.advance(hours=2)
    finding = find_problems(wb)["versions"]
    assert finding.problem == f"{left} belongs to no version in the database"
    assert f"as2 versions import '{left}'" in finding.remedy
    (left / "model.safetensors").unlink()
    os.utime(left, times=then)
    assert find_problems(wb)["versions"].remedy == "delete the folder"


def test_a_version_of_another_home_is_to_be_copied_into_this_one(wb, towers, tmp_path, settings, models):
    """A home that was copied without its versions, while the first is still there."""
    folder = write_version(tmp_path / "first" / "versions" / "spring")
    with wb.write() as s:
        registry.add_candidate(s, wb, "spring", folder)
    finding = find_problems(wb)["version spring"]
    assert finding.problem == f"its directory {folder} is outside this home, and in no backup of it"
    here = wb.settings.versions_dir / "spring"
    assert finding.remedy == f"copy it to {here}"
    shutil.copytree(folder, here)
    bootstrap.open(settings, models).close()
    assert "version spring" not in find_problems(wb)


def test_a_home_without_a_model_to_answer_with_is_not_sound(tmp_path):
    settings = Settings(home=tmp_path / "home", models_dir=tmp_path / "none", corpora_dir=tmp_path / "none")
    wb = bootstrap.open(settings)
    assert "AS2_MODELS_DIR" in find_problems(wb)["version cascade"].remedy
    assert "version generative" in find_problems(wb)
    wb.close()


def test_a_job_of_an_unknown_kind_and_a_worker_that_fails_are_found(wb, towers):
    queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    assert "as2 worker" in find_problems(wb)["worker"].remedy
    with wb.write() as s:
        s.execute(text("UPDATE job SET kind = 'dance'"))
    process.note_failure(wb.settings, 1, is_repeated=True)
    problems = find_problems(wb)
    assert "dance" in problems["jobs"].problem
    assert "worker.log" in problems["worker"].problem
    process.note_failure(wb.settings, -9, is_repeated=False)
    assert "memory" in find_problems(wb)["worker"].remedy


def test_a_worker_that_was_killed_is_named_until_the_next_may_start_and_while_jobs_wait(wb, towers, monkeypatch):
    now = time.time()
    for job in queue.list_active(wb):
        queue.cancel(wb, job.id)
    process.note_failure(wb.settings, process.KILLED, is_repeated=False)
    assert "SIGKILL" in find_problems(wb)["worker"].problem
    monkeypatch.setattr(process.time, "time", lambda: now + 3600)
    assert "worker" not in find_problems(wb)
    queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    assert "SIGKILL" in find_problems(wb)["worker"].problem


def test_a_job_whose_worker_was_killed_is_named(wb, towers):
    host, _, born = process.name_worker().split(":")
    job = queue.enqueue(wb, "score", {}, corpus_id=towers.id)
    with wb.write() as s:
        jobs.claim_next(s, {"score": 10}, f"{host}:999999999:{born}", wb.clock())
    assert find_problems(wb)["jobs"].problem == f"job {job.id} (score) was running, and its worker is gone"


def test_what_a_killed_restore_left_is_found(wb):
    folder = wb.settings.home / ".restore-x"
    folder.mkdir()
    finding = find_problems(wb)["restore"]
    assert finding.problem == f"{folder} is of a restore that runs or was killed"
    assert "restore the backup again" in finding.remedy


@pytest.mark.parametrize("parent", ["", registry.IMPORTS_FOLDER])
def test_what_a_version_whose_making_was_killed_left_is_found(wb, towers, clock, parent):
    left = wb.settings.versions_dir / parent / ".spring-job-7.x1y2z3_4"
    left.mkdir(parents=True)
    os.utime(left, times=(clock().timestamp(),) * 2)
    assert "versions" not in find_problems(wb)  # it may still be written
    clock.advance(hours=2)
    assert find_problems(wb)["versions"].problem == f"{left} is of a version whose making was interrupted"


def test_a_shipped_version_elsewhere_than_the_models_of_the_settings(wb, settings, models, tmp_path):
    elsewhere = settings.model_copy(update={"models_dir": tmp_path / "wrong"})
    with closing(bootstrap.open(elsewhere, models)) as other:
        problems = find_problems(other)
    path = settings.models_dir / "cascade"  # in use
    assert problems["version cascade"].problem == f"its directory {path} is not in {elsewhere.models_dir}"
    assert problems["version cascade"].remedy == "correct AS2_MODELS_DIR, or install the program again"
