"""The same model in other forms: first places, AP and the largest difference of a score."""

import json

import numpy as np
import pytest

from as2core.cli import main
from as2core.data import jsonl
from as2core.errors import BadSetting
from as2core.export.parity import FILE, INT8, Parity, compare, compare_engines
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.types import Candidate, Question

TEXTS = ["the tower was finished in 1889 .", "the river is long", "bread", "the heart of the city stands high . " * 30]


def ask(qid, text, texts, correct):
    return Question(qid, text, tuple(Candidate(f"d{i}", t, int(i == correct)) for i, t in enumerate(texts)))


SET = [ask("q1", "when was the tower finished ?", TEXTS, 0), ask("q2", "how long is the river ?", TEXTS[:3], 1)]
TORCH_SCORES = {"q1": np.array([4.0, 3.0, 2.0, 1.0]), "q2": np.array([1.0, 3.0, 2.0])}
OTHER_SCORES = {"q1": np.array([4.0, 3.0, 1.0, 2.0]), "q2": np.array([1.0, 2.0, 2.25])}


def test_the_three_figures_by_hand():
    empty = Question("q3", "why ?")
    row = compare("other", 4, [*SET, empty], TORCH_SCORES, OTHER_SCORES)
    # q1: the same first, moved by 1; q2: another first, its correct one is second: AP (1 + 1/2) / 2
    assert row == Parity("other", 4, 2, 7, 1, 1.0, 0.75, 1.0)


def test_ties_are_broken_as_everywhere_and_nothing_to_compare_is_said():
    tie = {"q1": np.array([2.0, 2.0, 0.0, 0.0]), "q2": np.array([1.0, 3.0, 3.0])}
    row = compare("tie", None, SET, TORCH_SCORES, tie)
    assert (row.same_first, row.ap) == (2, 1.0)
    with pytest.raises(BadSetting, match="no question has candidates"):
        compare("x", None, [Question("q3", "why ?")], {}, {})


def test_the_command_compares_any_ranker_with_other_forms_of_it(tmp_path, capsys):
    from as2core.data.qrels import run_to_lines

    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps(SET))
    for name, scores in (("a", TORCH_SCORES), ("b", OTHER_SCORES)):
        (tmp_path / f"{name}.run").write_text("".join(run_to_lines(SET, scores, tag=name)))
    a, b = str(tmp_path / "a.run"), str(tmp_path / "b.run")
    assert main(["parity", a, str(data), "--form", b, "--form", a, "--json"]) == 0
    [other, same] = json.loads(capsys.readouterr().out)["forms"]
    assert other == {"form": b, "exit": None, "questions": 2, "candidates": 7, "same_first": 1, "largest": 1.0,
                     "ap": 0.75, "reference_ap": 1.0}  # fmt: skip
    assert (same["same_first"], same["largest"]) == (2, 0.0)
    assert main(["parity", a, str(data), "--form", b]) == 0
    assert "1 of 2" in capsys.readouterr().out
    assert main(["parity", "bm25", str(data)]) == 1
    assert "bm25 has no int8 engine and no ONNX export: name one with --form" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("reads_titles", [True, False])
def test_a_cascade_is_compared_at_every_exit_and_its_last_with_the_exported_file(reads_titles, tiny):
    import torch

    torch.manual_seed(3)
    ranker = CascadeRanker(load_backbone(tiny()), exits=(2, 4, 6), drop_ratio=0.5, max_length=64)
    ranker.reads_titles = reads_titles
    with torch.no_grad():
        for p in ranker.module.heads.parameters():
            p.normal_(std=0.3)
    titled = [Question(q.qid, q.text, tuple(Candidate(c.id, c.text, c.label, "bread and music") for c in q.candidates))
              for q in SET]  # fmt: skip
    rows = compare_engines(ranker, titled)
    assert [(r.form, r.exit) for r in rows] == [(FILE, 6), (INT8, 2), (INT8, 4), (INT8, 6)]
    assert all((r.questions, r.candidates) == (2, 7) for r in rows)
    assert rows[0].largest < 1e-4 and rows[0].same_first == 2  # float32 twice, long texts cut alike
    assert all(0 < r.largest < 1.0 for r in rows[1:])
    assert rows[-1].same_first == 2  # the best are scored again in float32
    assert ranker.engine.name == "torch"
