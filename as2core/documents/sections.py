"""The sentences of a document, each with what announces it (decisions 90, 104, 106, 108 and 109)."""

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

from as2core.documents.table_cells import CELL_END
from as2core.documents.terms import find_code_name, find_item_terms
from as2core.text import begins_item, split_sentences, tokenize
from as2core.types import Document, Sentence

SPLIT_RULES = 2  # counts the changes of what a text is divided into, so that what was divided before is known
MAX_HEADING_CHARS = 200  # a longer one is prose that was marked as a heading for its looks; of a question, too
MAX_OPENING_CHARS = 400  # of all that stands before a sentence
MAX_LIST_CHARS = 200  # of items in one sentence, with what stands before them, unless that is half of it
MAX_ROW_CHARS = 400  # of a row of a table that is one sentence
MAX_KEY_CHARS = 100  # of a row's first cell that stands before all of its sentences
MAX_LINE_HEADING_WORDS = 8  # of a line that nothing but its looks marks as a heading
LEAD_IN_END = ":"
_JOINT = re.compile(r"[.:!?] ")  # between a heading and what stands behind it
_LINE_HEADING = re.compile(r"(?!(?:Fig|Figure|Table)\b)[^\W_a-z](?:[^\n|]*[^\W_])?[)\]:]?")
_PROSE_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]*$")
_ITEM_END = re.compile(r"(?:[.,;:!?]|\b(?:and|or))$")  # that needs no mark between it and the next item
_TABLE_NUMBER = re.compile(r"Table [\dA-Z]+(?:[.-]\d+)*[.:]?(?:\s+|$)")  # "Table 3.1. "
_LINE_REST = re.compile(r"[ \t]*\n")
_SECTION_NUMBER = re.compile(r"^(?:[A-Z]\.)?(?:\d{1,3}\.)+(?:\d{1,3})?\s+")  # "1.3. ", "2.1 ", "B.3. "


def split_document(document: Document) -> list[Sentence]:
    """The sentences of a document, each with its section's heading, without the number before it.

    What answers nothing by itself stands before the sentence that follows it, and alone only where none does:

    - A heading: "Undo: Press z.". It has the heading above it itself. One that repeats words of the document's title
      says nothing more: it is no sentence and no section's. Where the document's kind marks no headings, lines that
      look like one count, too.
    - A question: "Is it free? Yes.", unless it ends a paragraph of other sentences.
    - What ends with a colon: "To undo this, run: git reset".
    - What stands before a program and is no whole sentence: "To undo this, use" and "git reset".

    A short list behind one of these is one sentence with it, "Bring: a pen; paper", a longer one several, each with it.

    A row of a table is one sentence, with the table's title before it, or else the section's heading: "Opening hours:
    Store: Lund | Saturday: 9:00-14:00". Of a long row each sentence has the first cell before it.

    What is said of a term stands behind it unless it has its words, "work_mem: The default is four megabytes.": in a
    web page's list of terms, in an item that begins with a term, and below the heading of a program's part.
    """
    return _Splitter(document).split()


class _Splitter:
    """One document, read once from its beginning. `opening` waits for the sentence that follows it."""

    def __init__(self, document: Document) -> None:
        self._title, self._text = document.title, document.text
        self._headings = deque(h for h in document.headings if h.end - h.start <= MAX_HEADING_CHARS)
        self._row_ends = dict(document.rows)
        self._definitions = document.definitions
        short_rows = ((start, end) for start, end in document.rows if end - start <= MAX_ROW_CHARS)
        spans = sorted((*document.verbatim, *((h.start, h.end) for h in self._headings), *short_rows))
        parts = split_sentences(self._text, spans)
        self._programs = _find_programs(document, parts)
        self._item_terms = find_item_terms(self._text, parts)
        sizes = Counter(s.paragraph for s in parts)
        self._ends = {s.paragraph: s.start for s in parts if sizes[s.paragraph] > 1}
        self._lines: set[int] = set()
        if not document.headings:
            parts = _drop_title_line(document, parts)
            self._lines = _find_line_headings(self._text, parts)
        self._rest = deque(parts)
        self._above: dict[int, str] = {}  # level -> the heading in force
        self._opening: Sentence | None = None
        self._above_rows: str | None = None  # what stands before each row of the table that begins or is read
        self._sentences: list[Sentence] = []

    def split(self) -> list[Sentence]:
        while self._rest:
            s = self._rest.popleft()
            if self._is_heading(s):
                self._begin_section(s)
                continue
            if self._row_ends and _TABLE_NUMBER.fullmatch(s.text):
                continue
            s = self._name_section_of(s)
            if s.start in self._row_ends:
                self._read_row(s)
                continue
            self._above_rows = None
            if self._is_table_title(s):
                self._open_table(s)
            elif self._opening and self._is_item(s):
                self._read_list(self._opening, s)
            elif self._announces_program(s):
                self._open(replace(s, text=s.text.rstrip(",;")))
            elif self._opens(s):
                self._open(s)
            else:
                self._sentences.append(_stand_before(self._opening, s) if self._opening else s)
                self._opening = None
        return [self._name_terms(s) for s in (*self._sentences, *filter(None, [self._opening]))]

    def _name_terms(self, s: Sentence) -> Sentence:
        """What is said of a term stands behind it, unless it has the term's words."""
        for term in (self._item_terms.get(s.start), self._get_defined_term(s.start), find_code_name(s.heading)):
            if term and _says_more(term, s.text):
                s = replace(s, text=_join_heading(term, s.text))
        return s

    def _get_defined_term(self, place: int) -> str:
        number = bisect_right(self._definitions, place, key=lambda d: d.start) - 1
        return self._definitions[number].term if number >= 0 and place < self._definitions[number].end else ""

    def _is_heading(self, s: Sentence) -> bool:
        return bool(self._headings) and s.start == self._headings[0].start

    def _begin_section(self, s: Sentence) -> None:
        self._sentences += filter(None, [self._opening])
        heading = self._headings.popleft()
        name = _name_section(s.text, self._title)
        self._above = {level: n for level, n in self._above.items() if level < heading.level}
        self._opening = self._name_section_of(s) if name else None
        self._above_rows = None
        self._above[heading.level] = name

    def _name_section_of(self, s: Sentence) -> Sentence:
        return replace(s, heading=next(reversed(self._above.values()), ""))

    def _is_item(self, s: Sentence) -> bool:
        is_other = s.text.endswith("?") or s.start in self._row_ends or self._is_heading(s)
        return begins_item(self._text, s) and s.start not in self._programs and not is_other

    def _opens(self, s: Sentence) -> bool:
        if s.start in self._programs:
            return False
        return s.start in self._lines or self._is_question(s) or _is_lead_in(s)

    def _announces_program(self, s: Sentence) -> bool:
        if s.start in self._programs or not self._rest or self._rest[0].start not in self._programs:
            return False
        return len(s.text) <= MAX_OPENING_CHARS and not _PROSE_END.search(s.text)

    def _is_question(self, s: Sentence) -> bool:
        has_answer = self._ends.get(s.paragraph) != s.start or _fills_lines(self._text, s)
        return s.text.endswith("?") and len(s.text) <= MAX_HEADING_CHARS and has_answer

    def _open(self, s: Sentence) -> None:
        """What waits already stands before it, unless both are questions of a list, or this is a line."""
        waiting = self._opening
        if waiting and (s.start in self._lines or _are_apart(waiting, s)):
            self._sentences.append(waiting)
            waiting = None
        self._opening = _stand_before(waiting, s) if waiting else s

    def _is_table_title(self, s: Sentence) -> bool:
        """A line above a table that is no sentence."""
        is_line = s.start not in self._programs and not self._is_item(s)
        is_above = is_line and bool(self._rest) and self._rest[0].start in self._row_ends
        return is_above and len(s.text) <= MAX_HEADING_CHARS and not _is_lead_in(s) and not _PROSE_END.search(s.text)

    def _open_table(self, title: Sentence) -> None:
        self._above_rows = _TABLE_NUMBER.sub("", title.text)
        self._open(replace(title, text=self._above_rows))

    def _read_row(self, first: Sentence) -> None:
        """What waits stands before the first row of a table, as before any sentence."""
        if self._above_rows is None:
            self._above_rows = first.heading
        end = self._row_ends[first.start]
        key = first.text.partition(CELL_END)[0]
        rest: list[Sentence] = []
        while self._rest and self._rest[0].start < end:
            s = self._name_section_of(self._rest.popleft())
            rest.append(replace(s, text=f"{key}{CELL_END}{s.text}") if len(key) <= MAX_KEY_CHARS else s)
        others = [first, *rest]
        if self._opening:
            self._sentences.append(_stand_before(self._opening, others.pop(0)))
            self._opening = None
        above = self._above_rows
        self._sentences += [replace(s, text=_join_heading(above, s.text)) if above else s for s in others]

    def _read_list(self, lead_in: Sentence, first: Sentence) -> None:
        """In one piece if it is short. Otherwise items that are sentences stand apart, others in pieces."""
        items = [first]
        while self._rest and (self._is_item(self._rest[0]) or self._continues_item(self._rest[0], items[-1])):
            items.append(self._name_section_of(self._rest.popleft()))
        limit = max(MAX_LIST_CHARS, 2 * len(lead_in.text))
        is_short = len(lead_in.text) + sum(len(s.text) + 2 for s in items) <= limit
        piece = _stand_before(lead_in, first)
        for s in items[1:]:
            fits = len(piece.text) + len(s.text) <= limit and not _PROSE_END.search(piece.text)
            if is_short or fits or _is_lead_in(piece):
                piece = _append_item(piece, s)
            else:
                self._sentences.append(piece)
                piece = replace(s, text=_join_heading(lead_in.text, s.text)) if self._is_item(s) else s
        self._opening = piece if _is_lead_in(piece) else None
        self._sentences += [] if self._opening else [piece]

    def _continues_item(self, s: Sentence, item: Sentence) -> bool:
        """Whether it is a further sentence of the item: in its line, or in one that is indented."""
        begins_line = self._text[s.start - 1] == "\n"
        return s.paragraph == item.paragraph and not begins_line and not begins_item(self._text, s)


def _find_programs(document: Document, parts: Sequence[Sentence]) -> set[int]:
    """Where the sentences of programs begin."""
    starts = [start for start, _ in document.verbatim]
    places = ((s.start, bisect_right(starts, s.start) - 1) for s in parts)
    return {start for start, place in places if place >= 0 and start < document.verbatim[place][1]}


def _is_lead_in(s: Sentence) -> bool:
    return s.text.endswith(LEAD_IN_END) and len(s.text) <= MAX_HEADING_CHARS


def _are_apart(waiting: Sentence, s: Sentence) -> bool:
    are_listed = waiting.text.endswith("?") and s.text.endswith("?") and waiting.paragraph != s.paragraph
    return are_listed or len(waiting.text) + len(s.text) > MAX_OPENING_CHARS


def _stand_before(opening: Sentence, s: Sentence) -> Sentence:
    return replace(s, text=_join_heading(opening.text, s.text), start=opening.start)


def _append_item(whole: Sentence, item: Sentence) -> Sentence:
    mark = "" if _ITEM_END.search(whole.text) else ";"
    return replace(whole, text=f"{whole.text}{mark} {item.text}", end=item.end, paragraph=item.paragraph)


def _drop_title_line(document: Document, parts: list[Sentence]) -> list[Sentence]:
    """Without the line that the text begins with if it says the title once more, and is not all there is."""
    repeats_title = (
        len(parts) > 1
        and _is_heading_line(document.text, parts[0])
        and not _name_section(parts[0].text, document.title)
    )
    return parts[1:] if repeats_title else parts


def _find_line_headings(text: str, parts: Sequence[Sentence]) -> set[int]:
    """Where a text or a PDF has headings: each is a short line of its own without a stop, between a sentence's end, or
    the document's beginning, and a sentence. Lists, addresses and tables have more such lines in a row."""
    lines: set[int] = set()
    is_free = True  # a sentence ended before it, or nothing did
    for s, following in pairwise(parts):
        if is_free and _is_heading_line(text, s) and _PROSE_END.search(following.text):
            lines.add(s.start)
        is_free = _PROSE_END.search(s.text) is not None
    return lines


def _fills_lines(text: str, s: Sentence) -> bool:
    """Whether it begins with a line and ends with one that is not the last."""
    begins_line = not text[text.rfind("\n", 0, s.start) + 1 : s.start].strip()
    return begins_line and _LINE_REST.match(text, s.end) is not None


def _is_heading_line(text: str, s: Sentence) -> bool:
    is_line = "\n" not in text[s.start : s.end] and _fills_lines(text, s)
    return is_line and len(tokenize(s.text)) <= MAX_LINE_HEADING_WORDS and _LINE_HEADING.fullmatch(s.text) is not None


def _name_section(heading: str, title: str) -> str:
    """The heading without its number, "" if the title has its words."""
    name = _SECTION_NUMBER.sub("", heading)
    return name if _says_more(name, title) else ""


def _says_more(name: str, text: str) -> bool:
    """Whether the text does not have the name's words already."""
    words, others = (" ".join(tokenize(part)) for part in (name, text))
    return bool(words) and f" {words} " not in f" {others} "


def _join_heading(heading: str, text: str) -> str:
    return f"{heading} {text}" if heading[-1] in ".:!?" else f"{heading}: {text}"


def list_ends(text: str) -> Iterator[str]:
    """What a sentence may have been before a heading, a question or a lead-in was put in front of it; white space is
    single."""
    return (text[joint.end() :] for joint in _JOINT.finditer(text))


class EarlierTexts:
    """What the sentences of a document may have been when its text was `whole`, and nothing had been put in front of
    them yet: what is in front ends with a colon or a question mark, and is all words of that text."""

    def __init__(self, whole: str) -> None:
        self._whole = whole
        self._openings: dict[str, bool] = {}  # whether it is in the text; a section's is in front of many sentences

    def find(self, text: str, among: Container[str]) -> str | None:
        """Which of some texts that of a sentence was, the longest; white space is single."""
        start = 0
        for joint in _JOINT.finditer(text):
            if text[joint.start()] not in ":?":
                return None
            start = joint.end()
            if text[start:] in among:
                openings = re.split(_JOINT, text[: joint.start()])
                return text[start:] if all(map(self._has, openings)) else None
        return None

    def _has(self, opening: str) -> bool:
        if opening not in self._openings:
            self._openings[opening] = f" {' '.join(tokenize(opening))} " in self._words
        return self._openings[opening]

    @cached_property
    def _words(self) -> str:
        return f" {' '.join(tokenize(self._whole))} "
