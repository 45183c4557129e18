"""SQuAD v1.1 as answer sentence selection ("SQuAD-sent" in the Structure paper, COLING 2020).

A paragraph's sentences, split by our splitter, are the candidates; the one that holds the answer span is correct.
Stricter than the paper, which labels by the span alone: SQuAD gives one place of the answer only, so a question whose
answer text is in several sentences of the paragraph is dropped, since another of them may answer it as well. One whose
answer runs over a sentence's end is dropped too, and so is one without an answer (SQuAD v2).
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from as2core.data.source import Report, parse_each, read_json, text_field
from as2core.sources.content import Source
from as2core.text import split_sentences
from as2core.types import Candidate, Question, Sentence


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions of `train-v1.1.json`; the whole file is in memory. A problem's number counts the file's questions."""
    records = read_json(source, lambda record: list(_records(record["data"])), "SQuAD's JSON", report)
    split = lru_cache(maxsize=1)(split_sentences)  # a paragraph's questions stand together
    ids: set[str] = set()

    def parse(row: tuple[str, str, str, dict]) -> Question | None:
        paragraph, title, context, record = row
        sentences = split(context)
        correct = _find_correct(context, sentences, record["answers"])
        qid, text = text_field(record, "id"), text_field(record, "question").strip()
        if qid in ids:
            raise ValueError(f"question {qid!r} appears twice")
        ids.add(qid)
        candidates = (Candidate(f"{paragraph}-{i}", s.text, int(i == correct), title) for i, s in enumerate(sentences))
        return None if correct is None else Question(qid, text, tuple(candidates))

    for _, question in parse_each(enumerate(records, 1), parse, report, unit="question"):
        if question is None:
            report.omissions["no single sentence holds the answer"] += 1
        else:
            yield question


def _records(articles: list) -> Iterator[tuple[str, str, str, dict]]:
    """`(paragraph's id, title, paragraph, question)`."""
    for article in articles:
        name = article["title"]
        for i, paragraph in enumerate(article["paragraphs"]):
            for record in paragraph["qas"]:
                yield f"{name}-{i}", name.replace("_", " "), paragraph["context"], record


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
