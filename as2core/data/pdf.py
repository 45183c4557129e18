"""The text of a PDF's pages, by pypdf."""

import io
import logging
import re

from as2core.errors import UnreadableFile

_WORD_PREFIX = "Microsoft Word - "
# What a program writes where its author named nothing: a browser's empty page, the address of the one it printed.
_NO_TITLE = re.compile(r"about:blank|untitled|(?:https?|file):\S*|www\.\S*", re.IGNORECASE)
_BROKEN_WORD = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


def pdf_text(content: bytes) -> tuple[str, str]:
    """`(title or "", plain text)`. A title that says nothing about the document is none. A word divided at a line's end
    is joined, a sentence goes on over the page's end.

    Raises UnreadableFile when it is damaged, needs a password, or holds pictures only.
    """
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFile("it is locked with a password; save it without one")
        pages = [page.extract_text() for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except UnreadableFile:
        raise
    except Exception as error:  # pypdf raises whatever it meets in a damaged file, or in one locked with a certificate
        raise UnreadableFile(f"not a PDF that can be read ({str(error) or type(error).__name__})") from error
    text = ""
    for page in (_BROKEN_WORD.sub("", page).strip() for page in pages):
        if page:
            goes_on = text and text[-1] not in ".!?:" and page[0].islower()
            text += ("\n" if goes_on else "\n\n" if text else "") + page
    if not text:
        raise UnreadableFile("no text in it, only pictures (a scan?); run text recognition on it first")
    return _clean_title(title) if isinstance(title, str) else "", text  # a title may be null, as an object


def _clean_title(title: str) -> str:
    title = title.strip().removeprefix(_WORD_PREFIX)
    return "" if _NO_TITLE.fullmatch(title) else title
