from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from fake_models import write_version

from app import jobs
from app.running import run_queued
from app.services import adapting, asking, automatic, labelling
from app.services.automatic import Automatic, is_due
from as2core.errors import BadSetting, NotEnoughLabels
from db.repositories import jobs as job_rows
from db.repositories import versions as rows

NOON = datetime(2024, 5, 1, 12).astimezone()
NIGHT = NOON.replace(hour=2)


def last(**ago):
    return SimpleNamespace(active=False, created=NIGHT - timedelta(**ago))


@pytest.mark.parametrize(
    ("rule", "new", "now", "before", "due"),
    [
        (Automatic(after=10), 9, NOON, None, False),
        (Automatic(after=10), 10, NOON, None, True),
        (Automatic(after=10), 10, NOON, SimpleNamespace(active=True, created=NOON), False),
        (Automatic(at_night=True), 1, NOON, None, False),
        (Automatic(at_night=True), 1, NIGHT, None, True),
        (Automatic(at_night=True), 0, NIGHT, None, False),
        (Automatic(at_night=True), 1, NIGHT, last(hours=1), False),
        (Automatic(at_night=True), 1, NIGHT, last(hours=24), True),
        (Automatic(), 1000, NIGHT, None, False),
    ],
)
def test_a_retrain_is_due_after_enough_labels_or_once_a_night(rule, new, now, before, due):
    assert is_due(rule, new, now.astimezone(UTC), before) is due


@pytest.mark.parametrize(("fresh", "due"), [(0, False), (9, False), (10, True)])
def test_after_a_try_that_came_to_nothing_a_tenth_of_the_labels_wanted_makes_another(fresh, due):
    assert is_due(Automatic(after=100), 120, NOON.astimezone(UTC), last(hours=1), fresh) is due


def test_a_retrain_at_night_that_failed_is_not_repeated_with_the_same_labels():
    assert not is_due(Automatic(at_night=True), 5, NIGHT.astimezone(UTC), last(hours=24), 0)


@pytest.mark.parametrize(("state", "new"), [("done", 0), ("failed", 2), ("cancelled", 2), ("lost", 2)])
def test_labels_count_from_the_last_retrain_that_was_done(wb, towers, ann, clock, state, new):
    label(wb, towers, ann, 2)
    clock.pass_(minutes=1)
    with wb.write() as s:
        job_rows.add_job(s, "retrain", {}, wb.clock(), corpus_id=towers.id).state = state
    assert automatic.new_labels(wb, towers.id) == new


def test_labelling_on_the_app_s_pages_calls_a_worker_when_a_retrain_is_due_and_once(wb, towers, ann, monkeypatch):
    run_queued(wb)  # what else waits would call it too
    called = []
    monkeypatch.setattr(jobs, "start_worker_if_needed", lambda wb: called.append(1))
    automatic.set_automatic(wb, towers.id, after=3)
    for labels, calls in ((2, 0), (3, 1), (3, 1), (4, 2)):
        label(wb, towers, ann, labels)
        wb.marks.pop("called", None)
        jobs.attend(wb)
        wb.marks.pop("attended", None)
        assert len(called) == calls


def test_a_label_alone_calls_a_worker_when_it_makes_a_retrain_due(wb, towers, ann, monkeypatch):
    called = []
    monkeypatch.setattr(jobs, "start_worker_if_needed", lambda wb: called.append(1))
    automatic.set_automatic(wb, towers.id, after=3)
    monkeypatch.setattr(automatic, "EVERY", 0.0)
    label(wb, towers, ann, 2)
    assert not called
    label(wb, towers, ann, 3)
    assert called == [1]


def test_after_a_retrain_as_many_new_labels_make_the_next_one_due(wb, towers, ann, clock, monkeypatch):
    called = []
    monkeypatch.setattr(jobs, "start_worker_if_needed", lambda wb: called.append(1))
    automatic.set_automatic(wb, towers.id, after=3)
    monkeypatch.setattr(automatic, "EVERY", 0.0)
    label(wb, towers, ann, 3)
    assert called == [1]
    clock.pass_(minutes=1)
    with wb.write() as s:
        job_rows.add_job(s, "retrain", {}, wb.clock(), corpus_id=towers.id).state = "done"
    clock.pass_(minutes=1)
    label(wb, towers, ann, 3, "correct")
    assert called == [1, 1]


def label(wb, corpus, who, n, label="incorrect"):
    """The first `n` sentences found for a question."""
    asked = asking.ask(wb, corpus.id, "When was the tower finished?")
    for c in asked.candidates[:n]:
        labelling.give_label(
            wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=who.id, label=label
        )


def test_it_is_off_until_somebody_wants_it_and_off_again(wb, towers):
    assert automatic.automatic(wb, towers.id) == Automatic()
    automatic.set_automatic(wb, towers.id, after=20, at_night=True)
    assert automatic.automatic(wb, towers.id) == Automatic(20, True)
    automatic.set_automatic(wb, towers.id)
    assert automatic.automatic(wb, towers.id) == Automatic()
    with pytest.raises(BadSetting):
        automatic.set_automatic(wb, towers.id, after=0)


def test_the_worker_s_look_starts_one_when_the_labels_are_there_and_does_not_insist(wb, towers, ann, monkeypatch):
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    automatic.set_automatic(wb, towers.id, after=3)
    tried = []

    def start(wb, corpus_id, **told):
        tried.append(corpus_id)
        raise NotEnoughLabels("four questions are needed")

    monkeypatch.setattr(adapting, "start_retrain", start)
    for c in asked.candidates[:3]:
        wb.marks.pop("looked", None)
        automatic.look(wb)
        assert tried == []
        labelling.give_label(
            wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="incorrect"
        )
    assert automatic.new_labels(wb, towers.id) == 3
    for _ in range(2):
        wb.marks.pop("looked", None)
        automatic.look(wb)
    assert tried == [towers.id]
    assert automatic.automatic(wb, towers.id) == Automatic(3, refused="four questions are needed")
    automatic.set_automatic(wb, towers.id, after=4)
    assert automatic.automatic(wb, towers.id).refused == ""


def test_a_better_version_waits_until_somebody_decides(wb):
    assert automatic.waiting(wb) is None
    for name, after in (("worse", 0.6), ("better", 0.8)):
        path = write_version(wb.settings.versions_dir / name, parent="cascade")
        with wb.write() as s:
            rows.add_version(
                s,
                name,
                kind="cascade",
                path=str(path),
                state="candidate",
                parent="cascade",
                now=wb.clock(),
                metrics={"AP": after, "before AP": 0.7},
            )
    assert automatic.waiting(wb).name == "better"
    with wb.write() as s:
        rows.version_named(s, "better").state = "rejected"
    assert automatic.waiting(wb) is None
