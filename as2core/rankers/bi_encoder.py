"""The bi-encoder: cosine of question and candidate, each embedded alone (mean of the backbone's last layer)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from as2core.nn.backbone import Backbone, micro_batches
from as2core.nn.heads import mean_pool
from as2core.types import Candidate, OnProgress, Progress


class BiEncoderRanker:
    """Scores are cosines in [-1, 1]. Texts are cut at `max_length` tokens (the backbone's own 256)."""

    def __init__(self, backbone: Backbone, *, max_length: int = 256, name: str = "bi-encoder") -> None:
        self.backbone, self.max_length, self.name = backbone.eval(), max_length, name

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
        if not candidates:
            return np.zeros(0, dtype=np.float32)
        vectors = self.embed([question, *(c.text for c in candidates)])
        return vectors[1:] @ vectors[0]
