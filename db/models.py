"""What is stored, as SQLAlchemy tables.

Everything imported keeps the name it came with (`external_id`), so that it can leave as it came. Label events are only
ever added: who labels what at present is the view `current_label` (`CurrentLabel` here), and undoing is one more event.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any, TypeAlias

from sqlalchemy import Dialect, ForeignKey, Index, MetaData, UniqueConstraint, false, text, true
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column
from sqlalchemy.types import JSON, BigInteger, DateTime, Text, TypeDecorator

JsonObject: TypeAlias = dict[str, Any]  # what a JSON column holds; its readers know what is in it
WITHDRAWN = "withdrawn"
ASKED = "asked"  # the origin of a question typed on Ask
NO_TEXT = text("''")
# No id is used twice: an index file left behind must not be taken for another corpus's, nor a label for a sentence that
# is gone land on another.
NO_ID_TWICE = {"sqlite_autoincrement": True}


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC on both engines; SQLite keeps none of the zone by itself."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def text_key(text: str) -> int:
    """A signed 64-bit fingerprint of a text, blind to white space: what exact look-ups are indexed by."""
    digest = hashlib.blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _key_of_row(context: DefaultExecutionContext) -> int:
    return text_key(context.get_current_parameters()["text"])


def _is_queued_from_start(context: DefaultExecutionContext) -> bool:
    return context.get_current_parameters()["origin"] != ASKED


class Base(DeclarativeBase):
    """Tables are named after their class; text columns are unbounded, times are UTC, constraints have names."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

    @declared_attr.directive
    def __tablename__(cls) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    type_annotation_map = {str: Text(), datetime: UtcDateTime(), JsonObject: JSON()}


class Entity(Base):
    """A row with a number, and the time it was made."""

    __abstract__ = True
    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[datetime]


def _owner(target: str, *, index: bool = True, primary_key: bool = False) -> Mapped[int]:
    return mapped_column(ForeignKey(target, ondelete="CASCADE"), index=index, primary_key=primary_key)


class Corpus(Entity):
    """`digest`: of the folder it was filled from, for the one that is shipped; "" otherwise. `rules`: how it is
    labelled, where that differs from the defaults. `automatic`: when a retrain starts by itself. `synonyms`: lines of
    words and what they mean in its documents. `dismissed_words`: one per line; labels suggest a meaning that somebody
    found wrong. `search_changed`: when the documents that a search finds, or their vectors, last changed."""

    __table_args__ = NO_ID_TWICE
    name: Mapped[str] = mapped_column(unique=True)
    digest: Mapped[str] = mapped_column(default="")
    rules: Mapped[JsonObject | None]
    automatic: Mapped[JsonObject | None]
    synonyms: Mapped[str] = mapped_column(default="", server_default=NO_TEXT)
    dismissed_words: Mapped[str] = mapped_column(default="", server_default=NO_TEXT)
    search_changed: Mapped[datetime | None]


class Document(Base):
    """`digest` is the content's, `sentences` their number now; `indexed`: the derived index has this content;
    `split_rules`: the number of the rules that divided it into sentences, 0 of releases that counted none."""

    __table_args__ = (
        UniqueConstraint("corpus_id", "external_id"),
        Index(None, "corpus_id", "indexed"),
        Index(None, "corpus_id", "split_rules", "sentences", "updated"),
        NO_ID_TWICE,
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    corpus_id: Mapped[int] = _owner("corpus.id", index=False)
    external_id: Mapped[str]
    title: Mapped[str]
    source: Mapped[str]
    text: Mapped[str]
    digest: Mapped[str]
    sentences: Mapped[int]
    indexed: Mapped[bool] = mapped_column(default=False)
    split_rules: Mapped[int] = mapped_column(default=0, server_default="0")
    updated: Mapped[datetime]


class Sentence(Base):
    """`start`, `end`: offsets into the document's text. `heading`: that of its section. A retired sentence left its
    document with labels on it."""

    __table_args__ = (
        Index(None, "document_id", "position"),
        Index(None, "corpus_id", "text_key"),
        Index(None, "corpus_id", "external_id"),
        NO_ID_TWICE,
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    corpus_id: Mapped[int] = _owner("corpus.id", index=False)
    document_id: Mapped[int] = _owner("document.id", index=False)
    external_id: Mapped[str]
    position: Mapped[int]
    paragraph: Mapped[int]
    start: Mapped[int]
    end: Mapped[int]
    text: Mapped[str]
    text_key: Mapped[int] = mapped_column(BigInteger, default=_key_of_row)
    heading: Mapped[str] = mapped_column(default="", server_default=NO_TEXT)
    retired: Mapped[bool] = mapped_column(default=False)


class Question(Entity):
    """`kind`: as in `as2core.types.Question`. `origin`: "asked" (typed on Ask), "listed", "proposed", "imported" or
    "starter". `split`: "train", "dev" or "test" if the source says so, else "". `queued`: whether the label queues
    offer it. All start so but those that were only asked: they enter with a label given on Ask, or when somebody adds
    them."""

    __table_args__ = (
        UniqueConstraint("corpus_id", "external_id"),
        Index(None, "corpus_id", "text_key"),
        Index(None, "corpus_id", "split", "id"),
        NO_ID_TWICE,
    )
    corpus_id: Mapped[int] = _owner("corpus.id", index=False)
    external_id: Mapped[str]
    text: Mapped[str]
    text_key: Mapped[int] = mapped_column(BigInteger, default=_key_of_row)
    kind: Mapped[str] = mapped_column(default="")
    origin: Mapped[str]
    split: Mapped[str] = mapped_column(default="")
    queued: Mapped[bool] = mapped_column(default=_is_queued_from_start, server_default=true())


class ModelVersion(Entity):
    """`state`: "shipped", "candidate", "former" or "rejected"; which one is active is told by the activations."""

    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    parent: Mapped[str | None]
    path: Mapped[str]
    note: Mapped[str] = mapped_column(default="")
    state: Mapped[str]
    metrics: Mapped[JsonObject] = mapped_column(default=dict)


class Activation(Entity):
    """A promotion. The newest of a kind, unless reverted, names the active version; if none does, the shipped is."""

    kind: Mapped[str]
    version_id: Mapped[int] = _owner("model_version.id")
    reason: Mapped[str]
    reverted: Mapped[datetime | None]


class Run(Entity):
    """One retrieval and ranking of a question. `last_exit` and `threshold` are the version's at that time.
    `annotator_id`: who asked, None where nobody did or it is not known."""

    question_id: Mapped[int] = _owner("question.id")
    version_id: Mapped[int] = _owner("model_version.id")
    generative_id: Mapped[int | None] = mapped_column(ForeignKey("model_version.id", ondelete="SET NULL"), index=True)
    annotator_id: Mapped[int | None] = mapped_column(ForeignKey("annotator.id", ondelete="SET NULL"), index=True)
    last_exit: Mapped[int]
    threshold: Mapped[float]
    settings: Mapped[JsonObject]
    seconds: Mapped[JsonObject]


class Candidate(Base):
    """A sentence that may answer a question, at its place `ordinal` among them, and where it came from.

    `origin`: "retrieved", "imported" or "labelled" (a sentence that was not among them until somebody labelled it).
    `grade` is the finer label of the set it was imported from, where that has one. `run_id` is the newest run it took
    part in. `cut_*`: where it came nearest to a cut of the version's own schedule: at which layer, on which rank, how
    many stayed, and how far its logit was from the cut.
    """

    __table_args__ = (UniqueConstraint("question_id", "sentence_id"), NO_ID_TWICE)
    id: Mapped[int] = mapped_column(primary_key=True)
    question_id: Mapped[int] = _owner("question.id", index=False)
    sentence_id: Mapped[int] = _owner("sentence.id")
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id", ondelete="SET NULL"), index=True)
    ordinal: Mapped[int]
    retrieval_rank: Mapped[int | None]
    origin: Mapped[str]
    external_id: Mapped[str | None]
    grade: Mapped[int | None]
    cut_layer: Mapped[int | None]
    cut_rank: Mapped[int | None]
    cut_kept: Mapped[int | None]
    cut_margin: Mapped[float | None]


class Score(Base):
    """A model's number for a candidate after layer `exit` (0: a ranker without exits), and its rank in that run."""

    candidate_id: Mapped[int] = _owner("candidate.id", index=False, primary_key=True)
    version_id: Mapped[int] = _owner("model_version.id", primary_key=True)
    exit: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[float]
    probability: Mapped[float | None]
    rank: Mapped[int]


class Annotator(Entity):
    """`imported`: not a person; labels of people outrank theirs. `role`: "admin", "annotator" or "viewer". `subject`:
    who they are to the identity provider that signed them in, None for a name typed here. `login_at`: when the provider
    last let them in. `sessions_from`: a session that began before does not count any more."""

    name: Mapped[str] = mapped_column(unique=True)
    imported: Mapped[bool] = mapped_column(default=False)
    role: Mapped[str] = mapped_column(default="annotator", server_default="annotator")
    subject: Mapped[str | None] = mapped_column(index=True, unique=True)
    login_at: Mapped[datetime | None]
    sessions_from: Mapped[datetime | None]


class AuditEvent(Entity):
    """Who did what, and on what. `actor`: a name as it was then, for people come and go; `outcome`: "done" or
    "refused". The database refuses to change a row, and to delete one before an entry says that all before a day are
    deleted."""

    __table_args__ = (Index(None, "actor"), Index(None, "act"), NO_ID_TWICE)
    actor: Mapped[str]
    act: Mapped[str]
    target: Mapped[str]
    outcome: Mapped[str]
    detail: Mapped[str]


class LabelEvent(Entity):
    """An act of labelling, with what was on the screen. `undoes` names the event that this one takes back; events of
    one `act` (if not "") are undone together.

    `control`: drawn at random from an adaptive queue. `arm`: "blind" or "shown" where chance decided on the scores,
    else "". `model_says`: whether the model took it for an answer. `guideline`: the version in force. `chance`: the
    probability with which a decision between two rankers drew the question.
    """

    __table_args__ = (
        Index(None, "question_id", "sentence_id", "annotator_id", "id"),
        Index(None, "annotator_id", "id"),
        NO_ID_TWICE,
    )
    question_id: Mapped[int] = _owner("question.id", index=False)
    sentence_id: Mapped[int] = _owner("sentence.id")
    annotator_id: Mapped[int] = _owner("annotator.id", index=False)
    label: Mapped[str]
    undoes: Mapped[int | None] = mapped_column(ForeignKey("label_event.id", ondelete="CASCADE"), unique=True)
    shown_version: Mapped[str] = mapped_column(default="")
    shown_rank: Mapped[int | None]
    scores_visible: Mapped[bool] = mapped_column(default=False)
    queue: Mapped[str] = mapped_column(default="")
    act: Mapped[str] = mapped_column(default="", server_default=NO_TEXT)
    control: Mapped[bool] = mapped_column(default=False, server_default=false())
    arm: Mapped[str] = mapped_column(default="", server_default=NO_TEXT)
    model_says: Mapped[bool | None]
    guideline: Mapped[int] = mapped_column(default=0, server_default="0")
    chance: Mapped[float | None]


class Verdict(Entity):
    """How a conflict was settled, by whom; the newest counts, and "withdrawn" opens the pair again. The labels stay."""

    __table_args__ = (Index(None, "question_id", "sentence_id", "id"),)
    question_id: Mapped[int] = _owner("question.id", index=False)
    sentence_id: Mapped[int] = _owner("sentence.id")
    annotator_id: Mapped[int] = _owner("annotator.id")
    label: Mapped[str]
    note: Mapped[str]


class Flag(Entity):
    """Somebody wants others to look at a pair, and says why; `cleared` once one did."""

    __table_args__ = (Index(None, "question_id", "sentence_id"),)
    question_id: Mapped[int] = _owner("question.id", index=False)
    sentence_id: Mapped[int] = _owner("sentence.id")
    annotator_id: Mapped[int] = _owner("annotator.id")
    note: Mapped[str]
    cleared: Mapped[datetime | None]


class Guideline(Base):
    """One version of a corpus's guidelines, in Markdown; versions count from 1 (0 is the text that comes with the
    program)."""

    corpus_id: Mapped[int] = _owner("corpus.id", index=False, primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str]
    annotator_id: Mapped[int] = _owner("annotator.id")
    created: Mapped[datetime]


class Suspicion(Base):
    """A label that a model of the other labels doubts: `doubt` is the probability it gives to another label. `looked`:
    when somebody took the second look."""

    question_id: Mapped[int] = _owner("question.id", index=False, primary_key=True)
    sentence_id: Mapped[int] = _owner("sentence.id", primary_key=True)
    label: Mapped[str]
    doubt: Mapped[float]
    created: Mapped[datetime]
    looked: Mapped[datetime | None]


class Proposal(Entity):
    """A question that a model made for a sentence, until somebody accepts or rejects it. `place` is the sentence's rank
    when the corpus was asked; `state` is waiting, accepted or rejected, `question_id` what it became."""

    __table_args__ = (Index(None, "corpus_id", "state"), NO_ID_TWICE)
    corpus_id: Mapped[int] = _owner("corpus.id", index=False)
    sentence_id: Mapped[int] = _owner("sentence.id")
    text: Mapped[str]
    log_p: Mapped[float]
    place: Mapped[int]
    state: Mapped[str]
    question_id: Mapped[int | None] = mapped_column(ForeignKey("question.id", ondelete="SET NULL"), index=True)


class Lease(Base):
    """Who is looking at a pair, until when: nobody else gets it from a queue meanwhile.

    `holder` tells sessions apart that share an annotator's name.
    """

    question_id: Mapped[int] = _owner("question.id", index=False, primary_key=True)
    sentence_id: Mapped[int] = _owner("sentence.id", primary_key=True)
    annotator_id: Mapped[int] = _owner("annotator.id")
    holder: Mapped[str]
    queue: Mapped[str]
    token: Mapped[str]
    expires: Mapped[datetime]
    control: Mapped[bool] = mapped_column(default=False, server_default=false())


class Job(Entity):
    """A background job; these rows are the queue. `annotator_id`: who started it, None where nobody did or it is not
    known. `worker` names the process that runs it. `attempts`: how many there may be. `paused`: it waits, queued or
    between two steps, until somebody lets it go on."""

    __table_args__ = NO_ID_TWICE
    kind: Mapped[str]
    corpus_id: Mapped[int | None] = mapped_column(ForeignKey("corpus.id", ondelete="SET NULL"), index=True)
    annotator_id: Mapped[int | None] = mapped_column(ForeignKey("annotator.id", ondelete="SET NULL"), index=True)
    state: Mapped[str] = mapped_column(default="queued", index=True)
    progress: Mapped[float] = mapped_column(default=0.0)
    message: Mapped[str] = mapped_column(default="waiting for the worker")
    settings: Mapped[JsonObject]
    result: Mapped[JsonObject] = mapped_column(default=dict)
    error: Mapped[str] = mapped_column(default="")
    log: Mapped[str] = mapped_column(default="")
    attempt: Mapped[int] = mapped_column(default=0)
    attempts: Mapped[int]
    cancelling: Mapped[bool] = mapped_column(default=False)
    paused: Mapped[bool] = mapped_column(default=False, server_default=false())
    worker: Mapped[str] = mapped_column(default="")
    heartbeat: Mapped[datetime | None]
    started: Mapped[datetime | None]
    finished: Mapped[datetime | None]


class JobEvent(Entity):
    __table_args__ = (Index(None, "job_id", "id"),)
    job_id: Mapped[int] = _owner("job.id", index=False)
    payload: Mapped[JsonObject]


class Evaluation(Entity):
    """A ranker's scores and measures on data known by hash, kept so that no comparison computes them twice."""

    __table_args__ = (UniqueConstraint("ranker_key", "data_hash", "setting"),)
    ranker_key: Mapped[str]
    ranker: Mapped[str]
    data: Mapped[str]
    data_hash: Mapped[str]
    setting: Mapped[str]
    result: Mapped[JsonObject]


class View(Base):
    """What a migration creates by itself: it is in no metadata that tables are made or checked by."""

    __abstract__ = True
    metadata = MetaData()


class CurrentLabel(View):
    """The newest event of each annotator on each pair, unless it is a withdrawal."""

    id: Mapped[int] = mapped_column(primary_key=True)
    question_id: Mapped[int] = mapped_column(ForeignKey(Question.id))
    sentence_id: Mapped[int] = mapped_column(ForeignKey(Sentence.id))
    annotator_id: Mapped[int] = mapped_column(ForeignKey(Annotator.id))
    label: Mapped[str]
    created: Mapped[datetime]
