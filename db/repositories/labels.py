"""Annotators, label events and the state they add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, insert, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased
from sqlalchemy.sql.selectable import Subquery

from db.models import WITHDRAWN, Annotator, LabelEvent, Question, Sentence, Verdict, current_label
from db.repositories.pairs import Pair, is_on, is_same_pair
from db.repositories.questions import IMPORTED, upsert_into


def annotator_named(session: Session, name: str) -> Annotator | None:
    return session.scalar(select(Annotator).where(Annotator.name == name))


def ensure_annotator(
    session: Session,
    name: str,
    now: datetime,
    *,
    imported: bool = False,
    role: str = "annotator",
    subject: str | None = None,
) -> Annotator:
    """The annotator of that name, made if there is none; two who ask at once get the same one."""
    values = {"name": name, "imported": imported, "created": now, "role": role, "subject": subject}
    session.execute(upsert_into(session, Annotator).values(values).on_conflict_do_nothing(index_elements=["name"]))
    return session.scalars(select(Annotator).where(Annotator.name == name)).one()


def lock_annotator(session: Session, annotator_id: int) -> Annotator | None:
    """Hold the annotator for this transaction: two clicks of one person are taken one after the other."""
    return session.scalar(select(Annotator).where(Annotator.id == annotator_id).with_for_update())


def newest_event(
    session: Session, question_id: int, sentence_id: int, annotator_id: int, *, before: int | None = None
) -> LabelEvent | None:
    """The last event on a pair by an annotator, or the last before event `before`."""
    found = select(LabelEvent).where(
        is_on(LabelEvent, (question_id, sentence_id)), LabelEvent.annotator_id == annotator_id
    )
    if before is not None:
        found = found.where(LabelEvent.id < before)
    return session.scalar(found.order_by(LabelEvent.id.desc()).limit(1))


_PRESENTATION = {
    "shown_version": "",
    "shown_rank": None,
    "scores_visible": False,
    "queue": "",
    "control": False,
    "arm": "",
    "model_says": None,
    "guideline": 0,
}  # the columns of an event that say what was on the screen, as they are where nothing was


def add_event(
    session: Session,
    question_id: int,
    sentence_id: int,
    annotator_id: int,
    label: str,
    now: datetime,
    columns: Mapping[str, object] | None = None,
) -> LabelEvent:
    """`columns`: `undoes`, `act` and what was on the screen."""
    event = LabelEvent(
        question_id=question_id,
        sentence_id=sentence_id,
        annotator_id=annotator_id,
        label=label,
        created=now,
        **_PRESENTATION | dict(columns or {}),
    )
    session.add(event)
    session.flush()
    return event


def presentation_columns(event: LabelEvent) -> dict[str, object]:
    """What was on the screen, as `add_event` takes it."""
    return {name: getattr(event, name) for name in _PRESENTATION}


def add_events(session: Session, values: Sequence[Mapping[str, object]]) -> None:
    """Bulk insert of imported events: dicts with question_id, sentence_id, annotator_id, label, created."""
    if values:
        session.execute(insert(LabelEvent), [{"undoes": None, **_PRESENTATION, "queue": IMPORTED, **v} for v in values])


def _acts(annotator_id: int, corpus_id: int) -> Select:
    """The annotator's events in the corpus that neither are an undo nor were undone, newest first; no imported ones,
    which nobody did here."""
    undo = aliased(LabelEvent)
    return (
        select(LabelEvent)
        .join(Question, Question.id == LabelEvent.question_id)
        .outerjoin(undo, undo.undoes == LabelEvent.id)
        .where(
            LabelEvent.annotator_id == annotator_id,
            Question.corpus_id == corpus_id,
            LabelEvent.undoes.is_(None),
            LabelEvent.queue != IMPORTED,
            undo.id.is_(None),
        )
        .order_by(LabelEvent.id.desc())
    )


def last_act(session: Session, annotator_id: int, corpus_id: int) -> list[LabelEvent]:
    """The events of the annotator's newest act in the corpus that was not undone, newest first."""
    newest = session.scalar(_acts(annotator_id, corpus_id).limit(1))
    if newest is None or not newest.act:
        return [] if newest is None else [newest]
    return list(session.scalars(_acts(annotator_id, corpus_id).where(LabelEvent.act == newest.act)))


def acts_on(
    session: Session, question_id: int, sentence_id: int, annotator_id: int, corpus_id: int
) -> list[LabelEvent]:
    """The events on a pair that the annotator could still undo, newest first."""
    return list(session.scalars(_acts(annotator_id, corpus_id).where(is_on(LabelEvent, (question_id, sentence_id)))))


def recent_acts(
    session: Session, annotator_id: int, corpus_id: int, limit: int, *, before: int | None = None
) -> list[Row]:
    """What `last_act` would give, again and again: rows (LabelEvent, question, sentence text) of the newest `limit`
    events, or of the newest before event `before`, newest first."""
    found = _acts(annotator_id, corpus_id).add_columns(Question.text.label("question"), Sentence.text.label("sentence"))
    if before is not None:
        found = found.where(LabelEvent.id < before)
    return list(session.execute(found.join(Sentence, Sentence.id == LabelEvent.sentence_id).limit(limit)))


def _labels(*columns: InstrumentedAttribute) -> Select:
    """Current labels, oldest first: rows (question_id, sentence_id, annotator_id, annotator, imported, label) and more
    columns, with their questions joined."""
    names = ("question_id", "sentence_id", "annotator_id", "label")
    return (
        select(*(current_label.c[n] for n in names), Annotator.name.label("annotator"), Annotator.imported, *columns)
        .join(Annotator, Annotator.id == current_label.c.annotator_id)
        .join(Question, Question.id == current_label.c.question_id)
        .order_by(current_label.c.id)
    )


def labels_of_pair(session: Session, question_id: int, sentence_id: int) -> list[Row]:
    """The people's current labels of one pair, as `_labels` gives them."""
    of_pair = is_on(current_label.c, (question_id, sentence_id))
    return list(session.execute(_labels().where(of_pair, Annotator.imported.is_(False))))


def labels_of_questions(session: Session, question_ids: Sequence[int]) -> list[Row]:
    """As `_labels` gives them."""
    return list(session.execute(_labels().where(current_label.c.question_id.in_(question_ids))))


def labels_of_corpus(session: Session, corpus_id: int) -> list[Row]:
    """As `_labels` gives them."""
    return list(session.execute(_labels().where(Question.corpus_id == corpus_id)))


def labels_by(session: Session, annotator_id: int, question_ids: Sequence[int]) -> dict[Pair, str]:
    """Pair -> one annotator's current label."""
    found = session.execute(
        select(current_label.c.question_id, current_label.c.sentence_id, current_label.c.label).where(
            current_label.c.annotator_id == annotator_id, current_label.c.question_id.in_(question_ids)
        )
    )
    return {(r.question_id, r.sentence_id): r.label for r in found}


def labels_with_arm(session: Session, corpus_id: int) -> list[Row]:
    """Current labels of people given where chance decided on the scores, and the model had an opinion: as `_labels`,
    with (arm, model_says)."""
    found = _labels(LabelEvent.arm, LabelEvent.model_says).join(LabelEvent, current_label.c.id == LabelEvent.id)
    given = (LabelEvent.arm != "", LabelEvent.model_says.is_not(None))
    return list(session.execute(found.where(Question.corpus_id == corpus_id, *given)))


def assigned_labels(session: Session, corpus_id: int, queues: Sequence[str]) -> list[Row]:
    """Current labels of people, with every event of theirs on the pair that came from one of these queues: as
    `_labels`, with (queue, control), oldest event first."""
    same = (is_same_pair(LabelEvent, current_label.c), LabelEvent.annotator_id == current_label.c.annotator_id)
    found = _labels(LabelEvent.queue, LabelEvent.control).join(LabelEvent, and_(*same)).order_by(None)
    where = (Question.corpus_id == corpus_id, LabelEvent.queue.in_(queues), LabelEvent.undoes.is_(None))
    return list(session.execute(found.where(*where).order_by(LabelEvent.id)))


def newest_verdicts() -> Subquery:
    """The verdict in force on each pair that has one."""
    later = aliased(Verdict, name="later")
    newest = select(func.max(later.id)).where(is_same_pair(later, Verdict))
    newest_id = newest.scalar_subquery()  # IN would walk all verdicts for each label
    return select(Verdict).where(Verdict.id == newest_id, Verdict.label != WITHDRAWN).subquery("verdicts")


def verdicts(
    session: Session,
    *,
    corpus_id: int | None = None,
    question_id: int | None = None,
    question_ids: Sequence[int] = (),
) -> dict[Pair, str]:
    """Pair -> how the conflict on it was settled, of a corpus, of a question or of several. Of pairs that still carry a
    label: when all are withdrawn, there is nothing that a verdict is about."""
    found = newest_verdicts()
    several = [*question_ids] if question_id is None else [question_id]
    where = Question.id.in_(several) if corpus_id is None else Question.corpus_id == corpus_id
    labelled = select(current_label.c.id).where(is_same_pair(current_label.c, found.c)).exists()
    rows = session.execute(select(found).join(Question, Question.id == found.c.question_id).where(where, labelled))
    return {(r.question_id, r.sentence_id): r.label for r in rows}


def tally(session: Session, corpus_id: int) -> tuple[dict[str, int], int]:
    """How many pairs come to "correct", "incorrect", "unsure" and "disputed", and how many questions have a label.

    A verdict outranks labels, those of people outrank imported ones, the majority counts, a tie is a dispute: as
    `app.labels.consensus` settles.
    """
    ruled = newest_verdicts()

    def votes(label: str, *, imported: bool) -> ColumnElement[int]:
        counts = and_(current_label.c.label == label, Annotator.imported.is_(imported))
        return func.sum(case((counts, 1), else_=0))

    pairs = (
        select(
            current_label.c.question_id,
            votes("correct", imported=False).label("yes"),
            votes("incorrect", imported=False).label("no"),
            votes("correct", imported=True).label("imported_yes"),
            votes("incorrect", imported=True).label("imported_no"),
            func.max(ruled.c.label).label("verdict"),
        )
        .join(Question, Question.id == current_label.c.question_id)
        .join(Annotator, Annotator.id == current_label.c.annotator_id)
        .outerjoin(ruled, is_same_pair(ruled.c, current_label.c))
        .where(Question.corpus_id == corpus_id)
        .group_by(current_label.c.question_id, current_label.c.sentence_id)
        .subquery()
    ).c
    by_people, by_import = pairs.yes + pairs.no > 0, pairs.imported_yes + pairs.imported_no > 0
    difference = case(
        (by_people, pairs.yes - pairs.no), (by_import, pairs.imported_yes - pairs.imported_no), else_=None
    )
    verdict = case(
        (pairs.verdict.is_not(None), pairs.verdict),
        (difference.is_(None), "unsure"),
        (difference > 0, "correct"),
        (difference < 0, "incorrect"),
        else_="disputed",
    )
    found = {row[0]: row[1] for row in session.execute(select(verdict, func.count()).group_by(verdict))}
    asked = select(func.count(func.distinct(current_label.c.question_id))).join(
        Question, Question.id == current_label.c.question_id
    )
    return found, session.scalar(asked.where(Question.corpus_id == corpus_id)) or 0


def count_by(session: Session, corpus_id: int, annotator_id: int, since: datetime) -> tuple[int, int]:
    """Pairs the annotator labels at present, and those of them labelled since then."""
    mine = (
        select(func.count(), func.sum(case((current_label.c.created >= since, 1), else_=0)))
        .select_from(current_label)
        .join(Question, Question.id == current_label.c.question_id)
        .where(Question.corpus_id == corpus_id, current_label.c.annotator_id == annotator_id)
    )
    all_, recent = session.execute(mine).one()
    return all_, int(recent or 0)


def last_labelled(session: Session, annotator_id: int, corpus_id: int) -> Row | None:
    """Question, sentence and its text of the annotator's newest event in the corpus."""
    return session.execute(
        select(LabelEvent.question_id, LabelEvent.sentence_id, Sentence.text)
        .join(Sentence, Sentence.id == LabelEvent.sentence_id)
        .where(LabelEvent.annotator_id == annotator_id, Sentence.corpus_id == corpus_id)
        .order_by(LabelEvent.id.desc())
        .limit(1)
    ).first()
