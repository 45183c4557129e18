"""How a ranker is written down: `name`, `name:setting=value,flag`, or a version's directory.

A ranker made of rankers takes their specs in one setting, which comes last: `sequential:stages=jaccard@100+cascade`.
Parts are joined by `+`, `@` says how many a stage keeps, and brackets hold a part that is itself made of parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from as2core.errors import BadSetting
from as2core.rankers.base import Ranker


@dataclass(frozen=True, slots=True)
class Entry:
    """A catalog line. `settings` are the names a spec may set, with their defaults; `several` are those that take more
    than one number; `nested` is the one that holds rankers, which `build` gets as a list of (spec, ranker, how many it
    keeps)."""

    name: str
    what: str
    paper: str
    trains: bool
    settings: dict[str, Any]
    build: Callable[..., Ranker]
    nested: str | None = None
    several: frozenset[str] = frozenset()


def read_settings(entry: Entry, given: str) -> dict[str, Any]:
    """`k1=1.5,listwise` as `{"k1": 1.5, "listwise": True}`; the setting that holds rankers takes the rest as it is.

    Raises BadSetting.
    """
    settings: dict[str, Any] = {}
    rest = ""
    if entry.nested and (found := re.search(rf"(?:^|,){entry.nested}=(.*)$", given, re.DOTALL)):
        given, rest = given[: found.start()], found[1]
        settings[entry.nested] = rest
    return read_pairs(entry.name, filter(None, given.split(",")), entry.settings, entry.several) | settings


def read_pairs(
    name: str, pairs: Iterable[str], defaults: Mapping[str, Any], several: Collection[str] = ()
) -> dict[str, Any]:
    """`["k1=1.5", "listwise"]` as `{"k1": 1.5, "listwise": True}`, each value of its default's type. Raises BadSetting
    in the name of `name`."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        flag = not equals and isinstance(defaults.get(key), bool)
        if key not in defaults or not (equals or flag):
            known = ", ".join(defaults) or "none"
            raise BadSetting(f"{name} has no setting {pair!r}; known: {known} (each written setting=value)")
        settings[key] = True if flag else _value(name, key, value, defaults[key], key in several)
    return settings


@dataclass(frozen=True, slots=True)
class Part:
    """One ranker of a spec that is made of rankers. `keep`: how many it keeps (int), or which share (float)."""

    spec: str
    keep: int | float | None


def read_parts(text: str) -> list[Part]:
    """`jaccard@100+[fusion:rankers=bm25+wo]@0.5+cascade` as its parts. Raises BadSetting."""
    pieces, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "+" and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += c
    if depth or not all(pieces):
        raise BadSetting(f"{text!r} is no list of rankers: write them as jaccard@100+cascade, brackets in pairs")
    parts = []
    for piece in pieces:
        spec, at, amount = piece.rpartition("@")
        if not at or not re.fullmatch(r"\d+|\d*\.\d+", amount):
            spec, amount = piece, ""
        if spec.startswith("[") and spec.endswith("]"):
            spec = spec[1:-1]
        parts.append(Part(spec, (float(amount) if "." in amount else int(amount)) if amount else None))
    return parts


def pointed_anew(spec: str, moved: Mapping[str, str]) -> str:
    """The spec with directories that were moved, old -> new, named where they are now."""
    for old, new in moved.items():
        spec = re.sub(rf"(?<![^=+\[]){re.escape(old)}(?![^+@\]:])", lambda _, new=new: new, spec)
    return spec


def _value(name: str, key: str, text: str, default: Any, several: bool) -> Any:
    """A setting's value, of its default's type (a number where the default is None and it looks like one). `several`
    numbers are divided by `/`: `drop_ratio=0.3/0.1/0.4/0.2`; where the default is a tuple so is the value."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, tuple):
            return tuple(int(t) for t in text.split("/"))
        if isinstance(default, int | float):
            values = tuple(type(default)(t) for t in text.split("/"))
            return values if several and len(values) > 1 else type(default)(text)
        return int(text) if text.isdigit() else text
    except (ValueError, KeyError):
        raise BadSetting(f"{name}: {key}={text!r} is not a {type(default).__name__}") from None
