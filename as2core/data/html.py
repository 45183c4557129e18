"""A web page as plain text: its article, without menus and footers (trafilatura), block by block.

trafilatura splits short pages at every tag, so those are read as a whole by the same walk over the page's elements.
"""

import re
from typing import TYPE_CHECKING

from as2core.errors import UnreadableFile

if TYPE_CHECKING:
    from lxml.etree import _Element

_SHORT_PAGE_CHARS = 1500  # read as a whole
_SKIPPED = {"script", "style", "nav", "header", "footer", "aside", "form", "template", "noscript", "svg", "head"}
_INLINE = set("a abbr b bdi cite code del em hi i ins kbd mark q ref s small span strong sub sup time u var".split())
_ITEMS = {"li", "item"}


def html_text(content: bytes) -> tuple[str, str]:
    """`(title or "", plain text)`. Raises UnreadableFile when there is no page in it."""
    import trafilatura
    from lxml import etree, html

    try:
        page = trafilatura.load_html(content)
        if page is None:
            page = html.fromstring(content)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableFile(f"not a web page ({error})") from error
    title = page.findtext(".//title") or page.findtext(".//h1") or ""
    whole = _walk(page.find("body") if page.find("body") is not None else page)
    if len(whole) > _SHORT_PAGE_CHARS:
        article = trafilatura.bare_extraction(content, include_comments=False, fast=True)
        body = getattr(article, "body", None)
        if body is not None:
            whole = _walk(body) or whole
    return " ".join(title.split()), whole


def _walk(root: "_Element") -> str:
    """Blocks in order, "- " before list items, which stay together as one paragraph."""
    blocks: list[str] = []
    line: list[str] = []
    item = False

    def flush(*, next_is_item: bool = False) -> None:
        nonlocal item
        text = re.sub(r"\s+", " ", "".join(line)).strip()
        line.clear()
        if text and item and blocks and blocks[-1].startswith("- "):
            blocks[-1] += f"\n- {text}"
        elif text:
            blocks.append(f"- {text}" if item else text)
        item = next_is_item

    def visit(element: "_Element") -> None:
        tag = element.tag if isinstance(element.tag, str) else None
        if tag is not None and tag not in _SKIPPED:
            if tag in ("br", "lb"):
                line.append(" ")
            elif tag in ("td", "th", "cell") and "".join(line).strip():
                line.append(" | ")
            block = tag not in _INLINE and tag not in ("br", "lb", "td", "th", "cell")
            if block and not (item and tag == "p"):
                flush(next_is_item=tag in _ITEMS)
            line.append(element.text or "")
            for child in element:
                visit(child)
            if block:
                flush()
        if element is not root:
            line.append(element.tail or "")

    visit(root)
    flush()
    return "\n\n".join(blocks)
