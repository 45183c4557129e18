"""What is wrong with a request, in words for whoever wrote the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
REMEDIES = {  # pydantic's type of an error -> what to do, with the bounds that it names
    "bool_parsing": "give true or false",
    "bool_type": "give true or false",
    "finite_number": "give a whole number",
    "greater_than_equal": "give {ge} or more",
    "int_from_float": "give a whole number",
    "int_parsing": "give a whole number",
    "int_type": "give a whole number",
    "less_than_equal": "give {le} or less",
    "list_type": "give a list",
    "literal_error": "give {expected}",
    "string_too_long": "give at most {max_length:,} characters",
    "string_too_short": "give at least {min_length} character",
    "string_type": "give a text",
    "string_unicode": "it has half a surrogate pair (\\ud800 to \\udfff), which is no character: remove it",
    "too_long": "give at most {max_length:,}, not {actual_length:,}",
    "too_short": "give at least {min_length}",
}

Error = Mapping[str, Any]
Place = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """`place` leads to the field from the body, which is ()."""

    place: tuple[int | str, ...]
    text: str

    def __str__(self) -> str:
        name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.place).removeprefix(".")
        return f"{name}: {self.text}" if name else self.text


def list_problems(errors: Iterable[Error]) -> list[FieldProblem]:
    """Pydantic's errors, each place once: `documents[1]: give a text, ...`."""
    errors = list(errors)
    precise = {_shorten(_find_place(e)) for e in errors if e["type"] in PRECISE}
    rest = [e for e in errors if e["type"] in PRECISE or _shorten(_find_place(e)) not in precise]
    return list(dict.fromkeys(map(_describe, rest)))


def describe_unreadable(cause: BaseException | None) -> str:
    """A body that is no JSON for a reason other than its grammar; `cause` is what reading it raised."""
    if isinstance(cause, UnicodeDecodeError):
        return "the body is not UTF-8: send JSON in UTF-8, not compressed"
    if isinstance(cause, RecursionError):
        return "the body is nested too deeply: send an object with texts and lists of them"
    if isinstance(cause, ValueError):
        return "the body has a number of thousands of digits: send a shorter one"
    return "the body cannot be read: send JSON in UTF-8"


def _describe(error: Error) -> FieldProblem:
    kind, place = error["type"], _find_place(error)
    if kind == "json_invalid":
        text = f"the body is not JSON: {error.get('ctx', {}).get('error', error['msg'])} (character {place[-1]})"
        return FieldProblem((), text)
    if not place or (kind == "model_attributes_type" and len(place) == 1):
        return FieldProblem((), NO_OBJECT)
    own = _shorten(place)
    if kind == "missing":
        remedy = MISSING.get(str(own[-1]))
        return FieldProblem(own, error["msg"] + (f": {remedy}" if remedy else ""))
    if len(own) < len(place) and kind not in PRECISE:
        return FieldProblem(own, UNIONS[str(own[0])][len(own) > 1])
    remedy = REMEDIES.get(kind)
    return FieldProblem(own, remedy.format_map(error.get("ctx", {})) if remedy else error["msg"])


def _find_place(error: Error) -> Place:
    place = error["loc"][1:]
    return place[1:] if len(place) > 1 and place[0] in SHAPES and isinstance(place[1], str) else place


def _shorten(place: Place) -> tuple[int | str, ...]:
    """Without the kinds of a union."""
    if not place or place[0] not in UNIONS:
        return tuple(place)
    return (place[0], *[part for part in place[1:] if isinstance(part, int)][:1])
