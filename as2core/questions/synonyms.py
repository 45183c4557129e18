"""Synonyms: what people call a thing, and what their documents call it.

A ranker has read many texts, but none in which a whale is a VX-90. Where somebody says so, a question that has the word
is read with its meaning behind it: "whale belly torque" as "whale (VX-90) belly (outer tub) torque". This is query
expansion by a thesaurus made by hand (Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008,
section 9.2.2). The word itself stays, since some documents use it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from as2core.errors import BadSetting, UnreadableFile
from as2core.types import Question

ARROW = "=>"
MAX_ENTRIES, MAX_CHARS = 1_000, 100  # of one corpus, and of a word or a meaning
_ENDINGS = r"(?:['’]s|s|es)?"  # of a plural or a genitive


class BadLines(BadSetting):
    """Lines that cannot be read. `problems`: one for each, in their order."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Synonyms:
    """`meanings`: (word, meaning) pairs, no word twice. A word may be several words."""

    meanings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Synonyms:
        """From lines `word => meaning`, or `word, word => meaning`; empty lines and those that begin with # count for
        nothing. Raises BadSetting: BadLines, which names every line that cannot be read, or for too many words."""
        meaning_of: dict[str, tuple[str, str]] = {}
        problems = []
        for number, line in enumerate(text.splitlines(), 1):
            entry = " ".join(line.split())
            if not entry or entry.startswith("#"):
                continue
            try:
                _read_line(entry, number, meaning_of)
            except BadSetting as e:
                problems.append(str(e))
        if problems:
            raise BadLines(problems)
        if len(meaning_of) > MAX_ENTRIES:
            raise BadSetting(f"{len(meaning_of):,} words are too many: the limit is {MAX_ENTRIES:,}")
        return cls(tuple(meaning_of.values()))

    @classmethod
    def read(cls, file: Path) -> Synonyms:
        """From a file of such lines in UTF-8. Raises UnreadableFile, BadSetting."""
        try:
            return cls.parse(file.read_text(encoding="utf-8"))
        except BadSetting as e:
            raise BadSetting(f"{file}: {e}") from None
        except FileNotFoundError:
            raise UnreadableFile(f"{file}: there is no such file") from None
        except UnicodeDecodeError as e:
            raise UnreadableFile(f"{file}: not UTF-8 text (byte {e.start}); save it as UTF-8") from e
        except OSError as e:
            raise UnreadableFile(f"{file}: cannot be read ({e.strerror})") from e

    def __str__(self) -> str:
        """The lines that `parse` reads, words of one meaning together."""
        words_of: dict[str, list[str]] = {}
        for word, meaning in self.meanings:
            words_of.setdefault(meaning, []).append(word)
        return "".join(f"{', '.join(words)} {ARROW} {meaning}\n" for meaning, words in words_of.items())

    def __bool__(self) -> bool:
        return bool(self.meanings)

    @property
    def words(self) -> list[str]:
        return [word for word, _ in self.meanings]

    def expand(self, question: str) -> str:
        """The question with each word's meaning behind it, where it comes first; a meaning that stands in the question
        already is not added."""
        if not self.meanings:
            return question
        meanings: set[str] = set()

        def add(match: re.Match[str]) -> str:
            meaning = self._meaning_of.get(match["word"].casefold())  # None: to the pattern, İ and ı are i
            if meaning is None or meaning in meanings or re.search(_as_word([meaning]), question, re.IGNORECASE):
                return match[0]
            meanings.add(meaning)
            return f"{match[0]} ({meaning})"

        return self._pattern.sub(add, question)

    def expand_all(self, questions: Iterable[Question]) -> tuple[Question, ...]:
        """The questions as a ranker is to read them."""
        return tuple(replace(q, text=self.expand(q.text)) for q in questions)

    @cached_property
    def _meaning_of(self) -> dict[str, str]:
        return {word.casefold(): meaning for word, meaning in self.meanings}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first: Sequence[str] = sorted(self.words, key=len, reverse=True)
        return re.compile(_as_word(longest_first), re.IGNORECASE)


def _as_word(texts: Sequence[str]) -> str:
    """The pattern of any of these where it stands as a word, in the plural perhaps."""
    return rf"(?<!\w)(?P<word>{'|'.join(map(re.escape, texts))}){_ENDINGS}(?!\w)"


def _read_line(entry: str, number: int, meaning_of: dict[str, tuple[str, str]]) -> None:
    """Add its words to `meaning_of`. Raises BadSetting."""
    words, arrow, meaning = (part.strip() for part in entry.partition(ARROW))
    if not arrow or not meaning or ARROW in meaning:
        raise BadSetting(f"line {number}: “{entry[:60]}”: write a line as “word {ARROW} meaning”")
    for word in (w.strip() for w in words.split(",")):
        _check(word, meaning, number)
        first = meaning_of.setdefault(word.casefold(), (word, meaning))
        if first[1] != meaning:
            raise BadSetting(f"line {number}: “{word}” has a meaning already, “{first[1]}”")


def _check(word: str, meaning: str, number: int) -> None:
    if not any(c.isalnum() for c in word):
        raise BadSetting(f"line {number}: a word is missing in front of {ARROW}")
    for text in (word, meaning):
        if len(text) > MAX_CHARS:
            raise BadSetting(f"line {number}: “{text[:40]}…” has {len(text):,} characters, the limit is {MAX_CHARS}")
    if word.casefold() == meaning.casefold():
        raise BadSetting(f"line {number}: “{word}” is given as its own meaning")
