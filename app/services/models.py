"""Loaded rankers, shared by everyone in the process. Which version is meant is decided in `versions`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from as2core.types import OnProgress

KEPT = 6  # rankers held in memory; a version is some 30 MB beside the shared backbone's 90


class Embedder(Protocol):
    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray: ...


class ModelProvider(Protocol):
    """Where rankers come from; tests give their own."""

    def version(self, path: Path, settings: str = "") -> Any:
        """The ranker of a version's directory, set up as `catalog.set_up` does. Raises DamagedModel, BadSetting."""

    def named(self, spec: str) -> Any:
        """A ranker of the catalog. Raises UnknownRanker, BadSetting, DamagedModel."""

    def embedder(self) -> Embedder:
        """What turns passages and questions into vectors."""


class LoadedModels:
    """Loads on first use, keeps the last few; a version whose card changed on disk is loaded anew.

    `engine` is what runs a cascade's layers; torch answers while the onnx engine's graphs are built into `graphs_dir`.
    `passages_file` is where a generative ranker keeps the sentences it has read; None: it reads them every time.
    """

    def __init__(
        self,
        models_dir: Path,
        engine: str = "torch",
        graphs_dir: Path | None = None,
        passages_file: Path | None = None,
    ) -> None:
        self._passages_file, self._passages = passages_file, None
        self._models_dir, self._engine, self._graphs_dir = models_dir, engine, graphs_dir
        self._held: OrderedDict[tuple, Any] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def version(self, path: Path, settings: str = "") -> Any:
        from as2core.rankers.catalog import set_up
        from as2core.rankers.versions import load_version

        try:
            stamp = (path / "card.json").stat().st_mtime_ns
        except OSError:
            stamp = 0  # load_version says what is missing

        def load() -> Any:
            ranker = load_version(path)
            engine = set_up(ranker, settings) or self._engine
            if hasattr(ranker, "use"):
                ranker.use(engine, folder=self._graphs_dir, background=True)
            if hasattr(ranker, "cache"):
                ranker.cache, ranker.fast = self._kept_passages(), True
            return ranker

        return self._get(f"{path}:{settings}", stamp, load)

    def _kept_passages(self) -> Any:
        """One file for all versions: an entry knows its model's weights."""
        from as2core.rankers.passage_cache import PassageCache

        with self._lock:
            if self._passages is None and self._passages_file is not None:
                self._passages = PassageCache(self._passages_file)
            return self._passages

    def named(self, spec: str) -> Any:
        from as2core.rankers.catalog import get

        return self._get(f"catalog:{spec}", 0, lambda: get(spec, models_dir=self._models_dir, engine=self._engine))

    def embedder(self) -> Embedder:
        return self.named("bi-encoder")

    def _get(self, name: str, stamp: int, load: Callable[[], Any]) -> Any:
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:  # a second session waits for the first one's load instead of loading again
            with self._lock:
                if (name, stamp) in self._held:
                    self._held.move_to_end((name, stamp))
                    return self._held[name, stamp]
            ranker = load()
            with self._lock:
                self._held[name, stamp] = ranker
                while len(self._held) > KEPT:
                    self._held.popitem(last=False)
            return ranker
