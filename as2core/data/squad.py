"""SQuAD v1.1 as answer sentence selection ("SQuAD-sent" in the Structure paper, COLING 2020).

A paragraph's sentences, split by our splitter, are the candidates; the one that holds the answer span is correct.
Stricter than the paper, which labels by the span alone: SQuAD gives one place of the answer only, so a question whose
answer text is in several sentences of the paragraph is dropped, since another of them may answer it as well. One whose
answer runs over a sentence's end is dropped too, and so is one without an answer (SQuAD v2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from as2core.data.source import MALFORMED, Report, Source, describe_problem, read_json, text_field
from as2core.text import split_sentences
from as2core.types import Candidate, Question, Sentence


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions of `train-v1.1.json` or `.json.gz`; the whole file is in memory. A problem's number is the question's,
    counted through the file. Raises UnreadableFile when it is not SQuAD's JSON."""
    paragraphs = read_json(source, lambda record: list(_paragraphs(record["data"])), "SQuAD's JSON", report)
    number = 0
    ids: set[str] = set()
    for document, title, context, records in paragraphs:
        sentences = split_sentences(context)
        for record in records:
            number += 1
            try:
                correct = _find_correct(context, sentences, record["answers"])
                qid, text = text_field(record, "id"), text_field(record, "question").strip()
            except MALFORMED as error:
                report.add(number, describe_problem(error), "question")
                continue
            if qid in ids:
                report.add(number, f"question {qid!r} appears twice", "question")
                continue
            ids.add(qid)
            if correct is None:
                report.left_out["no single sentence holds the answer"] += 1
                continue
            labelled = ((s.text, int(i == correct)) for i, s in enumerate(sentences))
            candidates = (Candidate(f"{document}-{i}", *pair, title) for i, pair in enumerate(labelled))
            yield Question(qid, text, tuple(candidates))


def _paragraphs(articles: list) -> Iterator[tuple[str, str, str, list]]:
    for article in articles:
        for i, paragraph in enumerate(article["paragraphs"]):
            name = article["title"]
            yield f"{name}-{i}", name.replace("_", " "), paragraph["context"], paragraph["qas"]


def _find_correct(context: str, sentences: list[Sentence], answers: list[dict]) -> int | None:
    """The one sentence that holds the answer, None when there is none or the text is in others as well."""
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
