"""ASNQ (the TandA paper, arXiv 1911.04118, section 4): Natural Questions' pages as labelled sentences.

A TSV without a header: question, sentence, label, a question's rows together. The labels are 1 to 4: 4 is a sentence
of the long answer that holds a short answer, and the only correct one; 3 is of the long answer without a short answer,
2 holds one outside the long answer, 1 neither. They are a candidate's `grade`. There are no ids: a question's is a
digest of its text, a candidate's is that with its position.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from as2core.data.lazy_questions import filter_questions, map_questions
from as2core.data.source import Report, digest_id, iterate_labels, stream_fields, tab_line
from as2core.errors import BadSetting
from as2core.sources.content import Source
from as2core.types import Candidate, Question

NEITHER, ONLY_SHORT, ONLY_LONG, POSITIVE = 1, 2, 3, 4
NEGATIVES = (NEITHER, ONLY_SHORT, ONLY_LONG)
COLUMNS = ("question", "sentence", "label")
Row = tuple[str, str, tuple[int, int | None]]  # question, sentence, (label, grade)
Labels = Mapping[str, tuple[int, int | None]]  # (label, grade) of each label as it is written
LABELS: Labels = {str(grade): (int(grade == POSITIVE), grade) for grade in (*NEGATIVES, POSITIVE)}


def stream(source: Source, report: Report, labels: Labels = LABELS) -> Iterator[Question]:
    """One question in memory at a time, with the texts of those before; one that comes again is a problem."""

    texts: set[str] = set()
    rows = stream_fields(source, report, COLUMNS, lambda row: parse_row(row, labels))
    for text, own in groupby(rows, key=lambda row: row[1][0]):
        if text in texts:
            report.add(next(own)[0], f"question {text!r} appears already further up; its rows must stand together")
            continue
        texts.add(text)
        report.begin_question()
        qid = digest_id("q", text)
        yield Question(qid, text, tuple(make_candidate(qid, i, row) for i, (_, row) in enumerate(own)))


def parse_row(row: Sequence[str], labels: Labels = LABELS) -> Row:
    """Raises ValueError for a row without a question or with another label."""
    question, sentence, label = row
    if not question:
        raise ValueError("the question is empty")
    if label.strip() not in labels:
        raise ValueError(f"label {label!r} is not {', '.join(labels)}")
    return question, sentence, labels[label.strip()]


def make_candidate(qid: str, position: int, row: Row) -> Candidate:
    """The candidate of a row at a position in its question."""
    _, sentence, (label, grade) = row
    return Candidate(f"{qid}-{position}", sentence, label, grade=grade)


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


def apply_asnq_negatives(questions: Sequence[Question], keep: Collection[int] = (2, 3)) -> Sequence[Question]:
    """The questions with only those incorrect candidates whose ASNQ label is in `keep` (the paper's Table 6).

    Correct candidates and the order stay; a question without a correct candidate is dropped. Raises BadSetting for a
    label that is no negative's, and when a negative carries no ASNQ label.
    """
    wrong = sorted(set(keep) - set(NEGATIVES))
    if wrong or not keep:
        raise BadSetting(f"ASNQ's negatives are labelled 1, 2 and 3, not {wrong or 'nothing'}: choose among these")

    def is_answered(q: Question) -> bool:
        if any(c.label == 0 and c.grade is None for c in q.candidates):
            raise BadSetting(f"question {q.qid!r} has no ASNQ labels: read ASNQ's own file, or JSONL made from it")
        return q.positives > 0

    def drop_others(_: int, q: Question) -> Question:
        return replace(q, candidates=tuple(c for c in q.candidates if c.label != 0 or c.grade in keep))

    return map_questions(filter_questions(questions, is_answered), drop_others)
