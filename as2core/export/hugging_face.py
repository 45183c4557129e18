"""A Hugging Face directory: configuration, safetensors, tokenizer, and the model's own code.

`AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)` loads it. It holds the last exit
alone: every candidate passes all layers, as in a cross-encoder. Scores are equal for questions of up to 60 tokens; the
workbench cuts longer ones at 64, other programs divide the room otherwise.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.errors import DamagedModel
from as2core.export import last_exit, modeling_as2
from as2core.nn.backbone import Backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.versions import Card

if TYPE_CHECKING:
    from torch import Tensor

CODE = Path(modeling_as2.__file__)
HEAD_LINEARS = {1: 0, 4: 2, 7: 4}  # their places in our head's Sequential, which has dropout, and in the exported one


def write(ranker: CascadeRanker, folder: Path, card: Card) -> None:
    """Into an existing folder. Raises DamagedModel for weights that do not fit their own architecture."""
    config = _config(ranker)
    model = modeling_as2.As2CrossEncoder(config).eval()
    missing, unknown = model.load_state_dict(_tensors(ranker), strict=False)
    if missing or unknown:
        raise DamagedModel(f"{ranker.name} does not fit its own architecture: {[*missing, *unknown][0]}")
    model.save_pretrained(folder)
    shutil.copyfile(CODE, folder / CODE.name)
    tokenizer = ranker.backbone.tokenizer
    before, tokenizer.model_max_length = tokenizer.model_max_length, ranker.max_length
    try:
        tokenizer.save_pretrained(folder)
    finally:
        tokenizer.model_max_length = before
    last_exit.write_card(folder, card)


def read(folder: Path) -> tuple[CrossEncoderRanker, Card]:
    """What `write` wrote, as a cross-encoder, and its card. Raises DamagedModel."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        settings = json.loads((folder / "config.json").read_text())["as2"]
        tensors, card = load_file(folder / "model.safetensors"), last_exit.read_card(folder)
    except (OSError, ValueError, KeyError, SafetensorError) as e:
        raise DamagedModel(f"{folder} is no model that as2 exported ({e}): export it again") from e
    return last_exit.restore(settings, _rename_back(tensors)), card


def _config(ranker: CascadeRanker) -> modeling_as2.As2Config:
    backbone, depth = ranker.backbone, ranker.exits[-1]
    encoder = backbone.config.to_dict()
    encoder = {k: v for k, v in encoder.items() if k not in ("architectures", "_name_or_path", "transformers_version")}
    config = modeling_as2.As2Config(
        encoder={**encoder, "num_hidden_layers": depth},
        separators=backbone.tokenizer.num_special_tokens_to_add(pair=True) - 2,
        separator_id=backbone.tokenizer.sep_token_id,
        hidden_size=backbone.hidden,
        pad_token_id=backbone.tokenizer.pad_token_id,
        as2=last_exit.describe(ranker),
    )
    config.auto_map = {
        "AutoConfig": f"{CODE.stem}.As2Config",
        "AutoModelForSequenceClassification": f"{CODE.stem}.As2CrossEncoder",
    }
    config.architectures = ["As2CrossEncoder"]
    return config


def _tensors(ranker: CascadeRanker) -> dict[str, Tensor]:
    """The exported model's state."""
    backbone: Backbone = ranker.backbone
    out = {f"encoder.embeddings.{k}": v for k, v in backbone.embeddings.state_dict().items()}
    if backbone.project is not None:
        out |= {f"encoder.embeddings_project.{k}": v for k, v in backbone.project.state_dict().items()}
    for i, block in enumerate(backbone.blocks[: ranker.exits[-1]]):
        out |= {f"encoder.encoder.layer.{i}.{k}": v for k, v in block.state_dict().items()}
    head = ranker.module.last_head
    for ours, theirs in HEAD_LINEARS.items():
        out |= {f"net.{theirs}.{k}": v for k, v in head.net[ours].state_dict().items()}
    return {**out, "cosine": head.cosine.detach()}


def _rename_back(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Their names in a CascadeModule of one exit."""
    heads = {f"net.{theirs}.": f"heads.0.net.{ours}." for ours, theirs in HEAD_LINEARS.items()}
    places = {
        "encoder.embeddings_project.": "backbone.project.",
        "encoder.embeddings.": "backbone.embeddings.",
        "encoder.encoder.layer.": "backbone.blocks.",
        **heads,
    }
    out = {}
    for name, tensor in tensors.items():
        start = next((p for p in places if name.startswith(p)), "")
        out[places[start] + name.removeprefix(start) if start else f"heads.0.{name}"] = tensor
    return out
