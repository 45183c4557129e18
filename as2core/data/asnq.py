"""ASNQ (the TandA paper, arXiv 1911.04118, section 4): Natural Questions' pages as labelled sentences.

Its labels are 1 to 4: 4 is a sentence of the long answer that holds a short answer, and the only correct one; 3 is of
the long answer without a short answer, 2 holds one outside the long answer, 1 neither. They are a candidate's `grade`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from as2core.errors import BadSetting
from as2core.types import Question

NEGATIVES = (1, 2, 3)
POSITIVE = 4


def apply_asnq_negatives(questions: Iterable[Question], keep: Collection[int] = (2, 3)) -> list[Question]:
    """The questions with only those incorrect candidates whose ASNQ label is in `keep` (the paper's Table 6).

    Correct candidates and the order stay; a question that has no correct candidate left is dropped. Raises BadSetting
    for a label that is no negative's, and when a negative carries no ASNQ label.
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
