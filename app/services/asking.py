"""Asking a question: candidates from the corpus, ranked by a cascade with everything it did on record."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import numpy as np
from sqlalchemy.orm import Session

from app.services import labelling, people, retrieval, scoring, versions
from app.services.corpora import get_corpus, hold_corpus
from app.services.first_look import first_look
from app.services.views import AskView, BroughtView, CandidateView, MeasuredView
from app.services.workbench import Workbench
from as2core.cascade.schedule import DropSchedule
from as2core.errors import As2Error, BadSetting
from as2core.spelling import mended
from as2core.text import words
from as2core.types import OnProgress, Progress
from db.repositories import corpora as corpus_rows
from db.repositories import questions as rows

log = logging.getLogger(__name__)

LONG = 60  # words of a question; the encoders cut it after 64 tokens
MOST = 300  # questions brought in at a time


def example_questions(wb: Workbench, corpus_id: int, n: int = 6) -> list[str]:
    """Questions to begin with: labelled ones that have an answer, of different kinds and documents; for a corpus
    without any, what its first documents are about."""
    with wb.read() as s:
        found = rows.answerable(s, corpus_id, 40 * n)
        if not found:
            documents = corpus_rows.find_documents(s, corpus_id, "", n)
            return [f"What is {d.title}?" for d in documents if d.title]
    chosen, seen = [], set()
    for q in sorted(found, key=lambda q: hashlib.blake2b(q.text.encode()).digest()):
        about = q.external_id.rpartition("-")[0] or q.external_id
        if seen.isdisjoint({("kind", q.kind) if q.kind else about, about}):
            seen |= {("kind", q.kind) if q.kind else about, about}
            chosen.append(q.text)
    rest = [q.text for q in found if q.text not in chosen]
    return (chosen + rest)[:n]


def warm(wb: Workbench) -> None:
    """Load what a question needs, so that the first one doesn't wait for it; what fails here is said to who asks."""
    for load in (
        lambda: versions.choose(wb),
        wb.models.embedder,
        lambda: versions.choose(wb, kind=versions.GENERATIVE),
    ):
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
    documents: int = scoring.DOCUMENTS,
    candidates: int | None = None,
    first_keep: int | None = None,
    as_typed: bool = False,
    on_progress: OnProgress | None = None,
) -> AskView:
    """Look at up to `candidates` sentences of the best documents, rank the `first_keep` of them that the first look
    leaves (both by default as in the settings), dropping none on the way, and keep what was scored. A question that
    nobody asked before is mended first (`spelling`), unless it is to be read `as_typed`.

    Raises EmptyQuestion, EmptyCorpus, UnknownCorpus, UnknownVersion, BadSetting, DamagedModel.
    """
    began = time.perf_counter()
    text = typed = retrieval.checked(question)
    get_corpus(wb, corpus_id)

    def tell(done: int, what: str) -> None:
        if on_progress:
            on_progress(Progress(done, 3, what))

    candidates = wb.settings.candidates if candidates is None else candidates
    first_keep = wb.settings.first_keep if first_keep is None else first_keep
    tell(0, "looking for documents")
    find = partial(retrieval.retrieve, wb, corpus_id, documents=documents, candidates=candidates)
    got = find(text, on_progress=on_progress)
    chosen = versions.choose(wb, version)
    if not as_typed:
        text = _mended(wb, corpus_id, text, got.candidates, chosen.ranker)
    slip = words(text) != words(typed)
    if slip:
        first, got = got, find(text)
        got = replace(got, seconds=first.seconds + got.seconds)
    tell(1, f"ranking {min(first_keep, len(got.candidates))} of {len(got.candidates):,} sentences")
    look = first_look(got.candidates, first_keep)
    ranked = scoring.rank(chosen, text, scoring.as_candidates(got.candidates), look)
    tell(2, "keeping the scores")
    storing = time.perf_counter()
    question_id = _question(wb, corpus_id, text)
    seconds = {"retrieve": got.seconds, "rank": ranked.seconds}
    told = {"documents": documents, "candidates": candidates, "first_keep": first_keep, "by": "ask"}
    run_id, ids = scoring.store_run(wb, question_id, chosen, got.candidates, ranked, settings=told, seconds=seconds)
    labels = labelling.labels_of(wb, question_id)
    seconds |= {"store": time.perf_counter() - storing, "total": time.perf_counter() - began}
    return AskView(
        question_id=question_id,
        run_id=run_id,
        corpus_id=corpus_id,
        question=text,
        version=chosen.name,
        candidates=tuple(_view(f, ids.get(f.sentence_id), labels.get(f.sentence_id)) for f in got.candidates),
        trace=ranked.trace,
        probability=ranked.probability,
        threshold=float(chosen.ranker.threshold),
        calibrated=bool(chosen.ranker.calibrated),
        seconds=seconds,
        notes=_notes(text, chosen, got, candidates),
        typed=typed if slip else "",
    )


def _notes(text: str, chosen: versions.Chosen, got: retrieval.Retrieved, limit: int) -> tuple[str, ...]:
    """Sentences for the reader on what was not as usual."""
    notes = [chosen.note, *got.notes, _preparing(chosen.ranker)]
    if len(words(text)) > LONG:
        notes.append(f"This is a long question: the models read its first {LONG} words or so.")
    if got.left_out:
        notes.append(f"{got.left_out:,} more sentences of the documents found were not ranked: the limit is {limit}.")
    return tuple(n for n in notes if n)


def _mended(wb: Workbench, corpus_id: int, text: str, found: Sequence[retrieval.Found], ranker: object) -> str:
    """By the words of what was found and those the ranker knows."""
    with wb.read() as s:
        if rows.question_reading(s, corpus_id, text):
            return text
    there = [*(f.text for f in found), *{f.title for f in found}]
    return mended(text, there, getattr(ranker, "known_words", frozenset()))


def _view(found: retrieval.Found, candidate_id: int | None, label: str | None) -> CandidateView:
    return CandidateView(
        candidate_id,
        found.sentence_id,
        found.text,
        found.title,
        found.document_id,
        found.position,
        found.before,
        found.after,
        found.retrieval_rank,
        label,
    )


def generative(wb: Workbench, asked: AskView) -> np.ndarray:
    """Mean log P of the question given each candidate, `(n,)`, in the order of `asked`; kept for the queues. NaN for
    those that the first look dropped: they are not read here either.

    Raises DamagedModel.
    """
    chosen = versions.choose(wb, kind=versions.GENERATIVE)
    entered = asked.trace.entered
    read = [asked.candidates[i] for i in entered]
    candidates = scoring.as_candidates(read)
    scores = np.full(len(asked.candidates), np.nan)
    scores[entered] = chosen.ranker.score(asked.question, candidates)
    kept = [i for i in entered if asked.candidates[i].id is not None]  # the others left their document meanwhile
    scoring.store_generative(wb, asked.run_id, chosen.id, [asked.candidates[i].id for i in kept], scores[kept])
    return scores


def measure(wb: Workbench, asked: AskView, schedule: DropSchedule, rounds: int = 3) -> MeasuredView:
    """Run the question's cascade for real, with the schedule and dropping none, in turns: medians, after a round that
    doesn't count. Raises DamagedModel."""
    ranker = versions.choose(wb, asked.version).ranker
    read = scoring.as_candidates([asked.candidates[i] for i in asked.trace.entered])
    ways = (DropSchedule.constant(0.0, exits=schedule.exits), schedule)
    taken: list[list[float]] = []
    for _ in range(1 + rounds):
        taken.append([])
        for way in ways:
            began = time.perf_counter()
            ranker.trace(asked.question, read, way)
            taken[-1].append(time.perf_counter() - began)
    whole, dropped = np.median(taken[1:], axis=0)
    return MeasuredView(float(whole), float(dropped))


def explain(wb: Workbench, question: str, candidate: CandidateView) -> list[tuple[str, float]]:
    """Each word of the question with its log P given the sentence. Raises DamagedModel."""
    reading = scoring.as_candidates([candidate])[0].reading
    return versions.choose(wb, kind=versions.GENERATIVE).ranker.explain(question, reading)


def _preparing(ranker: object) -> str:
    """Why this answer took longer than later ones will; empty if it did not."""
    p = getattr(ranker, "preparing", None)
    if p is None:
        return ""
    return f"The quick engine is being prepared ({p.done} of {p.total} parts); until then answers take longer."


def bring(wb: Workbench, corpus_id: int, lines: Sequence[str], *, by: int) -> BroughtView:
    """Store questions as they are typed, one a line, and have them ranked in the background, so that the queues offer
    them. Empty lines, repeats and those already there are left out. All come in or none.

    Raises BadSetting, EmptyQuestion if there is none, UnknownCorpus, NotAllowed for a viewer.
    """
    read = [_line(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    texts = list(dict.fromkeys(read))
    if not texts:
        raise retrieval.EmptyQuestion("there is no question yet: type one a line")
    if len(texts) > MOST:
        raise BadSetting(f"{len(texts):,} questions: bring in {MOST} at a time")
    if not get_corpus(wb, corpus_id).sentences:
        raise BadSetting("the corpus has no sentences yet: add documents first")
    with wb.write(durable=True) as s:
        people.require(s, by)
        hold_corpus(s, corpus_id)
        known = tuple(t for t in texts if not _stored(s, corpus_id, t, wb.clock())[1])
    added = len(texts) - len(known)
    if added:
        scoring.start_scoring(wb, corpus_id, max(added, scoring.SCORE_LIMIT))
    return BroughtView(added, len(read) - len(texts), known)


def _line(number: int, line: str) -> str:
    try:
        return retrieval.checked(line)
    except As2Error as e:
        raise BadSetting(f"line {number}: {e}") from None


def _question(wb: Workbench, corpus_id: int, text: str) -> int:
    """The stored question of this wording, made if there is none."""
    with wb.read() as s:
        if known := rows.question_reading(s, corpus_id, text):
            return known.id
    with wb.write() as s:
        hold_corpus(s, corpus_id)
        return _stored(s, corpus_id, text, wb.clock())[0]


def _stored(s: Session, corpus_id: int, text: str, now: datetime) -> tuple[int, bool]:
    """The question of this wording, and whether it was made now."""
    if known := rows.question_reading(s, corpus_id, text):
        return known.id, False
    name = f"ask-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
    return rows.add_question(s, corpus_id, text, external_id=name, origin="asked", now=now).id, True
