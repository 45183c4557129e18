"""The incorrect candidates near the top of a list, which a retrain draws from."""

from types import SimpleNamespace

import numpy as np
import pytest

from as2core.errors import Cancelled
from as2core.training import fine_tune
from as2core.training.hard_negatives import keep_highest_negatives
from as2core.training.loop import RunControl
from as2core.training.settings import TrainSettings
from as2core.types import Candidate, Progress, Question


class Length:
    """Longer texts rank higher."""

    name = "length"

    def score(self, question, candidates):
        return np.array([len(c.text) for c in candidates], dtype=np.float32)


def make_question(qid, *rows):
    return Question(qid, "which ?", tuple(Candidate(f"{qid}{i}", "x" * n, label) for i, (n, label) in enumerate(rows)))


def test_of_the_incorrect_candidates_those_that_rank_highest_stay_and_all_others_do():
    question = make_question("a", (1, 0), (9, 0), (2, 1), (8, None), (7, 0), (3, 0), (6, 0))
    [result] = keep_highest_negatives(Length(), [question], 2, lambda p: None)
    assert [c.id for c in result.candidates] == ["a1", "a2", "a3", "a4"]  # in their order


def test_a_short_list_is_not_scored():
    class Never:
        name = "never"

        def score(self, question, candidates):
            raise AssertionError

    questions = [make_question("a", (1, 0), (2, 1)), make_question("b", (1, 0), (2, 0))]
    assert keep_highest_negatives(Never(), questions, 2, lambda p: None) == questions


def test_the_scoring_is_reported_and_can_be_ended():
    questions = [make_question(q, (1, 0), (2, 0), (3, 1)) for q in "ab"]
    calls = []
    keep_highest_negatives(Length(), questions, 1, calls.append)
    assert calls == [Progress(0, 2), Progress(1, 2)]

    def stop(p):
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        keep_highest_negatives(Length(), questions, 1, stop)


def test_the_hardest_are_chosen_among_the_grades_that_a_training_takes():
    grades = {0: 4, 1: 1, 2: 2, 3: 3, 4: 1}  # ASNQ's labels; the longest, so the hardest, are of the grade 1
    rows = [Candidate(str(i), "x" * n, int(i == 0), grade=grades[i]) for i, n in enumerate((1, 9, 3, 2, 8))]
    settings = TrainSettings(epochs=1, negatives=9, negatives_from=(2, 3), hard_negatives=1)
    learner = SimpleNamespace(settings=settings, exits=("lm",), needs="pair", count_tokens=None)
    base = Length()
    base.is_trained = True
    [batch] = fine_tune._plan(base, learner, [Question("a", "which ?", tuple(rows))], settings, RunControl())
    assert [c.id for g in batch.groups for c in g.candidates] == ["0", "2"]
