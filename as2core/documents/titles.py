"""The title of a document whose kind marks none, as a text file or a PDF without one (decision 94)."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from as2core.documents.rule_lines import is_rule_line
from as2core.text import tokenize

MAX_TITLE_WORDS = 12
MIN_NAME_WORD_CHARS = 4  # of a word that a file's name and a title share; shorter ones are in many titles
_TITLE_LINE = re.compile(r"[^\W_a-z](?:[^|]*[^\W_])?[)\]!?]?")
_NOTHING = re.compile(
    r"(?:untitled|unnamed|document|doc|book|mappe|file|scan|img|image|page|new|copy|text|draft|final|\d|v\d|\W|_)+",
    re.IGNORECASE,
)
# What programs name a sheet in the languages of Excel's users, with its number and that of its copy.
_DEFAULT_SHEET = re.compile(
    r"(?:sheet|tabelle|feuil|feuille|hoja|foglio|planilha|folha|blad|ark|arkusz|list|h\u00e1rok|munka|taul|taulukko|sayfa|"
    r"leht|lapa|lapas|foaie|\u041b\u0438\u0441\u0442|\u0410\u0440\u043a\u0443\u0448|\u03a6\u03cd\u03bb\u03bb\u03bf|"
    r"\u5de5\u4f5c\u8868|\u30b7\u30fc\u30c8|\uc2dc\ud2b8|data|daten) ?(?P<number>\d*)(?: ?\(\d+\))?",
    re.IGNORECASE,
)


def choose_title(stem: str, text: str) -> str:
    """The first line of the text, if it looks like a title and something confirms it: a rule is drawn below it, it
    shares a word with the file's name, or that name says nothing ("scan 12"). Otherwise that name, without folders and
    suffix."""
    name = _read_name(stem)
    first, _, rest = text.strip().partition("\n")
    line, following = " ".join(first.split()), rest.partition("\n")[0]
    if not rest.strip() or not _looks_like_title(line):
        return name
    is_title = is_rule_line(following) or _NOTHING.fullmatch(name) or _share_word(line, name)
    return line if is_title else name


def choose_sheet_title(stem: str, sheet: str, text: str) -> str:
    """The sheet's name; where that says nothing, what a text file of that name would have as its title, with a year or
    the like behind it."""
    sheet = sheet.strip()
    if _DEFAULT_SHEET.fullmatch(sheet):
        return choose_title(stem, text)
    return f"{choose_title(stem, text)} {sheet}" if _NOTHING.fullmatch(sheet) else sheet


def is_default_sheet(sheet: str, number: int) -> bool:
    """Whether a program named the sheet of that number so: "Sheet1"."""
    match = _DEFAULT_SHEET.fullmatch(sheet.strip())
    return match is not None and match[0].endswith(match["number"]) and match["number"] == str(number)


def find_confirmed_title(stem: str, lines: Sequence[str]) -> str:
    """The first of the lines that shares a word with the file's name, or ""."""
    return next((line for line in lines if _share_word(line, _read_name(stem))), "")


def _read_name(stem: str) -> str:
    return PurePosixPath(stem).name.replace("_", " ")


def _looks_like_title(line: str) -> bool:
    return _TITLE_LINE.fullmatch(line) is not None and len(tokenize(line)) <= MAX_TITLE_WORDS


def _share_word(line: str, name: str) -> bool:
    """Or its beginning: "complaints" and "complain"."""
    ours, theirs = ([w for w in tokenize(t) if len(w) >= MIN_NAME_WORD_CHARS] for t in (line, name))
    return any(a.startswith(b) or b.startswith(a) for a in ours for b in theirs if not a.isdigit())
