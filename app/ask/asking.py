"""Asking a question: candidates from the corpus, ranked by a cascade with the record of its exits."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from app.ask.questions import ASKED, find_or_add
from app.corpora.corpora import get_corpus, lock_corpus
from app.labels import annotation
from app.ranking import scoring
from app.ranking.retrieval import RetrievedSentence, normalise_question
from app.ranking.scoring import RankedQuestion, RankLimits
from app.versions import loading, registry
from app.workbench.workbench import Workbench
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace
from as2core.errors import As2Error
from as2core.spelling import correct_spelling
from as2core.text import tokenize
from as2core.types import OnProgress, Progress
from db.repositories import questions as rows

log = logging.getLogger(__name__)

MAX_READ_WORDS = 60  # of a question; the encoders cut it after 64 tokens


@dataclass(frozen=True, slots=True, eq=False)
class AskView:
    """An answered question. Candidates are in document order; arrays and the trace's positions follow it. `trace`
    dropped nothing, so `trace.replay(schedule)` is instant. `probability` is the last exit's, `(n,)`; `answered` is
    whether any reaches `threshold`, which means nothing unless `calibrated`. `seconds`: "retrieve", "rank", "store",
    "total". `notes` are sentences for the reader (a fallback, a cut). `typed`: the question as typed, where its
    spelling was corrected, else ""."""

    question_id: int
    run_id: int
    corpus_id: int
    question: str
    version: str
    candidates: tuple[RetrievedSentence, ...]
    trace: CascadeTrace
    probability: np.ndarray
    threshold: float
    calibrated: bool
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    typed: str = ""

    @property
    def answered(self) -> bool:
        return bool(len(self.probability)) and float(self.probability.max()) >= self.threshold

    @property
    def best(self) -> int | None:
        """The position of the top candidate by the complete trace, None without candidates."""
        return int(self.trace.ranking()[0]) if self.candidates else None


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Seconds of the same candidates through the encoder: dropping none, and dropping."""

    full: float
    dropping: float


def preload(wb: Workbench) -> None:
    """Load the models that a question needs, so that the first one is quick. Failures are left to that question."""
    for load in (partial(loading.load_version, wb), wb.models.embedder, partial(scoring.load_generative, wb)):
        try:
            load()
        except As2Error as e:
            log.info("not loaded ahead: %s", e)


def ask(
    wb: Workbench,
    corpus_id: int,
    question: str,
    *,
    version: str = "active",
    limits: RankLimits | None = None,
    as_typed: bool = False,
    on_progress: OnProgress | None = None,
) -> AskView:
    """Rank the corpus's sentences for a question, dropping none after the first stage, and store the scores. A question
    that is not stored yet gets its spelling corrected, unless `as_typed`. `limits`: by default the settings'. Raises
    EmptyQuestion, EmptyCorpus, UnknownCorpus, UnknownVersion, BadSetting, DamagedModel."""
    started = time.perf_counter()
    typed = normalise_question(question)
    get_corpus(wb, corpus_id)
    model = loading.load_version(wb, version)

    def correct(text: str, found: Sequence[RetrievedSentence]) -> str:
        return text if as_typed else _correct_spelling(wb, corpus_id, text, found, model)

    ranked = scoring.rank_question(wb, corpus_id, typed, model, limits=limits, correct=correct, on_progress=on_progress)
    if on_progress:
        on_progress(Progress(2, 3, "storing the scores"))
    ranking_ended = time.perf_counter()
    question_id = _find_or_add_question(wb, corpus_id, ranked.question)
    run_id, candidates = scoring.store_ranking(wb, question_id, model, ranked, by="ask")
    labels = annotation.read_labels(wb, question_id)
    ranker, ended = scoring.as_cascade(model), time.perf_counter()
    return AskView(
        question_id=question_id,
        run_id=run_id,
        corpus_id=corpus_id,
        question=ranked.question,
        version=model.name,
        candidates=tuple(replace(c, label=labels.get(c.sentence_id)) for c in candidates),
        trace=ranked.trace,
        probability=ranked.probability,
        threshold=float(ranker.threshold),
        calibrated=ranker.calibrated,
        seconds=ranked.seconds | {"store": ended - ranking_ended, "total": ended - started},
        notes=_list_notes(ranked, model),
        typed=typed if tokenize(ranked.question) != tokenize(typed) else "",
    )


def _list_notes(result: RankedQuestion, model: loading.LoadedVersion) -> tuple[str, ...]:
    """Sentences for the reader on what was unusual."""
    notes = [model.note, *result.notes]
    if preparing := scoring.as_cascade(model).preparing:  # this answer took longer than later ones will
        parts = f"{preparing.done} of {preparing.total} parts"
        notes.append(f"The fast engine is being prepared ({parts}). Until then answers take longer.")
    if len(tokenize(result.question)) > MAX_READ_WORDS:
        notes.append(f"This is a long question: the models read about the first {MAX_READ_WORDS} words.")
    if result.left_out:
        notes.append(
            f"{result.left_out:,} more sentences of the retrieved documents were not ranked: the limit is "
            f"{result.limits.candidates}."
        )
    return tuple(n for n in notes if n)


def _correct_spelling(
    wb: Workbench, corpus_id: int, text: str, sentences: Sequence[RetrievedSentence], model: loading.LoadedVersion
) -> str:
    """By the words of what was retrieved and those the ranker knows."""
    with wb.read() as s:
        if rows.find_question(s, corpus_id, text):
            return text
    texts = [*(f.text for f in sentences), *{f.title for f in sentences}]
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
    NaN for those that the first stage dropped. Raises DamagedModel."""
    model = loading.load_version(wb, kind=registry.GENERATIVE)
    return scoring.score_generative(wb, model, view.run_id, view.question, view.candidates, view.trace.entered)


def measure_times(wb: Workbench, view: AskView, schedule: DropSchedule, rounds: int = 3) -> MeasuredTimes:
    """Run the question's cascade with the schedule and without dropping, in turns: medians, after a round that does not
    count. Raises DamagedModel."""
    ranker = scoring.as_cascade(loading.load_version(wb, view.version))
    candidates = scoring.as_candidates(view.candidates[i] for i in view.trace.entered)
    schedules = (DropSchedule.constant(0.0, exits=schedule.exits), schedule)
    seconds = np.zeros((1 + rounds, 2))
    for place in np.ndindex(seconds.shape):
        started = time.perf_counter()
        ranker.trace(view.question, candidates, schedules[place[1]])
        seconds[place] = time.perf_counter() - started
    full, dropping = np.median(seconds[1:], axis=0)
    return MeasuredTimes(float(full), float(dropping))


def explain(wb: Workbench, question: str, candidate: RetrievedSentence) -> list[tuple[str, float]]:
    """Each word of the question with its log P given the sentence. Raises DamagedModel."""
    text = scoring.as_candidates([candidate])[0].titled_text
    return scoring.load_generative(wb).explain(question, text)
