"""Passages embedded by a bi-encoder on the workers of a Ray pool: the vectors are those of its `embed`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from as2core.bulk.packed_ranker import PackedRanker, pack_ranker
from as2core.bulk.pool import RayPool
from as2core.errors import BadSetting
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.types import Passage


@dataclass(frozen=True, slots=True)
class Embedding:
    """The work: the bi-encoder embeds passages."""

    ranker: PackedRanker

    def prepare(self, fetch: Callable[[Any], Any]) -> Callable[[Sequence[Passage]], np.ndarray]:
        """Raises what loading the ranker raises, BadSetting for one that is no bi-encoder."""
        ranker = self.ranker.load(fetch)
        if not isinstance(ranker, BiEncoderRanker):
            raise BadSetting(f"{self.ranker.spec} gives no vectors: name a bi-encoder")
        return lambda passages: ranker.embed([p.text for p in passages])

    def name_item(self, item: Passage) -> str:
        return f"passage {item.id!r}"


def embed_on_pool(
    pool: RayPool, spec: str, batches: Iterable[Sequence[Passage]]
) -> Iterator[tuple[Sequence[Passage], np.ndarray]]:
    """Each batch, as it is done, with its unit vectors, float32 `(n, hidden)`; of a batch that had to be divided, its
    passages one by one. `batches` is asked for no more than the workers take. Raises what loading the ranker raises,
    and WorkFailed."""
    for chunk, vectors in pool.stream(Embedding(pack_ranker(spec, pool.store, pool.folder)), batches):
        yield chunk.items, vectors
