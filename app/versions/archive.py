"""A version as one file: a zip of the directory that an export writes, and back.

An imported file may come from anywhere. Nothing of it is run or unpickled; only files of the kinds that exports write
are unpacked, into a temporary folder, and it may depend only on a backbone that is in use here.
"""

import re
import stat
import tempfile
import zipfile
import zlib
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from app.versions import management, registry
from app.versions.directory import read_json
from app.versions.registry import CASCADE, VersionView
from app.workbench import people
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting, DamagedModel, UnreadableFile
from as2core.export import FORMATS
from as2core.sources.unpacking import MAX_RATIO, RATIO_FREE_BYTES
from as2core.types import Json

__all__ = ["FORMATS", "export_zip", "import_zip", "infer_name"]

MAX_BYTES, MAX_FILES = 600_000_000, 200  # unpacked
SUFFIXES = (".json", ".jinja", ".md", ".model", ".onnx", ".py", ".safetensors", ".txt")  # what exports hold


def export_zip(wb: Workbench, name: str, to: str, *, depth: int | None = None, by: int | None = None) -> bytes:
    """A zip of one folder with the version's name. `depth` and what is raised as in `management.export`."""
    out = BytesIO()
    with tempfile.TemporaryDirectory(prefix="as2-export-") as temporary:
        folder = Path(temporary) / registry.get_version(wb, name).name
        files = management.export(wb, name, to, folder, depth=depth, by=by)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # weights hardly get smaller
            for file in files:
                archive.write(file, f"{folder.name}/{file.name}")
    return out.getvalue()


def list_exits(version: VersionView) -> tuple[int, ...]:
    """The layers that a cascade can be exported up to, () for another ranker."""
    settings = read_json(Path(version.path)).get("settings")
    exits = settings.get("exits") if isinstance(settings, dict) and version.kind == CASCADE else None
    return tuple(int(e) for e in exits if isinstance(e, int)) if isinstance(exits, list) else ()


def infer_name(filename: str) -> str:
    """The name of the version in a file that a page exported, where the browser may have numbered it."""
    stem = re.sub(r"( ?\(\d+\))?\.zip$", "", filename, flags=re.IGNORECASE)
    return re.sub(rf"\.({'|'.join(FORMATS)})$", "", stem)


def import_zip(wb: Workbench, file: BinaryIO, *, filename: str, name: str, by: int | None = None) -> VersionView:
    """Import the version in a zip; `filename` is named in errors and on the card.

    Raises UnreadableFile for what is no zip or an unsafe one, BadSetting where it holds no version, or one that depends
    on models this workbench does not have; else as `management.import_version`.
    """
    with wb.write() as s:
        people.allow(s, by, "import a version")
    with tempfile.TemporaryDirectory(prefix="as2-import-") as root:
        try:
            _unpack(file, Path(root))
            folder = _find_version(Path(root))
            _check_backbone(wb, folder)
            return management.import_version(wb, folder, name=name, source=filename, by=by)
        except (UnreadableFile, BadSetting, DamagedModel) as e:
            raise type(e)(f"{filename}: {str(e).replace(f'{root}/', '')}") from e


def _unpack(file: BinaryIO, folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            for member in members:
                _check(member)
            size = sum(m.file_size for m in members)
            if size > MAX_BYTES or len(members) > MAX_FILES:
                raise UnreadableFile(
                    f"it would unpack to {size / 1e6:,.0f} MB in {len(members):,} files, more than a version has "
                    f"({MAX_BYTES / 1e6:,.0f} MB, {MAX_FILES} files): use `as2 versions import`"
                )
            if size > max(RATIO_FREE_BYTES, MAX_RATIO * sum(m.compress_size for m in members)):
                raise UnreadableFile(
                    f"it would unpack to {size / 1e6:,.0f} MB, far more than its size, as no weights do"
                )
            for member in members:
                path = PurePosixPath(member.filename)
                if path.suffix in SUFFIXES and not path.name.startswith("."):  # not what macOS adds
                    archive.extract(member, folder)  # reads no more than file_size
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as e:
        raise UnreadableFile(f"it is no zip that can be unpacked ({e}): give one that Export made") from e


def _check(member: zipfile.ZipInfo) -> None:
    """Raises UnreadableFile for a member that would be unpacked elsewhere, is a link, or may be a pickle."""
    name, mode = member.filename, stat.S_IFMT(member.external_attr >> 16)
    path = PurePosixPath(name)
    if path.is_absolute() or "\\" in name or ":" in name:
        raise UnreadableFile(f"{name!r} has an absolute path: zip the version's folder")
    if ".." in path.parts:
        raise UnreadableFile(f"{name!r} leads out of the folder: zip the version's folder")
    if mode not in (0, stat.S_IFREG):
        raise UnreadableFile(f"{name!r} is a link, not a file: zip the files themselves")
    if path.suffix in (".bin", ".ckpt", ".pickle", ".pkl", ".pt", ".pth"):
        raise UnreadableFile(f"{name!r} may be a pickle, which could run anything: weights come as safetensors")


def _find_version(folder: Path) -> Path:
    """The directory that holds the version, at the top or below."""
    folders = sorted({p.parent for n in ("config.json", "model.onnx") for p in folder.rglob(n)})
    if len(folders) != 1:
        what = "no version" if not folders else "several versions"
        raise BadSetting(f"it holds {what}: give a zip of one directory that as2 exported")
    return folders[0]


def _check_backbone(wb: Workbench, folder: Path) -> None:
    """Raises BadSetting for a version whose configuration names a backbone, ranker or file that is not in use here:
    loading it would fetch or read what the file's author chose. Read as `as2core.export.import_ranker` does."""
    from as2core.export.onnx_file import FILE, read_backbone
    from as2core.nn.backbone import DEFAULT_BACKBONE

    config = read_json(folder)
    backbone: Json
    if (folder / FILE).is_file():
        backbone = read_backbone(folder / FILE)
    elif config.get("model_type") == "as2-cross-encoder":
        as2 = config.get("as2")
        backbone = as2.get("backbone") if isinstance(as2, dict) else None
    elif config.get("ranker") == "fusion" or config.get("vectors"):
        raise BadSetting("it depends on other files of its machine: import it with `as2 versions import`")
    else:
        backbone = config.get("backbone")
    ours = [DEFAULT_BACKBONE, *(read_json(Path(v.path)).get("backbone") for v in registry.list_versions(wb, None))]
    if backbone not in ours:
        raise BadSetting(f"its backbone {backbone!r} is used by no version here: import it with `as2 versions import`")
