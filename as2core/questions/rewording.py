"""Whether two questions ask the same thing in nearly the same words.

Two forms are compared. The exact one is blind to case, punctuation and articles. The loose one also disregards word
order, endings and words that carry no topic; there, `MIN_COSINE` of the questions' vectors must agree as well. Vectors
alone would not do: "where" and "when" of the same event, or two diseases of one family, have cosines above .97
(`python benchmarks/same_question.py`).
"""

from __future__ import annotations

from as2core.text import STOP_WORDS, tokenize

MIN_COSINE = 0.95
MIN_STEM_LETTERS = 3  # of a word without its ending
_ARTICLES = frozenset(("a", "an", "the"))
_ENDINGS = ("ing", "ed", "es", "s")
_FILLERS = frozenset(("name", "named", "called", "located"))  # "what is X called" asks for the name of X
_DECISIVE = frozenset(("no", "not", "without", "before", "after", "over", "under"))  # stop words that turn a question
_ASKED_FOR = {"who": "person", "whom": "person", "whose": "person", "when": "time", "where": "place", "why": "reason",
              "how": "manner"}  # fmt: skip
LooseForm = tuple[str, ...]


def find_exact_form(question: str) -> tuple[str, ...]:
    """Its words in their order, without articles."""
    return tuple(w for w in tokenize(question) if w not in _ARTICLES)


def find_loose_form(question: str) -> LooseForm:
    """Its topical words without their endings, and those that turn its meaning, in alphabetical order; () if there are
    none."""
    words = (w for w in tokenize(question) if w not in _FILLERS)
    topical = {_cut_ending(w) for w in words if w not in STOP_WORDS or w in _DECISIVE}
    return tuple(sorted(topical))


def may_ask_alike(question: str, other: str) -> bool:
    """Whether both may be after the same kind of thing: not one after a place and the other after a time. "What" and
    "which" leave it open."""
    kinds = find_answer_types(question), find_answer_types(other)
    return not all(kinds) or kinds[0] == kinds[1]


def find_answer_types(question: str) -> frozenset[str]:
    return frozenset(_ASKED_FOR[w] for w in tokenize(question) if w in _ASKED_FOR)


def _cut_ending(word: str) -> str:
    if not word.isalpha():
        return word  # a number, a part, a type
    fits = (e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= MIN_STEM_LETTERS)
    stem = word if word.endswith("ss") else word.removesuffix(next(fits, ""))
    return stem.rstrip("e") if len(stem) > MIN_STEM_LETTERS else stem
