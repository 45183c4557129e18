import pytest

from app.jobs.process import to_environment
from app.workbench.settings import REPO, Settings, get_settings
from as2core.errors import BadSetting


def test_everything_made_goes_below_home(monkeypatch, tmp_path):
    monkeypatch.setenv("AS2_HOME", str(tmp_path))
    settings = Settings()
    assert settings.database == f"sqlite:///{tmp_path}/as2.db"
    for path in (settings.versions_dir, settings.jobs_dir, settings.index_file(3), settings.worker_lock):
        assert tmp_path in path.parents


def test_without_a_word_home_is_in_the_repository(monkeypatch):
    monkeypatch.delenv("AS2_HOME", raising=False)
    assert Settings().home == REPO / ".as2"
    assert Settings().models_dir == REPO / "models"


def test_a_database_url_takes_the_place_of_the_file(monkeypatch):
    monkeypatch.setenv("AS2_DATABASE_URL", "postgresql://db/labels")
    assert Settings().database == "postgresql://db/labels"


def test_a_database_file_is_the_same_wherever_a_process_is_started(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for given, meant in {
        "sqlite:///own.db": f"sqlite:///{tmp_path}/own.db",
        "sqlite+pysqlite:///below/own.db?timeout=9": f"sqlite+pysqlite:///{tmp_path}/below/own.db?timeout=9",
        "sqlite:////srv/own.db": "sqlite:////srv/own.db",
        "sqlite:///:memory:": "sqlite:///:memory:",
        "sqlite://": "sqlite://",
    }.items():
        monkeypatch.setenv("AS2_DATABASE_URL", given)
        assert Settings().database == meant
        assert to_environment(Settings())["AS2_DATABASE_URL"] == meant


def test_a_value_that_is_none_of_the_allowed_names_its_variable(monkeypatch):
    monkeypatch.setenv("AS2_WORKER", "sometimes")
    get_settings.cache_clear()
    with pytest.raises(BadSetting, match="AS2_WORKER"):
        get_settings()
    get_settings.cache_clear()


def test_a_worker_is_told_the_same_settings(monkeypatch, tmp_path):
    for given in (Settings(home=tmp_path), Settings(home=tmp_path, data_dir=tmp_path / "data")):
        with monkeypatch.context() as there:
            for name, value in to_environment(given).items():
                there.setenv(name, value)
            assert Settings() == given
