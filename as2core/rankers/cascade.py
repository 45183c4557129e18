"""The Cascade Transformer (Soldaini and Moschitti, 2020): one encoder, a classifier at several depths,
a share of the candidates dropped at each.

Where we differ: an exit's logit has a cosine term beside the paper's classifier (as2core.nn.heads); the exits' places
scale with the encoder's depth; each exit carries a calibration, so that its logits read as probabilities.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

import numpy as np
import torch
from torch import nn

from as2core.cascade.engine import Engine, run_cascade
from as2core.cascade.engine_torch import TorchEngine
from as2core.cascade.first import First, with_first
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.errors import BadSetting, Cancelled
from as2core.nn.backbone import Backbone
from as2core.nn.heads import ExitHead
from as2core.types import Candidate, OnProgress, Progress

log = logging.getLogger(__name__)
ENGINES = ("auto", "torch", "onnx")


class CascadeModule(nn.Module):
    """Backbone and heads, for training and for saving."""

    def __init__(self, backbone: Backbone, exits: Sequence[int]) -> None:
        super().__init__()
        self.backbone, self.exits = backbone, tuple(exits)
        self.heads = nn.ModuleList(ExitHead(backbone.hidden) for _ in exits)

    def forward(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        second: torch.Tensor,
        *,
        exits: Sequence[int] | None = None,
        stop_gradient: bool = False,
    ) -> dict[int, torch.Tensor]:
        """Logits (batch,) for each wanted exit layer, walking only as deep as the deepest of them.

        `stop_gradient` lets an exit's gradient reach down to the exit before it and no further (section 4.3.1).
        """
        wanted = self.exits if exits is None else exits
        hidden, below, out = self.backbone.embed(ids), 0, {}
        for layer, head in zip(self.exits, self.heads, strict=True):
            if layer > max(wanted):
                break
            hidden = self.backbone.run(hidden, mask, below, layer)
            below = layer
            if layer in wanted:
                out[layer] = head(hidden, mask, second)
            if stop_gradient:
                hidden = hidden.detach()
        return out


class CascadeRanker:
    """`exits` are layers (1-based, ascending, the last one final); `drop_ratio` as the paper's alpha.

    `calibration` holds (scale, shift) an exit: probability = sigmoid(scale * logit + shift). `threshold` is the
    probability under which a best candidate is taken for no answer.

    With `first`, a cheap ranker passes on only its best before the encoder reads any.

    `trained` says whether it learned from labels: training and loading a version set it.

    It runs on torch until `use` says otherwise. A copy is on torch again: copies are made to be trained, and the onnx
    engine's graphs would not see their weights move.
    """

    def __init__(
        self,
        backbone: Backbone,
        *,
        exits: Sequence[int] | None = None,
        drop_ratio: float | Sequence[float] = 0.3,
        keep: int = 5,
        max_length: int = 128,
        calibration: Sequence[tuple[float, float]] | None = None,
        threshold: float | None = None,
        first: First | None = None,
        name: str = "cascade",
    ) -> None:
        exits = tuple(exits or backbone.default_exits)
        known = all(isinstance(e, int) and 1 <= e <= backbone.layers for e in exits)
        if not known or list(exits) != sorted(set(exits)):
            raise BadSetting(f"exits {exits}: give ascending layers between 1 and {backbone.layers}")
        self.name, self.exits, self.max_length, self.keep = name, exits, max_length, keep
        self.drop_ratio, self.first = drop_ratio, first
        self.preparing: Progress | None = None  # the engine asked for in the background
        self.calibration = tuple(tuple(c) for c in calibration) if calibration else ((1.0, 0.0),) * len(exits)
        self.calibrated = calibration is not None
        self.threshold = 0.5 if threshold is None else threshold
        self.module, self.trained = CascadeModule(backbone, exits).eval(), False
        self._fast: Engine | None = None
        _ = self.schedule  # a bad ratio is refused here, not at the first question

    @property
    def backbone(self) -> Backbone:
        return self.module.backbone

    @property
    def known_words(self) -> frozenset[str]:
        """What is no slip of the finger to it (see `spelling`)."""
        return self.backbone.known_words

    @property
    def schedule(self) -> DropSchedule:
        if isinstance(self.drop_ratio, int | float):
            return DropSchedule.constant(self.drop_ratio, exits=len(self.exits), keep=self.keep)
        if len(self.drop_ratio) != len(self.exits) - 1:
            drop = len(self.exits) - 1
            raise BadSetting(
                f"{len(self.drop_ratio)} drop ratios for {drop} exits that drop: give one, or {drop} divided by /"
            )
        return DropSchedule(tuple(self.drop_ratio), self.keep)

    @property
    def engine(self) -> Engine:
        """What runs the layers now: the engine that `use` asked for once it is ready, and torch until then."""
        return self._fast or TorchEngine(self.backbone, self.module.heads, self.exits, max_length=self.max_length)

    def use(
        self,
        engine: str,
        *,
        folder: Path | None = None,
        background: bool = False,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Choose the engine: "torch", "onnx" (int8, on the CPU), or "auto": onnx, but torch where there is a GPU.

        The onnx engine's graphs are kept in `folder` and built if they are not there; with `background` torch answers
        meanwhile. Raises BadSetting for another name, and if "onnx" cannot run this model.
        """
        if engine not in ENGINES:
            raise BadSetting(f"no engine {engine!r}; known: {', '.join(ENGINES)}")
        self._fast = None
        gpu = torch.cuda.is_available()
        self.module.to("cuda" if gpu and engine != "onnx" else "cpu")
        if engine == "torch" or (engine == "auto" and (gpu or not find_spec("onnxruntime"))):
            return

        over = Event()

        def tell(progress: Progress) -> None:
            self.preparing = progress
            if over.is_set():
                raise Cancelled("the program ends before its engine is ready")
            if on_progress:
                on_progress(progress)

        def prepare() -> None:
            try:
                self._fast = self._onnx(folder, tell)
            except Exception as e:
                if engine == "onnx" and not background:
                    raise
                if over.is_set():
                    return
                log.warning("torch answers, for the onnx engine cannot: %s", e)
            finally:
                self.preparing = None

        if background:
            thread = Thread(target=prepare, name="onnx graphs", daemon=True)
            thread.start()

            def end() -> None:  # a thread still in C++ when the interpreter goes would abort the program
                over.set()
                thread.join()

            atexit.register(end)
        else:
            prepare()

    def _onnx(self, folder: Path | None, on_progress: OnProgress | None) -> Engine:
        from as2core.cascade.engine_onnx import OnnxEngine
        from as2core.cascade.graphs import graphs_for

        graphs = graphs_for(self.backbone, self.module.heads, self.exits, folder, on_progress=on_progress)
        exact = TorchEngine(self.backbone, self.module.heads[-1:], self.exits[-1:], max_length=self.max_length)
        return OnnxEngine(self.backbone, self.exits, graphs, max_length=self.max_length, exact=exact)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_fast": None}

    def trace(
        self, question: str, candidates: Sequence[Candidate], schedule: DropSchedule | None = None
    ) -> CascadeTrace:
        """The whole record of a run; `DropSchedule.constant(0, exits=n)` makes one that can be replayed."""
        return self.trace_many([(question, candidates)], schedule)[0]

    def trace_many(
        self, asked: Sequence[tuple[str, Sequence[Candidate]]], schedule: DropSchedule | None = None
    ) -> list[CascadeTrace]:
        """A trace a question; the candidates of all of them share the batches."""
        cuts = [self.first.cut(q, candidates) if self.first else None for q, candidates in asked]
        left = [
            (q, [c.reading for c in candidates] if cut is None else _readings(candidates, cut))
            for (q, candidates), cut in zip(asked, cuts, strict=True)
        ]
        traces = run_cascade(self.engine, left, schedule or self.schedule)
        return [
            trace if cut is None else with_first(trace, cut, candidates)
            for trace, cut, (_, candidates) in zip(traces, cuts, asked, strict=True)
        ]

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """Logits of the last exit for survivors; those dropped earlier stand below, block by block."""
        return self.trace(question, candidates).scores()

    def score_many(self, asked: Sequence[tuple[str, Sequence[Candidate]]]) -> list[np.ndarray]:
        """`score` for several questions at once, in their order."""
        return [t.scores() for t in self.trace_many(asked)]

    def probability(self, logits: np.ndarray, exit_index: int = -1) -> np.ndarray:
        """Calibrated probability that a candidate answers, from an exit's logits; same shape."""
        scale, shift = self.calibration[exit_index]
        return 1.0 / (1.0 + np.exp(-(scale * np.asarray(logits, dtype=np.float64) + shift)))


def _readings(candidates: Sequence[Candidate], cut: ExitRecord) -> list[str]:
    gone = set(cut.dropped.tolist())
    return [c.reading for i, c in enumerate(candidates) if i not in gone]
