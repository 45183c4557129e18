"""The tutorial's blocks run one after the other, on the articles they ask about and with tiny models."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/tutorial.md").read_text(), re.M | re.S)


def tiny_encoder(folder: Path) -> Path:
    """A saved encoder of two layers that knows single characters."""
    import torch
    from transformers import AutoConfig, AutoModel, BertTokenizerFast

    letters = [chr(c) for c in range(33, 127)]
    folder.mkdir()
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters)])
    )
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = AutoConfig.for_model(
        "bert",
        vocab_size=5 + 2 * len(letters),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=256,
    )
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


@pytest.fixture
def small_world(tmp_path, monkeypatch):
    """A checkout's articles, those alone that answer; the catalog's models by name, but tiny."""
    from as2core.nn import backbone
    from as2core.rankers import catalog

    answers = re.findall(r'^    "[^"]+\?": "(.+)",$', "".join(BLOCKS), re.M)
    articles = tmp_path / "corpora/starter/articles"
    articles.mkdir(parents=True)
    for file in (ROOT / "corpora/starter/articles").iterdir():
        if any(answer in file.read_text() for answer in answers):
            shutil.copy(file, articles)
    encoder, load, get = str(tiny_encoder(tmp_path / "tiny")), backbone.load_backbone, catalog.get
    monkeypatch.setattr(backbone, "load_backbone", lambda name=encoder, **settings: load(name, **settings))
    monkeypatch.setattr(catalog, "get", lambda spec: get(f"{spec}:backbone={encoder}"))
    monkeypatch.chdir(tmp_path)
    return answers


@pytest.mark.slow
def test_the_tutorial_goes_from_a_folder_to_an_adapted_ranker(small_world, capsys):
    world: dict = {}
    for number, block in enumerate(BLOCKS, 1):
        exec(compile(block, f"tutorial, block {number}", "exec"), world)
    assert len(small_world) == len(world["ANSWERS"]) == 12
    assert sum(q.positives == 1 for q in world["labelled"]) >= 8  # each answer is one sentence, and found
    assert Path("my-ranker/model.safetensors").is_file()
    said = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("epoch ") for line in said) >= 1
    assert "True" in said  # what was saved ranks as what was trained
