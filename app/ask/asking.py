"""Asking a question: candidates from the corpus, ranked by a cascade with the record of its exits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TypedDict, Unpack

import numpy as np

from app.ask.answer_rule import find_max_probability, rate_candidates
from app.ask.questions import find_or_add
from app.ask.same_question import find_same_questions
from app.corpora.corpora import check_exists, lock_corpus
from app.corpora.language import is_english
from app.corpora.synonyms import read_synonyms
from app.labels import consensus
from app.ranking import scoring
from app.ranking.precedence import PRECEDENCE
from app.ranking.question_line import LINE
from app.ranking.retrieval import RetrievedSentence, normalise_question
from app.ranking.scoring import EarlyRun, PendingRun, RankedQuestion, RankLimits
from app.versions import loading, registry
from app.workbench.workbench import Workbench
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error
from as2core.messages import count
from as2core.questions.spelling import correct_spelling
from as2core.rankers.cascade import CascadeRanker
from as2core.text import tokenize
from as2core.types import OnProgress, Progress
from db.models import ASKED
from db.repositories import corpora as corpus_rows
from db.repositories import documents as document_rows
from db.repositories import questions as rows

log = logging.getLogger(__name__)
MAX_PRELOAD_SECONDS = 60.0  # for the engine

TRAINED_ON_NOTE = "The ranker was trained on this question, so its answer here says little about others."


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A ranked question. Candidates are in document order; arrays and the trace's positions follow it. `probability`
    and `is_answer` are those of `rate_candidates`; `is_answered` is whether the best counts as an answer, which means
    nothing unless `is_calibrated`. `max_probability`: no candidate of this version can have more. `expanded_question`:
    the question as search and rankers read it. `hints` are sentences for the reader on the question (its length, its
    language). `spelling_before`: the question as typed, where its spelling was corrected, else "". `awaits_vectors` as
    in `retrieval.Retrieval`."""

    question: str
    expanded_question: str
    candidates: tuple[RetrievedSentence, ...]
    trace: CascadeTrace
    probability: np.ndarray
    is_answer: np.ndarray
    is_calibrated: bool
    max_probability: float
    hints: tuple[str, ...]
    spelling_before: str
    awaits_vectors: bool

    @property
    def is_answered(self) -> bool:
        return self.best is not None and bool(self.is_answer[self.best])

    @property
    def best(self) -> int | None:
        """The position of the top candidate by the trace, None without candidates."""
        return int(self.trace.ranking()[0]) if self.candidates else None


@dataclass(frozen=True, slots=True, eq=False)
class AskView(Answer):
    """An answered question. `trace` dropped nothing, so `trace.replay(schedule)` is instant. `seconds`: "load" (of the
    model, before it ranks), "retrieve", "rank", "store", "total". `notes` are sentences for the reader on the run (a
    fallback, a cut). `run` gives the candidates with their ids, which they lack here if the run was to be stored
    later."""

    question_id: int
    run: PendingRun
    corpus_id: int
    version: str
    seconds: Mapping[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EarlyAnswer:
    """The answer as soon as it is clear, by the run under the schedule that `make_schedule` makes for a number of
    exits, before the candidates it drops have passed every exit. A question whose trace is cached has none."""

    make_schedule: Callable[[int], DropSchedule]
    show: Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Seconds of the same candidates through the encoder: dropping none, and dropping."""

    full: float
    dropping: float


def preload(wb: Workbench) -> None:
    """Load the models that a question needs and put a first question to them, so that the next one is quick: code,
    caches and the corpus's vectors are then where they are needed. A question that somebody asks meanwhile goes first.
    Failures are left to that question."""
    for load in (partial(loading.load_version, wb), wb.models.embedder, partial(_rank_first, wb),
                 partial(scoring.load_generative, wb)):  # fmt: skip
        try:
            load()
            PRECEDENCE.wait(MAX_PRELOAD_SECONDS)
        except As2Error as e:
            log.info("not loaded ahead: %s", e)


def _rank_first(wb: Workbench) -> None:
    """Rank what a document of the newest corpus is called; nothing is stored."""
    with wb.read() as s:
        corpora = [c.id for c in corpus_rows.list_corpora(s)][-1:]
        titles = [(c, d.title) for c in corpora for d in document_rows.find_documents(s, c, "", 1)]
    for corpus_id, title in titles:
        model = loading.load_version(wb)
        if isinstance(model.ranker, CascadeRanker):  # torch would delay the very preparation
            model.ranker.wait_until_prepared(MAX_PRELOAD_SECONDS)
        correct_spelling(title, (), scoring.as_cascade(model).known_words)
        find_same_questions(wb, corpus_id, title, by_meaning=False)
        scoring.rank_question(wb, corpus_id, title or "a first question", model)


class AskSettings(TypedDict, total=False):
    """`version`: "active" by default. `limits`: by default the settings'. `as_typed`: no correction of the spelling.
    `by`: the person who asks, for their list of recent questions; None is the command line. `store_later`: the run is
    stored soon after, and before a label is; only the question is there at once. `early`: who sees the answer before
    the trace is complete."""

    version: str
    limits: RankLimits | None
    as_typed: bool
    by: int | None
    store_later: bool
    early: EarlyAnswer


def ask(
    wb: Workbench,
    corpus_id: int,
    question: str,
    *,
    on_progress: OnProgress | None = None,
    **settings: Unpack[AskSettings],
) -> AskView:
    """Rank the corpus's sentences for a question, dropping none after the first stage, and store the scores. A question
    that is not stored yet gets its spelling corrected. Raises EmptyQuestion, EmptyCorpus, UnknownCorpus,
    UnknownVersion, BadSetting, DamagedModel."""
    as_typed, store_later = settings.get("as_typed", False), settings.get("store_later", False)
    started = time.perf_counter()
    original = normalise_question(question)
    check_exists(wb, corpus_id)
    limits, early = settings.get("limits"), settings.get("early")
    with ExitStack() as urgency:
        if early is not None:
            urgency.enter_context(PRECEDENCE.hold())
            urgency.enter_context(LINE.take(partial(_report_wait, on_progress)))
        load_started = time.perf_counter()
        model = loading.load_version(wb, settings.get("version", "active"))
        load_seconds = time.perf_counter() - load_started

        def correct(text: str, sentences: Sequence[RetrievedSentence]) -> str:
            return text if as_typed else _correct_spelling(wb, corpus_id, text, sentences, model)

        early_run = None if early is None else _make_early_run(model, original, early, urgency)
        result = scoring.rank_question(
            wb, corpus_id, original, model, limits=limits, correct=correct, early=early_run, on_progress=on_progress
        )
    if on_progress and not store_later:
        on_progress(Progress(2, 3, "storing the scores"))
    ranking_ended = time.perf_counter()
    question_id = _find_or_add_question(wb, corpus_id, result.question)
    answer = _make_answer(model, original, result)
    is_answered = answer.is_answered if answer.is_calibrated else None
    store = partial(
        scoring.store_ranking, wb, question_id, model, result,
        by="ask", annotator_id=settings.get("by"), is_answered=is_answered,
    )  # fmt: skip
    run = PendingRun(wb, question_id, store)
    candidates = result.candidates if store_later else run.get()[1]
    labels = consensus.read_labels(wb, question_id)
    candidates = tuple(replace(c, label=labels[c.sentence_id]) if c.sentence_id in labels else c for c in candidates)
    ended = time.perf_counter()
    answer = replace(answer, candidates=candidates)
    return AskView(
        **{f.name: getattr(answer, f.name) for f in fields(answer)},
        question_id=question_id,
        run=run,
        corpus_id=corpus_id,
        version=model.name,
        seconds={"load": load_seconds, **result.seconds, "store": ended - ranking_ended, "total": ended - started},
        notes=(*_list_notes(result, model), *list_training_notes(wb, result.question, model.name)),
    )


def _make_answer(model: loading.LoadedVersion, original: str, result: RankedQuestion) -> Answer:
    ranker = scoring.as_cascade(model)
    probability, is_answer = rate_candidates(ranker, result.trace, result.candidates)
    return Answer(
        question=result.question,
        expanded_question=result.expanded_question,
        candidates=result.candidates,
        trace=result.trace,
        probability=probability,
        is_answer=is_answer,
        is_calibrated=ranker.is_calibrated,
        max_probability=find_max_probability(ranker),
        hints=_list_hints(result.expanded_question, model),
        spelling_before=original if tokenize(result.question) != tokenize(original) else "",
        awaits_vectors=result.awaits_vectors,
    )


def _report_wait(on_progress: OnProgress | None, ahead: int) -> None:
    if on_progress is not None:
        on_progress(Progress(0, 0, f"waiting for {count(ahead, 'earlier question')}"))


def _make_early_run(
    model: loading.LoadedVersion, original: str, early: EarlyAnswer, urgency: ExitStack
) -> EarlyRun[RankedQuestion]:
    def show(result: RankedQuestion) -> None:
        if result.candidates:
            early.show(_make_answer(model, original, result))
        urgency.close()
        PRECEDENCE.wait()
        urgency.enter_context(LINE.take())  # the rest is another piece of work, behind questions without an answer

    return EarlyRun(early.make_schedule(len(scoring.as_cascade(model).exits)), show)


def list_training_notes(wb: Workbench, question: str, ranker: str) -> tuple[str, ...]:
    """One sentence for the reader if the ranker was trained on the question, else none."""
    return (TRAINED_ON_NOTE,) if question in loading.list_trained_on(wb, ranker) else ()


def _list_notes(result: RankedQuestion, model: loading.LoadedVersion) -> tuple[str, ...]:
    """Sentences for the reader on what was unusual."""
    notes = [model.note, *result.notes]
    if preparing := scoring.as_cascade(model).preparing:  # this answer took longer than later ones will
        parts = f"{preparing.done} of {preparing.total} parts"
        notes.append(f"The fast engine is being prepared ({parts}). Until then answers take longer.")
    if result.omitted_count:
        notes.append(
            f"{result.omitted_count:,} more sentences of the retrieved documents were not ranked: the limit is "
            f"{result.limits.candidates:,}."
        )
    return tuple(n for n in notes if n)


def _list_hints(question: str, model: loading.LoadedVersion) -> tuple[str, ...]:
    """Sentences for the reader on a question that the models cannot read as it stands."""
    hints = []
    text = scoring.as_cascade(model).cut_question(question)
    if text != question:
        hints.append(f"Only the first {count_whole_words(text, question)} words were read: the question is too long.")
    if not is_english(question):
        hints.append("The shipped models read English; answers to other languages are unreliable.")
    return tuple(hints)


def count_whole_words(cut: str, text: str) -> int:
    """How many words of the text are whole in `cut`, which is its beginning."""
    is_inside = text[len(cut) - 1 : len(cut) + 1].isalnum()  # both sides of the cut belong to one word
    return len(tokenize(cut)) - is_inside


def _correct_spelling(
    wb: Workbench, corpus_id: int, text: str, sentences: Sequence[RetrievedSentence], model: loading.LoadedVersion
) -> str:
    """By the words of what was retrieved, the corpus's synonyms, and those the ranker knows."""
    with wb.read() as s:
        if rows.find_question(s, corpus_id, text):
            return text
    texts = [*(f.text for f in sentences), *{f.title for f in sentences}, *read_synonyms(wb, corpus_id).words]
    return correct_spelling(text, texts, scoring.as_cascade(model).known_words)


def _find_or_add_question(wb: Workbench, corpus_id: int, text: str) -> int:
    with wb.read() as s:
        if question := rows.find_question(s, corpus_id, text):
            return question.id
    with wb.write() as s:
        lock_corpus(s, corpus_id)
        return find_or_add(s, corpus_id, text, ASKED, wb.clock())[0]


def score_generative(wb: Workbench, view: AskView) -> np.ndarray:
    """Mean log P of the question given each candidate, `(n,)`, in the order of the candidates; stored for the queues.
    NaN for those that the first stage dropped. Answers that are being made go first. Raises DamagedModel."""
    PRECEDENCE.wait()
    model = loading.load_version(wb, kind=registry.GENERATIVE)
    scores = scoring.score_at_positions(model, view.expanded_question, view.candidates, view.trace.entered)
    run_id, candidates = view.run.get()
    scoring.store_generative(wb, run_id, model.id, candidates, scores)
    return scores


def measure_times(wb: Workbench, view: AskView, schedule: DropSchedule, rounds: int = 3) -> MeasuredTimes:
    """Run the question's cascade with the schedule and without dropping, in turns: medians, after a round that does not
    count. Raises DamagedModel."""
    ranker = scoring.as_cascade(loading.load_version(wb, view.version))
    candidates = scoring.as_candidates(view.candidates[i] for i in view.trace.entered)
    schedules = (DropSchedule.constant(0.0, exits=schedule.exits), schedule)
    seconds = np.zeros((1 + rounds, 2))
    for place in np.ndindex(seconds.shape):
        started = time.perf_counter()
        ranker.trace(view.expanded_question, candidates, schedules[place[1]])
        seconds[place] = time.perf_counter() - started
    full, dropping = np.median(seconds[1:], axis=0)
    return MeasuredTimes(float(full), float(dropping))
