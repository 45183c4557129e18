"""The job that ranks questions for the queues."""

from collections import Counter

from fake_models import write_version
from queue_walks import iterate, walk
from sqlalchemy import select
from tower_texts import QUESTIONS

from app.ask import asking
from app.jobs import queue as jobs
from app.jobs.attempt import JobRun, run_queued
from app.labels import leasing
from app.labels.seats import Seat
from app.ranking import next_question, score_job, scoring
from app.versions import promotion
from app.worker import RUNNERS
from db.models import ModelVersion, Run
from db.repositories import question_lists, queues, versions
from db.repositories import questions as rows


def test_a_scoring_job_fills_the_queues_from_questions_nobody_asked(wb, towers, ann):
    with wb.write() as s:
        for i, q in enumerate(QUESTIONS):
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")) is None
    job = score_job.start_scoring(wb, towers.id, limit=2)
    run_queued(wb, RUNNERS)

    assert jobs.load_job(wb, job.id).result == {"questions": 2}
    assert {i.question for i in walk(wb, towers, ann, "disagree")} == set(QUESTIONS[1:])


def test_a_scoring_job_says_how_long_it_still_takes(wb, towers, monkeypatch):
    with wb.write() as s:
        for i, q in enumerate(QUESTIONS[:3]):
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
    messages, seconds = [], iter([0.0, 0.0, 20.0, 40.0])
    monkeypatch.setattr(JobRun, "seconds", lambda job: next(seconds))
    monkeypatch.setattr(JobRun, "progress", lambda job, share, message: messages.append(message))
    score_job.start_scoring(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert [m for m in messages if "ranked" in m] == [
        "0 of 3 questions ranked",
        "1 of 3 questions ranked",
        "2 of 3 questions ranked, 15 to 25 s left",  # 20 s each, a quarter less or more
    ]


def test_a_scoring_job_takes_first_what_a_retrain_learns_from_and_an_item_says_what_it_does_not(wb, towers, ann):
    with wb.write() as s:
        for i, (q, part) in enumerate(zip(QUESTIONS, ("train", "dev", "test"), strict=False)):
            question = rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
            question.split = part
    score_job.start_scoring(wb, towers.id, limit=1)
    run_queued(wb, RUNNERS)
    [first] = {(i.question, i.is_non_training) for i in iterate(wb, Seat(towers.id, ann.id, "tops"))}
    assert first == (QUESTIONS[0], False)
    score_job.start_scoring(wb, towers.id, limit=2)
    run_queued(wb, RUNNERS)
    excluded = {i.question for i in iterate(wb, Seat(towers.id, ann.id, "tops")) if i.is_non_training}
    assert excluded == set(QUESTIONS[1:3])
    seat = Seat(towers.id, ann.id, "tops")
    [held_out] = [i for i in excluded if i == QUESTIONS[2]]
    with wb.read() as s:
        question = rows.find_question(s, towers.id, held_out)
    assert leasing.open_question(wb, seat, question.id).is_non_training


def test_a_scoring_job_for_some_questions_ranks_those_alone_whether_queued_or_not(wb, towers, ann):
    with wb.write() as s:
        ids = [
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock()).id
            for i, q in enumerate(QUESTIONS)
        ]
        question_lists.set_queued(s, ids[:1], queued=False)
    seat = Seat(towers.id, ann.id, "tops", questions=tuple(ids[:2]))
    assert next_question.count_unranked(wb, seat) == 2
    job = score_job.start_scoring(wb, towers.id, questions=ids[:1])
    run_queued(wb, RUNNERS)
    assert jobs.load_job(wb, job.id).result == {"questions": 1}
    assert next_question.count_unranked(wb, seat) == 1


def promote_at_first_question(wb, monkeypatch, name):
    """Another version is promoted while the job ranks its first question."""
    rank = scoring.rank_question

    def rank_and_promote(*args):
        monkeypatch.setattr(scoring, "rank_question", rank)
        promotion.promote(wb, name)
        return rank(*args)

    monkeypatch.setattr(scoring, "rank_question", rank_and_promote)


def test_a_version_that_is_no_longer_in_use_ranks_no_further_questions(wb, scored, monkeypatch):
    for name in ("towers-1", "towers-2"):
        path = write_version(wb.settings.versions_dir / name)
        with wb.write() as s:
            versions.add_version(s, name, kind="cascade", path=str(path), state="candidate", now=wb.clock())
    promotion.promote(wb, "towers-1")
    promote_at_first_question(wb, monkeypatch, "towers-2")
    run_queued(wb, RUNNERS)
    with wb.read() as s:
        ranked = s.scalars(select(ModelVersion.name).join(Run, Run.version_id == ModelVersion.id)).all()
    assert Counter(ranked) == {"cascade": len(QUESTIONS), "towers-1": 1, "towers-2": len(QUESTIONS)}


def test_new_questions_are_ranked_by_the_version_in_use_at_their_turn(wb, towers, monkeypatch):
    path = write_version(wb.settings.versions_dir / "towers-1")
    with wb.write() as s:
        versions.add_version(s, "towers-1", kind="cascade", path=str(path), state="candidate", now=wb.clock())
        for i, q in enumerate(QUESTIONS):
            rows.add_question(s, towers.id, q, external_id=f"q{i}", origin="imported", now=wb.clock())
    job = score_job.start_scoring(wb, towers.id)
    promote_at_first_question(wb, monkeypatch, "towers-1")
    run_queued(wb, RUNNERS)
    assert jobs.load_job(wb, job.id).result == {"questions": len(QUESTIONS)}
    with wb.read() as s:
        ranked = s.scalars(select(ModelVersion.name).join(Run, Run.version_id == ModelVersion.id)).all()
    assert Counter(ranked) == {"cascade": 1, "towers-1": len(QUESTIONS) - 1}


def test_a_scoring_job_ranks_what_is_new_after_another_question_was_asked(wb, towers):
    with wb.write() as s:
        rows.add_question(s, towers.id, QUESTIONS[1], external_id="q1", origin="imported", now=wb.clock())
    asking.ask(wb, towers.id, QUESTIONS[0])
    job = score_job.start_scoring(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert jobs.load_job(wb, job.id).result == {"questions": 1}


def test_of_a_version_whose_runs_end_at_several_exits_the_deepest_is_read(wb, scored):
    with wb.write() as s:
        runs = s.scalars(select(Run).order_by(Run.id)).all()
        runs[0].last_exit, runs[-1].last_exit = 12, 4
    with wb.read() as s:
        assert {last for _, _, last in queues.list_pool_versions(s, scored.id)} == {12, 0}
