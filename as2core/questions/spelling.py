"""Corrects typos in a question, and adds the question mark.

A ranker reads a misspelt word as pieces without meaning. A word is corrected only if it is neither in the candidates
nor among the ranker's known words, and is one edit (Damerau, 1964: two letters exchanged, one missing, one too many,
one wrong) from a word that is.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from as2core.text import tokenize

MIN_WORD_LETTERS = 5  # most pairs of shorter words are one edit apart
MAX_WORD_LETTERS = 50  # of n letters there are some 53 n edits, each a word: of 20,000 letters 20 GB
_ENDING = re.compile(r"(?:[aesy]|e[dnr]|est|ing|or|al|ic)$")  # "closes" is no typo of "closed"
_LETTERS = re.compile(r"[^\W\d_]+")


def correct_spelling(question: str, texts: Sequence[str], known_words: Collection[str] = ()) -> str:
    """The question with its typos corrected by the words of `texts` and by `known_words` (lower case).

    A wrong letter is corrected towards words of the texts only, since rare words differ from common ones by a letter.
    First letters and endings stay, so that a plural is not taken for a typo of its singular: a last letter is replaced
    only where neither it nor the right one is the last of an English ending.
    """
    question = unicodedata.normalize("NFC", question)  # an accent of its own would end a word
    counts = Counter(w for text in texts for w in tokenize(text))

    def correct(match: re.Match[str]) -> str:
        word = match.group()
        lower = "".join(tokenize(word))
        if not MIN_WORD_LETTERS <= len(lower) <= MAX_WORD_LETTERS or lower in counts or lower in known_words:
            return word
        edits = {w for w in _edit_lengths_and_order(lower) if not w.startswith(lower) and not lower.startswith(w)}
        near = sorted((edits | set(_replace_letters(lower))) & counts.keys(), key=lambda w: (-counts[w], w))
        # exchanged letters before a missing or an additional one
        vocabulary = sorted(edits & set(known_words), key=lambda w: (sorted(w) != sorted(lower), w))
        right = next(iter(near or vocabulary), lower)
        if right == lower:
            return word
        return right.upper() if word.isupper() else right.capitalize() if word[0].isupper() else right

    text = _LETTERS.sub(correct, question).rstrip()
    return f"{text}?" if text and text[-1].isascii() and text[-1].isalnum() else text


def _edit_lengths_and_order(word: str) -> Iterator[str]:
    """Words with a letter missing, exchanged with the next, or added; the first letter stays."""
    for i in range(1, len(word)):
        yield word[:i] + word[i + 1 :]
        yield word[:i] + word[i : i + 2][::-1] + word[i + 2 :]
    for i in range(1, len(word) + 1):
        yield from (word[:i] + letter + word[i:] for letter in string.ascii_lowercase)


def _replace_letters(word: str) -> Iterator[str]:
    for i in range(1, len(word) - 1):
        yield from (word[:i] + letter + word[i + 1 :] for letter in string.ascii_lowercase)
    if not _ENDING.search(word):
        yield from (w for letter in string.ascii_lowercase if not _ENDING.search(w := word[:-1] + letter))
