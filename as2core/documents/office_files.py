"""Files of office programs: archives of XML, or the older format, into which a password puts a new file, too."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from as2core.errors import UnreadableFile
from as2core.sources.unpacking import Quota

OLD_FORMAT = bytes.fromhex("d0cf11e0a1b11ae1")  # how such a file begins
WORKBOOK_PART = "xl/workbook.xml"  # that every workbook has
MAX_XML_BYTES = 100_000_000  # a thousand pages have some 10 MB; parsed, it takes thirty times as much


def list_parts(content: bytes) -> frozenset[str]:
    """The names of an archive's parts; none of what is no archive, or a damaged one: its parser says how."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return frozenset(archive.namelist())
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError):
        return frozenset()


def require_new_format(content: bytes, program: str, suffix: str) -> None:
    """Raises UnreadableFile for the older format."""
    if content.startswith(OLD_FORMAT):
        raise UnreadableFile(
            f"it is of an old version of {program} or locked with a password; save it as {suffix} without one"
        )


def require_bounded_size(content: bytes) -> None:
    """Raises TooLarge, or BadZipFile. What a part of the archive declares is all that is unpacked of it."""
    quota = Quota(MAX_XML_BYTES)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        packed = 0
        for part in archive.infolist():
            if part.filename.endswith((".xml", ".rels")):
                packed += part.compress_size
                quota.count(part.file_size, packed)


@contextmanager
def explain_damage(kind: str, suffix: str) -> Iterator[None]:
    """What a library raises that meets something in a damaged file, whatever it is, becomes an UnreadableFile. `kind`:
    of the file, "a Word document"."""
    try:
        yield
    except (UnreadableFile, MemoryError, RecursionError):
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UnreadableFile(f"not {kind} that can be read ({reason}); save it as {suffix} anew") from error
