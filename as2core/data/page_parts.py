"""The parts of a web page that are not its text: what it hides, its controls, menus, breadcrumbs and comments; and its
title without the name of the site."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

HEADING_TAGS = frozenset(f"h{level}" for level in range(1, 7))
_MIN_LINKS, _MIN_LINK_SHARE = 2, 0.9  # of a menu; the share is of its characters, those of its headings aside
_MIN_PARAGRAPH_LINKS = 3  # "See the first guide and the second guide." is a sentence
_MIN_MAIN_CHARS = 100  # of the element that holds the page's own text
_IN_HEADING = " or ".join(f"ancestor::{tag}" for tag in sorted(HEADING_TAGS))
_HAS_HEADING = " or ".join(f".//{tag}" for tag in sorted(HEADING_TAGS))
_SECTION_HEADERS = f"//*[self::article or self::section or self::main]//header[{_HAS_HEADING}]"
_PERMALINKS = ".//a[starts-with(@href, '#')]"  # of a heading, as "\u00b6" in Sphinx's pages
_BUTTONS = f".//button[not({_IN_HEADING} or ancestor::dt)]"  # one in a heading opens its section
_PAGES = "starts-with(@href, 'mailto:') or starts-with(@href, 'tel:')"  # an address and a number are answers
_LINKS = f".//a[@href and not({_PAGES} or {_IN_HEADING})]"
_MAIN_PARTS = (".//main | .//*[@role='main']", ".//*[@id='main-content']", ".//article")  # the first that is one only
# of what readers wrote; of the way to the page, as sites, Confluence and Zendesk name it, and of who changed it when
_COMMENT_CLASSES = frozenset(("comments", "comments-area", "comment-list", "comment"))
_PATH_CLASSES = frozenset(("breadcrumb", "breadcrumbs", "page-metadata", "article-votes"))
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_TITLE_JOINT = re.compile(r"\s+[|\u2013\u2014\u00b7:\u00bb\u203a-]\s+")


def find_title(page: "HtmlElement") -> str:
    """The page's title, or "". Where one of its pieces ("Refunds | Acme Help") is the page's heading, that is it: the
    others name the site, and every sentence would be read after them."""
    title = " ".join((page.findtext(".//title") or "").split())
    headings = [" ".join(h.text_content().split()) for h in page.iter("h1")]
    pieces = set(_TITLE_JOINT.split(title)) & set(filter(None, headings))
    if len(pieces) == 1:
        return pieces.pop()
    return title or next(filter(None, headings), "")


def find_main(root: "HtmlElement") -> "HtmlElement":
    """The element that is marked as the page's own text, or `root`."""
    for path in _MAIN_PARTS:
        parts = root.xpath(path)
        if len(parts) == 1 and len("".join(parts[0].text_content().split())) >= _MIN_MAIN_CHARS:
            return parts[0]
    return root


def drop_hidden(page: "HtmlElement") -> None:
    """Remove what the page hides, but not the text after it."""
    for element in page.xpath(".//body//*[@hidden or @style]"):  # many a page hides its body until its script has run
        is_hidden = (
            element.get("hidden", "until-found").lower() != "until-found"
        )  # a search in the page finds such text
        if is_hidden or _HIDING_STYLE.search(element.get("style", "")):
            element.drop_tree()


def drop_controls(page: "HtmlElement") -> None:
    """Remove buttons, and links whose text is a sign, but not the text after them; open the headers of sections: other
    headers are the site's."""
    for element in page.xpath(f"{_BUTTONS} | {_PERMALINKS}"):
        if element.tag == "button" or not any(map(str.isalnum, element.text_content())):
            element.drop_tree()
    for header in page.xpath(_SECTION_HEADERS):
        header.drop_tag()


def drop_path(root: "HtmlElement") -> None:
    """Remove the way from the site's first page to this one, and who changed it when."""
    for element in list(root.iterdescendants("div", "ol", "ul", "p", "section")):
        if _PATH_CLASSES & {*element.get("class", "").split(), element.get("id", "")}:
            element.drop_tree()


def drop_comments(root: "HtmlElement") -> None:
    """Remove what readers wrote below the article."""
    for element in list(root.iterdescendants("div", "section", "ol", "ul")):
        if _COMMENT_CLASSES & set(element.get("class", "").split()):
            element.drop_tree()


def drop_menus(root: "HtmlElement") -> None:
    """Remove what is nearly all links, with the headings in it, but not the text after it."""
    for element in list(root.iterdescendants("ul", "ol", "dl", "table", "div", "p")):
        links = ["".join(a.text_content().split()) for a in element.xpath(_LINKS)]
        chars = _count_chars(element) - sum(_count_chars(h) for h in element.iter(*HEADING_TAGS))
        least = _MIN_PARAGRAPH_LINKS if element.tag == "p" else _MIN_LINKS
        if len(links) >= least and sum(map(len, links)) >= _MIN_LINK_SHARE * chars:
            element.drop_tree()


def _count_chars(element: "HtmlElement") -> int:
    return len("".join(element.text_content().split()))
