"""The handbook's prepared labels: the correct sentences of its train questions, shipped and not given yet. Whoever
tries a retrain accepts some of them, signed by the annotator "starter" and by nobody here.
"""

from dataclasses import dataclass
from hashlib import blake2b

from app.corpora.corpora import HANDBOOK, name_corpus
from app.exchange.starter import ShippedState, drop_labels, find_state, load_shipped_questions, store_shipped
from app.workbench import people
from app.workbench.workbench import Workbench
from as2core.types import CORRECT, Question
from db.repositories import labels as label_rows

SPLIT = "train"


@dataclass(frozen=True, slots=True)
class PreparedLabels:
    """Of `total` train questions `remaining` have no sentence labelled correct, and a prepared one that nobody labelled
    correct or incorrect."""

    total: int
    remaining: int


def count_prepared(wb: Workbench, corpus_id: int) -> PreparedLabels | None:
    """None for a corpus that is not the shipped handbook."""
    questions = _load_train(wb, corpus_id)
    return PreparedLabels(len(questions), len(_select_open(wb, corpus_id, questions))) if questions else None


def accept_prepared(wb: Workbench, corpus_id: int, questions: int, *, by: int | None = None) -> int:
    """Label the correct sentences of so many of the questions that remain, of all documents in turn; returns how many
    pairs are correct by that. A person's label of a sentence stays, and counts. Raises NotAllowed for a viewer,
    UnknownCorpus."""
    with wb.read() as s:
        people.allow(s, by, "accept prepared labels")
    sample = _select_open(wb, corpus_id, _load_train(wb, corpus_id))[:questions]
    answers = [drop_labels(q, keep=1) for q in sample]
    before = _count_correct(wb, corpus_id)
    store_shipped(wb, corpus_id, answers, origin=HANDBOOK, split=SPLIT)
    return _count_correct(wb, corpus_id) - before


def _count_correct(wb: Workbench, corpus_id: int) -> int:
    with wb.read() as s:
        return label_rows.count_outcomes(s, corpus_id)[0].get(CORRECT, 0)


def _load_train(wb: Workbench, corpus_id: int) -> list[Question]:
    is_handbook = name_corpus(wb, corpus_id) == HANDBOOK and find_state(wb, HANDBOOK) is ShippedState.READY
    return load_shipped_questions(wb, HANDBOOK, SPLIT) if is_handbook else []


def _select_open(wb: Workbench, corpus_id: int, questions: list[Question]) -> list[Question]:
    """Those that remain, in an order that mixes the documents and is the same in every home."""
    with wb.read() as s:
        done = {r.external_id for r in label_rows.count_outcomes_by_question(s, corpus_id, ["test"]) if r.correct}
        decisions = {tuple(row) for row in label_rows.list_decided_sentences(s, corpus_id, SPLIT)}
    is_open = {q.qid: any((q.qid, c.text) not in decisions for c in q.candidates if c.label) for q in questions}
    return sorted((q for q in questions if q.qid not in done and is_open[q.qid]), key=_hash)


def _hash(question: Question) -> bytes:
    return blake2b(question.qid.encode(), digest_size=8).digest()
