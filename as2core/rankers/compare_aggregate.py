"""CompareAggregate as a ranker: its network is `as2core.nn.compare_aggregate`, the rest is in `word_ranker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from as2core.rankers.word_ranker import WordRanker, declare_word_ranker

if TYPE_CHECKING:
    from as2core.nn.context import PairEncoder


class CompareAggregateRanker(WordRanker):
    kind = "compare-aggregate"

    def make_encoder(self, width: int, **sizes: int) -> PairEncoder:
        from as2core.nn.compare_aggregate import CompareAggregate

        return CompareAggregate(width, hidden=sizes.get("hidden", 300))


RANKER = declare_word_ranker(CompareAggregateRanker, "word attention both ways", "Wang and Jiang 2017", hidden=300)
