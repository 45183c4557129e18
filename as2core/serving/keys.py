"""API keys: one file a key in a folder, with the key's SHA-256, its name, when it was made, expires and was revoked.

A key is 32 random bytes, so a plain hash cannot be turned back; it is shown once, when it is made. Files appear by one
rename and are their owner's alone, so several processes may make keys and serve at once, and no database is needed. A
revoked or expired key's file stays, as the record. The server looks at the folder and the clock at each request: such a
key is refused from then on. Where there has been a key, every request needs one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from as2core.errors import BadSetting, UnreadableFile
from as2core.system.files import replace_file
from as2core.terminal import print_note

PREFIX = "as2_"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
OPEN_PATHS = ("/", "/health", "/ping")  # a probe has no key
NO_KEY = "no API key came: send Authorization: Bearer KEY, or X-API-Key: KEY; `as2 keys add NAME` makes one"
INVALID_KEY = "the API key that came is not valid, has expired or was revoked: `as2 keys add NAME` makes another"


@dataclass(frozen=True, slots=True)
class Key:
    """Times are ISO 8601 in UTC. `expires` is "" without an end, `revoked` unless it was."""

    name: str
    sha256: str
    created: str
    revoked: str = ""
    expires: str = ""

    def is_valid(self, now: datetime) -> bool:
        return not self.revoked and not (self.expires and datetime.fromisoformat(self.expires) <= now)


def default_keys_dir() -> Path:
    """In AS2_HOME, else in the user's configuration folder."""
    if home := os.environ.get("AS2_HOME"):
        return Path(home).expanduser() / "keys"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "as2" / "keys"


def add_key(folder: Path, name: str, now: datetime, *, days: int | None = None) -> str:
    """Make a key and return it; it cannot be read again. It expires after `days`, or never. Raises BadSetting for a
    name that is taken or not allowed."""
    if not NAME.fullmatch(name):
        raise BadSetting(f"{name!r} cannot be a key's name: letters, digits, dots, - and _, at most 64")
    if name in read_keys(folder):
        raise BadSetting(f"there is, or was, a key {name!r}: choose another name")
    token = PREFIX + secrets.token_urlsafe(32)
    expires = "" if days is None else _format(now + timedelta(days=days))
    _write(folder, Key(name, hash_key(token), _format(now), expires=expires))
    return token


def revoke_key(folder: Path, name: str, now: datetime) -> Key:
    """Refuse a key from now on. Raises BadSetting if there is none of that name."""
    keys = read_keys(folder)
    if name not in keys:
        raise BadSetting(f"no key {name!r} in {folder}; known: {', '.join(sorted(keys)) or 'none'}")
    key = keys[name] if keys[name].revoked else replace(keys[name], revoked=_format(now))
    _write(folder, key)
    return key


def read_keys(folder: Path) -> dict[str, Key]:
    """All keys by name, revoked ones included; {} if there is no folder. Raises UnreadableFile."""
    keys = {}
    for path in _list_files(folder):
        try:
            key = keys[path.stem] = Key(**json.loads(path.read_text()))
            key.is_valid(datetime.now(UTC))  # its time can be read
        except (OSError, ValueError, TypeError) as e:
            raise UnreadableFile(f"{path} is not a key's file ({e}): delete it, and make a new key") from e
    return keys


def _list_files(folder: Path) -> list[Path]:
    """Not by `glob`, which takes a folder that may not be read for an empty one: everybody would be let in."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return []
    except OSError as e:
        reason = f"{folder} cannot be read ({e.strerror}): give it to the user who runs `as2 serve`"
        raise UnreadableFile(reason) from e


def hash_key(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _format(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")


def _write(folder: Path, key: Key) -> None:
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if is_new:
        _give(folder, folder.parent)
    with replace_file(folder / f"{key.name}.json") as part:
        part.touch(mode=0o600)
        part.write_text(json.dumps(asdict(key)))
        _give(part, folder)


def _give(path: Path, above: Path) -> None:
    """What root makes is the owner's of what is above: as whom the server runs, in a home."""
    if os.name == "posix" and os.geteuid() == 0:
        owner = above.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


class KeyRing:
    """The keys of a folder, read again when it changes. What cannot be read lets nobody in."""

    def __init__(self, folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.folder, self._now = folder, now
        self._stamp: int | None = None
        self._problem = ""
        self._keys: Mapping[str, Key] = {}  # by hash
        self.is_required = False  # once there has been a key
        self._refresh()

    def find_client(self, token: str) -> str | None:
        """The name of a valid key, None for any other."""
        self._refresh()
        key = self._keys.get(hash_key(token))
        return key.name if key and key.is_valid(self._now()) else None

    def _refresh(self) -> None:
        try:
            stamp: int | None = self.folder.stat().st_mtime_ns
        except FileNotFoundError:
            stamp = 0
        except OSError:
            stamp = None  # what it is in may not be read
        if stamp is not None and stamp == self._stamp:
            return
        try:
            keys, problem = read_keys(self.folder), ""
            self.is_required = self.is_required or bool(keys)
        except UnreadableFile as e:
            keys, problem, stamp = {}, str(e), None  # the next request looks again: a mode may be changed meanwhile
            self.is_required = True
        if problem and problem != self._problem:
            print_note(f"as2: no key is accepted: {problem}")
        self._keys = {key.sha256: key for key in keys.values()}
        self._stamp, self._problem = stamp, problem


class KeyGuard:
    """ASGI middleware that refuses requests without a valid key, where keys are required, and notes whose key it is."""

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            tokens = read_tokens(Headers(scope=scope))
            client = next(filter(None, map(self._keys.find_client, tokens)), None)
            if client is None and self._keys.is_required and scope["path"] not in OPEN_PATHS:
                message = INVALID_KEY if any(tokens) else NO_KEY
                body = {"detail": message, "message": message}
                await JSONResponse(body, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
            scope.setdefault("state", {})["client"] = client
        await self._app(scope, receive, send)


def read_tokens(headers: Headers) -> list[str]:
    """What may be the key of a request: a gateway may add an authorization of its own beside it."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return [*([token.strip()] if scheme.lower() == "bearer" else []), headers.get("x-api-key", "")]
