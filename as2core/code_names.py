"""Names with stops in them, as programs have: "net.Socket" ends no sentence."""

import re
from collections import Counter
from functools import lru_cache

_ATTRIBUTE = re.compile(r"(?<![\w.])([^\W\d_A-Z]{2,})\.([^\W\d]\w*)")


def is_attribute(text: str, word: str, place: int, name: str) -> bool:
    """Whether the `name` that begins at `place`, right behind the stop after `word`, is a part of what the word names,
    as in "net.Socket": it goes on like code, or the text says so elsewhere. Else a space was lost between sentences."""
    return text[place + len(name) : place + len(name) + 1] in tuple("([{}|.") or word in _find_modules(text)


@lru_cache(maxsize=1)  # one text is asked about many times
def _find_modules(text: str) -> frozenset[str]:
    """The words of a text behind whose stop there is a small letter, "fs.access", or the same name twice."""
    counts = Counter(_ATTRIBUTE.findall(text))
    return frozenset(word for (word, name), n in counts.items() if n > 1 or name[0].islower())
