"""A question as a careful writer puts it: with its question mark, and without a slip of the finger in a word.

A ranker reads a misspelt word as pieces that mean nothing. Touched is only what nobody writes: a word that is neither
in the candidates nor among those the ranker knows, if it is one slip (Damerau, 1964: two letters exchanged, one
missing, one too many, one wrong) from a word that is.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from as2core.text import words

SHORTEST = 5  # letters; most pairs of shorter words are one slip apart
_LETTERS = re.compile(r"[^\W\d_]+")


def mended(question: str, texts: Sequence[str], known: Collection[str] = ()) -> str:
    """The question with its slips mended by the words of `texts` and the `known` ones (lower case).

    A wrong letter is mended towards words of the texts alone, since rare words differ from common ones by a letter; and
    first letters and endings stay, so that a plural is no slip of its singular. A question without a mark at its end
    gets one.
    """
    question = unicodedata.normalize("NFC", question)  # an accent of its own would end a word
    there = Counter(w for text in texts for w in words(text))

    def mend(found: re.Match[str]) -> str:
        word = found.group()
        lower = "".join(words(word))
        if len(lower) < SHORTEST or lower in there or lower in known:
            return word
        slips = {w for w in _exchanged_missing_added(lower) if not w.startswith(lower) and not lower.startswith(w)}
        near = sorted((slips | set(_wrong_letter(lower))) & there.keys(), key=lambda w: (-there[w], w))
        right = next(iter(near or sorted(slips & set(known))), lower)
        if right == lower:
            return word
        return right.upper() if word.isupper() else right.capitalize() if word[0].isupper() else right

    text = _LETTERS.sub(mend, question).rstrip()
    return f"{text}?" if text and text[-1].isascii() and text[-1].isalnum() else text


def _exchanged_missing_added(word: str) -> Iterator[str]:
    """Words one slip away that begin alike."""
    for i in range(1, len(word)):
        yield word[:i] + word[i + 1 :]
        yield word[:i] + word[i : i + 2][::-1] + word[i + 2 :]
    for i in range(1, len(word) + 1):
        yield from (word[:i] + letter + word[i:] for letter in string.ascii_lowercase)


def _wrong_letter(word: str) -> Iterator[str]:
    for i in range(1, len(word) - 1):
        yield from (word[:i] + letter + word[i + 1 :] for letter in string.ascii_lowercase)
