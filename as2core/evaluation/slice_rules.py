r"""A user's own slices of labelled questions: rules in a TOML file.

    [[slice]]
    name = "dates"
    any = ["date", "what year"]     # words or phrases of the question

    [[slice]]
    name = "error codes"
    matches = '\bE\d{3}\b'          # a regular expression in the question
    document = "Manual *"           # the title of a correct sentence's document; * stands for any text
    max_words = 8                   # of the question; min_words as well
    min_candidates = 20             # of the question; max_candidates as well

Upper and lower case are the same. A question is in a slice if it meets all its conditions, so it may be in several.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path

from as2core.errors import BadSetting, UnreadableFile
from as2core.sources.content import read_text
from as2core.text import tokenize
from as2core.types import Question

NUMBERS = ("min_words", "max_words", "min_candidates", "max_candidates")
KEYS = ("name", "any", "matches", "document", *NUMBERS)
MAX_RULES, MAX_NAME_CHARS = 50, 60
_HEADER = re.compile(r"\s*\[\[\s*slice\s*\]\]")


@dataclass(frozen=True, slots=True)
class SliceRule:
    """`phrases`: each the words of one, any of which is enough. None and infinity where there is no condition."""

    name: str
    phrases: tuple[tuple[str, ...], ...] | None = None
    pattern: re.Pattern[str] | None = None
    document: str | None = None
    min_words: float = 0
    max_words: float = inf
    min_candidates: float = 0
    max_candidates: float = inf

    def includes(self, question: Question) -> bool:
        words = tokenize(question.text)
        return (
            self.min_words <= len(words) <= self.max_words
            and self.min_candidates <= len(question.candidates) <= self.max_candidates
            and (self.phrases is None or any(_has_phrase(words, p) for p in self.phrases))
            and (self.pattern is None or self.pattern.search(question.text) is not None)
            and (self.document is None or self._is_of_document(question))
        )

    def _is_of_document(self, question: Question) -> bool:
        pattern = (self.document or "").casefold()
        return any(c.label == 1 and fnmatchcase(c.title.casefold(), pattern) for c in question.candidates)


def _has_phrase(words: Sequence[str], phrase: tuple[str, ...]) -> bool:
    return any(tuple(words[i : i + len(phrase)]) == phrase for i in range(len(words) - len(phrase) + 1))


def read_slice_rules(file: Path) -> tuple[SliceRule, ...]:
    """Raises UnreadableFile, BadSetting, each with the file, the slice and its line."""
    text = read_text(file)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableFile(f"{file}: not TOML ({error})") from None
    rows = document.pop("slice", None)
    if not isinstance(rows, list) or not rows:
        raise BadSetting(f'{file} has no slice: write [[slice]], then name = "dates" and any = ["date"] below it')
    if document:
        raise BadSetting(f"{file} has {', '.join(sorted(document))}: only [[slice]] is known, with its keys below it")
    if len(rows) > MAX_RULES:
        raise BadSetting(f"{file} has {len(rows)} slices: {MAX_RULES} at most")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
    rules: list[SliceRule] = []
    for i, row in enumerate(rows):
        where = f"{file}, slice {i + 1}" + (f" (line {lines[i]})" if len(lines) == len(rows) else "")
        rule = _read_rule(where, row)
        if rule.name in (r.name for r in rules):
            raise BadSetting(f"{where}: another slice is named {rule.name!r}, too; give each its own name")
        rules.append(rule)
    return tuple(rules)


def _read_rule(where: str, row: object) -> SliceRule:
    if not isinstance(row, dict):
        raise BadSetting(f"{where} is no table: write [[slice]] above its keys")
    if unknown := sorted(set(row) - set(KEYS)):
        raise BadSetting(f"{where} has {', '.join(unknown)}; known: {', '.join(KEYS)}")
    name = row.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_CHARS:
        raise BadSetting(f'{where}: give it a name of {MAX_NAME_CHARS} characters at most, such as name = "dates"')
    if set(row) == {"name"}:
        raise BadSetting(f"{where} ({name}) has no condition: give one or more of {', '.join(KEYS[1:])}")
    where = f"{where} ({name})"
    pattern = _read_text(where, row, "matches")
    return SliceRule(
        name.strip(),
        _read_phrases(where, row["any"]) if "any" in row else None,
        None if pattern is None else _compile(where, pattern),
        _read_text(where, row, "document"),
        *_read_range(where, row, "words"),
        *_read_range(where, row, "candidates"),
    )


def _read_phrases(where: str, value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise BadSetting(f'{where}: any is a list of words or phrases, such as ["date", "what year"]')
    phrases = tuple(tuple(tokenize(text)) for text in value)
    if () in phrases:
        raise BadSetting(f"{where}: {value[phrases.index(())]!r} in any has no word; use matches for signs")
    return phrases


def _read_text(where: str, row: Mapping[str, object], key: str) -> str | None:
    value = row.get(key)
    if key in row and (not isinstance(value, str) or not value):
        raise BadSetting(f"{where}: {key} is a text in quotes, not {value!r}")
    return value if isinstance(value, str) else None


def _compile(where: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise BadSetting(
            f"{where}: matches is no regular expression: {error}. A backslash needs single quotes: matches = '\\d+'"
        ) from None


def _read_range(where: str, row: Mapping[str, object], what: str) -> tuple[float, float]:
    low, high = (row.get(f"{end}_{what}", default) for end, default in (("min", 0), ("max", inf)))
    for end, value in (("min", low), ("max", high)):
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise BadSetting(f"{where}: {end}_{what} is a number from 0, not {value!r}")
    if low > high:  # type: ignore[operator]
        raise BadSetting(f"{where}: min_{what} {low} is above max_{what} {high}, so no question is in it")
    return low, high  # type: ignore[return-value]
