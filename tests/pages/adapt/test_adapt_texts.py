"""The sentences of a card, without the page."""

from dataclasses import replace

import pytest

from app.adapt.report import LabelCounts, RetrainReport
from app.ui import job as adapt_job
from app.ui import wording
from app.ui.adapt.card.figures import describe_baselines
from app.ui.adapt.card.training import describe_training
from as2core.metrics import PairedTest

PAIRED = PairedTest(0.04, 0.01, 0.07, 0.03, 12, 3, 20)


def test_the_paired_test_is_described_without_its_vocabulary():
    assert wording.describe_test(PAIRED) == (
        "12 questions better, 3 worse, 20 the same. AP changed by +0.040 (95 %: +0.010 to +0.070). "
        "This is more than chance (p\u00a0=\u00a00.03)."
    )


def test_one_question_is_not_spoken_of_as_many():
    one = PairedTest(0.0, 0.0, 0.0, 1.0, 0, 0, 1)
    assert wording.describe_test(one) == "No question became better or worse: AP is the same on the one question."
    many = replace(one, ties=9)
    assert wording.describe_test(many) == "No question became better or worse: AP is the same on each of 9 questions."


def test_an_interval_that_is_from_no_resampling_is_not_said_to_be():
    report = RetrainReport("spring", {"AP": 0.7}, {"AP": 0.8}, PAIRED)
    assert "from resampling the questions." in describe_baselines(report)
    constant = replace(report, after={"AP": 1.0})
    assert "; where all of them have the same value, by Wilson's method." in describe_baselines(constant)


@pytest.mark.parametrize(
    ("best", "line"), [(0.0, "end at step 16"), (0.75, "end at step 16; best validation AP 0.750")]
)
def test_a_training_without_validation_questions_has_no_best_map(best, line):
    assert wording.format_event({"kind": "end", "step": 16, "best_dev_ap": best}) == line


def test_five_changed_questions_are_too_few_whatever_p_is():
    assert "Too few questions changed to tell" in wording.describe_test(replace(PAIRED, wins=5, losses=0))


def test_a_difference_that_could_be_chance_is_described_as_such():
    assert "This could be chance" in wording.describe_test(replace(PAIRED, low=-0.01))


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (59, "59 s"), (60, "1 min"), (130, "2 min 10 s"), (3900, "1 h 5 min")]
)
def test_seconds_read_as_people_say_them(seconds, words):
    assert wording.describe_seconds(seconds) == words


def test_steps_repeated_after_a_restart_are_drawn_once_with_the_later_word():
    events = [
        {"kind": "step", "step": 1, "loss": 0.9},
        {"kind": "step", "step": 2, "loss": 0.8},
        {"kind": "lost", "attempt": 1},
        {"kind": "step", "step": 2, "loss": 0.7},
        {"kind": "step", "step": 3, "loss": 0.6},
    ]
    assert [(e["step"], e["loss"]) for e in adapt_job.keep_latest_by_step(events)] == [(1, 0.9), (2, 0.7), (3, 0.6)]


def facts(**fields):
    return describe_training(RetrainReport("spring", {}, {}, PAIRED, **fields))


def test_what_a_version_was_made_from_is_one_sentence():
    labels = LabelCounts(questions=12, correct=13, incorrect=36, dev_questions=2, held_out_questions=4)
    assert facts(labels=labels, snapshot="340a832e9fc9aa") == (
        "Trained on 12 questions (13 correct and 36 incorrect labels), 2 validation questions, 4 held out. "
        "Snapshot of the labels: 340a832e9fc9"
    )
    assert facts() == ""
    assert facts(labels=LabelCounts(questions=7, skipped_questions=1)) == (
        "Trained on 6 of 7 questions (the other has labels of one kind only)."
    )
    assert facts(labels=LabelCounts(questions=12, skipped_questions=3, origins={"asked": 12})) == (
        "Trained on 9 of 12 questions (12 typed; the other 3 have labels of one kind only)."
    )


def test_the_facts_name_where_the_questions_came_from_and_who_labelled_them():
    origins = {"asked": 7, "proposed": 3, "imported": 2}
    labels = LabelCounts(questions=12, correct=13, incorrect=36, givers={"ann": 40, "bob": 9}, origins=origins)
    assert facts(labels=labels) == (
        "Trained on 12 questions (7 typed, 3 proposed, 2 imported; 13 correct and 36 incorrect labels). "
        "Labels by ann (40), bob (9)."
    )
