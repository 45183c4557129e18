"""What the formats of other programs hold of a ranker: its last exit, as a cross-encoder; and how it is read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.nn.backbone import load_backbone
from as2core.rankers.base import VersionConfig
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.config_schema import check_config, check_settings
from as2core.rankers.cross_encoder import CrossEncoderRanker
from as2core.rankers.tensor_check import check_tensors
from as2core.rankers.versions import Card

if TYPE_CHECKING:
    from torch import Tensor

CARD = "as2_card.json"


def describe(ranker: CascadeRanker) -> VersionConfig:
    """What the workbench needs beside the weights, for JSON."""
    return {
        "backbone": ranker.backbone.name,
        "depth": ranker.exits[-1],
        "max_length": ranker.max_length,
        "segments": ranker.backbone.segments,
        "titles": ranker.reads_titles,
        "calibration": [list(ranker.calibration[-1])] if ranker.is_calibrated else None,
        "threshold": ranker.threshold,
    }


def list_tensors(ranker: CascadeRanker) -> dict[str, Tensor]:
    """The weights of its last exit and of the layers below it, under the names of a CascadeModule with one exit."""
    exit_ranker = CrossEncoderRanker.from_cascade(ranker)
    unused = _unused_layers(exit_ranker)
    return {name: t for name, t in exit_ranker.module.state_dict().items() if not name.startswith(unused)}


def _unused_layers(ranker: CrossEncoderRanker) -> tuple[str, ...]:
    """How the names of the layers above its exit begin."""
    return tuple(f"backbone.blocks.{i}." for i in range(ranker.depth, ranker.backbone.layers))


def restore(settings: VersionConfig, tensors: Mapping[str, Tensor]) -> CrossEncoderRanker:
    """The ranker that `describe` described, `tensors` under the names of a CascadeModule with one exit. Raises
    DamagedModel for tensors that are not exactly those of the layers it uses, BadSetting, KeyError."""
    check_config(settings)
    check_settings({name: value for name, value in settings.items() if name != "backbone"})
    names = ("depth", "max_length", "calibration", "threshold")
    backbone = load_backbone(settings["backbone"], segments=settings.get("segments", False))
    ranker = CrossEncoderRanker(backbone, **{name: settings[name] for name in names})
    ranker.is_trained, ranker.reads_titles = True, settings.get("titles", True)
    state = ranker.module.state_dict()
    unused = [name for name in state if name.startswith(_unused_layers(ranker))]
    check_tensors(tensors, state, "the export", unused)
    ranker.module.load_state_dict(dict(tensors), strict=False)
    return ranker


def save_tokenizer(ranker: CascadeRanker, folder: Path) -> None:
    """The tokenizer, which cuts pairs where the ranker does."""
    tokenizer = ranker.backbone.tokenizer
    before, tokenizer.model_max_length = tokenizer.model_max_length, ranker.max_length
    try:
        tokenizer.save_pretrained(folder)
    finally:
        tokenizer.model_max_length = before


def write_card(folder: Path, card: Card) -> None:
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n")


def read_card(folder: Path) -> Card:
    """The exported card; {} if there is none. Raises OSError, ValueError."""
    file = folder / CARD
    return json.loads(file.read_text()) if file.is_file() else {}
