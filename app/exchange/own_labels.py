"""What an annotator may import of a file that holds others' labels and verdicts, such as their own export: what others
gave, and is here already, is left as it is. What is not here stays in the file, for an admin to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.labels.consensus import LabelRequest, load_questions
from app.workbench.people import ADMIN
from app.workbench.workbench import Workbench
from as2core.messages import count
from as2core.types import Candidate, Question
from db.models import Annotator


@dataclass(frozen=True, slots=True)
class OwnLabels:
    """The questions without what others gave that is here already, and a sentence about that; "" if there is none."""

    questions: Sequence[Question]
    note: str = ""


def drop_labels_of_others(wb: Workbench, corpus_id: int, questions: Sequence[Question], by: int) -> OwnLabels:
    """For an import by somebody who is no admin. What is hidden from them counts as not here."""
    with wb.read() as s:
        person = s.get(Annotator, by)
    if person is None or person.role == ADMIN or not _has_foreign(questions, person.name):
        return OwnLabels(questions)
    standing = {
        (x.question.qid, c.id): c
        for x in load_questions(wb, corpus_id, LabelRequest(signed=True, by=by))
        for c in x.question.candidates
    }
    labels = verdicts = 0
    own = []
    for q in questions:
        candidates = []
        for c in q.candidates:
            rest = _drop_same(c, standing.get((q.qid, c.id)), person.name)
            labels += len(c.annotations) - len(rest.annotations)
            verdicts += c.verdict is not None and rest.verdict is None
            candidates.append(rest)
        own.append(replace(q, candidates=tuple(candidates)))
    parts = [count(n, noun) for n, noun in ((labels, "label"), (verdicts, "verdict")) if n]
    note = f"{' and '.join(parts)} that other people gave here already: left as they are" if parts else ""
    return OwnLabels(own, note)


def _has_foreign(questions: Sequence[Question], name: str) -> bool:
    """Whether somebody else gave a label, or anybody a verdict."""
    candidates = (c for q in questions for c in q.candidates)
    return any(c.verdict is not None or any(by != name for by, _ in c.annotations) for c in candidates)


def _drop_same(c: Candidate, here: Candidate | None, name: str) -> Candidate:
    if here is None or here.text != c.text:
        return c
    rest = tuple(label for label in c.annotations if label[0] == name or label not in here.annotations)
    verdict = None if c.verdict == here.verdict else c.verdict
    if rest == c.annotations and verdict == c.verdict:
        return c
    label, grade = (c.label, c.grade) if rest else (None, None)  # the label of the pair is nobody's own
    return replace(c, annotations=rest, verdict=verdict, label=label, grade=grade)
