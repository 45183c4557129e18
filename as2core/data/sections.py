"""The sentences of a document below its headings (decision 90)."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from as2core.text import split_sentences, tokenize
from as2core.types import Document, Sentence

MAX_HEADING_CHARS = 200  # a longer one is prose that was marked as a heading for its looks
_JOINT = re.compile(r"[.:!?] ")  # between a heading and what stands behind it
MAX_LINE_HEADING_WORDS = 8  # of a line that nothing but its looks marks as a heading
_LINE_HEADING = re.compile(r"(?!(?:Fig|Figure|Table)\b)[^\W_a-z](?:[^\n|]*[^\W_])?[)\]:]?")
_PROSE_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]*$")
_LINE_REST = re.compile(r"[ \t]*\n")
_SECTION_NUMBER = re.compile(r"^(?:[A-Z]\.)?(?:\d{1,3}\.)+(?:\d{1,3})?\s+")  # "1.3. ", "2.1 ", "B.3. "


def split_document(document: Document) -> list[Sentence]:
    """The sentences of a document, each with its section's heading, without the number before it.

    A heading answers nothing by itself: it stands before the first sentence of its section, "Undo: Press z.", and alone
    only where another heading follows. So does a question, "Is it free? Yes.", unless it ends a paragraph of other
    sentences. A heading itself has the one above it. One that repeats words of the document's title says nothing more: it is no sentence and
    no section's. Where the document's kind marks no headings, lines that look like one stand before their section, too.
    """
    sentences: list[Sentence] = []
    following = deque(h for h in document.headings if h.end - h.start <= MAX_HEADING_CHARS)
    above: dict[int, str] = {}  # level -> the heading in force
    opening: Sentence | None = None  # a heading or a question that waits for the next sentence
    parts = split_sentences(document.text, sorted((*document.verbatim, *((h.start, h.end) for h in following))))
    sizes = Counter(s.paragraph for s in parts)
    ends = {s.paragraph: s.start for s in parts if sizes[s.paragraph] > 1}
    lines: set[int] = set()
    if not document.headings:
        parts = _drop_title_line(document, parts)
        lines = _find_line_headings(document.text, parts)
    for s in parts:
        if following and s.start == following[0].start:
            sentences += [opening] if opening else []
            heading = following.popleft()
            name = _name_section(s.text, document.title)
            above = {level: n for level, n in above.items() if level < heading.level}
            opening = replace(s, heading=next(reversed(above.values()), "")) if name else None
            above[heading.level] = name
            continue
        s = replace(s, heading=next(reversed(above.values()), ""))
        is_question = s.text.endswith("?") and len(s.text) <= MAX_HEADING_CHARS
        has_answer = ends.get(s.paragraph) != s.start or _fills_lines(document.text, s)
        opens = s.start in lines or (is_question and has_answer)
        if opening and not (opens and _stands_apart(opening, s)):
            s = replace(s, text=_join_heading(opening.text, s.text), start=opening.start)
            opening = None
        if opening:
            sentences.append(opening)
        opening = s if opens else None
        sentences += [] if opens else [s]
    return [*sentences, opening] if opening else sentences


def _stands_apart(opening: Sentence, s: Sentence) -> bool:
    """Whether a question or a line is no part of what waits before it: questions in a list are several, those in a
    paragraph and one below a heading are one."""
    is_list = opening.text.endswith("?") and opening.paragraph != s.paragraph
    return is_list or len(opening.text) + len(s.text) > MAX_HEADING_CHARS


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
    words, title_words = (" ".join(tokenize(text)) for text in (name, title))
    return name if words and f" {words} " not in f" {title_words} " else ""


def _join_heading(heading: str, text: str) -> str:
    return f"{heading} {text}" if heading[-1] in ".:!?" else f"{heading}: {text}"


def list_ends(text: str) -> Iterator[str]:
    """What a sentence may have been before a heading or a question was put in front of it; white space is single."""
    return (text[joint.end() :] for joint in _JOINT.finditer(text))
