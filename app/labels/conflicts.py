"""What people disagree on, and how it is settled: an adjudicator's verdict counts, and the labels stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Row

from app.corpora.corpora import lock_corpus
from app.labels.consensus import BINARY, check_label, load_summary, mark_outcomes, tidy_note
from app.labels.guidelines import EditConflict
from app.labels.visibility import can_see_all
from app.workbench import audit
from app.workbench.people import ADMIN, Gone, require
from app.workbench.workbench import Workbench
from db.models import WITHDRAWN, Question, Sentence
from db.repositories import labels as label_rows
from db.repositories import reviews
from db.repositories import sentences as sentence_rows
from db.repositories.pairs import group_by_pair
from db.repositories.queues import lock_candidate

SETTLE = "settle a conflict"  # in the audit log


@dataclass(frozen=True, slots=True)
class VerdictView:
    """`label` is "withdrawn" where the pair was opened again."""

    label: str
    by: str
    note: str


@dataclass(frozen=True, slots=True)
class ConflictView:
    """A pair that people label differently, or did before it was settled. `verdict`, `by`, `note` are empty until then,
    and `verdict_id` is 0; the labels stay. `position`: the sentence's place in the document, from 0; `is_gone`: the
    sentence left it. `earlier`: the verdicts that count no more, oldest first."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    title: str
    heading: str
    document_id: int
    position: int
    is_gone: bool
    labels: tuple[tuple[str, str], ...]
    earlier: tuple[VerdictView, ...] = ()
    verdict: str = ""
    by: str = ""
    note: str = ""
    verdict_id: int = 0


def list_conflicts(wb: Workbench, corpus_id: int, annotator_id: int) -> tuple[ConflictView, ...]:
    """Pairs that people label differently, then those that a verdict settles, on which they may agree by now: it
    counts until it is taken back. Of everyone for whoever sees all labels; others find those they labelled."""
    make = partial(_collect_conflicts, wb, corpus_id)
    conflicts = load_summary(wb, mark_outcomes(wb, corpus_id), ("conflicts", corpus_id), make)
    with wb.read() as s:
        finds_all = can_see_all(s, annotator_id)
    return tuple(conflict for conflict, people in conflicts if finds_all or annotator_id in people)


def _collect_conflicts(wb: Workbench, corpus_id: int) -> list[tuple[ConflictView, frozenset[int]]]:
    """Each with who labelled it, the open ones first."""
    with wb.read() as s:
        verdicts = group_by_pair(reviews.list_signed_verdicts(s, corpus_id))
        pairs = group_by_pair(reviews.list_comparable_labels(s, corpus_id))
    conflicts = []
    for pair, group in pairs.items():
        first, labels = group[0], tuple((r.annotator, r.label) for r in group)
        history = verdicts.get(pair, [])
        ruling = history[-1] if history and history[-1].label != WITHDRAWN else None
        is_open = ruling is None and len({r.label for r in group if r.label in BINARY}) > 1
        if is_open or ruling:
            texts = first.question, first.text, first.title, first.heading
            place = first.document_id, first.position, first.is_gone
            earlier = tuple(VerdictView(v.label, v.name, v.note) for v in history if v is not ruling)
            verdict = (ruling.label, ruling.name, ruling.note, ruling.id) if ruling else ()
            view = ConflictView(*pair, *texts, *place, labels, earlier, *verdict)
            conflicts.append((view, frozenset(r.annotator_id for r in group)))
    return sorted(conflicts, key=lambda c: bool(c[0].verdict))


def find_neighbours(wb: Workbench, sentence_id: int) -> tuple[str, str]:
    """The text before and after a sentence in its document; "" where there is none, or the sentence left it."""
    with wb.read() as s:
        sentence = s.get(Sentence, sentence_id)
        if sentence is None or sentence.retired:
            return "", ""
        return sentence_rows.find_neighbours(s, sentence.document_id, sentence.position)


def adjudicate(
    wb: Workbench,
    *,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    label: str | None,
    note: str = "",
    base: int | None = None,
    labels: Sequence[tuple[str, str]] | None = None,
) -> None:
    """An adjudicator's verdict: what the pair counts as from now on, whatever the labels say; they stay. None opens the
    pair again; the verdict that a person gave already, without another reason, changes nothing. `base`: the id of the
    verdict that the adjudicator has seen, 0 for none, None for whichever stands; `labels`: the labels seen, as in
    ConflictView, None for whichever stand. Raises EditConflict where others stand by now, NotAllowed unless an admin,
    BadSetting, Gone."""
    if label is not None:
        check_label(label)
    pair, note = (question_id, sentence_id), tidy_note(note)
    with wb.write(durable=True) as s:
        require(s, annotator_id, SETTLE, ADMIN)
        question = s.get(Question, question_id)
        if question is None:
            raise Gone("this question no longer exists; reload the page")
        lock_corpus(s, question.corpus_id)  # against imports and withdrawals of many labels
        lock_candidate(s, *pair)  # against the label of one person, and another verdict
        standing = [(r.annotator, r.label) for r in label_rows.list_labels_of_pair(s, *pair)]
        if not standing:
            raise Gone("this pair no longer has a label; reload the page")
        if label is not None and labels is not None and sorted(labels) != sorted(standing):
            raise EditConflict("the labels of the pair were changed meanwhile: nothing was recorded")
        ruling = reviews.find_signed_verdict(s, pair)
        if ruling is not None and (ruling.label, ruling.annotator_id, "") == (label, annotator_id, note):
            return  # such as by a double click
        _check_base(ruling, base)
        reviews.add_verdict(s, pair, annotator_id, label or WITHDRAWN, note, wb.clock())
        detail = f"{label or 'opened again'}: {s.get_one(Sentence, sentence_id).text}"
        audit.record(s, wb.clock(), annotator_id, SETTLE, question.text, detail)


def _check_base(ruling: Row | None, base: int | None) -> None:
    if base is None or base == (ruling.id if ruling else 0):
        return
    state = f"settled as {ruling.label} by {ruling.name}" if ruling else "opened again"
    raise EditConflict(f"the pair was {state} meanwhile: nothing was recorded")
