"""Text files in the encodings that programs save them in: UTF-8, UTF-16 with its mark, and Windows-1252."""

from as2core.errors import UnreadableFile
from as2core.sources.content import read_text
from as2core.sources.unpacking import TooLarge

UTF_16_MARKS = b"\xff\xfe", b"\xfe\xff"


def decode_text(content: bytes) -> str:
    """UTF-8, or UTF-16 with its mark, or else Windows-1252, which older editors wrote. Raises UnreadableFile."""
    if content.startswith(UTF_16_MARKS):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError as error:
            message = f"it is marked as UTF-16, but its byte {error.start + 1:,} is not: save it as UTF-8"
            raise UnreadableFile(message) from error
    try:
        return read_text(content).replace("\x00", "")
    except TooLarge:
        raise
    except UnreadableFile:
        if b"\x00" in content:
            raise UnreadableFile("it holds bytes that are not text") from None
        return content.decode("cp1252", "replace")


def decode_start(start: bytes) -> bytes:
    """The beginning of a text file as UTF-8 where it is marked as UTF-16."""
    return start.decode("utf-16", "ignore").encode() if start.startswith(UTF_16_MARKS) else start


def is_utf_8(content: bytes) -> bool:
    """Whether all of it is."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
