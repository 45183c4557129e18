"""Ranking candidates and keeping what the rankers said: for the page, for queues, for comparing versions later.

A question typed on a page is scored as it is asked; the background job `score` does the same for questions that no
version has seen yet, so that the queues have something to offer.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from app import jobs
from app.running import Running
from app.services import retrieval, versions
from app.services.first_look import first_look
from app.services.retrieval import Found
from app.services.versions import Chosen
from app.services.views import CandidateView, JobView
from app.services.workbench import Workbench
from as2core.cascade.first import First, with_first
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape
from as2core.errors import DamagedModel
from as2core.rankers.base import order
from as2core.types import Candidate
from db.models import Run
from db.repositories import corpora as corpus_rows
from db.repositories import jobs as job_rows
from db.repositories import questions as rows
from db.repositories import versions as version_rows
from db.repositories.questions import Cut, NewCandidate

DOCUMENTS = 30
SCORE_LIMIT = 40  # questions a scoring job takes on at most
AGAIN_LIMIT = 200  # the same, for what is ranked anew by another version
KEPT = 64  # traces remembered of a loaded version

_kept: WeakKeyDictionary[Any, OrderedDict[tuple, CascadeTrace]] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A trace over candidates, complete for those who entered the encoder, and probabilities by its scores, `(n,)`."""

    trace: CascadeTrace
    probability: np.ndarray
    seconds: float


def as_candidates(found: Iterable[Found | CandidateView]) -> list[Candidate]:
    return [Candidate(str(f.sentence_id), f.text, title=f.title) for f in found]


def rank(chosen: Chosen, question: str, candidates: Sequence[Candidate], first: First | None = None) -> Ranked:
    """Every candidate that `first` lets in through every exit; the same question over the same sentences is not
    computed twice."""
    started = time.perf_counter()
    ranker = chosen.ranker
    engine = getattr(getattr(ranker, "engine", None), "name", "")
    cut = first.cut(question, candidates) if first else None
    entered = candidates if cut is None else [candidates[i] for i in np.setdiff1d(cut.alive, cut.dropped)]
    key = (engine, question, tuple(c.reading for c in entered))
    with _lock:
        kept = _kept.setdefault(ranker, OrderedDict())
        trace = kept.get(key)
    if trace is None:
        trace = ranker.trace(question, entered, DropSchedule.constant(0.0, exits=len(ranker.exits)))
        with _lock:
            kept[key] = trace
            while len(kept) > KEPT:
                kept.popitem(last=False)
    if cut is not None:
        trace = with_first(trace, cut, candidates)
    return Ranked(trace, np.asarray(ranker.probability(trace.scores())), time.perf_counter() - started)


def cuts(trace: CascadeTrace, schedule: DropSchedule) -> dict[int, Cut]:
    """Where each candidate came nearest to a cut of this schedule: position -> (layer, rank, kept, margin).

    The margin is the logit's distance from the middle between the last that stays and the first that goes.
    """
    nearest: dict[int, Cut] = {}
    for e in trace.replay(schedule).exits:
        if not len(e.dropped):
            continue
        best_first = order(e.scores)
        middle = float(e.scores[best_first[e.kept - 1]] + e.scores[best_first[e.kept]]) / 2
        for place, i in enumerate(best_first.tolist(), 1):
            margin = abs(float(e.scores[i]) - middle)
            position = int(e.alive[i])
            if position not in nearest or margin < nearest[position][3]:
                nearest[position] = (e.layer, place, e.kept, margin)
    return nearest


def told_again(exits: Sequence[tuple[int, np.ndarray]]) -> CascadeTrace:
    """A complete trace from (layer, scores) of every exit; what it cost is not told."""
    everyone, none = np.arange(len(exits[0][1])), np.zeros(0, int)
    records = tuple(ExitRecord(layer, everyone, scores, none, 0.0, 0, 0) for layer, scores in exits)
    schedule = DropSchedule.constant(0.0, exits=len(exits))
    return CascadeTrace(np.zeros(len(everyone), int), records, schedule, EncoderShape(1, 1, exits[-1][0]))


def ranks(scores: np.ndarray) -> list[int]:
    """From 1, by position."""
    return (1 + np.argsort(order(scores))).tolist()


def store_run(
    wb: Workbench,
    question_id: int,
    chosen: Chosen,
    found: Sequence[Found],
    ranked: Ranked,
    *,
    settings: Mapping[str, Any],
    seconds: Mapping[str, float],
) -> tuple[int, dict[int, int]]:
    """Keep a run with the candidates that the encoder read, and their scores; returns its number and sentence id ->
    candidate id. Those that a first stage dropped are not kept: nobody would be asked about them; nor those that left
    their document meanwhile."""
    ranker, trace = chosen.ranker, ranked.trace
    near = cuts(trace, ranker.schedule) if found else {}
    entered = trace.entered.tolist()
    with wb.write() as s:
        there = corpus_rows.hold_sentences(s, [found[i].sentence_id for i in entered])
        stay = [i for i in entered if found[i].sentence_id in there]
        new = [
            NewCandidate(found[i].sentence_id, place, found[i].retrieval_rank, cut=near.get(i))
            for place, i in enumerate(stay)
        ]
        run = rows.add_run(
            s,
            question_id,
            chosen.id,
            last_exit=ranker.exits[-1],
            threshold=float(ranker.threshold),
            settings={**settings, "ranked": len(stay)},
            seconds=seconds,
            now=wb.clock(),
        )
        ids = rows.put_candidates(s, question_id, new, origin=rows.RETRIEVED, run_id=run.id)
        for number, e in enumerate(trace.exits):
            probability = ranker.probability(e.scores, number)
            rows.put_scores(
                s,
                chosen.id,
                e.layer,
                (
                    (ids[found[int(p)].sentence_id], float(score), float(prob), place)
                    for p, score, prob, place in zip(e.alive, e.scores, probability, ranks(e.scores), strict=True)
                    if found[int(p)].sentence_id in there
                ),
            )
    return run.id, ids


def store_generative(
    wb: Workbench, run_id: int, version_id: int, candidate_ids: Sequence[int], scores: np.ndarray
) -> None:
    """Keep the generative ranker's scores beside a run's; nothing if the run went with its corpus meanwhile."""
    with wb.write() as s:
        run = s.get(Run, run_id)
        if run is None:
            return
        run.generative_id = version_id
        kept = set(rows.candidate_ids_of(s, run.question_id))
        rows.put_scores(
            s,
            version_id,
            0,
            (
                (c, float(score), None, place)
                for c, score, place in zip(candidate_ids, scores, ranks(scores), strict=True)
                if c in kept
            ),
        )


def _cut_again(job: Running, chosen: Chosen) -> None:
    """Where a version that is in force again cut once, from the scores that are kept."""
    wb, ranker = job.wb, chosen.ranker
    with wb.read() as s:
        waiting = rows.uncut(s, job.corpus_id, chosen.id)
    for question_id in waiting:
        job.check()
        with wb.write() as s:
            found = rows.scores_by_exit(s, question_id, chosen.id)
            ids = list(found.get(ranker.exits[-1], ()))
            if ids and all(found.get(layer, {}).keys() == set(ids) for layer in ranker.exits):
                scores = [(layer, np.array([found[layer][i] for i in ids], dtype=np.float32)) for layer in ranker.exits]
                near = cuts(told_again(scores), ranker.schedule)
                rows.put_cuts(s, {ids[place]: cut for place, cut in near.items()})


def start_scoring(wb: Workbench, corpus_id: int, limit: int = SCORE_LIMIT) -> JobView:
    """Score questions of the corpus that the active version has not seen, in the background: what fills the queues."""
    return jobs.enqueue(wb, "score", {"limit": limit}, corpus_id=corpus_id)


def score_again(wb: Workbench) -> None:
    """After another version came in force: what it ranked once follows that at once, and what else the queues offer is
    ranked anew, corpus by corpus, in the background. A job that is queued already will do; one that runs began with the
    version before."""
    active = versions.active(wb)
    with wb.write() as s:
        stale = set(version_rows.follow(s, active.id))
        stale |= {q.corpus_id for q in version_rows.ranked_by_others(s, active.id)}
        waiting = [j for j in job_rows.active_jobs(s, "score") if j.state == "queued" and j.settings.get("again")]
    for corpus_id in sorted(stale - {j.corpus_id for j in waiting}):
        jobs.enqueue(wb, "score", {"limit": AGAIN_LIMIT, "again": True}, corpus_id=corpus_id)


def run_score(job: Running) -> dict[str, Any]:
    """The background job. A question scored is done with, so a run that was interrupted goes on where it stopped."""
    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None:
        return {"questions": 0}
    chosen = versions.choose(wb)
    try:
        generative = versions.choose(wb, kind=versions.GENERATIVE)
    except DamagedModel as e:
        generative = None
        job.event({"kind": "note", "message": f"without generative scores: {e}"})
    limit = int(job.settings.get("limit", SCORE_LIMIT))
    if job.settings.get("again"):
        _cut_again(job, chosen)
    with wb.read() as s:
        if job.settings.get("again"):
            waiting = version_rows.ranked_by_others(s, chosen.id, corpus_id)[:limit]
        else:
            waiting = rows.questions_without_run(s, corpus_id, chosen.id, limit)
    for done, question in enumerate(waiting):
        job.step_back()
        job.progress(done / len(waiting), f"{done} of {len(waiting)} questions scored")
        of = wb.settings
        found = retrieval.retrieve(
            wb, corpus_id, question.text, documents=DOCUMENTS, candidates=of.candidates
        ).candidates
        candidates = as_candidates(found)
        ranked = rank(chosen, question.text, candidates, first_look(found, of.first_keep))
        run_id, ids = store_run(
            wb,
            question.id,
            chosen,
            found,
            ranked,
            settings={"documents": DOCUMENTS, "candidates": of.candidates, "first_keep": of.first_keep, "by": "job"},
            seconds={"rank": ranked.seconds},
        )
        if generative is not None and found:
            read = [i for i in ranked.trace.entered.tolist() if found[i].sentence_id in ids]
            scores = np.asarray(generative.ranker.score(question.text, [candidates[i] for i in read]))
            store_generative(wb, run_id, generative.id, [ids[found[i].sentence_id] for i in read], scores)
    wb.take_stock()
    return {"questions": len(waiting)}
