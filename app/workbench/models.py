"""Loaded rankers, shared by the sessions of a process. Which version is meant is decided in `app.versions`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast
from zlib import crc32

import numpy as np

from app.workbench.settings import Settings
from as2core.errors import As2Error
from as2core.export import import_ranker
from as2core.rankers import catalog
from as2core.rankers.base import ChoosesEngine, Ranker
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.classifier import stamp_files
from as2core.rankers.generative import GenerativeRanker
from as2core.rankers.passage_cache import PassageCache
from as2core.rankers.specs import Setting, read_settings
from as2core.rankers.versions import is_own_kind
from as2core.system.files import is_file, is_folder
from as2core.types import OnProgress

MAX_LOADED = 6  # rankers in memory; a version is some 30 MB beside the shared backbone's 90


class Embedder(Protocol):
    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray: ...

    def embed_question(self, question: str) -> np.ndarray: ...


class ModelProvider(Protocol):
    """Where rankers come from."""

    def version(self, path: Path, settings: str = "") -> Ranker:
        """The ranker of a directory, of a version, a checkpoint or an export, with these settings. Raises DamagedModel,
        BadSetting."""

    def load_spec(self, spec: str) -> Ranker:
        """A ranker of the catalog. Raises UnknownRanker, BadSetting, DamagedModel."""

    def embedder(self) -> Embedder:
        """The model that turns passages and questions into vectors."""

    def embedder_weights(self) -> str:
        """The SHA-256 of its weights, known without loading it."""


class LoadedModels:
    """Loads on first use, keeps the last few; a version whose card changed on disk is loaded anew. `engine` runs a
    cascade's layers; torch is used while the onnx engine's graphs are built into `graphs_dir`. `passages_file` stores
    the sentences that a generative ranker has read; None: it reads them every time."""

    def __init__(
        self, models_dir: Path, engine: str = "torch", graphs_dir: Path | None = None, passages_file: Path | None = None
    ) -> None:
        self._models_dir, self._engine, self._graphs_dir = models_dir, engine, graphs_dir
        # one file for all versions: an entry knows its model's weights
        self._passages = PassageCache(passages_file) if passages_file else None
        self._loaded: OrderedDict[tuple[str, int], Ranker] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, settings: Settings) -> LoadedModels:
        return cls(settings.models_dir, settings.engine, settings.graphs_dir, settings.passages_file)

    def version(self, path: Path, settings: str = "") -> Ranker:
        def load() -> Ranker:
            ranker = import_ranker(path)[0] if is_own_kind(path) else catalog.load_version(path)
            engine = catalog.apply_settings(ranker, settings, self._get_part) or self._engine
            if isinstance(ranker, ChoosesEngine):
                ranker.use(engine, folder=self._graphs_dir, background=True)
            if isinstance(ranker, GenerativeRanker):
                ranker.cache, ranker.fast = self._passages, True
                if _runs_onnx(engine):
                    ranker.prepare_engine(self._graphs_dir)
            return ranker

        return self._get(f"{path}:{settings}", _stamp(path), load)

    def load_spec(self, spec: str) -> Ranker:
        return self._get(f"catalog:{spec}", _stamp_spec(spec), partial(self._get_part, spec))

    def _get_part(self, spec: str) -> Ranker:
        return catalog.get(spec, models_dir=self._models_dir, engine=self._engine)

    def embedder(self) -> Embedder:
        def load() -> Ranker:
            ranker = catalog.get("bi-encoder", models_dir=self._models_dir)
            if isinstance(ranker, BiEncoderRanker) and _runs_onnx(self._engine):
                ranker.prepare_questions(self._graphs_dir)
            return ranker

        return cast("Embedder", self._get("embedder", 0, load))

    def embedder_weights(self) -> str:
        from as2core.nn.backbone import DEFAULT_SHA256

        return DEFAULT_SHA256

    def _get(self, name: str, stamp: int, load: Callable[[], Ranker]) -> Ranker:
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:  # a second session waits for the first one's load instead of loading again
            with self._lock:
                if (name, stamp) in self._loaded:
                    self._loaded.move_to_end((name, stamp))
                    return self._loaded[name, stamp]
            ranker = load()
            with self._lock:
                self._loaded[name, stamp] = ranker
                while len(self._loaded) > MAX_LOADED:
                    self._loaded.popitem(last=False)
            return ranker


def import_libraries() -> None:
    """Import what the models need, which takes a second or more, and read the backbone once: a server begins with it
    before the first page is opened. Failures are left to the first question."""
    from as2core.nn.backbone import load_backbone

    with suppress(As2Error):
        load_backbone()


def _stamp(path: Path) -> int:
    """Changes with what is in a version's directory, or with a file or directory that others wrote; 0 where there is
    nothing, which the loading says."""
    try:
        return (path / "card.json").stat().st_mtime_ns
    except OSError:
        return crc32(stamp_files(path)) if is_file(path) or is_folder(path) else 0


def _stamp_spec(spec: str) -> int:
    """The same of the files and directories that a spec names; 0 for one that names none."""
    name, _, settings = spec.partition(":")
    entry = catalog.CATALOG.get(name)
    path: Setting = catalog.split_spec(spec)[0]
    if entry is not None:
        path = read_settings(entry, settings)[entry.required] if entry.required else None
    stamps = [_stamp(Path(str(path)))] if path else []
    stamps += [_stamp_spec(part.spec) for part in catalog.list_parts(spec)]
    return crc32(repr(stamps).encode()) if any(stamps) else 0


def _runs_onnx(engine: str) -> bool:
    """Whether a setting of the engine comes to ONNX Runtime here, as it does for a cascade."""
    if engine != "auto":
        return engine == "onnx"
    import torch

    return not torch.cuda.is_available() and find_spec("onnxruntime") is not None
