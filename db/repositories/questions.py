"""Questions, and which of them are to be ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, and_, false, func, or_, select
from sqlalchemy.orm import Session, aliased

from as2core.types import CORRECT
from db.models import ASKED, Annotator, Candidate, Corpus, CurrentLabel, ModelVersion, Question, Run, Sentence, text_key
from db.repositories.pairs import Pair
from db.repositories.statements import add_row, split_batches

IMPORTED, LISTED, PROPOSED = "imported", "listed", "proposed"
NON_TRAINING_SPLITS = ("test", "dev")  # splits of questions that no retrain learns from
WRITTEN_HERE = (ASKED, LISTED)  # origins of questions that came without a sentence


def add_question(
    session: Session, corpus_id: int, text: str, *, external_id: str, origin: str, now: datetime
) -> Question:
    question = Question(corpus_id=corpus_id, text=text, external_id=external_id, origin=origin, created=now)
    return add_row(session, question)


def find_questions(session: Session, corpus_id: int, external_ids: Sequence[str]) -> dict[str, Question]:
    """External id -> question, of those that are stored."""
    query = select(Question).where(Question.corpus_id == corpus_id, Question.external_id.in_(external_ids))
    return {q.external_id: q for q in session.scalars(query)}


def find_question(session: Session, corpus_id: int, text: str) -> Question | None:
    """The first question of that wording, white space aside."""
    same_text = select(Question).where(Question.corpus_id == corpus_id, Question.text_key == text_key(text))
    return session.scalar(same_text.order_by(Question.id).limit(1))


def find_questions_by_text(session: Session, corpus_id: int, texts: Iterable[str]) -> list[Question]:
    """Those of these wordings, white space aside, in the order of their ids."""
    of_corpus = select(Question).where(Question.corpus_id == corpus_id)
    batches = split_batches(map(text_key, texts))
    rows = [q for keys in batches for q in session.scalars(of_corpus.where(Question.text_key.in_(keys)))]
    return sorted(rows, key=lambda q: q.id)


def list_texts(session: Session, corpus_id: int) -> list[str]:
    """Of all questions, the oldest first."""
    return list(session.scalars(select(Question.text).where(Question.corpus_id == corpus_id).order_by(Question.id)))


def list_questions(session: Session, corpus_id: int) -> list[Question]:
    return list(session.scalars(select(Question).where(Question.corpus_id == corpus_id).order_by(Question.id)))


def is_offered(only: Collection[int]) -> SQLColumnExpression[bool]:
    """Whether a question is for the queues: one of `only` if any are given, else any of theirs."""
    return Question.id.in_(only) if only else Question.queued


def list_unranked_questions(
    session: Session,
    corpus_id: int,
    version_id: int,
    limit: int | None,
    *,
    only: Collection[int] = (),
    but: Select | None = None,
    busy: Collection[int] = (),
    order: Sequence[SQLColumnExpression] = (),
) -> list[Question]:
    """Those that are not `is_ranked_by` this version, or are `is_outdated`: of the queues, or of `only` if any are
    given, without those whose ids `but` selects and those that are `busy`. By default first those that a retrain may
    learn from, newest first, then the others."""
    needs_ranking = or_(~is_ranked_by(version_id), is_outdated(find_search_change(session, corpus_id)))
    unranked = select(Question).where(Question.corpus_id == corpus_id, is_offered(only), needs_ranking)
    if but is not None:
        unranked = unranked.where(Question.id.not_in(but))
    if busy:
        unranked = unranked.where(Question.id.not_in(busy))
    newest_first = Question.split.in_(NON_TRAINING_SPLITS), Question.id.desc()
    return list(session.scalars(unranked.order_by(*order or newest_first).limit(limit)))


def list_outdated_questions(session: Session, corpus_id: int, only: Collection[int] = ()) -> list[int]:
    """Ids of those that are `is_outdated`, of the queues, or of `only` if any are given; newest first."""
    changed = find_search_change(session, corpus_id)
    ids = select(Question.id).where(Question.corpus_id == corpus_id, is_offered(only), is_outdated(changed))
    return list(session.scalars(ids.order_by(Question.id.desc())))


def find_search_change(session: Session, corpus_id: int) -> datetime | None:
    """When what a search of the corpus finds last changed."""
    return session.scalar(select(Corpus.search_changed).where(Corpus.id == corpus_id))


def is_outdated(changed: datetime | None) -> ColumnElement[bool]:
    """Whether the question's last run is older than this change of what a search finds, and no person has labelled a
    candidate of it that is still in its document: who has begun a list goes on with the list that they began."""
    if changed is None:
        return false()
    last = select(func.max(Run.created)).where(Run.question_id == Question.id).correlate(Question).scalar_subquery()
    labels = select(CurrentLabel.id).join(Annotator).join(Sentence, Sentence.id == CurrentLabel.sentence_id)
    by_people = labels.where(CurrentLabel.question_id == Question.id, ~Annotator.imported, ~Sentence.retired)
    return and_(last < changed, ~by_people.exists())


def is_run_of(version_id: int) -> ColumnElement[bool]:
    """Whether a run is by this version with its present weights; an update of the program replaces a shipped one's."""
    since = select(ModelVersion.created).where(ModelVersion.id == version_id).scalar_subquery()
    return and_(Run.version_id == version_id, Run.created >= since)


def is_ranked_by(version_id: int) -> ColumnElement[bool]:
    """Whether the question's last run is this version's, or all its ranked candidates were last ranked by it."""
    newest = aliased(Run, name="newest")
    last = select(func.max(newest.id)).where(newest.question_id == Question.id).correlate(Question).scalar_subquery()
    ran_last = select(Run.id).where(is_run_of(version_id), Run.id == last).exists()
    by_it, by_others = _candidates_by_run(is_run_of(version_id)), _candidates_by_run(~is_run_of(version_id))
    return or_(ran_last, and_(by_it.exists(), ~by_others.exists()))


def _candidates_by_run(which: ColumnElement[bool]) -> Select:
    """The question's candidates whose newest run is one of these."""
    return select(Candidate.id).join(Run, Run.id == Candidate.run_id).where(Candidate.question_id == Question.id, which)


def list_questions_without_cuts(session: Session, corpus_id: int, version_id: int) -> list[int]:
    """Ids of questions of the queues, ranked by this version, where no candidate has its nearest cut stored, newest
    first."""
    of_it = is_run_of(version_id)
    has_cuts = _candidates_by_run(and_(of_it, Candidate.cut_margin.is_not(None))).exists()
    queued = select(Question.id).where(Question.corpus_id == corpus_id, Question.queued)
    without = queued.where(_candidates_by_run(of_it).exists(), ~has_cuts)
    return list(session.scalars(without.order_by(Question.id.desc())))


def find_corpus_of_pair(session: Session, pair: Pair) -> tuple[Corpus, bool] | None:
    """The corpus that both the question and the sentence belong to, and whether the sentence left its document."""
    question_id, sentence_id = pair
    of_both = select(Corpus, Sentence.retired).join(Question).join(Sentence, Sentence.corpus_id == Corpus.id)
    row = session.execute(of_both.where(Question.id == question_id, Sentence.id == sentence_id)).first()
    return None if row is None else (row[0], row[1])


def list_answered_questions(session: Session, corpus_id: int, limit: int) -> list[Question]:
    """Questions with a sentence that somebody labels correct at present."""
    correct = select(CurrentLabel.id).where(CurrentLabel.question_id == Question.id, CurrentLabel.label == CORRECT)
    query = select(Question).where(Question.corpus_id == corpus_id, correct.exists())
    return list(session.scalars(query.order_by(Question.id).limit(limit)))
