"""Deciding between two rankers on a corpus's own questions: the job that ranks them, and what to label next.

The job freezes the questions of the queues, their labels, and both rankers' scores into its folder. From there a
decision follows from its seed and the labels that people give: which question is drawn next depends on nothing else. So
it is not stored; it is followed from the start, label by label, to the first pair without one.

Several people may label for one decision. Each gets another pair: the one in turn, or one that would come next if the
labels come as predicted. A label given ahead is read when the course gets to its pair, so it changes nothing of which
questions are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby

import numpy as np
from sqlalchemy.orm import Session

from app.compare.question_sets import keep_common_questions
from app.compare.rankers import check_ranker, is_path, name_active, note_trained_on
from app.corpora.corpora import UnknownCorpus
from app.corpora.synonyms import read_synonyms
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.jobs.queue import JobView
from app.labels.consensus import BINARY, find_outcomes
from app.ranking.synonyms import describe_synonyms
from app.versions import loading
from app.workbench import people
from app.workbench.workbench import Workbench
from as2core.deciding.decision import OPEN, Decision, DecisionSettings
from as2core.deciding.differences import UNKNOWN, OrderPair
from as2core.deciding.text import describe_conclusion, describe_evidence
from as2core.errors import As2Error, BadSetting, UnknownData
from as2core.messages import MINUS
from as2core.rankers.base import NeedsQuestions, bind_questions
from as2core.rankers.catalog import rename_spec
from as2core.system.files import write_text
from as2core.types import Candidate, Json, Question
from db.models import Job, JsonObject
from db.repositories import candidates as candidate_rows
from db.repositories.pairs import Pair

FILE = "questions.json"
MAX_PEOPLE = 8  # who can label for one decision at a time, each another pair
MIN_CANDIDATES = 2  # of a question that two rankers can order differently


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """What a decision was asked to settle."""

    a: str
    b: str
    measure: str = "P@1"
    level: float = 0.95
    tolerance: float = 0.02

    @classmethod
    def of(cls, job: JobView) -> DecisionRequest:
        return cls(**job.settings)

    def make_rule(self) -> DecisionSettings:
        """Raises BadSetting for a measure, a level or a tolerance that cannot be."""
        return DecisionSettings(self.measure, self.level, self.tolerance)


def rename_version(job: Job, old: str, new: str) -> None:
    """In a decision, also in one that is made: its conclusion names both rankers."""
    sides = {side: rename_spec(job.settings[side], old, new) for side in ("a", "b")}
    if not sides.items() <= job.settings.items():
        job.settings = {**job.settings, **sides}


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCourse:
    """A decision as far as its labels go. `sentences`: question id -> the ids of its candidates; `steps`: the pairs it
    took a label of, in this order."""

    job_id: int
    request: DecisionRequest
    sentences: Mapping[int, tuple[int, ...]]
    start: Decision
    decision: Decision
    steps: tuple[tuple[Pair, int], ...] = ()

    @property
    def is_open(self) -> bool:
        return self.decision.judge().outcome == OPEN

    @property
    def pair(self) -> Pair | None:
        """What to label next; None when there is a conclusion."""
        item = self.decision.item
        if item is None or not self.is_open:
            return None
        return int(item.qid), self.sentences[int(item.qid)][item.candidate]

    @property
    def chance(self) -> float | None:
        """With which probability the question of `pair` was drawn."""
        item = self.decision.item
        return None if item is None else item.probability

    @property
    def conclusion(self) -> str:
        return describe_conclusion(self.decision.judge(), self.request.a, self.request.b, self.request.make_rule())

    @property
    def evidence(self) -> str:
        rule = self.request.make_rule()
        return describe_evidence(self.decision.judge(), self.request.a, self.request.b, rule, MINUS)

    @property
    def why(self) -> str:
        """Why `pair` is proposed."""
        return f"{self.describe_ranks(self.pair)}, so its label can change the conclusion." if self.pair else ""

    def describe_ranks(self, pair: Pair) -> str:
        """Where both rankers have a candidate; "" for one that is not of this decision."""
        if pair[1] not in self.sentences.get(pair[0], ()):
            return ""
        orders = next(p for p in self.start.pairs if p.qid == str(pair[0]))
        candidate = self.sentences[pair[0]].index(pair[1])
        a, b = (1 + int(np.flatnonzero(order == candidate)[0]) for order in (orders.order_a, orders.order_b))
        return f"Of {len(orders.labels):,} candidates, {self.request.a} ranks it {a} and {self.request.b} {b}"


def start_decision(wb: Workbench, corpus_id: int, request: DecisionRequest, *, by: int | None = None) -> JobView:
    """Queue the ranking of the corpus's questions by both; what somebody has just started is not done twice. Raises
    NotAllowed for a viewer, and for one who is no admin where a ranker is from elsewhere on the machine or from the
    hub; BadSetting, UnknownRanker, UnknownData."""
    outside = [spec for spec in (request.a, request.b) if is_path(spec)]
    with wb.read() as s:
        people.allow(s, by, "decide between rankers", people.ANNOTATOR)
        if outside:
            people.allow(s, by, f"compare with {outside[0]}, which is not of this workbench", people.ADMIN)
    request = replace(request, a=name_active(wb, request.a), b=name_active(wb, request.b))
    if request.a == request.b:
        raise BadSetting(f"{request.a} twice: choose two different rankers")
    for name in (request.a, request.b):
        check_ranker(wb, name)
    request.make_rule()
    with wb.read() as s:
        questions = _list_questions(s, corpus_id)
    if not questions:
        raise UnknownData("no question in the label queues has two candidates: rank some first, or import some")
    keep_common_questions(wb, (request.a, request.b), [q.question for q in questions])
    newest = queue.find_newest(wb, JobKind.DECIDE, corpus_id)
    if newest and newest.is_active and not newest.cancelling and DecisionRequest.of(newest) == request:
        return newest
    detail = f"{request.a} or {request.b}"
    return queue.enqueue(wb, JobKind.DECIDE, asdict(request), corpus_id=corpus_id, by=by, detail=detail)


def run_decision(job: JobRun) -> dict[str, Json]:
    """The background job: both rankers' scores of every question of the queues. Raises UnknownCorpus."""
    if job.corpus_id is None:
        raise UnknownCorpus("the corpus was deleted meanwhile")
    with job.wb.read() as s:
        questions = _list_questions(s, job.corpus_id)
    questions, omissions = _keep_common(job, questions)
    with job.wb.read() as s:
        labels = _read_labels(s, [q.id for q in questions])
    records: list[JsonObject] = [
        {"id": q.id, "sentences": [str(i) for i in q.sentence_ids],
         "labels": [labels.get((q.id, i), UNKNOWN) for i in q.sentence_ids]}
        for q in questions
    ]  # fmt: skip
    synonyms = read_synonyms(job.wb, job.corpus_id)
    notes = [*omissions, *describe_synonyms(synonyms)]
    expanded_questions = list(synonyms.expand_all([q.question for q in questions]))
    for place, side in enumerate(("a", "b")):
        name = str(queue.read_settings(job.wb, job.id)[side])  # it may have been renamed meanwhile
        job.progress(place / 2, f"loading {name}")
        ranker = loading.load_ranker(job.wb, name)
        bind_questions(ranker, expanded_questions)
        if isinstance(ranker, NeedsQuestions):
            notes += [f"{name}: {text}" for text in ranker.describe_differences()]
        notes += note_trained_on(job.wb, name, [q.question.text for q in questions])
        for i, question in enumerate(expanded_questions):
            job.check()
            job.progress((place + i / len(questions)) / 2, f"{name}: {i} of {len(questions)} questions")
            records[i][side] = np.asarray(ranker.score(question.text, question.candidates), dtype=float).tolist()
    write_text(json.dumps(records), job.folder / FILE)
    return {"questions": len(questions), "notes": list[Json](notes)}


def open_decision(wb: Workbench, job_id: int) -> DecisionCourse:
    """As far as the labels go now. Raises UnknownJob, As2Error where it is not ranked yet or its files are gone."""
    job = queue.load_job(wb, job_id)
    file = wb.settings.jobs_dir / str(job_id) / FILE
    if job.kind != JobKind.DECIDE or job.state != "done":
        raise As2Error(f"job {job_id} is no decision that can be made: it is a {job.kind} and {job.state}")
    if not file.is_file():
        raise As2Error(f"the questions of decision {job_id} are gone ({file}): start it again")
    records = json.loads(file.read_text(encoding="utf-8"))
    request = DecisionRequest.of(job)
    pairs = [
        OrderPair.of_scores(str(r["id"]), np.array(r["a"]), np.array(r["b"]), np.array(r["labels"])) for r in records
    ]
    start = Decision.start(pairs, request.make_rule())
    sentences = {r["id"]: tuple(map(int, r["sentences"])) for r in records}
    return follow(wb, DecisionCourse(job_id, request, sentences, start, start))


def follow(wb: Workbench, course: DecisionCourse) -> DecisionCourse:
    """With the labels given since; from the start where one of its labels was changed or taken back."""
    with wb.read() as s:
        labels = _read_labels(s, {pair[0] for pair, _ in course.steps})
        if any(labels.get(pair) != label for pair, label in course.steps):
            course = replace(course, decision=course.start, steps=())
        question_ids = {pair[0] for pair, _ in course.steps}
        while (pair := course.pair) is not None:
            if pair[0] not in question_ids:
                labels |= _read_labels(s, [pair[0]])
                question_ids.add(pair[0])
            if pair not in labels:
                return course
            label = labels[pair]
            course = replace(course, decision=course.decision.give(label), steps=(*course.steps, (pair, label)))
    return course


def list_ahead(wb: Workbench, course: DecisionCourse) -> Iterator[DecisionCourse]:
    """The course, then as it would go on if each label came as it is predicted: their pairs are what as many people can
    label at a time. It ends where there would be a conclusion."""
    for _ in range(MAX_PEOPLE):
        if course.pair is None:
            return
        yield course
        course = follow(wb, replace(course, decision=course.decision.suppose()))


@dataclass(frozen=True, slots=True)
class _QueuedQuestion:
    """`question`: with the ids that files have; `sentence_ids`: of its candidates."""

    id: int
    question: Question
    sentence_ids: tuple[int, ...]


def _keep_common(job: JobRun, questions: Sequence[_QueuedQuestion]) -> tuple[list[_QueuedQuestion], list[str]]:
    """As `keep_common_questions`."""
    settings = queue.read_settings(job.wb, job.id)
    sides = [str(settings[side]) for side in ("a", "b")]
    common, notes = keep_common_questions(job.wb, sides, [q.question for q in questions])
    qids = {q.qid for q in common}
    return [q for q in questions if q.question.qid in qids], notes


def _list_questions(s: Session, corpus_id: int) -> list[_QueuedQuestion]:
    """Those in the label queues that two rankers can order differently."""
    rows = candidate_rows.list_candidate_rows(s, corpus_id)
    ids = candidate_rows.make_unique_candidate_ids(s, corpus_id)
    questions = []
    for question_id, of_one in groupby(rows, key=lambda r: r.question_id):
        group = list(of_one)
        candidates = [r for r in group if r.sentence_id is not None and not r.retired]
        if not group[0].queued or len(candidates) < MIN_CANDIDATES:
            continue
        texts = tuple(
            Candidate(ids.get((question_id, r.sentence_id), r.candidate), r.text, title=r.title) for r in candidates
        )
        question = Question(group[0].qid, group[0].question, texts)
        questions.append(_QueuedQuestion(question_id, question, tuple(r.sentence_id for r in candidates)))
    return questions


def _read_labels(s: Session, question_ids: Collection[int]) -> dict[Pair, int]:
    """Of every pair that somebody labelled: 1 correct; 0 for the rest, unsure and disputed ones included."""
    outcomes = find_outcomes(s, question_ids=list(question_ids))
    return {pair: BINARY.get(label or "", 0) for pair, label in outcomes.items()}
