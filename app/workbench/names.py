"""Names of people and corpora as they are stored and compared: nobody takes a name that looks like another's.

A character without width makes "Ada" a second Ada, and one that turns the direction of writing shows a name backwards,
with what follows it (Unicode Technical Report 36). Letters of another script that look alike are not found.
"""

import unicodedata

JOINERS = "\u200c\u200d"  # that Persian, Hindi and emoji need within a name
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters and signs to Unicode, and nothing to see


def tidy_name(name: str) -> str:
    """White space made single, without characters that nobody sees."""
    return " ".join("".join(c for c in " ".join(name.split()) if c in JOINERS or not _is_unseen(c)).split())


def fold_name(name: str) -> str:
    """The same for two names that a reader takes for one."""
    letters = unicodedata.normalize("NFKC", tidy_name(name)).casefold()
    return "".join(c for c in letters if c not in JOINERS)


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf") or character in _BLANKS
