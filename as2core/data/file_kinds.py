"""What a file is by its content, where its name says another kind: a PDF named .txt would be read as text."""

import io
import zipfile

from as2core.data.office_files import OLD_FORMAT
from as2core.data.unpacking import ZIP_MAGIC
from as2core.errors import UnreadableFile

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
    "xl/workbook.xml": ((".xlsx", ".xlsm"), "an Excel workbook: name it .xlsx"),
}


def require_kind(suffix: str, content: bytes) -> None:
    """Raises UnreadableFile for an empty file, and for one that begins as another kind does."""
    if not content:
        raise UnreadableFile("the file is empty")
    for mark, (suffixes, what) in _MARKS.items():
        if content.startswith(mark) and suffix not in suffixes:
            raise UnreadableFile(f"by its content it is {what}")


def require_office_kind(suffix: str, content: bytes) -> None:
    """Raises UnreadableFile for a file of an office program under the suffix of another one."""
    if suffix not in _ARCHIVES:
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = {*archive.namelist()}
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError):  # damaged: the parser says how
        return
    for part, (suffixes, what) in _PARTS.items():
        if part in names and suffix not in suffixes:
            raise UnreadableFile(f"by its content it is {what}")
