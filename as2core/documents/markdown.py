"""Markdown as plain text, without the markup."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from as2core.documents.blocks import Block, BlockKind, drop_title
from as2core.documents.boilerplate import drop_boilerplate
from as2core.documents.html import page_blocks
from as2core.documents.line_ends import make_joiner
from as2core.documents.markdown_links import drop_link_lists
from as2core.documents.markdown_marks import (
    drop_directives,
    drop_heading_mark,
    is_box,
    is_page_list,
    join_lines,
    read_description,
    read_words,
)
from as2core.documents.page_links import drop_links
from as2core.documents.programs import has_sentences
from as2core.documents.table_cells import CELL_END, name_cells

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(.*?)^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_FOOTNOTE_TEXT = re.compile(_FOOTNOTE.pattern + r":[ \t]*")  # at the beginning of a line
_TASK = re.compile(r"\[[ xX]\]\s+")
_LINE_BREAK = re.compile(r"<br\b", re.IGNORECASE)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines between two rules at the top, or `key = value` in Hugo's, and the text below them."""
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    sign = ":" if match[1] == "---" else "="
    pairs = (line.partition(sign) for line in match[2].splitlines() if sign in line)
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}, text[match.end() :]


def markdown_blocks(text: str, given_title: str = "") -> tuple[str, list[Block]]:
    """`(title, blocks)`: headings and paragraphs apart, list items "- " a line each, cells " | " with their columns'
    names, without the marks of footnotes and tasks, and without lists of links. `given_title`: of the front matter.

    The title is the first heading of level 1, or any that the text begins with, or "": a deeper one further down names
    a part. Where the text begins with the title, it is not repeated there.
    """
    tokens = _make_parser().parse(text)
    reader = _Reader(make_joiner(text))
    for token in drop_link_lists(tokens):
        reader.read(token)
    blocks = [b for b in reader.blocks if b.text.strip()]
    return reader.title, drop_boilerplate(given_title or reader.title, drop_title(reader.title, blocks))


class _Reader:
    """Makes blocks of tokens, one by one."""

    def __init__(self, join: Callable[[str], str]) -> None:
        self.title = ""
        self.blocks: list[Block] = []
        self._join = join  # of words that a line end divides
        self._level = 0  # of the heading that is open
        self._depth, self._begins_list = 0, True  # of lists
        self._marker = ""  # of an item that has no text yet
        self._rows: list[list[str]] = []  # of the table
        self._is_cell = False

    def read(self, token: "Token") -> None:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            self._depth, self._begins_list = self._depth + 1, self._begins_list or self._depth == 0
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._depth -= 1
        elif token.type == "list_item_open":
            self._marker = f"{token.info}{token.markup} " if token.info else "- "
        elif token.type == "tr_open":
            self._rows.append([])
            self._is_cell = True
        elif token.type == "table_close":
            for row in _join_rows(self._rows):
                self._add(Block(row, BlockKind.ROW))
            self._rows, self._is_cell = [], False
        elif token.type in ("fence", "code_block"):
            self._read_program(token)
        elif token.type == "html_block":
            for block in _read_html(token.content):
                self._name_all(block, is_in_box=False)
                self._add(block)
        elif token.type in ("heading_open", "heading_close"):
            self._level = int(token.tag[1]) if token.type == "heading_open" else 0
        elif token.type == "inline":
            self._read_text(token)

    def _read_text(self, token: "Token") -> None:
        text = join_lines(self._join(drop_directives(_inline_text(token))))
        if self._is_cell:
            self._rows[-1].append(" ".join(text.split("\n")))
        elif self._depth and self._marker:
            words = " ".join(text.split("\n"))
            item = self._marker + (_TASK.sub("", words, count=1) if _TASK.match(words) else words)
            if self._begins_list:
                self.blocks.append(Block(item))
            else:
                last = self.blocks[-1]
                self.blocks[-1] = last._replace(text=f"{last.text}\n{item}")
            self._marker, self._begins_list = "", False
        else:
            block = Block(text)
            if self._level:
                block = Block(drop_heading_mark(text), BlockKind.HEADING, self._level)
            self._name_all(block, is_in_box=token.level != 1)
            self._add(block)

    def _read_program(self, token: "Token") -> None:
        """MyST puts boxes and lists of pages in fences, too."""
        if is_page_list(token.info):
            return
        if is_box(token.info):
            title = token.info.partition("}")[2].strip()
            self._add(Block(f"{title}:" if title else ""))
            for inner in _make_parser().parse(token.content):
                self.read(inner)
            return
        is_prose = token.type == "code_block" and has_sentences(token.content)
        kind = BlockKind.PROSE if is_prose else BlockKind.PROGRAM
        self._add(Block(token.content.strip("\n"), kind))

    def _add(self, block: Block) -> None:
        """An item that follows in a list begins a block of its own."""
        self.blocks.append(block)
        self._begins_list = True

    def _name_all(self, block: Block, *, is_in_box: bool) -> None:
        """Take the title of a heading that names the whole."""
        is_first = not any(b.text.strip() for b in self.blocks)
        if block.level and not self.title and not is_in_box and (block.level == 1 or is_first):
            self.title = block.text


def _join_rows(rows: list[list[str]]) -> list[str]:
    """Of a table whose first row names its columns."""
    names, *others = rows
    return [CELL_END.join(name_cells(names, row)) for row in others] or [CELL_END.join(filter(None, names))]


def _make_parser() -> "MarkdownIt":
    """CommonMark with tables; of footnotes, which it does not have, the texts stay and the marks go."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import reference

    def refuse_footnote(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
        """A footnote of one word would be taken for the address of a link."""
        is_footnote = _FOOTNOTE_TEXT.match(state.src, state.bMarks[start] + state.tShift[start])
        return not is_footnote and reference(state, start, end, silent)

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.at("reference", refuse_footnote)
    parser.inline.ruler.before("link", "footnote", _skip_footnote)
    return parser


def _skip_footnote(state: "StateInline", silent: bool) -> bool:
    begins_line = not state.pos or state.src[state.pos - 1] == "\n"
    mark = _FOOTNOTE_TEXT.match(state.src, state.pos) if begins_line else None
    mark = mark or _FOOTNOTE.match(state.src, state.pos)
    if mark is None:
        return False
    state.pos = mark.end()
    return True


def _read_html(content: str) -> list[Block]:
    """As a web page is read; what pages have beside their text, as `<aside>`, is text here."""
    from lxml import etree, html

    try:
        page = html.fragment_fromstring(content, create_parent="div")
    except (etree.LxmlError, ValueError):
        return [Block(re.sub(r"<[^>]*>", "", content).strip())]
    for element in page.iter("aside", "header", "footer", "form"):
        element.tag = "div"
    drop_links(page)
    return page_blocks(page)


def _inline_text(token: "Token") -> str:
    text = ""
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            text += read_words(child.content) if child.type == "text" else child.content
        elif child.type == "softbreak":
            text += "\n"
        elif child.type == "hardbreak" or (child.type == "html_inline" and _LINE_BREAK.match(child.content)):
            text += "\n" if text.endswith("?") else " "
        elif child.type == "image":
            text += read_description(_inline_text(child))
    return text.strip()
