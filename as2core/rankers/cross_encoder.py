"""The monolithic cross-encoder: question and candidate read together, one classifier on top (TandA's setting).

It is the cascade with a single exit, so it shares module, trainer and checkpoint with it: `depth` picks how many
layers of the encoder are used (the paper's monolithic baselines of 4, 6, 8, 10 and 12 layers).
"""

from __future__ import annotations

from pathlib import Path

from as2core.cascade.engine import Engine
from as2core.errors import BadSetting
from as2core.nn.backbone import Backbone
from as2core.nn.heads import ClsHead
from as2core.rankers.cascade import CascadeRanker
from as2core.types import OnProgress

POOLS = ("mean", "cls")


class CrossEncoderRanker(CascadeRanker):
    """A cascade whose only exit is layer `depth`: nothing is ever dropped.

    `pool`: what the classifier reads, the "mean" of all tokens as the cascade does, or the "cls" token's state, as the
    discriminative twins of Nogueira dos Santos et al. (2020) do.
    """

    def __init__(
        self,
        backbone: Backbone,
        *,
        depth: int | None = None,
        pool: str = "mean",
        name: str = "cross-encoder",
        **settings,
    ) -> None:
        if pool not in POOLS:
            raise BadSetting(f"no pool {pool!r}; known: {', '.join(POOLS)}")
        depth = backbone.layers if depth is None else depth
        if not isinstance(depth, int) or not 1 <= depth <= backbone.layers:
            raise BadSetting(f"depth={depth}: give a layer between 1 and {backbone.layers}")
        settings.pop("drop_ratio", None)
        super().__init__(backbone, exits=(depth,), drop_ratio=0.0, name=name, **settings)

        self.pool = pool
        if pool == "cls":
            self.module.heads[0] = ClsHead(backbone.hidden)
            self.module.eval()

    @property
    def depth(self) -> int:
        return self.exits[0]

    @classmethod
    def from_cascade(cls, cascade: CascadeRanker, *, depth: int | None = None) -> CrossEncoderRanker:
        """One exit of a trained cascade as a monolithic model; the weights are shared, not copied."""
        at = cascade.exits.index(cascade.exits[-1] if depth is None else depth)
        ranker = cls(
            cascade.backbone,
            depth=cascade.exits[at],
            max_length=cascade.max_length,
            calibration=[cascade.calibration[at]] if cascade.calibrated else None,
            threshold=cascade.threshold,
        )
        ranker.module.heads[0], ranker.trained = cascade.module.heads[at], cascade.trained
        ranker.module.eval()
        return ranker

    def _onnx(self, folder: Path | None, on_progress: OnProgress | None) -> Engine:
        if self.pool == "cls":
            raise BadSetting("the onnx engine knows the classifier over the mean alone: use engine=torch with pool=cls")
        return super()._onnx(folder, on_progress)
