"""Files and folders on the disk: whether a path names one, what a file hashes to, and writing one so that nobody reads
half of it.
"""

import gzip
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from hashlib import file_digest
from pathlib import Path

PART = ".part"  # how the name of what is being written ends
ABANDONED_SECONDS = 3600


def is_file(path: str | Path) -> bool:
    """Whether there is a file; False for a text that no system takes as a path, such as one that is too long."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | Path) -> bool:
    """As `is_file`."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def sha256(path: Path) -> str:
    """Of the file as it is, not unpacked, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def match_mode(folder: Path, file: Path) -> None:
    """Let those who may read `file`, written by this process's umask, read `folder` and all files in it, too: temporary
    folders and what safetensors writes are the owner's alone, and a container's user has to read the models."""
    mode = file.stat().st_mode & 0o666
    for path in folder.iterdir():
        path.chmod(mode)
    folder.chmod(mode | (mode & 0o444) >> 2)


def write_text(text: str, path: str | Path) -> None:
    """Write UTF-8, the same bytes on every system."""
    with open_writer(path) as write:
        write(text)


@contextmanager
def open_writer(path: str | Path) -> Iterator[Callable[[str], object]]:
    """Gives a function that writes text. The file appears as a whole when the block ends without an error; ".gz" is
    packed. A pipe or a device, such as /dev/null, is written into and not replaced."""
    path = Path(path)
    with (
        replace_file(path) as part,
        part.open("wb") as raw,  # packed without time and name: the same content gives the same bytes
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw as out,
    ):
        yield lambda text: out.write(text.encode("utf-8"))


def remove_abandoned_parts(path: Path) -> None:
    """Of files or folders that should have become this one, whose process was killed: nobody writes to them."""
    for left in path.parent.glob(f".{escape(path.name)}.*{PART}"):
        with suppress(OSError):  # another process may remove it at this moment
            if time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Gives a path beside it to write to, of this call alone, which takes its place when the block ends without an
    error: nobody reads half of a file. A pipe or a device is given itself."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        yield path
        return
    remove_abandoned_parts(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
