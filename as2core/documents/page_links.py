"""Lists of links in a web page: menus, tables of contents, "Related articles". What they lead to is read elsewhere."""

import re
from typing import TYPE_CHECKING

from as2core.documents.page_parts import HEADING_TAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

_MIN_LINKS, _MIN_LINK_SHARE = 2, 0.9  # of a menu; the share is of its characters, those of its headings aside
_MIN_PARAGRAPH_LINKS = 3  # "See the first guide and the second guide." is a sentence
_IN_HEADING = " or ".join(f"ancestor::{tag}" for tag in sorted(HEADING_TAGS))
_ADDRESSES = "starts-with(@href, 'mailto:') or starts-with(@href, 'tel:')"  # an address and a number are answers
_LINKS = f".//a[@href and not({_ADDRESSES} or {_IN_HEADING})]"
MIN_ANNOUNCING_WORDS = 4  # of the sentence that a list of links ends, "Examples of streams are:"
_BETWEEN_LINKS = re.compile(r"[\s\u2022\u00b7]+")
CONTENTS_LABELS = frozenset(
    ("contents", "table of contents", "on this page", "in this article", "in this section", "toc")
)
_RELATED = frozenset(
    name.strip()
    for name in """related articles, related topics, related content, related pages, related, see also, read more,
    further reading, more articles, recent posts, recently viewed articles""".split(",")
)


def drop_links(root: "HtmlElement") -> None:
    """Remove what is nearly all links, with the headings in it, but not the text after it."""
    _drop_related(root)
    _drop_menus(root)
    _drop_contents(root)


def _drop_contents(root: "HtmlElement") -> None:
    """Of a table of contents, each line: it has the words of a heading of the page, and leads there."""
    targets = set(_list_targets(root))
    for element in list(root.iterdescendants("p", "li", "div")):
        links = element.xpath(f".//a[@href and not({_IN_HEADING})]")
        leads_to_headings = bool(links) and all(a.get("href")[1:] in targets and a.get("href")[0] == "#" for a in links)
        if leads_to_headings and sum(map(_count_chars, links)) == _count_chars(element):
            _drop_with_label(element)


def _list_targets(root: "HtmlElement") -> "Iterator[str]":
    """The ids and names of headings, of what is in them, and of the section that begins with one."""
    for heading in root.iterdescendants(*HEADING_TAGS):
        section = heading.getparent()
        begins_section = section is not None and section is not root and section[0] is heading
        for element in (*heading.iter("*"), *([section] if begins_section else [])):
            yield from filter(None, (element.get("id"), element.get("name")))


def _drop_related(root: "HtmlElement") -> None:
    """What stands after such a label and holds nothing but links, and the label."""
    for label in list(root.iterdescendants("p", "strong", "div", *HEADING_TAGS)):
        if len(label) > 1 or _read(label) not in _RELATED:
            continue
        parent = label.getparent()
        while parent is not None and parent is not root and _read(parent) == _read(label):
            label, parent = parent, parent.getparent()
        following = label.getnext()
        is_list = False
        while following is not None and _is_links(following):
            element, following = following, following.getnext()
            element.drop_tree()
            is_list = True
        if is_list and parent is not None:
            label.drop_tree()


def _is_links(element: "HtmlElement") -> bool:
    chars = _count_chars(element)
    links = element.xpath(f"self::a[@href] | {_LINKS}") if isinstance(element.tag, str) else []
    return chars > 0 and not (element.tail or "").strip() and sum(map(_count_chars, links)) == chars


def _drop_menus(root: "HtmlElement") -> None:
    for element in list(root.iterdescendants("ul", "ol", "dl", "table", "div", "p")):
        links = [_count_chars(a) for a in element.xpath(_LINKS)]
        chars = _count_chars(element) - sum(_count_chars(h) for h in element.iter(*HEADING_TAGS))
        least = _MIN_PARAGRAPH_LINKS if element.tag == "p" else _MIN_LINKS
        is_menu = len(links) >= least and sum(links) >= _MIN_LINK_SHARE * chars
        if is_menu and not _is_announced(element):
            _drop_with_label(element)


def _is_announced(element: "HtmlElement") -> bool:
    before = element.getprevious() if element.tag in ("ul", "ol") else None
    line = before.text_content().strip() if before is not None and before.tag == "p" else ""
    return line.endswith(":") and len(line.split()) >= MIN_ANNOUNCING_WORDS


def _drop_with_label(element: "HtmlElement") -> None:
    """The label is the line before it, as "Contents"."""
    parent = element.getparent()
    while parent is not None and parent.tag in ("ul", "ol") and _read(parent) == _read(element):
        element, parent = parent, parent.getparent()
    label = element.getprevious()
    if (
        label is not None
        and isinstance(label.tag, str)
        and _read(label) in CONTENTS_LABELS
        and not (label.tail or "").strip()
    ):
        label.drop_tree()
    element.drop_tree()


def _read(element: "HtmlElement") -> str:
    return " ".join(element.text_content().split()).rstrip(":").lower()


def _count_chars(element: "HtmlElement") -> int:
    """White space and what often divides the links of a row count for nothing."""
    return len(_BETWEEN_LINKS.sub("", element.text_content()))
