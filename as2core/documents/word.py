"""A Word document (.docx) as plain text: mammoth makes a page of its styles, which is read as a web page is, but whole.

Left out are tables of contents, comments, text that was deleted under tracked changes, and the head and foot of the
pages. Notes stand at the end, without their marks in the text.
"""

import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from as2core.documents.blocks import Block, BlockKind, drop_title
from as2core.documents.html import page_blocks
from as2core.documents.office_files import explain_damage, require_bounded_size, require_new_format

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Word writes these names in any language; "Contents" and "Index Heading" are LibreOffice's.
_STYLES = """
p[style-name='Title'] => h1.title:fresh
p[style-name='heading 7'] => h6:fresh
p[style-name='heading 8'] => h6:fresh
p[style-name='heading 9'] => h6:fresh
p[style-name^='toc '] => !
p[style-name='TOC Heading'] => !
p[style-name^='Contents '] => !
p[style-name='Index Heading'] => !
"""
_MAX_HEADING_CHARS = 100  # of a bold line
_SENTENCE_ENDS = (".", "!", "?")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_CONTACT = re.compile(  # a street with its number, a postcode, a telephone, an address on the web
    rf"^\d+[a-z]?,? (?!{_MONTHS})[A-Z]|str(?:\.|a\u00dfe|asse) \d|\b[A-Z]{{1,2}}\d{{1,2}}[A-Z]? \d[A-Z]{{2}}\b|"
    r"\b\d{5}\b|\b(?i:tel|telephone|phone|fax)\b|@|\bwww\.|https?://"
)
_NOTE_MARKS = ".//sup[a[starts-with(@href, '#footnote-') or starts-with(@href, '#endnote-')]]"
_BACK_LINKS = ".//a[starts-with(@href, '#footnote-ref-') or starts-with(@href, '#endnote-ref-')]"


def word_blocks(content: bytes) -> tuple[str, list[Block], list[str]]:
    """`(title or "", blocks, lines that are the title if the file's name confirms one)`. The title is the paragraph
    styled as one, or the heading that the document begins with; it is not repeated in the blocks. A short bold line
    counts as a heading, the lowest, but one that an address follows is a letterhead and no title.

    Raises UnreadableFile when it is damaged, needs a password, or is of another format.
    """
    from lxml import html

    page = html.fragment_fromstring(_convert_to_html(content), create_parent="div")
    for mark in page.xpath(f"{_NOTE_MARKS} | {_BACK_LINKS}"):
        mark.drop_tree()
    bold_lines = set()
    for paragraph in page.iterchildren("p"):
        if _is_bold_line(paragraph):
            paragraph.tag = "h6"
            bold_lines.add(" ".join(paragraph.text_content().split()))
    titles = [" ".join(t.text_content().split()) for t in page.xpath("./h1[@class='title']")]
    blocks = page_blocks(page)
    title = next(filter(None, titles), "")
    if title or not blocks or (blocks[0].kind is BlockKind.HEADING and blocks[0].text not in bold_lines):
        title = title or (blocks[0].text if blocks else "")
        return title, drop_title(title, blocks), []
    lines = list(_list_title_lines(blocks))
    return _choose_unconfirmed(blocks, lines), blocks, lines


def _list_title_lines(blocks: Sequence[Block]) -> Iterator[str]:
    """Headings above the first sentence that are no letterhead."""
    for block, following in pairwise(blocks):
        if block.text.endswith(_SENTENCE_ENDS) or block.kind is BlockKind.PROGRAM:
            return
        if block.kind is BlockKind.HEADING and not _is_contact(following):
            yield block.text


def _choose_unconfirmed(blocks: Sequence[Block], lines: Sequence[str]) -> str:
    """The bold line that the document begins with or, below a letterhead, the only other heading; else ""."""
    first, *others = blocks
    if first.kind is not BlockKind.HEADING:
        return ""
    if not others or not _is_contact(others[0]):
        return first.text
    headings = [block.text for block in others if block.kind is BlockKind.HEADING]
    return headings[0] if len(headings) == 1 and headings[0] in lines else ""


def _is_contact(block: Block) -> bool:
    is_line = len(block.text) <= _MAX_HEADING_CHARS and not block.text.endswith(_SENTENCE_ENDS)
    return is_line and block.is_text and _CONTACT.search(block.text) is not None


def _convert_to_html(content: bytes) -> str:
    """The document as HTML. Raises UnreadableFile, TooLarge."""
    import mammoth

    require_new_format(content, "Word", ".docx")
    with explain_damage("a Word document", ".docx"):
        require_bounded_size(content)
        return mammoth.convert_to_html(io.BytesIO(content), style_map=_STYLES, convert_image=lambda image: []).value


def _is_bold_line(paragraph: "HtmlElement") -> bool:
    """Bold throughout, and no sentence: how headings look where no style was used."""
    text = paragraph.text_content().strip()
    is_short = 0 < len(text) <= _MAX_HEADING_CHARS and text[-1] not in ".!;,"
    return is_short and paragraph.find(".//br") is None and _is_bold(paragraph)


def _is_bold(element: "HtmlElement") -> bool:
    text = "".join(element.text_content().split())
    return bool(text) and text == "".join("".join(b.text_content() for b in element.iter("strong")).split())
