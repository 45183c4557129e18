"""The monolithic cross-encoder: question and candidate read together, one classifier on top (TandA's setting).

It is the cascade with a single exit, so it shares module, trainer and checkpoint with it: `depth` picks how many
layers of the encoder are used (the paper's monolithic baselines of 4, 6, 8, 10 and 12 layers).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from as2core.cascade.engine import Engine
from as2core.errors import BadSetting
from as2core.rankers.base import LoadRanker, Ranker, VersionConfig
from as2core.rankers.cascade import SET_AFTERWARDS, CascadeRanker
from as2core.rankers.seq2seq_classifier import Seq2SeqClassifierRanker, is_seq2seq, load_seq2seq_classifier
from as2core.rankers.specs import Entry
from as2core.types import OnProgress

if TYPE_CHECKING:
    from as2core.nn.backbone import Backbone

POOLS = ("mean", "cls")


class CrossEncoderRanker(CascadeRanker):
    """A cascade whose only exit is layer `depth`: nothing is ever dropped.

    `pool`: what the classifier reads, the "mean" of all tokens as the cascade does, or the "cls" token's state, as the
    discriminative twins of Nogueira dos Santos et al. (2020) do.
    """

    kind = "cross-encoder"
    adjustable = ("engine", "dtype")

    def __init__(
        self,
        backbone: Backbone,
        *,
        depth: int | None = None,
        pool: str = "mean",
        keep: int = 5,
        max_length: int = 128,
        calibration: Sequence[tuple[float, float]] | None = None,
        threshold: float | None = None,
        name: str = "cross-encoder",
    ) -> None:
        if pool not in POOLS:
            raise BadSetting(f"no pool {pool!r}; known: {', '.join(POOLS)}")
        depth = backbone.layers if depth is None else depth
        if not isinstance(depth, int) or not 1 <= depth <= backbone.layers:
            raise BadSetting(f"depth={depth}: give a layer between 1 and {backbone.layers}")
        super().__init__(
            backbone,
            exits=(depth,),
            drop_ratio=0.0,
            keep=keep,
            max_length=max_length,
            calibration=calibration,
            threshold=threshold,
            name=name,
        )
        self.pool = pool
        if pool == "cls":
            from as2core.nn.heads import ClsHead

            self.module.heads[0] = ClsHead(backbone.hidden)
            self.module.eval()

    @property
    def depth(self) -> int:
        return self.exits[0]

    @classmethod
    def from_cascade(cls, cascade: CascadeRanker, *, depth: int | None = None) -> CrossEncoderRanker:
        """One exit of a trained cascade as a monolithic model; the weights are shared, not copied (those of the paper's
        classifier, which has two classes, are copied), in training if the cascade is."""
        from as2core.nn.heads import PaperHead

        is_training = cascade.module.training
        at = cascade.exits.index(cascade.exits[-1] if depth is None else depth)
        ranker = cls(
            cascade.backbone,
            depth=cascade.exits[at],
            max_length=cascade.max_length,
            calibration=[cascade.calibration[at]] if cascade.is_calibrated else None,
            threshold=cascade.threshold,
        )
        head = cascade.module.heads[at]
        ranker.module.heads[0] = head.to_exit_head() if isinstance(head, PaperHead) else head
        ranker.is_trained, ranker.reads_titles = cascade.is_trained, cascade.reads_titles
        if at == len(cascade.exits) - 1:  # they were fitted to the last exit's scores
            ranker.answer_calibration = cascade.answer_calibration
        ranker.module.train(is_training)
        return ranker

    def _build_onnx(self, folder: Path | None, on_progress: OnProgress | None) -> Engine:
        if self.pool == "cls":
            raise BadSetting("the onnx engine knows the classifier over the mean alone: use engine=torch with pool=cls")
        return super()._build_onnx(folder, on_progress)

    def config(self) -> VersionConfig:
        config = super().config()
        return {**config, "settings": {**config["settings"], "pool": self.pool}}

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> CrossEncoderRanker:
        from as2core.nn.backbone import load_backbone

        settings = config["settings"]
        others = ("exits", "drop_ratio", *SET_AFTERWARDS)
        own = {name: value for name, value in settings.items() if name not in others}
        backbone = load_backbone(config["backbone"], segments=settings.get("segments", False))
        ranker = cls(backbone, depth=settings["exits"][-1], **own)
        ranker.restore_rest(settings)
        return ranker


def build(
    shipped: CascadeRanker | None,
    *,
    backbone: str | None = None,
    segments: bool | None = None,
    depth: int | None = None,
    pool: str = "mean",
    engine: str = "auto",
    dtype: str = "auto",
) -> Ranker:
    if shipped is not None:
        if depth is not None and depth not in shipped.exits:
            raise BadSetting(
                f"depth {depth}: the shipped model has exits {', '.join(map(str, shipped.exits))}; another depth has "
                "to be trained (backbone=NAME gives an untrained one)"
            )
        ranker = CrossEncoderRanker.from_cascade(shipped, depth=depth)
        ranker.dtype = dtype
        ranker.use(engine)
        return ranker
    if backbone is not None and is_seq2seq(backbone):
        if depth is not None or pool != "mean" or engine == "onnx" or segments or dtype != "auto":
            raise BadSetting(
                "an encoder-decoder has no depth, pool, segments, dtype or onnx engine: give its backbone alone"
            )
        return Seq2SeqClassifierRanker(load_seq2seq_classifier(backbone))
    from as2core.nn.backbone import load_backbone

    ranker = CrossEncoderRanker(load_backbone(backbone, segments=segments), depth=depth, pool=pool)
    ranker.dtype = dtype
    ranker.use("torch" if engine == "auto" else engine)
    return ranker


RANKER = Entry(
    "cross-encoder",
    "monolithic transformer",
    "Garg et al. 2020",
    build,
    shipped="cascade",
    saved=(CrossEncoderRanker, Seq2SeqClassifierRanker),
)
