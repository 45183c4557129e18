"""The Cascade Transformer (Soldaini and Moschitti, 2020): one encoder, a classifier at several depths,
a share of the candidates dropped at each.

Where we differ: an exit's logit has a cosine term beside the paper's classifier (as2core.nn.heads); the exits' places
scale with the encoder's depth; each exit carries a calibration, so that its logits read as probabilities; a candidate
is read after its document's title. `cascade:as=paper` does none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from as2core.cascade.attribution import Attribution, attribute_by_occlusion
from as2core.cascade.background import PreparedEngine
from as2core.cascade.engine import Engine, run_cascade, run_completely
from as2core.cascade.logit_cache import LogitCache, with_cache
from as2core.cascade.prior import with_prior
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.slices import in_slices
from as2core.cascade.trace import CascadeTrace
from as2core.cost import head_flops, layer_flops
from as2core.errors import BadSetting
from as2core.rankers.base import (
    AttributesScore,
    CalibratesScores,
    ChoosesEngine,
    HasWeights,
    KnowsWords,
    LoadRanker,
    MadeOfRankers,
    Query,
    Ranker,
    TakesSettings,
    TracesTogether,
    VersionConfig,
)
from as2core.rankers.first_stage import (
    FIRST_KEEP,
    FIRST_WORDS,
    FirstStage,
    build_first_stage,
    list_entering,
    with_first,
)
from as2core.rankers.specs import Entry, Setting
from as2core.types import Candidate, OnProgress, Progress

if TYPE_CHECKING:
    from as2core.cascade.engine_torch import TorchEngine
    from as2core.nn.backbone import Backbone
    from as2core.nn.cascade import CascadeModule
    from as2core.nn.heads import Head

ENGINES = ("auto", "torch", "onnx")
# settings of a configuration that no constructor takes; older versions have "answer", which nothing reads
SET_AFTERWARDS = ("segments", "titles", "as", "answer", "answer_shares")


class CascadeRanker(
    TracesTogether,
    HasWeights,
    CalibratesScores,
    AttributesScore,
    ChoosesEngine,
    TakesSettings,
    KnowsWords,
    MadeOfRankers,
):
    """`exits` are layers (1-based, ascending, the last one final); `drop_ratio` as the paper's alpha.

    `logits`, if set, is where complete traces are looked up and stored; none is stored while the engine is torch. If
    `first` is set, another ranker passes on only its best before the encoder reads any. `reads_titles`: a candidate is
    read after its document's title.

    It runs on torch until `use` says otherwise, in `dtype`, one of as2core.nn.precision.DTYPES. A copy is on torch
    again: copies are made to be trained, and the onnx engine's graphs would not see their weights move.
    Raises BadSetting for exits that are no layers, and for a ratio that is no share.
    """

    kind: ClassVar[str] = "cascade"
    adjustable: ClassVar[tuple[str, ...]] = ("drop_ratio", "keep", "engine", "first", "first_keep", "dtype")
    style: ClassVar[str] = "shipped"
    module: CascadeModule
    first: FirstStage | None

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
        name: str = "cascade",
    ) -> None:
        from as2core.nn.cascade import CascadeModule

        exits = tuple(exits or backbone.default_exits)
        are_layers = all(isinstance(e, int) and 1 <= e <= backbone.layers for e in exits)
        if not are_layers or list(exits) != sorted(set(exits)):
            raise BadSetting(f"exits {exits}: give ascending layers between 1 and {backbone.layers}")
        self.name, self.exits, self.max_length, self.keep = name, exits, max_length, keep
        self.drop_ratio, self.first, self.reads_titles, self.dtype = drop_ratio, None, True, "auto"
        self.logits: LogitCache | None = None
        self.calibration = tuple((scale, shift) for scale, shift in calibration or [(1.0, 0.0)] * len(exits))
        self.is_calibrated = calibration is not None
        self.threshold = 0.5 if threshold is None else threshold
        self.module, self.is_trained = CascadeModule(backbone, exits, self.head_class()).eval(), False
        self._onnx: PreparedEngine[Engine] = PreparedEngine()  # once `use` has asked for it
        _ = self.schedule  # a bad ratio is refused here, not at the first question

    @classmethod
    def head_class(cls) -> type[Head]:
        """The classifier at an exit."""
        from as2core.nn.heads import ExitHead

        return ExitHead

    def to(self, device: str) -> Self:
        """Torch runs there; `use` chooses the engine and the device by itself."""
        self.module.to(device)
        return MadeOfRankers.to(self, device)

    @property
    def rankers(self) -> tuple[Ranker, ...]:  # type: ignore[override]
        """The first stage's, if there is one."""
        return () if self.first is None else (self.first.ranker,)

    @property
    def backbone(self) -> Backbone:
        return self.module.backbone

    @property
    def encoder(self) -> Backbone:
        return self.module.backbone

    @property
    def known_words(self) -> frozenset[str]:
        return self.backbone.known_words

    def cut_question(self, question: str) -> str:
        """The beginning of the question that the encoder reads."""
        return self.backbone.cut_question(question)

    @property
    def schedule(self) -> DropSchedule:
        if isinstance(self.drop_ratio, int | float):
            return DropSchedule.constant(self.drop_ratio, exits=len(self.exits), keep=self.keep)
        count, drop = len(self.drop_ratio), len(self.exits) - 1
        if count != drop:
            raise BadSetting(f"{count} drop ratios for {drop} exits that drop: give one, or {drop} divided by /")
        return DropSchedule(tuple(self.drop_ratio), self.keep)

    @property
    def engine(self) -> Engine:
        """What runs the layers now: the engine that `use` chose once it is ready, and torch until then."""
        from as2core.cascade.engine_torch import TorchEngine

        if self._onnx.engine is not None:
            return self._onnx.engine
        own, heads = self.backbone, self.module.heads
        return TorchEngine(own, heads, self.exits, max_length=self.max_length, dtype=self.dtype)

    def use(
        self,
        engine: str,
        *,
        folder: Path | None = None,
        background: bool = False,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Choose the engine: "torch", "onnx" (int8, on the CPU), or "auto": onnx, but torch where there is a GPU or a
        dtype is set.

        The onnx engine's graphs are kept in `folder` and built if they are missing; with `background` torch scores
        meanwhile. Raises BadSetting for another name, if "onnx" cannot run this model, and for a dtype that the device
        or the engine has not.
        """
        import torch

        if engine not in ENGINES:
            raise BadSetting(f"no engine {engine!r}; known: {', '.join(ENGINES)}")
        self._onnx = PreparedEngine()
        gpu = torch.cuda.is_available()
        engine = self._choose_engine(engine, "cuda" if gpu else "cpu")
        self.module.to("cuda" if gpu and engine != "onnx" else "cpu")
        if engine == "torch" or (engine == "auto" and (gpu or not find_spec("onnxruntime"))):
            return

        build = partial(self._build_onnx, folder)
        if background:
            self._onnx.start(build, on_progress)
        else:
            self._onnx.prepare(build, on_progress, required=engine == "onnx")

    def _choose_engine(self, engine: str, device: str) -> str:
        """`engine`, or torch where a dtype is set. Raises BadSetting for one that the device or the engine has not."""
        from as2core.nn.precision import require_dtype

        require_dtype(self.dtype, device)
        if self.dtype == "auto":
            return engine
        if engine == "onnx":
            raise BadSetting(f"dtype={self.dtype}: the onnx engine computes in int8: leave one of the two out")
        return "torch"

    def wait_until_prepared(self, seconds: float) -> bool:
        self._onnx.wait(seconds)
        return self._onnx.is_done

    @property
    def preparing(self) -> Progress | None:
        return self._onnx.progress

    def _build_onnx(self, folder: Path | None, on_progress: OnProgress | None) -> Engine:
        from as2core.cascade.engine_onnx import OnnxEngine
        from as2core.cascade.graphs import graphs_for

        graphs = graphs_for(self.backbone, self.module.heads, self.exits, folder, on_progress=on_progress)
        exact = self._last_exit()
        engine = OnnxEngine(self.backbone, self.exits, graphs, max_length=self.max_length, exact=exact)
        first_run = engine.start(["the first run"], ["of a session takes longer"])
        first_run.advance(np.arange(1), 0, len(self.exits))
        first_run.exact(np.arange(1))
        return engine

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_onnx": PreparedEngine(), "logits": None}

    def trace(
        self,
        question: str,
        candidates: Sequence[Candidate],
        schedule: DropSchedule | None = None,
        *,
        prior: np.ndarray | None = None,
    ) -> CascadeTrace:
        """The whole record of a run; `DropSchedule.constant(0, exits=n)` makes one that can be replayed. `prior`: as of
        `as2core.cascade.prior`, `(n,)`. Raises BadSetting for a prior of another length."""
        return self._trace_many([(question, candidates)], schedule, prior)[0]

    def trace_many(self, queries: Sequence[Query], schedule: DropSchedule | None = None) -> list[CascadeTrace]:
        return self._trace_many(queries, schedule)

    def _trace_many(
        self, queries: Sequence[Query], schedule: DropSchedule | None, prior: np.ndarray | None = None
    ) -> list[CascadeTrace]:
        """`prior`: only for a single query."""
        cuts = [self.first.cut(q, candidates) if self.first else None for q, candidates in queries]
        texts = [
            (q, self.list_texts(list_entering(candidates, cut)))
            for (q, candidates), cut in zip(queries, cuts, strict=True)
        ]
        if prior is not None and cuts[0] is not None:
            prior = np.delete(prior, cuts[0].dropped)
        engine = with_prior(in_slices(with_cache(self.engine, self.logits)), prior)
        traces = run_cascade(engine, texts, schedule or self.schedule)
        return [
            trace if cut is None else with_first(trace, cut, candidates)
            for trace, cut, (_, candidates) in zip(traces, cuts, queries, strict=True)
        ]

    def list_texts(self, candidates: Sequence[Candidate]) -> list[str]:
        """What it reads of each candidate."""
        return [c.titled_text if self.reads_titles else c.text for c in candidates]

    def _last_exit(self) -> TorchEngine:
        """The same weights in float32, with the last exit alone."""
        from as2core.cascade.engine_torch import TorchEngine

        return TorchEngine(self.backbone, self.module.heads[-1:], self.exits[-1:], max_length=self.max_length)

    def exact_engine(self) -> TorchEngine:
        """The same weights on torch, which int8 rounds. Its logits can be stored, so these weights must not be trained
        meanwhile."""
        from as2core.cascade.engine_torch import TorchEngine
        from as2core.rankers.passage_cache import fingerprint

        own, heads, length = self.backbone, self.module.heads, self.max_length
        weights = f"torch {next(own.parameters()).device.type} {self.dtype} {fingerprint(self.module, length)}"
        return TorchEngine(own, heads, self.exits, max_length=length, dtype=self.dtype, identity=weights)

    def attribute(self, question: str, candidate: Candidate) -> Attribution:
        """On torch: int8 errs by as much as most words add."""

        def score(texts: Sequence[str]) -> np.ndarray:
            run = self._last_exit().start([question] * len(texts), texts)
            return run.advance(np.arange(len(texts)), 0, 1)[0][0]

        return attribute_by_occlusion(score, candidate if self.reads_titles else replace(candidate, title=""))

    def trace_completely(
        self,
        question: str,
        candidates: Sequence[Candidate],
        schedule: DropSchedule,
        on_answer: Callable[[CascadeTrace], None],
        *,
        prior: np.ndarray | None = None,
    ) -> CascadeTrace:
        """A trace that can be replayed, of all the candidates. `on_answer` gets the run under the schedule as soon as
        its last exit has scored, before the candidates it dropped go through the exits they missed. `prior` as in
        `trace`."""
        engine = with_prior(self.engine, prior)
        return run_completely(engine, question, self.list_texts(candidates), schedule, on_answer)

    def full_flops(self, question: str, candidates: Sequence[Candidate]) -> int:
        texts = self.list_texts(candidates)
        lengths = self.backbone.encode([question] * len(texts), texts, max_length=self.max_length).lengths
        shape = self.backbone.shape
        return self.exits[-1] * layer_flops(np.array(lengths), shape) + head_flops(len(texts), shape)

    def adjust(self, settings: VersionConfig) -> None:
        before = self.drop_ratio, self.keep
        self.drop_ratio = settings.get("drop_ratio", self.drop_ratio)
        self.keep = settings.get("keep", self.keep)
        try:
            _ = self.schedule  # refuses a wrong one
        except BadSetting:
            self.drop_ratio, self.keep = before
            raise
        self.dtype = settings.get("dtype", self.dtype)
        if "first" in settings or "first_keep" in settings:
            first, keep = settings.get("first", "none"), settings.get("first_keep", FIRST_KEEP)
            self.first = build_first_stage(self.backbone.name, first, keep)

    def config(self) -> VersionConfig:
        ratio = self.drop_ratio
        return {
            "backbone": self.backbone.name,
            "settings": {
                "exits": list(self.exits),
                "drop_ratio": ratio if isinstance(ratio, int | float) else list(ratio),
                "keep": self.keep,
                "max_length": self.max_length,
                "segments": self.backbone.segments,
                "calibration": [list(c) for c in self.calibration] if self.is_calibrated else None,
                "threshold": self.threshold,
                **({"answer_shares": list(self.answer_calibration)} if self.answer_calibration else {}),
                **({} if self.reads_titles else {"titles": False}),
                **({} if self.style == "shipped" else {"as": self.style}),
            },
        }

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> CascadeRanker:
        from as2core.nn.backbone import load_backbone

        settings = config["settings"]
        own = {name: value for name, value in settings.items() if name not in SET_AFTERWARDS}
        backbone = load_backbone(
            config["backbone"], segments=settings.get("segments", False)
        )  # older versions name none
        ranker = find_style(settings.get("as", "shipped"))(backbone, **own)
        ranker.restore_rest(settings)
        return ranker

    def restore_rest(self, settings: VersionConfig) -> None:
        """What the constructor does not take of a configuration's settings."""
        answer = settings.get("answer_shares")
        self.reads_titles = settings.get("titles", True)
        self.answer_calibration = None if answer is None else (float(answer[0]), float(answer[1]))


class PaperCascadeRanker(CascadeRanker):
    """The paper's model without what we added: no cosine, and so nothing to level before training; a sentence is read
    without its title. Its settings to train with are `as2core.training.learners.cascade.PAPER`."""

    style = "paper"

    def __init__(self, backbone: Backbone, *, keep: int = 1, name: str = "cascade", **settings: Any) -> None:
        super().__init__(backbone, keep=keep, name=name, **settings)
        self.reads_titles = False

    @classmethod
    def head_class(cls) -> type[Head]:
        from as2core.nn.heads import PaperHead

        return PaperHead


def find_style(name: str) -> type[CascadeRanker]:
    """The class of `as=name`. Raises BadSetting."""
    styles = {cls.style: cls for cls in (CascadeRanker, PaperCascadeRanker)}
    if name not in styles:
        raise BadSetting(f"no cascade as={name}; known: {', '.join(styles)}")
    return styles[name]


SETTINGS: Mapping[str, Setting] = {
    "as": "shipped",
    "backbone": None,
    "segments": None,
    "exits": (),
    "drop_ratio": 0.3,
    "keep": 5,
    "engine": "auto",
    "dtype": "auto",
    "first": "none",
    "first_keep": FIRST_KEEP,
}


def build(shipped: CascadeRanker | None, **changes: Any) -> CascadeRanker:
    settings = {**SETTINGS, **changes}
    ranker = shipped or _make_untrained(settings)
    if ranker.style == "paper" and "keep" not in changes:
        settings["keep"] = ranker.keep
    ranker.adjust({name: settings[name] for name in ("drop_ratio", "keep", "dtype", "first", "first_keep")})
    engine = settings["engine"]
    ranker.use("torch" if shipped is None and engine == "auto" else engine)  # an untrained one is made to be trained
    return ranker


def _make_untrained(settings: Mapping[str, Any]) -> CascadeRanker:
    from as2core.nn.backbone import load_backbone

    cls = find_style(settings["as"])
    backbone = load_backbone(settings["backbone"], segments=settings["segments"])
    if cls.style == "paper" and settings["segments"] is None:
        backbone.segments = backbone.has_segments
    return cls(backbone, exits=settings["exits"] or None)


RANKER = Entry(
    "cascade",
    "cascade transformer, drops a share at every exit",
    "Soldaini and Moschitti 2020",
    build,
    several=("drop_ratio",),
    shipped="cascade",
    inner="first",
    inner_words=FIRST_WORDS,
    saved=(CascadeRanker,),
    settings=SETTINGS,
)
