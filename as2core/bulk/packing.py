"""The files of a ranker, for machines that do not share a disk with this one.

A spec may name directories and files: a version (by its name, too), a checkpoint, a backbone, word vectors; and a
version's configuration may name further ones. Each is packed with its content under the SHA-256 of that content, and
its name in the spec, or in the configuration, becomes `{{digest}}`. Unpacking puts it into a folder called by the
digest, by one rename, and writes that folder in place of the digest. What a spec leaves to the checkout (shipped
models) or to the hub's cache is not packed: every node has its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from as2core.errors import BadSetting
from as2core.rankers.catalog import CATALOG, find_kind_of_file, list_destinations, list_parts, split_spec
from as2core.rankers.config_schema import PLACES
from as2core.rankers.specs import read_settings, replace_rankers
from as2core.system.files import is_file, is_folder, sha256

CONFIG, CARD, TOKENIZER = "config.json", "card.json", "tokenizer.json"
MAX_AGE_SECONDS = 7 * 86_400.0  # of an unpacked folder that nobody uses


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory's files by relative path, or one file. `name` is what the directory is called."""

    name: str
    files: Mapping[str, bytes]

    def compute_digest(self) -> str:
        lines = [f"{hashlib.sha256(data).hexdigest()} {path}" for path, data in sorted(self.files.items())]
        return hashlib.sha256("\n".join([self.name, *lines]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Packer:
    """Collects `folders`, and the `paths` they have here, by digest. `versions` are further names for directories."""

    versions: Mapping[str, Path]
    folders: dict[str, Folder] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    def pack(self, spec: str) -> str:
        """The spec with digests in place of what is packed. Raises BadSetting, UnknownRanker where it is worded
        wrongly, or where a part of it has to be scored here (`is_bound_here`)."""
        if is_bound_here(spec, self.versions):
            raise BadSetting(f"{spec} is scored on this machine alone")
        return replace_rankers(spec, self._find_places(spec))

    def _find_places(self, spec: str) -> dict[str, str]:
        name, _, text = spec.partition(":")
        places: dict[str, str] = {}
        if name in CATALOG:
            entry = CATALOG[name]
            settings = read_settings(entry, text)
            for value in (settings.get(key) for key in (*PLACES, "model")):
                if isinstance(value, str) and value and _is_place(value):
                    places[value] = self._pack_path(Path(value))
        else:
            version, _ = split_spec(spec)
            path = Path(self.versions.get(version, version))
            if _is_place(path):
                places[version] = self._pack_path(path)
        for part in list_parts(spec):
            places |= self._find_places(part.spec)
        return places

    def _pack_path(self, path: Path) -> str:
        path = path.resolve()
        if path.is_dir():
            return self._pack_folder(path)
        around = next((f for f in (path.parent, path.parent.parent) if (f / TOKENIZER).is_file()), None)
        if around is None:
            return f"{self._add(path.parent, {path.name: path.read_bytes()})}/{path.name}"
        return f"{self._pack_folder(around)}/{path.relative_to(around)}"  # an ONNX file needs what is beside it

    def _pack_folder(self, path: Path) -> str:
        files = {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("*")) if f.is_file()}
        if _is_intact(files) and (config := self._replace_in_config(files.get(CONFIG, b""))):
            files[CONFIG] = config
        return self._add(path, files)

    def _add(self, path: Path, files: Mapping[str, bytes]) -> str:
        folder = Folder(path.name, files)
        digest = folder.compute_digest()
        self.folders[digest], self.paths[digest] = folder, str(path)
        return "{{" + digest + "}}"

    def _replace_in_config(self, data: bytes) -> bytes | None:
        """The configuration of a version that names files of this machine; None where it names none."""
        try:
            config = json.loads(data)
        except ValueError:
            return None
        if not isinstance(config, dict) or "ranker" not in config:
            return None
        values = {key: config.get(key) for key in PLACES}
        places = {k: self._pack_path(Path(v)) for k, v in values.items() if isinstance(v, str) and _is_place(v)}
        settings = config.get("settings")
        specs = settings.get("rankers") if isinstance(settings, dict) else None
        packed_specs = [self.pack(str(s)) for s in specs or ()]
        if not places and packed_specs == (specs or []):
            return None
        own = {"settings": {**settings, "rankers": packed_specs}} if specs and isinstance(settings, dict) else {}
        return json.dumps({**config, **places, **own}, indent=2).encode() + b"\n"


def _is_place(path: str | Path) -> bool:
    return is_file(path) or is_folder(path)


def _is_intact(files: Mapping[str, bytes]) -> bool:
    """Whether the configuration is the one that the card tells of; a damaged one travels as it is, and is refused."""
    try:
        digest = json.loads(files[CARD]).get("config_sha256")
    except (KeyError, ValueError, AttributeError):
        return True
    return digest in (None, hashlib.sha256(files.get(CONFIG, b"")).hexdigest())


def is_bound_here(spec: str, versions: Mapping[str, Path]) -> bool:
    """Whether it, or a part of it, is a run, which is read for all questions at once, or sends texts to an address,
    whose key and limits belong to this machine. Raises BadSetting."""
    name, _ = split_spec(spec)
    is_run = spec.partition(":")[0] == "run" or find_kind_of_file(Path(versions.get(name, name))) == "run"
    return is_run or bool(list_destinations(spec)) or any(is_bound_here(p.spec, versions) for p in list_parts(spec))


def unpack(spec: str, fetch: Callable[[str], Folder], root: Path) -> str:
    """The spec with directories below `root` in place of digests. `fetch` gives the folder of a digest that is not
    there yet."""
    return re.sub(r"\{\{([0-9a-f]{64})\}\}", lambda match: str(_unpack_folder(match[1], fetch, root)), spec)


def restore_paths(text: str, paths: Mapping[str, str], root: Path) -> str:
    """A message of a node with the paths that its reader knows."""
    for digest, path in paths.items():
        text = text.replace(str(root / digest / Path(path).name), path)
    return text


def _unpack_folder(digest: str, fetch: Callable[[str], Folder], root: Path) -> Path:
    target = root / digest
    if not target.is_dir():
        folder = fetch(digest)
        with tempfile.TemporaryDirectory(prefix=".", dir=root, ignore_cleanup_errors=True) as building:
            own = Path(building) / digest / folder.name
            for name, data in folder.files.items():
                (own / name).parent.mkdir(parents=True, exist_ok=True)
                (own / name).write_bytes(data)
            _place_config(own, fetch, root)
            try:
                own.parent.rename(target)
            except OSError:  # another worker was quicker
                if not target.is_dir():
                    raise
    os.utime(target)
    [own] = target.iterdir()
    return own


def _place_config(folder: Path, fetch: Callable[[str], Folder], root: Path) -> None:
    """Write directories in place of digests, and the new hash on the card."""
    config = folder / CONFIG
    text = config.read_text(encoding="utf-8") if config.is_file() else ""
    if "{{" not in text or "ranker" not in (old := json.loads(text)):
        return
    new = _replace_in(old, lambda value: unpack(value, fetch, root))
    config.write_text(json.dumps(new, indent=2) + "\n", encoding="utf-8")
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    if "config_sha256" in card:
        (folder / CARD).write_text(json.dumps({**card, "config_sha256": sha256(config)}), encoding="utf-8")


def _replace_in(value: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_replace_in(v, replace) for v in value]
    return {k: _replace_in(v, replace) for k, v in value.items()} if isinstance(value, dict) else value


def make_root(folder: Path | None, now: float | None = None) -> Path:
    """Where a node unpacks: in `folder`, or in one of this user alone in the system's temporary folder, of which what
    nobody used for a week is removed. Raises BadSetting where another user has made that."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    user = os.getuid() if hasattr(os, "getuid") else 0
    root = Path(tempfile.gettempdir()) / f"as2-rankers-{user}"
    root.mkdir(mode=0o700, exist_ok=True)
    status = root.lstat()
    if status.st_uid != user or not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o022:
        raise BadSetting(f"{root} is not this user's alone: remove it, or set TMPDIR")
    oldest = (time.time() if now is None else now) - MAX_AGE_SECONDS
    for path in root.iterdir():
        if path.stat().st_mtime < oldest:
            shutil.rmtree(path, ignore_errors=True)
    return root
