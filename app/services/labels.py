"""What several people's labels of one pair come to, and the questions as training and exports see them.

A verdict on a conflict outranks every label, labels of people outrank imported ones. Among equals the majority of
correct against incorrect counts; a tie settles nothing, and "unsure" counts for neither side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy.orm import Session

from app.services.people import ADMIN
from app.services.rules import rules_of
from app.services.views import CORRECT, INCORRECT, UNSURE
from app.services.workbench import Workbench
from as2core.types import Candidate, Question, Verdict
from db.models import Sentence
from db.repositories import corpora as corpus_rows
from db.repositories import labels as label_rows
from db.repositories import people as people_rows
from db.repositories import questions as question_rows
from db.repositories import reviews
from db.repositories.questions import IMPORTED

BINARY = {CORRECT: 1, INCORRECT: 0}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A stored question with its candidates as they are labelled now.

    `unsettled` counts pairs on which people disagree evenly, `unsure` those that carry nothing but doubt.
    `own` says whether a person labelled any of it here.
    """

    id: int
    question: Question
    origin: str
    split: str
    own: bool
    unsettled: int
    unsure: int

    @classmethod
    def of(
        cls, row: Any, candidates: tuple[Candidate, ...], labels: Iterable[Any], came_to: Mapping[int, str | None]
    ) -> Labelled:
        """From a stored row of the question, the `labels` on it, and sentence id -> what those `came_to`."""
        return cls(
            row.question_id,
            Question(row.qid, row.question, candidates, row.kind),
            row.origin,
            row.split,
            own=any(not x.imported for x in labels),
            unsettled=sum(x is None for x in came_to.values()),
            unsure=sum(x == UNSURE for x in came_to.values()),
        )


def settled(rows: Iterable[Any]) -> dict[int, str]:
    """Rows (sentence_id, imported, label) of one question -> sentence id -> the label that counts; "unsure" where
    there is only doubt; pairs in dispute are left out."""
    came_to = {sentence_id: settle(votes) for sentence_id, votes in by_sentence(rows).items()}
    return {sentence_id: label for sentence_id, label in came_to.items() if label is not None}


def by_sentence(rows: Iterable[Any]) -> dict[int, list[Any]]:
    votes: dict[int, list[Any]] = {}
    for row in rows:
        votes.setdefault(row.sentence_id, []).append(row)
    return votes


def settle(votes: Sequence[Any], verdict: str | None = None, conflicts: str = "majority") -> str | None:
    """What the labels of one pair come to, oldest first: CORRECT, INCORRECT, UNSURE where there is only doubt, None
    where they are in conflict and the way chosen (of `choosing.CONFLICTS`) does not settle it."""
    decided = [v for v in votes if v.label in BINARY]
    counted = [v.label for v in decided if not v.imported] or [v.label for v in decided]
    if not counted:
        return verdict or UNSURE
    if conflicts == "leave-out":
        return counted[0] if len(set(counted)) == 1 else None
    if verdict:
        return verdict
    if len(set(counted)) == 1 or conflicts == "latest":
        return counted[-1]
    ahead = counted.count(CORRECT) - counted.count(INCORRECT)
    if conflicts == "adjudicated" or ahead == 0:
        return None
    return CORRECT if ahead > 0 else INCORRECT


def load(
    wb: Workbench, corpus_id: int, annotator: str | None = None, *, signed: bool = False, by: int | None = None
) -> list[Labelled]:
    """All questions of a corpus, with the candidates that came from outside or carry a label; `annotator` narrows it to
    one person's labels. `signed`: with who said what, and how conflicts were settled. `by`: as this person may read
    them."""
    with wb.read() as s:
        found = question_rows.with_candidates(s, corpus_id)
        labels = label_rows.labels_of_corpus(s, corpus_id)
        verdicts = reviews.verdicts(s, corpus_id) if annotator is None else {}
        ids = told_apart(s, found)
        waiting = _waiting(s, corpus_id, labels, by)
    labels = [row for row in labels if row.imported or (row.question_id, row.sentence_id) not in waiting]
    verdicts = {pair: verdict for pair, verdict in verdicts.items() if pair not in waiting}
    by_question: dict[int, list[Any]] = {}
    for row in labels:
        if annotator is None or row.annotator == annotator:
            by_question.setdefault(row.question_id, []).append(row)
    return [
        _labelled(list(group), by_question.get(question_id, []), verdicts, ids, signed)
        for question_id, group in groupby(found, key=lambda r: r.question_id)
    ]


def _waiting(s: Session, corpus_id: int, labels: Iterable[Any], by: int | None) -> set[tuple[int, int]]:
    """The pairs (question id, sentence id) that wait for a label of `by`, who may not know yet what others say: those
    with fewer people's labels than wanted and none of `by`. None where `by` is an admin, or the command line."""
    if by is None or ((person := people_rows.person(s, by)) is not None and person.role == ADMIN):
        return set()
    who: dict[tuple[int, int], set[int]] = {}
    for row in labels:
        if not row.imported:
            who.setdefault((row.question_id, row.sentence_id), set()).add(row.annotator_id)
    overlap = rules_of(s, corpus_id).overlap
    return {pair for pair, people in who.items() if len(people) < overlap and by not in people}


def hidden(wb: Workbench, corpus_id: int, by: int | None) -> set[tuple[str, str]]:
    """(question, sentence) whose label `by` may not know yet, in their words."""
    with wb.read() as s:
        waiting = _waiting(s, corpus_id, label_rows.labels_of_corpus(s, corpus_id), by)
        pairs = question_rows.with_candidates(s, corpus_id) if waiting else ()
        return {(row.question, row.text) for row in pairs if (row.question_id, row.sentence_id) in waiting}


def by_id(s: Session, question_ids: Sequence[int]) -> dict[int, dict[str, Sentence]]:
    """Question id -> id -> sentence, of all its candidates. The id is the one a candidate came with, or its sentence's;
    where an older candidate has that one already, the sentence's own, or that with a number. So what left comes back to
    the same sentences."""
    found: dict[int, dict[str, Sentence]] = {}
    for question_id, given, sentence in corpus_rows.candidates_of(s, question_ids):
        taken, own = found.setdefault(question_id, {}), sentence.external_id
        ids = (own if given is None else given, own, *(f"{own} {n}" for n in range(2, len(taken) + 3)))
        taken[next(i for i in ids if i not in taken)] = sentence
    return found


def told_apart(s: Session, rows: Iterable[Any]) -> dict[tuple[int, int], str]:
    """(question id, sentence id) -> the candidate's id, of those questions in whose rows (question_id, sentence_id,
    candidate) an id stands twice."""
    times = Counter((row.question_id, row.candidate) for row in rows if row.sentence_id is not None)
    twice = sorted({question_id for (question_id, _), n in times.items() if n > 1})
    return {(q, sentence.id): i for q, of_one in by_id(s, twice).items() for i, sentence in of_one.items()}


def _labelled(
    group: list[Any],
    labels: list[Any],
    verdicts: Mapping[tuple[int, int], Any],
    ids: Mapping[tuple[int, int], str],
    signed: bool,
) -> Labelled:
    first = group[0]
    said: dict[int, dict[str, str]] = {}
    for row in labels if signed else ():
        said.setdefault(row.sentence_id, {})[row.annotator] = row.label
    ruled = {
        row.sentence_id: Verdict(v.name, v.label, v.note)
        for row in labels
        if (v := verdicts.get((first.question_id, row.sentence_id))) is not None
    }
    imported = {row.sentence_id: row.label for row in labels if row.imported}
    votes = {
        sentence_id: settle(v, ruled[sentence_id].label if sentence_id in ruled else None)
        for sentence_id, v in by_sentence(labels).items()
    }
    candidates = tuple(
        Candidate(
            ids.get((row.question_id, row.sentence_id), row.candidate),
            row.text,
            BINARY.get(votes.get(row.sentence_id) or ""),
            row.title,
            row.grade if votes.get(row.sentence_id) == imported.get(row.sentence_id) else None,
            said=tuple(sorted(said.get(row.sentence_id, {}).items())),
            verdict=ruled.get(row.sentence_id) if signed else None,
        )
        for row in group
        if row.sentence_id is not None and (row.candidate_origin == IMPORTED or row.sentence_id in votes)
    )
    return Labelled.of(first, candidates, labels, votes)


def judged(question: Question) -> Question:
    """The question with only the candidates that carry a label: what is not labelled is not presumed wrong."""
    kept = tuple(c for c in question.candidates if c.label is not None)
    return Question(question.qid, question.text, kept, question.kind)


def count(labelled: Iterable[Labelled]) -> Mapping[str, int]:
    """Pairs by label."""
    found = list(labelled)
    return {
        CORRECT: sum(x.question.positives for x in found),
        INCORRECT: sum(x.question.negatives for x in found),
        UNSURE: sum(x.unsure for x in found),
    }
