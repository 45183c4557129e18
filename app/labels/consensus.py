"""The label that counts for a pair, and the questions as training and exports see them.

A verdict outranks every label, labels of people outrank imported ones. Among equals the majority of correct against
incorrect counts; a tie is a dispute, and "unsure" counts for neither side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.labels.visibility import find_reader
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import BadSetting
from as2core.text import normalise_text
from as2core.types import CORRECT, INCORRECT, LABELS, UNSURE, Candidate, Question, Verdict
from db.models import Question as QuestionRow
from db.repositories import candidates as candidate_rows
from db.repositories import label_lists, reviews
from db.repositories import labels as label_rows
from db.repositories.pairs import Pair, group_by_pair, read_pair
from db.repositories.questions import IMPORTED

BINARY = {CORRECT: 1, INCORRECT: 0}
MAX_NOTE_CHARS = 500  # of a verdict or a flag
MAX_LISTED_ANNOTATORS = 10  # of an error
CACHE_SECONDS = 60.0  # PostgreSQL may commit an event after a newer one, which changes no mark
MARK_SECONDS = 86_400.0  # then a corpus's mark goes: it may be deleted
T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Which labels of a corpus are wanted, and with what. `annotator`: only theirs. `signed`: with everyone's labels
    and the verdicts. `by`: as this person may read them, None for the command line. `with_unlabelled`: with all other
    candidates that were ranked, but for those that a document lost since, and copies of a correct one."""

    annotator: str | None = None
    signed: bool = False
    by: int | None = None
    with_unlabelled: bool = False


ALL_LABELS = LabelRequest()


def check_label(label: str) -> None:
    """Raises BadSetting."""
    if label not in LABELS:
        raise BadSetting(f"no label {label!r}; known: {', '.join(LABELS)}")


def tidy_note(note: str) -> str:
    """The note of a verdict or a flag, as it is stored. Raises BadSetting for one that is too long."""
    note = " ".join(make_storable(note).split())
    if len(note) > MAX_NOTE_CHARS:
        raise BadSetting(f"a note has at most {MAX_NOTE_CHARS} characters, not {len(note):,}")
    return note


def find_outcomes(
    s: Session, *, corpus_id: int | None = None, question_ids: Sequence[int] = ()
) -> dict[Pair, str | None]:
    """Pair -> the label that counts, the verdict first, of every labelled pair of a corpus or of questions; "unsure"
    where nobody decided, None where people disagree evenly."""
    if corpus_id is None:
        labels = label_rows.list_labels_of_questions(s, question_ids)
    else:
        labels = label_rows.list_labels_of_corpus(s, corpus_id)
    verdicts = label_rows.find_verdicts(s, corpus_id=corpus_id, question_ids=question_ids) if labels else {}
    return {pair: resolve_label(votes, verdicts.get(pair)) for pair, votes in group_by_pair(labels).items()}


def mark_outcomes(wb: Workbench, corpus_id: int) -> tuple[object, ...]:
    """A value that changes whenever an outcome of the corpus may have changed, or which sentences and questions it has,
    to cache by what was made of them: found at once, where reading all labels takes a while."""
    with wb.read() as s:
        return mark_outcomes_within(wb, s, corpus_id)


def mark_outcomes_within(wb: Workbench, s: Session, corpus_id: int) -> tuple[object, ...]:
    """As `mark_outcomes`, within a session. A label or verdict of another corpus leaves the mark as it is: only what
    came since the last time is looked through for one of this corpus."""
    newest, contents = label_rows.mark_corpus(s, corpus_id)
    last_newest, decisions = wb.outcome_marks.get(corpus_id) or (newest, newest)
    if last_newest != newest and _has_other_decisions(s, corpus_id, last_newest, newest):
        decisions = newest
    wb.outcome_marks.put(corpus_id, (newest, decisions), MARK_SECONDS)
    return *decisions, *contents


def _has_other_decisions(s: Session, corpus_id: int, then: tuple[int, int], now: tuple[int, int]) -> bool:
    """Whether a corpus may have other events or verdicts than when these were the newest of all."""
    if now[0] < then[0] or now[1] < then[1]:  # some were deleted with their corpus, and an id may come again
        return True
    return label_rows.has_events_since(s, corpus_id, then[0]) or label_rows.has_verdicts_since(s, corpus_id, then[1])


def load_summary(wb: Workbench, mark: tuple[object, ...], key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
    """What `make` gives, or gave earlier for this key if the mark is the same: pages ask with every run for what is
    made of all labels of a corpus. `mark`: of `mark_outcomes`, read before. `key`: what is made, of which corpus."""
    entry = wb.label_summaries.get(key)
    if entry is None or entry[0] != mark:
        entry = mark, make()
        wb.label_summaries.put(key, entry, CACHE_SECONDS)
    value: T = entry[1]
    return value


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


def find_opposite(texts: Sequence[str], labels: Sequence[str | None], place: int) -> int | None:
    """The place of a sentence with the words of the one at `place`, as in a copy of its document, that is labelled
    incorrect where that one is correct, or the other way round. `texts` and `labels`: of one question's sentences."""
    opposite = {CORRECT: INCORRECT, INCORRECT: CORRECT}.get(labels[place] or "")
    candidates = [i for i, label in enumerate(labels) if opposite is not None and label == opposite]
    words = normalise_text(texts[place]) if candidates else ""
    return next((i for i in candidates if normalise_text(texts[i]) == words), None)


def read_labels(wb: Workbench, question_id: int, annotator_id: int | None = None) -> dict[int, str]:
    """Sentence id -> label: one annotator's, or what everyone's come to (pairs in dispute are left out)."""
    with wb.read() as s:
        if annotator_id is not None:
            own = label_rows.find_labels_by(s, annotator_id, [question_id])
            return {sentence_id: label for (_, sentence_id), label in own.items()}
        outcomes = find_outcomes(s, question_ids=[question_id])
    return {sentence_id: label for (_, sentence_id), label in outcomes.items() if label is not None}


def read_corpus_labels(wb: Workbench, question_id: int) -> dict[int, str]:
    """Sentence id -> label, of the pairs that only imported labels are on: those that the corpus came with."""
    with wb.read() as s:
        votes = group_by_sentence(label_rows.list_labels_of_questions(s, [question_id]))
    label_of = {i: resolve_label(of_one) for i, of_one in votes.items() if all(v.imported for v in of_one)}
    return {sentence_id: label for sentence_id, label in label_of.items() if label is not None}


def read_visible_labels(wb: Workbench, question_id: int, annotator_id: int) -> dict[int, str]:
    """What everyone's labels come to, of the pairs whose labels this person, who may label them, sees."""
    labels = read_labels(wb, question_id)
    with wb.read() as s:
        question = s.get(QuestionRow, question_id)
        if question is None or not labels:
            return labels
        reader = find_reader(s, question.corpus_id, annotator_id, may_label=True)
        rows = [] if reader.sees_all else label_rows.list_labels_of_questions(s, [question_id])
    hidden = reader.find_hidden_pairs(rows)
    return {sentence_id: label for sentence_id, label in labels.items() if (question_id, sentence_id) not in hidden}


def load_questions(wb: Workbench, corpus_id: int, which: LabelRequest = ALL_LABELS) -> list[LabelledQuestion]:
    """All questions of a corpus, with the candidates that came from outside or carry a label."""
    with wb.read() as s:
        candidates = candidate_rows.list_candidate_rows(s, corpus_id, with_unlabelled=which.with_unlabelled)
        labels = label_rows.list_labels_of_corpus(s, corpus_id)
        verdicts = reviews.find_signed_verdicts(s, corpus_id) if which.annotator is None else {}
        ids = candidate_rows.make_unique_candidate_ids(s, corpus_id)
        hidden = find_reader(s, corpus_id, which.by, may_label=False).find_hidden_pairs(labels)
    labels = [row for row in labels if row.imported or read_pair(row) not in hidden]
    verdicts = {pair: verdict for pair, verdict in verdicts.items() if pair not in hidden}
    by_question: dict[int, list[Row]] = {}
    for row in labels:
        if which.annotator in (None, row.annotator):
            by_question.setdefault(row.question_id, []).append(row)
    return [
        _build_question(list(group), by_question.get(question_id, []), verdicts, ids, which)
        for question_id, group in groupby(candidates, key=lambda r: r.question_id)
    ]


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


def _build_question(
    group: list[Row],
    labels: list[Row],
    verdicts: Mapping[Pair, Row],
    ids: Mapping[Pair, str],
    which: LabelRequest,
) -> LabelledQuestion:
    question_id = group[0].question_id
    votes = group_by_sentence(labels)
    rulings = {i: verdicts[question_id, i] for i in votes if (question_id, i) in verdicts}
    verdict_of = {i: Verdict(v.name, v.label, v.note) for i, v in rulings.items()}
    imports = {row.sentence_id: row.label for row in labels if row.imported}
    label_of = {i: resolve_label(v, verdict_of[i].label if i in verdict_of else None) for i, v in votes.items()}
    answers = {normalise_text(row.text) for row in group if label_of.get(row.sentence_id) == CORRECT}

    def is_wanted(row: Row) -> bool:
        if row.candidate_origin == IMPORTED or row.sentence_id in label_of:
            return True
        return which.with_unlabelled and not row.retired and normalise_text(row.text) not in answers

    candidates = tuple(
        Candidate(
            ids.get((question_id, i), row.candidate),
            row.text,
            BINARY.get(label_of.get(i) or ""),
            row.title,
            row.grade if label_of.get(i) == imports.get(i) else None,
            annotations=tuple(sorted({v.annotator: v.label for v in votes.get(i, ())}.items())) if which.signed else (),
            verdict=verdict_of.get(i) if which.signed else None,
        )
        for row in group
        if (i := row.sentence_id) is not None and is_wanted(row)
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
