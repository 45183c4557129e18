"""Rankers that score by shared words, quickly and always alike, behind the protocols the real ones satisfy."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from as2core.cascade.attribution import attribute_by_occlusion
from as2core.cascade.schedule import DropSchedule
from as2core.cascade.trace import CascadeTrace, ExitRecord
from as2core.cost import EncoderShape, head_flops, layer_flops
from as2core.errors import DamagedModel
from as2core.rankers.base import (
    AttributesScore,
    CalibratesScores,
    ExplainsQuestion,
    Explanation,
    KeepsTrace,
    TakesSettings,
)
from as2core.text import STOP_WORDS, find_words, tokenize

SHAPE = EncoderShape(32, 64, 6)


def noise(*parts: object) -> float:
    """A fixed number in [0, 1) for these parts."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32


def overlap(question: str, text: str) -> float:
    asked = set(tokenize(question)) - STOP_WORDS
    return len(asked & set(tokenize(text))) / max(1, len(asked))


class FakeCascade(KeepsTrace, CalibratesScores, AttributesScore, TakesSettings):
    """Logit 6 * overlap - 3 at the last exit, noisier the earlier the exit."""

    kind, adjustable = "cascade", ("drop_ratio", "keep", "engine", "first", "first_keep")
    is_calibrated, threshold, exits, drop_ratio = True, 0.5, (2, 3, 4, 5, 6), 0.3
    known_words, preparing, engine = frozenset(), None, SimpleNamespace(name="torch")

    def __init__(self, name: str = "cascade") -> None:
        self.name = name

    @property
    def schedule(self) -> DropSchedule:
        return DropSchedule.constant(self.drop_ratio, exits=len(self.exits), keep=2)

    def adjust(self, settings) -> None:
        self.drop_ratio = settings.get("drop_ratio", self.drop_ratio)
        _ = self.schedule

    def trace_completely(self, question, candidates, schedule, on_answer, *, prior=None) -> CascadeTrace:
        trace = self.trace(question, candidates, DropSchedule.constant(0.0, exits=len(self.exits)), prior=prior)
        on_answer(trace.replay(schedule))
        return trace

    def trace(self, question, candidates, schedule=None, *, prior=None) -> CascadeTrace:
        lengths = np.array([len(tokenize(c.text)) + 4 for c in candidates], dtype=int)
        records, below, everyone = [], 0, np.arange(len(candidates))
        for layer in self.exits:
            scores = [
                6 * overlap(question, c.text) - 3 + (6 - layer) * (noise(layer, question, c.text) - 0.5)
                for c in candidates
            ]
            flops = (layer - below) * layer_flops(lengths, SHAPE) + head_flops(len(candidates), SHAPE)
            records.append(
                ExitRecord(
                    layer,
                    everyone,
                    np.array(scores, dtype=np.float32) + (0 if prior is None else prior),
                    np.array([], dtype=int),
                    0.001,
                    int(lengths.sum()),
                    flops,
                )
            )
            below = layer
        complete = CascadeTrace(lengths, tuple(records), DropSchedule.constant(0.0, exits=len(self.exits)), SHAPE)
        return complete.replay(schedule or self.schedule)

    def trace_many(self, queries, schedule=None) -> list[CascadeTrace]:
        return [self.trace(question, candidates, schedule) for question, candidates in queries]

    def score(self, question, candidates) -> np.ndarray:
        return self.trace(question, candidates).scores()

    def attribute(self, question, candidate):
        return attribute_by_occlusion(
            lambda texts: np.array([6 * overlap(question, t) - 3 for t in texts], np.float32), candidate
        )

    def cut_question(self, question) -> str:
        return " ".join(question.split()[:64])

    def probability(self, logits, exit_index=-1) -> np.ndarray:
        return 1 / (1 + np.exp(-np.asarray(logits, dtype=np.float64)))


class FakeGenerative(ExplainsQuestion):
    """Prefers short texts, so that it disagrees with the cascade."""

    name = "generative"

    def score(self, question, candidates) -> np.ndarray:
        return np.array([-len(tokenize(c.text)) / 10 for c in candidates], dtype=np.float32)

    def explain(self, question, texts) -> Explanation:
        """0.1 nats for a word of the text, 5 for any other."""
        spans = find_words(question)
        words = [tokenize(question[a:b])[0] for a, b in spans]
        log_p = [[-0.1 if w in tokenize(text) else -5.0 for w in words] for text in texts]
        return Explanation(tuple(spans), np.array(log_p, dtype=np.float32).reshape(len(texts), len(words)))


class FakeEmbedder:
    """Hashed words in 32 dimensions, unit length. Counts its calls; `before` runs at each."""

    def __init__(self) -> None:
        self.texts = 0
        self.before = lambda: None

    def embed(self, texts, on_progress=None) -> np.ndarray:
        self.before()
        self.texts += len(texts)
        out = np.zeros((len(texts), 32), dtype=np.float32)
        for i, text in enumerate(texts):
            for w in tokenize(text) or [""]:
                out[i, int(32 * noise(w))] += 1.0
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def embed_question(self, question) -> np.ndarray:
        return self.embed([question])[0]


FAKE_WEIGHTS = "the fake embedder's"


class FakeModels:
    """A model provider; `loaded` lists what was asked for."""

    def __init__(self) -> None:
        self.vectors = FakeEmbedder()
        self.loaded: list[str] = []

    def version(self, path: Path, settings: str = ""):
        self.loaded.append(path.name)
        for name in ("config.json", "card.json", "model.safetensors"):
            if not (path / name).is_file():
                raise DamagedModel(f"{path / name} is missing: restore {path.name}")
        if (path / "model.safetensors").read_bytes() == b"damaged":
            raise DamagedModel(f"{path / 'model.safetensors'} is damaged: restore {path.name}")
        from as2core.rankers.catalog import apply_settings

        kind = json.loads((path / "config.json").read_text())["ranker"]
        ranker = FakeGenerative() if kind == "generative" else FakeCascade(path.name)
        apply_settings(ranker, settings)
        return ranker

    def load_spec(self, spec: str):
        from as2core.rankers.catalog import get

        return get(spec)

    def embedder(self) -> FakeEmbedder:
        return self.vectors

    def embedder_weights(self) -> str:
        return FAKE_WEIGHTS


def write_version(folder: Path, kind: str = "cascade", **card) -> Path:
    """What a version's directory holds, without weights."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"ranker": kind}))
    (folder / "card.json").write_text(json.dumps({"name": folder.name, **card}))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder
