"""CompareAggregate as a ranker: its network is `as2core.nn.compare_aggregate`, all else it shares with its kin."""

from __future__ import annotations

from as2core.nn.compare_aggregate import CompareAggregate
from as2core.rankers.word_ranker import WordRanker


class CompareAggregateRanker(WordRanker):
    kind, encoder = "compare-aggregate", CompareAggregate
