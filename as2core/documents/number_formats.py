"""The value of a spreadsheet's cell as the sheet shows it, by the cell's number format (ECMA-376, part 1, 18.8.31).

A price is stored as 12.5 and shown as "EUR 12.50", a date as a number of days. Ours differs from the sheet in dates of
figures alone, which are written as 2026-03-01: "03/04/26" is another day in another country. Of a number without a
format, ten digits are read: those behind are errors of calculating.
"""

import re
from collections.abc import Sequence
from datetime import MAXYEAR, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import TypeAlias

Value: TypeAlias = bool | int | float | str | date | time | timedelta | None
Token: TypeAlias = tuple[str, str]

GENERAL = "General"
MAX_GENERAL_DIGITS = 10
MAX_DECIMALS = 10  # that a format may ask for
_WHOLE_DIGITS = 15  # that a spreadsheet keeps of a number
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")  # "[$\u20ac-407]", with the language of the names
_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])*;?', re.DOTALL)
_CONDITION = re.compile(r"\[[<>=]")
_UNFILLED = re.compile(r"[?#0]\s*/|E[+-]", re.IGNORECASE)  # fractions and powers of ten
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[[^\]]*\]|(?P<digit>[0#?.,])|(?P<general>General|@)|(?P<other>.)',
    re.DOTALL | re.IGNORECASE,
)
_TIME_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]|'
    r"(?P<part>AM/PM|A/P|y+|m+|d+|h+|s+)|(?P<other>[^@\[\]])",
    re.DOTALL | re.IGNORECASE,
)


def format_value(value: Value, number_format: str) -> str:
    if value is None or isinstance(value, (str, bool)):
        return "" if value is None else value if isinstance(value, str) else str(value).upper()
    sections = _divide_sections(number_format)
    if isinstance(value, timedelta):
        return _format_duration(value, sections[0])
    if isinstance(value, (date, time)):
        return _format_time(value, sections[0])
    if value == 0 and len(sections) > 2:
        return _format_number(0, sections[2])
    if value < 0:
        section = sections[1] if len(sections) > 1 else sections[0]
        has_sign = len(sections) > 1 and (not section or re.search(r"[-(]", section) is not None)
        return f"{'' if has_sign else '-'}{_format_number(-value, section)}"
    return _format_number(value, sections[0])


@lru_cache
def _divide_sections(number_format: str) -> Sequence[str]:
    """For numbers above, below and at 0, and for text."""
    sections = [s.removesuffix(";") for s in _SECTION.findall(_CURRENCY.sub(r'"\1"', number_format)) if s]
    if not sections or any(map(_CONDITION.search, sections)):  # which section holds is a matter of its condition
        return [GENERAL]
    return sections


def _format_number(value: float, section: str) -> str:
    """Of one that is not negative."""
    if section == GENERAL:
        return _format_general(value)
    tokens = [_name_token(match) for match in _TOKEN.finditer(section)]
    places = [i for i, (kind, _) in enumerate(tokens) if kind != "literal"]
    before, after = ("".join(text for kind, text in part if kind == "literal") for part in _divide(tokens, places))
    if not places:
        return " ".join(before.split())
    percents = sum(text.count("%") for kind, text in tokens if kind == "literal")
    core = tokens[places[0] : places[-1] + 1]
    if _UNFILLED.search(section) or value >= 10**_WHOLE_DIGITS:
        return _format_general(value)
    number = Decimal(repr(value)).scaleb(2 * percents)
    digits = _format_general(value) if core[0][0] == "general" else _fill_digits(number, core)
    return " ".join(f"{before}{digits}{after}".split())


def _name_token(match: re.Match[str]) -> Token:
    kind = match.lastgroup if match.lastgroup in ("digit", "general") else "literal"
    return kind, match[match.lastgroup] if match.lastgroup else ""


def _divide(tokens: list[Token], places: list[int]) -> tuple[list[Token], list[Token]]:
    """What stands before the digits, and what behind them."""
    return (tokens[: places[0]], tokens[places[-1] + 1 :]) if places else (tokens, [])


def _format_general(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if value >= 10**_WHOLE_DIGITS or 0 < value < 1e-6:
        return f"{value:.{MAX_GENERAL_DIGITS}g}"
    digits = f"{value:.{max(0, MAX_GENERAL_DIGITS - len(str(int(value))))}f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _fill_digits(number: Decimal, core: list[Token]) -> str:
    """The number by a pattern such as `#,##0.00`, which may have literals between its digits, as in `000-000`."""
    while core and core[-1] == ("digit", ","):  # it is shown in thousands
        core, number = core[:-1], number.scaleb(-3)
    point = next((i for i, token in enumerate(core) if token == ("digit", ".")), len(core))
    whole, decimals = core[:point], [text for kind, text in core[point + 1 :] if kind == "digit" and text != ","]
    size = min(len(decimals), MAX_DECIMALS)
    digits, _, rest = f"{number.quantize(Decimal(1).scaleb(-size), ROUND_HALF_UP):f}".partition(".")
    least = len("".join(decimals).rstrip("#?"))  # decimals
    rest = rest[:least] + rest[least:].rstrip("0")
    text = _fill_whole(digits.lstrip("0"), whole)
    return f"{text}.{rest}" if rest else text


def _fill_whole(digits: str, pattern: list[Token]) -> str:
    digits = digits.zfill(pattern.count(("digit", "0")))
    if any(kind == "literal" and text for kind, text in pattern):
        places, result = sum(kind == "digit" and text != "," for kind, text in pattern), ""
        for kind, text in reversed(pattern):
            if kind == "literal":
                result = text + result
            elif text != "," and digits:
                places -= 1
                piece = digits if places == 0 else digits[-1]  # the first place takes all that are left
                digits, result = digits[: -len(piece)], piece + result
        return result
    if ("digit", ",") in pattern:
        return re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",", digits)
    return digits


def _format_duration(value: timedelta, section: str) -> str:
    minutes, seconds = divmod(round(abs(value).total_seconds()), 60)
    text = f"{'-' if value < timedelta() else ''}{minutes // 60}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds and "s" in section.lower() else text


def _format_time(value: date | time, section: str) -> str:
    """Of a date, a time or both."""
    has_date = not isinstance(value, time)
    moment = _round_seconds(value)
    tokens = _name_minutes([(m.lastgroup or "", m[m.lastgroup or 0]) for m in _TIME_TOKEN.finditer(section)])
    parts = [text for kind, text in tokens if kind == "part"]
    letters = {text[0] for text in parts}
    if not letters:  # no format of a date
        text = moment.date().isoformat() if has_date else ""
        return text if has_date and moment.time() == time() else f"{text} {moment:%H:%M}".strip()
    if not has_date or not letters & set("ymd") or any(len(part) > 2 and part[0] in "md" for part in parts):
        return _write_parts(moment, tokens)
    day = {
        frozenset("ymd"): f"{moment:%Y-%m-%d}",
        frozenset("ym"): f"{moment:%Y-%m}",
        frozenset("md"): f"{moment.day} {_MONTHS[moment.month - 1]}",
    }.get(frozenset(letters & set("ymd")))
    if day is None:
        return _write_parts(moment, tokens)
    has_time = "h" in letters and moment.time() != time()  # midnight is what programs write behind a date
    return f"{day} {moment:%H:%M}" if has_time else day


def _round_seconds(value: date | time) -> datetime:
    """A time is stored as a share of a day, which is not exact."""
    if isinstance(value, time):
        value = datetime.combine(date(1900, 1, 1), value)
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    rounds_up = moment.microsecond >= 500_000 and moment.year < MAXYEAR
    return moment.replace(microsecond=0) + timedelta(seconds=rounds_up)


def _name_minutes(tokens: list[Token]) -> list[Token]:
    """Parts in lower case; an "m" beside hours or seconds becomes "n": it is one of minutes."""
    tokens = [(kind, text.lower() if kind == "part" else text) for kind, text in tokens]
    parts = [i for i, (kind, _) in enumerate(tokens) if kind == "part"]
    for place, i in enumerate(parts):
        beside = (
            tokens[parts[place - 1]][1][0] if place else "",
            *(tokens[j][1][0] for j in parts[place + 1 : place + 2]),
        )
        is_minutes = beside[0] == "h" or beside[1:] == ("s",)
        if tokens[i][1] in ("m", "mm") and is_minutes:
            tokens[i] = ("part", tokens[i][1].replace("m", "n"))
    return tokens


def _write_parts(moment: datetime, tokens: list[Token]) -> str:
    """A full minute is written without seconds."""
    has_halves = any(kind == "part" and text[0] == "a" for kind, text in tokens)
    hour = (moment.hour - 1) % 12 + 1 if has_halves else moment.hour
    month, day = _MONTHS[moment.month - 1], _DAYS[moment.weekday()]
    numbers = {"m": moment.month, "d": moment.day, "h": hour, "n": moment.minute, "s": moment.second}
    names = {"mmm": month[:3], "mmmm": month, "mmmmm": month[0], "ddd": day[:3], "dddd": day}
    is_full = moment.second == 0 and any(kind == "part" and part[0] == "h" for kind, part in tokens)
    text = ""
    for kind, part in tokens:
        if kind != "part":
            text += part
        elif part[0] == "s" and is_full:
            text = text.rstrip(":")
        elif part[0] == "y":
            text += str(moment.year)
        elif part[0] == "a":
            text += "AM" if moment.hour < 12 else "PM"
        else:
            text += names.get(part, f"{numbers[part[0]]:0{min(len(part), 2)}}")
    return " ".join(text.split()).rstrip(",;")
