"""`as2 train` makes a version that the other commands take."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from as2core import cli
from as2core.data import catalog
from as2core.errors import Cancelled
from as2core.training import fine_tune

WORDS = "tower bridge river iron steel water".split()


@pytest.fixture
def files(tmp_path):
    """A text file of word vectors, and questions whose correct candidate says the asked word."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_text(
        "".join(f"{w} {' '.join('1' if i == j else '0' for j in range(6))}\n" for i, w in enumerate(WORDS))
    )
    data = tmp_path / "questions.jsonl"
    with data.open("w") as f:
        for i in range(12):
            place = i % 3
            said = [WORDS[(i + 1 + (j - place) % 3) % 6] if j != place else WORDS[i % 6] for j in range(3)]
            rows = [{"id": f"{i}-{j}", "text": f"the {w}", "label": int(j == place)} for j, w in enumerate(said)]
            f.write(json.dumps({"qid": f"q{i}", "question": f"which {WORDS[i % 6]}", "candidates": rows}) + "\n")
    return vectors, data


def test_training_writes_a_version_that_eval_measures_as_its_card_says(files, tmp_path, capsys):
    vectors, data = files
    spec = f"cosinet:hidden=8,vectors={vectors}"
    told = ["--epochs", "8", "--learning-rate", "0.01", "--seed", "3", "--with", "warmup=0.2", "--json"]
    code = cli.main(["train", spec, str(data), "--dev", str(data), "--out", str(tmp_path / "mine"), *told])
    out, err = capsys.readouterr()
    assert code == 0, err
    card = json.loads(out)["card"]
    assert (card["ranker"], card["questions"], card["seed"]) == (spec, 12, 3)
    assert card["settings"]["train"]["epochs"] == 8
    assert card["settings"]["train"]["loss"] == "pointwise"
    assert card["settings"]["train"]["warmup"] == 0.2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "questions.jsonl", "vectors.txt"]
    assert cli.main(["eval", str(tmp_path / "mine"), str(data), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["AP"] == pytest.approx(card["metrics"]["AP"])
    assert measured["AP"] > 0.9
    assert measured["weights"] == card["sha256"]


def test_a_setting_that_may_be_none_takes_a_number_or_none(files, tmp_path, capsys):
    vectors, data = files
    told = ["--epochs", "1", "--json", "--with", "tuned_share=none", "--with", "max_tokens=none"]
    spec = f"cosinet:hidden=8,vectors={vectors}"
    assert cli.main(["train", spec, str(data), "--out", str(tmp_path / "a"), *told, "--with", "dropout=0.1"]) == 0
    settings = json.loads(capsys.readouterr().out)["card"]["settings"]["train"]
    assert (settings["dropout"], settings["tuned_share"], settings["max_tokens"]) == (0.1, None, None)
    assert cli.main(["train", spec, str(data), "--out", str(tmp_path / "b"), "--with", "dropout=much"]) == 1
    assert "dropout='much' is neither a float nor none" in capsys.readouterr().err


def test_a_training_that_diverges_leaves_no_version_and_nothing_to_resume(files, tmp_path, capsys):
    vectors, data = files
    spec, before = f"cosinet:hidden=8,vectors={vectors}", sorted(tmp_path.iterdir())
    for dev in ([], ["--dev", str(data)]):
        told = ["train", spec, str(data), "--out", str(tmp_path / "no"), "--learning-rate", "1e30", *dev]
        assert cli.main(told) == 1
        assert "the training diverged" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_setting_that_an_untrained_ranker_has_no_use_for_is_refused(files, tmp_path, capsys):
    vectors, data = files
    spec = f"cosinet:hidden=8,vectors={vectors}"
    assert cli.main(["train", spec, str(data), "--out", str(tmp_path / "no"), "--with", "hard_negatives=1"]) == 1
    assert "hard_negatives: only for a ranker that is trained already" in capsys.readouterr().err


def test_a_ranker_learns_the_same_from_a_large_file_whose_questions_stay_there(files, tmp_path, capsys, monkeypatch):
    vectors, data = files
    told = [f"cosinet:hidden=8,vectors={vectors}", str(data), "--epochs", "2", "--limit", "10", "--no-titles", "--json"]

    def train(name: str, *more: str) -> dict:
        assert cli.main(["train", *told, "--out", str(tmp_path / name), *more]) == 0
        return json.loads(capsys.readouterr().out)["card"]

    both = []
    for name, min_bytes in (("memory", 10**9), ("file", 0)):
        monkeypatch.setattr(catalog, "LARGE_BYTES", min_bytes)
        both.append(train(name, "--with", "noise=0.2"))
    in_memory, from_file = both
    assert (from_file["sha256"], from_file["data"]) == (in_memory["sha256"], in_memory["data"])


def test_what_cannot_be_trained_or_written_is_said_in_a_line(files, tmp_path, capsys):
    _, data = files
    assert cli.main(["train", "bm25", str(data), "--out", str(tmp_path / "no")]) == 1
    assert "nothing to train" in capsys.readouterr().err
    assert cli.main(["train", "bm25", str(data), "--out", str(tmp_path / "no"), "--with", "nois=0.1"]) == 1
    assert "known: epochs, learning_rate" in capsys.readouterr().err
    for seed in (["--seed", f"{2**64}"], ["--with", f"seed={2**64}"]):
        assert cli.main(["train", "bm25", str(data), "--out", str(tmp_path / "no"), *seed]) == 1
        assert "give a whole number from 0 to" in capsys.readouterr().err
    for twice in (["--epochs", "1", "--with", "epochs=2"], ["--dtype", "float32", "--with", "bf16=false"]):
        assert cli.main(["train", "bm25", str(data), "--out", str(tmp_path / "no"), *twice]) == 1
        assert f"{twice[0]} and --with {twice[3].partition('=')[0]}= set the same" in capsys.readouterr().err
    assert cli.main(["train", "bm25", str(data), "--out", str(data)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_a_dev_set_that_can_judge_nothing_is_not_taken_for_none(files, tmp_path, capsys):
    vectors, data = files
    unlabelled = tmp_path / "unlabelled.jsonl"
    unlabelled.write_text(data.read_text().replace('"label": 1', '"label": null'))
    out = tmp_path / "mine"
    told = ["train", f"cosinet:hidden=8,vectors={vectors}", str(data), "--dev", str(unlabelled), "--out", str(out)]
    assert cli.main([*told, "--epochs", "1"]) == 1
    assert "unlabelled.jsonl has no question with a correct and an incorrect candidate" in capsys.readouterr().err
    assert not out.exists()


def test_a_stopped_run_goes_on_by_the_same_command_but_not_once_its_dev_file_or_its_base_has_changed(
    files, tmp_path, capsys, monkeypatch
):
    vectors, data = files
    base, dev, folders = tmp_path / "base", tmp_path / "dev.jsonl", []
    dev.write_text(data.read_text())

    def make_base(seed: str) -> None:
        shutil.rmtree(base, ignore_errors=True)
        spec = f"cosinet:hidden=8,vectors={vectors}"
        assert cli.main(["train", spec, str(data), "--out", str(base), "--epochs", "1", "--seed", seed]) == 0

    def stop(*_, workdir, **__):
        folders.append(workdir.name)
        raise Cancelled("stopped")

    def train() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(fine_tune, "fine_tune", stop)
            assert cli.main(["train", str(base), str(data), "--dev", str(dev), "--out", str(tmp_path / "mine")]) != 0

    make_base("1")
    train()
    train()
    dev.write_text("".join(dev.read_text().splitlines(keepends=True)[:6]))
    train()
    make_base("2")
    train()
    first, again, with_other_dev, with_other_base = folders
    assert first == again
    assert len({first, with_other_dev, with_other_base}) == 3


def test_a_dtype_that_the_device_has_not_is_refused(tiny_backbone, files, tmp_path, capsys, monkeypatch):
    told = ["train", f"cross-encoder:backbone={tiny_backbone}", str(files[1]), "--limit", "4", "--json"]

    def train(name: str, dtype: str) -> tuple[int, str, str]:
        code = cli.main([*told, "--out", str(tmp_path / name), "--dtype", dtype])
        return (code, *capsys.readouterr())

    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    code, _, err = train("no", "bfloat16")
    assert code == 1 and "this processor has no instructions for it" in err
    assert not (tmp_path / "no").exists()
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    cards = {dtype: json.loads(train(dtype, dtype)[1])["card"] for dtype in ("bfloat16", "float32")}
    assert {dtype: card["settings"]["train"]["bf16"] for dtype, card in cards.items()} == {
        "bfloat16": True,
        "float32": False,
    }
    assert cards["bfloat16"]["sha256"] != cards["float32"]["sha256"]  # the same seed, other products


def test_ctrl_c_says_how_to_go_on(files, tmp_path, capsys, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("as2core.training.fine_tune.fine_tune", interrupt)
    vectors, data = files
    assert cli.main(["train", f"cosinet:hidden=8,vectors={vectors}", str(data), "--out", str(tmp_path / "mine")]) == 130
    assert "the same command goes on from the last checkpoint" in capsys.readouterr().err
