"""Tables of spreadsheets, and text for them: no cell of a CSV becomes a formula.

Spreadsheets evaluate a cell that begins with one of `= + - @`, also in full width, a tab or a line end, and a formula
can fetch an address or start a program. Where the comma is the decimal mark, Excel divides our rows at semicolons, and
within quotation marks, too: so what follows one in a cell counts as the beginning of another, as does what follows a
tab or a line end. OWASP's remedy (CSV Injection) is an apostrophe before it. Ours differs in that it can be undone: a
text that has apostrophes before such a character gets one more, so that reading back takes exactly one away.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence

TEXT_COLUMNS = ("text", "answer", "content", "body")  # of a table whose rows are documents
TITLE_COLUMNS = ("title", "article", "subject", "heading", "name", "question")
DELIMITERS = ",;\t"  # a spreadsheet writes semicolons where the comma is the decimal mark
_SEPARATOR = re.compile(r'"?sep=.?"?[,;\s]*', re.IGNORECASE)
_FORMULA = re.compile(r"((?:\A|(?<=[;\t\r\n]))'*)(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")


def names_delimiter(line: str) -> bool:
    """Whether it is the line `sep=;` that tells Excel what divides the columns, which may come before the header."""
    return _SEPARATOR.fullmatch(line) is not None


def find_header(text: str) -> str:
    """The line of a table that names its columns: the first, or the one after `sep=;`."""
    first, _, rest = text.partition("\n")
    return rest.partition("\n")[0] if names_delimiter(first) else first


def split_header(header: str, delimiter: str) -> list[str]:
    """The names in such a line, without quotation marks around them."""
    return [name.strip().strip('"') for name in header.split(delimiter)]


def find_twin(columns: Sequence[str]) -> str:
    """The name of two columns of documents where it is one that is read; "" where there is none."""
    kinds = ("id", "_id"), TEXT_COLUMNS, TITLE_COLUMNS
    names = (next((name for name in kind if name in columns), "") for kind in kinds)
    return next((name for name in names if name and columns.count(name) > 1), "")


def defuse_formula(text: str) -> str:
    """With an apostrophe before what a spreadsheet would take for a formula."""
    return _FORMULA.sub(r"'\1", text)


def restore_formula(text: str) -> str:
    """The text before `defuse_formula`."""
    return _FORMULA.sub(lambda match: match[0][1:], text)


def mark_utf_8(content: bytes) -> bytes:
    """With the mark (BOM) in front without which Excel takes UTF-8 for Windows-1252. For files that a person opens;
    other programs may take the mark for text."""
    return BOM_UTF8 + content
