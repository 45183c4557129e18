"""When what a retrain will measure of its base is measured beforehand."""

from dataclasses import replace

from app.adapt import schedule
from app.adapt.measuring import run_measure
from app.adapt.schedule import CHECK_SECONDS, MIN_LABELS
from app.corpora import corpora
from app.jobs import queue
from app.jobs.attempt import run_next, run_queued
from app.versions import registry
from app.worker import RUNNERS


def look(wb):
    wb.marks.pop("measured ahead", None)
    return [(j.kind, j.corpus_id, j.settings) for j in schedule.start_measuring(wb)]


def test_five_labels_of_people_make_it_due_once_a_version(wb, towers, asked, ann, give_signs, monkeypatch):
    give_signs(ann, "+" + "-" * (MIN_LABELS - 2))
    assert look(wb) == []
    give_signs(ann, "+" + "-" * (MIN_LABELS - 1))
    version = registry.get_active(wb)
    assert look(wb) == [("measure", towers.id, {"version": version.id})]
    assert look(wb) == [], "it waits"
    [job] = queue.list_active(wb, "measure")
    queue.cancel(wb, job.id)
    assert look(wb) == [], "however it ended"
    monkeypatch.setattr(registry, "get_active", lambda wb: replace(version, id=99))
    assert look(wb) == [("measure", towers.id, {"version": 99})], "another version answers now"


def test_not_while_the_corpus_is_retrained(wb, towers, ann, give_signs):
    give_signs(ann, "+" + "-" * MIN_LABELS)
    queue.enqueue(wb, "retrain", {}, corpus_id=towers.id)
    assert look(wb) == []


def test_not_while_another_corpus_is_retrained_and_again_where_that_interrupted_it(wb, towers, ann, give_signs):
    give_signs(ann, "+" + "-" * MIN_LABELS)
    other = corpora.create_corpus(wb, "other")
    due = [("measure", towers.id, {"version": registry.get_active(wb).id})]
    assert look(wb) == due
    retrain = queue.enqueue(wb, "retrain", {}, corpus_id=other.id)
    while run_next(wb, RUNNERS, queue.find_slot("measure")):
        pass
    job = queue.find_newest(wb, "measure", towers.id)
    assert (job.state, job.result["questions"]) == ("done", 0)
    assert look(wb) == [], "it would end at once"
    queue.cancel(wb, retrain.id)
    assert look(wb) == due


def test_it_is_looked_for_every_ten_seconds_at_most(wb, towers, ann, give_signs):
    assert look(wb) == []
    give_signs(ann, "+" + "-" * MIN_LABELS)
    assert schedule.start_measuring(wb) == [], "it has just looked"
    wb.marks["measured ahead"] -= CHECK_SECONDS
    assert len(schedule.start_measuring(wb)) == 1


def test_a_corpus_that_is_gone_needs_none(wb):
    job = queue.enqueue(wb, "measure", {"version": 1})
    run_queued(wb, {"measure": run_measure})
    assert queue.load_job(wb, job.id).result == {"questions": 0}
