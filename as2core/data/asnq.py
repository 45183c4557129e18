"""ASNQ (the TandA paper, arXiv 1911.04118, section 4): Natural Questions' pages as labelled sentences.

A TSV without a header: question, sentence, label, a question's rows together. The labels are 1 to 4: 4 is a sentence
of the long answer that holds a short answer, and the only correct one; 3 is of the long answer without a short answer,
2 holds one outside the long answer, 1 neither. They are a candidate's `grade`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from as2core.data import triples
from as2core.data.source import Report, Source, iterate_labels, tab_line
from as2core.errors import BadSetting
from as2core.types import Candidate, Question

NEITHER, ONLY_SHORT, ONLY_LONG, POSITIVE = 1, 2, 3, 4
NEGATIVES = (NEITHER, ONLY_SHORT, ONLY_LONG)
_LABELS = {str(grade): (int(grade == POSITIVE), grade) for grade in (*NEGATIVES, POSITIVE)}


def stream(source: Source, report: Report) -> Iterator[Question]:
    """One question in memory at a time. Raises UnreadableFile."""
    return triples.stream(source, report, _LABELS)


def to_lines(questions: Iterable[Question]) -> Iterator[str]:
    """ASNQ's rows; unlabelled candidates are not written."""
    return (tab_line((q.text, c.text, asnq_label(c))) for q, c in iterate_labels(questions))


def asnq_label(candidate: Candidate) -> int:
    """The ASNQ label of a labelled candidate: its grade if it is one of ASNQ's and agrees with the label, else 4 for
    a correct sentence and 1 for another. A grade may be of another scale, or older than the label."""
    grade = candidate.grade
    if grade in (*NEGATIVES, POSITIVE) and grade is not None and (grade == POSITIVE) == (candidate.label == 1):
        return grade
    return POSITIVE if candidate.label else NEITHER


def apply_asnq_negatives(questions: Iterable[Question], keep: Collection[int] = (2, 3)) -> list[Question]:
    """The questions with only those incorrect candidates whose ASNQ label is in `keep` (the paper's Table 6).

    Correct candidates and the order stay; a question without a correct candidate is dropped. Raises BadSetting for a
    label that is no negative's, and when a negative carries no ASNQ label.
    """
    wrong = sorted(set(keep) - set(NEGATIVES))
    if wrong or not keep:
        raise BadSetting(f"ASNQ's negatives are labelled 1, 2 and 3, not {wrong or 'nothing'}: choose among these")
    selection = []
    for q in questions:
        if any(c.label == 0 and c.grade is None for c in q.candidates):
            raise BadSetting(f"question {q.qid!r} has no ASNQ labels: read ASNQ's own file, or JSONL made from it")
        if q.positives:
            candidates = tuple(c for c in q.candidates if c.label != 0 or c.grade in keep)
            selection.append(replace(q, candidates=candidates))
    return selection
