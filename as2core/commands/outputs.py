"""What every command checks of the files it is to write, before hours of work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from as2core.errors import BadSetting
from as2core.system.files import is_file, is_folder, open_writer
from as2core.terminal import ignore_closed_pipe, print_note

DASH = "-"


def check_outputs(
    outputs: Sequence[Path | None], inputs: Sequence[str | Path | None] = (), *, goes_on: bool = False
) -> None:
    """Raises BadSetting for a file that cannot be written, that is read by the same command, or that would be written
    twice. `inputs` may be specs and names that are no files. A file that will be replaced is named before the work
    starts; `goes_on`: the command keeps what is in it."""
    files = [file for file in outputs if file is not None]
    sources = list(_list_sources(inputs))
    for i, file in enumerate(files):
        refuse_dash(file)
        if is_folder(file):
            raise BadSetting(f"{file} is a folder: name a file in it")
        if not is_folder(file.parent):
            raise BadSetting(f"{file}: there is no folder {file.parent}")
        if file.exists() and not is_file(file):  # a device, such as /dev/null
            continue
        _require_writable(file.parent)
        if any(_is_same(file, other) for other in files[:i]):
            raise BadSetting(f"{file} would be written twice: give each output a file of its own")
        if any(_is_same(file, source) or _is_in(file, source) for source in sources):
            raise BadSetting(f"{file} is read by this command, too, and would be lost: write to another file")
    for file in files:
        if is_file(file) and not goes_on:
            print_note(f"{file} is there already and will be replaced")


def check_output_folder(folder: Path) -> None:
    """Raises BadSetting unless it is empty or not there yet."""
    refuse_dash(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadSetting(f"{folder} is there already and not an empty folder: give a new folder")
    _require_writable(next(place for place in (folder, *folder.absolute().parents) if place.exists()))


def _require_writable(folder: Path) -> None:
    """Raises BadSetting. An output is written beside its place first, so its folder has to allow that."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadSetting(f"you may not write in the folder {folder}: give another one")


def refuse_dash(path: Path | None) -> None:
    """Raises BadSetting for `-`, where standard output cannot take what is written."""
    if is_dash(path):
        raise BadSetting("- is standard output, which this output cannot go to: name a file (./- is one of that name)")


def is_dash(path: Path | None) -> bool:
    """Whether standard output is meant."""
    return str(path) == DASH


def open_output(file: Path) -> AbstractContextManager[Callable[[str], object]]:
    """A function that writes text into the file, or for `-` to standard output as it is at this call."""
    if not is_dash(file):
        return open_writer(file)
    stdout = sys.stdout

    def write(text: str) -> None:
        with ignore_closed_pipe(stdout):
            stdout.buffer.write(text.encode("utf-8"))

    return nullcontext(write)


def _list_sources(inputs: Sequence[str | Path | None]) -> Iterator[Path]:
    """The files and folders among the inputs; a shipped set is a file, too."""
    from as2core.data.catalog import SHIPPED_SETS, find_shipped

    for name in inputs:
        if not name:
            continue
        path = find_shipped(str(name)) if str(name) in SHIPPED_SETS else Path(name)
        if is_file(path) or is_folder(path):
            yield path


def _is_same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def _is_in(file: Path, folder: Path) -> bool:
    """Whether it is a file of a folder that is read as a whole."""
    return is_folder(folder) and file.exists() and folder.resolve() in file.resolve().parents
