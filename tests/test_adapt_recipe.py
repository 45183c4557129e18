import sys
from pathlib import Path

import pytest

from as2core.types import Candidate, Question

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from adapt_recipe import Bench, Key, draw_labels, read_known, table


def pool(n: int) -> list[Question]:
    return [
        Question(f"q{i}", f"question {i}?", tuple(Candidate(f"{i}-{j}", f"text {j}", int(j == 0)) for j in range(4)))
        for i in range(n)
    ]


def count_labels(questions: list[Question]) -> int:
    return sum(q.positives + q.negatives for q in questions)


@pytest.mark.parametrize("size", [2, 5, 12])
def test_pairs_drawn_at_random_are_as_many_as_asked_and_of_both_kinds(size):
    for seed in range(20):
        drawn = draw_labels(pool(8), f"r{size}", seed)
        assert count_labels(drawn) == size
        assert any(q.positives for q in drawn)
        assert any(q.negatives for q in drawn)
        assert all(len(q.candidates) == 4 for q in drawn)  # the others stay, without a label


def test_lists_are_whole_and_the_same_for_a_seed():
    drawn = draw_labels(pool(8), "l3", 1)
    assert (len(drawn), count_labels(drawn)) == (3, 12)
    assert draw_labels(pool(8), "l3", 1) == drawn


def test_a_recipe_is_compared_on_the_seeds_that_the_old_one_has_too():
    known = {
        Key("medquad"): {"a": 0.5, "b": 0.5},
        Key("medquad", "r50", 0, "old", 1.0): {"a": 0.5, "b": 0.25},
        Key("medquad", "r50", 0, "prior", 1.0): {"a": 0.75, "b": 0.5},
        Key("medquad", "r50", 1, "prior", 1.0): {"a": 1.0, "b": 1.0},
    }
    lines = table(Bench(known, None), "medquad")
    assert lines[0] == "**MedQuAD**, 0.500 before:"
    assert lines[4] == "| old | 1 | 0.375 | | 1 |"
    assert lines[5] == "| prior | 1 | 0.812 | +0.250 [+0.250, +0.250] | 1 |"


def test_what_was_measured_is_read_back(tmp_path):
    file = tmp_path / "known.jsonl"
    Bench({}, file)._keep(Key("bare", "l40", 1, "prior, contrast", 0.5), {"a": 0.25}, {"seconds": 3.0})
    assert read_known(file) == {Key("bare", "l40", 1, "prior, contrast", 0.5): {"a": 0.25}}
    assert read_known(tmp_path / "none") == {}
