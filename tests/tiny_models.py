"""Shipped versions of random weights, a few hundred kilobytes: real code loads, trains and saves them in seconds."""

from __future__ import annotations

import string
from pathlib import Path

from as2core.text import tokenize


def tiny_models(folder: Path, texts: list[str], *, layers: int = 6) -> Path:
    """`folder/models` with the versions "cascade" and "generative", whose vocabulary is that of the texts. Training
    takes as long as there are layers, and so does an export to ONNX, of seconds."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    from as2core.nn.backbone import load_backbone
    from as2core.rankers.cascade import CascadeRanker
    from as2core.rankers.generative import GenerativeRanker, load_question_lm
    from as2core.rankers.versions import save_version

    torch.manual_seed(0)
    base = folder / "backbone"
    base.mkdir(parents=True)
    letters = [*string.ascii_lowercase, *string.digits]
    known = sorted({w for t in texts for w in tokenize(t)})
    vocabulary = dict.fromkeys(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters), ".", "?", ",", *known]
    )
    (base / "vocab.txt").write_text("\n".join(vocabulary))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=256,
    )
    BertModel(config).save_pretrained(base)
    BertTokenizerFast(vocab=str(base / "vocab.txt")).save_pretrained(base)
    backbone = load_backbone(str(base))
    cascade = CascadeRanker(backbone, calibration=[(1.0, 0.0)] * len(backbone.default_exits), threshold=0.5)
    save_version(cascade, folder / "models" / "cascade", {"note": "random"})
    save_version(GenerativeRanker(load_question_lm(str(base))), folder / "models" / "generative", {"note": "random"})
    return folder / "models"
