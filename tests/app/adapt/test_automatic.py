from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from fake_models import write_version

from app.adapt import retrain_job, schedule
from app.ask import asking
from app.corpora import corpora
from app.jobs import retrain_rule
from app.jobs.attempt import run_queued
from app.jobs.retrain_rule import RetrainRule, is_due
from app.labels import annotation
from app.versions import promotion, registry
from app.workbench.workbench import DatabaseOutage
from app.worker import RUNNERS
from as2core.errors import As2Error, BadSetting, NotEnoughLabels
from as2core.metrics import PairedTest
from db.repositories import jobs as job_rows
from db.repositories import versions as rows

NOON = datetime(2024, 5, 1, 12).astimezone()
NIGHT = NOON.replace(hour=2)


def last(**ago):
    return SimpleNamespace(is_active=False, state="failed", created=NIGHT - timedelta(**ago))


@pytest.mark.parametrize(
    ("rule", "new", "now", "before", "due"),
    [
        (RetrainRule(after=10), 9, NOON, None, False),
        (RetrainRule(after=10), 10, NOON, None, True),
        (RetrainRule(after=10), 10, NOON, SimpleNamespace(is_active=True, state="running", created=NOON), False),
        (RetrainRule(at_night=True), 1, NOON, None, False),
        (RetrainRule(at_night=True), 1, NIGHT, None, True),
        (RetrainRule(at_night=True), 0, NIGHT, None, False),
        (RetrainRule(at_night=True), 1, NIGHT, last(hours=1), False),
        (RetrainRule(at_night=True), 1, NIGHT, last(hours=24), True),
        (RetrainRule(), 1000, NIGHT, None, False),
    ],
)
def test_a_retrain_is_due_after_enough_labels_or_once_a_night(rule, new, now, before, due):
    assert is_due(rule, new, now.astimezone(UTC), before) is due


@pytest.mark.parametrize(("fresh", "due"), [(0, False), (9, False), (10, True)])
def test_after_a_try_that_came_to_nothing_a_tenth_of_the_labels_wanted_makes_another(fresh, due):
    assert is_due(RetrainRule(after=100), 120, NOON.astimezone(UTC), last(hours=1), fresh) is due


@pytest.mark.parametrize(("fresh", "due"), [(0, False), (10, False), (99, False), (100, True)])
def test_after_one_that_somebody_cancelled_all_labels_wanted_have_to_be_newer(fresh, due):
    cancelled = SimpleNamespace(is_active=False, state="cancelled", created=NIGHT)
    assert is_due(RetrainRule(after=100), 220, NOON.astimezone(UTC), cancelled, fresh) is due


def test_a_retrain_at_night_that_somebody_cancelled_is_due_again_in_another_night():
    cancelled = SimpleNamespace(is_active=False, state="cancelled", created=NIGHT - timedelta(hours=1))
    assert not is_due(RetrainRule(at_night=True), 5, NIGHT.astimezone(UTC), cancelled, 5)
    assert is_due(RetrainRule(at_night=True), 5, (NIGHT + timedelta(days=1)).astimezone(UTC), cancelled, 5)


def test_a_retrain_at_night_that_failed_is_not_repeated_with_the_same_labels():
    assert not is_due(RetrainRule(at_night=True), 5, NIGHT.astimezone(UTC), last(hours=24), 0)


@pytest.mark.parametrize(("state", "new"), [("done", 0), ("failed", 2), ("cancelled", 2), ("lost", 2)])
def test_labels_count_from_the_last_retrain_that_was_done(wb, towers, ann, clock, state, new):
    label(wb, towers, ann, 2)
    clock.advance(minutes=1)
    with wb.write() as s:
        job_rows.add_job(s, "retrain", {}, wb.clock(), corpus_id=towers.id).state = state
    assert retrain_rule.count_new_labels(wb, towers.id) == new


def test_a_worker_is_called_when_a_retrain_is_due_and_again_only_with_a_new_label(wb, towers, ann, monkeypatch):
    run_queued(wb, RUNNERS)  # what else waits would call it too
    called = []
    monkeypatch.setattr(retrain_rule, "start_worker_if_needed", lambda wb: called.append(1))
    retrain_rule.set_rule(wb, towers.id, after=3)
    for labels, calls in ((2, 0), (3, 1), (3, 1), (4, 2)):
        label(wb, towers, ann, labels)
        wb.marks.pop("woken for", None)
        retrain_rule.wake_worker_if_due(wb)
        assert len(called) == calls


def test_a_label_alone_calls_a_worker_when_it_makes_a_retrain_due(wb, towers, ann, monkeypatch):
    called = []
    monkeypatch.setattr(retrain_rule, "start_worker_if_needed", lambda wb: called.append(1))
    retrain_rule.set_rule(wb, towers.id, after=3)
    monkeypatch.setattr(retrain_rule, "CHECK_SECONDS", 0.0)
    label(wb, towers, ann, 2)
    assert not called
    label(wb, towers, ann, 3)
    assert called == [1]


def test_after_a_retrain_as_many_new_labels_make_the_next_one_due(wb, towers, ann, clock, monkeypatch):
    called = []
    monkeypatch.setattr(retrain_rule, "start_worker_if_needed", lambda wb: called.append(1))
    retrain_rule.set_rule(wb, towers.id, after=3)
    monkeypatch.setattr(retrain_rule, "CHECK_SECONDS", 0.0)
    label(wb, towers, ann, 3)
    assert called == [1]
    clock.advance(minutes=1)
    with wb.write() as s:
        job_rows.add_job(s, "retrain", {}, wb.clock(), corpus_id=towers.id).state = "done"
    clock.advance(minutes=1)
    label(wb, towers, ann, 3, "correct")
    assert called == [1, 1]


def label(wb, corpus, who, n, label="incorrect"):
    """The first `n` sentences found for a question."""
    asked = asking.ask(wb, corpus.id, "When was the tower finished?")
    for c in asked.candidates[:n]:
        annotation.give_label(
            wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=who.id, label=label
        )


def test_it_is_off_until_somebody_wants_it_and_off_again(wb, towers):
    assert retrain_rule.load_rule(wb, towers.id) == RetrainRule()
    retrain_rule.set_rule(wb, towers.id, after=20, at_night=True)
    assert retrain_rule.load_rule(wb, towers.id) == RetrainRule(20, True)
    retrain_rule.set_rule(wb, towers.id, after=None, at_night=False)
    assert retrain_rule.load_rule(wb, towers.id) == RetrainRule()
    with pytest.raises(BadSetting):
        retrain_rule.set_rule(wb, towers.id, after=0)


def test_a_change_of_one_part_leaves_the_other(wb, towers):
    retrain_rule.set_rule(wb, towers.id, after=50)
    assert retrain_rule.set_rule(wb, towers.id, at_night=True) == RetrainRule(50, True)
    assert retrain_rule.set_rule(wb, towers.id, after=None) == RetrainRule(None, True)


def test_no_rule_is_set_for_a_corpus_that_is_gone(wb, towers):
    corpora.delete_corpus(wb, towers.id)
    with pytest.raises(As2Error, match="deleted meanwhile"):
        retrain_rule.set_rule(wb, towers.id, after=50)


def test_the_worker_s_look_starts_one_when_the_labels_are_there_and_does_not_insist(wb, towers, ann, monkeypatch):
    asked = asking.ask(wb, towers.id, "When was the tower finished?")
    retrain_rule.set_rule(wb, towers.id, after=3)
    tried = []

    def start(wb, corpus_id, settings):
        tried.append(corpus_id)
        raise NotEnoughLabels("four questions are needed")

    monkeypatch.setattr(retrain_job, "start_retrain", start)
    for c in asked.candidates[:3]:
        wb.marks.pop("looked", None)
        schedule.start_due(wb)
        assert tried == []
        annotation.give_label(
            wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="incorrect"
        )
    assert retrain_rule.count_new_labels(wb, towers.id) == 3
    for _ in range(2):
        wb.marks.pop("looked", None)
        schedule.start_due(wb)
    assert tried == [towers.id]
    assert retrain_rule.load_rule(wb, towers.id) == RetrainRule(3, refused="four questions are needed")
    retrain_rule.set_rule(wb, towers.id, after=4)
    assert retrain_rule.load_rule(wb, towers.id).refused == ""


def test_an_outage_is_no_reason_against_a_retrain_which_is_tried_again_with_the_same_labels(
    wb, towers, ann, outage, monkeypatch
):
    tried = []

    def start(wb, corpus_id, settings):
        tried.append(corpus_id)
        if len(tried) == 1:
            outage.set()
            registry.get_active(wb)
        raise NotEnoughLabels("four questions are needed")

    monkeypatch.setattr(retrain_job, "start_retrain", start)
    label(wb, towers, ann, 3)
    retrain_rule.set_rule(wb, towers.id, after=3)
    with pytest.raises(DatabaseOutage):
        schedule.start_due(wb)
    outage.clear()
    assert retrain_rule.load_rule(wb, towers.id).refused == ""
    for _ in range(2):
        wb.marks.pop("looked", None)
        schedule.start_due(wb)
    assert tried == [towers.id] * 2
    assert retrain_rule.load_rule(wb, towers.id).refused == "four questions are needed"


def test_a_version_that_is_not_worse_waits_until_somebody_decides_a_better_one_first(wb):
    assert schedule.find_waiting_version(registry.list_versions(wb, None)) is None
    for name, difference in (("better", 0.1), ("unclear", 0.0), ("worse", -0.1)):
        low, high = difference - 0.05, difference + 0.05
        paired = PairedTest(difference, low, high, p=0.5, wins=9, losses=9, ties=0)
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
                metrics={"AP": 0.7 + difference, "before AP": 0.7, "paired": asdict(paired)},
            )
    for name in ("better", "unclear"):
        assert schedule.find_waiting_version(registry.list_versions(wb, None)).name == name
        promotion.reject(wb, name)
    assert schedule.find_waiting_version(registry.list_versions(wb, None)) is None
