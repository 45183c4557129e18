"""How a ranker is declared, and how it is written down: `name`, `name:setting=value,flag`, or a version's directory.

A ranker made of rankers takes their specs in one setting, which comes last: `sequential:stages=jaccard@100+cascade`.
Parts are joined by `+`, `@` says how many a stage keeps, and brackets hold a part that is itself made of parts. A
setting that holds one ranker may stand anywhere: `cascade:first=jaccard,keep=5`. Brackets keep the commas of its spec
together: `cascade:first=[bm25:k1=1.5,b=0.6],keep=5`.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from as2core.errors import BadSetting
from as2core.rankers.base import HasWeights, Ranker

STRUCTURE = "Bonadiman and Moschitti 2020"  # papers that several rankers come from
RERANK = "Matsubara et al. 2020"

# Settings that trained weights cannot have otherwise than they were trained, and how the shipped ones were.
SHIPPED_SETTINGS: Mapping[str, "Setting"] = {
    "as": "shipped",
    "backbone": None,
    "segments": None,
    "exits": (),
    "pool": "mean",
}

OUTSIDE_SETTINGS = ("model", "file", "url", "backbone", "vectors")  # name a file, a directory, a model or an address

Setting = bool | int | float | str | tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A ranker's line in the catalog. A module of `as2core.rankers` that has one in a variable adds its ranker.

    `build` makes the ranker. `settings` are the keywords it takes from a spec, with their defaults; its keyword-only
    parameters need not be given. `several` are settings that take more than one number. `shipped` is the model in
    models/ that it starts from: `build` then gets that ranker first, or None where the settings ask for an untrained
    one. `nested` is the setting that holds rankers: `build` gets a list of `BuiltPart`. `inner` is the setting that
    holds one: `build` gets the ranker, or the text where that is one of `inner_words`. `saved` are the classes whose
    versions can be loaded: it `trains` if it has any. `required` is the setting without which it is nothing: "model",
    "file" or "url".
    """

    name: str
    description: str
    paper: str
    build: Callable[..., Ranker]
    several: Collection[str] = ()
    shipped: str | None = None
    nested: str | None = None
    inner: str | None = None
    inner_words: Collection[str] = ()
    saved: tuple[type[HasWeights], ...] = ()
    required: str | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.build).parameters.values()
        own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        object.__setattr__(self, "settings", {**own, **self.settings})

    def describe_settings(self) -> str:
        """`k1=1.2, b=0.75`: with their defaults; "none" without any."""
        return ", ".join(f"{name}={value}" for name, value in self.settings.items()) or "none"

    @property
    def trains(self) -> bool:
        return bool(self.saved)

    def shipped_model(self, settings: Mapping[str, Setting]) -> str | None:
        """The shipped model whose weights it takes with these settings; None where it starts untrained."""
        untrained = any(settings.get(name, default) != default for name, default in SHIPPED_SETTINGS.items())
        return None if untrained else self.shipped

    def nested_spec(self, settings: Mapping[str, Setting]) -> str:
        """The specs of the rankers it is made of, as they are written; "" where it is made of none."""
        return "" if self.nested is None else str(settings.get(self.nested, self.settings[self.nested]))

    def inner_spec(self, settings: Mapping[str, Setting]) -> str:
        """The spec of the ranker in the setting `inner`; "" where there is none."""
        text = "" if self.inner is None else str(settings.get(self.inner, ""))
        return "" if text in self.inner_words else _remove_brackets(text)

    def list_parts(self, settings: Mapping[str, Setting]) -> list["Part"]:
        """All rankers in its settings, as they are written. Raises BadSetting."""
        nested, inner = self.nested_spec(settings), self.inner_spec(settings)
        return [*(read_parts(nested) if nested else ()), *([Part(inner, None)] if inner else ())]


def read_settings(entry: Entry, text: str) -> dict[str, Setting]:
    """`k1=1.5,listwise` as `{"k1": 1.5, "listwise": True}`; the setting that holds rankers takes the rest as it is.

    Raises BadSetting.
    """
    nested: dict[str, Setting] = {}
    if entry.nested and (match := re.search(rf"(?:^|,){entry.nested}=(.*)$", text, re.DOTALL)):
        text, nested = text[: match.start()], {entry.nested: match[1]}
    settings = read_pairs(entry.name, split_pairs(text), entry.settings, entry.several) | nested
    if entry.required and not settings.get(entry.required):
        value = {"model": "DIR", "file": "FILE", "url": "URL"}[entry.required]
        raise BadSetting(f"{entry.name} needs {entry.required}: write {entry.name}:{entry.required}={value}")
    return settings


def split_pairs(text: str) -> list[str]:
    """`first=[bm25:k1=1.5,b=0.6],keep=5` at the commas outside brackets. Raises BadSetting for half a pair of them."""
    pieces, is_whole = split_outside_brackets(text, ",")
    if not is_whole:
        raise BadSetting(f"{text!r} has a bracket without its other half: write setting=[SPEC],setting=value")
    return [piece for piece in pieces if piece]


def split_outside_brackets(text: str, divider: str) -> tuple[list[str], bool]:
    """The pieces, and whether every bracket has its other half."""
    pieces, depth, least = [""], 0, 0
    for c in text:
        depth += (c == "[") - (c == "]")
        least = min(least, depth)
        if c == divider and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += c
    return pieces, depth == least == 0


def _remove_brackets(spec: str) -> str:
    return spec[1:-1] if spec.startswith("[") and spec.endswith("]") else spec


def read_pairs(
    name: str,
    pairs: Iterable[str],
    defaults: Mapping[str, Setting],
    several: Collection[str] = (),
    optional: Mapping[str, type] = MappingProxyType({}),
) -> dict[str, Setting]:
    """`["k1=1.5", "listwise"]` as `{"k1": 1.5, "listwise": True}`, each value of its default's type. Those of
    `optional` are of the type there or None, written "none". Raises BadSetting in the name of `name`."""
    settings: dict[str, Setting] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        is_flag = not equals and isinstance(defaults.get(key), bool)
        if key not in defaults or not (equals or is_flag):
            names = ", ".join(defaults) or "none"
            raise BadSetting(f"{name} has no setting {pair!r}; known: {names} (each written setting=value)")
        if key in optional:
            settings[key] = _read_optional(name, key, value, optional[key])
        else:
            settings[key] = True if is_flag else _read_value(name, key, value, defaults[key], key in several)
    return settings


@dataclass(frozen=True, slots=True)
class Part:
    """One ranker of a spec that is made of rankers. `keep`: how many it keeps (int), or which share (float)."""

    spec: str
    keep: int | float | None


@dataclass(frozen=True, slots=True)
class BuiltPart(Part):
    """A part and its ranker."""

    ranker: Ranker


def read_parts(text: str) -> list[Part]:
    """`jaccard@100+[fusion:rankers=bm25+wo]@0.5+cascade` as its parts. Raises BadSetting."""
    pieces, is_whole = split_outside_brackets(text, "+")
    if not is_whole or not all(pieces):
        raise BadSetting(f"{text!r} is no list of rankers: write them as jaccard@100+cascade, brackets in pairs")
    parts = []
    for piece in pieces:
        spec, at, amount = piece.rpartition("@")
        if not at or not re.fullmatch(r"\d+|\d*\.\d+", amount):
            spec, amount = piece, ""
        parts.append(
            Part(_remove_brackets(spec), (float(amount) if "." in amount else int(amount)) if amount else None)
        )
    return parts


def replace_rankers(spec: str, moved: Mapping[str, str]) -> str:
    """The spec with the rankers of `moved`, old -> new, replaced: directories, names, or whole parts."""
    for old, new in moved.items():
        spec = re.sub(rf"(?<![^=+\[]){re.escape(old)}(?![^+@\]:,])", new.replace("\\", r"\\"), spec)
    return spec


def _read_value(name: str, key: str, text: str, default: Setting, several: bool) -> Setting:
    """A setting's value, of its default's type (a number or a truth value where the default is None and it looks like
    one). `several`
    numbers are divided by `/`: `drop_ratio=0.3/0.1/0.4/0.2`; where the default is a tuple so is the value."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, tuple):
            return tuple(int(t) for t in text.split("/"))
        if isinstance(default, int | float):
            values = tuple(type(default)(t) for t in text.split("/"))
            return values if several and len(values) > 1 else type(default)(text)
        if isinstance(default, str):
            return text
        if default is None and text in ("true", "false"):
            return text == "true"
        return int(text) if text.isdigit() else text
    except (ValueError, KeyError):
        raise BadSetting(f"{name}: {key}={text!r} is not a {type(default).__name__}") from None


def _read_optional(name: str, key: str, text: str, kind: type) -> Setting:
    if text.lower() == "none":
        return None
    try:
        value: Setting = kind(text)
    except ValueError:
        raise BadSetting(f"{name}: {key}={text!r} is neither a {kind.__name__} nor none") from None
    return value
