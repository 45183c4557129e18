"""What a text says about a term, sentence by sentence: which term is meant, so that each sentence can be read alone.

A name of a program's parts in a heading ("fs.access(path)", "--env-file", "GET /users") and what a list's item begins
with ("timeout: Seconds to wait. The default is 30.") are terms as those of a web page's list of terms are.
"""

import re
from collections.abc import Sequence

from as2core.text import begins_item
from as2core.types import Sentence

MAX_TERM_CHARS = 80
_MAX_HEADING_WORDS = 3  # "Static method: Buffer.from"
_PARAMETERS = re.compile(r"(?<=[^\s(])(?: \[|\[,| \{|\(| \((?!\*))")  # not of a pointer to a function
_CODE = re.compile(
    r"[^\W\d]\((?!s\))|[^\W\d]\w*(?:_|\.|::)[^\W\d]|(?<!\S)--?[^\W\d]|^[a-z]+[A-Z]\w*$|: '[\w.-]+'$|"
    r"^(?:GET|POST|PUT|PATCH|DELETE) /"
)
_ITEM_TERM = re.compile(  # with a colon or a dash behind it, or one word with its type: "timeout <number>"
    r"(?:\d{1,3}[.)]\s)?([^\s.:!?][^\s:!?]*(?:(?=\s[<{])|(?:\s[^\s:!?]+){0,3}?(?=\s?:\s|\s[-\u2013\u2014]\s)))"
)
_REMARKS = frozenset("q a note example examples tip hint warning caution important returns extends see default".split())


def shorten_term(term: str) -> str:
    """Without its parameters: "heapq.merge(*iterables, key=None)" is "heapq.merge"."""
    return _PARAMETERS.split(term.rstrip(":"), maxsplit=1)[0]


def find_code_name(heading: str) -> str:
    """The name that a heading is about, if it is one of a program's parts; "" otherwise."""
    name = shorten_term(heading)
    is_name = bool(_CODE.search(heading)) and len(name.split()) <= _MAX_HEADING_WORDS
    return name if is_name and len(name) <= MAX_TERM_CHARS else ""


def find_item_terms(text: str, sentences: Sequence[Sentence]) -> dict[int, str]:
    """By their starts, the further sentences of list items that begin with a term."""
    terms: dict[int, str] = {}
    term, paragraph = "", -1
    for s in sentences:
        if begins_item(text, s):
            match = _ITEM_TERM.match(s.text)
            term = shorten_term(match[1]) if match else ""
            term = "" if term.casefold() in _REMARKS else term
        elif s.paragraph != paragraph or text[s.start - 1] == "\n":
            term = ""
        elif term:
            terms[s.start] = term
        paragraph = s.paragraph
    return terms
