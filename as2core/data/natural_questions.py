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

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from as2core.data.asnq import NEITHER, ONLY_LONG, ONLY_SHORT, POSITIVE
from as2core.data.source import Report, drop_repeats, stream_records, text_field
from as2core.sources.content import Source
from as2core.text import split_sentences
from as2core.types import Candidate, Question, Span

_TAG = re.compile(r"</?[A-Za-z][^\s>]*>")
_TITLE = re.compile("(.*?) - wikipedia", re.IGNORECASE | re.DOTALL)  # the simplified pages open with the browser's
_SKIPPED_TAGS = ("table", "ul", "ol", "dl")


@dataclass(frozen=True, slots=True)
class Page:
    """An example: `answers` are an annotation's long answer with its short ones, all as token spans (end excluded)."""

    qid: str
    question: str
    title: str
    tokens: tuple[tuple[str, bool], ...]  # (word or tag, is it a tag)
    answers: tuple[tuple[Span, tuple[Span, ...]], ...]


def stream(source: Source, report: Report) -> Iterator[Question]:
    """ASNQ's questions, one page in memory at a time. ASNQ has no ids: a question's text comes once."""
    texts: set[str] = set()
    for page in _stream_pages(source, report):
        question = _label_sentences(page)
        if question is None:
            report.omissions["no sentence of a long answer holds a short one"] += 1
        elif question.text in texts:
            report.omissions["its question came before"] += 1
        else:
            texts.add(question.text)
            yield question


def stream_la(source: Source, report: Report) -> Iterator[Question]:
    """NQ-LA's questions, one page in memory at a time."""
    for page in _stream_pages(source, report):
        question = _label_paragraphs(page)
        if question is None:
            report.omissions["its long answer is no paragraph"] += 1
        else:
            yield question


def _stream_pages(source: Source, report: Report) -> Iterator[Page]:
    return drop_repeats(stream_records(source, report, _parse_page, "not a Natural Questions example"), report)


def _parse_page(record: dict) -> Page:
    if "document_text" in record:
        tokens = tuple((t, bool(_TAG.fullmatch(t))) for t in record["document_text"].split(" "))
    else:
        tokens = tuple((t["token"], bool(t["html_token"])) for t in record["document_tokens"])
    answers = []
    for annotation in record["annotations"]:
        long = _span(annotation["long_answer"], len(tokens))
        if long[0] >= 0:
            answers.append((long, tuple(_span(s, len(tokens)) for s in annotation["short_answers"])))
    opening = _TITLE.match(" ".join(t for t, tag in tokens[:40] if not tag))
    title = record.get("document_title") or (opening[1] if opening else "")
    return Page(text_field(record, "example_id"), record["question_text"].strip(), title, tokens, tuple(answers))


def _span(span: dict, size: int) -> Span:
    start, end = int(span["start_token"]), int(span["end_token"])
    if start >= 0 and not start < end <= size:
        raise ValueError(f"tokens {start} to {end} of {size}")
    return start, end


def _label_sentences(page: Page) -> Question | None:
    answers = [(long, shorts) for long, shorts in page.answers if shorts]
    if not answers:
        return None
    words = [t.casefold() for t, _ in page.tokens]
    short_answers = {tuple(words[a:b]) for _, shorts in answers for a, b in shorts}
    candidates = []
    for a, b in _sentence_spans(page):
        is_in_long = any(start <= a < end for (start, end), _ in answers)
        is_annotated = any(a <= start and end <= b for _, shorts in answers for start, end in shorts)
        if is_in_long:
            grade = POSITIVE if is_annotated else ONLY_LONG
        else:
            grade = ONLY_SHORT if _contains(words[a:b], short_answers) else NEITHER
        text = " ".join(t for t, _ in page.tokens[a:b])
        candidates.append(Candidate(f"{page.qid}-{a}", text, int(grade == POSITIVE), page.title, grade))
    return Question(page.qid, page.question, tuple(candidates)) if any(c.label for c in candidates) else None


def _sentence_spans(page: Page) -> Iterator[Span]:
    """Token spans of the page's sentences, which cross no tag."""
    start = 0
    for is_tag, run in groupby(page.tokens, key=lambda token: token[1]):
        words = [word for word, _ in run]
        starts = list(accumulate((len(w) + 1 for w in words[:-1]), initial=0))  # of each word, in characters
        first = 0
        for sentence in [] if is_tag else split_sentences(" ".join(words)):
            last = bisect_left(starts, sentence.end)
            if last > first:
                yield start + first, start + last
            first = last
        start += len(words)


def _contains(words: Sequence[str], phrases: set[tuple[str, ...]]) -> bool:
    return any(tuple(words[i : i + len(w)]) == w for w in phrases for i in range(len(words) - len(w) + 1))


def _label_paragraphs(page: Page) -> Question | None:
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
        if name in _SKIPPED_TAGS:
            depth = max(0, depth - 1) if closing else depth + 1
        elif name == "p" and not depth:
            if closing and start is not None:
                yield start, i + 1
            start = None if closing else i
