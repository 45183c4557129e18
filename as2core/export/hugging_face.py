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
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.versions import Card

if TYPE_CHECKING:
    from torch import Tensor

CODE = Path(modeling_as2.__file__)
PLACES = {  # how names begin in a CascadeModule of one exit, and in the exported model
    "backbone.embeddings.": "encoder.embeddings.",
    "backbone.project.": "encoder.embeddings_project.",
    "backbone.blocks.": "encoder.encoder.layer.",
    "heads.0.net.1.": "net.0.",  # ours counts the layers of dropout, too
    "heads.0.net.4.": "net.2.",
    "heads.0.net.7.": "net.4.",
    "heads.0.cosine": "cosine",
}


def write(ranker: CascadeRanker, folder: Path, card: Card) -> None:
    """Into an existing folder. Raises DamagedModel for weights that do not fit their own architecture."""
    config = _config(ranker)
    model = modeling_as2.As2CrossEncoder(config).eval()
    missing, unknown = model.load_state_dict(_rename(last_exit.list_tensors(ranker), PLACES), strict=False)
    if missing or unknown:
        raise DamagedModel(f"{ranker.name} does not fit its own architecture: {[*missing, *unknown][0]}")
    model.save_pretrained(folder)
    shutil.copyfile(CODE, folder / CODE.name)
    last_exit.save_tokenizer(ranker, folder)
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
    if unknown := [name for name in tensors if not name.startswith(tuple(PLACES.values()))]:
        raise DamagedModel(f"{folder} holds tensors that as2 does not export: {unknown[0]}")
    return last_exit.restore(settings, _rename(tensors, {theirs: ours for ours, theirs in PLACES.items()})), card


def _config(ranker: CascadeRanker) -> modeling_as2.As2Config:
    backbone, depth = ranker.backbone, ranker.exits[-1]
    encoder = backbone.config.to_dict()
    encoder = {k: v for k, v in encoder.items() if k not in ("architectures", "_name_or_path", "transformers_version")}
    config = modeling_as2.As2Config(
        encoder={**encoder, "num_hidden_layers": depth},
        separators=backbone.tokenizer.num_special_tokens_to_add(pair=True) - 2,
        separator_id=backbone.tokenizer.sep_token_id,
        segments=backbone.segments,
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


def _rename(tensors: Mapping[str, Tensor], places: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors with the beginnings of their names replaced, old -> new; without those that begin otherwise."""
    return {
        new + name.removeprefix(old): tensor
        for name, tensor in tensors.items()
        for old, new in places.items()
        if name.startswith(old)
    }
