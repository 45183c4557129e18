"""A version as one file: a zip of the directory that an export writes, and back.

What comes back in may come from anywhere. Nothing of it is run or unpickled; only files of the kinds that exports write
are unpacked, into a folder that is gone afterwards, and it may stand on no model but one that is in use here.
"""

from __future__ import annotations

import json
import shutil
import stat
import tempfile
import zipfile
import zlib
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from app.services import people, version_care, versions
from app.services.views import VersionView
from app.services.workbench import Workbench
from as2core.errors import BadSetting, DamagedModel, UnreadableFile
from as2core.export import FORMATS

__all__ = ["FORMATS", "bring_in", "pack"]

MOST_BYTES, MOST_FILES = 600_000_000, 200
KINDS = (".json", ".jinja", ".md", ".model", ".onnx", ".py", ".safetensors", ".txt")  # what exports hold


def pack(wb: Workbench, name: str, to: str) -> bytes:
    """A zip of one folder, called as the version. Raises as `version_care.export`."""
    out = BytesIO()
    with tempfile.TemporaryDirectory(prefix="as2-export-") as made:
        folder = Path(made) / versions.get_version(wb, name).name
        files = version_care.export(wb, name, to, folder)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # weights hardly get smaller
            for file in files:
                archive.write(file, f"{folder.name}/{file.name}")
    return out.getvalue()


def bring_in(wb: Workbench, file: BinaryIO, *, called: str, name: str, by: int | None = None) -> VersionView:
    """Enter the version in a zip; `called` is what people know the file as.

    Raises UnreadableFile for what is no zip or one to stay away from, BadSetting where it holds no version, or one that
    stands on models this workbench does not have; else as `version_care.bring_in`.
    """
    with wb.write() as s:
        people.allow(s, by)
    with tempfile.TemporaryDirectory(prefix="as2-import-") as unpacked:
        try:
            _unpack(file, Path(unpacked))
            folder = _version_in(Path(unpacked))
            _stands_on_ours(wb, folder)
            return version_care.bring_in(wb, folder, name=name, source=called, by=by)
        except (UnreadableFile, BadSetting, DamagedModel) as e:
            raise type(e)(f"{called}: {str(e).replace(f'{unpacked}/', '')}") from e


def _unpack(file: BinaryIO, folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            for member in members:
                _check(member)
            size = sum(m.file_size for m in members)
            if size > MOST_BYTES or len(members) > MOST_FILES:
                raise UnreadableFile(
                    f"it would unpack to {size / 1e6:,.0f} MB in {len(members):,} files, more than a version has "
                    f"({MOST_BYTES / 1e6:,.0f} MB, {MOST_FILES} files): use `as2 versions import`"
                )
            for member in members:
                path = PurePosixPath(member.filename)
                if path.suffix in KINDS and not path.name.startswith("."):  # what macOS adds is none
                    target = folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(member) as source, target.open("wb") as out:  # reads no more than file_size
                        shutil.copyfileobj(source, out)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as e:
        raise UnreadableFile(f"it is no zip that can be unpacked ({e}): give one that Export made") from e


def _check(member: zipfile.ZipInfo) -> None:
    """Raises UnreadableFile for a member that would land elsewhere, is none that exports write, or points away."""
    name, kind = member.filename, stat.S_IFMT(member.external_attr >> 16)
    path = PurePosixPath(name)
    if path.is_absolute() or "\\" in name or ":" in name:
        raise UnreadableFile(f"{name!r} in it has an absolute path: zip the version's folder")
    if ".." in path.parts:
        raise UnreadableFile(f"{name!r} in it leads out of the folder: zip the version's folder")
    if kind not in (0, stat.S_IFREG):
        raise UnreadableFile(f"{name!r} in it is a link, not a file: zip the files themselves")
    if path.suffix in (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth"):
        raise UnreadableFile(f"{name!r} in it may be a pickle, which could run anything: weights come as safetensors")


def _version_in(unpacked: Path) -> Path:
    """The directory that holds the version, at the top or below."""
    found = sorted({p.parent for n in ("config.json", "model.onnx") for p in unpacked.rglob(n)})
    if len(found) != 1:
        what = "no version" if not found else "several versions"
        raise BadSetting(f"it holds {what}: give a zip of one directory that as2 exported")
    return found[0]


def _stands_on_ours(wb: Workbench, folder: Path) -> None:
    """Raises BadSetting for a version whose configuration names a backbone, ranker or file that is not in use here:
    loading it would fetch or read whatever the file's author chose. Read as `as2core.export.import_ranker` does."""
    from as2core.export.onnx_file import FILE, backbone_of
    from as2core.nn.backbone import DEFAULT_BACKBONE

    config = _config(folder)
    if (folder / FILE).is_file():
        backbone = backbone_of(folder / FILE)
    elif config.get("model_type") == "as2-cross-encoder":
        backbone = dict(config.get("as2") or {}).get("backbone")
    elif config.get("ranker") == "fusion" or config.get("vectors"):
        raise BadSetting("it stands on other files of its machine: bring it in with `as2 versions import`")
    else:
        backbone = config.get("backbone")
    ours = [DEFAULT_BACKBONE, *(_config(Path(v.path)).get("backbone") for v in versions.list_versions(wb, None))]
    if backbone not in ours:
        raise BadSetting(
            f"it stands on {backbone!r}, which no version here does: bring it in with `as2 versions import`"
        )


def _config(folder: Path) -> dict:
    try:
        read = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}
