"""What Cosinet, Rel-CNN and Compare-Aggregate have in common as rankers: word vectors, an encoder of pairs, a recurrent
layer over the candidates if wanted, one score each (Bonadiman and Moschitti, 2020).

Their weights are learnt from labels alone, so an untrained one orders by chance; it logs a warning when it scores.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from as2core.errors import BadSetting, DamagedModel, UnreadableFile
from as2core.nn.word_vectors import WordVectors, word_vectors
from as2core.rankers.base import HasWeights, LoadRanker, VersionConfig
from as2core.rankers.specs import Entry
from as2core.types import Candidate

if TYPE_CHECKING:
    from as2core.nn.context import ListScorer, PairEncoder

log = logging.getLogger(__name__)

BATCH_PAIRS = 128  # encoded together


class WordRanker(HasWeights):
    """Scores are logits. `listwise`: the loss it is trained with; `context`: one of `nn.context.CONTEXTS`; `seed` draws
    the first weights; `sizes`: the encoder's own settings. Raises BadSetting for a context or size that cannot be."""

    module: ListScorer

    def __init__(
        self, vectors: WordVectors, *, listwise: bool = False, context: str = "none", seed: int = 0, **sizes: Any
    ) -> None:
        import torch

        from as2core.nn.context import ListScorer

        self.name, self.vectors, self.listwise, self.is_trained = self.kind, vectors, listwise, False
        self._warned = False
        if sizes.get("hidden", 2) < 2 or sizes.get("kernel", 1) < 1:
            raise BadSetting(f"{self.kind}: no network of these sizes: hidden is 2 or more, kernel 1 or more")
        if not 0 <= seed < 2**32:
            raise BadSetting(f"seed={seed}: give a whole number from 0 to {2**32 - 1}")
        self.settings = {"listwise": listwise, "context": context, **sizes}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.module = ListScorer(self.make_encoder(vectors.size, **sizes), context).eval()

    @abstractmethod
    def make_encoder(self, width: int, **sizes: Any) -> PairEncoder:
        """The network that encodes pairs, over word vectors of `width` numbers."""

    @property
    def parameters(self) -> int:
        """How many numbers are learnt; the word vectors are not among them."""
        return sum(p.numel() for p in self.module.parameters())

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """The whole list passes through the recurrent layer in the order given."""
        import torch

        from as2core.nn.word_pairs import word_pairs

        if not (self.is_trained or self._warned):
            self._warned = True
            log.warning("%s has no trained weights: its order is chance until `as2 train` makes a version", self.name)
        if not candidates:
            return np.zeros(0, dtype=np.float32)
        texts, device = [c.text for c in candidates], next(self.module.parameters()).device
        with torch.inference_mode():
            parts = [
                self.module.encoder(word_pairs(question, texts[i : i + BATCH_PAIRS], self.vectors).to(device))
                for i in range(0, len(texts), BATCH_PAIRS)
            ]
            return self.module.decide(torch.cat(parts), [len(texts)]).float().cpu().numpy()

    def config(self) -> VersionConfig:
        return {"backbone": None, **self.vectors.origin, "size": self.vectors.size, "settings": self.settings}

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> Self:
        try:
            vectors = word_vectors(backbone=config["backbone"], path=config.get("vectors"))
        except UnreadableFile as e:
            raise DamagedModel(f"{path} needs the word vectors it was trained with, but {e}") from e
        if vectors.size != config["size"]:
            raise DamagedModel(
                f"{path} was trained with word vectors of {config['size']} numbers, "
                f"{config.get('vectors') or config['backbone']} has {vectors.size}: put the old back, or train again"
            )
        return cls(vectors, **config["settings"])


def declare_word_ranker(cls: type[WordRanker], description: str, paper: str, **defaults: Any) -> Entry:
    """The catalog entry of such a ranker; `defaults` are the settings of its encoder."""

    def build(
        *,
        listwise: bool = False,
        context: str = "none",
        vectors: str | None = None,
        backbone: str | None = None,
        seed: int = 0,
        **sizes: Any,
    ) -> WordRanker:
        table = word_vectors(backbone=backbone, path=vectors)
        return cls(table, listwise=listwise, context=context, seed=seed, **{**defaults, **sizes})

    return Entry(cls.kind, description, paper, build, saved=(cls,), settings=defaults)
