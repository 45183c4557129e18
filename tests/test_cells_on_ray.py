"""A study measured piece by piece on Ray has the figures of one that is measured in a row."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import label_efficiency
from _cells import Cells, average, describe
from _cells_on_ray import Measurement, list_missing, measure_on_ray
from _simulated import Pool
from label_efficiency import TINY, Study

from as2core.types import Candidate, Question


class Towers:
    """Two figures of one training for each seed, and one that others are compared with."""

    def __init__(self):
        self.trainings = []

    def __call__(self, cells):
        before = cells.get("before", lambda: {"q1": 0.5, "q2": 0.25})
        pairs = [cells.get_all([f"here {s}", f"there {s}"], lambda s=s: self.train(s)) for s in range(3)]
        here, there = (average(runs) for runs in zip(*pairs, strict=True))
        yield f"{describe(here, before)}, {describe(there, before)}"

    def train(self, seed):
        self.trainings.append(seed)
        return [{"q1": 0.5 + seed / 8, "q2": 0.5}, {"q1": 0.0, "q2": seed / 8}]


def test_a_study_gone_through_without_measuring_says_what_is_missing(tmp_path):
    cells, towers = Cells(tmp_path / "cells.jsonl"), Towers()
    cells.put("here 1", {"q1": 0.6, "q2": 0.5})
    cells.put("there 1", {"q1": 0.0, "q2": 0.1})
    cells.put("here 2", {"q1": 0.7, "q2": 0.5})  # the other figure of its training was not written any more
    assert list_missing(towers, cells) == [("before",), ("here 0", "there 0"), ("here 2", "there 2")]
    assert towers.trainings == []


def test_each_piece_is_measured_alone_and_gives_the_figures_of_the_whole():
    towers = Towers()
    run = Measurement(towers, None).prepare(lambda reference: reference)
    (pair,) = run([("here 2", "there 2")])
    assert towers.trainings == [2]
    assert pair == towers.train(2)
    with pytest.raises(ValueError, match="'here 7' is not asked for"):
        run([("here 7", "there 7")])


def test_the_study_of_label_efficiency_asks_for_each_seed_of_each_part(monkeypatch):
    candidates = tuple(Candidate(str(i), f"Sentence {i}.", int(i == 0)) for i in range(3))
    pool = Pool("Towers", tuple(Question(f"q{n}", "why", candidates) for n in range(8)), ())
    monkeypatch.setattr(label_efficiency, "pools", lambda name, plan: (pool, pool))
    with Study(["wikiqa"], list(label_efficiency.PARTS), TINY, "") as study:
        keys = [key for group in list_missing(study, Cells()) for key in group]
    assert len(keys) == len(set(keys))
    assert {"Towers: before", "Towers: no transfer", "Towers: lists, 40 labels, seed 0"} <= set(keys)
    assert {"Towers: 6 whole questions, replay=0.5, seed 0, starter-test"} <= set(keys)


@pytest.mark.ray
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray")
def test_ray_measures_what_is_missing_once_and_the_study_reads_it(tmp_path, monkeypatch):
    tests = Path(__file__).parent
    folders = [str(tests), str(tests.with_name("benchmarks")), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))  # a script's folder is in the workers' path anyway
    alone, shared = Cells(), Cells(tmp_path / "cells.jsonl")
    shared.put("before", {"q1": 0.5, "q2": 0.25})
    measure_on_ray(Towers(), shared, "local")
    towers = Towers()
    assert list(towers(Cells(tmp_path / "cells.jsonl"))) == list(Towers()(alone))
    assert towers.trainings == []
    assert shared.known == alone.known
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == len(shared.known)
