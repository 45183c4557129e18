"""Questions a model proposed for sentences."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from db.models import Document, Proposal, Sentence

WAITING, ACCEPTED, REJECTED = "waiting", "accepted", "rejected"


def add(
    session: Session, corpus_id: int, sentence_id: int, text: str, *, log_p: float, place: int, now: datetime
) -> Proposal:
    row = Proposal(
        corpus_id=corpus_id,
        sentence_id=sentence_id,
        text=text,
        log_p=log_p,
        place=place,
        state=WAITING,
        question_id=None,
        created=now,
    )
    session.add(row)
    session.flush()
    return row


def waiting(session: Session, corpus_id: int, limit: int) -> list[Row]:
    """Rows (id, text, place, sentence_id, sentence, title, document_id), the oldest first."""
    return list(
        session.execute(
            select(
                Proposal.id,
                Proposal.text,
                Proposal.place,
                Sentence.id.label("sentence_id"),
                Sentence.text.label("sentence"),
                Document.title,
                Document.id.label("document_id"),
            )
            .join(Sentence, Sentence.id == Proposal.sentence_id)
            .join(Document, Document.id == Sentence.document_id)
            .where(Proposal.corpus_id == corpus_id, Proposal.state == WAITING, ~Sentence.retired)
            .order_by(Proposal.id)
            .limit(limit)
        )
    )


def counts(session: Session, corpus_id: int) -> dict[str, int]:
    """State -> how many."""
    found = session.execute(
        select(Proposal.state, func.count()).where(Proposal.corpus_id == corpus_id).group_by(Proposal.state)
    )
    return {row.state: row[1] for row in found}


def texts(session: Session, corpus_id: int) -> list[str]:
    """Of all proposals, also those decided: none is made twice."""
    return list(session.scalars(select(Proposal.text).where(Proposal.corpus_id == corpus_id)))


def corpus_of(session: Session, proposal_id: int) -> int | None:
    return session.scalar(select(Proposal.corpus_id).where(Proposal.id == proposal_id))


def lock(session: Session, proposal_id: int) -> Proposal | None:
    return session.get(Proposal, proposal_id, with_for_update=True)


def untried_sentences(session: Session, corpus_id: int) -> list[Row]:
    """Rows (id, text) of present sentences that no proposal was made for, in the corpus's order."""
    tried = select(Proposal.id).where(Proposal.sentence_id == Sentence.id).exists()
    return list(
        session.execute(
            select(Sentence.id, Sentence.text)
            .where(Sentence.corpus_id == corpus_id, ~Sentence.retired, ~tried)
            .order_by(Sentence.id)
        )
    )
