"""The generation experiment on tiny models and made-up questions: every way is trained and reported."""

import dataclasses
import random

import pytest

from as2core.experiments import courses, generation
from as2core.experiments.base import Options
from as2core.experiments.generation import BACKWARDS, DISCRIMINATIVE, TRANSFERRED, UNTUNED, Sizes, findings
from as2core.nn.backbone import load_backbone
from as2core.rankers.generative import load_question_lm
from as2core.types import Candidate, Question

WORDS = "tower bridge river iron steel city engineer people water winter bread music heart cell".split()


@dataclasses.dataclass(frozen=True, slots=True)
class MadeUp(Options):
    def questions(self, name, setting="clean"):
        rng, made = random.Random(name), []
        for i in range(4):
            about = rng.choice(WORDS)
            texts = [f"the {about} is long", *(" ".join(rng.sample(WORDS, 3)) for _ in range(3))]
            rows = tuple(Candidate(f"{name}{i}-{c}", t, int(c == 0)) for c, t in enumerate(texts))
            made.append(Question(f"{name} {i}", f"where is the {about} ?", rows))
        return made


@pytest.mark.slow
def test_every_way_is_trained_and_reported(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(generation, "load_question_lm", lambda: load_question_lm(tiny()))
    monkeypatch.setattr(courses, "load_backbone", lambda: load_backbone(tiny()))
    told = []
    sizes = Sizes(general=2, target=2, dev=4, negatives=2, epochs=1, seeds=1)
    report = generation.run(MadeUp(tmp_path), told.append, sizes)
    assert len(report.rows) == 5
    assert all(r.holds in (True, False) for r in report.rows)
    for way in (UNTUNED, TRANSFERRED, "MLE", "LUL", "RLL", BACKWARDS, DISCRIMINATIVE):
        assert f"| {way} |" in report.notes[0]
    assert {p.stage for p in told} == {"transfer, MLE", "MLE", "LUL", "RLL", BACKWARDS, DISCRIMINATIVE}


def test_the_questions_told_are_those_there_were_not_those_wished_for(tmp_path, monkeypatch):
    ways = (UNTUNED, TRANSFERRED, "MLE", "LUL", "RLL", BACKWARDS, DISCRIMINATIVE)
    monkeypatch.setattr(generation, "_run_seed", lambda *_: dict.fromkeys(ways, 0.5))
    told = generation.run(MadeUp(tmp_path), None, generation.FULL).rows[0].differs
    assert "learnt on 4 SQuAD questions; 4 WikiQA train questions" in told and "4 dev questions" in told


def test_a_finding_holds_by_the_mean_over_seeds():
    aps = {UNTUNED: [0.3, 0.3], TRANSFERRED: [0.4, 0.4], "MLE": [0.2, 0.5], "LUL": [0.6, 0.6], "RLL": [0.5, 0.6]}
    rows = findings({**aps, BACKWARDS: [0.1, 0.1], DISCRIMINATIVE: [0.9, 0.9]}, "differs")
    assert [r.holds for r in rows] == [True, True, False, True, False]
    assert rows[0].ours == "AP .300 ± .000 no tuning, .350 ± .212 MLE"


@pytest.mark.parametrize("sizes", [generation.SMALL, generation.FULL])
def test_the_full_run_follows_the_paper_and_the_small_one_is_smaller(sizes):
    assert sizes.negatives <= 15
    assert generation.FULL.negatives == 15 and generation.FULL.epochs == 10
    assert generation.TUNE["LUL"].negatives == 5
