"""The bi-encoder: cosine of question and candidate, each embedded alone (mean of the backbone's last layer)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from as2core.cost import layer_flops
from as2core.errors import BadSetting
from as2core.nn.backbone import Backbone, micro_batches
from as2core.nn.heads import mean_pool
from as2core.nn.kept_passages import Kept
from as2core.rankers.passage_cache import PassageCache, fingerprint
from as2core.types import Candidate, OnProgress, Progress

LONGEST = 256  # tokens the default backbone was trained to read


class BiEncoderRanker:
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
        max_length = min(LONGEST, backbone.positions) if max_length is None else max_length
        if not isinstance(max_length, int) or not 3 <= max_length <= backbone.positions:
            raise BadSetting(f"max_length={max_length}: {backbone.name} reads 3 to {backbone.positions} tokens")
        self.backbone, self.max_length, self.cache, self.name = backbone.eval(), max_length, cache, name
        self._fingerprint: str | None = None  # of the weights, worked out when the cache is first asked

    @torch.inference_mode()
    def embed(self, texts: Sequence[str], on_progress: OnProgress | None = None) -> np.ndarray:
        """Unit vectors, float32 `(n, hidden)`."""
        packed = self.backbone.encode(list(texts), max_length=self.max_length)
        out = np.zeros((len(texts), self.backbone.hidden), dtype=np.float32)
        done = 0
        for rows in micro_batches(packed.lengths, max_tokens=4096):
            ids, mask, _ = self.backbone.pad(packed, rows)
            hidden = self.backbone.run(self.backbone.embed(ids), mask, 0, self.backbone.layers)
            vectors = torch.nn.functional.normalize(mean_pool(hidden, mask).float(), dim=1)
            out[rows] = vectors.cpu().numpy()
            done += len(rows)
            if on_progress:
                on_progress(Progress(done, len(texts), "embedding"))
        return out

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self._score(question, candidates)[0]

    def score_and_cost(self, question: str, candidates: Sequence[Candidate]) -> tuple[np.ndarray, int]:
        """The scores, and the FLOPs they took: those of the texts that went through the layers, the question among
        them, and a product a candidate. What lies in the cache costs nothing more."""
        scores, read = self._score(question, candidates)
        return scores, self._flops(read, len(candidates))

    def full_flops(self, question: str, candidates: Sequence[Candidate]) -> int:
        """The same where nothing lies in a cache."""
        return self._flops([question, *(c.reading for c in candidates)] if candidates else [], len(candidates))

    def _flops(self, read: list[str], products: int) -> int:
        shape = self.backbone.shape
        lengths = np.array(self.backbone.encode(read, max_length=self.max_length).lengths, dtype=np.int64)
        return shape.layers * layer_flops(lengths, shape) + 2 * products * shape.hidden

    def _score(self, question: str, candidates: Sequence[Candidate]) -> tuple[np.ndarray, list[str]]:
        """Scores (n,), and the texts that were embedded for them."""
        if not candidates:
            return np.zeros(0, dtype=np.float32), []
        texts = [c.reading for c in candidates]
        if self.cache is None:
            vectors = self.embed([question, *texts])
            return vectors[1:] @ vectors[0], [question, *texts]
        vectors, new = self._kept(self.cache, texts)
        return vectors @ self.embed([question])[0], [question, *new]

    def _kept(self, cache: PassageCache, texts: list[str]) -> tuple[np.ndarray, list[str]]:
        """Vectors (n, hidden) from the cache; those it has not are made and put there: the texts of these."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.backbone, self.max_length)
        known = {t: k.memory[0].float().numpy() for t, k in cache.get(self._fingerprint, texts).items()}
        new = [t for t in dict.fromkeys(texts) if t not in known]
        if new:
            made = self.embed(new)
            cache.put(
                self._fingerprint, {t: Kept(torch.from_numpy(v)[None], {}) for t, v in zip(new, made, strict=True)}
            )
            known.update(zip(new, made, strict=True))
        return np.stack([known[t] for t in texts]), new
