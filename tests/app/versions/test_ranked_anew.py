"""Questions of the queues are ranked anew when another version is in force, and when an update brings other weights."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import select

from app import bootstrap
from app.corpora import ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, consensus, leasing
from app.labels.seats import Seat
from app.versions import management, promotion, registry
from app.worker import RUNNERS
from db.models import Candidate, ModelVersion, Run


def open_update(wb, settings, models, **card):
    """The workbench of a program whose cascade is another."""
    described = {"name": "cascade", "metrics": {"AP": 0.8}, "sha256": "b", **card}
    (settings.models_dir / "cascade" / "card.json").write_text(json.dumps(described))
    wb.clock.advance(hours=1)
    return bootstrap.open(settings, models, wb.clock)


@pytest.fixture
def open_and_closed(wb, towers, ann, ask_queued):
    """A question without a label, and one with a label on every candidate; both are in the queues."""
    run_queued(wb, RUNNERS)  # the vectors
    asked = ask_queued(towers.id, "When was the tower finished?")
    closed = ask_queued(towers.id, "Who built the bridge?")
    for c in closed.candidates:
        annotation.give_label(
            wb, question_id=closed.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="incorrect"
        )
    return asked, closed


def test_an_update_that_brings_other_weights_has_their_numbers_and_ranks_open_questions_anew(
    wb, settings, models, towers, ann, open_and_closed
):
    asked, closed = open_and_closed
    there = open_update(wb, settings, models, note="from spring")
    now = registry.get_active(there)
    assert (now.name, now.state, now.metrics, now.note) == ("cascade", "active", {"AP": 0.8}, "from spring")
    run_queued(there, RUNNERS)
    assert [(j.corpus_id, j.result) for j in queue.list_jobs(there, "score")] == [(towers.id, {"questions": 1})]
    with there.read() as s:
        begun = dict(s.execute(select(Candidate.question_id, Run.created).join(Run, Run.id == Candidate.run_id)).all())
    assert begun == {asked.question_id: there.clock(), closed.question_id: there.clock() - timedelta(hours=1)}
    pair = {"question_id": closed.question_id, "sentence_id": closed.candidates[0].sentence_id}
    item = leasing.open_item(there, **pair, annotator_id=ann.id)
    assert (item.version, item.label) == ("cascade", "incorrect")
    assert item.rank is not None  # what was said of it once can still be read
    assert consensus.read_labels(there, closed.question_id).keys() == {c.sentence_id for c in closed.candidates}
    there.close()


@pytest.mark.parametrize(("sums", "jobs_then"), [({}, []), ({"config_sha256": "c"}, ["queued"])])
def test_an_update_is_noticed_once_and_by_weights_and_configuration_alone(
    wb, settings, models, towers, sums, jobs_then, ask_queued
):
    run_queued(wb, RUNNERS)  # the vectors
    ask_queued(towers.id, "When was the tower finished?")
    first = open_update(wb, settings, models)  # the row knew no sum: it is from an older program
    assert [j.state for j in queue.list_jobs(first, "score")] == ["queued"]
    run_queued(first, RUNNERS)
    again = open_update(wb, settings, models, licence="another line of the card", **sums)
    assert [j.state for j in queue.list_jobs(again, "score")] == [*jobs_then, "done"]
    for there in (first, again):
        there.close()


def test_an_update_of_the_version_behind_the_one_in_force_ranks_nothing_until_it_is_in_force_again(
    wb, settings, models, candidates, towers, ask_queued
):
    run_queued(wb, RUNNERS)  # the vectors
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.promote(wb, "towers-1")
    run_queued(wb, RUNNERS)
    there = open_update(wb, settings, models)
    assert registry.get_version(there, "cascade").metrics == {"AP": 0.8}
    assert [j.state for j in queue.list_jobs(there, "score")] == ["done"]
    promotion.roll_back(there)
    assert list_followed_versions(there, asked) == {"towers-1"}  # not the scores that the old weights gave
    run_queued(there, RUNNERS)
    assert queue.list_jobs(there, "score")[0].result == {"questions": 1}
    assert list_followed_versions(there, asked) == {"cascade"}
    there.close()


def test_a_note_given_here_stays_where_the_new_card_has_none(wb, settings, models):
    management.set_note(wb, "cascade", "good enough")
    there = open_update(wb, settings, models)
    assert registry.get_active(there).note == "good enough"
    there.close()


def test_another_version_in_force_ranks_open_questions_anew_in_the_background(wb, candidates, towers, open_and_closed):
    asked, _ = open_and_closed
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "towers-2")
    [job] = queue.list_jobs(wb, "score")
    assert (job.state, job.corpus_id) == ("queued", towers.id)
    run_queued(wb, RUNNERS)
    assert queue.load_job(wb, job.id).result == {"questions": 1}
    with wb.read() as s:
        ranked = s.scalars(select(Run.question_id).where(Run.version_id == registry.get_active(wb).id))
        assert list(ranked) == [asked.question_id]
    promotion.roll_back(wb)
    assert [j.state for j in queue.list_jobs(wb, "score")] == ["queued", "done"]
    run_queued(wb, RUNNERS)
    promotion.promote(wb, "towers-2")  # it has ranked them
    assert list_followed_versions(wb, asked) == {"towers-2"}
    run_queued(wb, RUNNERS)
    assert queue.list_jobs(wb, "score")[0].result == {"questions": 0}


@pytest.mark.parametrize(
    ("asked_of_it", "jobs"),
    [({"again": True}, 1), ({}, 2), ({"again": True, "questions": [1]}, 2)],
    ids=["all again", "the unranked", "some again"],
)
def test_only_a_queued_job_that_ranks_all_again_saves_another_one(
    wb, candidates, towers, ask_queued, asked_of_it, jobs
):
    ask_queued(towers.id, "When was the tower finished?")
    queue.enqueue(wb, "score", {"limit": 5, **asked_of_it}, corpus_id=towers.id)
    promotion.promote(wb, "towers-1")
    assert len(queue.list_active(wb, "score", towers.id)) == jobs


@pytest.mark.parametrize("act", ["promote", "roll back"])
def test_a_kill_after_another_version_became_active_leaves_no_queue_unranked(
    wb, candidates, towers, ask_queued, monkeypatch, act
):
    ask_queued(towers.id, "When was the tower finished?")
    if act == "roll back":
        promotion.promote(wb, "towers-1")
        run_queued(wb, RUNNERS)

    def die(_wb):
        raise KeyboardInterrupt

    monkeypatch.setattr(promotion, "start_worker_if_needed", die)  # what comes first after the transaction
    with pytest.raises(KeyboardInterrupt):
        promotion.promote(wb, "towers-1") if act == "promote" else promotion.roll_back(wb)
    (job,) = queue.list_active(wb, "score", towers.id)
    assert job.settings["again"] is True


def list_followed_versions(wb, asked):
    """The versions whose scores the queues go by."""
    with wb.read() as s:
        of = select(Run.version_id).join(Candidate).where(Candidate.question_id == asked.question_id)
        return set(s.scalars(select(ModelVersion.name).where(ModelVersion.id.in_(of))))


def cut(wb, asked):
    found = select(Candidate.id, Candidate.cut_layer, Candidate.cut_rank, Candidate.cut_kept, Candidate.cut_margin)
    with wb.read() as s:
        return s.execute(found.where(Candidate.question_id == asked.question_id).order_by(Candidate.id)).all()


def test_the_queues_follow_the_version_before_again_after_a_roll_back(wb, candidates, towers, ann, ask_queued):
    run_queued(wb, RUNNERS)  # the vectors
    asked = ask_queued(towers.id, "When was the tower finished?")
    before = cut(wb, asked)
    promotion.promote(wb, "towers-1")
    run_queued(wb, RUNNERS)
    assert list_followed_versions(wb, asked) == {"towers-1"}
    promotion.roll_back(wb)
    assert list_followed_versions(wb, asked) == {"cascade"}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")).version == "cascade"
    assert (
        leasing.find_next_item(wb, Seat(towers.id, ann.id, "dropped")) is None
    )  # where towers-1 cut is not where it does
    run_queued(wb, RUNNERS)
    assert [c[:4] for c in cut(wb, asked)] == [c[:4] for c in before]
    assert [c.cut_margin for c in cut(wb, asked)] == pytest.approx([c.cut_margin for c in before])
    management.delete(wb, "towers-1")
    assert list_followed_versions(wb, asked) == {"cascade"}


def test_what_only_a_deleted_version_ranked_is_ranked_by_the_one_in_force(wb, candidates, towers, ann, ask_queued):
    promotion.promote(wb, "towers-1")
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.roll_back(wb)
    management.delete(wb, "towers-1")
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")) is None
    run_queued(wb, RUNNERS)
    assert list_followed_versions(wb, asked) == {"cascade"}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")).version == "cascade"


@pytest.fixture
def old_question(wb, candidates, towers, ask_queued):
    """A question that a version ranked with more sentences than the one before it, which is in force again."""
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.promote(wb, "towers-1")
    ingestion.ingest(wb, towers.id, [("more.txt", b"The tower was finished late. It cost much to finish the tower.")])
    run_queued(wb, RUNNERS)
    promotion.roll_back(wb)
    return asked


def test_what_only_a_deleted_version_found_is_ranked_by_an_older_one_in_force_again(wb, old_question):
    management.delete(wb, "towers-1")
    run_queued(wb, RUNNERS)
    with wb.read() as s:
        unranked = select(Candidate.id).where(
            Candidate.question_id == old_question.question_id, Candidate.run_id.is_(None)
        )
        assert s.scalars(unranked).all() == []


def test_what_came_in_since_a_version_ranked_is_ranked_by_it_too(wb, old_question):
    assert list_followed_versions(wb, old_question) == {"cascade", "towers-1"}
    run_queued(wb, RUNNERS)
    assert list_followed_versions(wb, old_question) == {"cascade"}
    promotion.promote(wb, "towers-1")
    promotion.promote(wb, "cascade")
    assert list_followed_versions(wb, old_question) == {"cascade"}


def test_the_newest_scores_stay_where_the_version_in_force_has_none(wb, candidates, towers, ann, ask_queued):
    asked = ask_queued(towers.id, "When was the tower finished?")
    promotion.promote(wb, "towers-1")
    assert list_followed_versions(wb, asked) == {"cascade"}
    assert leasing.find_next_item(wb, Seat(towers.id, ann.id, "uncertain")).version == "cascade"
