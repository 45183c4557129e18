import re

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


@pytest.fixture
def fresh_settings():
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("AS2_WORKER", "sometimes", "AS2_WORKER"),
        ("AS2_CORES", "many", "AS2_CORES is 'many'"),
        ("AS2_CORES", "0", "AS2_CORES is '0'"),
        ("AS2_ALLOWED_HOSTS", "https://labels.example.org", "'https://labels.example.org' is no name of a host"),
        ("AS2_ALLOWED_HOSTS", "lab.example,labels.example.org:8443", "'labels.example.org:8443' is no name of a host"),
        ("AS2_LOGIN_ALLOWED", "@lab.example", "'@lab.example' is no address, domain"),
        ("AS2_LOGIN_ALLOWED", "ada@lab.example *@lab.example", "is no address, domain"),
        ("AS2_LOGIN_ALLOWED", "https://lab.example", "is no address, domain"),
        ("AS2_LOGIN_ALOWED", "lab.example", "AS2_LOGIN_ALOWED is no setting: did you mean AS2_LOGIN_ALLOWED"),
        ("AS2_NEWCOMER", "blocked", "did you mean AS2_NEWCOMERS"),
        ("AS2_KEY", "/srv/keys", "did you mean AS2_KEYS"),
    ],
)
def test_a_value_that_is_none_of_the_allowed_names_its_variable(monkeypatch, fresh_settings, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSetting, match=re.escape(message)):
        get_settings()


def test_every_kind_of_entry_is_taken(monkeypatch, fresh_settings):
    monkeypatch.setenv("AS2_LOGIN_ALLOWED", "lab.example, *.lab.example ada.b+c@lab.example,https://id.example|a|b *")
    monkeypatch.setenv("AS2_ALLOWED_HOSTS", "labels.example.org,*.lab.example 10.0.0.7 fe80::1 * as2-serve")
    monkeypatch.setenv("AS2_CORES", "3")
    assert get_settings().login_allowed.count("*") == 2


def test_variables_that_only_begin_alike_are_somebody_elses(monkeypatch, fresh_settings):
    before = Settings()
    kubernetes = ("AS2_DB_SERVICE_HOST", "AS2_SERVE_PORT", "AS2_WORKBENCH_PORT_80_TCP_ADDR")
    for variable in (*kubernetes, "AS2_RERANK_KEY_MINE", "AS2_TEST_DATA", "AS2_BIND", "AS2_DB_PASSWORD", "AS2_TORCH"):
        monkeypatch.setenv(variable, "x")
    assert get_settings() == before


def test_a_worker_is_told_the_same_settings(monkeypatch, tmp_path):
    for given in (Settings(home=tmp_path), Settings(home=tmp_path, data_dir=tmp_path / "data")):
        with monkeypatch.context() as there:
            for name, value in to_environment(given).items():
                there.setenv(name, value)
            assert Settings() == given
