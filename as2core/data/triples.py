"""Rows of question, sentence and label without a header or ids: the form of ASNQ and of SelQA's experiments.

A question's rows stand together, so one question is in memory at a time, with eight bytes for each before. Its id is
a digest of its text, a candidate's is that with the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from as2core.data.csv_ratings import qid_of
from as2core.data.source import Report, Seen, Source, stream_lines
from as2core.types import Candidate, Question

Labels = Mapping[str, tuple[int, int | None]]


def stream(source: Source, report: Report, labels: Labels) -> Iterator[Question]:
    """Questions; `labels` gives each written label's `(label, grade)`. What comes again further down is a problem."""
    seen, text, candidates = Seen(), "", []
    taken = True
    for number, line in stream_lines(source, report):
        fields = line.split("\t")
        if len(fields) != 3:
            report.add(number, f"{len(fields)} columns instead of 3 (question, sentence, label)")
            continue
        question, sentence, written = fields
        label = labels.get(written.strip())
        if not question or label is None:
            known = ", ".join(labels)
            report.add(number, "the question is empty" if not question else f"label {written!r} is not {known}")
            continue
        if question != text:
            if candidates:
                yield report.took(Question(qid_of(text), text, tuple(candidates)))
            text, candidates, taken = question, [], seen.first(question)
            if not taken:
                report.add(number, f"question {question!r} stands already further up; its rows must stand together")
        if taken:
            candidates.append(Candidate(f"{qid_of(question)}-{len(candidates)}", sentence, label[0], grade=label[1]))
    if candidates:
        yield report.took(Question(qid_of(text), text, tuple(candidates)))


def rows(question: Question, label_of: Callable[[Candidate], int]) -> Iterator[str]:
    """A question's lines, with their ends; candidates nobody judged are not written, nor tabs inside a text."""
    for c in question.candidates:
        if c.label is not None:
            yield "\t".join(re.sub(r"[\t\r\n]+", " ", str(f)) for f in (question.text, c.text, label_of(c))) + "\n"
