"""What may stand in a version's configuration: each setting by name, with its type and range.

A configuration comes with the file, and a file from anywhere. Names that no ranker has are refused by `restore`; here
the values are checked before anything is built of them.
"""

from collections.abc import Callable, Mapping
from math import isfinite

from as2core.errors import BadSetting

MAX_LAYERS, MAX_TOKENS, MAX_SIZE = 200, 100_000, 100_000
MAX_TEXT_CHARS = 4096


def _is_whole(low: int, high: int) -> Callable[[object], bool]:
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high


def _is_number(v: object) -> bool:
    return isinstance(v, int | float) and not isinstance(v, bool) and isfinite(v)


def _is_ratio(v: object) -> bool:
    return _is_number(v) and 0 <= v <= 1  # type: ignore[operator]


def _is_text(v: object) -> bool:
    return isinstance(v, str) and len(v) <= MAX_TEXT_CHARS and "\0" not in v


def _is_list(check: Callable[[object], bool], low: int, high: int) -> Callable[[object], bool]:
    return lambda v: isinstance(v, list | tuple) and low <= len(v) <= high and all(map(check, v))


def _is_none_or(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda v: v is None or check(v)


def _is_any_of(*checks: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda v: any(check(v) for check in checks)


_is_pair = _is_list(_is_number, 2, 2)
_is_flag: Callable[[object], bool] = lambda v: isinstance(v, bool)  # noqa: E731
_is_layer = _is_whole(1, MAX_LAYERS)

SETTINGS: dict[str, tuple[Callable[[object], bool], str]] = {
    "exits": (_is_list(_is_layer, 1, MAX_LAYERS), "a list of layers"),
    "depth": (_is_layer, "a layer"),
    "drop_ratio": (_is_any_of(_is_ratio, _is_list(_is_ratio, 0, MAX_LAYERS)), "a ratio from 0 to 1, or a list"),
    "keep": (_is_whole(1, 1_000_000), "a whole number above 0"),
    "max_length": (_is_whole(4, MAX_TOKENS), f"a whole number from 4 to {MAX_TOKENS:,}"),
    "segments": (_is_flag, "true or false"),
    "listwise": (_is_flag, "true or false"),
    "calibration": (_is_none_or(_is_list(_is_pair, 1, MAX_LAYERS)), "null, or a list of pairs of numbers"),
    "answer": (_is_none_or(_is_pair), "null, or a pair of numbers"),  # of older versions; nothing reads it
    "answer_shares": (_is_none_or(_is_pair), "null, or a pair of numbers"),
    "threshold": (_is_none_or(_is_number), "null, or a number"),
    "rankers": (_is_list(_is_text, 1, 100), "a list of specs"),
    "k": (_is_whole(0, 1_000_000), "a whole number"),
}
_is_other = _is_any_of(_is_flag, _is_text, _is_whole(0, MAX_SIZE))  # sizes of networks, and names
PLACES = ("backbone", "vectors")  # of a configuration, outside the settings, and of a spec: a name or a path, or null


def check_config(config: Mapping[str, object]) -> None:
    """The content of a version's config.json. Raises BadSetting naming the setting."""
    for name in PLACES:
        if not _is_none_or(_is_text)(config.get(name)):
            raise BadSetting(f"{name} is {_show(config.get(name))} instead of a name or null")
    if "size" in config and not _is_whole(1, MAX_SIZE)(config["size"]):
        raise BadSetting(f"size is {_show(config['size'])} instead of a whole number up to {MAX_SIZE:,}")
    settings = config.get("settings", {})
    if not isinstance(settings, Mapping):
        raise BadSetting(f"settings is {_show(settings)} instead of an object")
    check_settings(settings)


def check_settings(settings: Mapping[str, object]) -> None:
    """Raises BadSetting naming the setting."""
    for name, value in settings.items():
        check, expected = SETTINGS.get(name, (_is_other, f"a text, a flag or a whole number up to {MAX_SIZE:,}"))
        if not check(value):
            raise BadSetting(f"{name} is {_show(value)} instead of {expected}")


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]} …"
