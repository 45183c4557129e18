"""The bi-encoder: cosine of question and candidate, each embedded alone (mean of the backbone's last layer)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from as2core.cascade.background import MAX_WAIT_SECONDS, PreparedEngine
from as2core.cost import layer_flops
from as2core.errors import BadSetting
from as2core.rankers.base import CountsFlops, HasNetwork
from as2core.rankers.passage_cache import PassageCache, fingerprint
from as2core.rankers.specs import Entry
from as2core.system.pauses import pause
from as2core.types import Candidate, OnProgress, Progress

if TYPE_CHECKING:
    from as2core.cascade.text_engine import TextEngine
    from as2core.nn.backbone import Backbone, Packed

MAX_CACHED_QUESTIONS = 2_000  # vectors in memory, some 3 MB
MAX_TOKENS = 256  # the default backbone was trained to read so many


class BiEncoderRanker(CountsFlops, HasNetwork):
    """Scores are cosines in [-1, 1]. Texts are cut at `max_length` tokens: 256, the default backbone's own, or what
    the backbone reads if that is less.

    With a `cache`, candidates embedded before are not read again (their vectors are kept in half precision). Raises
    BadSetting for a `max_length` that the backbone cannot read.
    """

    def __init__(
        self,
        backbone: Backbone,
        *,
        max_length: int | None = None,
        cache: PassageCache | None = None,
        name: str = "bi-encoder",
    ) -> None:
        max_length = min(MAX_TOKENS, backbone.positions) if max_length is None else max_length
        if not isinstance(max_length, int) or not 3 <= max_length <= backbone.positions:
            raise BadSetting(f"max_length={max_length}: {backbone.name} reads 3 to {backbone.positions} tokens")
        self.backbone, self.max_length, self.cache, self.name = backbone.eval(), max_length, cache, name
        self._fingerprint: str | None = None  # of the weights, worked out when the cache is first asked
        self.question_engine: PreparedEngine[TextEngine] = PreparedEngine()
        self._questions: dict[tuple[bool, str], np.ndarray] = {}  # by whether the engine made it, and the text

    def to(self, device: str) -> Self:
        self.backbone.to(device)
        return self

    def prepare_questions(self, folder: Path | None = None) -> None:
        """Have `embed_question` run in int8 on ONNX Runtime, as soon as its graph, stored in `folder`, is there. Texts
        and candidates stay in float32."""

        def prepare(on_progress: OnProgress) -> TextEngine:
            from as2core.cascade.text_engine import TextEngine

            engine = TextEngine(self.backbone, self.max_length, folder, on_progress=on_progress)
            engine.embed(["the first run of a session takes longer"])
            return engine

        self.question_engine.start(prepare)

    def embed_question(self, question: str) -> np.ndarray:
        """The unit vector of a question, float32 `(hidden,)`, to be compared with those of `embed`; not to be written
        to, for the last ones are kept."""
        engine = self.question_engine.wait(MAX_WAIT_SECONDS)
        key = (engine is not None, question)
        if (vector := self._questions.get(key)) is None:
            vector = (engine.embed if engine else self.embed)([question])[0]
            if len(self._questions) >= MAX_CACHED_QUESTIONS:
                self._questions = {}
            self._questions[key] = vector
        return vector

    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        """Unit vectors, float32 `(n, hidden)`."""
        import torch

        from as2core.nn.micro_batches import split_by_length

        packed = self.backbone.encode(list(texts), max_length=self.max_length)
        out = np.zeros((len(texts), self.backbone.hidden), dtype=np.float32)
        done = 0
        for rows in split_by_length(packed.lengths, max_tokens=4096):
            pause(len(rows))
            with torch.inference_mode():
                out[rows] = self._embed_rows(packed, rows)
            done += len(rows)
            if on_progress:
                on_progress(Progress(done, len(texts), "embedding"))
        return out

    def _embed_rows(self, packed: Packed, rows: list[int]) -> np.ndarray:
        from torch.nn.functional import normalize

        from as2core.nn.heads import mean_pool

        ids, mask, _ = self.backbone.pad(packed, rows)
        hidden = self.backbone.run(self.backbone.embed(ids), mask, 0, self.backbone.layers)
        return normalize(mean_pool(hidden, mask).float(), dim=1).cpu().numpy()

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self._score(question, candidates)[0]

    def score_and_cost(self, question: str, candidates: Sequence[Candidate]) -> tuple[np.ndarray, int]:
        """The scores, and the FLOPs they took: those of the texts that went through the layers, the question among
        them, and a product a candidate. What lies in the cache costs nothing more."""
        scores, texts = self._score(question, candidates)
        return scores, self._flops(texts, len(candidates))

    def full_flops(self, question: str, candidates: Sequence[Candidate]) -> int:
        """The same where nothing lies in a cache."""
        return self._flops([question, *(c.titled_text for c in candidates)] if candidates else [], len(candidates))

    def _flops(self, texts: list[str], products: int) -> int:
        shape = self.backbone.shape
        lengths = np.array(self.backbone.encode(texts, max_length=self.max_length).lengths, dtype=np.int64)
        return shape.layers * layer_flops(lengths, shape) + 2 * products * shape.hidden

    def _score(self, question: str, candidates: Sequence[Candidate]) -> tuple[np.ndarray, list[str]]:
        """Scores (n,), and the texts that were embedded for them."""
        if not candidates:
            return np.zeros(0, dtype=np.float32), []
        texts = [c.titled_text for c in candidates]
        if self.cache is None:
            vectors = self.embed([question, *texts])
            return vectors[1:] @ vectors[0], [question, *texts]
        vectors, new = self._read_cached(self.cache, texts)
        return vectors @ self.embed([question])[0], [question, *new]

    def _read_cached(self, cache: PassageCache, texts: list[str]) -> tuple[np.ndarray, list[str]]:
        """Vectors (n, hidden) from the cache; those it lacks are embedded and put there: the texts of these."""
        import torch

        from as2core.nn.kept_passages import PassageState

        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.backbone, self.max_length)
        states = cache.get(self._fingerprint, texts)
        new = [t for t in dict.fromkeys(texts) if t not in states]
        if new:
            vectors = torch.from_numpy(self.embed(new))
            # as the cache will give them back
            own = {t: PassageState(v[None].half(), {}) for t, v in zip(new, vectors, strict=True)}
            cache.put(self._fingerprint, own)
            states |= own
        return np.stack([states[t].memory[0].float().numpy() for t in texts]), new


def build(*, backbone: str | None = None, max_length: int | None = None) -> BiEncoderRanker:
    from as2core.nn.backbone import load_backbone

    return BiEncoderRanker(load_backbone(backbone), max_length=max_length)


RANKER = Entry("bi-encoder", "cosine of the backbone's embeddings", "Reimers and Gurevych 2019", build)
