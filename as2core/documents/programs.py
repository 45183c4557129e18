"""Programs in documents: what a page or an indented paragraph marks as commands, code or their output, to be read line
by line as written. A full stop in it ends no sentence.

A `<pre>` alone says little: mails and whole books stand in it. So it is a program where it holds a `<code>` and nothing
else, or where it or an element around it has a class that a known program gives to code.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from as2core.documents.blocks import BLOCK_END
from as2core.types import Span

if TYPE_CHECKING:
    from lxml.etree import _Element

# of DocBook, Texinfo, AsciiDoc, Sphinx, Pygments, pandoc, Org, GitHub, Prism and SyntaxHighlighter
_CLASSES = frozenset(
    """screen programlisting synopsis example smallexample lisp smalllisp listingblock literalblock literal-block
    highlight codehilite highlighttable sourceCode src prettyprint syntaxhighlighter code code-block codeblock
    wp-block-code doctest-block""".split()
)
_CLASS_STARTS = ("highlight-", "language-", "src-", "lang-", "brush:")
_MAX_STEPS = 3  # from a `<pre>` to the element that has the class
_INDENTS = ("    ", "\t")
_PROMPT = re.compile(r"^[ \t]+\$ [A-Za-z./~]", re.MULTILINE)
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[.!?](?:\s+[A-Z]|[ \t]*$)", re.MULTILINE)


def is_program(pre: "_Element") -> bool:
    """Whether a `<pre>` is marked as code."""
    own, *others = [child for child in pre if isinstance(child.tag, str)] or [None]
    if own is not None and not others and own.tag == "code" and not f"{pre.text or ''}{own.tail or ''}".strip():
        return True
    element: _Element | None = pre
    for _ in range(_MAX_STEPS):
        if element is None or element.tag == "body":
            return False
        names = (element.get("class") or "").split()
        if any(name in _CLASSES or name.startswith(_CLASS_STARTS) for name in names):
            return True
        element = element.getparent()
    return False


def read_program(pre: "_Element") -> str:
    """Its lines, as written."""
    return "\n".join(line.rstrip() for line in "".join(_list_texts(pre)).split("\n")).strip("\n")


def _list_texts(element: "_Element") -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == "br":
            yield "\n"
        elif isinstance(child.tag, str):
            yield from _list_texts(child)
        yield child.tail or ""


def find_shell_sessions(text: str) -> tuple[Span, ...]:
    """The paragraphs of a plain text that are indented and have a line that begins with "$ " and a command."""
    spans: list[Span] = []
    end = 0
    for part in text.split(BLOCK_END):
        start = end + len(part) - len(part.lstrip("\n"))
        paragraph = part.strip("\n")
        if _PROMPT.search(paragraph) and all(line.startswith(_INDENTS) for line in paragraph.split("\n")):
            spans.append((start, start + len(paragraph)))
        end += len(part) + len(BLOCK_END)
    return tuple(spans)


def has_sentences(text: str) -> bool:
    """Whether a paragraph that is indented as code has sentences."""
    return _SENTENCE_END.search(text) is not None
