"""Proposed questions, for a corpus nobody has asked yet: they are made of its sentences, and a person decides.

A background job draws sentences at random and turns into questions those that the rules can turn; of the questions of a
sentence, the likeliest by the generative version comes first. A question is proposed only if a search for it ranks its
sentence among the first few. An accepted question, as it is or edited, becomes a question of the corpus, with its
sentence labelled correct by the person who accepted it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.ask.questions import find_or_add, rank_in_background
from app.corpora.corpora import check_has_sentences, lock_corpus
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels import annotation
from app.labels.guidelines import find_guidelines
from app.labels.items import Presentation
from app.ranking import scoring
from app.ranking.retrieval import check_question
from app.versions import loading
from app.workbench import audit, people
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import As2Error, BadSetting
from as2core.generation.questions import Writer, rule_writer
from as2core.generation.round_trip import add_if_new, normalise
from as2core.types import CORRECT, Json
from db.models import ASKED, Corpus, Proposal, Sentence
from db.repositories import labels as label_rows
from db.repositories import proposals as rows
from db.repositories import question_lists
from db.repositories import questions as question_rows
from db.repositories.questions import PROPOSED

# in the audit log
ACCEPT, REJECT, RESTORE = "accept a proposal", "reject a proposal", "restore a rejected proposal"
UNDO_ACCEPTANCE = "undo the acceptance of a proposal"
DEFAULT_QUESTIONS, MAX_QUESTIONS = 20, 200  # questions of one run
MAX_TRIES_PER_QUESTION = 6  # sentences
SENTENCES_PER_CHECK = 200  # sentences without a question between two checks whether the job is to stop
MAX_RANK = 3  # of the sentence, when its question is asked
MIN_WORDS, MAX_WORDS = 6, 60  # of a sentence
MAX_LISTED_PROPOSALS = 50
MAX_COUNTED_SENTENCES = 2000  # of a corpus whose suitable sentences are counted beforehand, in some 50 ms


class AlreadyDecided(As2Error):
    """Somebody accepted or rejected the proposal already, or its sentence was deleted."""


@dataclass(frozen=True, slots=True)
class ProposalView:
    """`place` is the rank of its sentence when the corpus was asked, from 1."""

    id: int
    text: str
    sentence: str
    title: str
    place: int


@dataclass(frozen=True, slots=True)
class ProposalsView:
    """The oldest waiting ones, and how many there are in each state."""

    page: tuple[ProposalView, ...]
    waiting: int
    accepted_count: int
    rejected_count: int


def start(
    wb: Workbench,
    corpus_id: int,
    *,
    number: int = DEFAULT_QUESTIONS,
    seed: int | None = None,
    by: int | None = None,
) -> JobView:
    """Propose questions in the background; without a seed every run draws other sentences. `by`: who asks for them.
    Raises UnknownCorpus, BadSetting."""
    if not 1 <= number <= MAX_QUESTIONS:
        raise BadSetting(f"{number} questions: ask for 1 to {MAX_QUESTIONS} at a time")
    check_has_sentences(wb, corpus_id)
    if seed is None:
        with wb.read() as s:
            seed = sum(rows.count_by_state(s, corpus_id).values())
    return queue.enqueue(wb, JobKind.PROPOSE, {"wanted": number, "seed": seed}, corpus_id=corpus_id, by=by, once=True)


def find_same_job(wb: Workbench, corpus_id: int, *, number: int, seed: int | None = None) -> JobView | None:
    """The corpus's job that waits or runs for so many questions, with this seed if one is given."""
    active = queue.list_active(wb, JobKind.PROPOSE, corpus_id)
    same = (j for j in active if j.settings.get("wanted") == number and seed in (None, j.settings.get("seed")))
    return next((j for j in same if not j.cancelling), None)


def count_suitable_sentences(wb: Workbench, corpus_id: int) -> int:
    """How many sentences without a proposal the rules can turn into a question: no run proposes more."""
    with wb.read() as s:
        texts = [r.text for r in _select_short(rows.list_untried_sentences(s, corpus_id))]
    write = rule_writer(texts)
    return sum(bool(drafts) for drafts in write(texts, 1))


def list_waiting(wb: Workbench, corpus_id: int) -> ProposalsView:
    with wb.read() as s:
        waiting, counts = rows.list_waiting(s, corpus_id, MAX_LISTED_PROPOSALS), rows.count_by_state(s, corpus_id)
    states = (rows.WAITING, rows.ACCEPTED, rows.REJECTED)
    return ProposalsView(tuple(ProposalView(*row) for row in waiting), *(counts.get(state, 0) for state in states))


def accept(wb: Workbench, proposal_id: int, *, annotator_id: int, text: str | None = None) -> int:
    """Make it a question, with `text` as its wording if given, and label its sentence correct, both or neither; returns
    the question's id. A scoring job finds its other candidates. Raises AlreadyDecided, BadSetting for an empty text,
    NotAllowed for a viewer, UnknownCorpus."""
    with wb.write(durable=True) as s:
        people.require(s, annotator_id, ACCEPT)
        corpus_id = rows.find_corpus_id(s, proposal_id)
        if corpus_id is not None:  # locked before the proposal, in the order in which a corpus is deleted
            lock_corpus(s, corpus_id)
        row = _lock_waiting(s, proposal_id)
        wording = " ".join(make_storable(row.text if text is None else text).split())
        if not wording:
            raise BadSetting("the question is empty: write one, or reject the proposal")
        check_question(wording)
        question_id, _ = find_or_add(s, row.corpus_id, wording, PROPOSED, wb.clock())
        row.state, row.question_id, corpus_id = rows.ACCEPTED, question_id, row.corpus_id
        guideline = find_guidelines(s, corpus_id).version
        presentation = Presentation(scores_visible=False, guideline=guideline)
        annotation.add_label(s, wb.clock(), (question_id, row.sentence_id), annotator_id, CORRECT, presentation)
        proposal = "" if wording == row.text else f"; proposed: {row.text}"
        detail = f"of {s.get_one(Corpus, corpus_id).name}{proposal}"
        audit.record(s, wb.clock(), annotator_id, ACCEPT, wording, detail)
    rank_in_background(wb, corpus_id)
    return question_id


def reject(wb: Workbench, proposal_id: int, *, annotator_id: int) -> None:
    """Nothing like it is proposed again. Raises AlreadyDecided, NotAllowed for a viewer."""
    with wb.write() as s:
        people.require(s, annotator_id, REJECT)
        row = _lock_waiting(s, proposal_id)
        row.state = rows.REJECTED
        audit.record(s, wb.clock(), annotator_id, REJECT, row.text, f"of {s.get_one(Corpus, row.corpus_id).name}")


def restore(wb: Workbench, proposal_id: int, *, annotator_id: int) -> None:
    """A rejected one waits again. Raises AlreadyDecided, NotAllowed for a viewer."""
    with wb.write() as s:
        people.require(s, annotator_id, RESTORE)
        row = s.get(Proposal, proposal_id, with_for_update=True)
        if row is None or row.state != rows.REJECTED:
            raise AlreadyDecided("this proposal was restored already, or its sentence was deleted")
        row.state = rows.WAITING
        audit.record(s, wb.clock(), annotator_id, RESTORE, row.text, f"of {s.get_one(Corpus, row.corpus_id).name}")


def undo_acceptance(wb: Workbench, proposal_id: int, *, annotator_id: int) -> None:
    """One that this person accepted waits again: their label is undone, and the question deleted unless it is there for
    more than that. Raises AlreadyDecided, NotAllowed for a viewer, UnknownCorpus."""
    wb.later.finish()  # a run that was stored after its question would have none to belong to
    with wb.write(durable=True) as s:
        people.require(s, annotator_id, UNDO_ACCEPTANCE)
        corpus_id = rows.find_corpus_id(s, proposal_id)
        if corpus_id is not None:  # locked before the proposal, as in `accept`
            lock_corpus(s, corpus_id)
        row = s.get(Proposal, proposal_id, with_for_update=True)
        if corpus_id is None or row is None or row.state != rows.ACCEPTED:
            raise AlreadyDecided("this proposal was taken back already, or its sentence was deleted")
        question = None if row.question_id is None else question_lists.lock_question(s, row.question_id)
        row.state, row.question_id, text = rows.WAITING, None, row.text
        if question is not None:
            text = question.text
            newest = label_rows.find_newest_event(s, question.id, row.sentence_id, annotator_id)
            if newest is not None and newest.label == CORRECT and not newest.queue:  # as `accept` gave it
                annotation.undo_events(s, [newest], wb.clock())
            s.flush()
            if question.origin == PROPOSED and not rows.has_use(s, question.id, proposal_id):
                question_lists.delete_question(s, question.id)
        audit.record(s, wb.clock(), annotator_id, UNDO_ACCEPTANCE, text, f"of {s.get_one(Corpus, corpus_id).name}")


def _lock_waiting(s: Session, proposal_id: int) -> Proposal:
    row = s.get(Proposal, proposal_id, with_for_update=True)
    if row is None or row.state != rows.WAITING:
        raise AlreadyDecided("this proposal was already decided, or its sentence was deleted")
    return row


def run_propose(job: JobRun, write: Writer | None = None) -> dict[str, Json]:
    """The background job. Proposals are stored one by one and counted in the job's result, so an interrupted job
    continues with other sentences, for as many as are missing."""
    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None:
        return {"proposed": 0, "tried": 0}
    total, seed = int(job.settings.get("wanted", DEFAULT_QUESTIONS)), int(job.settings.get("seed", 0))
    model = loading.load_version(wb)
    with wb.read() as s:
        texts = {normalise(t) for t in rows.list_texts(s, corpus_id)}
        all_questions = question_rows.list_questions(s, corpus_id)
        texts |= {normalise(q.text) for q in all_questions if q.queued or q.origin != ASKED}
        pool = rows.list_untried_sentences(s, corpus_id)
    sentences = _select_short(pool)
    write = write or load_writer(wb, [r.text for r in sentences])
    random.Random(seed).shuffle(sentences)
    proposals, earlier_attempts = (int(job.earlier_result.get(name, 0)) for name in ("proposed", "tried"))
    attempts, max_tries = 0, MAX_TRIES_PER_QUESTION * (total - proposals)
    for number, row in enumerate(sentences):
        if proposals == total or attempts == max_tries:
            break
        questions = write([row.text], 1)[0]
        if not questions and number % SENTENCES_PER_CHECK:
            continue
        job.publish({"proposed": proposals, "tried": earlier_attempts + attempts})
        job.step_back()
        job.progress(max(proposals / total, attempts / max_tries), f"{proposals} of {total} questions found")
        attempts += bool(questions)
        for text, log_p in questions:
            if not add_if_new(text, texts):
                continue
            place = scoring.rank_question(wb, corpus_id, text, model).rank_of(row.id)
            if place is not None and place <= MAX_RANK:
                with wb.write() as s:
                    lock_corpus(s, corpus_id)
                    sentence = s.get(Sentence, row.id)
                    if sentence is None or sentence.retired:  # deleted with its document while it was ranked
                        break
                    rows.add_proposal(
                        s, corpus_id, row.id, make_storable(text), log_p=log_p or 0.0, place=place, now=wb.clock()
                    )
                proposals += 1
                break
    # a run that ended before its last sentence does not know how many of them have a form that can be turned
    is_complete = proposals < total and attempts < max_tries
    result = {"proposed": proposals, "tried": earlier_attempts + attempts}
    return {**result, **({"sentences": len(pool)} if is_complete else {})}


def _select_short(sentences: Sequence[Row]) -> list[Row]:
    return [r for r in sentences if MIN_WORDS <= len(r.text.split()) <= MAX_WORDS]


def load_writer(wb: Workbench, texts: Sequence[str]) -> Writer:
    """The rules, scored by the active generative version; `texts` show how the corpus writes its words. Raises
    DamagedModel."""
    return rule_writer(texts, scoring.load_generative(wb))
