"""One ONNX file, float32: `input_ids` and `attention_mask` (batch, length), int64, in; `logits` (batch) out.

It holds the last exit: every candidate passes all layers. The tokenizer stands beside it. (The workbench's own quick
engine is another thing: a graph an exit, int8; see as2core.cascade.graphs.)
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from as2core.nn.backbone import Backbone
from as2core.nn.heads import ExitHead
from as2core.rankers.cascade import CascadeRanker

FILE = "model.onnx"


class _Scorer(nn.Module):
    def __init__(self, backbone: Backbone, head: ExitHead, depth: int) -> None:
        super().__init__()
        self.backbone, self.head, self.depth = backbone, head, depth
        self.separators = backbone.tokenizer.num_special_tokens_to_add(pair=True) - 2
        self.separator_id = backbone.tokenizer.sep_token_id

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        mask = attention_mask.bool()
        first = (input_ids == self.separator_id).int().argmax(1, keepdim=True)
        at = torch.arange(input_ids.shape[1])[None, :]
        second = mask & (at >= first + self.separators)
        hidden = self.backbone.run(self.backbone.embed(input_ids), mask, 0, self.depth)
        return self.head(hidden, mask, second)


def write(ranker: CascadeRanker, folder: Path, card: Mapping[str, Any]) -> list[Path]:
    """The file, its tokenizer and its card."""
    backbone = ranker.backbone
    scorer = _Scorer(backbone, ranker.module.heads[-1], ranker.exits[-1]).eval()
    packed = backbone.encode(["who is it", "what"], ["It is a river in the east.", "A word."], max_length=32)
    ids, mask, _ = backbone.pad(packed, [0, 1])
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=ranker.max_length)
    shape = {0: batch, 1: length}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            scorer,
            (ids, mask.long()),
            str(folder / FILE),
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            dynamic_shapes={"input_ids": shape, "attention_mask": shape},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    backbone.tokenizer.save_pretrained(folder)
    (folder / "as2_card.json").write_text(json.dumps(dict(card), indent=2) + "\n")
    return sorted(p for p in folder.iterdir() if p.is_file())
