"""Nobody else on the machine reads the home."""

import os
import stat

import pytest
from fake_models import write_version

from app import bootstrap
from app.workbench.home import prepare_home
from as2core.system.files import match_mode

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


@pytest.fixture(autouse=True)
def usual_umask():
    """The one most systems start with; after the test, the one before it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def read_mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_home_is_its_owners_alone(settings, models):
    bootstrap.open(settings, models).close()
    assert read_mode(settings.home) == 0o700
    made = [path for path in settings.home.rglob("*") if path.is_file()]
    (settings.home / "later").write_text("x")
    assert {read_mode(path) for path in [*made, settings.home / "later"]} == {0o600}


def test_a_home_that_others_could_read_is_mended_at_the_next_start(settings):
    write_version(settings.versions_dir / "mine")
    settings.worker_log.write_text("x")
    settings.home.chmod(0o755)
    prepare_home(settings)
    assert read_mode(settings.home) == read_mode(settings.versions_dir / "mine") == 0o700
    assert read_mode(settings.versions_dir / "mine" / "card.json") == read_mode(settings.worker_log) == 0o600


def test_a_database_elsewhere_is_its_owners_too(settings, tmp_path):
    database = tmp_path / "own.db"
    database.write_bytes(b"")
    prepare_home(settings.model_copy(update={"database_url": f"sqlite:///{database}"}))
    assert read_mode(database) == 0o600 and read_mode(tmp_path) == 0o700 | read_mode(tmp_path)


def test_a_folder_with_the_sticky_bit_and_what_a_link_names_keep_their_mode(settings, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("x")
    settings.versions_dir.mkdir(parents=True)
    (settings.versions_dir / "link").symlink_to(outside)
    settings.home.chmod(0o1777)
    prepare_home(settings)
    assert read_mode(settings.home) == 0o1777 and read_mode(outside) == 0o644


@pytest.mark.parametrize(("umask", "folder", "file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600)])
def test_a_finished_folder_can_be_read_by_whom_the_umask_lets(tmp_path, umask, folder, file):
    os.umask(umask)
    (tmp_path / "card.json").write_text("{}")
    (tmp_path / "model.safetensors").touch(0o600)
    match_mode(tmp_path, tmp_path / "card.json")
    assert read_mode(tmp_path) == folder and read_mode(tmp_path / "model.safetensors") == file
