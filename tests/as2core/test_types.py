"""What the records that everything uses say of themselves."""

import pytest

from as2core.types import Progress


@pytest.mark.parametrize(
    ("done", "total", "share"),
    [
        (0, 8, 0.0),
        (6, 8, 0.75),
        (8, 8, 1.0),
        (9, 8, 1.0),  # more than was planned is no more than all
        (3, 0, 0.0),  # of nobody knows how many
    ],
)
def test_a_share_of_progress_is_between_nothing_and_all(done, total, share):
    assert Progress(done, total).share == share
