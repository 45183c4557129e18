"""What goes into a retrain: whose labels, which, since when, how conflicts are settled, and what is presumed.

A choice is plain and is kept with the job, the snapshot and the card, so that a version can be made again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from itertools import groupby
from typing import Any

from app.services.labels import BINARY, Labelled, by_sentence, judged, settle, told_apart
from app.services.views import UNSURE
from app.services.workbench import Workbench
from as2core.errors import BadSetting
from as2core.types import Candidate, Question
from db.repositories import choices as rows
from db.repositories import questions as question_rows

CONFLICTS = {
    "majority": "the majority counts, a tie is left out; a verdict outranks it",
    "latest": "the newest label counts; a verdict outranks it",
    "adjudicated": "only a verdict settles a conflict, others are left out",
    "leave-out": "every pair that was ever in conflict is left out, settled or not",
}
KINDS = {"people": "labels that people gave here", "imported": "labels that came with a file"}
MAX_PRESUMED = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """`annotators`: names, nobody named means everyone. `kinds`: of KINDS. `since`: a day, "" for all.
    `unsure_incorrect`: pairs that carry nothing but doubt count as incorrect instead of not at all. `conflicts`: of
    CONFLICTS. `presumed`: so many candidates a question that nobody labelled are taken for incorrect, of questions
    with a correct one; to learn from only, never to judge by. `doubtful`: labels that are more likely wrong than right
    are learnt from, too (see `slips`)."""

    annotators: tuple[str, ...] = ()
    kinds: tuple[str, ...] = tuple(KINDS)
    since: str = ""
    conflicts: str = "majority"
    unsure_incorrect: bool = False
    presumed: int = 0
    doubtful: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "annotators", tuple(self.annotators))
        object.__setattr__(self, "kinds", tuple(self.kinds))
        if self.conflicts not in CONFLICTS:
            raise BadSetting(f"no way {self.conflicts!r} to settle conflicts; known: {', '.join(CONFLICTS)}")
        if not self.kinds or not set(self.kinds) <= set(KINDS):
            raise BadSetting(f"label kinds {', '.join(self.kinds) or 'none'}: give one or both of {', '.join(KINDS)}")
        if not 0 <= self.presumed <= MAX_PRESUMED:
            raise BadSetting(f"{self.presumed} presumed negatives a question: give 0 to {MAX_PRESUMED}")
        if self.since:
            _day(self.since)

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Choice:
        """From what a job's settings keep; None gives the defaults."""
        return cls(**(stored or {}))

    def stored(self) -> dict[str, Any]:
        return asdict(self)


def _day(text: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        raise BadSetting(f"the day {text!r} is none: write it as 2024-05-01") from None


def load(wb: Workbench, corpus_id: int, choice: Choice) -> list[Labelled]:
    """All questions of the corpus, labelled as the choice has it, with the candidates nobody labelled beside them."""
    with wb.read() as s:
        found = question_rows.with_candidates(s, corpus_id)
        everything = rows.votes(s, corpus_id)
        ids = told_apart(s, found)
    touched = {(v.question_id, v.sentence_id) for v in everything}
    of_question: dict[int, list[Any]] = {}
    for v in (v for v in everything if _counts(v, choice)):
        of_question.setdefault(v.question_id, []).append(v)
    return [
        _labelled(list(group), of_question.get(question_id, []), touched, ids, choice)
        for question_id, group in groupby(found, key=lambda r: r.question_id)
    ]


def annotators(wb: Workbench, corpus_id: int) -> list[tuple[str, int]]:
    """Who labelled how many pairs of the corpus, the busiest first."""
    with wb.read() as s:
        return Counter(v.annotator for v in rows.votes(s, corpus_id)).most_common()


def givers(wb: Workbench, corpus_id: int, choice: Choice, question_ids: Collection[int]) -> dict[str, int]:
    """Who gave how many of the labels that the choice counts on these questions, the busiest first."""
    with wb.read() as s:
        found = [v for v in rows.votes(s, corpus_id) if v.question_id in question_ids and _counts(v, choice)]
    decisive = (*BINARY, UNSURE) if choice.unsure_incorrect else tuple(BINARY)
    return dict(Counter(v.annotator for v in found if v.label in decisive).most_common())


def _counts(vote: Any, choice: Choice) -> bool:
    return (
        (not choice.annotators or vote.annotator in choice.annotators)
        and ("imported" if vote.imported else "people") in choice.kinds
        and (not choice.since or vote.created >= _day(choice.since))
    )


def _labelled(
    group: list[Any],
    votes: list[Any],
    touched: set[tuple[int, int]],
    ids: Mapping[tuple[int, int], str],
    choice: Choice,
) -> Labelled:
    """`touched` pairs carry some label, if not one that counts: they are in with a label or not at all, so that what
    somebody doubted, or another found correct, is never presumed wrong."""
    came_to = {i: settle(v, v[0].verdict, choice.conflicts) for i, v in by_sentence(votes).items()}
    known = dict(BINARY) | ({UNSURE: 0} if choice.unsure_incorrect else {})
    candidates = tuple(
        Candidate(
            ids.get((r.question_id, r.sentence_id), r.candidate),
            r.text,
            known.get(came_to.get(r.sentence_id) or ""),
            r.title,
        )
        for r in group
        if r.sentence_id is not None
        and ((r.question_id, r.sentence_id) not in touched or came_to.get(r.sentence_id) in known)
    )
    return Labelled.of(group[0], candidates, votes, came_to)


def with_presumed(question: Question, presumed: int, seed: int = 0) -> Question:
    """The question's judged candidates, and up to `presumed` others as incorrect ones if it has a correct one."""
    if not presumed or not question.positives:
        return judged(question)
    others = [i for i, c in enumerate(question.candidates) if c.label is None]
    drawn = set(random.Random(f"{seed}:{question.qid}").sample(others, min(presumed, len(others))))
    kept = tuple(
        replace(c, label=0) if i in drawn else c
        for i, c in enumerate(question.candidates)
        if c.label is not None or i in drawn
    )
    return replace(question, candidates=kept)
