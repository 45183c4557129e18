"""A web page as plain text: its article, without menus and footers, block by block.

trafilatura tells which text is the article; the element of the page around it is read, since trafilatura itself drops
most headings of manuals and some of their paragraphs. Of a short page it would take any piece: there the element that
the page marks as its own text is read, or all. Lists of links are left out, as is what the page hides. A `<br>` ends a
line where the text shows no sentence that goes on over it: in an address, but not in prose that was broken to fit a
width.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import accumulate
from typing import TYPE_CHECKING

from as2core.documents.blocks import Block, BlockKind, drop_title, join_blocks
from as2core.documents.boilerplate import drop_boilerplate
from as2core.documents.definitions import TERM, name_definitions
from as2core.documents.office_pages import mark_office_page
from as2core.documents.page_links import drop_links
from as2core.documents.page_parts import (
    HEADING_TAGS,
    drop_controls,
    drop_hidden,
    drop_marks,
    drop_parts_around,
    find_main,
    find_title,
)
from as2core.documents.programs import is_program, read_program
from as2core.documents.table_cells import CELL_END, name_cells
from as2core.errors import UnreadableFile

if TYPE_CHECKING:
    from lxml.etree import _Element
    from lxml.html import HtmlElement

_SHORT_PAGE_CHARS = 1500  # read as a whole
_SKIPPED_TAGS = set(
    """script style nav header footer aside form template noscript svg head select textarea iframe object audio
    video canvas""".split()
)
_INLINE = set(
    """a abbr acronym b bdi bdo big cite code data del dfn em font hi i img ins kbd label mark nobr output q ref s samp
    small span strike strong sub sup time tt u var wbr""".split()
)
_BOX_NAMES = set(
    "note tip hint info important warning caution attention danger".split()
)  # of a box in a section: they say nothing by themselves
_ITEMS = {"li", "item"}
_CELLS = {"td", "th", "cell"}
_MIN_BLOCK_CHARS = 20  # of a text by which the article is located
_MIN_ARTICLE_CHARS = 500  # less may be any piece of the page
_MIN_ARTICLE_SHARE = 0.9  # of the article's text, in the element that is read
_MIN_PART_CHARS, _MIN_PART_SHARE = 100, 0.5  # of what is around an inner element, to be a part
_BREAK = "\0"  # no page holds one

_Kind = tuple[BlockKind, int]  # a heading's with its level


def html_blocks(
    content: bytes, *, prepare_mail: Callable[["HtmlElement"], None] | None = None
) -> tuple[str, list[Block]]:
    """`(title or "", blocks)`. `prepare_mail` changes the page first: of a mail, which has no site around its text, no
    article is looked for. Raises UnreadableFile when there is no page in it."""
    import trafilatura
    from lxml import etree, html

    try:
        page = trafilatura.load_html(content)
        if page is None:
            page = html.fromstring(content)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableFile(f"not a web page ({error})") from error
    if prepare_mail is not None:
        prepare_mail(page)
    drop_hidden(page)
    drop_controls(page)
    mark_office_page(page)
    drop_marks(page)
    title = find_title(page)
    root = page.find("body") if page.find("body") is not None else page
    whole = page_blocks(root)
    if prepare_mail is None:
        is_short = len(join_blocks(whole)) <= _SHORT_PAGE_CHARS
        root = find_main(root) if is_short else _find_article(root, deepcopy(page))
    drop_parts_around(root)
    drop_links(root)
    article_blocks = _walk(root)
    has_text = any(block.kind is not BlockKind.HEADING for block in article_blocks)
    blocks = drop_boilerplate(title, article_blocks if has_text else whole)
    return title, drop_title(title, blocks, (BlockKind.PROSE,))


def page_blocks(root: "HtmlElement") -> list[Block]:
    """All that is in an element, which is changed: cells of tables get the names of their columns, definitions their
    terms."""
    for table in root.xpath("descendant-or-self::table[not(.//table)]"):  # a table around others lays out the page
        _join_cells(table)
        _name_columns(table)
    for element in root.xpath("descendant-or-self::dl"):
        name_definitions(element)
    return _walk(root)


def _find_article(root: "HtmlElement", page: "HtmlElement") -> "HtmlElement":
    """The element of `root` that holds the page's article, `root` where none is found. `page` is used up."""
    import trafilatura

    article = trafilatura.bare_extraction(page, include_comments=False, fast=True)
    body = getattr(article, "body", None)
    return root if body is None else _find_element(root, ["".join(text.split()) for text in body.itertext()])


def _find_element(root: "HtmlElement", texts: list[str]) -> "HtmlElement":
    """The innermost element that holds nearly all of the article's `texts`, which are without white space, and leaves
    out no other part of the article, as the section before a long one."""
    whole, spans = _locate_elements(root)
    places: list[tuple[int, int]] = []  # where a text begins, its length
    end = 0
    for text in (t for t in texts if len(t) >= _MIN_BLOCK_CHARS):
        start = whole.find(text, end)
        if start >= 0:
            places.append((start, len(text)))
            end = start + len(text)
    starts, chars = [start for start, _ in places], [0, *accumulate(length for _, length in places)]

    def count_before(place: int) -> int:
        """Characters of the article before that place of the page."""
        i = bisect_left(starts, place)
        return chars[i] - max(0, sum(places[i - 1]) - place) if i else 0

    def count_chars(element: "HtmlElement") -> tuple[int, int]:
        """Of the article in the element, and of all that is in it."""
        first, last = spans[element]
        return count_before(last) - count_before(first), last - first

    def is_enough(inner: "HtmlElement") -> bool:
        (article, all_), (inner_article, inner_all) = count_chars(root), count_chars(inner)
        part = article - inner_article  # that would be left out
        is_part = part >= _MIN_PART_CHARS and part >= _MIN_PART_SHARE * (all_ - inner_all)
        return inner_article >= _MIN_ARTICLE_SHARE * chars[-1] and not is_part

    inner: HtmlElement | None = root if chars[-1] >= _MIN_ARTICLE_CHARS else None
    while inner is not None:
        root = inner
        inner = next(filter(is_enough, root.iterchildren("*")), None)
    return root


def _locate_elements(root: "HtmlElement") -> tuple[str, dict["HtmlElement", tuple[int, int]]]:
    """The text of an element without white space, and where in it each inner element begins and ends."""
    from lxml import etree

    pieces: list[str] = []
    begins: dict[HtmlElement, int] = {}
    spans: dict[HtmlElement, tuple[int, int]] = {}
    place = 0
    walk = etree.iterwalk(root, events=("start", "end"), tag="*")
    for event, element in walk:
        text = element.text if event == "start" else element.tail
        if event == "end":
            spans[element] = begins.pop(element), place
        else:
            begins[element] = place
            if element.tag in _SKIPPED_TAGS:
                walk.skip_subtree()
                text = ""
        piece = "".join((text or "").split())
        pieces.append(piece)
        place += len(piece)
    return "".join(pieces), spans


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


def _join_cells(table: "HtmlElement") -> None:
    """Make a cell of one paragraph at most plain text: else its row would fall apart into its cells."""
    for cell in table.iter("td", "th"):
        if len(_walk(cell)) <= 1:
            for element in list(cell.iterdescendants("p", "div", "pre")):
                element.drop_tag()


def _is_header(row: "HtmlElement") -> bool:
    """In a table's head, or of headings or bold text alone; the corner above the rows' own headings may be empty."""
    parent = row.getparent()
    cells = [cell for cell in row if cell.tag in _CELLS]
    is_in_head = parent is not None and parent.tag == "thead"
    return bool(cells) and (is_in_head or all(map(_is_heading_cell, cells)))


def _is_heading_cell(cell: "HtmlElement") -> bool:
    text = _read_letters(cell)
    return cell.tag == "th" or text == "".join(_read_letters(bold) for bold in cell.iter("strong", "b"))


def _read_letters(element: "HtmlElement") -> str:
    return "".join(element.text_content().split())


def _has_wide_cell(row: "HtmlElement") -> bool:
    """Over more than one column, which is not counted out: such a row stays as it is."""
    return any(cell.get("colspan", "1").strip() not in ("", "1") for cell in row if cell.tag in _CELLS)


def _read_cells(row: "HtmlElement") -> list[str]:
    return [" ".join(join_blocks(_walk(cell)).split()) for cell in row if cell.tag in _CELLS]


def _walk(root: "_Element") -> list[Block]:
    """Blocks in order, "- " before list items, which stay together as one paragraph, and programs apart."""
    blocks: list[str] = []
    kinds: dict[int, _Kind] = {}  # position in `blocks` -> kind, of those that are no prose
    terms: dict[int, str] = {}  # position in `blocks` -> term that it defines, the innermost
    line: list[str] = []
    item = False
    cells = 0  # that are open

    def flush(*, next_is_item: bool = False) -> None:
        nonlocal item
        while line and (not line[-1].strip() or line[-1] == CELL_END):
            line.pop()  # an empty cell ends no row
        for text in _divide_at_breaks("".join(line)):
            if item and blocks and blocks[-1].startswith("- ") and len(blocks) - 1 not in kinds:
                blocks[-1] += f"\n- {text}"
            else:
                blocks.append(f"- {text}" if item else text)
        line.clear()
        item = next_is_item

    def visit(element: "_Element") -> None:
        nonlocal cells
        tag = element.tag if isinstance(element.tag, str) else None
        if tag == "pre" and not cells and is_program(element):
            flush()
            if text := read_program(element):
                kinds[len(blocks)] = BlockKind.PROGRAM, 0
                blocks.append(text)
        elif tag is not None and tag not in _SKIPPED_TAGS:
            is_cell = tag in _CELLS
            if tag in ("br", "lb"):
                line.append(" " if cells else _BREAK)
            elif is_cell and _ends_in_text(line):
                line.append(CELL_END)
            cells += is_cell
            block = tag not in _INLINE and tag not in ("br", "lb") and not is_cell
            if block and not (item and tag == "p"):
                is_in_item = item and tag not in HEADING_TAGS and not "".join(line).strip()
                flush(next_is_item=tag in _ITEMS or is_in_item)
            line.append(element.text or "")
            first = len(blocks)
            for child in element:
                visit(child)
            if block:
                is_item = item
                flush()
                if not is_item:
                    kinds.update(_find_kinds(tag, blocks, first))
                if term := element.get(TERM):
                    terms.update((i, term) for i in range(first, len(blocks)) if i not in terms)
            cells -= is_cell
        if element is not root:
            line.append(element.tail or "")

    visit(root)
    flush()
    prose = BlockKind.PROSE, 0
    whole = (Block(text, *kinds.get(i, prose), terms.get(i, "")) for i, text in enumerate(blocks))
    return [block for block in whole if block.text.lower() not in _BOX_NAMES]


def _ends_in_text(line: Sequence[str]) -> bool:
    """False after an empty cell."""
    last = next((piece for piece in reversed(line) if piece.strip()), CELL_END)
    return last != CELL_END


def _find_kinds(tag: str, blocks: Sequence[str], first: int) -> dict[int, _Kind]:
    """Of the blocks from `first` on, which an element has: those of a heading, and a row of cells."""
    if tag in HEADING_TAGS:
        return dict.fromkeys(range(first, len(blocks)), (BlockKind.HEADING, int(tag[1])))
    is_row = tag == "tr" and len(blocks) == first + 1 and CELL_END in blocks[first]
    return {first: (BlockKind.ROW, 0)} if is_row else {}


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
