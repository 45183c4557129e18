"""Questions a model proposed for sentences."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from db.models import CurrentLabel, Document, Flag, Proposal, Run, Sentence
from db.repositories.statements import add_row

WAITING, ACCEPTED, REJECTED = "waiting", "accepted", "rejected"


def add_proposal(
    session: Session, corpus_id: int, sentence_id: int, text: str, *, log_p: float, place: int, now: datetime
) -> Proposal:
    about = {"corpus_id": corpus_id, "sentence_id": sentence_id, "text": text, "log_p": log_p, "place": place}
    return add_row(session, Proposal(**about, state=WAITING, created=now))


def list_waiting(session: Session, corpus_id: int, limit: int) -> list[Row]:
    """Rows (id, text, sentence, title, place), the oldest first."""
    proposals = (
        select(Proposal.id, Proposal.text, Sentence.text.label("sentence"), Document.title, Proposal.place)
        .join(Sentence, Sentence.id == Proposal.sentence_id)
        .join(Document, Document.id == Sentence.document_id)
        .where(Proposal.corpus_id == corpus_id, Proposal.state == WAITING, ~Sentence.retired)
    )
    return list(session.execute(proposals.order_by(Proposal.id).limit(limit)))


def count_by_state(session: Session, corpus_id: int) -> dict[str, int]:
    counts = select(Proposal.state, func.count()).where(Proposal.corpus_id == corpus_id).group_by(Proposal.state)
    return {row.state: row[1] for row in session.execute(counts)}


def list_texts(session: Session, corpus_id: int) -> list[str]:
    """Of all proposals, decided ones too."""
    return list(session.scalars(select(Proposal.text).where(Proposal.corpus_id == corpus_id)))


def has_use(session: Session, question_id: int, proposal_id: int) -> bool:
    """Whether the question of a proposal is there for more than that: somebody labels or flags it or asked it, or
    another proposal became the same one."""
    uses = (
        select(CurrentLabel.id).where(CurrentLabel.question_id == question_id),
        select(Flag.id).where(Flag.question_id == question_id, Flag.cleared.is_(None)),
        select(Run.id).where(Run.question_id == question_id, Run.annotator_id.is_not(None)),
        select(Proposal.id).where(Proposal.question_id == question_id, Proposal.id != proposal_id),
    )
    return any(session.scalar(use.limit(1)) is not None for use in uses)


def find_corpus_id(session: Session, proposal_id: int) -> int | None:
    return session.scalar(select(Proposal.corpus_id).where(Proposal.id == proposal_id))


def list_untried_sentences(session: Session, corpus_id: int) -> list[Row]:
    """Rows (id, text) of sentences in use without a proposal, in the corpus's order."""
    has_proposal = select(Proposal.id).where(Proposal.sentence_id == Sentence.id).exists()
    sentences = select(Sentence.id, Sentence.text).where(
        Sentence.corpus_id == corpus_id, ~Sentence.retired, ~has_proposal
    )
    return list(session.execute(sentences.order_by(Sentence.id)))
