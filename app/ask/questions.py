"""The questions of a corpus: adding them one at a time or as a list."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.corpora.corpora import check_has_sentences, lock_corpus
from app.jobs.kinds import JobKind
from app.ranking import score_job
from app.ranking.retrieval import EmptyQuestion, normalise_question
from app.workbench import audit, people
from app.workbench.workbench import Workbench
from as2core.errors import As2Error, BadSetting
from as2core.messages import count
from as2core.questions.rewording import find_exact_form
from db.models import ASKED, Corpus
from db.repositories import jobs as job_rows
from db.repositories import questions as rows
from db.repositories.questions import LISTED, PROPOSED

ADD = "add questions"  # in the audit log
MAX_ADDED_QUESTIONS = 1000  # at a time
_PREFIXES = {ASKED: "ask", LISTED: "ask", PROPOSED: "proposed"}  # origin -> what the external id starts with


@dataclass(frozen=True, slots=True)
class AddedQuestionsView:
    """How many questions of a list are new, how many lines repeated another, and which questions existed already.
    `queued_count`: how many of those were in no label queue until now."""

    new_count: int
    repeat_count: int
    existing_questions: tuple[str, ...]
    queued_count: int = 0


def add_questions(wb: Workbench, corpus_id: int, lines: Sequence[str], *, by: int | None) -> AddedQuestionsView:
    """Store questions, one a line, and have them ranked in the background, so that the queues offer them. Empty lines,
    repeats and existing questions are skipped: those of the same words, case, punctuation and articles aside. All are
    stored or none. `by` None is the command line. Raises BadSetting, EmptyQuestion if there is none, UnknownCorpus,
    NotAllowed for a viewer."""
    questions = [_normalise_line(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    texts: dict[tuple[str, ...], str] = {}
    for question in questions:
        texts.setdefault(_find_form(question), question)
    if not texts:
        raise EmptyQuestion("there is no question yet: type one per line")
    if len(texts) > MAX_ADDED_QUESTIONS:
        raise BadSetting(f"{len(texts):,} questions are too many: add up to {MAX_ADDED_QUESTIONS:,} at a time")
    check_has_sentences(wb, corpus_id)
    with wb.read() as s:
        alike = {_find_form(text): text for text in reversed(rows.list_texts(s, corpus_id))}
    with wb.write(durable=True) as s:
        people.allow(s, by, ADD)
        lock_corpus(s, corpus_id)
        is_queued_by_text: dict[str, bool] = {}  # text -> whether it is in the label queues
        for form, text in texts.items():
            row = rows.find_question(s, corpus_id, text) or rows.find_question(s, corpus_id, alike.get(form, text))
            if row is not None:
                is_queued_by_text[row.text] = row.queued
            find_or_add(s, corpus_id, row.text if row else text, LISTED, wb.clock())
        new_count, unqueued_texts = len(texts) - len(is_queued_by_text), list(is_queued_by_text.values()).count(False)
        if new_count or unqueued_texts:
            queued = f", {count(unqueued_texts, 'earlier one')} put in the label queues" if unqueued_texts else ""
            detail = f"{new_count:,} new{queued}"
            audit.record(s, wb.clock(), by, ADD, s.get_one(Corpus, corpus_id).name, detail)
    if new_count or unqueued_texts:
        score_job.start_scoring(wb, corpus_id, max(new_count + unqueued_texts, score_job.MAX_JOB_QUESTIONS))
    return AddedQuestionsView(new_count, len(questions) - len(texts), tuple(is_queued_by_text), unqueued_texts)


def rank_in_background(wb: Workbench, corpus_id: int) -> None:
    """Have the questions ranked that are new in the label queues, if any, unless a job waits that will do so."""
    with wb.read() as s:
        is_waiting = any(j.state == "queued" for j in job_rows.list_active_jobs(s, JobKind.SCORE, corpus_id))
    if not is_waiting and score_job.has_unranked(wb, corpus_id):  # a running job has its list of questions already
        score_job.start_scoring(wb, corpus_id)


def _find_form(text: str) -> tuple[str, ...]:
    """The same for questions of the same words, case, punctuation and articles aside."""
    return find_exact_form(text) or (text,)


def _normalise_line(number: int, line: str) -> str:
    try:
        return normalise_question(line)
    except As2Error as e:
        raise BadSetting(f"line {number}: {e}") from None


def find_or_add(s: Session, corpus_id: int, text: str, origin: str, now: datetime) -> tuple[int, bool]:
    """The id of the question of this wording, and whether it is new. One that was only asked enters the label queues
    when it comes from elsewhere."""
    if question := rows.find_question(s, corpus_id, text):
        question.queued = question.queued or origin != ASKED
        return question.id, False
    name = f"{_PREFIXES[origin]}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
    return rows.add_question(s, corpus_id, text, external_id=name, origin=origin, now=now).id, True
