"""Lines of a plain text that only draw a rule: under a heading, between two parts, around a table.

Such a line was part of the heading's sentence ("Known Problems ==============") or a sentence of its own.
"""

import re

_RULE_LINE = re.compile(r"^[^\S\n]*(?:[-=_*~#+|:\u2500-\u257f][^\S\n]*){3,}$", re.MULTILINE)


def drop_rule_lines(text: str) -> str:
    """The text, whose line ends are "\\n", with each made an empty line: what it divides stays apart."""
    return _RULE_LINE.sub("", text)


def is_rule_line(line: str) -> bool:
    return _RULE_LINE.fullmatch(line) is not None
