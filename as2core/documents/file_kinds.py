"""What a file is by its content, where its name says another kind: a PDF named .txt would be read as text."""

import re

from as2core.documents.office_files import OLD_FORMAT, WORKBOOK_PART, list_parts
from as2core.errors import UnreadableFile
from as2core.sources.encodings import decode_start
from as2core.sources.unpacking import ZIP_MAGIC

_ARCHIVES = (".docx", ".pptx", ".xlsx", ".xlsm")
_MARKS = {  # how a file begins -> which suffixes it may have, and what it is
    b"%PDF-": ((".pdf",), "a PDF: name it .pdf"),
    ZIP_MAGIC: (
        _ARCHIVES,
        "a Word, PowerPoint or Excel file or a zip archive: name it .docx, .pptx or .xlsx, or unpack it",
    ),
    OLD_FORMAT: (
        (*_ARCHIVES, ".eml"),
        "of an old version of Office or locked with a password: save it as .docx, .pptx or .xlsx",
    ),
}
_PARTS = {  # of an archive -> which suffixes it may have, and what it is
    "word/document.xml": ((".docx",), "a Word document: name it .docx"),
    "ppt/presentation.xml": ((".pptx",), "a presentation: name it .pptx"),
    WORKBOOK_PART: ((".xlsx", ".xlsm"), "an Excel workbook: name it .xlsx"),
}
MAX_HEAD_BYTES = 4000  # of a web page, in which its first tag stands
WEB_PAGE = "is a web page by its content, and was read as one"
# possessive: comments can be divided in one way only, not in 2^n
_PAGE_START = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?><!--.*?-->\s*)*+<(?:!doctype\s+html|html)[\s>]", re.DOTALL | re.IGNORECASE
)


def is_web_page(suffix: str, content: bytes) -> bool:
    """Whether a file of text is a web page: it begins as a whole page does. One that shows tags later is text."""
    if suffix != ".txt":
        return False
    head = decode_start(content[:MAX_HEAD_BYTES])
    return _PAGE_START.match(head.decode("utf-8-sig", "ignore")) is not None


def require_kind(suffix: str, content: bytes) -> None:
    """Raises UnreadableFile for an empty file, and for one that begins as another kind does."""
    if not content:
        raise UnreadableFile("the file is empty")
    for mark, (suffixes, what) in _MARKS.items():
        if content.startswith(mark) and suffix not in suffixes:
            raise UnreadableFile(f"by its content it is {what}")


def require_office_kind(suffix: str, content: bytes) -> None:
    """Raises UnreadableFile for a file of an office program under the suffix of another one."""
    names = list_parts(content) if suffix in _ARCHIVES else ()
    for part, (suffixes, what) in _PARTS.items():
        if part in names and suffix not in suffixes:
            raise UnreadableFile(f"by its content it is {what}")
