"""Questions to start from where nobody has asked yet: they are made of a corpus's sentences, and a person decides.

A background job takes sentences at random and turns into questions those that the rules can turn, the one first that
the generative version holds for the likeliest. A question is kept only if asking the corpus leads back: among all the
sentences found for it, the active version puts the one it was made of among the first few. What is accepted, in its
words or corrected, becomes a question of the corpus, with its sentence labelled correct by whoever accepted it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

from app import jobs
from app.running import Running
from app.services import labelling, people, retrieval, scoring, versions
from app.services.corpora import get_corpus, hold_corpus
from app.services.first_look import first_look
from app.services.proposal_views import ProposalsView, ProposalView
from app.services.views import CORRECT, JobView, Shown
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting
from as2core.generation.questions import Writer, ruled
from as2core.generation.round_trip import is_new, normal
from db.repositories import jobs as job_rows
from db.repositories import proposals as rows
from db.repositories import questions as question_rows
from db.repositories import reviews

WANTED, MOST = 20, 200
TRIES = 6  # sentences with a question tried for each one wanted
BREATH = 200  # sentences without one between two looks whether to stop
WITHIN = 3  # the sentence has to come back among the first so many
WORDS = (6, 60)  # a sentence with fewer says too little, with more too much
SHOWN = 50


class Decided(As2Error):
    """Somebody has accepted or rejected it already, or its sentence is gone."""


def start(wb: Workbench, corpus_id: int, *, wanted: int = WANTED, seed: int | None = None) -> JobView:
    """Propose questions in the background; without a seed every run draws other sentences.

    Raises UnknownCorpus, BadSetting.
    """
    if not 1 <= wanted <= MOST:
        raise BadSetting(f"{wanted} questions: ask for 1 to {MOST} at a time")
    if not get_corpus(wb, corpus_id).sentences:
        raise BadSetting("the corpus has no sentences yet: add documents first")
    if seed is None:
        with wb.read() as s:
            seed = sum(rows.counts(s, corpus_id).values())
    return jobs.enqueue(wb, "propose", {"wanted": wanted, "seed": seed}, corpus_id=corpus_id)


def newest_job(wb: Workbench, corpus_id: int) -> JobView | None:
    """The corpus's last job of this kind."""
    return jobs.newest(wb, "propose", corpus_id)


def cancel(wb: Workbench, job_id: int) -> JobView:
    """What was proposed so far stays."""
    return jobs.cancel(wb, job_id)


def waiting(wb: Workbench, corpus_id: int) -> ProposalsView:
    """What waits for a decision, the oldest first, and how many there are of each kind."""
    with wb.read() as s:
        found, counts = rows.waiting(s, corpus_id, SHOWN), rows.counts(s, corpus_id)
    return ProposalsView(
        tuple(ProposalView(r.id, r.text, r.sentence, r.title, r.document_id, r.place) for r in found),
        waiting=counts.get(rows.WAITING, 0),
        accepted=counts.get(rows.ACCEPTED, 0),
        rejected=counts.get(rows.REJECTED, 0),
    )


def accept(wb: Workbench, proposal_id: int, *, annotator_id: int, text: str | None = None) -> int:
    """Make it a question, in other words if `text` says so, with its sentence labelled correct, all of it or nothing;
    the question's number. Its other candidates come with a scoring job.

    Raises Decided, BadSetting for an empty text, NotAllowed for a viewer, UnknownCorpus.
    """
    with wb.write(durable=True) as s:
        people.require(s, annotator_id)
        if (of := rows.corpus_of(s, proposal_id)) is not None:  # before the proposal, as who deletes the corpus does
            hold_corpus(s, of)
        row = rows.lock(s, proposal_id)
        if row is None or row.state != rows.WAITING:
            raise Decided("this proposal was decided meanwhile; the next one comes")
        said = " ".join(storable(row.text if text is None else text).split())
        if not said:
            raise BadSetting("a question needs words: write one, or reject the proposal")
        known = question_rows.question_reading(s, row.corpus_id, said)
        if known is None:
            name = f"proposed-{hashlib.blake2b(said.encode(), digest_size=6).hexdigest()}"
            known = question_rows.add_question(
                s, row.corpus_id, said, external_id=name, origin="proposed", now=wb.clock()
            )
        row.state, row.question_id = rows.ACCEPTED, known.id
        question_id, corpus_id = known.id, row.corpus_id
        guideline = reviews.newest_guideline(s, corpus_id)
        shown = Shown(scores_visible=False, guideline=guideline[0].version if guideline else 0)
        labelling.give_within(s, wb, (question_id, row.sentence_id), annotator_id, CORRECT, shown)
    with wb.read() as s:
        scored_anyway = any(j.state == "queued" for j in job_rows.active_jobs(s, "score", corpus_id))
    if not scored_anyway:  # one that runs has its questions already
        scoring.start_scoring(wb, corpus_id)
    return question_id


def reject(wb: Workbench, proposal_id: int, *, annotator_id: int) -> None:
    """Put it aside; none like it is proposed again. Raises Decided, NotAllowed for a viewer."""
    with wb.write() as s:
        people.require(s, annotator_id)
        row = rows.lock(s, proposal_id)
        if row is None or row.state != rows.WAITING:
            raise Decided("this proposal was decided meanwhile; the next one comes")
        row.state = rows.REJECTED


def run_propose(job: Running, write: Writer | None = None) -> dict[str, Any]:
    """The background job. What it found is stored at once: a run that was stopped goes on with other sentences."""
    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None:
        return {"proposed": 0, "tried": 0}
    wanted, seed = int(job.settings.get("wanted", WANTED)), int(job.settings.get("seed", 0))
    chosen = versions.choose(wb)
    with wb.read() as s:
        seen = {normal(t) for t in rows.texts(s, corpus_id)}
        seen |= {normal(q.text) for q in question_rows.questions(s, corpus_id)}
        sentences = [r for r in rows.untried_sentences(s, corpus_id) if WORDS[0] <= len(r.text.split()) <= WORDS[1]]
    write = write or writer(wb, [r.text for r in sentences])
    random.Random(seed).shuffle(sentences)
    proposed = tried = 0
    for number, row in enumerate(sentences):
        if proposed == wanted or tried == TRIES * wanted:
            break
        written = write([row.text], 1)[0]
        if not written and number % BREATH:
            continue
        job.step_back()
        job.progress(max(proposed / wanted, tried / (TRIES * wanted)), f"{proposed} of {wanted} questions found")
        tried += bool(written)
        for text, log_p in written:
            if not is_new(text, seen):
                continue
            place = _place(wb, chosen, corpus_id, text, row.id)
            if place is not None and place <= WITHIN:
                _store(wb, corpus_id, row.id, text, log_p or 0.0, place)
                proposed += 1
                break
    return {"proposed": proposed, "tried": tried}


def writer(wb: Workbench, texts: Sequence[str]) -> Writer:
    """The rules, judged by the active generative version; `texts` show how the corpus writes its words. Raises
    DamagedModel."""
    return ruled(texts, versions.choose(wb, kind=versions.GENERATIVE).ranker)


def _place(wb: Workbench, chosen: versions.Chosen, corpus_id: int, question: str, sentence_id: int) -> int | None:
    """The sentence's rank, from 1, when the corpus is asked; None where it is not even found."""
    found = retrieval.retrieve(
        wb, corpus_id, question, documents=scoring.DOCUMENTS, candidates=wb.settings.candidates
    ).candidates
    look = first_look(found, wb.settings.first_keep)
    trace = scoring.rank(chosen, question, scoring.as_candidates(found), look).trace
    ranked = (found[int(i)].sentence_id for i in trace.ranking())
    return next((rank for rank, s in enumerate(ranked, 1) if s == sentence_id), None)


def _store(wb: Workbench, corpus_id: int, sentence_id: int, text: str, log_p: float, place: int) -> None:
    with wb.write() as s:
        hold_corpus(s, corpus_id)
        rows.add(s, corpus_id, sentence_id, storable(text), log_p=log_p, place=place, now=wb.clock())
