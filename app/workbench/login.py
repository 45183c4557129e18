"""Whether people have to log in, and what is wrong with its configuration: it fails closed.

Streamlit takes a secrets.toml that it cannot read, or one without the table `[auth]`, for none: the home would be open.
Here such a file is an error with its line. A home that was once used with a log-in does not open without one, unless
`AS2_LOGIN=off` says so.
"""

import re
import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from app.workbench.settings import Settings
from as2core.errors import BadSetting

TABLE = "auth"
KEYS = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
MIN_SECRET_CHARS = 16  # whoever guesses the secret signs a cookie in anybody's name
PUBLIC_HOSTS = ("accounts.google.com", "appleid.apple.com", "gitlab.com")  # where anybody can have an account
PUBLIC_TENANTS = ("common", "organizations", "consumers")  # likewise, of Microsoft
REMEDY = "correct the file, or set AS2_LOGIN=off to open the home without a log-in"


def needs_login(settings: Settings, files: Iterable[Path]) -> bool:
    """Whether a log-in is configured in one of these files and not switched off; the home remembers it. Raises
    BadSetting where the configuration is damaged, or missing although it is required."""
    if settings.login == "off":
        return False
    files = list(files)
    configured = [file for file in files if _has_login(file)]
    if configured:
        if find_spec("authlib") is None:
            raise BadSetting("the log-in needs the package authlib: install the extra `auth` (docs/running.md)")
        _check_who_may(settings, configured)
        remember_login(settings)
        return True
    where = " or ".join(map(str, files))
    if settings.login == "required":
        raise BadSetting(f"AS2_LOGIN=required, but no log-in is configured: write [{TABLE}] into {where}")
    if settings.login_mark.exists():
        raise BadSetting(
            f"{settings.home} or its database was used with a log-in, and none is configured now: restore [{TABLE}] in "
            f"{where}, or set AS2_LOGIN=off to open it without"
        )
    return False


def _check_who_may(settings: Settings, files: Iterable[Path]) -> None:
    """Raises BadSetting where anybody in the world could log in and no setting says that they may."""
    if settings.login_allowed:
        return
    for file in files:
        url = str(tomllib.loads(file.read_text(encoding="utf-8"))[TABLE]["server_metadata_url"])
        host, tenant = urlsplit(url).hostname, urlsplit(url).path.strip("/").partition("/")[0]
        if host in PUBLIC_HOSTS or (host == "login.microsoftonline.com" and tenant in PUBLIC_TENANTS):
            raise BadSetting(
                f"{file}: anybody with an account can log in at {url}: list addresses or domains in AS2_LOGIN_ALLOWED, "
                'or "*" for everyone'
            )


def remember_login(settings: Settings) -> None:
    """From now on, the home does not open without a log-in unless told."""
    if not settings.login_mark.exists():
        settings.home.mkdir(parents=True, exist_ok=True)
        settings.login_mark.touch(mode=0o600)


def _has_login(file: Path) -> bool:
    """Whether the file configures a log-in. Raises BadSetting, with the line."""
    try:
        text = file.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except FileNotFoundError:
        return False
    except OSError as e:
        raise BadSetting(f"{file}: cannot be read ({e.strerror}): it has to be a file of the user of the app") from e
    except UnicodeDecodeError as e:
        line = e.object[: e.start].count(b"\n") + 1
        raise BadSetting(f"{file}, line {line}: not UTF-8; {REMEDY}") from e
    except tomllib.TOMLDecodeError as e:
        raise BadSetting(f"{file}: not valid TOML: {e}; {REMEDY}") from e
    for key, value in content.items():
        if key != TABLE and (key in KEYS or _looks_like_login(key, value)):
            line, name = _find_line(text, key), key if key in KEYS else f"[{key}]"
            raise BadSetting(f"{file}, line {line}: {name} must be written in or as [{TABLE}]; {REMEDY}")
    if TABLE not in content:
        return False
    auth = content[TABLE]
    missing = [key for key in KEYS if not isinstance(auth, dict) or not str(auth.get(key, "")).strip()]
    if missing:
        line = _find_line(text, TABLE)
        raise BadSetting(f"{file}, line {line}: [{TABLE}] has no {', no '.join(missing)}; {REMEDY}")
    if len(str(auth["cookie_secret"])) < MIN_SECRET_CHARS:
        line = _find_line(text, "cookie_secret")
        how = "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"
        raise BadSetting(f"{file}, line {line}: cookie_secret is shorter than {MIN_SECRET_CHARS} characters: {how}")
    return True


def _looks_like_login(key: str, value: object) -> bool:
    return key.strip().casefold() == TABLE or (isinstance(value, dict) and bool(set(KEYS) & set(value)))


def _find_line(text: str, key: str) -> int:
    """Where a table or a key first stands."""
    pattern = re.compile(rf"""\s*\[?\s*["']?{re.escape(key)}\b""")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)
