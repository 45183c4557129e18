"""Packed files, unpacked within limits.

A small file can hold any amount: 1.5 MB of gzip became 3.1 GB in memory. So what comes out is counted as it comes, in
bytes and in proportion to the packed bytes that it came from. Text seldom packs better than 20 to 1, deflate reaches
1,032 to 1.
"""

import gzip
import io
from collections.abc import Callable
from typing import IO, cast

from as2core.errors import UnreadableFile

GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
MAX_RATIO = 200  # unpacked bytes a packed one
RATIO_FREE_BYTES = 20_000_000  # unpacked, up to which the ratio is not looked at
MAX_WHOLE_BYTES = 500_000_000  # unpacked, of what is read into memory as a whole
MAX_LINE_BYTES = 100_000_000  # of what is read line by line


class TooLarge(UnreadableFile):
    """What a packed file holds, or a line of it, is beyond the limits."""


class Quota:
    """Counts what comes out of one packed source; raises TooLarge beyond the limits."""

    def __init__(self, max_bytes: int | None = None) -> None:
        self.max_bytes = max_bytes
        self.unpacked = 0

    def count(self, unpacked: int, packed: int) -> None:
        """`unpacked`: further bytes; `packed`: all that were read of the source so far."""
        self.unpacked += unpacked
        if self.max_bytes is not None and self.unpacked > self.max_bytes:
            raise TooLarge(f"it unpacks to more than {self.max_bytes / 1e6:,.0f} MB; unpack and divide it first")
        if self.unpacked > max(RATIO_FREE_BYTES, MAX_RATIO * packed):
            raise TooLarge(f"it unpacks to more than {MAX_RATIO} times its size, as no text does; unpack it first")


class _CountedReader(io.RawIOBase):
    """What `source` gives, counted."""

    def __init__(self, source: IO[bytes], quota: Quota, tell_packed: Callable[[], int]) -> None:
        self._source, self._quota, self._tell_packed = source, quota, tell_packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        content = self._source.read(len(buffer))
        self._quota.count(len(content), self._tell_packed())
        buffer[: len(content)] = content
        return len(content)


def open_gzip(file: IO[bytes], quota: Quota) -> IO[bytes]:
    """The content of a gzip file, read through `quota`."""
    packed = gzip.GzipFile(fileobj=file)
    return cast(IO[bytes], io.BufferedReader(_CountedReader(cast(IO[bytes], packed), quota, file.tell), 1 << 14))


def copy_member(source: IO[bytes], target: IO[bytes], packed_bytes: int, quota: Quota) -> None:
    """Unpack a member of an archive that is packed in so many bytes, through `quota`, which others may share."""
    before = quota.unpacked
    while content := source.read(1 << 18):
        if quota.unpacked == before and content.startswith(GZIP_MAGIC):
            raise TooLarge("a file in it is packed once more; unpack it first")
        quota.count(len(content), packed_bytes)
        if quota.unpacked - before > max(RATIO_FREE_BYTES, MAX_RATIO * packed_bytes):
            raise TooLarge("a file in it unpacks to far more than its size, as no text does; unpack it first")
        target.write(content)
