"""Markdown as plain text, without the markup."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from as2core.data.blocks import Block, BlockKind, drop_title
from as2core.data.boilerplate import drop_boilerplate
from as2core.data.line_ends import make_joiner
from as2core.data.table_cells import CELL_END, name_cells

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_FOOTNOTE_TEXT = re.compile(_FOOTNOTE.pattern + r":[ \t]*")  # at the beginning of a line
_TASK = re.compile(r"\[[ xX]\]\s+")
# lines that say how a page is made: the head of a box in MkDocs and in Docusaurus, which may have a title, the end of
# one, a box's kind on GitHub, the place of a table of contents
_BOX_HEAD = r'(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+"(?P<title>[^"\n]*)")?'
_BOX_EDGE = r":::+(?:[ \t]*[\w-]+(?:[ \t]+(?P<name>.*))?)?"
_DIRECTIVE = re.compile(
    rf"^(?:{_BOX_HEAD}|{_BOX_EDGE}|\[!(?:note|tip|important|warning|caution)\]|\[?\[_?toc_?\]\]?)[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines between two rules at the top, and the text below them."""
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    pairs = (line.partition(":") for line in match[1].splitlines() if ":" in line)
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}, text[match.end() :]


def markdown_blocks(text: str) -> tuple[str, list[Block]]:
    """`(title, blocks)`: headings and paragraphs apart, list items "- " a line each, cells " | " with their columns'
    names, without the marks of footnotes and tasks.

    The title is the first heading of level 1, or any that the text begins with, or "": a deeper one further down names
    a part. Where the text begins with the title, it is not repeated there.
    """
    blocks: list[str] = []
    levels: dict[int, int] = {}  # of headings, by position in `blocks`
    programs: set[int] = set()  # positions in `blocks`
    title, depth, marker, fresh = "", 0, "", True
    rows: list[list[str]] = []  # of the table
    is_cell = False
    tokens, join = _make_parser().parse(text), make_joiner(text)
    headings = {id(inner): int(opening.tag[1]) for opening, inner in pairwise(tokens) if opening.type == "heading_open"}
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth, fresh = depth + 1, fresh or depth == 0
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "list_item_open":
            marker = f"{token.info}{token.markup} " if token.info else "- "
        elif token.type == "tr_open":
            rows.append([])
            is_cell = True
        elif token.type == "table_close":
            blocks += _join_rows(rows)
            rows, is_cell = [], False
        elif token.type in ("fence", "code_block"):
            if token.type == "fence":
                programs.add(len(blocks))
            blocks.append(token.content.strip("\n"))
        elif token.type == "html_block":
            blocks.append(re.sub(r"<!--.*?-->|<[^>]*>", "", token.content, flags=re.DOTALL).strip())
        elif token.type == "inline":
            words = " ".join(join(_drop_directives(_inline_text(token))).split("\n")).strip()
            if is_cell:
                rows[-1].append(words)
            elif depth and marker:
                words = _TASK.sub("", words, count=1) if _TASK.match(words) else words
                if fresh:
                    blocks.append(marker + words)
                else:
                    blocks[-1] += f"\n{marker}{words}"
                marker, fresh = "", False
            else:
                if id(token) in headings:
                    levels[len(blocks)] = headings[id(token)]
                blocks.append(words)
            names_all = headings.get(id(token)) == 1 or not any(map(str.strip, blocks[:-1]))
            if token.level == 1 and not title and id(token) in headings and names_all:
                title = words
    result = [_make_block(b, i in programs, levels.get(i)) for i, b in enumerate(blocks) if b.strip()]
    return title, drop_boilerplate(title, drop_title(title, result))


def _make_block(text: str, is_program: bool, level: int | None) -> Block:
    if level is not None:
        return Block(text, BlockKind.HEADING, level)
    return Block(text, BlockKind.PROGRAM if is_program else BlockKind.PROSE)


def _join_rows(rows: list[list[str]]) -> list[str]:
    """Of a table whose first row names its columns."""
    names, *others = rows
    return [CELL_END.join(name_cells(names, row)) for row in others] or [CELL_END.join(names)]


def _make_parser() -> "MarkdownIt":
    """CommonMark with tables; of footnotes, which it does not have, the texts stay and the marks go."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import reference

    def refuse_footnote(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
        """A footnote of one word would be taken for the address of a link."""
        is_footnote = _FOOTNOTE_TEXT.match(state.src, state.bMarks[start] + state.tShift[start])
        return not is_footnote and reference(state, start, end, silent)

    parser = MarkdownIt("commonmark").enable("table")
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


def _drop_directives(text: str) -> str:
    """A box keeps its title."""
    return _DIRECTIVE.sub(lambda m: f"{m['title'] or m['name']}:" if m["title"] or m["name"] else "", text).strip()


def _inline_text(token: "Token") -> str:
    parts = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n" if child.type == "softbreak" else " ")
        elif child.type == "image":
            parts.append(_inline_text(child))
    return "".join(parts).strip()
