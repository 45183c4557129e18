"""ASNQ (the TandA paper, arXiv 1911.04118, section 4): Natural Questions' pages as labelled sentences.

A TSV without a header: question, sentence, label, a question's rows together. The labels are 1 to 4: 4 is a sentence
of the long answer that holds a short answer, and the only correct one; 3 is of the long answer without a short answer,
2 holds one outside the long answer, 1 neither. They are a candidate's `grade`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from as2core.data import triples
from as2core.data.source import Report, Source, collect
from as2core.errors import BadSetting
from as2core.types import Candidate, Question

NEITHER, ONLY_SHORT, ONLY_LONG, POSITIVE = 1, 2, 3, 4
NEGATIVES = (NEITHER, ONLY_SHORT, ONLY_LONG)
_LABELS = {str(grade): (int(grade == POSITIVE), grade) for grade in (*NEGATIVES, POSITIVE)}


def read(source: Source, *, strict: bool = False) -> tuple[list[Question], Report]:
    """All questions at once; the published training set is better streamed. Raises UnreadableFile."""
    return collect(stream, source, strict=strict)


def stream(source: Source, report: Report) -> Iterator[Question]:
    """One question in memory at a time."""
    return triples.stream(source, report, _LABELS)


def dumps(questions: Iterable[Question]) -> str:
    """ASNQ's rows."""
    return "".join(lines(questions))


def lines(questions: Iterable[Question]) -> Iterator[str]:
    """The same, row by row."""
    for question in questions:
        yield from triples.rows(question, grade_of)


def grade_of(candidate: Candidate) -> int:
    """The ASNQ label of a judged candidate: its grade if that is one and says what the label says, else 4 for a correct
    sentence and 1 for another. A grade may be of another scale, or older than the label."""
    agrees = candidate.grade in (*NEGATIVES, POSITIVE) and (candidate.grade == POSITIVE) == (candidate.label == 1)
    return candidate.grade if agrees else POSITIVE if candidate.label else NEITHER


def apply_asnq_negatives(questions: Iterable[Question], keep: Collection[int] = (2, 3)) -> list[Question]:
    """The questions with only those incorrect candidates whose ASNQ label is in `keep` (the paper's Table 6).

    Correct candidates and the order stay; a question without a correct candidate is dropped. Raises BadSetting for a
    label that is no negative's, and when a negative carries no ASNQ label.
    """
    wrong = sorted(set(keep) - set(NEGATIVES))
    if wrong or not keep:
        raise BadSetting(f"ASNQ's negatives are labelled 1, 2 and 3, not {wrong or 'nothing'}: choose among these")
    kept = []
    for q in questions:
        if any(c.label == 0 and c.grade is None for c in q.candidates):
            raise BadSetting(f"question {q.qid!r} has no ASNQ labels: read ASNQ's own file, or JSONL made from it")
        if q.positives:
            chosen = tuple(c for c in q.candidates if c.label != 0 or c.grade in keep)
            kept.append(replace(q, candidates=chosen))
    return kept
