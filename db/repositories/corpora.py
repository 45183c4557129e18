"""Corpora: what each of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from sqlalchemy import BindParameter, Row, Select, bindparam, func, select, update
from sqlalchemy.orm import Session

from db.models import Corpus, CurrentLabel, Document, Question
from db.repositories.documents import is_present
from db.repositories.statements import add_row, split_batches


def add_corpus(session: Session, name: str, now: datetime) -> Corpus:
    return add_row(session, Corpus(name=name, created=now))


def lock_corpus(session: Session, corpus_id: int) -> bool:
    """Lock the corpus for this transaction, so that two writers take turns; False if there is none."""
    return session.get(Corpus, corpus_id, with_for_update=True) is not None


def list_corpora(session: Session) -> list[Corpus]:
    """In the order they were created."""
    return list(session.scalars(select(Corpus).order_by(Corpus.id)))


def list_automatic_corpora(session: Session) -> list[Corpus]:
    """Those with automatic retraining."""
    return [corpus for corpus in list_corpora(session) if corpus.automatic]


def find_corpus(session: Session, name: str) -> Corpus | None:
    return session.scalar(select(Corpus).where(Corpus.name == name))


def count_contents(session: Session, corpus_ids: Sequence[int]) -> dict[int, Row]:
    """Corpus -> (id, documents, sentences, changed, questions, newest_question): of the documents, when one was last
    added or changed; of the questions, the newest id, 0 without one."""
    batches = split_batches(corpus_ids)
    return {row.id: row for ids in batches for row in session.execute(_select_contents(), {"ids": ids})}


@cache
def _select_contents() -> Select:
    """Of the corpora `ids`. Made once: every page asks for it, and to make it takes longer than to run it."""
    ids: BindParameter = bindparam("ids", expanding=True)
    of_documents = select(
        Document.corpus_id,
        func.count().label("documents"),
        func.sum(Document.sentences).label("sentences"),
        func.max(Document.updated).label("changed"),
    )
    of_questions = select(
        Question.corpus_id,
        func.count().label("questions"),
        func.max(Question.id).label("newest_question"),
    )
    documents = of_documents.where(is_present(ids)).group_by(Document.corpus_id).subquery()
    questions = of_questions.where(Question.corpus_id.in_(ids)).group_by(Question.corpus_id).subquery()
    numbers = (documents.c.documents, documents.c.sentences, questions.c.questions, questions.c.newest_question)
    contents = select(Corpus.id, documents.c.changed, *(func.coalesce(n, 0).label(n.name) for n in numbers))
    with_documents = contents.outerjoin(documents, documents.c.corpus_id == Corpus.id)
    with_questions = with_documents.outerjoin(questions, questions.c.corpus_id == Corpus.id)
    return with_questions.where(Corpus.id.in_(ids))


def count_labels(session: Session, corpus_id: int) -> int:
    """The pairs of question and sentence that anyone labels at present. It reads every label: some 0.1 s for 17,000."""
    pairs = select(CurrentLabel.question_id, CurrentLabel.sentence_id).join(Question).distinct()
    labels = select(func.count()).select_from(pairs.where(Question.corpus_id == corpus_id).subquery())
    return session.scalar(labels) or 0


def note_search_change(session: Session, corpus_id: int, now: datetime) -> None:
    """What a search of the corpus finds changes now: lists ranked before are out of date."""
    session.execute(update(Corpus).where(Corpus.id == corpus_id).values(search_changed=now))
