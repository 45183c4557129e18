"""The experiments on training run to their end on a handful of questions and a tiny model."""

import dataclasses

import pytest
import torch

from as2core.data import asnq, jsonl
from as2core.experiments import courses, exit_draws, tanda
from as2core.experiments.base import SETS, Options
from as2core.nn.backbone import load_backbone
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.types import Candidate, Question


def make_questions(start: int, n: int) -> list[Question]:
    """Questions with two candidates of each ASNQ grade."""
    return [
        Question(
            f"q{i}",
            f"when was the tower number {i} built ?",
            tuple(
                Candidate(str(j), f"the {w} {i} {j}", int(w == "bridge"))
                for j, w in enumerate(("bridge", "river", "iron"))
            ),
        )
        for i in range(start, start + n)
    ]


@pytest.fixture
def options(tiny, tmp_path, monkeypatch):
    """Every set is a file of a few questions; the encoder is a tiny one."""
    for at, name in enumerate(("wikiqa-train", "wikiqa-dev", "selqa-dev", "selqa-test", "qed-dev")):
        file = tmp_path / "data" / SETS[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(jsonl.dumps(make_questions(10 * at, 6)))
    monkeypatch.setattr(courses, "load_backbone", lambda: load_backbone(tiny("bert", 2)))
    torch.manual_seed(0)
    monkeypatch.setattr(tanda, "_shipped", lambda: CrossEncoderRanker(load_backbone(tiny("bert", 2))))
    return Options(tmp_path / "work", data_dir=tmp_path / "data")


SMALL = dataclasses.replace(tanda.SMALL, target=4, general=4, asnq=4)


@pytest.mark.slow
def test_tanda_says_each_finding_and_that_asnq_is_not_at_hand(options):
    seen = []
    report = tanda.run(options, seen.append, SMALL)
    assert len(report.rows) == 7
    assert "asnq/train.tsv" in report.rows[-1].differs and report.rows[-1].holds is None
    assert {r.holds for r in report.rows[:4]} <= {True, False}
    assert report.notes[0].count("| transferred |") == 3
    assert seen[-1].done == seen[-1].total == 900  # the transfer, three rates by two, merged and one after the other


@pytest.mark.slow
def test_tanda_compares_asnq_s_negatives_and_seeds_where_it_can(options):
    graded = [
        dataclasses.replace(
            q, candidates=tuple(Candidate(str(g), f"the tower {g}", int(g == 4), grade=g) for g in (1, 2, 3, 4))
        )
        for q in make_questions(0, 4)
    ]
    file = options.data_dir / tanda.ASNQ_FILE
    file.parent.mkdir()
    file.write_text("".join(asnq.to_lines(graded)))
    one_epoch = dataclasses.replace(SMALL, epochs=1)
    report = tanda.run(dataclasses.replace(options, seeds=2), None, one_epoch)
    assert report.rows[-1].ours.count("(") == 5
    assert "±" in report.rows[0].ours
    assert "standard deviation" in report.rows[4].ours


@pytest.mark.slow
def test_exit_draws_has_a_line_for_every_way_of_training(options):
    report = exit_draws.run(options, None, exit_draws.Sizes(target=4, epochs=1, seeds=1))
    assert [r.holds in (True, False) for r in report.rows] == [True, True]
    assert all(f"| {name} |" in report.notes[0] for name in exit_draws.VARIANTS)
