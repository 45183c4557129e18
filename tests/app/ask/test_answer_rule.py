"""The rule alone; tests/app/ask/test_asking.py has it at work."""

import numpy as np
from fake_models import FakeCascade

from app.ask.answer_rule import rate_logits


def test_a_candidate_that_only_stands_out_is_an_answer_from_half_the_threshold_on():
    ranker = FakeCascade()
    ranker.threshold, ranker.answer_calibration = 0.2, (1.0, 0.9)
    logits = np.array([3.0, 0.0, 0.0])  # the first has 82 % beside the others
    for alone, is_answer in ((0.21, True), (0.11, True), (0.09, False)):
        shares, answers = rate_logits(ranker, logits, np.array([alone, 0.01, 0.01]))
        assert shares[0] > 0.8 and answers.tolist() == [is_answer, False, False]
    _, answers = rate_logits(ranker, np.array([0.1, 0.0, 0.0]), np.array([0.15, 0.14, 0.14]))
    assert not answers.any()  # none stands out
