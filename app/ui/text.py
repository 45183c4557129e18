"""Foreign text (candidates, titles, questions, error messages), shown as text only.

Streamlit reads most texts as Markdown: images load, `$` becomes LaTeX, `:red[` colours. Text from outside this
repository goes through `escape` into `st.html`, through `st.text`, or through `plain` where a widget takes Markdown
only.

Addresses become links, `--` and `->` a dash and an arrow, `:material/home:` and `:cat:` pictures, whatever is escaped:
the browser looks for them in the text that is left. A character without width (WORD_JOINER) parts them.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from html import escape as escape

from as2core import messages
from as2core.documents.table_cells import CELL_END
from as2core.messages import HYPHEN, MINUS

_MARKUP = re.compile(r"([\\`*_\[\]<>$:~#|!&^=@{}])")
_LINE_START = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s)", re.MULTILINE)
WORD_JOINER = "\u2060"
MIN_ANNOUNCEMENT_CHARS = 12  # shorter ones, such as "Note: ", are left to the sentences that have them
_ADDRESS = re.compile(r"(https?:/(?=/)|www(?=\.)|(?=@))", re.IGNORECASE)
# What errors open with, but for the names of people, files and rankers, which stay as they are.
_FIRST_WORD = re.compile(
    r"(?:a|an|the|this|these|there|it|its|your|no|not|nobody|nothing|somebody|only|all|more|another|two|after|at|say|"
    r"question|document|documents|line|label|labels|job|word|text|settings|guidelines|answer|verdict|pair)(?=[ ,])"
)
_PICTURE = re.compile(r":(?!\d\d:)(?=[\w+/-]+:)", re.ASCII)  # but for the time in 12:30:45
_SYMBOL = re.compile(r"(?<!\S)(<->|->|<-|--|>=|<=|~=)(?!\S)")


def plain(text: str) -> str:
    """Markdown that renders as this text, without links (runs of white space become one space)."""
    one_line = _ADDRESS.sub(rf"\1{WORD_JOINER}", " ".join(text.split()))
    one_line = _PICTURE.sub(f":{WORD_JOINER}", one_line)
    one_line = _SYMBOL.sub(lambda m: f"{m[0][0]}{WORD_JOINER}{m[0][1:]}", one_line)
    markdown = _MARKUP.sub(r"\\\1", one_line)
    return _LINE_START.sub(lambda m: f"{m[1]}{m[2][:-1]}\\{m[2][-1]}", markdown)


def render_notes(notes: Sequence[str]) -> str:
    """Markdown of a box: a single note as it is, several as a list. A box for each would push what matters off the
    screen."""
    texts = [plain(note) for note in notes]
    return texts[0] if len(texts) == 1 else "\n".join(f"- {text}" for text in texts)


def drop_announcement(neighbour: str, text: str) -> str:
    """A neighbour of a sentence without what announces both: it is read before each of them, and shown before the
    sentence alone. Rows of a table keep the names of their cells."""
    ends = [end + len(mark) for mark in (": ", "? ") if (end := text.find(mark, MIN_ANNOUNCEMENT_CHARS)) > 0]
    return neighbour if CELL_END in neighbour or not ends else neighbour.removeprefix(text[: min(ends)])


def name_document(title: str, heading: str = "") -> str:
    """The document, and the section in it where that is known."""
    return " › ".join(filter(None, (title or "Untitled document", heading)))


def shorten(text: str, width: int) -> str:
    """At most `width` characters, cut at a word and ended with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    cut = text[: width - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[width // 2 :] else cut).rstrip(" ,;:.") + "…"


def format_percent(share: float) -> str:
    """`94 %`; never rounded to 0 or 100: `< 1 %`, `> 99 %`."""
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{share * 100:.0f} %"


def format_number(value: float) -> str:
    """Two decimals; what rounds to 0 has no sign."""
    return f"{round(value, 2) + 0.0:.2f}".replace(HYPHEN, MINUS)


def format_signed(value: float, digits: int = 3) -> str:
    """As `as2core.messages.format_signed`, with the sign of the pages."""
    return messages.format_signed(value, digits, MINUS)


def format_time(at: datetime) -> str:
    """`4 May 2024, 12:30 UTC`: times are stored in UTC, and a page does not know where its reader is."""
    return f"{format_day(at)}, {at:%H:%M} UTC"


def format_day(at: datetime) -> str:
    """`4 May 2024`"""
    return f"{at.day} {at:%b %Y}"


def capitalize(text: str) -> str:
    """With a capital first letter; the others are not changed."""
    return text[:1].upper() + text[1:]


def capitalize_message(text: str) -> str:
    """The same of an error's text, unless it opens with a name or an address, which stay as they are."""
    return capitalize(text) if _FIRST_WORD.match(text) else text
