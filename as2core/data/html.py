"""A web page as plain text: its article, without menus and footers (trafilatura), block by block.

trafilatura splits short pages at every tag, so those are read as a whole by the same walk over the page's elements.
What the page hides is left out. A `<br>` ends a line where the text shows no sentence that goes on over it: in an
address, but not in prose that was broken to fit a width.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from as2core.data.definitions import name_definitions
from as2core.data.table_cells import CELL_END, name_cells
from as2core.errors import UnreadableFile

if TYPE_CHECKING:
    from lxml.etree import _Element
    from lxml.html import HtmlElement

_SHORT_PAGE_CHARS = 1500  # read as a whole
_SKIPPED_TAGS = {"script", "style", "nav", "header", "footer", "aside", "form", "template", "noscript", "svg", "head"}
_INLINE = set("a abbr b bdi cite code del em hi i ins kbd mark q ref s small span strong sub sup time u var".split())
_ITEMS = {"li", "item"}
_CELLS = {"td", "th", "cell"}
_BREAK = "\0"  # no page holds one
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


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
    _drop_hidden(page)
    for table in page.xpath("//table[not(.//table)]"):  # a table around others lays out the page
        _name_columns(table)
    for element in page.xpath("//dl"):
        name_definitions(element)
    title = page.findtext(".//title") or page.findtext(".//h1") or ""
    whole = _walk(page.find("body") if page.find("body") is not None else page)
    if len(whole) > _SHORT_PAGE_CHARS:
        article = trafilatura.bare_extraction(page, include_comments=False, fast=True)
        body = getattr(article, "body", None)
        if body is not None:
            whole = _walk(body) or whole
    return " ".join(title.split()), whole


def _drop_hidden(page: "HtmlElement") -> None:
    """Remove what the page hides, but not the text after it."""
    for element in page.xpath(".//body//*[@hidden or @style]"):  # many a page hides its body until its script has run
        is_hidden = (
            element.get("hidden", "until-found").lower() != "until-found"
        )  # a search in the page finds such text
        if is_hidden or _HIDING_STYLE.search(element.get("style", "")):
            element.drop_tree()


def _name_columns(table: "HtmlElement") -> None:
    """If the first row is a header, put its names before the cells of every row with as many cells, and drop it. A row
    of one cell is a title."""
    rows = [row for row in table.iter("tr") if len(_read_cells(row)) > 1]
    if len(rows) < 2 or not _is_header(rows[0]) or _is_header(rows[1]) or _has_wide_cell(rows[0]):
        return
    names = _read_cells(rows[0])
    fitting = [row for row in rows[1:] if len(_read_cells(row)) == len(names) and not _has_wide_cell(row)]
    for row in fitting:
        texts = name_cells(names, _read_cells(row))
        for element in list(row):
            row.remove(element)
        for text in texts:
            cell = row.makeelement("td")
            cell.text = text
            row.append(cell)
    if fitting:
        rows[0].drop_tree()


def _is_header(row: "HtmlElement") -> bool:
    """In a table's head, or of headings alone; the corner above the rows' own headings may be empty."""
    parent = row.getparent()
    cells = [cell for cell in row if cell.tag in _CELLS]
    is_in_head = parent is not None and parent.tag == "thead"
    return bool(cells) and (is_in_head or all(c.tag == "th" or not c.text_content().strip() for c in cells))


def _has_wide_cell(row: "HtmlElement") -> bool:
    """Over more than one column, which is not counted out: such a row stays as it is."""
    return any(cell.get("colspan", "1").strip() not in ("", "1") for cell in row if cell.tag in _CELLS)


def _read_cells(row: "HtmlElement") -> list[str]:
    return [" ".join(_walk(cell).split()) for cell in row if cell.tag in _CELLS]


def _walk(root: "_Element") -> str:
    """Blocks in order, "- " before list items, which stay together as one paragraph."""
    blocks: list[str] = []
    line: list[str] = []
    item = False
    cells = 0  # that are open

    def flush(*, next_is_item: bool = False) -> None:
        nonlocal item
        for text in _divide_at_breaks("".join(line)):
            if item and blocks and blocks[-1].startswith("- "):
                blocks[-1] += f"\n- {text}"
            else:
                blocks.append(f"- {text}" if item else text)
        line.clear()
        item = next_is_item

    def visit(element: "_Element") -> None:
        nonlocal cells
        tag = element.tag if isinstance(element.tag, str) else None
        if tag is not None and tag not in _SKIPPED_TAGS:
            is_cell = tag in _CELLS
            if tag in ("br", "lb"):
                line.append(" " if cells else _BREAK)
            elif is_cell and "".join(line).strip():
                line.append(CELL_END)
            cells += is_cell
            block = tag not in _INLINE and tag not in ("br", "lb") and not is_cell
            if block and not (item and tag == "p"):
                flush(next_is_item=tag in _ITEMS)
            line.append(element.text or "")
            for child in element:
                visit(child)
            if block:
                flush()
            cells -= is_cell
        if element is not root:
            line.append(element.tail or "")

    visit(root)
    flush()
    return "\n\n".join(blocks)


def _divide_at_breaks(text: str) -> Iterator[str]:
    """The lines of a text, white space made one; two breaks always divide, one where no sentence goes on over it."""
    line, is_apart = "", False
    for piece in (" ".join(part.split()) for part in text.split(_BREAK)):
        if not piece:
            is_apart = bool(line)
        elif line and not is_apart and _goes_on(line, piece):
            line += f" {piece}"
        else:
            yield from filter(None, [line])
            line, is_apart = piece, False
    yield from filter(None, [line])


def _goes_on(line: str, following: str) -> bool:
    """After a full stop a space is enough: the line's sentence ends there anyway."""
    return line[-1] in ".!?,;-\u2013" or following[0].islower()
