"""What is wrong with a request, in words for whoever wrote the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHAPES = ("documents", "texts")  # pydantic puts the shape's name before a field where either is allowed
NO_OBJECT = "the body is not a JSON object: send one, with the header Content-Type: application/json"
DOCUMENT = "give a text, or an object with a text and perhaps a title"
OF_TEXTS = ("string_unicode", "string_too_long")  # problems of a text, not of what was given in its place


def describe_problems(errors: Iterable[Mapping[str, Any]]) -> str:
    """Pydantic's errors, each place once: `documents[1]: give a text, ...`."""
    return "; ".join(dict.fromkeys(map(_describe, errors)))


def _describe(error: Mapping[str, Any]) -> str:
    kind, place = error["type"], list(error["loc"][1:])
    if kind == "json_invalid":
        return f"the body is not JSON: {error.get('ctx', {}).get('error', error['msg'])} (character {place[-1]})"
    if len(place) > 1 and place[0] in SHAPES and isinstance(place[1], str):
        place = place[1:]
    if not place or (kind == "model_attributes_type" and len(place) == 1):
        return NO_OBJECT
    if place[0] == "documents" and len(place) > 2 and kind not in OF_TEXTS:  # one of the union's members
        return f"{_write_place(place[:2])}: {DOCUMENT}"
    return f"{_write_place(place)}: {error['msg']}"


def _write_place(place: Sequence[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
