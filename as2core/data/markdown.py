"""Markdown as plain text, without the markup."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines between two rules at the top, and the text below them."""
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    pairs = (line.partition(":") for line in match[1].splitlines() if ":" in line)
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}, text[match.end() :]


def markdown_text(text: str) -> tuple[str, str]:
    """`(title, plain text)`: headings and paragraphs apart, list items "- " a line each, cells " | ".

    The title is the first heading, or ""; where the text begins with it, it is not repeated there.
    """
    from markdown_it import MarkdownIt

    blocks: list[str] = []
    title, depth, marker, fresh = "", 0, "", True
    cells: list[str] | None = None
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = {id(inner) for opening, inner in pairwise(tokens) if opening.type == "heading_open"}
    for token in tokens:
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth, fresh = depth + 1, fresh or depth == 0
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type == "list_item_open":
            marker = f"{token.info}{token.markup} " if token.info else "- "
        elif token.type == "tr_open":
            cells = []
        elif token.type == "tr_close":
            blocks.append(" | ".join(cells or ()))
            cells = None
        elif token.type in ("fence", "code_block"):
            blocks.append(token.content.strip("\n"))
        elif token.type == "html_block":
            blocks.append(re.sub(r"<!--.*?-->|<[^>]*>", "", token.content, flags=re.DOTALL).strip())
        elif token.type == "inline":
            words = _inline_text(token)
            if cells is not None:
                cells.append(words)
            elif depth and marker:
                if fresh:
                    blocks.append(marker + words)
                else:
                    blocks[-1] += f"\n{marker}{words}"
                marker, fresh = "", False
            else:
                blocks.append(words)
            if token.level == 1 and not title and id(token) in headings:
                title = words
    blocks = [b for b in blocks if b.strip()]
    return title, "\n\n".join(blocks[1:] if len(blocks) > 1 and blocks[0] == title else blocks)


def _inline_text(token: "Token") -> str:
    parts = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(_inline_text(child))
    return "".join(parts).strip()
