"""What Cosinet, Rel-CNN and Compare-Aggregate have in common as rankers: word vectors, an encoder of pairs, a recurrent
layer over the candidates if wanted, one score each (Bonadiman and Moschitti, 2020).

Their weights are learnt from labels alone, so an untrained one orders by chance; it says so when it is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from as2core.errors import BadSetting
from as2core.nn.context import ListScorer
from as2core.nn.word_pairs import word_pairs
from as2core.nn.word_vectors import WordVectors
from as2core.types import Candidate

log = logging.getLogger(__name__)

_AT_ONCE = 128  # pairs encoded together


class WordRanker:
    """Scores are logits. `listwise`: the loss it is trained with; `context`: one of `nn.context.CONTEXTS`; `seed` draws
    the first weights; `sizes`: the encoder's own settings. Raises BadSetting for a context or size that cannot be."""

    kind: str
    encoder: Callable[..., nn.Module]

    def __init__(
        self,
        vectors: WordVectors,
        *,
        listwise: bool = False,
        context: str = "none",
        seed: int = 0,
        trained: bool = False,
        **sizes: Any,
    ) -> None:
        self.name, self.vectors, self.listwise, self.trained = self.kind, vectors, listwise, trained
        self._warned = False
        if sizes.get("hidden", 2) < 2 or sizes.get("kernel", 1) < 1:
            raise BadSetting(f"{self.kind}: no network of these sizes: hidden is 2 or more, kernel 1 or more")
        if not 0 <= seed < 2**32:
            raise BadSetting(f"seed={seed}: give a whole number from 0 to {2**32 - 1}")
        self.settings = {"listwise": listwise, "context": context, **sizes}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.module = ListScorer(type(self).encoder(vectors.size, **sizes), context).eval()

    @property
    def parameters(self) -> int:
        """How many numbers are learnt; the word vectors are not among them."""
        return sum(p.numel() for p in self.module.parameters())

    @torch.inference_mode()
    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """The whole list passes through the recurrent layer in the order given."""
        if not (self.trained or self._warned):
            self._warned = True
            log.warning("%s has no trained weights: its order is chance until `as2 train` makes a version", self.name)
        if not candidates:
            return np.zeros(0, dtype=np.float32)
        texts, device = [c.text for c in candidates], next(self.module.parameters()).device
        parts = [
            self.module.encoder(word_pairs(question, texts[i : i + _AT_ONCE], self.vectors).to(device))
            for i in range(0, len(texts), _AT_ONCE)
        ]
        return self.module.decide(torch.cat(parts), [len(texts)]).float().cpu().numpy()
