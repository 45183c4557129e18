"""`as2 train --seed`: the same seed gives the same version, an untrained base's first values included."""

import json

import pytest
import torch
from year_questions import questions

from as2core import cli
from as2core.data import jsonl


@pytest.mark.slow
@pytest.mark.parametrize("told", [["--seed", "5"], ["--with", "seed=5"]])
def test_a_seed_draws_the_first_values_of_an_untrained_base_too(told, tiny, tmp_path, capsys):
    data = tmp_path / "questions.jsonl"
    jsonl.write(questions(0, 8), data)
    cards = []
    for before in (1, 2):
        torch.manual_seed(before)  # whatever the process drew until now
        spec, out = f"cross-encoder:backbone={tiny('bert', 2)},pool=cls", tmp_path / str(before)
        assert cli.main(["train", spec, str(data), "--out", str(out), "--epochs", "1", "--json", *told]) == 0
        cards.append(json.loads(capsys.readouterr().out)["card"])
    assert cards[0]["sha256"] == cards[1]["sha256"]
    assert [(c["seed"], c["settings"]["train"]["seed"]) for c in cards] == [(5, 5), (5, 5)]
