"""The benchmark of few labels: what somebody labels who reads from the top, and what is compared with what."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from _cells import STORED, Cells
from _simulated import choose_places, read_lists
from few_labels import FULL, Bench, Plan, make_table, name_command

from as2core.types import Candidate, Question

SCORES = np.array([0.1, 0.9, 0.3, 0.8, 0.5])  # read from the top: 1, 3, 4


@pytest.mark.parametrize(
    ("correct", "places"),
    [
        ({1}, {1}),  # the first is the answer
        ({3, 0}, {1, 3}),  # up to the first answer
        ({0, 2}, {0, 1, 3, 4}),  # none of the first three: the first answer of the list, too
        (set(), {1, 3, 4}),  # no answer at all
    ],
)
def test_labels_are_given_from_the_top_until_the_answer_is_found(correct, places):
    candidates = tuple(Candidate(str(i), f"Sentence {i}.", int(i in correct)) for i in range(5))
    assert choose_places(Question("q", "why", candidates), SCORES) == places


def test_lists_are_read_until_there_are_enough_labels_the_closest_first_if_asked():
    candidates = tuple(Candidate(str(i), f"Sentence {i}.", int(i == 1)) for i in range(5))
    pool = [Question(f"q{n}", "why", candidates) for n in range(4)]
    scores = {q.qid: SCORES + np.array([0, -0.09 * n, 0, 0, 0]) for n, q in enumerate(pool)}  # q1's best two are level
    read = read_lists(pool, scores, 2, 0, closest=True)
    assert read[0].qid == "q1"
    assert sum(c.label is not None for q in read for c in q.candidates) >= 2
    assert {q.qid for q in read_lists(pool, scores, 99, 0)} == {q.qid for q in pool}


def test_a_gzipped_cache_is_read_and_added_to(tmp_path):
    file = tmp_path / "cells.jsonl.gz"
    Cells(file).put("a", {"q": 0.5})
    Cells(file).put("b", {"q": 0.25})
    assert Cells(file).known == {"a": {"q": 0.5}, "b": {"q": 0.25}}


def test_a_cached_table_has_the_means_over_the_seeds_and_paired_differences(tmp_path):
    before = {f"q{i}": 0.5 for i in range(40)}
    lines = [{"key": "medquad", "values": before}, {"key": "starter", "values": before}]
    gains = {"now": 0.1, "no-dropout": 0.2}
    for recipe, gain in gains.items():
        for seed, more in enumerate((0.01, 0.03)):
            key = f"medquad 50 {seed} {recipe}"
            lines.append({"key": key, "values": {qid: ap + gain + more for qid, ap in before.items()}})
            lines.append({"key": f"starter after {key}", "values": {qid: ap - more for qid, ap in before.items()}})
    cache = tmp_path / "known.jsonl"
    cache.write_text("\n".join(map(json.dumps, lines)) + "\n")
    table = make_table(Bench(Cells(cache)), "medquad", Plan((50,), tuple(gains), ("medquad",), 2))
    assert table[0] == "**MedQuAD**: 40 questions, AP 0.500 before; starter-test 0.500."
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[4:-1]]
    assert [row[:3] for row in rows] == [["50", name, f"{0.52 + gain:.3f}"] for name, gain in gains.items()]
    assert rows[0][3].startswith("+0.120") and rows[0][5].startswith("-0.020")
    assert rows[1][3].startswith("+0.220") and rows[1][4].startswith("+0.100") and not rows[0][4]


def test_the_page_names_the_command_that_prints_its_table():
    part = Plan((50,), ("now",), ("medquad", "wikiqa"), 1)
    told = "python benchmarks/few_labels.py --labels 50 --recipes now --sets medquad wikiqa --seeds 1"
    assert name_command(part) == told
    assert name_command(FULL) == "python benchmarks/few_labels.py"


def test_what_is_not_stored_is_not_measured_into_the_stored_file():
    with pytest.raises(SystemExit, match="'new' is not stored: leave out --stored"):
        Cells(STORED).get("new", dict)
