"""Rows of question, sentence and label without a header or ids: the form of ASNQ and of SelQA's experiments.

A question's rows stand together, so one question is in memory at a time, with the texts of those before. Its id is
a digest of its text; a candidate's is that with its position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from as2core.data.source import Report, Source, digest_id, stream_fields
from as2core.types import Candidate, Question

Labels = Mapping[str, tuple[int, int | None]]


def stream(source: Source, report: Report, labels: Labels) -> Iterator[Question]:
    """Questions; `labels` gives each written label's `(label, grade)`. A question that comes again is a problem."""
    texts: set[str] = set()

    def parse(row: list[str]) -> tuple[str, str, tuple[int, int | None]]:
        question, sentence, label = row
        if not question:
            raise ValueError("the question is empty")
        if label.strip() not in labels:
            raise ValueError(f"label {label!r} is not {', '.join(labels)}")
        return question, sentence, labels[label.strip()]

    rows = stream_fields(source, report, ("question", "sentence", "label"), parse)
    for text, own in groupby(rows, key=lambda row: row[1][0]):
        if text in texts:
            report.add(next(own)[0], f"question {text!r} appears already further up; its rows must stand together")
            continue
        texts.add(text)
        qid = digest_id("q", text)
        candidates = (
            Candidate(f"{qid}-{i}", sentence, label, grade=grade)
            for i, (_, (_, sentence, (label, grade))) in enumerate(own)
        )
        yield Question(qid, text, tuple(candidates))
