"""Web pages that Word, LibreOffice and Google Docs save: what only a class tells there becomes an element of the page.

They write titles and lines of a table of contents as plain paragraphs; Google Docs also bold text, by a class that its
style sheet explains. Notes of reviewers, and the heads and feet of pages, are left out, as in a Word document.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_WORD_PARTS = ("MsoToc", "MsoHeader", "MsoFooter")
_BOLD_CLASS = re.compile(r"\.(c\d+)\{[^{}]*font-weight:(?:700|bold)[^{}]*\}")
_HEADS_AND_FEET = ".//body/div[@title='header' or @title='footer']"  # LibreOffice's
_COMMENTS = ".//a[starts-with(@id, 'cmnt') and starts-with(@href, '#cmnt_ref')]"


def mark_office_page(page: "HtmlElement") -> None:
    """Change the page, if one of them has written it."""
    for part in page.xpath(_HEADS_AND_FEET):
        part.drop_tree()
    for paragraph in list(page.iter("p")):
        style = paragraph.get("class", "")
        if style.startswith(_WORD_PARTS):
            paragraph.drop_tree()
        elif style == "MsoTitle":
            paragraph.tag = "h1"
    body = page.find("body")
    if body is not None and "doc-content" in body.get("class", "").split():
        _mark_google_page(page)


def _mark_google_page(page: "HtmlElement") -> None:
    for comment in page.xpath(_COMMENTS):
        box = next((parent for parent in comment.iterancestors("div", "p") if parent.tag == "div"), None)
        if box is not None:
            box.drop_tree()
    bold = set(_BOLD_CLASS.findall("".join(style.text or "" for style in page.iter("style"))))
    for element in list(page.iter("p", "span")):
        names = set(element.get("class", "").split())
        if element.tag == "p" and "title" in names:
            element.tag = "h1"
        elif element.tag == "span" and names & bold:
            element.tag = "strong"
