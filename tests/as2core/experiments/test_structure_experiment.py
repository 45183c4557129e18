"""The experiment on the word rankers, on made-up questions and vectors of eight numbers."""

import dataclasses

import numpy as np
import pytest

from as2core.experiments import structure
from as2core.experiments.base import Options
from as2core.nn.word_vectors import WordVectors
from as2core.types import Candidate, Question

WORDS = "tower bridge river iron steel city engineer".split()


@dataclasses.dataclass(frozen=True, slots=True)
class MadeUp(Options):
    def questions(self, name, setting="clean"):
        made = []
        for i in range(8):
            texts = [f"the {WORDS[(i + j) % 7]} stands" for j in (1, 0, 2)]
            rows = tuple(Candidate(f"{i}-{j}", t, int(j == 1)) for j, t in enumerate(texts))
            made.append(Question(f"{name} {i}", f"where is the {WORDS[i % 7]}", rows))
        return made


def vectors() -> WordVectors:
    known = dict(zip(WORDS, np.eye(7, 8, dtype=np.float32), strict=True))
    return WordVectors(lambda words: np.stack([known.get(w, np.zeros(8, np.float32)) for w in words]), 8, {})


@pytest.mark.slow
def test_every_finding_and_every_model_is_told(tmp_path):
    sizes = structure.Sizes(structure.FULL.variants, {"cosinet": 4, "compare-aggregate": 4}, seeds=2)
    seen = []
    report = structure.run(MadeUp(tmp_path, seeds=1), seen.append, sizes, vectors())
    assert len(report.rows) == 6
    # the right one stands second: wo finds it, rr has it at place 2 of 3
    assert report.rows[0].ours == "AP rr 50.00, wo 100.00, wo-rr 100.00"
    table = report.notes[0].splitlines()
    models = [line.split(" | ")[0].removeprefix("| ") for line in table[4:]]
    assert models[:3] == ["RR", "WO", "WO+RR"]
    assert models[3:9] == ["Cosinet", *(f"Cosinet listwise{c}" for c in ("", " rnn", " birnn", " lstm", " bilstm"))]
    assert len(models) == 15
    # Cosinet of width 4 and kernel 5 over 8 numbers and a cosine: two convolutions and a line
    assert f"| {2 * (9 * 5 * 4 + 4) + 9} |" in table[7]
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[-1].done <= seen[-1].total == 1200


def test_seeds_are_averaged_with_their_spread():
    assert structure._spread([0.5, 0.7]) == "60.00 ± 14.1"
    assert structure._spread([0.5]) == "50.00"


def test_ties_of_wo_are_broken_at_random_and_those_of_wo_rr_by_the_order(tmp_path, monkeypatch):
    class Tied(Options):
        def questions(self, name, setting="clean"):
            """Every sentence shares one word with the question, and the first is the right one."""
            rows = tuple(Candidate(str(i), f"the tower {w}", int(i == 0)) for i, w in enumerate(WORDS))
            return [Question(f"{name} {i}", f"which tower {i}", rows) for i in range(200)]

    monkeypatch.setattr(structure, "_train_seeds", lambda *_: structure.ModelResult([0.5], [0.5], 1, 1.0))
    report = structure.run(Tied(tmp_path, seeds=1), None, structure.SMALL, vectors())
    rr, wo, wo_rr = (float(said.split()[-1]) for said in report.rows[0].ours.removeprefix("AP ").split(", "))
    assert rr == wo_rr == 100
    assert wo == pytest.approx(100 * sum(1 / k for k in range(1, 8)) / 7, abs=5)  # the mean of 1/1 ... 1/7
