"""What people here judged about the sentences of a question, as one of them may see it, and who did.

Labels that came with a corpus count for nothing here: nobody of this workbench gave them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Row

from app.labels.consensus import group_by_sentence, resolve_label
from app.labels.visibility import find_reader
from app.workbench.workbench import Workbench
from db.repositories import labels as rows
from db.repositories import reviews


@dataclass(frozen=True, slots=True)
class Judgement:
    """The label that counts, None where people disagree evenly; `by` are those who gave it, in the order they did:
    nobody where only a verdict says so. `settled_by`: who gave the verdict that decides, "" without one. `own`: the
    viewer's label."""

    label: str | None
    by: tuple[str, ...]
    settled_by: str = ""
    own: str = ""


def read_judgements(
    wb: Workbench, corpus_id: int, question_ids: Sequence[int], viewer_id: int | None = None
) -> dict[int, dict[int, Judgement]]:
    """Question id -> sentence id -> judgement, of the pairs that a person labelled and whose labels the viewer, who
    may label them, sees; None is the command line."""
    if not question_ids:
        return {}
    with wb.read() as s:
        labels = [label for label in rows.list_labels_of_questions(s, question_ids) if not label.imported]
        if not labels:
            return {}
        verdicts = reviews.find_signed_verdicts(s, corpus_id, question_ids)
        hidden = find_reader(s, corpus_id, viewer_id, may_label=True).find_hidden_pairs(labels)
    by_question: dict[int, list[Row]] = {}
    for row in labels:
        by_question.setdefault(row.question_id, []).append(row)
    return {
        question_id: {
            sentence_id: _judge(votes, verdicts.get((question_id, sentence_id)), viewer_id)
            for sentence_id, votes in group_by_sentence(of_one).items()
            if (question_id, sentence_id) not in hidden
        }
        for question_id, of_one in by_question.items()
    }


def _judge(votes: Sequence[Row], verdict: Row | None, viewer_id: int | None) -> Judgement:
    label = resolve_label(votes, verdict.label if verdict else None)
    by = tuple(v.annotator for v in votes if v.label == label)
    own = next((v.label for v in votes if v.annotator_id == viewer_id), "")
    return Judgement(label, by, verdict.name if verdict else "", own)
