"""What the formats of other programs hold of a ranker: its last exit, as a cross-encoder; and how it comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from as2core.errors import DamagedModel
from as2core.nn.backbone import load_backbone
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.cross_encoder import CrossEncoderRanker

CARD = "as2_card.json"


def settings(ranker: CascadeRanker) -> dict[str, Any]:
    """What the workbench needs beside the weights, for JSON."""
    return {
        "backbone": ranker.backbone.name,
        "depth": ranker.exits[-1],
        "max_length": ranker.max_length,
        "calibration": [list(ranker.calibration[-1])] if ranker.calibrated else None,
        "threshold": ranker.threshold,
    }


def cross_encoder(kept: Mapping[str, Any], tensors: Mapping[str, Any]) -> CrossEncoderRanker:
    """The ranker of these `settings`, `tensors` under the names of a CascadeModule with one exit. Raises DamagedModel
    where one of the layers it uses is missing."""
    ranker = CrossEncoderRanker(
        load_backbone(kept["backbone"]),
        depth=kept["depth"],
        max_length=kept["max_length"],
        calibration=kept["calibration"],
        threshold=kept["threshold"],
    )
    ranker.trained = True
    above = tuple(f"backbone.blocks.{i}." for i in range(kept["depth"], ranker.backbone.layers))
    missing, _ = ranker.module.load_state_dict(dict(tensors), strict=False)
    missing = [name for name in missing if not name.startswith(above)]
    if missing:
        raise DamagedModel(f"the export lacks {missing[0]}: export the version again")
    return ranker
