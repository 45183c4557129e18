"""Who is looking at a pair, until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, or_, select
from sqlalchemy.orm import Session

from db.models import Lease, Question
from db.repositories.pairs import Pair, Table, is_on, is_same_pair
from db.repositories.statements import upsert_into


@dataclass(frozen=True, slots=True)
class Holder:
    """One annotator at one desk: two sessions under the same name are two holders."""

    annotator_id: int
    desk: str = ""


def belongs_to(who: Holder) -> ColumnElement[bool]:
    return and_(Lease.annotator_id == who.annotator_id, Lease.holder == who.desk)


def is_leased(table: Table, who: Holder, now: datetime) -> ColumnElement[bool]:
    """Whether the table's pair is leased to somebody else, or to another desk of theirs."""
    leases = select(Lease.token).where(is_same_pair(Lease, table), ~belongs_to(who), Lease.expires > now)
    return leases.exists()


def find_lease(session: Session, corpus_id: int, who: Holder, queue: str, now: datetime) -> Lease | None:
    """What they were last given from this queue, if the lease is alive."""
    where = (Question.corpus_id == corpus_id, belongs_to(who), Lease.queue == queue, Lease.expires > now)
    return session.scalar(select(Lease).join(Question).where(*where).order_by(Lease.expires.desc()).limit(1))


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
    values = {"annotator_id": who.annotator_id, "holder": who.desk, "queue": queue, "token": token}
    values |= {"expires": expires, "control": control}
    statement = upsert_into(session, Lease).values(question_id=pair[0], sentence_id=pair[1], **values)
    statement = statement.on_conflict_do_update(
        index_elements=[Lease.question_id, Lease.sentence_id],
        set_=values,
        where=or_(belongs_to(who), Lease.expires <= now),
    )
    return session.scalar(statement.returning(Lease.token)) is not None


def release(session: Session, pair: Pair, annotator_id: int) -> None:
    """Give a pair back, whichever desk of theirs holds it."""
    session.execute(delete(Lease).where(is_on(Lease, pair), Lease.annotator_id == annotator_id))


def release_all(session: Session, corpus_id: int, who: Holder, queue: str, but: Pair | None = None) -> None:
    """Give back what the desk was given from a queue or holds to show it again, except the pair in front of it. What it
    was given from other queues stays: a browser's tabs are one desk."""
    of_corpus = select(Question.id).where(Question.corpus_id == corpus_id)
    where = [belongs_to(who), Lease.queue.in_((queue, "")), Lease.question_id.in_(of_corpus)]
    if but is not None:
        where.append(~is_on(Lease, but))
    session.execute(delete(Lease).where(*where))
