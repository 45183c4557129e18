"""What the formats of other programs hold of a ranker: its last exit, as a cross-encoder; and how it is read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.errors import DamagedModel
from as2core.nn.backbone import load_backbone
from as2core.rankers.base import VersionConfig
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker
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
        "calibration": [list(ranker.calibration[-1])] if ranker.calibrated else None,
        "threshold": ranker.threshold,
    }


def restore(settings: VersionConfig, tensors: Mapping[str, Tensor]) -> CrossEncoderRanker:
    """The ranker that `describe` described, `tensors` under the names of a CascadeModule with one exit. Raises
    DamagedModel where one of the layers it uses is missing."""
    names = ("depth", "max_length", "calibration", "threshold")
    ranker = CrossEncoderRanker(load_backbone(settings["backbone"]), **{name: settings[name] for name in names})
    ranker.trained = True
    unused = tuple(f"backbone.blocks.{i}." for i in range(ranker.depth, ranker.backbone.layers))
    absent, _ = ranker.module.load_state_dict(dict(tensors), strict=False)
    missing = [name for name in absent if not name.startswith(unused)]
    if missing:
        raise DamagedModel(f"the export lacks {missing[0]}: export the version again")
    return ranker


def write_card(folder: Path, card: Card) -> None:
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n")


def read_card(folder: Path) -> Card:
    """The exported card; {} if there is none. Raises OSError, ValueError."""
    file = folder / CARD
    return json.loads(file.read_text()) if file.is_file() else {}
