"""RelCNN as a ranker: its network is `as2core.nn.rel_cnn`, the rest is in `word_ranker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from as2core.rankers.word_ranker import WordRanker, declare_word_ranker

if TYPE_CHECKING:
    from as2core.nn.context import PairEncoder


class RelCNNRanker(WordRanker):
    kind = "rel-cnn"

    def make_encoder(self, width: int, **sizes: Any) -> PairEncoder:
        from as2core.nn.rel_cnn import RelCNN

        return RelCNN(width, **sizes)


RANKER = declare_word_ranker(
    RelCNNRanker,
    "convolutions over words and whether they are shared",
    "Severyn and Moschitti 2016",
    hidden=100,
    kernel=5,
)
