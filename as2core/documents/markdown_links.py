"""Lists of links in Markdown: tables of contents, rows of links, badges. As in web pages, they are no text."""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING

from as2core.documents.markdown_marks import drop_heading_mark
from as2core.documents.page_links import CONTENTS_LABELS, MIN_ANNOUNCING_WORDS

if TYPE_CHECKING:
    from markdown_it.token import Token

MIN_ITEMS = 2  # of a list of links
MIN_PARAGRAPH_LINKS, MIN_LINK_SHARE = 3, 0.9  # of a row of links; the share is of its characters
_BADGE = re.compile(r"badge|shields\.io|travis-ci|codecov|circleci", re.IGNORECASE)  # in an image's address
_BETWEEN_LINKS = re.compile(r"[\s|/,\u2022\u00b7\u2013\u2014-]+")
_PAGE_NUMBER = re.compile(r"\s+\d+$")
_TAGS = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)
_ADDRESSES = ("mailto:", "tel:")  # an address and a number are answers


def drop_link_lists(tokens: Sequence["Token"]) -> list["Token"]:
    """The tokens without these, and without a heading that has nothing else below it; all where no text is left."""
    parts = list(_list_parts(tokens))
    headings = {_read_line(part) for part in parts if _read_level(part)}
    is_kept = [
        (not _holds_links_alone(part) or _is_announced(before)) and not _names_heading(part, headings)
        for before, part in pairwise([[], *parts])
    ]
    for i in reversed(range(len(parts))):
        if is_kept[i] and (level := _read_level(parts[i])):
            following = next((j for j in range(i + 1, len(parts)) if is_kept[j]), len(parts))
            is_last = following == len(parts) or 0 < _read_level(parts[following]) <= level
            is_kept[i] = following == i + 1 or not (is_last or _read_line(parts[i]) in CONTENTS_LABELS)
    remaining = [part for part, keep in zip(parts, is_kept, strict=True) if keep]
    return [token for part in remaining for token in part] if any(map(_holds_text, remaining)) else list(tokens)


def _names_heading(part: Sequence["Token"], headings: Set[str]) -> bool:
    """Whether it is a line of a table of contents as Google Docs has it: a link to a heading, with a page's number."""
    if part[0].type != "paragraph_open" or _share_links(part[1]) < 1:
        return False
    links = [child for child in part[1].children or () if child.type == "link_open"]
    words = "".join(child.content for child in part[1].children or () if child.type in ("text", "code_inline"))
    is_inside = all(str(link.attrs.get("href", "")).startswith("#") for link in links)
    return is_inside and " ".join(_PAGE_NUMBER.sub("", words).lower().split()) in headings


def _is_announced(before: Sequence["Token"]) -> bool:
    """Whether the part before is a sentence that the list ends: "Examples of streams are:"."""
    line = _read_line(before)
    is_paragraph = bool(before) and before[0].type == "paragraph_open"
    return is_paragraph and line.endswith(":") and len(line.split()) >= MIN_ANNOUNCING_WORDS


def _read_line(part: Sequence["Token"]) -> str:
    """Its words, without emphasis and the mark of a heading."""
    texts = [drop_heading_mark(token.content) for token in part if token.type == "inline"]
    return " ".join(" ".join(texts).replace("*", "").lower().split())


def _holds_text(part: Sequence["Token"]) -> bool:
    """More than a heading, a rule and links."""
    if part[0].type == "html_block":
        return any(map(str.isalnum, _TAGS.sub("", part[0].content)))
    if part[0].type in ("fence", "code_block"):
        return True
    return not _read_level(part) and any(t.type == "inline" and t.content and _share_links(t) < 1 for t in part)


def _list_parts(tokens: Sequence["Token"]) -> Iterator[list["Token"]]:
    """The blocks of the document, each with all that is in it."""
    part: list[Token] = []
    for token in tokens:
        part.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield part
            part = []


def _read_level(part: Sequence["Token"]) -> int:
    """Of a heading, 0 of any other part."""
    return int(part[0].tag[1]) if part[0].type == "heading_open" else 0


def _holds_links_alone(part: Sequence["Token"]) -> bool:
    texts = [token for token in part if token.type == "inline"]
    if part[0].type in ("bullet_list_open", "ordered_list_open"):
        holds_text_alone = not any(token.type in ("fence", "code_block", "html_block") for token in part)
        return holds_text_alone and len(texts) >= MIN_ITEMS and all(_share_links(t) == 1 for t in texts)
    if part[0].type == "paragraph_open":
        links = sum(child.type == "link_open" for child in texts[0].children or ())
        is_row = links >= MIN_PARAGRAPH_LINKS and _share_links(texts[0]) >= MIN_LINK_SHARE
        return is_row or _holds_badges_alone(texts[0])
    return False


def _share_links(text: "Token") -> float:
    """The share of the characters that are in links to pages."""
    chars, link_chars, is_link = 0, 0, False
    for child in text.children or ():
        if child.type == "link_open":
            is_link = not str(child.attrs.get("href", "")).startswith(_ADDRESSES)
        elif child.type == "link_close":
            is_link = False
        elif child.type != "html_inline":
            count = len(_BETWEEN_LINKS.sub("", child.content))
            chars, link_chars = chars + count, link_chars + count * is_link
    return link_chars / chars if chars else 0.0


def _holds_badges_alone(text: "Token") -> bool:
    children = text.children or ()
    images = [child for child in children if child.type == "image"]
    has_words = any(child.content.strip() for child in children if child.type in ("text", "code_inline"))
    return bool(images) and not has_words and any(_BADGE.search(str(image.attrs.get("src"))) for image in images)
