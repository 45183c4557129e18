"""The choices that --help lists are those that the services take."""

from typing import get_args

import pytest

from app.adapt import label_selection
from app.adapt.settings import CALIBRATION, KINDS
from app.cli import adapt, labels, versions
from app.exchange import exports, label_files
from as2core.export import FORMATS
from as2core.rankers.catalog import CATALOG


@pytest.mark.parametrize(
    ("choices", "known"),
    [
        (labels.ImportFormat, ("auto", *label_files.IMPORTS)),
        (labels.ExportFormat, exports.FORMATS),
        (adapt.Kind, KINDS),
        (adapt.Conflicts, label_selection.CONFLICTS),
        (versions.ExportFormat, FORMATS),
    ],
)
def test_the_choices_of_an_option_are_those_of_its_service(choices, known):
    assert list(get_args(choices)) == list(known)


def test_what_is_adapted_trains_and_what_trains_is_adapted_but_a_classifier_that_others_made():
    rankers = {name for name, entry in CATALOG.items() if entry.trains}
    assert {*KINDS, "classifier"} == {*rankers, CALIBRATION}
