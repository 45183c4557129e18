"""Annotators, label events and the state they add up to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, insert, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from as2core.types import CORRECT, INCORRECT
from db.models import (
    WITHDRAWN,
    Annotator,
    Candidate,
    Corpus,
    CurrentLabel,
    LabelEvent,
    Question,
    Run,
    Score,
    Sentence,
    Verdict,
)
from db.repositories.outcomes import name_outcome, sum_votes
from db.repositories.pairs import Pair, Table, is_on, is_same_pair
from db.repositories.questions import IMPORTED, NON_TRAINING_SPLITS, is_run_of
from db.repositories.statements import add_row, split_batches

BY_ADMIN = "admin"  # in place of a queue: an admin withdrew or moved it. Older databases have IMPORTED there
HANDED_OVER = "handed over"  # likewise: the label is somebody else's now; `act` is their id
# The columns of an event that say what was on the screen.
PRESENTATION = tuple("shown_version shown_rank scores_visible queue control arm model_says guideline chance".split())


def find_newest_event(
    session: Session, question_id: int, sentence_id: int, annotator_id: int, *, before: int | None = None
) -> LabelEvent | None:
    """The last event on a pair by an annotator, or the last before event `before`."""
    where = [is_on(LabelEvent, (question_id, sentence_id)), LabelEvent.annotator_id == annotator_id]
    if before is not None:
        where.append(LabelEvent.id < before)
    return session.scalar(select(LabelEvent).where(*where).order_by(LabelEvent.id.desc()).limit(1))


def has_admin_withdrawn(session: Session, event: LabelEvent) -> bool:
    """Whether an admin withdrew, after this event, what its annotator had given the pair; whatever came after that."""
    of_same = (is_on(LabelEvent, (event.question_id, event.sentence_id)), LabelEvent.annotator_id == event.annotator_id)
    queues = (BY_ADMIN, HANDED_OVER, IMPORTED)  # no import withdraws
    by_admin = (LabelEvent.label == WITHDRAWN, LabelEvent.queue.in_(queues))
    later = select(LabelEvent.id).where(*of_same, *by_admin, LabelEvent.id > event.id)
    return session.scalar(later.limit(1)) is not None


def add_event(
    session: Session,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    label: str,
    now: datetime,
    columns: Mapping[str, object] | None = None,
) -> LabelEvent:
    """`columns`: `undoes`, `act` and those of `PRESENTATION`, all of which have defaults."""
    event = {"question_id": question_id, "sentence_id": sentence_id, "annotator_id": annotator_id, "label": label}
    return add_row(session, LabelEvent(**event, created=now, **(columns or {})))


def copy_presentation(event: LabelEvent | Row) -> dict[str, object]:
    """What was on the screen, as `add_event` takes it."""
    return {name: getattr(event, name) for name in PRESENTATION}


def add_events(session: Session, values: Sequence[Mapping[str, object]]) -> None:
    """Bulk insert: dicts with question_id, sentence_id, annotator_id, label and created; `queue` is IMPORTED unless it
    is given."""
    if values:
        session.execute(insert(LabelEvent), [{"queue": IMPORTED, **v} for v in values])


def _acts(annotator_id: int, corpus_id: int) -> Select:
    """The annotator's events in the corpus that neither are an undo nor were undone, newest first; no imported ones,
    which nobody did here, and none of an admin's."""
    undo = aliased(LabelEvent)
    return (
        select(LabelEvent)
        .join(Question)
        .outerjoin(undo, undo.undoes == LabelEvent.id)
        .where(
            LabelEvent.annotator_id == annotator_id,
            Question.corpus_id == corpus_id,
            LabelEvent.undoes.is_(None),
            LabelEvent.queue.not_in((IMPORTED, BY_ADMIN, HANDED_OVER)),
            undo.id.is_(None),
        )
        .order_by(LabelEvent.id.desc())
    )


def find_last_act(session: Session, annotator_id: int, corpus_id: int) -> list[LabelEvent]:
    """The events of the annotator's newest act in the corpus that was not undone, newest first."""
    newest = session.scalar(_acts(annotator_id, corpus_id).limit(1))
    if newest is None or not newest.act:
        return [] if newest is None else [newest]
    return list(session.scalars(_acts(annotator_id, corpus_id).where(LabelEvent.act == newest.act)))


def list_acts_on(
    session: Session, question_id: int, sentence_id: int, annotator_id: int, corpus_id: int
) -> list[LabelEvent]:
    """The events on a pair that the annotator could still undo, newest first."""
    return list(session.scalars(_acts(annotator_id, corpus_id).where(is_on(LabelEvent, (question_id, sentence_id)))))


def list_recent_acts(
    session: Session, annotator_id: int, corpus_id: int, limit: int, *, before: int | None = None
) -> list[Row]:
    """What `find_last_act` would give, again and again: rows (LabelEvent, question, sentence text) of the newest
    `limit` events, or of the newest before event `before`, newest first."""
    acts = _acts(annotator_id, corpus_id).add_columns(Question.text.label("question"), Sentence.text.label("sentence"))
    if before is not None:
        acts = acts.where(LabelEvent.id < before)
    return list(session.execute(acts.join(Sentence, Sentence.id == LabelEvent.sentence_id).limit(limit)))


def select_labels(*columns: ColumnElement | InstrumentedAttribute) -> Select:
    """Current labels, oldest first: rows (question_id, sentence_id, annotator_id, annotator, imported, label) and more
    columns, with their questions and annotators joined."""
    pair_and_label = (getattr(CurrentLabel, name) for name in ("question_id", "sentence_id", "annotator_id", "label"))
    return (
        select(*pair_and_label, Annotator.name.label("annotator"), Annotator.imported, *columns)
        .select_from(CurrentLabel)
        .join(Annotator)
        .join(Question, Question.id == CurrentLabel.question_id)
        .order_by(CurrentLabel.id)
    )


def list_labels_of_pair(session: Session, question_id: int, sentence_id: int) -> list[Row]:
    """The people's current labels of one pair, as `select_labels` gives them."""
    of_pair = is_on(CurrentLabel, (question_id, sentence_id))
    return list(session.execute(select_labels().where(of_pair, Annotator.imported.is_(False))))


def list_labels_of_questions(session: Session, question_ids: Sequence[int]) -> list[Row]:
    """As `select_labels` gives them; of one question, oldest first."""
    batches = split_batches(question_ids)
    return [r for ids in batches for r in session.execute(select_labels().where(CurrentLabel.question_id.in_(ids)))]


def find_newest_event_id(session: Session) -> int:
    """Of all corpora; 0 without one."""
    return session.scalar(select(func.max(LabelEvent.id))) or 0


def find_newest_event_ids(session: Session, event_id: int) -> dict[int, int]:
    """Corpus -> the newest event of its labels, of those in which a label was given or taken back after that event."""
    corpus = select(Question.corpus_id).where(Question.id == LabelEvent.question_id).scalar_subquery()
    newest = select(corpus.label("corpus_id"), func.max(LabelEvent.id).label("newest")).where(LabelEvent.id > event_id)
    return {row.corpus_id: row.newest for row in session.execute(newest.group_by("corpus_id"))}


def has_events_since(session: Session, corpus_id: int, event_id: int) -> bool:
    """Whether a label of the corpus was given or taken back after that event."""
    return _has_newer(session, LabelEvent, corpus_id, event_id)


def has_verdicts_since(session: Session, corpus_id: int, verdict_id: int) -> bool:
    """Whether a conflict of the corpus was settled or opened again after that verdict."""
    return _has_newer(session, Verdict, corpus_id, verdict_id)


def _has_newer(session: Session, table: type[LabelEvent] | type[Verdict], corpus_id: int, row_id: int) -> bool:
    """The question of each newer row is looked up: SQLite would begin a join with all questions of the corpus."""
    question = select(Question.id).where(Question.id == table.question_id, Question.corpus_id == corpus_id)
    return bool(session.scalar(select(select(table.id).where(table.id > row_id, question.exists()).exists())))


def mark_corpus(session: Session, corpus_id: int) -> tuple[tuple[int, int], tuple[object, ...]]:
    """The newest event and the newest verdict of all corpora, 0 without one; and a value that changes whenever the
    corpus has other questions, by split, or other sentences. One statement: pages ask for it with every run."""
    newest = [func.coalesce(select(func.max(c)).scalar_subquery(), 0) for c in (LabelEvent.id, Verdict.id)]
    splits = select(*newest, Corpus.search_changed, Question.split, func.count(Question.id), func.max(Question.id))
    splits = splits.select_from(Corpus).outerjoin(Question, Question.corpus_id == Corpus.id)
    splits = splits.where(Corpus.id == corpus_id).group_by(Corpus.search_changed, Question.split)
    marks = sorted(tuple(row) for row in session.execute(splits))
    return (marks[0][0], marks[0][1]) if marks else (0, 0), tuple(mark[2:] for mark in marks)


def list_questions_labelled_since(session: Session, corpus_id: int, event_id: int) -> list[Row]:
    """Rows (id, text) of the corpus's questions that a person labelled after that event, whatever became of the label,
    in the order of their ids."""
    by_people = select(LabelEvent.question_id).join(Annotator).where(Annotator.imported.is_(False))
    ids = by_people.where(LabelEvent.id > event_id).distinct()
    questions = select(Question.id, Question.text).where(Question.corpus_id == corpus_id, Question.id.in_(ids))
    return list(session.execute(questions.order_by(Question.id)))


def list_labels_of_corpus(session: Session, corpus_id: int) -> list[Row]:
    """As `select_labels` gives them."""
    return list(session.execute(select_labels().where(Question.corpus_id == corpus_id)))


def list_decided_sentences(session: Session, corpus_id: int, split: str) -> list[Row]:
    """Rows (external_id, text) of the questions of a split, with each sentence that somebody labelled correct or
    incorrect for it."""
    labels = select_labels().with_only_columns(Question.external_id, Sentence.text).order_by(None).distinct()
    of_split = (Question.corpus_id == corpus_id, Question.split == split)
    decided = labels.join(Sentence).where(*of_split, CurrentLabel.label.in_((CORRECT, INCORRECT)))
    return list(session.execute(decided))


def list_labels_with_verdicts(session: Session, corpus_id: int) -> list[Row]:
    """As `select_labels`, with (created, verdict); `verdict` is None where the pair has none."""
    labels = select_labels(CurrentLabel.created, verdict_on(CurrentLabel).label("verdict"))
    return list(session.execute(labels.where(Question.corpus_id == corpus_id)))


def find_labels_by(session: Session, annotator_id: int, question_ids: Sequence[int]) -> dict[Pair, str]:
    """Pair -> one annotator's current label."""
    own = select_labels().order_by(None).where(CurrentLabel.annotator_id == annotator_id)
    batches = split_batches(question_ids)
    rows = (r for ids in batches for r in session.execute(own.where(CurrentLabel.question_id.in_(ids))))
    return {(r.question_id, r.sentence_id): r.label for r in rows}


def list_labels_by(session: Session, annotator_id: int) -> list[Row]:
    """One annotator's current labels in all corpora, as `select_labels`, with (created, corpus_id) and the columns of
    `PRESENTATION`."""
    columns = (getattr(LabelEvent, name) for name in PRESENTATION)
    labels = select_labels(CurrentLabel.created, Question.corpus_id, *columns)
    labels = labels.join(LabelEvent, CurrentLabel.id == LabelEvent.id)
    return list(session.execute(labels.where(CurrentLabel.annotator_id == annotator_id)))


def count_labels_by(session: Session, annotator_id: int) -> int:
    """How many `list_labels_by` has."""
    labels = select_labels(CurrentLabel.id).where(CurrentLabel.annotator_id == annotator_id)
    return session.scalar(select(func.count()).select_from(labels.subquery())) or 0


def find_heir(session: Session, annotator_id: int) -> Annotator:
    """Whose an annotator's labels are: their own, or those of whoever they were handed over to last, if they gave none
    since."""
    givers: set[int] = set()
    while annotator_id not in givers:
        givers.add(annotator_id)
        events = select(LabelEvent.queue, LabelEvent.act).where(LabelEvent.annotator_id == annotator_id)
        newest = session.execute(events.order_by(LabelEvent.id.desc()).limit(1)).first()
        if newest is not None and newest.queue == HANDED_OVER:
            annotator_id = int(newest.act)
    return session.get_one(Annotator, annotator_id)


def find_random_pairs(session: Session, annotator_id: int, samples: Collection[str]) -> set[Pair]:
    """What chance drew for an annotator, whatever became of the label since. `samples`: queues that draw all at
    random."""
    is_random = or_(LabelEvent.queue.in_(samples), LabelEvent.control)
    where = (LabelEvent.annotator_id == annotator_id, LabelEvent.undoes.is_(None), is_random)
    return {
        (r.question_id, r.sentence_id)
        for r in session.execute(select(LabelEvent.question_id, LabelEvent.sentence_id).where(*where))
    }


def list_labels_with_arm(session: Session, corpus_id: int) -> list[Row]:
    """Current labels of people given where chance decided on the scores, and the model had an opinion: as
    `select_labels`, with (arm, model_says)."""
    labels = select_labels(LabelEvent.arm, LabelEvent.model_says).join(LabelEvent, CurrentLabel.id == LabelEvent.id)
    where = (Question.corpus_id == corpus_id, LabelEvent.arm != "", LabelEvent.model_says.is_not(None))
    return list(session.execute(labels.where(*where)))


def list_assigned_labels(session: Session, corpus_id: int, queues: Sequence[str]) -> list[Row]:
    """Current labels of people, with every event of theirs on the pair that came from one of these queues, or was drawn
    at random for whoever handed the label over: as `select_labels`, with (queue, control), oldest event first."""
    same = and_(is_same_pair(LabelEvent, CurrentLabel), LabelEvent.annotator_id == CurrentLabel.annotator_id)
    labels = select_labels(LabelEvent.queue, LabelEvent.control).join(LabelEvent, same).order_by(None)
    is_assigned = or_(LabelEvent.queue.in_(queues), LabelEvent.control)
    where = (Question.corpus_id == corpus_id, is_assigned, LabelEvent.undoes.is_(None))
    return list(session.execute(labels.where(*where).order_by(LabelEvent.id)))


def verdict_stands() -> ColumnElement[bool]:
    """Whether a verdict is the newest on its pair, and not withdrawn."""
    later = aliased(Verdict, name="later")
    newest_id = select(func.max(later.id)).where(is_same_pair(later, Verdict)).correlate(Verdict).scalar_subquery()
    return and_(Verdict.id == newest_id, Verdict.label != WITHDRAWN)  # IN would walk all verdicts for each label


def verdict_on(table: Table) -> ColumnElement[str]:
    """The verdict in force on the table's pair, NULL if there is none. Looked up pair by pair: PostgreSQL would join
    labels and verdicts by comparing each with each."""
    of_pair = select(Verdict.label).where(is_same_pair(Verdict, table)).correlate_except(Verdict)
    return func.nullif(of_pair.order_by(Verdict.id.desc()).limit(1).scalar_subquery(), WITHDRAWN)


def find_verdicts(
    session: Session, *, corpus_id: int | None = None, question_ids: Sequence[int] = ()
) -> dict[Pair, str]:
    """Pair -> how the conflict on it was settled, of a corpus or of questions. Of pairs that still carry a label: when
    all are withdrawn, there is nothing that a verdict is about."""
    has_label = select(CurrentLabel.id).where(is_same_pair(CurrentLabel, Verdict)).exists()
    standing = select(Verdict).join(Question).where(verdict_stands(), has_label)
    parts = [Question.corpus_id == corpus_id]
    if corpus_id is None:
        parts = [Question.id.in_(ids) for ids in split_batches(question_ids)]
    return {(v.question_id, v.sentence_id): v.label for part in parts for v in session.scalars(standing.where(part))}


def count_outcomes(session: Session, corpus_id: int) -> tuple[dict[str, int], int]:
    """How many pairs come to "correct", "incorrect", "unsure" and "disputed", and how many questions have a label."""
    outcomes = _select_outcomes(corpus_id)
    counts = {
        row[0]: row[1] for row in session.execute(select(outcomes.outcome, func.count()).group_by(outcomes.outcome))
    }
    of_corpus = select_labels().order_by(None).where(Question.corpus_id == corpus_id)
    questions = of_corpus.with_only_columns(func.count(func.distinct(CurrentLabel.question_id)))
    return counts, session.scalar(questions) or 0


def count_outcomes_by_question(session: Session, corpus_id: int, but_splits: Collection[str]) -> list[Row]:
    """Rows (external_id, correct, incorrect) of every question of the corpus with a label, but those of these splits:
    how many of its pairs come to each."""
    outcomes = _select_outcomes(corpus_id)
    kinds = (func.sum(case((outcomes.outcome == kind, 1), else_=0)).label(kind) for kind in (CORRECT, INCORRECT))
    questions = select(Question.external_id, *kinds).join(Question, Question.id == outcomes.question_id)
    by_question = questions.where(Question.split.not_in(but_splits)).group_by(
        outcomes.question_id, Question.external_id
    )
    return list(session.execute(by_question))


def list_labels_in_documents(session: Session, question_id: int) -> list[Row]:
    """As `select_labels` gives them, those on sentences that are still in their documents."""
    of_question = select_labels().where(CurrentLabel.question_id == question_id)
    in_use = select(Sentence.id).where(Sentence.id == CurrentLabel.sentence_id, Sentence.retired.is_(False))
    return list(session.execute(of_question.where(in_use.exists())))


def list_one_sided_questions(session: Session, corpus_id: int, kind: str) -> list[int]:
    """Ids of the queues' questions that a retrain may learn from, with a pair that comes to `kind`, which is correct or
    incorrect, and none that comes to the other."""
    outcomes = _select_outcomes(corpus_id)
    correct, incorrect = (func.sum(case((outcomes.outcome == kind, 1), else_=0)) for kind in (CORRECT, INCORRECT))
    questions = select(outcomes.question_id).join(Question, Question.id == outcomes.question_id)
    questions = questions.where(Question.queued, Question.split.not_in(NON_TRAINING_SPLITS))
    present, absent = (correct, incorrect) if kind == CORRECT else (incorrect, correct)
    return list(session.scalars(questions.group_by(outcomes.question_id).having(absent == 0, present > 0)))


def list_correct_pairs(session: Session, corpus_id: int, but_splits: Collection[str]) -> list[Row]:
    """Rows (question_id, question, sentence_id) of the pairs that come to "correct", but those of these splits."""
    outcomes = _select_outcomes(corpus_id)
    pairs = select(outcomes.question_id, Question.text.label("question"), outcomes.sentence_id)
    correct = pairs.join(Question, Question.id == outcomes.question_id).where(outcomes.outcome == CORRECT)
    in_order = correct.order_by(outcomes.question_id, outcomes.sentence_id)
    return list(session.execute(in_order.where(Question.split.not_in(but_splits))))


def count_first_answers(session: Session, corpus_id: int, version_id: int) -> tuple[int, int]:
    """On how many questions this version ranked sentences that come to "correct", and on how many of them it ranked one
    of these first."""
    outcomes = _select_outcomes(corpus_id)
    is_final = and_(Score.candidate_id == Candidate.id, Score.version_id == version_id, Score.exit == Run.last_exit)
    first = case((Score.rank == 1, Candidate.question_id))
    statement = (
        select(func.count(func.distinct(Candidate.question_id)), func.count(func.distinct(first)))
        .join(outcomes.outcome.table, is_on(Candidate, (outcomes.question_id, outcomes.sentence_id)))
        .join(Run, Run.id == Candidate.run_id)
        .outerjoin(Score, is_final)
        .where(outcomes.outcome == CORRECT, is_run_of(version_id))
    )
    ranked_count, answer_count = session.execute(statement).one()
    return ranked_count, answer_count


def _select_outcomes(corpus_id: int) -> ReadOnlyColumnCollection:
    """Columns `question_id`, `sentence_id` and `outcome` of the labelled pairs of a corpus. Verdicts outrank labels."""
    of_corpus = select_labels().order_by(None).where(Question.corpus_id == corpus_id)
    pairs = (
        of_corpus.with_only_columns(
            CurrentLabel.question_id,
            CurrentLabel.sentence_id,
            verdict_on(CurrentLabel).label("verdict"),
            sum_votes().label("votes"),
        )
        .group_by(CurrentLabel.question_id, CurrentLabel.sentence_id)
        .subquery()
    ).c
    outcome = func.coalesce(pairs.verdict, name_outcome(pairs.votes)).label("outcome")
    return select(pairs.question_id, pairs.sentence_id, outcome).subquery().c


def count_by(session: Session, corpus_id: int, annotator_id: int, since: datetime) -> tuple[int, int]:
    """Pairs the annotator labels at present, and those of them labelled since then."""
    recent = func.coalesce(func.sum(case((CurrentLabel.created >= since, 1), else_=0)), 0)
    of_corpus = select(func.count(), recent).join_from(CurrentLabel, Question).where(Question.corpus_id == corpus_id)
    total, since_then = session.execute(of_corpus.where(CurrentLabel.annotator_id == annotator_id)).one()
    return total, since_then


def count_new_labels(session: Session, corpus_id: int, since: datetime | None) -> int:
    """How many current labels people gave after that moment; all of them for None."""
    where = [Question.corpus_id == corpus_id, Annotator.imported.is_(False)]
    if since is not None:
        where.append(CurrentLabel.created > since)
    return session.scalar(select_labels().with_only_columns(func.count()).order_by(None).where(*where)) or 0


def count_events(session: Session, annotator_id: int) -> int:
    """How often the annotator has acted: what the draw of the control share counts by."""
    return session.scalar(select(func.count()).where(LabelEvent.annotator_id == annotator_id)) or 0


def find_last_event(session: Session, annotator_id: int, corpus_id: int, *, with_undos: bool = True) -> Row | None:
    """Question, sentence with its text, and queue of the annotator's newest event in the corpus; without undos, of the
    newest label, undone or not."""
    events = (
        select(LabelEvent.question_id, LabelEvent.sentence_id, LabelEvent.queue, Sentence.text)
        .join(Sentence, Sentence.id == LabelEvent.sentence_id)
        .where(LabelEvent.annotator_id == annotator_id, Sentence.corpus_id == corpus_id)
    )
    if not with_undos:
        events = events.where(LabelEvent.undoes.is_(None))
    return session.execute(events.order_by(LabelEvent.id.desc()).limit(1)).first()
