"""Everything that is timed, by name, each made when it is first asked for: ours and the peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import _peers

from as2core.cascade.schedule import DropSchedule
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.rankers.first_stage import FIRST_WORDS, FirstStage, build_first_stage
from as2core.system.cores import count_cores
from as2core.types import Candidate

Way = Callable[[str, list[Candidate]], object]
RATIOS = (0.3, 0.4, 0.5)
# what they keep loses half a point of AP or little more; the first two are for a hundred candidates
FIRST = (("bi-encoder", 20), ("bi-encoder", 30), ("bm25", 400), ("bi-encoder", 100))
LOOP, CROSS = "plain Hugging Face loop", "sentence-transformers CrossEncoder"
INT8 = "ONNX Runtime int8, batches of 32 by length"
FLASH = "ONNX Runtime int8, one batch (FlashRank's way)"
WHOLE_TORCH = "whole model, torch engine"
BASE, NOTHING = "whole model, onnx engine", "`cascade:drop_ratio=0`"
BM25 = "`cascade:drop_ratio=0.3,first=bm25,first_keep=400`"


class Ways:
    """`folder` holds the exported peers; what is there already is used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: dict[str, Way] = {}
        self._scores: dict[str, _peers.Score] = {}
        self._first: dict[tuple[str, int], FirstStage] = {}

    @cached_property
    def torch(self) -> CascadeRanker:
        return get("cascade:engine=torch")

    @cached_property
    def onnx(self) -> CascadeRanker:
        return get("cascade:engine=onnx")

    @cached_property
    def whole(self) -> CascadeRanker:
        return get("cross-encoder:engine=onnx")

    @cached_property
    def exported(self) -> tuple[Path, Path]:
        return _peers.export(self.torch, self.folder)

    def schedule(self, ratio: float) -> DropSchedule:
        return DropSchedule.constant(ratio, exits=len(self.onnx.exits), keep=self.onnx.keep)

    def first(self, name: str, keep: int) -> FirstStage:
        if (name, keep) not in self._first:
            first = name if name in FIRST_WORDS else get(name)
            self._first[name, keep] = build_first_stage(self.onnx.backbone.name, first, keep)
        return self._first[name, keep]

    @property
    def names(self) -> list[str]:
        return [*self._peers, *self._ours]

    @property
    def whole_models(self) -> list[str]:
        """Those in which every candidate passes all layers, and which give their scores."""
        return [*self._peers, WHOLE_TORCH, BASE]

    def names_for(self, candidates: int) -> list[str]:
        """Those worth timing over so many: a first stage has to leave candidates out, and not nearly all."""
        unfit = [keep for _, keep in FIRST if not candidates / 20 < keep < candidates]
        return [name for name in self.names if not any(name.endswith(f"first_keep={keep}`") for keep in unfit)]

    def __getitem__(self, name: str) -> Way:
        if name not in self._made:
            self._made[name] = _texts(self.peer(name)) if name in self._peers else self._ours[name]()
        return self._made[name]

    def peer(self, name: str) -> _peers.Score:
        """A peer as it is: over pairs, of several questions if one likes."""
        if name not in self._scores:
            self._scores[name] = self._peers[name]()
        return self._scores[name]

    @cached_property
    def _peers(self) -> dict[str, Callable[[], _peers.Score]]:
        def onnx_runtime(small: bool, **settings) -> Callable[[], _peers.Score]:
            return lambda: _peers.onnx_runtime(self.torch, self.exported[small], **settings)

        def optimised() -> _peers.Score:
            return _peers.onnx_runtime(self.torch, _peers.optimised(self.torch, self.exported[0]))

        made = {
            CROSS: lambda: _peers.sentence_transformers(self.torch, self.folder / "peer"),
            LOOP: lambda: _peers.plain_loop(self.torch),
            "ONNX Runtime float32, batches of 32 by length": onnx_runtime(False),
            "ONNX Runtime float32, optimised (O3's fusions)": optimised,
            INT8: onnx_runtime(True),
            "ONNX Runtime int8, batches of 8 by length": onnx_runtime(True, batch=8),
            FLASH: onnx_runtime(True, batch=None, ordered=False),
        }
        return {name: way for name, way in made.items() if name != CROSS or _peers.has("sentence_transformers")}

    @cached_property
    def openvino(self) -> dict[str, Way]:
        """Its ways of running the whole model; needs the packages openvino and nncf."""
        files = {
            "float32": self.exported[0],
            "int8 weights, dynamic quantisation": _peers.compress(self.exported[0]),
            "ONNX Runtime's int8 file": self.exported[1],
        }
        return {
            f"OpenVINO, {name}": _texts(_peers.openvino(self.torch, path, streams=count_cores()))
            for name, path in files.items()
        }

    @cached_property
    def _ours(self) -> dict[str, Callable[[], Way]]:
        made: dict[str, Callable[[], Way]] = {
            WHOLE_TORCH: lambda: get("cross-encoder:engine=torch").score,
            BASE: lambda: self.whole.score,
        }
        for ratio in (0.0, *RATIOS):
            made[f"`cascade:drop_ratio={ratio:g}`"] = lambda r=ratio: self._cascade(r, None)
        for name, keep in FIRST:
            for ratio in (0.0, 0.3):
                spec = f"`cascade:drop_ratio={ratio:g},first={name},first_keep={keep}`"
                made[spec] = lambda r=ratio, n=name, k=keep: self._cascade(r, self.first(n, k))
        return made

    def _cascade(self, ratio: float, first: FirstStage | None) -> Way:
        ranker = object.__new__(CascadeRanker)  # the same ranker, its sessions shared, with another first stage
        ranker.__dict__.update(self.onnx.__dict__, first=first)
        return lambda q, c: ranker.trace(q, c, self.schedule(ratio))


def _texts(score: _peers.Score) -> Way:
    return lambda q, candidates: score([(q, c.titled_text) for c in candidates])
