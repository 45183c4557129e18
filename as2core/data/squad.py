"""SQuAD v1.1 as answer sentence selection ("SQuAD-sent" in the Structure paper, COLING 2020).

A paragraph's sentences, split by our splitter, are the candidates; the one that holds the answer span is correct.
Stricter than the paper, which labels by the span alone: SQuAD gives one place of the answer only, so a question whose
answer text stands in several sentences of the paragraph is dropped: another of them may answer just as well. One whose
answer runs over a sentence's end is dropped too, and so is one without an answer (SQuAD v2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from as2core.data.source import MALFORMED, Report, Seen, Source, collect, given, name_of, read_text, reason_of
from as2core.errors import UnreadableFile
from as2core.text import split_sentences
from as2core.types import Candidate, Question, Sentence


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """Questions of `train-v1.1.json` or `.json.gz`. A problem's number is the question's, counted through the file.

    Raises UnreadableFile when it is not SQuAD's JSON.
    """
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """The same; the whole file is in memory."""
    try:
        content = read_text(source)
        articles = json.loads(content)["data"]
        paragraphs = list(_paragraphs(articles))
    except MALFORMED as error:
        raise UnreadableFile(f"{name_of(source)}: not SQuAD's JSON ({reason_of(error)})") from error
    report.lines, number, seen = content.count("\n") + 1, 0, Seen()
    for document, title, context, records in paragraphs:
        sentences = split_sentences(context)
        for record in records:
            number += 1
            try:
                correct = _correct(context, sentences, record["answers"])
                qid, text = given(record, "id"), given(record, "question").strip()
            except MALFORMED as error:
                report.add(number, reason_of(error), "question")
                continue
            if not seen.first(qid):
                report.add(number, f"question {qid!r} stands twice", "question")
                continue
            if correct is None:
                report.left_out["no single sentence holds the answer"] += 1
                continue
            candidates = (
                Candidate(f"{document}-{i}", s.text, int(i == correct), title) for i, s in enumerate(sentences)
            )
            yield report.took(Question(qid, text, tuple(candidates)))


def _paragraphs(articles: list) -> Iterator[tuple[str, str, str, list]]:
    for article in articles:
        for i, paragraph in enumerate(article["paragraphs"]):
            name = article["title"]
            yield f"{name}-{i}", name.replace("_", " "), paragraph["context"], paragraph["qas"]


def _correct(context: str, sentences: list[Sentence], answers: list[dict]) -> int | None:
    """The one sentence that holds the answer, None when there is none or the text stands in others as well."""
    holders = set()
    for answer in answers:
        text, start = answer["text"].strip(), answer["answer_start"]
        if not text:
            return None
        if context[start : start + len(text)] != text:
            start = context.find(text, max(0, start - 2))
        if start < 0:
            raise ValueError(f"the answer {text!r} is not in its paragraph")
        anywhere = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
        spans = {(start, start + len(text)), *(m.span() for m in anywhere.finditer(context))}
        for a, b in spans:
            inside = [i for i, s in enumerate(sentences) if s.start <= a and b <= s.end]
            if not inside:
                return None
            holders.update(inside)
    return holders.pop() if len(holders) == 1 else None
