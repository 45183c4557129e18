"""The labels that rankers are compared on; a module whose questions are others has a fixture of its own."""

import pytest
from label_files import import_labels
from thing_questions import QUESTIONS

from as2core.data import jsonl


@pytest.fixture
def data(wb):
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    return "labels:things"
