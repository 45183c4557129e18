"""The parts of a web page that are not its text: what it hides, its controls, breadcrumbs, comments, marks of notes;
and its title without the name of the site."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

HEADING_TAGS = frozenset(f"h{level}" for level in range(1, 7))
_MIN_MAIN_CHARS = 100  # of the element that holds the page's own text
_IN_HEADING = " or ".join(f"ancestor::{tag}" for tag in sorted(HEADING_TAGS))
_HAS_HEADING = " or ".join(f".//{tag}" for tag in sorted(HEADING_TAGS))
_SECTION_HEADERS = f"//*[self::article or self::section or self::main]//header[{_HAS_HEADING}]"
_PERMALINKS = ".//a[starts-with(@href, '#')]"  # of a heading, as "\u00b6" in Sphinx's pages
_BUTTONS = f".//button[not({_IN_HEADING} or ancestor::dt)]"  # one in a heading opens its section
_MAIN_PARTS = (".//main | .//*[@role='main']", ".//*[@id='main-content']", ".//article")  # the first that is one only
# Classes and ids that sites and their programs give, each to a part that is none of the text: what readers wrote, the
# way to the page, who changed it when, what to read next, what to do with the page.
_AROUND_TEXT = frozenset(
    """comments comments-area comment-list comment comment-respond article-comments
    breadcrumb breadcrumbs wy-breadcrumbs table-of-contents table_of_contents toc toc-macro jump-to-nav
    page-metadata article-author article-meta avatar__info entry-meta post-meta byline siteSub
    article-votes article-vote article-more-questions article-return-to-top intercom-reaction-picker
    article-attachments pageSection related-articles recent-articles jp-relatedposts sharedaddy article-share
    entry-footer footer site-footer page-footer printfooter catlinks powered-by-zendesk skip-links linenos linenodiv
    tabbed-labels navheader navfooter""".split()
)
_BLOCK_TAGS = frozenset("div section article main ol ul li dl p table td tr".split())
_MARKS = frozenset(  # within a line, too
    """mw-editsection mw-jump-link viewcode-link skip-link skip-navigation solution-print--icon linenos
    theme-doc-version-badge""".split()
)
_ROLES_AROUND_TEXT = frozenset("navigation search banner contentinfo tablist dialog alertdialog".split())
_COOKIE_NOTE = re.compile(
    r"cookie[-_]?(?:notice|note|bar|banner|consent|law|popup|modal|message|overlay)|onetrust|cookiebot", re.IGNORECASE
)
_FOOTNOTES = ".//aside[contains(@class, 'footnote') or @role='doc-footnote']"
_NOTE_LINKS = ("#_ftn", "#_edn", "#ftnt", "#fn", "#cite_ref", "#cite_note", "#cmnt", "#footnote", "#sdfootnote")
_NOTE_MARKS = (
    ".//sup[.//a[starts-with(@href, '#')]] | .//a[starts-with(@href, '#')] | "
    ".//aside[contains(@class, 'footnote')]//span[@class='label']"
)
_NOTE_MARK = re.compile(r"\[?(?:\d{1,3}|[a-z*\u2020\u2021\u2191^])\]?|\u21a9\ufe0e?", re.IGNORECASE)
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_TITLE_JOINT = re.compile(r"\s+[|\u2013\u2014\u00b7:\u00bb\u203a-]\s+")


def find_title(page: "HtmlElement") -> str:
    """The page's title, or "". Where one of its pieces ("Refunds | Acme Help") is the page's heading, that is it: the
    others name the site, and every sentence would be read after them."""
    title = " ".join((page.findtext(".//title") or "").split())
    headings = [" ".join(h.text_content().split()) for h in page.iter("h1")]
    if page.get_element_by_id("title-text", None) is not None:
        return title.partition(" : ")[2] or title  # Confluence names the space in both, "IT Support : VPN access"
    pieces = _TITLE_JOINT.split(title)
    matches = set(pieces) & set(filter(None, headings))
    if len(pieces) > 1 and matches == {pieces[-1]}:  # a heading that names the site stands above the page's own
        own = set(pieces[:-1]) & {" ".join(h.text_content().split()) for h in page.iter("h2")}
        matches = own if len(own) == 1 else matches
    if len(matches) == 1:
        return matches.pop()
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


def drop_parts_around(root: "HtmlElement") -> None:
    """Remove the parts that are named or marked as none of the page's text, but not the text after them."""
    for element in list(root.iterdescendants(*_BLOCK_TAGS)):
        is_marked = element.get("role") in _ROLES_AROUND_TEXT
        if is_marked or (_is_named_around(element) and not element.xpath("boolean(.//h1 | .//main)")):
            element.drop_tree()


def _is_named_around(element: "HtmlElement") -> bool:
    names = {*element.get("class", "").split(), element.get("id", "")}
    return not names.isdisjoint(_AROUND_TEXT) or any(map(_COOKIE_NOTE.search, names))


def drop_marks(page: "HtmlElement") -> None:
    """Remove what marks a place within a line: "[1]" of a note, "[edit]" of a section. Open notes that are aside."""
    for element in list(page.iter("a", "span")):
        if not _MARKS.isdisjoint(element.get("class", "").split()):
            element.drop_tree()
    for mark in page.xpath(_NOTE_MARKS):
        is_mark = _NOTE_MARK.fullmatch("".join(mark.text_content().split())) is not None
        is_link = mark.tag != "a" or mark.get("href").startswith(_NOTE_LINKS) or mark.get("role") == "doc-backlink"
        if is_mark and is_link and mark.getparent() is not None:
            mark.drop_tree()
    for note in page.xpath(_FOOTNOTES):
        note.tag = "div"
