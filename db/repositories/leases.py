"""Who is looking at a pair, until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, or_, select
from sqlalchemy.orm import Session

from db.models import Lease, Question
from db.repositories.pairs import Pair, is_on
from db.repositories.questions import upsert_into


@dataclass(frozen=True, slots=True)
class Holder:
    """One annotator at one desk: two sessions under the same name are two holders."""

    annotator_id: int
    desk: str = ""


def belongs_to(who: Holder) -> ColumnElement[bool]:
    return and_(Lease.annotator_id == who.annotator_id, Lease.holder == who.desk)


def find_lease(session: Session, corpus_id: int, who: Holder, queue: str, now: datetime) -> Lease | None:
    """What they were last given from this queue, if the lease is alive."""
    return session.scalar(
        select(Lease)
        .join(Question, Question.id == Lease.question_id)
        .where(Question.corpus_id == corpus_id, belongs_to(who), Lease.queue == queue, Lease.expires > now)
        .order_by(Lease.expires.desc())
        .limit(1)
    )


def acquire(
    session: Session,
    pair: Pair,
    who: Holder,
    *,
    queue: str,
    token: str,
    expires: datetime,
    now: datetime,
    control: bool = False,
) -> bool:
    """Take or renew a pair; False if somebody else holds it."""
    values = {
        "annotator_id": who.annotator_id,
        "holder": who.desk,
        "queue": queue,
        "token": token,
        "expires": expires,
        "control": control,
    }
    statement = upsert_into(session, Lease).values(question_id=pair[0], sentence_id=pair[1], **values)
    statement = statement.on_conflict_do_update(
        index_elements=[Lease.question_id, Lease.sentence_id],
        set_=values,
        where=or_(belongs_to(who), Lease.expires <= now),
    )
    return session.scalar(statement.returning(Lease.token)) is not None


def release(session: Session, question_id: int, sentence_ids: Sequence[int], annotator_id: int) -> None:
    """Give pairs of a question back, whichever desk of theirs holds them."""
    session.execute(
        delete(Lease).where(
            Lease.question_id == question_id, Lease.sentence_id.in_(sentence_ids), Lease.annotator_id == annotator_id
        )
    )


def release_all(session: Session, corpus_id: int, who: Holder, queue: str, but: Pair | None = None) -> None:
    """Give back what the desk was given from a queue or holds to show it again, except the pair in front of it. What it
    was given from other queues stays: a browser's tabs are one desk."""
    of_corpus = select(Question.id).where(Question.corpus_id == corpus_id)
    where = [belongs_to(who), Lease.queue.in_((queue, "")), Lease.question_id.in_(of_corpus)]
    if but is not None:
        where.append(~is_on(Lease, but))
    session.execute(delete(Lease).where(*where))
