"""Ranking a question over a corpus, and storing what the rankers scored: for Ask, the queues and comparisons."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar, cast

import numpy as np

from app.corpora.synonyms import read_synonyms
from app.ranking import retrieval
from app.ranking.document_prior import weigh_documents
from app.ranking.first_stage import make_first_stage
from app.ranking.ranker_cache import RankerCache
from app.ranking.retrieval import RetrievedSentence
from app.versions import loading, registry
from app.versions.loading import LoadedVersion
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from as2core.cascade.background import MAX_WAIT_SECONDS
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape
from as2core.metrics import order, to_ranks
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.first_stage import FirstStage, with_first
from as2core.rankers.generative import GenerativeRanker
from as2core.text import tokenize
from as2core.types import Candidate, OnProgress, Progress
from db.models import Run
from db.repositories import candidates as candidate_rows
from db.repositories import sentences as sentence_rows
from db.repositories.candidates import Cut, NewCandidate

MAX_DOCUMENTS = 30
MAX_CACHED_TRACES = 64  # of a loaded version
T = TypeVar("T")

_traces = RankerCache(MAX_CACHED_TRACES)


@dataclass(frozen=True, slots=True)
class RankLimits:
    """How many documents are retrieved, how many of their sentences, and how many of those the first stage keeps."""

    documents: int
    candidates: int
    first_keep: int

    @classmethod
    def from_settings(cls, settings: Settings, **limits: int | None) -> RankLimits:
        """The defaults, with those of `limits` that are not None."""
        defaults = cls(MAX_DOCUMENTS, settings.candidates, settings.first_keep)
        return replace(defaults, **{name: value for name, value in limits.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Ranking:
    """A trace over candidates, complete for those who entered the encoder."""

    trace: CascadeTrace
    seconds: float


@dataclass(frozen=True, slots=True)
class EarlyRun(Generic[T]):
    """The run under `schedule`, which `show` gets before the dropped candidates have passed all exits."""

    schedule: DropSchedule
    show: Callable[[T], None]


@dataclass(frozen=True, slots=True, eq=False)
class RankedQuestion:
    """A question ranked over a corpus. Candidates are in document order; trace positions follow it.
    `expanded_question`: the question as search and rankers read it, with the corpus's synonyms. `seconds`: "retrieve",
    "rank". `notes` are sentences for the reader. `awaits_vectors` as in `Retrieval`. `began`: when it was searched
    for."""

    question: str
    expanded_question: str
    candidates: tuple[RetrievedSentence, ...]
    omitted_count: int
    trace: CascadeTrace
    limits: RankLimits
    seconds: dict[str, float]
    notes: tuple[str, ...]
    began: datetime
    awaits_vectors: bool = False

    def rank_of(self, sentence_id: int) -> int | None:
        """From 1; None if the sentence was not retrieved."""
        ranking = (self.candidates[i].sentence_id for i in self.trace.ranking().tolist())
        return next((rank for rank, ranked_id in enumerate(ranking, 1) if ranked_id == sentence_id), None)


def rank_question(
    wb: Workbench,
    corpus_id: int,
    question: str,
    model: LoadedVersion,
    *,
    limits: RankLimits | None = None,
    correct: Callable[[str, Sequence[RetrievedSentence]], str] | None = None,
    early: EarlyRun[RankedQuestion] | None = None,
    on_progress: OnProgress | None = None,
) -> RankedQuestion:
    """Retrieve, apply the first stage, and rank what it keeps without dropping. `store_ranking` stores the result.
    `correct` gets the question and what was retrieved for it, and returns the question to rank; if its words differ,
    they are searched for. The corpus's synonyms are added to both. Raises EmptyCorpus, BadSetting, DamagedModel."""
    limits = limits or RankLimits.from_settings(wb.settings)
    report = on_progress or (lambda progress: None)
    search = partial(retrieval.retrieve, wb, corpus_id, documents=limits.documents, candidates=limits.candidates)
    expand, began = read_synonyms(wb, corpus_id).expand, wb.clock()
    report(Progress(0, 3, "searching the documents"))
    hits = search(expand(question), on_progress=on_progress)
    text = correct(question, hits.candidates) if correct else question
    expanded_text = expand(text)
    if tokenize(text) != tokenize(question):
        second = search(expanded_text)
        hits = replace(second, seconds=hits.seconds + second.seconds)
    candidates = hits.candidates
    report(Progress(1, 3, f"ranking {min(limits.first_keep, len(candidates))} of {len(candidates):,} sentences"))

    def describe(ranking: Ranking) -> RankedQuestion:
        seconds = {"retrieve": hits.seconds, "rank": ranking.seconds}
        return RankedQuestion(
            text,
            expanded_text,
            candidates,
            hits.omitted_count,
            ranking.trace,
            limits,
            seconds,
            hits.notes,
            began,
            hits.awaits_vectors,
        )

    first = make_first_stage(candidates, limits.first_keep)
    early_ranking: EarlyRun[Ranking] | None = None
    if early is not None:
        early_ranking = EarlyRun(early.schedule, lambda ranking: early.show(describe(ranking)))
    prior = weigh_documents(candidates)
    return describe(rank(model, expanded_text, as_candidates(candidates), first, early_ranking, prior=prior))


def _list_survivors(candidates: Sequence[Candidate], cut: ExitRecord | None) -> np.ndarray:
    """The positions of those that the first stage passes on, int `(m,)`; all where it did not run."""
    return np.arange(len(candidates)) if cut is None else np.setdiff1d(cut.alive, cut.dropped)


def as_cascade(model: LoadedVersion) -> CascadeRanker:
    """The ranker of a version of the kind "cascade"."""
    return cast("CascadeRanker", model.ranker)


def load_generative(wb: Workbench) -> GenerativeRanker:
    """The ranker of the active generative version. Raises DamagedModel."""
    return cast("GenerativeRanker", loading.load_version(wb, kind=registry.GENERATIVE).ranker)


def as_candidates(sentences: Iterable[RetrievedSentence]) -> list[Candidate]:
    return [Candidate(str(s.sentence_id), s.text, title=s.title) for s in sentences]


def rank(
    model: LoadedVersion,
    question: str,
    candidates: Sequence[Candidate],
    first: FirstStage | None = None,
    early: EarlyRun[Ranking] | None = None,
    *,
    prior: np.ndarray | None = None,
) -> Ranking:
    """Every candidate that `first` keeps, through every exit, with the `prior` of each, `(n,)`, added to its logits;
    traces are cached by question, texts and prior, and such a one has no `early` run."""
    started = time.perf_counter()
    ranker = as_cascade(model)
    if isinstance(ranker, CascadeRanker):
        ranker.wait_until_prepared(MAX_WAIT_SECONDS)
    cut = first.cut(question, candidates) if first else None
    positions = _list_survivors(candidates, cut)
    survivors = [candidates[i] for i in positions]
    own_prior = None if prior is None else prior[positions]
    own_priors = () if own_prior is None else tuple(own_prior.tolist())
    key = (ranker.engine.name, question, tuple(c.titled_text for c in survivors), own_priors)

    def finish(trace: CascadeTrace) -> Ranking:
        if cut is not None:
            trace = with_first(trace, cut, candidates)
        return Ranking(trace, time.perf_counter() - started)

    def compute() -> CascadeTrace:
        if early is None:
            complete = DropSchedule.constant(0.0, exits=len(ranker.exits))
            return ranker.trace(question, survivors, complete, prior=own_prior)
        show = early.show
        return ranker.trace_completely(
            question, survivors, early.schedule, lambda run: show(finish(run)), prior=own_prior
        )

    return finish(_traces.get_or_compute(ranker, key, compute))


def find_nearest_cuts(trace: CascadeTrace, schedule: DropSchedule) -> dict[int, Cut]:
    """The cut of this schedule nearest to each candidate, by position. The margin is the logit's distance from the
    middle between the last that stays and the first that goes."""
    nearest: dict[int, Cut] = {}
    for e in trace.replay(schedule).exits:
        if not len(e.dropped):
            continue
        best_first = order(e.scores)
        middle = float(e.scores[best_first[e.survivors - 1]] + e.scores[best_first[e.survivors]]) / 2
        for place, i in enumerate(best_first.tolist(), 1):
            margin = abs(float(e.scores[i]) - middle)
            position = int(e.alive[i])
            if position not in nearest or margin < nearest[position].margin:
                nearest[position] = Cut(e.layer, place, e.survivors, margin)
    return nearest


def trace_from_scores(exits: Sequence[tuple[int, np.ndarray]]) -> CascadeTrace:
    """A complete trace from (layer, scores) of every exit, without its costs."""
    everyone, none = np.arange(len(exits[0][1])), np.zeros(0, int)
    records = tuple(ExitRecord(layer, everyone, scores, none, 0.0, 0, 0) for layer, scores in exits)
    schedule = DropSchedule.constant(0.0, exits=len(exits))
    return CascadeTrace(np.zeros(len(everyone), int), records, schedule, EncoderShape(1, 1, exits[-1][0]))


def store_ranking(
    wb: Workbench,
    question_id: int,
    model: LoadedVersion,
    result: RankedQuestion,
    *,
    by: str,
    annotator_id: int | None = None,
    is_answered: bool | None = None,
) -> tuple[int, tuple[RetrievedSentence, ...]]:
    """Store a run with the candidates that the encoder read, and their scores; returns the run's id, and the candidates
    with theirs. Not stored are those that the first stage dropped, and those that left their document meanwhile. `by`
    says what asked for the run, `annotator_id` who; `is_answered`: whether they got an answer, None where that means
    nothing."""
    ranker, trace, candidates = as_cascade(model), result.trace, result.candidates
    cuts = find_nearest_cuts(trace, ranker.schedule) if candidates else {}
    entry_positions = trace.entered.tolist()
    with wb.write() as s:
        sentence_ids = sentence_rows.lock_sentences(s, [candidates[i].sentence_id for i in entry_positions])
        positions = [i for i in entry_positions if candidates[i].sentence_id in sentence_ids]
        run = Run(
            question_id=question_id,
            version_id=model.id,
            annotator_id=annotator_id,
            last_exit=ranker.exits[-1],
            threshold=float(ranker.threshold),
            settings={**asdict(result.limits), "by": by, "ranked": len(positions), "is_answered": is_answered},
            seconds=result.seconds,
            created=result.began,  # what the search finds may have changed since
        )
        s.add(run)
        s.flush()
        new = [
            NewCandidate(candidates[i].sentence_id, ordinal, candidates[i].retrieval_rank, cut=cuts.get(i))
            for ordinal, i in enumerate(positions)
        ]
        ids = candidate_rows.put_candidates(s, question_id, new, origin=candidate_rows.RETRIEVED, run_id=run.id)
        by_exit: dict[int, list[tuple[int, float, float | None, int]]] = {}
        for number, e in enumerate(trace.exits):
            columns = (e.alive, e.scores, np.asarray(ranker.probability(e.scores, number)), to_ranks(e.scores))
            scores = zip(*(column.tolist() for column in columns), strict=True)
            stored_scores = [(ids.get(candidates[i].sentence_id), *values) for i, *values in scores]
            by_exit[e.layer] = [(i, *values) for i, *values in stored_scores if i is not None]
        candidate_rows.put_scores_by_exit(s, model.id, by_exit)
        run_id = run.id
    return run_id, tuple(replace(c, id=ids[c.sentence_id]) if c.sentence_id in ids else c for c in candidates)


class PendingRun:
    """A ranking that is stored soon after it was made, or at once where somebody needs it, in one transaction."""

    def __init__(
        self, wb: Workbench, question_id: int, store: Callable[[], tuple[int, tuple[RetrievedSentence, ...]]]
    ) -> None:
        self._later, self._question_id, self._store = wb.later, question_id, store
        self._outcome: tuple[int, tuple[RetrievedSentence, ...]] | Exception | None = None
        self._later.add(question_id, self._run)

    def get(self) -> tuple[int, tuple[RetrievedSentence, ...]]:
        """What `store_ranking` returned; it is stored now if it was not yet. Raises what storing it raised."""
        if self._outcome is None:
            self._later.finish(self._question_id)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = self._store()
        except Exception as e:
            self._outcome = e
            raise


def score_generative(
    wb: Workbench,
    model: LoadedVersion,
    run_id: int,
    question: str,
    candidates: Sequence[RetrievedSentence],
    positions: np.ndarray,
) -> np.ndarray:
    """Score those candidates that entered the encoder with a generative ranker, and store that beside the run.
    `candidates` as `store_ranking` returned them. Returns float `(n,)`, NaN for those that did not enter."""
    scores = score_at_positions(model, question, candidates, positions)
    store_generative(wb, run_id, model.id, candidates, scores)
    return scores


def score_at_positions(
    model: LoadedVersion, question: str, candidates: Sequence[RetrievedSentence], positions: np.ndarray
) -> np.ndarray:
    """Scores of those candidates that entered the encoder: float `(n,)`, NaN for the others."""
    scores = np.full(len(candidates), np.nan)
    scores[positions] = model.ranker.score(question, as_candidates(candidates[i] for i in positions))
    return scores


def store_generative(
    wb: Workbench, run_id: int, version_id: int, candidates: Sequence[RetrievedSentence], scores: np.ndarray
) -> None:
    """Store a generative ranker's scores beside a run, NaN aside; nothing if the run was deleted with its corpus."""
    ids = {i: c.id for i, c in enumerate(candidates) if c.id is not None and np.isfinite(scores[i])}
    values = scores[list(ids)]
    with wb.write() as s:
        run = s.get(Run, run_id)
        if run is None:
            return
        run.generative_id = version_id
        candidate_ids = set(candidate_rows.find_candidate_ids(s, run.question_id).values())
        ranking = zip(ids.values(), values.tolist(), to_ranks(values).tolist(), strict=True)
        candidate_rows.put_scores(
            s, version_id, 0, ((c, score, None, rank) for c, score, rank in ranking if c in candidate_ids)
        )
