"""Lists of terms in web pages, each definition with its terms: "staff: Allows users to add ...".

A definition is read without the term above it, and hardly ever says of what it is one; trafilatura leaves the terms of
many pages out. A question, a sentence and a long term stay paragraphs of their own, before their definition.

Further sentences of a definition are marked with the short form of its terms, as they need it too (decision 109).
"""

from typing import TYPE_CHECKING

from as2core.documents.page_parts import HEADING_TAGS
from as2core.documents.terms import MAX_TERM_CHARS, shorten_term

if TYPE_CHECKING:
    from lxml.html import HtmlElement

TERM = "as2-term"  # an attribute: of what the element is the definition
_SENTENCE_ENDS = (".", "?", "!")
_BLOCKS = {"p", "div"}


def name_definitions(definitions: "HtmlElement") -> None:
    """Make a `<dl>` plain blocks. Several terms may share a definition; of several definitions, the first has the term.
    A term without one stays as it is."""
    terms: list[HtmlElement] = []
    for element in definitions.xpath("./dt | ./dd | ./div/dt | ./div/dd"):
        if element.tag == "dt":
            terms.append(element)
            continue
        _name_definition(element, terms)
        terms = []
        element.tag = "div"
    for term in definitions.xpath("./dt | ./div/dt"):
        term.tag = "p"
    definitions.tag = "div"


def _name_definition(definition: "HtmlElement", terms: list["HtmlElement"]) -> None:
    names = list(filter(None, (" ".join(term.text_content().split()) for term in terms)))
    name = ", ".join(names)
    if not name or name.endswith(_SENTENCE_ENDS):
        return
    short_name = ", ".join(dict.fromkeys(map(shorten_term, names)))
    has_sections = next(definition.iter(*HEADING_TAGS), None) is not None  # or its end is not marked
    if len(short_name) <= MAX_TERM_CHARS and not has_sections:
        definition.set(TERM, short_name)
    block = _find_first_block(definition)
    if block is None or len(name) > MAX_TERM_CHARS:
        return
    block.text = f"{name.rstrip(':')}: {(block.text or '').lstrip()}"
    for term in terms:
        term.drop_tree()


def _find_first_block(definition: "HtmlElement") -> "HtmlElement | None":
    """The one that the definition's words begin in; None where it begins with a list, a table or a program."""
    block = definition
    while not (block.text or "").strip() and len(block):
        if block[0].tag in _BLOCKS:
            block = block[0]
        elif block[0].tag in ("ul", "ol", "dl", "table", "pre", "blockquote"):
            return None
        else:
            break
    return block
