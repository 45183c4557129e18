"""Files of office programs: archives of XML, or the older format, into which a password puts a new file, too."""

import io
import zipfile

from as2core.data.unpacking import Quota

OLD_FORMAT = bytes.fromhex("d0cf11e0a1b11ae1")  # how such a file begins
MAX_XML_BYTES = 100_000_000  # a thousand pages have some 10 MB; parsed, it takes thirty times as much


def require_bounded_size(content: bytes) -> None:
    """Raises TooLarge, or BadZipFile. What a part of the archive declares is all that is unpacked of it."""
    quota = Quota(MAX_XML_BYTES)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        packed = 0
        for part in archive.infolist():
            if part.filename.endswith((".xml", ".rels")):
                packed += part.compress_size
                quota.count(part.file_size, packed)
