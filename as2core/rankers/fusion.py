"""Fusion: several rankers' opinions as one order.

`rrf`: reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009), score = sum of w_i / (k + rank_i), k = 60. Only
ranks count, so nothing has to be learned. `zscore`: a weighted sum of the scores, standardised within each question
(mean 0, deviation 1) so that logits, cosines and log-probabilities can be added; its weights can be learned on labelled
questions (as2core.training.fusion), and are then kept as a version.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from as2core.errors import BadSetting
from as2core.metrics import order
from as2core.rankers.base import HasWeights, LoadRanker, MadeOfRankers, Ranker, VersionConfig, list_hosts
from as2core.rankers.specs import BuiltPart, Entry
from as2core.retrieval.ranks import RRF_CONSTANT
from as2core.types import Candidate

METHODS = ("rrf", "zscore")
PAIR = (5.0, 1.0)  # cascade and generative ranker, for the shipped ones (decision 0024)
EQUAL = 1e-5  # scores this near, relatively, differ by rounding alone


class FusionRanker(HasWeights, MadeOfRankers):
    """`weights`: one for each ranker, equal if not given. `specs` are the rankers' catalog specs or directories, by
    which a saved version finds them again. Raises BadSetting."""

    kind = "fusion"
    is_trained = True

    def __init__(
        self,
        rankers: Sequence[Ranker],
        *,
        method: str = "rrf",
        k: int = RRF_CONSTANT,
        weights: Sequence[float] | None = None,
        specs: Sequence[str] | None = None,
        name: str = "fusion",
    ) -> None:
        if not rankers:
            raise BadSetting("a fusion of no rankers ranks nothing: give it two or more")
        if method not in METHODS:
            raise BadSetting(f"no fusion {method!r}; known: {', '.join(METHODS)}")
        if k < 0:
            raise BadSetting(f"k={k}: give 0 or more, 60 as in the paper")
        if weights is not None and len(weights) != len(rankers):
            raise BadSetting(f"{len(weights)} weights for {len(rankers)} rankers: give one each")
        if weights is not None and not np.isfinite(weights).all():
            raise BadSetting(f"weights {', '.join(f'{w:g}' for w in weights)}: give numbers")
        import torch

        self.method, self.k, self.name, self.rankers = method, k, name, tuple(rankers)
        self.specs = tuple(specs or (r.name for r in rankers))
        self.module = torch.nn.Module()
        numbers = [1.0] * len(rankers) if weights is None else [float(w) for w in weights]
        self.module.register_buffer("weights", torch.tensor(numbers, dtype=torch.float64))

    def to(self, device: str) -> Self:
        """Of the rankers: its own weights are a few numbers, read on the CPU."""
        return MadeOfRankers.to(self, device)

    @property
    def weights(self) -> np.ndarray:
        """float64 `(rankers,)`."""
        return self.module.get_buffer("weights").numpy().astype(np.float64)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return (self.opinions(question, candidates) @ self.weights).astype(np.float32)

    def opinions(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        """What each ranker adds before it is weighted: float64 `(n, rankers)`."""
        scale = partial(reciprocal, k=self.k) if self.method == "rrf" else standardise
        columns = [scale(r.score(question, candidates)) for r in self.rankers]
        return np.stack(columns, axis=1) if len(candidates) else np.zeros((0, len(self.rankers)))

    def config(self) -> VersionConfig:
        """Raises BadSetting where a part sends texts away: a version does not, whoever loads it."""
        if hosts := list_hosts(self):
            raise BadSetting(f"a fusion that asks {', '.join(hosts)} cannot be saved: use it by its spec")
        return {"backbone": None, "settings": {"method": self.method, "k": self.k, "rankers": list(self.specs)}}

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> Self:
        settings = config["settings"]
        specs = settings["rankers"]
        return cls([load(s) for s in specs], specs=specs, **{k: v for k, v in settings.items() if k != "rankers"})


def weigh_pair(cascade: np.ndarray, generative: np.ndarray) -> np.ndarray:
    """Both rankers' scores of the same candidates, standardised and weighted as `PAIR`: `(n,)` -> float64 `(n,)`."""
    return PAIR[0] * standardise(cascade) + PAIR[1] * standardise(generative)


def reciprocal(scores: np.ndarray, *, k: int = RRF_CONSTANT) -> np.ndarray:
    """1 / (k + rank), ranks from 1, ties by `order`. `(n,)` -> float64 `(n,)`."""
    out = np.empty(len(scores))
    out[order(scores)] = 1.0 / (k + np.arange(1, len(scores) + 1))
    return out


def standardise(scores: np.ndarray) -> np.ndarray:
    """(score - mean) / deviation within the question; 0 for all where scores are equal. `(n,)` -> float64 `(n,)`."""
    scores = np.asarray(scores, dtype=np.float64)
    if not len(scores) or np.ptp(scores) <= EQUAL * np.abs(scores).max():
        return np.zeros(len(scores))
    return (scores - scores.mean()) / scores.std()


def build(
    *,
    method: str = "rrf",
    k: int = RRF_CONSTANT,
    weights: float | tuple[float, ...] = 1.0,
    rankers: str | list[BuiltPart] = "cascade+generative+bi-encoder",
) -> FusionRanker:
    assert not isinstance(rankers, str)  # the catalog has built them
    if any(part.keep is not None for part in rankers):
        raise BadSetting("a fusion keeps every candidate: leave the @ out, or put it into a stage of sequential")
    return FusionRanker(
        [part.ranker for part in rankers],
        method=method,
        k=k,
        weights=weights if isinstance(weights, tuple) else [weights] * len(rankers),
        specs=[part.spec for part in rankers],
    )


RANKER = Entry(
    "fusion",
    "several rankers as one",
    "Cormack et al. 2009",
    build,
    several=("weights",),
    nested="rankers",
    saved=(FusionRanker,),
)
