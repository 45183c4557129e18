"""Soft hyphens that a PDF marks within a line: browsers show each as a space without width, read as "oper ation".

A tagged PDF gives such a sign its meaning (`/ActualText`), which pypdf does not look at. One at a line's end stays:
there it divides a word, and is shown as a hyphen.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdf import PageObject

_SOFT_HYPHENS = (b"\xfe\xff\x00\xad", "\u00ad")
_SHOWS = (b"Tj", b"TJ")
_Operation = tuple[Any, bytes]  # operands, operator


def drop_soft_hyphens(page: "PageObject") -> None:
    """Change the page so that its soft hyphens within a line are not shown."""
    from pypdf.generic import ContentStream, NameObject

    plain = page.get_contents()
    if plain is not None and b"/ActualText" in plain.get_data():
        content = ContentStream(page["/Contents"].get_object(), page.pdf, "bytes")  # as extract_text reads it
        content.operations = list(_drop_marked(content.operations))
        page[NameObject("/Contents")] = content


def _drop_marked(operations: list[_Operation]) -> Iterator[_Operation]:
    is_marked = False
    for i, (operands, operator) in enumerate(operations):
        if operator == b"BDC":
            is_marked = _is_soft_hyphen(operands) and _goes_on(operations, i)
        elif operator == b"EMC":
            is_marked = False
        if not (is_marked and operator in _SHOWS):
            yield operands, operator


def _is_soft_hyphen(operands: Any) -> bool:
    properties = operands[1] if len(operands) > 1 else None
    return isinstance(properties, dict) and properties.get("/ActualText") in _SOFT_HYPHENS


def _goes_on(operations: list[_Operation], start: int) -> bool:
    """Whether text follows on the same line after the marked part that begins there."""
    after = islice(operations, start, None)
    for _, operator in after:
        if operator == b"EMC":
            break
    for operands, operator in after:
        if operator in (b"Td", b"TD"):
            return len(operands) == 2 and operands[1] == 0
        if operator in (*_SHOWS, b"T*", b"Tm", b"ET", b"'", b'"'):
            return operator in _SHOWS
    return False
