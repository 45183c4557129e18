"""The text of a PDF's pages, by pypdf, without the head and the foot that they repeat: "- 12 -" answers nothing, and
would stand within a sentence that goes on over the page's end."""

import io
import logging
import re
from collections import Counter
from typing import TYPE_CHECKING

from as2core.documents.line_ends import join_divided_words
from as2core.documents.soft_hyphens import drop_soft_hyphens
from as2core.errors import UnreadableFile

if TYPE_CHECKING:
    from pypdf import PageObject

_WORD_PREFIX = "Microsoft Word - "
# What a program writes where its author named nothing: a browser's empty page, the address of the one it printed, the
# file that was made into the PDF.
_NO_TITLE = re.compile(
    r"about:blank|untitled|(?:https?|file):\S*|www\.\S*|\S[^\n]*\.(?:docx?|dvi|fm|html?|indd|odt|p65|pages|pdf|pmd|pptx?|"
    r"pub|qxd|qxp|rtf|tex|txt|wpd|xlsx?)",
    re.IGNORECASE,
)
MIN_REPEATS, MIN_REPEATING_SHARE = 3, 1 / 3  # left and right pages may differ, and chapters
MAX_HEAD_LINES = 3  # also of a foot
_PAGE_NUMBER = re.compile(r"\W*(?:page|p\.?)?\s*\d+(?:\s*(?:of|/)\s*\d+)?\W*", re.IGNORECASE)
_PAGE_OF = re.compile(r"\bpage\s*\d+\s*(?:of|/)\s*\d", re.IGNORECASE)
# What Chrome and Firefox print around each page: its number with the address or the time, and a line that goes with it.
_TIME = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? \d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[AP]M)?"
_PRINT_LINES = (
    (re.compile(r"(?:https?://|file://|about:)\S* \d+/\d+"), re.compile(rf"{_TIME}(?: .*)?", re.IGNORECASE)),
    (re.compile(rf"\d+ of \d+ {_TIME}", re.IGNORECASE), re.compile(r"(?:.* )?(?:https?|file)://\S*")),
)
_PAGE_OF_ALONE = re.compile(r"\W*page \d+ ?(?:of|/) ?\d+\W*", re.IGNORECASE)
_COUNTER = re.compile(r"(?<![\d.,])\d{1,5}(?![\d.,]*\d)")
_Key = tuple[str, int]


def pdf_text(content: bytes) -> tuple[str, str]:
    """`(title or "", plain text)`. A title that says nothing about the document is none. A word divided at a line's end
    is joined, a sentence goes on over the page's end. Of the words in the pages' heads and feet the first page's stay.

    Raises UnreadableFile when it is damaged, needs a password, or holds pictures only.
    """
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFile("it is locked with a password; save it without one")
        pages = [_drop_print_lines(_read_page(page)) for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except UnreadableFile:
        raise
    except Exception as error:  # pypdf raises whatever it meets in a damaged file, or in one locked with a certificate
        raise UnreadableFile(f"not a PDF that can be read ({str(error) or type(error).__name__})") from error
    text = ""
    for page in (page.strip() for page in _drop_heads_and_feet(pages)):
        if page:
            goes_on = text and text[-1] not in ".!?:" and page[0].islower()
            text += ("\n" if goes_on else "\n\n" if text else "") + page
    if not text:
        raise UnreadableFile("no text in it, only pictures (a scan?); run text recognition on it first")
    clean_title = _clean_title(title) if isinstance(title, str) else ""  # it may be null, as an object
    return clean_title, join_divided_words(text, is_print=True)


def _read_page(page: "PageObject") -> str:
    drop_soft_hyphens(page)
    return page.extract_text()


def _drop_print_lines(page: str) -> str:
    """Without what a browser prints around it, and without "Page 1 of 1": a single page repeats nothing."""
    lines = page.strip().split("\n")
    ends = [i for i in range(len(lines)) if i < MAX_HEAD_LINES or i >= len(lines) - MAX_HEAD_LINES]
    texts = {i: " ".join(lines[i].split()) for i in ends}
    patterns = [_PAGE_OF_ALONE]
    for number, beside in _PRINT_LINES:
        if any(map(number.fullmatch, texts.values())):
            patterns += number, beside
    print_lines = {i for i, text in texts.items() if any(p.fullmatch(text) for p in patterns)}
    return "\n".join(line for i, line in enumerate(lines) if i not in print_lines)


def _drop_heads_and_feet(pages: list[str]) -> list[str]:
    """Without the first and last lines that pages have in common, a page's number aside. Their words come once after
    the last page, since an address may be among them; but a head of one line may be the title: the first page keeps it.
    """
    lines = [page.strip().split("\n") for page in pages]
    least = max(min(MIN_REPEATS, max(2, len(pages))), len(pages) * MIN_REPEATING_SHARE)
    describe = _describe_line if len(pages) >= MIN_REPEATS else _describe_line_of_two
    feet: dict[_Key, str] = {}
    first_head: list[str] = []
    for end in (0, -1):
        for _ in range(MAX_HEAD_LINES):
            keys = [describe(page[end], number) if page else [] for number, page in enumerate(lines)]
            counts = Counter(key for of_page in keys for key in of_page)
            for number, (page, of_page) in enumerate(zip(lines, keys, strict=True)):
                key = next((key for key in of_page if counts[key] >= least), None)
                is_number = key is not None and _PAGE_NUMBER.fullmatch(page[end])
                if key is None:
                    continue
                line = page.pop(end)
                if end and not is_number:
                    feet.setdefault(key, line)
                elif number == 0 and not is_number:
                    first_head.append(line)
    texts = ["\n".join(page) for page in lines]
    if len(first_head) == 1:
        texts[0] = f"{first_head.pop()}\n{texts[0]}"
    return [*texts, "\n\n".join([*first_head, *reversed(feet.values())])]


def _describe_line(line: str, page: int) -> list[_Key]:
    """What a line of another page has to share with this one to be the same head or foot: its words, or all but a
    number that counts the pages. An amount below each page's list counts none, and a line of prose is neither."""
    text = " ".join(line.split())
    has_words = re.search(r"[^\W\d_]", text) is not None
    if has_words and (text[-1] in ".!?,;:" or text[0].islower()):
        return []
    counters = [(f"{text[: m.start()]}#{text[m.end() :]}", int(m[0]) - page) for m in _COUNTER.finditer(text)]
    return [*([(text, 0)] if has_words else []), *counters]


def _describe_line_of_two(line: str, page: int) -> list[_Key]:
    """Of a document of two pages: the same words, or those with "Page 1 of 2". Other numbers may go on from page to
    page."""
    is_number = _PAGE_OF.search(line) is not None
    return [key for key in _describe_line(line, page) if any(map(str.isalpha, key[0])) and ("#" in key[0]) == is_number]


def _clean_title(title: str) -> str:
    title = title.strip().removeprefix(_WORD_PREFIX)
    return "" if _NO_TITLE.fullmatch(title) else title
