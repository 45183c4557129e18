"""How often a retrain passes over its questions, and how many steps that are."""

from dataclasses import replace

from app.adapt.settings import RetrainSettings
from app.adapt.training import choose_train_settings, count_steps
from as2core.rankers.cascade import CascadeRanker
from as2core.training.plan import plan_batches
from as2core.types import Candidate, Question

CASCADE = CascadeRanker.__new__(CascadeRanker)  # the choice looks at its class alone


def make_questions(both, incorrect_only):
    labels = [(1, 0)] * both + [(0, 0)] * incorrect_only
    return [Question(f"q{i}", f"question {i}", (Candidate("a", "yes", a), Candidate("b", "no", b)))
            for i, (a, b) in enumerate(labels)]  # fmt: skip


def test_questions_that_teach_nothing_leave_the_passes_over_the_others_and_the_steps_as_they_were():
    for incorrect_only in (0, 296):
        train = make_questions(4, incorrect_only)
        settings = choose_train_settings(CASCADE, RetrainSettings(), train)
        planned = plan_batches(train, settings, exits=5, needs="pair")
        assert settings.epochs == 8  # the most
        assert count_steps(settings, train) == len(planned) == 8


def test_a_loss_of_each_candidate_alone_takes_steps_on_questions_of_one_kind_too():
    train = make_questions(4, 5)
    settings = replace(choose_train_settings(CASCADE, RetrainSettings(), train), loss="pointwise", epochs=2)
    assert count_steps(settings, train) == len(plan_batches(train, settings, exits=5, needs="label")) == 6
