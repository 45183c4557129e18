"""Cosinet as a ranker: its network is `as2core.nn.cosinet`, the rest is in `word_ranker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from as2core.rankers.specs import STRUCTURE
from as2core.rankers.word_ranker import WordRanker, declare_word_ranker

if TYPE_CHECKING:
    from as2core.nn.context import PairEncoder


class CosinetRanker(WordRanker):
    kind = "cosinet"

    def make_encoder(self, width: int, **sizes: Any) -> PairEncoder:
        from as2core.nn.cosinet import Cosinet

        return Cosinet(width, **sizes)


RANKER = declare_word_ranker(
    CosinetRanker, "convolutions over words and their closest cosine", STRUCTURE, hidden=300, kernel=5
)
