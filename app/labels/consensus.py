"""The label that counts for a pair, and the questions as training and exports see them.

A verdict outranks every label, labels of people outrank imported ones. Among equals the majority of correct against
incorrect counts; a tie is a dispute, and "unsure" counts for neither side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.candidate_ids import make_unique_candidate_ids
from app.labels.rules import find_rules
from app.workbench.people import ADMIN, has_role
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting
from as2core.types import CORRECT, INCORRECT, LABELS, UNSURE, Candidate, Question, Verdict
from db.models import Question as QuestionRow
from db.repositories import label_lists, reviews
from db.repositories import labels as label_rows
from db.repositories import questions as question_rows
from db.repositories.pairs import Pair
from db.repositories.questions import IMPORTED

BINARY = {CORRECT: 1, INCORRECT: 0}
MAX_NOTE_CHARS = 500  # of a verdict or a flag
MAX_LISTED_ANNOTATORS = 10  # of an error


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A stored question with its candidates as they are labelled now. `conflict_count` counts pairs on which people
    disagree evenly, `unsure` those with no other label. `own`: whether a person labelled any of it here. `queued`:
    whether the label queues offer it."""

    id: int
    question: Question
    origin: str
    own: bool
    conflict_count: int
    unsure: int
    queued: bool = True

    @classmethod
    def build(
        cls, row: Row, candidates: tuple[Candidate, ...], labels: Iterable[Row], label_of: Mapping[int, str | None]
    ) -> LabelledQuestion:
        """From a stored row of the question, its `labels`, and sentence id -> `resolve_label` of those."""
        question = Question(row.qid, row.question, candidates, kind=row.kind, split=row.split)
        own = any(not x.imported for x in labels)
        conflict_count, unsure = (list(label_of.values()).count(label) for label in (None, UNSURE))
        return cls(row.question_id, question, row.origin, own, conflict_count, unsure, row.queued)


def check_label(label: str) -> None:
    """Raises BadSetting."""
    if label not in LABELS:
        raise BadSetting(f"no label {label!r}; known: {', '.join(LABELS)}")


def resolve_labels(rows: Iterable[Row]) -> dict[int, str]:
    """Rows (sentence_id, imported, label) of one question -> sentence id -> the label that counts; "unsure" where
    nobody decided; pairs in dispute are left out."""
    label_of = {sentence_id: resolve_label(votes) for sentence_id, votes in group_by_sentence(rows).items()}
    return {sentence_id: label for sentence_id, label in label_of.items() if label is not None}


def group_by_sentence(rows: Iterable[Row]) -> dict[int, list[Row]]:
    votes: dict[int, list[Row]] = {}
    for row in rows:
        votes.setdefault(row.sentence_id, []).append(row)
    return votes


def resolve_label(votes: Sequence[Row], verdict: str | None = None, conflicts: str = "majority") -> str | None:
    """The label that counts for one pair, from its labels, oldest first: CORRECT, INCORRECT, UNSURE where nobody
    decided, None where they are in conflict and the chosen way (of `label_selection.CONFLICTS`) leaves them so."""
    judgements = [v for v in votes if v.label in BINARY]
    values = [v.label for v in judgements if not v.imported] or [v.label for v in judgements]
    if not values:
        return verdict or UNSURE
    if conflicts == "leave-out":
        return values[0] if len(set(values)) == 1 else None
    if verdict:
        return verdict
    if len(set(values)) == 1 or conflicts == "latest":
        return values[-1]
    ahead = values.count(CORRECT) - values.count(INCORRECT)
    if conflicts == "adjudicated" or ahead == 0:
        return None
    return CORRECT if ahead > 0 else INCORRECT


def read_labels(wb: Workbench, question_id: int, annotator_id: int | None = None) -> dict[int, str]:
    """Sentence id -> label: one annotator's, or what everyone's come to (pairs in dispute are left out)."""
    with wb.read() as s:
        if annotator_id is not None:
            own = label_rows.find_labels_by(s, annotator_id, [question_id])
            return {sentence_id: label for (_, sentence_id), label in own.items()}
        verdicts = label_rows.find_verdicts(s, question_ids=[question_id])
        label_of = resolve_labels(label_rows.list_labels_of_questions(s, [question_id]))
    return label_of | {sentence_id: label for (_, sentence_id), label in verdicts.items()}


def read_corpus_labels(wb: Workbench, question_id: int) -> dict[int, str]:
    """Sentence id -> label, of the pairs that only imported labels are on: those that the corpus came with."""
    with wb.read() as s:
        votes = group_by_sentence(label_rows.list_labels_of_questions(s, [question_id]))
    return resolve_labels(v for of_one in votes.values() if all(v.imported for v in of_one) for v in of_one)


def read_visible_labels(wb: Workbench, question_id: int, annotator_id: int) -> dict[int, str]:
    """What everyone's labels come to; where several people are to label a pair, only once one's own label is in."""
    labels = read_labels(wb, question_id)
    with wb.read() as s:
        question = s.get(QuestionRow, question_id)
        if question is None or find_rules(s, question.corpus_id).overlap == 1:
            return labels
        of_people = {r.sentence_id for r in label_rows.list_labels_of_questions(s, [question_id]) if not r.imported}
    own = read_labels(wb, question_id, annotator_id)
    return {c: label for c, label in labels.items() if c in own or c not in of_people}


def load_questions(
    wb: Workbench,
    corpus_id: int,
    annotator: str | None = None,
    *,
    signed: bool = False,
    by: int | None = None,
    with_unlabelled: bool = False,
) -> list[LabelledQuestion]:
    """All questions of a corpus, with the candidates that came from outside or carry a label; `annotator` narrows it to
    one person's labels. `signed`: with everyone's labels and the verdicts. `by`: as this person may read them.
    `with_unlabelled`: with all others that were ranked, but for those that a document lost since."""
    with wb.read() as s:
        candidates = question_rows.list_candidate_rows(s, corpus_id)
        labels = label_rows.list_labels_of_corpus(s, corpus_id)
        verdicts = reviews.find_signed_verdicts(s, corpus_id) if annotator is None else {}
        ids = make_unique_candidate_ids(s, candidates)
        waiting = _find_waiting(s, corpus_id, labels, by) if _may_wait(s, corpus_id, by) else set()
    labels = [row for row in labels if row.imported or (row.question_id, row.sentence_id) not in waiting]
    verdicts = {pair: verdict for pair, verdict in verdicts.items() if pair not in waiting}
    by_question: dict[int, list[Row]] = {}
    for row in labels:
        if annotator is None or row.annotator == annotator:
            by_question.setdefault(row.question_id, []).append(row)
    return [
        _build_question(list(group), by_question.get(question_id, []), verdicts, ids, signed, with_unlabelled)
        for question_id, group in groupby(candidates, key=lambda r: r.question_id)
    ]


def _may_wait(s: Session, corpus_id: int, by: int | None) -> bool:
    """Whether any pair can wait for a label of `by`: not where one person's is enough, and not where `by` is an admin,
    or the command line."""
    return by is not None and find_rules(s, corpus_id).overlap > 1 and not has_role(s, by, ADMIN)


def _find_waiting(s: Session, corpus_id: int, labels: Iterable[Row], by: int | None) -> set[Pair]:
    """The pairs that wait for a label of `by`, who may not know others' labels yet: those with fewer people's labels
    than wanted and none of `by`."""
    annotators: dict[Pair, set[int]] = {}
    for row in labels:
        if not row.imported:
            annotators.setdefault((row.question_id, row.sentence_id), set()).add(row.annotator_id)
    overlap = find_rules(s, corpus_id).overlap
    return {pair for pair, people in annotators.items() if len(people) < overlap and by not in people}


def count_annotators(wb: Workbench, corpus_id: int) -> dict[str, int]:
    """Annotator -> pairs of the corpus they labelled, the busiest first."""
    with wb.read() as s:
        return {r.name: r.labels for r in label_lists.count_by_annotator(s, corpus_id)}


def explain_missing_annotators(names: Collection[str], corpus: str, by_annotator: Mapping[str, int]) -> str:
    """Which of these annotators have no label in the corpus, and who has; "" where all have one, or nobody has."""
    missing = [repr(name) for name in names if name not in by_annotator]
    if not missing or not by_annotator:
        return ""
    busiest = [*by_annotator][:MAX_LISTED_ANNOTATORS]
    more = [f"{len(by_annotator) - len(busiest):,} more"] if len(by_annotator) > len(busiest) else []
    return f"no label by {', '.join(missing)} in {corpus!r}; annotators with labels: {', '.join(busiest + more)}"


def find_hidden_labels(wb: Workbench, corpus_id: int, by: int | None) -> set[tuple[str, str]]:
    """The texts (question, sentence) of the pairs whose label `by` may not know yet."""
    with wb.read() as s:
        if not _may_wait(s, corpus_id, by):
            return set()
        waiting = _find_waiting(s, corpus_id, label_rows.list_labels_of_corpus(s, corpus_id), by)
        pairs = question_rows.list_candidate_rows(s, corpus_id) if waiting else ()
        return {(row.question, row.text) for row in pairs if (row.question_id, row.sentence_id) in waiting}


def _build_question(
    group: list[Row],
    labels: list[Row],
    verdicts: Mapping[Pair, Row],
    ids: Mapping[Pair, str],
    signed: bool,
    with_unlabelled: bool,
) -> LabelledQuestion:
    question_id = group[0].question_id
    votes = group_by_sentence(labels)
    rulings = {i: verdicts[question_id, i] for i in votes if (question_id, i) in verdicts}
    verdict_of = {i: Verdict(v.name, v.label, v.note) for i, v in rulings.items()}
    imports = {row.sentence_id: row.label for row in labels if row.imported}
    label_of = {i: resolve_label(v, verdict_of[i].label if i in verdict_of else None) for i, v in votes.items()}
    candidates = tuple(
        Candidate(
            ids.get((question_id, i), row.candidate),
            row.text,
            BINARY.get(label_of.get(i) or ""),
            row.title,
            row.grade if label_of.get(i) == imports.get(i) else None,
            annotations=tuple(sorted({v.annotator: v.label for v in votes.get(i, ())}.items())) if signed else (),
            verdict=verdict_of.get(i) if signed else None,
        )
        for row in group
        if (i := row.sentence_id) is not None
        and (row.candidate_origin == IMPORTED or i in label_of or (with_unlabelled and not row.retired))
    )
    return LabelledQuestion.build(group[0], candidates, labels, label_of)


def drop_unlabelled(question: Question) -> Question:
    """The question with only the candidates that carry a label: the others are not presumed incorrect."""
    return replace(question, candidates=tuple(c for c in question.candidates if c.label is not None))


def count_labels(questions: Sequence[LabelledQuestion]) -> Mapping[str, int]:
    """Pairs by label."""
    return {
        CORRECT: sum(x.question.positives for x in questions),
        INCORRECT: sum(x.question.negatives for x in questions),
        UNSURE: sum(x.unsure for x in questions),
    }
