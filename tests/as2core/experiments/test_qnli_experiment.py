"""Table 7 of TandA on a handful of questions and a tiny model."""

import gzip
import json

import pytest

from as2core.data import jsonl
from as2core.experiments import courses, qnli
from as2core.experiments.base import SETS, Options
from as2core.nn.backbone import load_backbone
from as2core.types import Candidate, Question


@pytest.fixture
def options(tiny, tmp_path, monkeypatch):
    words = ("tower", "river")
    for name in ("wikiqa-train", "wikiqa-dev"):
        questions = [
            Question(
                f"{name}{i}",
                f"when was tower {i} built ?",
                tuple(Candidate(str(j), f"the {w} {i}", int(w == "tower")) for j, w in enumerate(words)),
            )
            for i in range(4)
        ]
        file = tmp_path / SETS[name]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(jsonl.dumps(questions))
    context = "The tower was built in 1889. The tower was high. Bread is old."
    qas = [
        {"id": str(i), "question": "When was the tower built", "answers": [{"text": "1889", "answer_start": 23}]}
        for i in range(4)
    ]
    file = tmp_path / SETS["squad-train"]
    file.parent.mkdir()
    squad = {"data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}
    file.write_bytes(gzip.compress(json.dumps(squad).encode()))
    monkeypatch.setattr(courses, "load_backbone", lambda: load_backbone(tiny("bert", 2)))
    return Options(tmp_path / "work", data_dir=tmp_path)


@pytest.mark.slow
def test_qnli_is_transferred_from_and_adapted_and_asnq_is_not_at_hand(options):
    seen = []
    report = qnli.run(options, seen.append, qnli.Sizes(general=4, target=4, epochs=1, seeds=1))
    assert report.rows[0].holds in (True, False)
    assert [r.ours for r in report.rows[1:]] == ["not run"] * 3
    assert "asnq/train.tsv" in report.rows[1].differs
    assert seen[-1].done == seen[-1].total == 200


def test_with_asnq_the_sets_are_compared_before_and_after_adapting():
    aps = {"QNLI": ([0.6, 0.5], [0.7, 0.7]), "ASNQ": ([0.8, 0.8], [0.7, 0.6])}
    rows = qnli.findings(aps, "how")
    assert [r.holds for r in rows] == [True, True, False, None]
