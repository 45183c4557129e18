"""What every command checks of the files it is to write, before hours of work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from as2core.data.source import is_file, is_folder
from as2core.errors import BadSetting


def check_outputs(outputs: Sequence[Path | None], inputs: Sequence[str | Path | None] = ()) -> None:
    """Raises BadSetting for a file that cannot be written, that is read by the same command, or that would be written
    twice. `inputs` may be specs and names that are no files."""
    files = [file for file in outputs if file is not None]
    sources = list(_list_sources(inputs))
    for i, file in enumerate(files):
        if is_folder(file):
            raise BadSetting(f"{file} is a folder: name a file in it")
        if not is_folder(file.parent):
            raise BadSetting(f"{file}: there is no folder {file.parent}")
        if file.exists() and not is_file(file):  # a device, such as /dev/null
            continue
        if any(_is_same(file, other) for other in files[:i]):
            raise BadSetting(f"{file} would be written twice: give each output a file of its own")
        if any(_is_same(file, source) or _is_in(file, source) for source in sources):
            raise BadSetting(f"{file} is read by this command, too, and would be lost: write to another file")


def check_output_folder(folder: Path) -> None:
    """Raises BadSetting unless it is empty or not there yet."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadSetting(f"{folder} is there already and not an empty folder: give a new folder")


def _list_sources(inputs: Sequence[str | Path | None]) -> Iterator[Path]:
    """The files and folders among the inputs; a shipped set is a file, too."""
    from as2core.data.catalog import SHIPPED_SETS, find_shipped

    for name in filter(None, inputs):
        path = find_shipped(str(name)) if str(name) in SHIPPED_SETS else Path(name)
        if is_file(path) or is_folder(path):
            yield path


def _is_same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def _is_in(file: Path, folder: Path) -> bool:
    """Whether it is a file of a folder that is read as a whole."""
    return is_folder(folder) and file.exists() and folder.resolve() in file.resolve().parents
