"""Rows of question, sentence and label without a header or ids: the form of ASNQ and of SelQA's experiments.

A question's rows stand together, so one question is in memory at a time, with the texts of those before. Its id is
a digest of its text; a candidate's is that with its position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from as2core.data.source import Report, Source, digest_id, stream_fields
from as2core.types import Candidate, Question

Labels = Mapping[str, tuple[int, int | None]]


def stream(source: Source, report: Report, labels: Labels) -> Iterator[Question]:
    """Questions; `labels` gives each written label's `(label, grade)`. A question that comes again is a problem."""
    texts: set[str] = set()
    for text, rows in groupby(_stream_rows(source, report, labels), key=lambda row: row[1]):
        if text in texts:
            number = next(rows)[0]
            report.add(number, f"question {text!r} appears already further up; its rows must stand together")
            continue
        texts.add(text)
        qid = digest_id("q", text)
        candidates = (
            Candidate(f"{qid}-{i}", sentence, label, grade=grade)
            for i, (_, _, sentence, (label, grade)) in enumerate(rows)
        )
        yield Question(qid, text, tuple(candidates))


def _stream_rows(
    source: Source, report: Report, labels: Labels
) -> Iterator[tuple[int, str, str, tuple[int, int | None]]]:
    for number, (question, sentence, label) in stream_fields(source, report, ("question", "sentence", "label")):
        if not question:
            report.add(number, "the question is empty")
        elif label.strip() not in labels:
            report.add(number, f"label {label!r} is not {', '.join(labels)}")
        else:
            yield number, question, sentence, labels[label.strip()]


def to_lines(question: Question, label_of: Callable[[Candidate], int]) -> Iterator[str]:
    """A question's lines, with their ends; unlabelled candidates are not written, nor tabs inside a text."""
    for c in question.candidates:
        if c.label is not None:
            yield "\t".join(re.sub(r"[\t\r\n]+", " ", str(f)) for f in (question.text, c.text, label_of(c))) + "\n"
