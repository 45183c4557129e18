"""What is wrong with a request, in words for whoever wrote the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHAPES = ("documents", "texts")  # pydantic puts the shape's name before a field where either is allowed
NO_OBJECT = "the body is not a JSON object: send one, with the header Content-Type: application/json"
# fields of several kinds, of which pydantic finds each at fault: what to give for all of it, and for one of it
UNIONS = {
    "documents": ("give a list", "give a text, or an object with a text and perhaps a title"),
    "input": (
        "give a text, or a list of texts",
        "give a text, no token ids (LangChain: check_embedding_ctx_length=False)",
    ),
}
MISSING = {  # field -> what to do where it is not there
    "documents": "give a list of texts; `texts`, as Hugging Face's TEI has them, go to /rerank",
    "input": "give a text, or a list of texts",
    "query": "give the question",
}
PRECISE = ("string_unicode", "string_too_long", "too_short", "too_long")  # of the right kind, and wrong otherwise

Error = Mapping[str, Any]
Place = Sequence[int | str]


def describe_problems(errors: Iterable[Error]) -> str:
    """Pydantic's errors, each place once: `documents[1]: give a text, ...`."""
    errors = list(errors)
    precise = {_write(_shorten(_find_place(e))) for e in errors if e["type"] in PRECISE}
    rest = [e for e in errors if e["type"] in PRECISE or _write(_shorten(_find_place(e))) not in precise]
    return "; ".join(dict.fromkeys(map(_describe, rest)))


def _describe(error: Error) -> str:
    kind, place = error["type"], _find_place(error)
    if kind == "json_invalid":
        return f"the body is not JSON: {error.get('ctx', {}).get('error', error['msg'])} (character {place[-1]})"
    if not place or (kind == "model_attributes_type" and len(place) == 1):
        return NO_OBJECT
    own = _shorten(place)
    if kind == "missing":
        remedy = MISSING.get(str(own[-1]))
        return f"{_write(own)}: {error['msg']}" + (f": {remedy}" if remedy else "")
    is_of_union = len(own) < len(place) and kind not in PRECISE
    return f"{_write(own)}: {UNIONS[str(own[0])][len(own) > 1] if is_of_union else error['msg']}"


def _find_place(error: Error) -> Place:
    place = error["loc"][1:]
    return place[1:] if len(place) > 1 and place[0] in SHAPES and isinstance(place[1], str) else place


def _shorten(place: Place) -> Place:
    """Without the kinds of a union."""
    if not place or place[0] not in UNIONS:
        return place
    return [place[0], *[part for part in place[1:] if isinstance(part, int)][:1]]


def _write(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
