"""Which of two models trains faster is told from several trainings of each, never from one."""

from types import SimpleNamespace

import pytest

from as2core.experiments.report.findings import FAILS, HOLDS, NOT_RUN, UNDECIDED
from as2core.experiments.structure import NAMES, _speed_row


def judge(*seconds: list[float]):
    numbers = {
        f"{name} listwise birnn": {seed: {"training seconds": s} for seed, s in enumerate(values)}
        for name, values in zip(NAMES.values(), seconds, strict=True)
    }
    return _speed_row(SimpleNamespace(numbers=numbers), "", is_equal=True)


@pytest.mark.parametrize(
    ("cosinet", "ca", "verdict"),
    [
        ([1, 2, 3, 4], [5, 6, 7, 8], HOLDS),  # 1 of the 70 ways to divide eight, and 1 more the other way round: .029
        ([5, 6, 7, 8], [1, 2, 3, 4], FAILS),
        ([1, 2, 3, 6], [5, 7, 8, 9], UNDECIDED),
        ([1, 2, 3], [4, 5, 6], UNDECIDED),  # 2 of 20
        ([1], [100], UNDECIDED),
        ([], [1, 2, 3, 4], NOT_RUN),
    ],
)
def test_the_times_decide_where_they_do_not_overlap_and_are_enough(cosinet, ca, verdict):
    assert judge(cosinet, ca).verdict == verdict


def test_one_training_of_each_is_said_to_be_too_few():
    assert judge([173], [229]).why == "1 and 1 trainings are too few to tell"
