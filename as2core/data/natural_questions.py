"""Natural Questions (Kwiatkowski et al., 2019): questions with a whole Wikipedia page, made into two AS2 sets.

JSON lines, gzipped as published: the simplified form, whose `document_text` is the page's tokens divided by spaces,
or the original one, with `document_tokens`. Tokens that are HTML tags bound headings, paragraphs, list items and table
cells; no sentence crosses one, and none is part of a text.

**ASNQ** (the TandA paper, section 4) takes every sentence of the page. A sentence lies in the long answer (LA) or not,
and holds a short answer (SA) or not: for LA the annotated span itself must lie in the sentence, for others the same
words anywhere, in capitals or not. Labels: neither 1, only SA 2, only LA 3, both 4. The paper leaves open which
questions are kept and how several annotations are joined: here those with a sentence labelled 4, and any annotation
with both answers counts.

**NQ-LA** (the Structure paper, section 5.1) takes the page's paragraphs, those in tables and lists left out; the one
annotated as the long answer is correct. A question whose long answers are all tables or lists is left out; one without
a long answer stays, with no correct paragraph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from as2core.data.asnq import NEITHER, ONLY_LONG, ONLY_SHORT, POSITIVE
from as2core.data.source import MALFORMED, Report, Seen, Source, collect, given, reason_of, stream_lines
from as2core.text import split_sentences
from as2core.types import Candidate, Question

_TAG = re.compile(r"</?[A-Za-z][^\s>]*>")
_TITLE = " - wikipedia"
_SKIPPED = ("table", "ul", "ol", "dl")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Page:
    """An example: `answers` are an annotation's long answer with its short ones, all as token spans (end excluded)."""

    qid: str
    question: str
    title: str
    tokens: tuple[tuple[str, bool], ...]  # (word or tag, is it a tag)
    answers: tuple[tuple[Span, tuple[Span, ...]], ...]


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """ASNQ's questions of a file that fits into memory. Raises UnreadableFile."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """ASNQ's questions, one page in memory at a time. ASNQ has no ids: a question's text comes once."""
    seen = Seen()
    for page in _pages(source, report):
        question = _asnq(page)
        if question is None:
            report.left_out["no sentence of a long answer holds a short one"] += 1
        elif seen.first(question.text):
            yield report.took(question)
        else:
            report.left_out["its question came before"] += 1


def stream_la(source: Source, report: Report) -> Iterator[Question]:
    """NQ-LA's questions, one page in memory at a time."""
    for page in _pages(source, report):
        question = _long_answers(page)
        if question is None:
            report.left_out["its long answer is no paragraph"] += 1
        else:
            yield report.took(question)


def _pages(source: Source, report: Report) -> Iterator[Page]:
    seen = Seen()
    for number, line in stream_lines(source, report):
        try:
            page = _page(json.loads(line))
        except MALFORMED as error:
            report.add(number, f"not a Natural Questions example ({reason_of(error)})")
            continue
        if seen.first(page.qid):
            yield page
        else:
            report.add(number, f"question {page.qid!r} stands twice")


def _page(record: dict) -> Page:
    if "document_text" in record:
        tokens = tuple((t, bool(_TAG.fullmatch(t))) for t in record["document_text"].split(" "))
    else:
        tokens = tuple((t["token"], bool(t["html_token"])) for t in record["document_tokens"])
    answers = []
    for annotation in record["annotations"]:
        long = _span(annotation["long_answer"], len(tokens))
        if long[0] >= 0:
            answers.append((long, tuple(_span(s, len(tokens)) for s in annotation["short_answers"])))
    before = [t for t, tag in tokens[:40] if not tag]
    title = record.get("document_title") or _title_of(" ".join(before))
    return Page(given(record, "example_id"), record["question_text"].strip(), title, tokens, tuple(answers))


def _span(span: dict, size: int) -> Span:
    start, end = int(span["start_token"]), int(span["end_token"])
    if start >= 0 and not start < end <= size:
        raise ValueError(f"tokens {start} to {end} of {size}")
    return start, end


def _title_of(opening: str) -> str:
    """The simplified pages open with the browser's title, "Email marketing - wikipedia"."""
    place = opening.lower().find(_TITLE)
    return opening[:place] if place > 0 else ""


def _runs(tokens: Sequence[tuple[str, bool]]) -> Iterator[Span]:
    """Stretches of words between tags."""
    start = None
    for i, (_, tag) in enumerate((*tokens, ("", True))):
        if tag and start is not None:
            yield start, i
            start = None
        elif not tag and start is None:
            start = i


def _asnq(page: Page) -> Question | None:
    answers = [(long, shorts) for long, shorts in page.answers if shorts]
    if not answers:
        return None
    words = [t.casefold() for t, _ in page.tokens]
    wanted = {tuple(words[a:b]) for _, shorts in answers for a, b in shorts}
    candidates = []
    for a, b in _sentence_spans(page):
        in_long = any(start <= a < end for (start, end), _ in answers)
        annotated = any(a <= start and end <= b for _, shorts in answers for start, end in shorts)
        if in_long:
            grade = POSITIVE if annotated else ONLY_LONG
        else:
            grade = ONLY_SHORT if _holds(words[a:b], wanted) else NEITHER
        text = " ".join(t for t, _ in page.tokens[a:b])
        candidates.append(Candidate(f"{page.qid}-{a}", text, int(grade == POSITIVE), page.title, grade))
    if not any(c.label for c in candidates):
        return None
    return Question(page.qid, page.question, tuple(candidates))


def _sentence_spans(page: Page) -> Iterator[Span]:
    """Token spans of the page's sentences."""
    for start, end in _runs(page.tokens):
        run = [t for t, _ in page.tokens[start:end]]
        ends = list(accumulate(len(t) + 1 for t in run))  # where the next token begins, in characters
        first = 0
        for sentence in split_sentences(" ".join(run)):
            last = first
            while last < len(run) and (ends[last - 1] if last else 0) < sentence.end:
                last += 1
            if last > first:
                yield start + first, start + last
            first = last


def _holds(words: Sequence[str], wanted: set[tuple[str, ...]]) -> bool:
    return any(tuple(words[i : i + len(w)]) == w for w in wanted for i in range(len(words) - len(w) + 1))


def _long_answers(page: Page) -> Question | None:
    paragraphs = list(_paragraphs(page.tokens))
    longs = {long for long, _ in page.answers}
    if longs and not longs & set(paragraphs):
        return None
    candidates = []
    for a, b in paragraphs:
        text = " ".join(t for t, tag in page.tokens[a:b] if not tag)
        if text:
            candidates.append(Candidate(f"{page.qid}-{a}", text, int((a, b) in longs), page.title))
    return Question(page.qid, page.question, tuple(candidates))


def _paragraphs(tokens: Sequence[tuple[str, bool]]) -> Iterator[Span]:
    """Spans from <P> to </P>, both within, that stand in no table and no list."""
    depth, start = 0, None
    for i, (token, tag) in enumerate(tokens):
        if not tag:
            continue
        name = re.sub(r"\W.*", "", token.strip("</>").lower().partition("_")[0])
        closing = token.startswith("</")
        if name in _SKIPPED:
            depth = max(0, depth - 1) if closing else depth + 1
        elif name == "p" and not depth:
            if closing and start is not None:
                yield start, i + 1
            start = None if closing else i
