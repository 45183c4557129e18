"""The log-in fails closed: a configuration that cannot be used opens no home."""

import pytest

from app import bootstrap
from app.workbench import people
from app.workbench.login import needs_login
from as2core.errors import BadSetting

GOOD = """
[auth]
redirect_uri = "https://labels.example.org/oauth2callback"
cookie_secret = "a long random text"
client_id = "as2"
client_secret = "x"
server_metadata_url = "https://id.example.org/.well-known/openid-configuration"
"""


@pytest.fixture
def secrets(tmp_path):
    return tmp_path / "secrets.toml"


def set_login(settings, value):
    return settings.model_copy(update={"login": value})


def test_without_a_configuration_nobody_logs_in(settings, secrets):
    assert needs_login(settings, [secrets]) is False
    secrets.write_text('[other]\npassword = "x"\n')
    assert needs_login(settings, [secrets]) is False


def test_with_one_everybody_does(settings, secrets, tmp_path):
    secrets.write_text(GOOD)
    assert needs_login(settings, [tmp_path / "none.toml", secrets]) is True


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (GOOD.replace("[auth]", "[Auth]"), "line 2", "[Auth]"),
        (GOOD.replace("[auth]", "[oauth]"), "line 2", "[oauth]"),
        (GOOD.replace("[auth]\n", "\n"), "line 3", "redirect_uri"),
        (GOOD.replace("[auth]", "[auth"), "line 2", "TOML"),
        (GOOD.replace('"as2"', '"as2'), "line 5", "TOML"),
        (GOOD.replace('client_secret = "x"\n', ""), "line 2", "no client_secret"),
        (GOOD.replace('"x"', '" "'), "line 2", "no client_secret"),
        ('auth = "yes"\n', "line 1", "no redirect_uri"),
        (GOOD.replace("as2", "as2\udcff"), "line 5", "UTF-8"),
    ],
)
def test_a_damaged_one_is_refused_with_its_line(settings, secrets, content, line, reason):
    secrets.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadSetting) as error:
        needs_login(settings, [secrets])
    assert line in str(error.value) and reason in str(error.value) and str(secrets) in str(error.value)
    assert "AS2_LOGIN=off" in str(error.value)
    assert needs_login(set_login(settings, "off"), [secrets]) is False


def test_a_file_that_the_apps_user_cannot_read_is_to_be_theirs(settings, secrets):
    secrets.mkdir()  # as Compose makes of a file that is not there; root may read any file
    with pytest.raises(BadSetting, match=r"cannot be read .*: it has to be a file of the user of the app"):
        needs_login(settings, [secrets])


def test_a_damaged_file_is_refused_beside_a_good_one(settings, secrets, tmp_path):
    good = tmp_path / "good.toml"
    good.write_text(GOOD)
    secrets.write_text("[auth")
    with pytest.raises(BadSetting):
        needs_login(settings, [good, secrets])


def test_required_refuses_to_start_without(settings, secrets):
    with pytest.raises(BadSetting, match="AS2_LOGIN=required"):
        needs_login(set_login(settings, "required"), [secrets])
    secrets.write_text(GOOD)
    assert needs_login(set_login(settings, "required"), [secrets]) is True


def test_a_home_once_under_log_in_never_opens_without_unless_told(settings, secrets):
    secrets.write_text(GOOD)
    needs_login(settings, [secrets])
    secrets.unlink()
    with pytest.raises(BadSetting, match="was used with a log-in"):
        needs_login(settings, [secrets])
    assert needs_login(set_login(settings, "off"), [secrets]) is False


@pytest.mark.parametrize("url", ["https://accounts.google.com", "https://login.microsoftonline.com/common/v2.0"])
def test_where_anybody_can_have_an_account_the_settings_say_who_may_log_in(settings, secrets, url):
    secrets.write_text(GOOD.replace("https://id.example.org", url))
    with pytest.raises(BadSetting, match="AS2_LOGIN_ALLOWED"):
        needs_login(settings, [secrets])
    assert needs_login(settings.model_copy(update={"login_allowed": "lab.example"}), [secrets])


@pytest.mark.parametrize("host", ["gitlab.company.example", "login.microsoftonline.com/0a1b-2c3d"])
def test_a_provider_of_ones_own_needs_no_list(settings, secrets, host):
    secrets.write_text(GOOD.replace("id.example.org", host))
    assert needs_login(settings, [secrets])


def test_a_cookie_secret_that_can_be_guessed_is_refused(settings, secrets):
    secrets.write_text(GOOD.replace("a long random text", "secret"))
    with pytest.raises(BadSetting, match=r"line 4: cookie_secret is shorter than 16 characters"):
        needs_login(settings, [secrets])


def test_a_new_home_on_a_database_under_log_in_does_not_open_without(wb, settings, models, clock, secrets):
    other = settings.model_copy(update={"home": settings.home.with_name("other"), "database_url": settings.database})
    bootstrap.open(other, models, clock).close()
    assert needs_login(other, [secrets]) is False
    people.sign_in_subject(wb, "https://id.example.org|1", "Ada")
    bootstrap.open(other, models, clock).close()
    with pytest.raises(BadSetting, match="or its database was used with a log-in"):
        needs_login(other, [secrets])
